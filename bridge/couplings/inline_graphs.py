"""Metrics and records of task graphs in the inline coupling."""

from als.engine.loop import end_ns
from als.engine.state import GRAPH
from als.metrics.graphs import copy_transfers, measure_graph
from als.network.state import NONE
from bls.engine.state import BatchState
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled


@compiled(HOOK)
def measure(_: BatchState, inline: InlineState, job: int, stopped: int) -> int:
    """Measure the ended application if a part of it is a graph, and keep the records of its transfers; ``stopped``: 1 if it
    was cut."""
    app, found = inline.running.app, inline.outcomes
    for phase in range(app.phases.kind.size):
        if app.phases.kind[phase] == GRAPH:
            measure_graph(found.graph_values[job], app, app.began_ns, end_ns(app), inline.running.fastest, stopped != 0)
            break
    if app.start_ns.size > 0 and app.graph.net.kind != NONE and app.graph.edge_first[app.part_first.size - 1] > 0:
        at = inline.transfers_used
        inline.transfers_used = copy_transfers(app, inline.transfers, at)
        found.transfer_first[job], found.n_transfers[job] = at, inline.transfers_used - at
    return 0
