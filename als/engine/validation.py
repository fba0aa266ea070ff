"""What must hold of an application's state between two calls: every number that is kept twice is counted again.

In plain numpy, sharing no code with the kernels; of a part that is a graph see ``als.engine.dag.validation``.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from als.engine import state as s
from als.engine.codes import Taken
from als.engine.dag.validation import validate_graph
from als.engine.state import ApplicationState
from als.engine.status import ApplicationStatus
from traces.checks.heaps import first_out_of_order
from traces.checks.jobs import InvariantError
from traces.compiled import Array

__all__ = ["validate"]

_FREE, _TAKEN, _PUT_BACK = map(int, Taken)


def validate(state: ApplicationState, name: str = "application") -> None:
    """Check an application's state between two calls of ``als.engine.loop``, of which none has ended in a fault.

    A core that is there asks, works or was sent away; no task is held twice; tasks that are left, put back or assigned are as
    many as is counted; heaps are in order; the records of tasks say who has which.

    Raises
    ------
    InvariantError
        Naming the first core, task or number that is wrong; it begins with ``name``.
    """
    _Application(state, name).check()


class _Application:
    """One application, and how its faults are said."""

    def __init__(self, state: ApplicationState, name: str) -> None:
        self.state, self.name = state, name
        self.now, self.status, self.part = state.now_ns, state.status, state.part
        self.first, self.stop = (int(state.part_first[self.part + k]) for k in (0, 1))
        self.kind = int(state.phases.kind[self.part % len(state.phases.kind)])

    def check(self) -> None:
        state = self.state
        for what in state.faults():
            self.fault(what)
        if self.status == ApplicationStatus.SUSPENDED:
            self._check_presence()
            self._check_asking()
            if self.kind == s.GRAPH:
                validate_graph(state, self.fault)
            else:
                self._check_counts()
                self._check_held()
        elif self.status in (ApplicationStatus.FINISHED, ApplicationStatus.STOPPED, ApplicationStatus.LOST):
            self._check_end()
        else:
            self.fault(f"status {self.status}; allowed: suspended, finished, stopped, lost")
        self._check_records()
        if len(bad := np.flatnonzero(state.busy_ns < 0)):
            self.fault(f"core {bad[0]} has been busy for {state.busy_ns[bad[0]]} ns")

    def fault(self, what: str) -> NoReturn:
        raise InvariantError(f"{self.name} at {self.now} ns, part {self.part}: {what}")

    def _count(self, what: str, said: int, found: int) -> None:
        if said != found:
            self.fault(f"{what}: {said} by its count, {found} there are")

    def _check_presence(self) -> None:
        speed = self.state.speed
        if len(bad := np.flatnonzero(~((speed >= 0) & (speed < np.inf)))):
            self.fault(f"core {bad[0]} has speed {speed[bad[0]]}")
        released = self.state.cores.released_ns[: len(self.state.speed)] != s.NEVER
        gone = self.state.cores.for_good[: len(self.state.speed)] != 0
        self._count("cores that are lost for good", int(self.state.n_gone), int(gone.sum()))
        if len(bad := np.flatnonzero(gone & ((speed > 0) | released))):
            self.fault(f"core {bad[0]} is lost for good, and has speed {speed[bad[0]]} or was released")
        if (gone | released).all() and gone.any():
            self.fault("all cores are lost for good, and it goes on")
        self._count("cores that are released", int(self.state.n_released), int(released.sum()))
        there = int(((speed > 0) & ~released).sum())
        self._count("cores that are there", int(self.state.n_present), there)

    def _check_asking(self) -> None:
        state, n_cores = self.state, len(self.state.speed)
        n = int(state.n_asking)
        if not 0 <= n <= n_cores:
            self.fault(f"{n} cores ask; there are {n_cores}")
        ns, key = state.ask_ns[:n], state.ask_core[:n]
        core = key % state.graph.cores.does.size if self.kind == s.GRAPH else key
        if (at := first_out_of_order(ns, key)) >= 0:
            self.fault(f"heap of requests: entry {at}, ({ns[at]} ns, {key[at]}), comes before the one above it")
        if len(bad := np.flatnonzero(ns < self.now)):
            self.fault(f"core {core[bad[0]]} should have been served at {ns[bad[0]]} ns")
        times = np.bincount(core, minlength=n_cores)
        if len(bad := np.flatnonzero(times > (state.speed > 0))):
            self.fault(f"core {bad[0]}, of speed {state.speed[bad[0]]}, is {times[bad[0]]} times among those that ask")
        if self.kind != s.GRAPH:
            away = state.cores.away[: len(state.speed)] == 1
            released = state.cores.released_ns[: len(state.speed)] != s.NEVER
            if len(bad := np.flatnonzero((times + away != (state.speed > 0)) & ~released)):
                c = bad[0]
                self.fault(
                    f"core {c}, of speed {state.speed[c]}, asks {times[c]} times, and was {'' if away[c] else 'not '}sent away"
                )

    def _check_counts(self) -> None:
        taken = self.state.taken
        part = taken[self.first : self.stop]
        following = int(self.state.next_task)
        if not self.first <= following <= self.stop:
            self.fault(f"the next task is {following}; the part has tasks {self.first} to {self.stop - 1}")
        if len(bad := np.flatnonzero(part > _PUT_BACK)):
            self.fault(f"task {self.first + bad[0]} is marked {part[bad[0]]}")
        self._count("tasks that are left", int(self.state.n_left), int((part != _TAKEN).sum()))
        holes = int((taken[self.first : following] != _TAKEN).sum())
        self._count("tasks that were passed over or put back", int(self.state.n_holes), holes)
        back = np.flatnonzero(part == _PUT_BACK) + self.first
        self._count("tasks that were put back", int(self.state.n_put_back), len(back))
        if len(back) and back[0] < self.state.lowest_hole:
            self.fault(f"task {back[0]} was put back, and is looked for from {self.state.lowest_hole} on")
        if len(bad := np.flatnonzero(taken[following : self.stop] == _TAKEN)):
            self.fault(f"task {following + bad[0]} is assigned, and {following} is the next that never was")
        self._check_other_parts()

    def _check_other_parts(self) -> None:
        done, later = self.state.taken[: self.first], self.state.taken[self.stop : len(self.state.lengths)]
        if len(bad := np.flatnonzero(done != _TAKEN)):
            self.fault(f"task {bad[0]}, of a part that has ended, is not assigned")
        if len(bad := np.flatnonzero(later != _FREE)):
            self.fault(f"task {self.stop + bad[0]}, of a part that has not begun, is assigned")

    def _check_held(self) -> None:
        # The tasks that cores are at.
        state, cores = self.state, self.state.cores
        holder = np.full(len(state.lengths), -1)
        asks = state.ask_core[: state.n_asking]
        for c in asks[cores.held_size[asks] > 0].tolist():
            first, stop, size = int(cores.held_first[c]), int(cores.held_stop[c]), int(cores.held_size[c])
            if not self.first <= first <= stop <= self.stop or stop - first > size:
                self.fault(f"core {c} has a chunk of {size} and holds tasks [{first}, {stop}) of it")
            if stop > first and (other := int(holder[first:stop].max())) >= 0:
                self.fault(f"cores {other} and {c} hold the same task of [{first}, {stop})")
            holder[first:stop] = c
            if len(bad := np.flatnonzero(state.taken[first:stop] != _TAKEN)):
                self.fault(f"core {c} holds task {first + bad[0]}, which is not assigned")

    def _check_end(self) -> None:
        n = len(self.state.lengths)
        ran = int(self.state.n_ran)
        if self.status == ApplicationStatus.FINISHED:
            self._count("tasks that ran", ran, n)
            self._count("tasks that are left", int(self.state.n_left), 0)
            if len(bad := np.flatnonzero(self.state.taken[:n] != _TAKEN)):
                self.fault(f"it has finished, and task {bad[0]} is not assigned")
        elif not 0 <= ran <= n:
            self.fault(f"{ran} tasks ran; there are {n}")
        if len(bad := np.flatnonzero(self.state.finish_ns > self.now)):
            self.fault(f"it has ended, and core {bad[0]} finishes at {self.state.finish_ns[bad[0]]} ns")

    def _check_records(self) -> None:
        state = self.state
        if not len(state.start_ns):
            return
        start, end = state.start_ns, state.end_ns
        core: Array = state.core
        began = start >= 0
        if len(bad := np.flatnonzero((end >= 0) & (end < start))):
            self.fault(f"task {bad[0]} runs from {start[bad[0]]} to {end[bad[0]]} ns")
        wrong = began & ((state.taken[: len(start)] != _TAKEN) & (self.status == ApplicationStatus.SUSPENDED))
        if len(bad := np.flatnonzero(wrong)):
            self.fault(f"task {bad[0]} began at {start[bad[0]]} ns, and is not assigned")
        # A slot may have been another core's before.
        known = np.isin(core, state.core_number) if state.width == 0 else core >= 0
        if len(bad := np.flatnonzero((began & ~known) | (~began & (core >= 0)))):
            self.fault(f"task {bad[0]}, begun at {start[bad[0]]} ns, is on core {core[bad[0]]}")
        chunks = state.n_chunks
        if len(bad := np.flatnonzero(began & ((state.chunk < 0) | (state.chunk >= chunks)))):
            self.fault(f"task {bad[0]} is of chunk {state.chunk[bad[0]]}; there were {chunks}")
        if self.status != ApplicationStatus.SUSPENDED:
            self._count("tasks that ran", int(state.n_ran), int(began.sum()))
            if len(bad := np.flatnonzero(began & (end < 0))):
                self.fault(f"task {bad[0]} began at {start[bad[0]]} ns and has no end")
