"""Invariants of an application's state between two calls: all redundant numbers are recomputed in plain numpy, without code
of the kernels."""

import numpy as np

from als.engine import state as s
from als.engine.codes import ApplicationStatus, Taken
from als.engine.dag import state as g
from als.engine.state import ApplicationState
from traces.checks.faults import Checks, first_out_of_order

#: The kind of a core's event in the heap, by activity; other activities have no event.
_EVENT = {g.COMPUTES: g.ENDS, g.EXPECTS: g.ANSWERED, g.ASKS: g.REQUESTS}


class GraphChecks(Checks):
    """The checks of a running part that is a graph, with the tasks ``first`` to ``stop - 1`` of the application."""

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
        # Dependencies, as far as records show ended tasks.
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
        # The activity of each core, and its next event.
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
            if does in (g.COMPUTES, g.EXPECTS) and not 0 <= k < self.stop - first:
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
        said = "transfer {}, sent {}, arrived {} ns, is under way in slot {}"
        self.none(wrong, lambda k: said.format(k, sent[k], arrived[k], slots[k]))
        used = slots[slots >= 0]
        if len(used) != len(np.unique(used)):
            self.fault("two transfers are under way in one slot")
        if self.records:
            ended = self.state.end_ns[self.first + graph.source[self.edges]]
            wrong = (sent >= 0) & (sent < ended)
            self.none(wrong, lambda k: f"transfer {k} was sent at {sent[k]} ns, before what makes it had ended")


_FREE, _TAKEN, _PUT_BACK = map(int, Taken)


def validate(state: ApplicationState, name: str = "application") -> None:
    """Check an application between two calls of ``als.engine.loop`` without a fault; raises InvariantError."""
    _Application(state, name).check()


class _Application(Checks):
    """The checks of one application."""

    def __init__(self, state: ApplicationState, name: str) -> None:
        self.where = f"{name} at {state.now_ns} ns, part {state.part}"
        super().__init__(self.where)
        self.state, self.status, self.n_cores = state, state.status, len(state.speed)
        self.first, self.stop = state.part_first[state.part : state.part + 2].tolist()
        self.kind = int(state.phases.kind[state.part % len(state.phases.kind)])

    def check(self) -> None:
        state = self.state
        self.declared(state)
        self.released = state.cores.released_ns[: self.n_cores] != s.NEVER
        if self.status == ApplicationStatus.SUSPENDED:
            self._check_presence()
            self._check_asking()
            if self.kind == s.GRAPH:
                GraphChecks(state, self.where).check()
            else:
                self._check_counts()
                self._check_held()
                self._check_devices()
        elif self.status in (ApplicationStatus.FINISHED, ApplicationStatus.STOPPED, ApplicationStatus.LOST):
            self._check_end()
        else:
            self.fault(f"status {self.status}; allowed: suspended, finished, stopped, lost")
        if len(state.start_ns):
            self._check_records()
        busy = state.cores.busy_ns[: self.n_cores]
        self.none(busy < 0, lambda core: f"core {core} has been busy for {busy[core]} ns")

    def _check_presence(self) -> None:
        state, speed, released = self.state, self.state.speed, self.released
        self.none(~((speed >= 0) & (speed < np.inf)), lambda core: f"core {core} has speed {speed[core]}")
        gone = state.cores.for_good[: self.n_cores] != 0
        self.count("cores that are lost for good", state.n_gone, int(gone.sum()))
        both = gone & ((speed > 0) | released)
        self.none(both, lambda core: f"core {core} is lost for good, and has speed {speed[core]} or was released")
        if (gone | released).all() and gone.any():
            self.fault("all cores are lost for good, and the application continues")
        self.count("cores that are released", state.n_released, int(released.sum()))
        self.count("cores that are there", state.n_present, int(((speed > 0) & ~released).sum()))

    def _check_asking(self) -> None:
        state, speed, n = self.state, self.state.speed, self.state.n_asking
        if not 0 <= n <= self.n_cores:
            self.fault(f"{n} cores ask; there are {self.n_cores}")
        ns, key = state.cores.ask_ns[:n], state.cores.ask_core[:n]
        core = key % state.graph.cores.does.size if self.kind == s.GRAPH else key
        self.heap("requests", ns, key)
        self.none(ns < state.now_ns, lambda k: f"core {core[k]} should have been served at {ns[k]} ns")
        times = np.bincount(core, minlength=self.n_cores)
        often = times > (speed > 0)
        self.none(often, lambda c: f"core {c}, of speed {speed[c]}, is {times[c]} times among those that ask")
        if self.kind != s.GRAPH:
            away = state.cores.away[: self.n_cores] == 1
            wrong, was = (times + away != (speed > 0)) & ~self.released, np.where(away, "was", "was not")
            self.none(wrong, lambda c: f"core {c}, of speed {speed[c]}, asks {times[c]} times, and {was[c]} sent away")

    def _check_counts(self) -> None:
        state, taken, first, stop, following = self.state, self.state.taken, self.first, self.stop, self.state.next_task
        part = taken[first:stop]
        if not first <= following <= stop:
            self.fault(f"the next task is {following}; the part has tasks {first} to {stop - 1}")
        self.none(part > _PUT_BACK, lambda k: f"task {first + k} is marked {part[k]}")
        self.count("tasks that are left", state.n_left, int((part != _TAKEN).sum()))
        holes = int((taken[first:following] != _TAKEN).sum())
        self.count("tasks that were passed over or put back", state.n_holes, holes)
        back = np.flatnonzero(part == _PUT_BACK) + first
        self.count("tasks that were put back", state.n_put_back, len(back))
        if len(back) and back[0] < state.lowest_hole:
            self.fault(f"task {back[0]} was put back, and is looked for from {state.lowest_hole} on")
        wrong = taken[following:stop] == _TAKEN
        self.none(wrong, lambda k: f"task {following + k} is assigned, and {following} is the next that never was")
        self.none(taken[:first] != _TAKEN, lambda k: f"task {k}, of a part that has ended, is not assigned")
        later = taken[stop : len(state.lengths)] != _FREE
        self.none(later, lambda k: f"task {stop + k}, of a part that has not begun, is assigned")

    def _check_held(self) -> None:
        # The tasks that cores hold.
        state, cores = self.state, self.state.cores
        holder = np.full(len(state.lengths), -1)
        asks = state.cores.ask_core[: state.n_asking]
        for c in asks[cores.held_size[asks] > 0].tolist():
            first, stop, size = int(cores.held_first[c]), int(cores.held_stop[c]), int(cores.held_size[c])
            if not self.first <= first <= stop <= self.stop or stop - first > size:
                self.fault(f"core {c} has a chunk of {size} and holds tasks [{first}, {stop}) of it")
            if stop > first and (other := int(holder[first:stop].max())) >= 0:
                self.fault(f"cores {other} and {c} hold the same task of [{first}, {stop})")
            holder[first:stop] = c
            if len(bad := np.flatnonzero(state.taken[first:stop] != _TAKEN)):
                self.fault(f"core {c} holds task {first + bad[0]}, which is not assigned")

    def _check_devices(self) -> None:
        # The steps of the chunks that devices hold follow each other.
        state, slots = self.state, self.state.devices.slots
        if not len(slots.kind):
            return
        steps = [slots.began_ns, slots.works_ns, slots.worked_ns, slots.done_ns]
        holds = (slots.kind > 0) & (state.cores.held_size[: self.n_cores] > 0)
        wrong = holds & (np.diff(steps, axis=0) < 0).any(axis=0)
        self.none(
            wrong, lambda c: f"core {c}: its chunk's steps on a device are at {[int(step[c]) for step in steps]} ns"
        )

    def _check_end(self) -> None:
        state, n, ran = self.state, len(self.state.lengths), self.state.n_ran
        if self.status == ApplicationStatus.FINISHED:
            self.count("tasks that ran", ran, n)
            self.count("tasks that are left", state.n_left, 0)
            self.none(state.taken[:n] != _TAKEN, lambda k: f"it has finished, and task {k} is not assigned")
        elif not 0 <= ran <= n:
            self.fault(f"{ran} tasks ran; there are {n}")
        finish = state.cores.finish_ns[: self.n_cores]
        self.none(finish > state.now_ns, lambda core: f"it has ended, and core {core} finishes at {finish[core]} ns")

    def _check_records(self) -> None:
        state, start, end, core = self.state, self.state.start_ns, self.state.end_ns, self.state.core
        began, suspended = start >= 0, self.status == ApplicationStatus.SUSPENDED
        self.none((end >= 0) & (end < start), lambda k: f"task {k} runs from {start[k]} to {end[k]} ns")
        free = began & (state.taken[: len(start)] != _TAKEN) & suspended
        self.none(free, lambda k: f"task {k} began at {start[k]} ns, and is not assigned")
        # Another core may have had a slot before.
        known = np.isin(core, state.core_number) if state.width == 0 else core >= 0
        wrong = (began & ~known) | (~began & (core >= 0))
        self.none(wrong, lambda k: f"task {k}, begun at {start[k]} ns, is on core {core[k]}")
        wrong = began & ((state.chunk < 0) | (state.chunk >= state.n_chunks))
        self.none(wrong, lambda k: f"task {k} is of chunk {state.chunk[k]}; there were {state.n_chunks}")
        if not suspended:
            self.count("tasks that ran", state.n_ran, int(began.sum()))
            self.none(began & (end < 0), lambda k: f"task {k} began at {start[k]} ns and has no end")
