"""Slurm as the batch level: a ``bridge.couplings.batch_level.BatchLevel`` in which slurmctld decides.

Instants are a workload's, ns since its time 0, if nothing else is said. Things happen one at a time: of one instant, first
what ends, then what is submitted, then what is withdrawn, and only then what slurmctld does by itself.
"""

from __future__ import annotations

import heapq
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bls.engine.status import BatchStatus
from bls.inputs import deadlines_ns
from bls.seen.moment import JobColumns
from bridge.replay.allocation import Cores
from bridge.replay.clock import NEVER, Clock
from bridge.replay.configuration import Node
from bridge.replay.controller import Controller, Refused
from bridge.replay.installed import Slurm
from bridge.replay.messages import Kind, Launch, answered_code, epilog_complete, registration
from bridge.replay.nodes import Happenings, NodeController
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError, PeerError
from traces.base.time import NS_PER_S, format_ns
from traces.compiled import Array
from traces.ledger import STATES, WHY

__all__ = ["Pace", "SlurmLevel"]

_MINUTE_NS = 60 * NS_PER_S

#: If nothing runs and nothing comes for so long, and Slurm starts nothing, it never will: its longest cycle is an hour.
_STALL_NS = 4 * 3600 * NS_PER_S

#: A jump of the date ends so long before the next thing that happens.
_BEFORE_NS = 60 * NS_PER_S

#: A real pause while the clock runs at a rate.
_PAUSE_S = 0.01

#: What slurmctld writes when its backfilling starts a job.
_BACKFILLED = re.compile(r"sched/backfill: _start_job: Started JobId=(\d+)")

#: (instant, what, row)
_Happening = tuple[int, int, int]

_END, _SUBMIT, _WITHDRAWN = range(3)
_COMPLETED, _KILLED, _CANCELLED = (STATES.index(name) for name in ("completed", "killed", "cancelled"))
_HEAD, _BACKFILL, _NEVER = (WHY.index(name) for name in ("head", "backfill", "never"))


class Pace(NamedTuple):
    """How the clock goes.

    Attributes
    ----------
    origin_ns : int
        The date of the workload's time 0.
    settle_ns : int
        When nothing has happened for so long the date jumps; 0: it never does.
    """

    origin_ns: int
    settle_ns: int


class SlurmLevel:
    """The batch level of a replay.

    Parameters
    ----------
    scenario : Scenario
        Its workload, and its machine; nothing else of it is for Slurm.
    controller : Controller
        It has come up.
    clock : Clock
    nodes : NodeController
    known : sequence of Node
        What Slurm knows of the hosts, in the machine's order.
    slurm : Slurm
    pace : Pace
    """

    # What this batch level never does with jobs that run.
    releases = hints = molds = resizes = evolves = scales = False
    waits_for_others = estimates_differ = False

    #: The end of a job is known from its start on: nobody decides before.
    awaits_outcomes = True

    #: Slurm ends jobs, whatever their applications have told.
    directs = True

    def __init__(
        self,
        scenario: Scenario,
        controller: Controller,
        clock: Clock,
        nodes: NodeController,
        known: Sequence[Node],
        slurm: Slurm,
        pace: Pace,
    ) -> None:
        workload = scenario.workload
        nodes.tell = Happenings(self.launched, self.stopped, self.wanted)
        self._nodes, self._slurm = known, slurm
        self._wanted: list[int] = list(range(len(known)))  # nodes that have to register
        self._workload, self._controller, self._clock, self._pace = workload, controller, clock, pace
        self._host = {node.name: at for at, node in enumerate(known)}
        self._first = scenario.platform.first_core
        self._cores = Cores(self._first)
        n = self.rows = len(workload)
        self._recorded = scenario.technique is None
        self.deadline_ns = deadlines_ns(workload, scenario.options.slack)
        zeros = np.zeros(n, np.int64)
        self._columns = JobColumns(
            origin=np.arange(n),
            start_ns=zeros - 1,
            end_ns=zeros - 1,
            eligible_ns=workload.submit_ns.copy(),
            cancel_ns=zeros - 1,
            estimate_ns=workload.estimate_ns.copy(),
            attempt=zeros.copy(),
            held_cores=zeros.copy(),
            why=zeros + _NEVER,
            state=zeros - 1,
        )
        self._held: dict[int, list[tuple[int, int]]] = {}
        self._row: dict[int, int] = {}  # of Slurm's number of a job
        self._number: dict[int, int] = {}  # Slurm's, of a row
        self._early: list[Launch] = []  # of jobs of which Slurm has not told the number yet
        self._started: list[int] = []  # that await an answer
        self._unknown: dict[int, None] = {}  # rows of running jobs whose end is not known yet
        self._reached: list[int] = []
        self._stop: dict[int, int] = {}
        self._running: set[int] = set()
        self._beaten: set[int] = set()  # rows of jobs that have ended as Slurm has killed them
        self._to_clean: dict[int, int] = {}  # on how many nodes Slurm has not ended a job yet, by its number
        self._cleaned: list[tuple[int, int]] = []  # the last of these, of which it is to be told
        self.ended = self.waiting = self.submitted = 0
        self._last_ns = -pace.origin_ns  # when something has happened
        self.jumps = 0
        self._up_since_s = clock.now_ns // NS_PER_S
        self._agenda: list[_Happening] = [
            (submit_ns, _SUBMIT, row) for row, submit_ns in enumerate(workload.submit_ns.tolist())
        ]
        withdrawn = np.flatnonzero(workload.cancel_ns >= 0).tolist()
        self._agenda += [(int(workload.cancel_ns[row]), _WITHDRAWN, row) for row in withdrawn]
        heapq.heapify(self._agenda)

    # ---- the time ----

    @property
    def now_ns(self) -> int:
        """The instant."""
        return self._clock.now_ns + self._clock.skipped_ns - self._pace.origin_ns

    def _timer(self, instant_ns: int) -> int:
        return instant_ns + self._pace.origin_ns - self._clock.skipped_ns

    # ---- what has been, and is ----

    @property
    def due(self) -> int:
        """The row whose outcome is needed."""
        return next(iter(self._unknown))

    @property
    def losses(self) -> dict[int, str]:
        """Nobody loses cores."""
        return {}

    def columns(self) -> JobColumns:
        """All jobs."""
        return self._columns

    def allocations(self) -> tuple[Array, Array, Array]:
        """The cores of all jobs: ``allocation_first``, ``_lo`` and ``_hi`` of ``traces.ledger.JobRecords``."""
        held = [self._held.get(row, []) for row in range(self.rows)]
        first = np.concatenate([[0], np.cumsum([len(one) for one in held])]).astype(np.int64)
        flat = np.array([pair for one in held for pair in one], np.int64).reshape(-1, 2)
        return first, flat[:, 0].copy(), flat[:, 1].copy()

    def started(self) -> list[int]:
        """The rows that await an answer."""
        return list(self._started)

    def reached(self) -> list[int]:
        """The rows of jobs that Slurm has ended, once."""
        found, self._reached = self._reached, []
        return found

    def origin(self, row: int) -> int:
        """The row itself."""
        return row

    def start_ns(self, row: int) -> int:
        """When a row's job has started."""
        return int(self._columns.start_ns[row])

    def stop_ns(self, row: int) -> int | None:
        """When Slurm has ended it, if it has."""
        return self._stop.get(row)

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The cores of a row's job."""
        return iter(self._held[row])

    def resized(self, row: int) -> tuple[list[int], list[int]]:
        """None is given any."""
        return [], []

    def hinted(self, row: int) -> bool:
        """Nobody is."""
        return False

    def scaled(self, row: int) -> list[tuple[int, int]]:
        """No core is."""
        return []

    # ---- what is told ----

    def promise(self, row: int, not_before_ns: int) -> bool:
        """That a job has started is heard; of use is only an outcome."""
        if row in self._started:
            self._started.remove(row)
        return True

    def take_back(self, row: int) -> bool:
        """Its outcome is not known any more."""
        self._unknown[row] = None
        return True

    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool:
        """When a job ends by itself; of one that Slurm has ended, what became of it meanwhile."""
        self._unknown.pop(row, None)
        self.promise(row, end_ns)
        if row in self._stop:
            return end_ns <= self._stop[row]
        heapq.heappush(self._agenda, (end_ns, _END, row))
        return end_ns >= self.start_ns(row)

    # ---- how it goes on ----

    def advance(self, max_ends: int) -> BatchStatus:
        """Run until an answer is needed, so many jobs have ended, or all have.

        Raises
        ------
        InputError
            If Slurm does not take a job, or never starts it.
        PeerError
            If slurmctld has died, hangs, or does what is not understood.
        """
        upto = self.ended + max_ends
        while True:
            if self._started:
                return BatchStatus.STARTED
            if self._reached:
                return BatchStatus.REACHED
            if self._unknown:
                return BatchStatus.DUE
            if self.ended == self.rows:
                return BatchStatus.DONE
            if self.ended >= upto:
                return BatchStatus.PAUSED
            self._go_on()

    def _go_on(self) -> None:
        if self._cleaned:
            number, node = self._cleaned.pop(0)
            self._controller.tell(epilog_complete(self._slurm.version, number, self._nodes[node].name))
            return
        if self._wanted:
            self._register(self._wanted.pop(0))
            return
        self._forget_past()
        next_ns = self._agenda[0][0] if self._agenda else None
        until_ns = self._last_ns + _STALL_NS if next_ns is None else next_ns
        settle_ns = self._pace.settle_ns
        if settle_ns and next_ns is not None:
            until_ns = min(until_ns, max(self._last_ns + settle_ns, self.now_ns + 1))
        until = self._timer(until_ns)
        if until > self._clock.now_ns:
            if self._controller.step(until):
                return
            wake = self._clock.wake_ns
            if wake < until:
                self._clock_to(wake)
                return
            self._clock_to(until)
            if self._clock.now_ns < until:  # it runs by itself, and somebody may wake before
                return
        if next_ns is None:
            raise self._stall()
        if next_ns > self.now_ns:
            self._jump(next_ns)
            return
        _, what, row = heapq.heappop(self._agenda)
        self._last_ns = self.now_ns
        (self._end, self._submit, self._withdraw)[what](row)
        self._controller.settle()

    def _clock_to(self, instant: int) -> None:
        # To an instant of the timer.
        if instant == NEVER:
            raise PeerError(f"slurmctld waits for nothing; its last words: {self._controller.last_words()}")
        if self._clock.rate:
            time.sleep(min(max(instant - self._clock.now_ns, 0) / NS_PER_S / self._clock.rate, _PAUSE_S))
        else:
            self._clock.move(max(instant, self._clock.now_ns))

    def _forget_past(self) -> None:
        # Of what was on the agenda of jobs that have ended.
        state, start = self._columns.state, self._columns.start_ns
        while self._agenda:
            _, what, row = self._agenda[0]
            if what == _SUBMIT or (state[row] < 0 and not (what == _WITHDRAWN and start[row] >= 0)):
                return
            heapq.heappop(self._agenda)

    def _jump(self, next_ns: int) -> None:
        """Nothing has happened for long, and all passes were made: the date moves on by whole minutes, and no timer does."""
        limits = (self._columns.start_ns[row] + self._columns.estimate_ns[row] for row in self._running)
        nearest_ns = min(next_ns, min(limits, default=next_ns))
        span_ns = (nearest_ns - self.now_ns - _BEFORE_NS) // _MINUTE_NS * _MINUTE_NS
        if span_ns > 0:
            self._clock.skip(int(span_ns))
            self.jumps += 1
        self._last_ns = self.now_ns

    def _stall(self) -> InputError:
        waiting = [row for row in range(self.rows) if self._columns.state[row] < 0]
        job = self._workload.job_id[waiting[0]]
        try:
            self._controller.request("why", self._number[waiting[0]])
            reason = "no reason"
        except Refused as why:
            reason = str(why)
        return InputError(
            f"Slurm does not start {len(waiting)} job{'s' * (len(waiting) > 1)}, though nothing has run for "
            f"{format_ns(_STALL_NS)}; job {job}: {reason}"
        )

    # ---- what we do ----

    def _submit(self, row: int) -> None:
        workload = self._workload
        minutes = max(1, -(-int(workload.estimate_ns[row]) // _MINUTE_NS))
        try:
            number = self._controller.request(
                "submit", workload.job_id[row], workload.cores[row], 1, minutes, os.geteuid(), "-"
            )
        except Refused as why:
            raise InputError(
                f"Slurm does not take job {workload.job_id[row]}, {workload.cores[row]} cores for {minutes} min: {why}"
            ) from None
        self._row[number], self._number[row] = row, number
        self.waiting += 1
        early, self._early = self._early, []
        for launch in early:
            self.launched(launch)

    def _end(self, row: int) -> None:
        self._over(row, _COMPLETED)
        try:
            self._ask("end", row, 0)
        except PeerError:
            if row not in self._beaten:  # Slurm has killed it at this very instant, before it heard
                raise

    def _withdraw(self, row: int) -> None:
        self._columns.cancel_ns[row] = self.now_ns
        self._columns.state[row] = _CANCELLED
        self.waiting -= 1
        self.ended += 1
        self._ask("cancel", row)

    def _ask(self, what: str, row: int, *more: object) -> None:
        try:
            self._controller.request(what, self._number[row], *more)
        except Refused as why:
            raise PeerError(f"Slurm does not {what} job {self._workload.job_id[row]}: {why}") from None

    def _over(self, row: int, state: int) -> None:
        self._columns.end_ns[row] = self.now_ns
        self._columns.state[row] = state
        self._cores.free(self._held[row])
        self._running.discard(row)
        self.ended += 1

    def _register(self, node: int) -> None:
        known, date_s = self._nodes[node], (self.now_ns + self._pace.origin_ns) // NS_PER_S
        jobs = [
            self._number[row]
            for row in sorted(self._running)
            if any(self._first[node] < hi and lo < self._first[node + 1] for lo, hi in self._held[row])
        ]
        release, version = self._slurm.release, self._slurm.version
        said = registration(version, known.name, known.cpus, release, date_s, self._up_since_s, jobs)
        code = answered_code(self._controller.ask(said), version)
        if code:
            words = self._controller.last_words()
            raise PeerError(f"slurmctld does not register node {known.name}: code {code}; its last words: {words}")

    # ---- what Slurm does ----

    def wanted(self, node: int) -> None:
        """Slurm wants a node to register."""
        self._wanted.append(node)

    def launched(self, launch: Launch) -> None:
        """Slurm starts a job."""
        row = self._row.get(launch.job)
        if row is None:
            self._early.append(launch)
            return
        job = self._workload.job_id[row]
        if self._columns.start_ns[row] >= 0:
            raise PeerError(f"Slurm starts job {job} again; preemption and requeues are not known to a replay")
        self._held[row] = self._cores.take(launch, self._host, f"job {job}")
        self._columns.start_ns[row] = self._last_ns = self.now_ns
        self._columns.held_cores[row] = sum(hi - lo for lo, hi in self._held[row])
        self.waiting -= 1
        self._running.add(row)
        self._to_clean[launch.job] = len(launch.cpus)
        if self._recorded:
            heapq.heappush(self._agenda, (self.now_ns + int(self._workload.run_ns[row]), _END, row))
        else:
            self._started.append(row)
            self._unknown[row] = None

    def stopped(self, number: int, kind: Kind, node: int) -> bool:
        """Slurm ends a job, or cleans up after one, on a node; whether there is nothing left of it.

        A real node says so later, and after the last one Slurm looks for whom to start at once. So does it here: the last
        one tells it by itself, and the others when they are asked.
        """
        self._note_stop(self._row.get(number), kind)
        left = self._to_clean.get(number, 0) - 1
        self._to_clean[number] = left
        if left == 0:
            self._cleaned.append((number, node))
        return left != 0

    def _note_stop(self, row: int | None, kind: Kind) -> None:
        if row is None:
            return
        if self._columns.state[row] >= 0:
            if kind == Kind.REQUEST_KILL_TIMELIMIT:
                self._beaten.add(row)
            return
        self._last_ns = self.now_ns
        if kind != Kind.REQUEST_KILL_TIMELIMIT:
            raise PeerError(
                f"Slurm ends job {self._workload.job_id[row]} by itself ({kind.name}); "
                "preemption and requeues are not known to a replay"
            )
        self._over(row, _KILLED)
        if not self._recorded:
            self._stop[row] = self.now_ns
            self._reached.append(row)
            self._unknown[row] = None

    def note_reasons(self, log: str) -> None:
        """Who has started each job, by slurmctld's log: its main scheduler, or its backfilling."""
        backfilled = {int(number) for number in _BACKFILLED.findall(log)}
        for row, number in self._number.items():
            if self._columns.start_ns[row] >= 0:
                self._columns.why[row] = _BACKFILL if number in backfilled else _HEAD
