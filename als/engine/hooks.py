"""What only some applications do: the slots of the application engine's table of hooks, a feature a line."""

from __future__ import annotations

import functools

from als.engine.state import GRAPH, ApplicationState, Phases
from traces.compiled import Array, Hooks, caller, types
from traces.kernels.signatures import StateKind

#: ``hook(state, t, speed)``, of which each takes what it needs; ``t`` is an instant or a core.
HOOK = types.int64(StateKind(ApplicationState), types.int64, types.float64)

#: ``call_hook(state.hooks[SLOT], (state, t, speed))``
call_hook = caller(HOOK)

SELECT, OPEN_GRAPH, SERVE_GRAPH, CHANGE_GRAPH, STOP_GRAPH, SERVE_LAST, RANK, RESIZE_GRAPH, LEAVE_GRAPH, WISH = range(10)

HOOKS = Hooks(
    "application engine",
    HOOK,
    {
        SELECT: ("a choice among techniques", "als.engine.features.selection:select"),
        OPEN_GRAPH: ("a graph that begins", "als.engine.dag.setup:open_graph"),
        SERVE_GRAPH: ("requests in a graph", "als.engine.dag.events:serve_graph"),
        CHANGE_GRAPH: ("speeds that change in a graph", "als.engine.dag.changes:change_speed_in_graph"),
        STOP_GRAPH: ("a graph that is stopped", "als.engine.dag.changes:stop_in_graph"),
        SERVE_LAST: ("cores that other jobs wait for, or that are to leave", "als.engine.features.hints:serve_last"),
        RANK: ("a width that changes", "als.engine.features.width:rank"),
        RESIZE_GRAPH: ("a width that changes in a graph", "als.engine.dag.widths:resize_in_graph"),
        LEAVE_GRAPH: ("cores that are to leave a graph", "als.engine.dag.widths:leave_as_served"),
        WISH: ("phases that wish for cores", "als.engine.features.wishes:wish"),
    },
)


@functools.cache
def _table(wanted: frozenset[int]) -> Array:
    return HOOKS.filled(wanted)


def table(
    phases: Phases, *, selects: bool, changes: bool, hints: bool = False, resizes: bool = False, wishes: bool = False
) -> Array:
    """The table of an application.

    Whether a technique is chosen among several (``selects``), a core may change its speed or the application be stopped
    (``changes``), other jobs may wait for its cores (``hints``), cores come and leave while it runs (``resizes``), and it
    requests cores as parts begin (``wishes``).
    """
    graph = bool((phases.kind == GRAPH).any())
    needed = {SELECT: selects, SERVE_LAST: hints or resizes, RANK: resizes, WISH: wishes, OPEN_GRAPH: graph}
    needed |= {SERVE_GRAPH: graph, CHANGE_GRAPH: graph and changes, STOP_GRAPH: graph and changes}
    needed |= {RESIZE_GRAPH: graph and resizes, LEAVE_GRAPH: graph and resizes}
    return _table(frozenset(slot for slot, some in needed.items() if some))
