"""What must hold of a part that is a graph between two calls: tasks, cores, pools and transfers, counted again."""

from __future__ import annotations

import numpy as np

from als.engine import state as s
from als.engine.dag import state as g
from als.engine.state import ApplicationState
from traces.checks.faults import Checks, first_out_of_order

#: Kind of the event that a core's state has in the heap; no other state has one.
_EVENT = {g.COMPUTES: g.ENDS, g.HEARS: g.TOLD, g.ASKS: g.REQUESTS}


class GraphChecks(Checks):
    """The checks of the part that runs, which is a graph: its tasks are ``first`` to ``stop - 1`` of the application."""

    def __init__(self, state: ApplicationState, where: str) -> None:
        super().__init__(where)
        self.state, self.graph = state, state.graph
        self.first, self.stop = self.graph.first_task, self.graph.first_task + self.graph.n_tasks
        self.edges = slice(self.graph.first_edge, self.graph.first_edge + self.graph.n_edges)
        self.records = len(state.start_ns) > 0

    def check(self) -> None:
        """Raise the error of the first fault."""
        part = self.state.part_first[self.state.part : self.state.part + 2].tolist()
        if [self.first, self.stop] != part:
            self.fault(f"the graph has tasks {self.first} to {self.stop - 1}, its part {part[0]} to {part[1] - 1}")
        self.tasks = self.graph.tasks.take(np.arange(self.first, self.stop))
        self.taken = self.state.taken[self.first : self.stop] == 1
        self.assigned = np.where(self.taken, "assigned", "not assigned")
        self._check_tasks()
        self._check_cores()
        self._check_pools()
        self._check_transfers()

    def _check_tasks(self) -> None:
        # Who waits for whom, as far as the records say who has ended.
        state, graph, tasks, taken, first, stop = self.state, self.graph, self.tasks, self.taken, self.first, self.stop
        self.count("tasks that are left", state.n_left, int((state.taken[first:stop] == 0).sum()))
        wrong = (tasks.pending < 0) | (tasks.missing < 0)
        self.none(wrong, lambda k: f"task {first + k} waits for {tasks.pending[k]} tasks and {tasks.missing[k]} data")
        wrong = taken != (tasks.at >= 0)
        self.none(wrong, lambda k: f"task {first + k} is {self.assigned[k]}, and core {tasks.at[k]} has it")
        unlike = np.sort(tasks.position) != np.arange(stop - first)
        self.none(unlike, lambda k: f"no task has place {k} in the order of waiting, or two have")
        if not self.records:
            return
        ended, began = state.end_ns[first:stop] >= 0, state.start_ns[first:stop]
        self.count("tasks that have not ended", graph.n_undone, int((~ended).sum()))
        waits = ~ended[graph.source[self.edges]]
        pending = np.bincount(graph.target[self.edges][waits], minlength=stop - first)
        for k in np.flatnonzero(pending != tasks.pending):
            self.count(f"producers that task {first + k} waits for", tasks.pending[k], pending[k])
        self.none(
            (began >= 0) & (pending > 0),
            lambda k: f"task {first + k} began at {began[k]} ns, and {pending[k]} of its producers have not ended",
        )

    def _check_cores(self) -> None:
        # What each core does, and that it will be looked at again.
        state, graph, first = self.state, self.graph, self.first
        cores, n_cores = graph.cores, len(state.speed)
        keys = state.cores.ask_core[: state.n_asking]
        event = np.full(n_cores, -1)
        event[keys % cores.does.size] = keys // cores.does.size
        for c in range(n_cores):
            does, k = int(cores.does[c]), int(cores.task[c])
            released = state.cores.released_ns[c] != s.NEVER
            if (does == g.ABSENT) != (state.speed[c] == 0 and not released) or (released and does != g.DONE):
                self.fault(f"core {c} has speed {state.speed[c]}, and does {does}")
            if event[c] != _EVENT.get(does, -1):
                self.fault(f"core {c} does {does}, and its next event is of kind {event[c]}")
            if does in (g.COMPUTES, g.HEARS) and not 0 <= k < self.stop - first:
                self.fault(f"core {c} does {does}, and its task is {k}")
            if does == g.COMPUTES and self.tasks.at[k] != c:
                self.fault(f"core {c} computes task {first + k}, which core {self.tasks.at[k]} has")
            if does == g.COMPUTES and self.records:
                began, ended = state.start_ns[first + k], state.end_ns[first + k]
                if began < 0 or ended >= 0:
                    self.fault(f"core {c} computes task {first + k}, which began at {began} and ended at {ended} ns")
        doing = cores.does[:n_cores]
        self.count("cores that wait for the next round", graph.n_turned_away, int((doing == g.AWAY).sum()))
        computes = cores.task[:n_cores][doing == g.COMPUTES]
        if len(computes) != len(np.unique(computes)):
            self.fault(f"two cores compute the same task, of {sorted(computes.tolist())}")

    def _check_pools(self) -> None:
        # Tasks that wait for cores, cores that wait for tasks.
        graph, pools, tasks, taken, first = self.graph, self.graph.pools, self.tasks, self.taken, self.first
        waiting, idle = np.zeros(len(taken), np.int64), np.zeros(len(self.state.speed), np.int64)
        for keys, at, size, counts, number in (
            (graph.waiting, pools.waiting_first, pools.waiting_size, waiting, tasks.in_position),
            (graph.idle, pools.idle_first, pools.idle_size, idle, np.arange(len(idle))),
        ):
            for pool in range(pools.idle_first.size):
                here = keys[at[pool] : at[pool] + size[pool]]
                if (bad := first_out_of_order(here)) >= 0:
                    self.fault(f"pool {pool}: entry {bad}, {here[bad]}, comes before the one above it")
                np.add.at(counts, number[here], 1)
        self.count("tasks that wait", graph.n_waiting, int(waiting.sum()))
        self.none(
            (waiting > 1) | ((waiting == 1) & (taken | (tasks.pending > 0))),
            lambda k: (
                f"task {first + k} is {waiting[k]} times among those that wait for a core; it is {self.assigned[k]}, "
                f"and waits for {tasks.pending[k]} tasks"
            ),
        )
        queued = graph.cores.queued
        wrong = idle != queued[: len(idle)]
        self.none(wrong, lambda c: f"core {c} is {idle[c]} times among those that wait for tasks, and says {queued[c]}")

    def _check_transfers(self) -> None:
        graph, sent, arrived = self.graph, self.graph.sent_ns[self.edges], self.graph.arrived_ns[self.edges]
        wrong = (arrived >= 0) & ((sent < 0) | (arrived < sent))
        self.none(wrong, lambda k: f"transfer {k} was sent at {sent[k]} ns, and arrived at {arrived[k]} ns")
        if graph.has_data == 0:
            self.none(sent >= 0, lambda k: f"transfer {k} was sent at {sent[k]} ns, and data take no time")
            return
        slots = graph.flows.edge_slot[: graph.n_edges]
        wrong = ((sent >= 0) & (arrived < 0)) != (slots >= 0)
        self.none(
            wrong, lambda k: f"transfer {k}, sent {sent[k]}, arrived {arrived[k]} ns, is under way in slot {slots[k]}"
        )
        used = slots[slots >= 0]
        if len(used) != len(np.unique(used)):
            self.fault("two transfers are under way in one slot")
        if self.records:
            ended = self.state.end_ns[self.first + graph.source[self.edges]]
            wrong = (sent >= 0) & (sent < ended)
            self.none(wrong, lambda k: f"transfer {k} was sent at {sent[k]} ns, before what makes it had ended")
