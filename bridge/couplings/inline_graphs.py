"""Applications that are task graphs, in the inline coupling: what is measured and recorded of them only."""

from __future__ import annotations

from als.engine.dag.metrics import copy_transfers, measure_graph
from als.engine.loop import end_ns
from als.engine.state import GRAPH
from bls.engine.state import BatchState
from bridge.couplings.inline_state import HOOK, InlineState
from traces.compiled import compiled


@compiled(HOOK)
def measure(_: BatchState, inline: InlineState, job: int, stopped: int) -> int:
    """Measure the application that has ended, if a part of it is a graph; ``stopped`` says whether (1 or 0) it was cut."""
    app, values = inline.running.app, inline.outcomes.graph_values[job]
    for phase in range(app.phases.kind.size):
        if app.phases.kind[phase] == GRAPH:
            measure_graph(values, app, app.began_ns, end_ns(app), inline.running.fastest, stopped != 0)
            break
    return 0


@compiled(HOOK)
def note_transfers(_: BatchState, inline: InlineState, job: int, _flag: int) -> int:
    """Keep the records of its transfers."""
    at = inline.transfers_used
    stop = inline.transfers_used = copy_transfers(inline.running.app, inline.transfers, at)
    inline.outcomes.transfer_first[job], inline.outcomes.n_transfers[job] = at, stop - at
    return 0
