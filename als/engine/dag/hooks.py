"""What only some task graphs do: their data take time on a network. The slots of a graph's table of hooks."""

from __future__ import annotations

import functools

from als.engine.dag.state import GraphState
from traces.compiled import Array, Hooks, caller, types
from traces.kernels.signatures import StateKind

#: ``hook(graph, edge, t)``, of which each takes what it needs.
HOOK = types.int64(StateKind(GraphState), types.int64, types.int64)

#: ``call_hook(graph.hooks[SLOT], (graph, edge, t))``
call_hook = caller(HOOK)

BEGIN, SEND, ARRIVED, NEXT, CANCEL = range(5)

HOOKS = Hooks(
    "task graphs",
    HOOK,
    {
        BEGIN: ("a network for a graph's data", "als.engine.features.graph_data:begin"),
        SEND: ("a transfer that begins", "als.engine.features.graph_data:send_edge"),
        ARRIVED: ("transfers that arrive", "als.engine.features.graph_data:arrived"),
        NEXT: ("the instant at which a transfer arrives", "als.engine.features.graph_data:next_ns"),
        CANCEL: ("a transfer that nobody waits for", "als.engine.features.graph_data:cancel_edge"),
    },
)


@functools.cache
def table(has_network: bool) -> Array:
    """The table of graphs of jobs on a machine that has a network, or has none."""
    return HOOKS.filled(HOOKS.slots if has_network else ())
