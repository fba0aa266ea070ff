"""Hooks for optional features of applications and task graphs: the slots of two tables."""

import functools

from als.engine.dag.state import GraphState
from als.engine.state import GRAPH, ApplicationState, Phases
from traces.compiled import Array, Hooks, caller, types
from traces.kernels.signatures import StateKind

#: ``hook(state, t, speed)``; ``t`` is an instant or a core. Hooks may ignore arguments.
HOOK = types.int64(StateKind(ApplicationState), types.int64, types.float64)

call_hook = caller(HOOK)  #: ``call_hook(state.hooks[SLOT], (state, t, speed))``

SELECT, OPEN_GRAPH, SERVE_GRAPH, CHANGE_GRAPH, STOP_GRAPH = range(5)
SERVE_LAST, RANK, RESIZE_GRAPH, LEAVE_GRAPH, REQUEST_WIDTH, BEGIN_ON_DEVICE, CUT_ON_DEVICES = range(5, 12)

HOOKS = Hooks(
    "application engine",
    HOOK,
    {
        SELECT: ("a choice among techniques", "als.engine.features.selection:select"),
        OPEN_GRAPH: ("a graph that begins", "als.engine.dag.setup:open_graph"),
        SERVE_GRAPH: ("requests in a graph", "als.engine.dag.events:serve_graph"),
        CHANGE_GRAPH: ("speeds that change in a graph", "als.engine.dag.changes:change_speed_in_graph"),
        STOP_GRAPH: ("a graph that is stopped", "als.engine.dag.changes:stop_in_graph"),
        SERVE_LAST: ("cores that other jobs wait for, or that leave", "als.engine.features.hints:serve_last"),
        RANK: ("a width that changes", "als.engine.features.width:rank"),
        RESIZE_GRAPH: ("a width that changes in a graph", "als.engine.dag.widths:resize_in_graph"),
        LEAVE_GRAPH: ("cores that leave a graph", "als.engine.dag.widths:leave_as_served"),
        REQUEST_WIDTH: ("phases that request cores", "als.engine.features.width_requests:request_width"),
        BEGIN_ON_DEVICE: ("chunks on devices", "als.engine.features.devices:begin_on_device"),
        CUT_ON_DEVICES: ("chunks on devices that are cut", "als.engine.features.devices:cut_on_devices"),
    },
)


@functools.cache
def _table(wanted: frozenset[int]) -> Array:
    return HOOKS.filled(wanted)


def table(
    phases: Phases,
    *,
    selects: bool,
    changes: bool = False,
    hints: bool = False,
    resizes: bool = False,
    width_requests: bool = False,
    devices: bool = False,
) -> Array:
    """The table of an application.

    ``selects``: a technique is chosen among several; ``changes``: speeds may change, or the application may be stopped;
    ``hints``: it receives hints; ``resizes``: its width changes; ``width_requests``: it requests cores; ``devices``: some
    workers are no cores."""
    needed = {SELECT: selects, SERVE_LAST: hints or resizes, RANK: resizes or devices, REQUEST_WIDTH: width_requests}
    needed |= {BEGIN_ON_DEVICE: devices, CUT_ON_DEVICES: devices}
    if (phases.kind == GRAPH).any():
        needed |= {OPEN_GRAPH: True, SERVE_GRAPH: True, CHANGE_GRAPH: changes, STOP_GRAPH: changes}
        needed |= {RESIZE_GRAPH: resizes, LEAVE_GRAPH: resizes}
    return _table(frozenset(slot for slot, some in needed.items() if some))


#: ``hook(graph, edge, t)``; hooks may ignore arguments.
GRAPH_HOOK = types.int64(StateKind(GraphState), types.int64, types.int64)

call_graph_hook = caller(GRAPH_HOOK)  #: ``call_graph_hook(graph.hooks[SLOT], (graph, edge, t))``

BEGIN, SEND, ARRIVED, NEXT, CANCEL = range(5)

GRAPH_HOOKS = Hooks(
    "task graphs",
    GRAPH_HOOK,
    {
        BEGIN: ("a network for a graph's data", "als.engine.features.graph_data:begin"),
        SEND: ("a transfer that begins", "als.engine.features.graph_data:send_edge"),
        ARRIVED: ("transfers that arrive", "als.engine.features.graph_data:arrived"),
        NEXT: ("the instant at which a transfer arrives", "als.engine.features.graph_data:next_ns"),
        CANCEL: ("a transfer that is no longer needed", "als.engine.features.graph_data:cancel_edge"),
    },
)


@functools.cache
def graph_table(has_network: bool) -> Array:
    """The table of graphs on a machine with or without a network."""
    return GRAPH_HOOKS.filled(GRAPH_HOOKS.slots if has_network else ())
