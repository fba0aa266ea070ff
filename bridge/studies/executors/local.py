"""Executors on this machine: in this process, or in several worker processes."""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any

from bridge.runs.kernels import prepare_run
from bridge.scenarios.scenario import Execution
from bridge.standard_error import keep_standard_streams
from bridge.studies.executors.executor import Executor, Prepared, Unit, UnitOutcome, WorkSummary
from bridge.studies.unit import LikeRuns, do_unit, warm_up
from bridge.workers.process_names import deaf_children, die_with_parent, how_ended, nothing_imported
from traces.base.errors import PeerError

_AT_HAND = 2  #: number of groups of units that a worker has at hand, so that it need not wait for the next

#: Largest number of units in a group, so that all workers have work at the end, and little is repeated.
_MOST_TOGETHER = 16

_MOST_DEATHS = 2  #: number of deaths of its process after which a unit is given up; before, it is tried again


class Here:
    """One after another, in this process."""

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[UnitOutcome]:
        """See ``bridge.studies.executors.executor.Executor``."""
        like_runs = LikeRuns()
        warm_up()
        for unit in units:
            done = do_unit(unit, prepared[unit.prepared], like_runs, f"process {os.getpid()}")
            yield replace(done, compiled_s=0.0)


def _work(pipe: Connection, parent: int) -> None:
    # Main function of a worker: receives shared data and units, and answers each unit.
    keep_standard_streams()
    die_with_parent(parent)
    # A thread reads, so that senders do not wait for the end of a unit.
    messages: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(pipe, messages), daemon=True).start()
    prepared: dict[int, Prepared] = {}
    like_runs = LikeRuns()
    name = f"process {os.getpid()}"
    warm_up()
    pipe.send(None)  # from now on, a death is caused by a unit
    while (message := messages.get()) is not None:
        if isinstance(message, dict):
            prepared |= message
            continue
        for unit in message:
            pipe.send(do_unit(unit, prepared[unit.prepared], like_runs, name))


def _read(pipe: Connection, messages: SimpleQueue[Any]) -> None:
    with suppress(EOFError, OSError):
        while True:
            messages.put(pipe.recv())
    messages.put(None)


class _Worker:
    """A process and its units."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
        with deaf_children(), nothing_imported():
            self.process.start()
        self.ready = False
        theirs.close()
        self.groups: deque[deque[Unit]] = deque()
        self._has: set[int] = set()

    def give(self, group: list[Unit], prepared: Mapping[int, Prepared]) -> None:
        """Send units, preceded by shared data that were not sent yet."""
        needed = {unit.prepared for unit in group} - self._has
        self.groups.append(deque(group))
        if needed:
            self.pipe.send({place: prepared[place] for place in sorted(needed)})
            self._has |= needed
        self.pipe.send(group)

    def answers(self) -> Iterator[UnitOutcome]:
        """Yield its answers so far."""
        while self.pipe.poll():
            outcome: UnitOutcome | None = self.pipe.recv()
            if outcome is None:
                self.ready = True
                continue
            unit = self.groups[0].popleft()
            assert unit.place == outcome.place
            if not self.groups[0]:
                self.groups.popleft()
            yield outcome

    def kill(self) -> None:
        """Kill it at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Workers:
    """``n`` processes with groups of units that share applications. Others run the units of a dead process; a unit under which
    a process died twice is given up. :meth:`outcomes` raises PeerError if processes cannot be started."""

    def __init__(self, n: int) -> None:
        self._n = n

    def outcomes(self, units: Iterable[Unit], prepared: Mapping[int, Prepared]) -> Iterator[UnitOutcome]:
        """See ``bridge.studies.executors.executor.Executor``."""
        groups = _groups(units)
        again: deque[list[Unit]] = deque()
        deaths: dict[int, int] = {}
        workers: list[_Worker] = []
        prepare_run(applications=True)  # otherwise every worker would wait for the one that compiles
        try:
            while True:
                _deal(workers, groups, again, prepared, self._n)
                busy = [worker for worker in workers if worker.groups]
                if not busy:
                    return
                ready = wait([worker.pipe for worker in busy])
                for worker in busy:
                    if worker.pipe not in ready:
                        continue
                    try:
                        yield from worker.answers()
                    except (EOFError, ConnectionResetError):
                        workers.remove(worker)
                        if (lost := _died(worker, again, deaths)) is not None:
                            yield lost
        finally:
            for worker in workers:
                worker.kill()


def local_executor(workers: int | None = None) -> Callable[[WorkSummary], Executor]:
    """The executor on this machine, by default one process per processor. Raises InputError if the number is out of range."""
    n = Execution(workers=workers).how_many()
    return lambda needs: Here() if min(n, needs.units) <= 1 else Workers(min(n, needs.units))


def _groups(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    for _, alike in groupby(units, key=lambda unit: (unit.prepared, unit.group)):
        while group := list(islice(alike, _MOST_TOGETHER)):
            yield group


def _deal(
    workers: list[_Worker],
    groups: Iterator[list[Unit]],
    again: deque[list[Unit]],
    prepared: Mapping[int, Prepared],
    most: int,
) -> None:
    # Round by round, so that each has a group before one has two.
    for at_hand in range(_AT_HAND):
        for place in range(most):
            if place < len(workers) and len(workers[place].groups) > at_hand:
                continue
            group: Any = again.popleft() if again else next(groups, None)
            if group is None:
                return
            if place >= len(workers):
                workers.append(_Worker())
            worker = workers[min(place, len(workers) - 1)]
            with suppress(BrokenPipeError, ConnectionResetError):  # it died; noticed when its answers are read
                worker.give(group, prepared)


def _died(worker: _Worker, again: deque[list[Unit]], deaths: dict[int, int]) -> UnitOutcome | None:
    # It died at the first unit without an answer; that unit is tried alone.
    worker.process.join()
    ended = how_ended(worker.process.exitcode or 0)
    if not worker.ready:
        raise PeerError(f"a process that should run cells {ended} before it could; finished cells are kept")
    left = [list(group) for group in worker.groups]
    worker.pipe.close()
    suspect = left[0].pop(0)
    again.extend(group for group in left if group)
    deaths[suspect.place] = deaths.get(suspect.place, 0) + 1
    if deaths[suspect.place] < _MOST_DEATHS:
        again.appendleft([suspect])
        return None
    return UnitOutcome(suspect.place, None, error=f"the process that ran it {ended}, twice", code=1)
