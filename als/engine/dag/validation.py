"""What must hold of a part that is a graph between two calls: tasks, cores, pools and transfers, counted again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.dag.state import GraphCores
from als.engine.state import ApplicationState
from traces.checks.heaps import first_out_of_order

__all__ = ["validate_graph"]

#: Kind of the event that a core's state has in the heap; no other state has one.
_EVENT = {g.COMPUTES: g.ENDS, g.HEARS: g.TOLD, g.ASKS: g.REQUESTS}


def validate_graph(state: ApplicationState, fault: Callable[[str], NoReturn]) -> None:
    """Check the part that runs, which is a graph; ``fault`` raises the error that it is given the words of."""
    _check_tasks(state, fault)
    _check_cores(state, fault)
    _check_pools(state, fault)
    _check_transfers(state, fault)


def _part(state: ApplicationState) -> tuple[int, int]:
    first = int(state.graph.first_task)
    return first, first + int(state.graph.n_tasks)


def _count(fault: Callable[[str], NoReturn], what: str, said: int, found: int) -> None:
    if said != found:
        fault(f"{what}: {said} by its count, {found} there are")


def _check_tasks(state: ApplicationState, fault: Callable[[str], NoReturn]) -> None:
    # Who waits for whom, as far as the records say who has ended.
    graph = state.graph
    first, stop = _part(state)
    part = (int(state.part_first[state.part]), int(state.part_first[state.part + 1]))
    if (first, stop) != part:
        fault(f"the graph has tasks {first} to {stop - 1}, its part {part[0]} to {part[1] - 1}")
    tasks, taken = graph.tasks.take(np.arange(first, stop)), state.taken[first:stop]
    _count(fault, "tasks that are left", int(state.n_left), int((taken == 0).sum()))
    if len(bad := np.flatnonzero((tasks.pending < 0) | (tasks.missing < 0))):
        k = bad[0]
        fault(f"task {first + k} waits for {tasks.pending[k]} tasks and {tasks.missing[k]} data")
    if len(bad := np.flatnonzero((taken == 1) != (tasks.at >= 0))):
        fault(f"task {first + bad[0]} is {'' if taken[bad[0]] else 'not '}assigned, and core {tasks.at[bad[0]]} has it")
    if len(bad := np.flatnonzero(np.sort(tasks.position) != np.arange(stop - first))):
        fault(f"no task has place {bad[0]} in the order of waiting, or two have")
    if not len(state.start_ns):
        return
    ended = state.end_ns[first:stop] >= 0
    _count(fault, "tasks that have not ended", int(state.graph.n_undone), int((~ended).sum()))
    edges = slice(int(state.graph.first_edge), int(state.graph.first_edge + state.graph.n_edges))
    waits = ~ended[graph.source[edges]]
    pending = np.bincount(graph.target[edges][waits], minlength=stop - first)
    if len(bad := np.flatnonzero(pending != tasks.pending)):
        k = int(bad[0])
        _count(fault, f"producers that task {first + k} waits for", int(tasks.pending[k]), int(pending[k]))
    began = state.start_ns[first:stop] >= 0
    if len(bad := np.flatnonzero(began & (pending > 0))):
        fault(
            f"task {first + bad[0]} began at {state.start_ns[first + bad[0]]} ns, and {pending[bad[0]]} of its producers have "
            "not ended"
        )


def _check_cores(state: ApplicationState, fault: Callable[[str], NoReturn]) -> None:
    # What each core does, and that it will be looked at again.
    graph, n_cores = state.graph, len(state.speed)
    cores, (first, stop) = graph.cores, _part(state)
    keys = state.ask_core[: state.n_asking]
    event = np.full(n_cores, -1)
    event[keys % cores.does.size] = keys // cores.does.size
    for c in range(n_cores):
        does = int(cores.does[c])
        released = state.cores.released_ns[c] != s.NEVER
        if (does == g.ABSENT) != (state.speed[c] == 0 and not released) or (released and does != g.DONE):
            fault(f"core {c} has speed {state.speed[c]}, and does {does}")
        if event[c] != _EVENT.get(does, -1):
            fault(f"core {c} does {does}, and its next event is of kind {event[c]}")
        k = int(cores.task[c])
        if does in (g.COMPUTES, g.HEARS) and not 0 <= k < stop - first:
            fault(f"core {c} does {does}, and its task is {k}")
        if does == g.COMPUTES and graph.tasks.at[first + k] != c:
            fault(f"core {c} computes task {first + k}, which core {graph.tasks.at[first + k]} has")
        if (
            does == g.COMPUTES
            and len(state.start_ns)
            and (state.start_ns[first + k] < 0 or state.end_ns[first + k] >= 0)
        ):
            fault(
                f"core {c} computes task {first + k}, which began at {state.start_ns[first + k]} and ended at "
                f"{state.end_ns[first + k]} ns"
            )
    _count(
        fault,
        "cores that wait for the next round",
        int(graph.n_turned_away),
        _doing(cores.front(n_cores), g.AWAY),
    )
    computes = cores.task[:n_cores][cores.does[:n_cores] == g.COMPUTES]
    if len(computes) != len(np.unique(computes)):
        fault(f"two cores compute the same task, of {sorted(computes.tolist())}")


def _doing(cores: GraphCores, what: int) -> int:
    return int((cores.does == what).sum())


def _check_pools(state: ApplicationState, fault: Callable[[str], NoReturn]) -> None:
    # Tasks that wait for cores, cores that wait for tasks.
    graph, (first, stop) = state.graph, _part(state)
    pools, tasks = graph.pools, graph.tasks.take(np.arange(first, stop))
    waiting, idle = np.zeros(stop - first, np.int64), np.zeros(len(state.speed), np.int64)
    for pool in range(pools.idle_first.size):
        for keys, at, size in (
            (graph.waiting, pools.waiting_first, pools.waiting_size),
            (graph.idle, pools.idle_first, pools.idle_size),
        ):
            here = keys[at[pool] : at[pool] + size[pool]]
            if (bad := first_out_of_order(here)) >= 0:
                fault(f"pool {pool}: entry {bad}, {here[bad]}, comes before the one above it")
            if keys is graph.waiting:
                np.add.at(waiting, tasks.in_position[here], 1)
            else:
                np.add.at(idle, here, 1)
    _count(fault, "tasks that wait", int(graph.n_waiting), int(waiting.sum()))
    taken = state.taken[first:stop] == 1
    if len(bad_tasks := np.flatnonzero((waiting > 1) | ((waiting == 1) & (taken | (tasks.pending > 0))))):
        k = bad_tasks[0]
        fault(
            f"task {first + k} is {waiting[k]} times among those that wait for a core; it is {'' if taken[k] else 'not '}"
            f"assigned, and waits for {tasks.pending[k]} tasks"
        )
    if len(bad_cores := np.flatnonzero(idle != graph.cores.queued[: len(idle)])):
        c = bad_cores[0]
        fault(f"core {c} is {idle[c]} times among those that wait for tasks, and says {graph.cores.queued[c]}")


def _check_transfers(state: ApplicationState, fault: Callable[[str], NoReturn]) -> None:
    graph, first = state.graph, _part(state)[0]
    edge_0, n_edges = int(state.graph.first_edge), int(state.graph.n_edges)
    sent, arrived = (column[edge_0 : edge_0 + n_edges] for column in (graph.sent_ns, graph.arrived_ns))
    if len(bad := np.flatnonzero((arrived >= 0) & ((sent < 0) | (arrived < sent)))):
        fault(f"transfer {bad[0]} was sent at {sent[bad[0]]} ns, and arrived at {arrived[bad[0]]} ns")
    flying = (sent >= 0) & (arrived < 0)
    if state.graph.has_data == 0:
        if len(bad := np.flatnonzero(sent >= 0)):
            fault(f"transfer {bad[0]} was sent at {sent[bad[0]]} ns, and data take no time")
        return
    slots = graph.flows.edge_slot[:n_edges]
    if len(bad := np.flatnonzero(flying != (slots >= 0))):
        fault(
            f"transfer {bad[0]}, sent {sent[bad[0]]}, arrived {arrived[bad[0]]} ns, is under way in slot {slots[bad[0]]}"
        )
    used = slots[slots >= 0]
    if len(used) != len(np.unique(used)):
        fault("two transfers are under way in one slot")
    if len(state.start_ns) and len(
        bad := np.flatnonzero((sent >= 0) & (sent < state.end_ns[first + graph.source[edge_0 : edge_0 + n_edges]]))
    ):
        fault(f"transfer {bad[0]} was sent at {sent[bad[0]]} ns, before what makes it had ended")
