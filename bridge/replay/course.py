"""The course of a replay: what happens when, at Slurm's side and at ours.

Instants are a workload's, ns since its time 0, if nothing else is said. Things happen one at a time: of one instant, first
what ends, then what becomes of nodes, then what is submitted, then what is withdrawn, and only then what slurmctld does by
itself.
"""

from __future__ import annotations

import heapq
import re
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bls.constraints.outages import NEVER as NEVER_UP
from bridge.replay.answers import Answers
from bridge.replay.book import COMPLETED, FAILED, KILLED, REQUEUED, Book
from bridge.replay.clock import NEVER, Clock
from bridge.replay.configuration import Node
from bridge.replay.controller import Controller, Refused
from bridge.replay.installed import Slurm
from bridge.replay.messages import Kind, Launch, answered_code, epilog_complete, registration
from bridge.replay.nodes import Happenings, NodeController
from bridge.replay.trace.dependents import Dependents
from bridge.replay.trace.node_states import NodeStates
from bridge.replay.trace.reservations import reservation_lines, reservation_name
from bridge.replay.trace.submissions import Submissions
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError, PeerError
from traces.base.time import NS_PER_S, format_ns

__all__ = ["Course", "Pace"]

_MINUTE_NS = 60 * NS_PER_S

#: If nothing runs and nothing comes for so long, and Slurm starts nothing, it never will: its longest cycle is an hour.
_STALL_NS = 4 * 3600 * NS_PER_S

#: A jump of the date ends so long before the next thing that happens.
_BEFORE_NS = 60 * NS_PER_S

#: A real pause while the clock runs at a rate.
_PAUSE_S = 0.01

#: A job that was requeued starts so much later at the earliest: its credential has to expire first.
_REQUEUE_NS = 122 * NS_PER_S

#: What slurmctld writes when its backfilling, or its main scheduler, starts a job.
_STARTED = re.compile(r"(sched/backfill: _start_job: Started|sched: Allocate) JobId=(\d+)")

#: (instant, what, row or host)
_Happening = tuple[int, int, int]

_END, _NODE, _SUBMIT, _WITHDRAWN, _LOOK = range(5)


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


class Course:
    """What is to happen, and what has.

    Parameters
    ----------
    scenario : Scenario
        Its workload and what surrounds it, and its machine; nothing else of it is for Slurm.
    controller : Controller
        It has come up.
    clock : Clock
    nodes : NodeController
    known : sequence of Node
        What Slurm knows of the hosts, in the machine's order.
    slurm : Slurm
    pace : Pace
    asked : Submissions
        What jobs ask for.
    """

    def __init__(
        self,
        scenario: Scenario,
        controller: Controller,
        clock: Clock,
        nodes: NodeController,
        known: Sequence[Node],
        slurm: Slurm,
        pace: Pace,
        asked: Submissions,
    ) -> None:
        workload, around = scenario.workload, scenario.circumstances
        nodes.tell = Happenings(self.launched, self.stopped, self.wanted)
        self._scenario, self._asked, self._nodes, self._slurm = scenario, asked, known, slurm
        self._to_register: list[int] = list(range(len(known)))
        self._workload, self._controller, self._clock, self._pace = workload, controller, clock, pace
        host = {node.name: at for at, node in enumerate(known)}
        self.book = Book(workload, scenario.platform.first_core, host)
        self.answers = Answers(recorded=scenario.technique is None)
        self.states = NodeStates(around.outages)
        self._dependents = Dependents(around.dependencies)
        self._window = None if around.windows is None else around.windows.of_jobs(workload)
        self._early: list[Launch] = []  # of jobs of which Slurm has not told the number yet
        self._to_clean: dict[int, int] = {}  # on how many nodes Slurm has not ended a job yet, by its number
        self._cleaned: list[tuple[int, int]] = []  # the last of these, of which it is to be told
        self._put_off: deque[tuple[int, int]] = (
            deque()
        )  # jobs that may start only at an instant, which Slurm is to be told
        self._last_ns = -pace.origin_ns  # when something has happened, or the date has jumped
        self._moved_ns = 0  # when something has become of a job
        self._beaten: set[int] = set()  # rows of jobs that have ended as Slurm has killed them
        self._begun = False
        self.jumps = 0
        self._up_since_s = clock.now_ns // NS_PER_S
        self._agenda = self._first_agenda()

    def _first_agenda(self) -> list[_Happening]:
        workload, around = self._workload, self._scenario.circumstances
        later = np.flatnonzero(workload.preset == 0).tolist()
        agenda: list[_Happening] = [(int(workload.submit_ns[row]), _SUBMIT, row) for row in later]
        withdrawn = np.flatnonzero(workload.cancel_ns >= 0).tolist()
        agenda += [(int(workload.cancel_ns[row]), _WITHDRAWN, row) for row in withdrawn]
        agenda += [(instant, _NODE, host) for instant, host in self.states.first()]
        if around.windows is not None and self._window is not None:
            ends = [*around.windows.begin_ns.tolist(), *around.windows.end_ns.tolist()]
            agenda += [(instant, _LOOK, -1) for instant in ends]
            inside = np.flatnonzero(self._window >= 0).tolist()
            agenda += [(int(around.windows.end_ns[self._window[row]]), _WITHDRAWN, row) for row in inside]
        heapq.heapify(agenda)
        return agenda

    # ---- the time ----

    @property
    def now_ns(self) -> int:
        """The instant."""
        return self._clock.now_ns + self._clock.skipped_ns - self._pace.origin_ns

    def _timer(self, instant_ns: int) -> int:
        return instant_ns + self._pace.origin_ns - self._clock.skipped_ns

    def _date_s(self, instant_ns: int) -> int:
        # The first whole second of the date that is not before.
        return -(-(instant_ns + self._pace.origin_ns) // NS_PER_S)

    # ---- how it goes on ----

    def go_on(self) -> None:
        """Do the next thing, or let slurmctld do something.

        Raises
        ------
        InputError
            If Slurm does not take a job, or never starts it.
        PeerError
            If slurmctld has died, hangs, or does what is not understood.
        """
        if self._put_off:
            self._tell_put_off()
            return
        if self._cleaned:
            number, node = self._cleaned.pop(0)
            self._controller.tell(epilog_complete(self._slurm.version, number, self._nodes[node].name))
            return
        if self._to_register:
            self._register(self._to_register.pop(0))
            return
        if not self._begun:
            self._begin()
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
        self._happen(*heapq.heappop(self._agenda)[1:])

    def _happen(self, what: int, which: int) -> None:
        if what == _NODE and self._waits_in_vain():
            raise self._stall()
        self._last_ns = self.now_ns
        if what not in (_NODE, _LOOK):
            self._moved_ns = self.now_ns
        if what == _END:
            self._end(which)
        elif what == _NODE:
            self._change_node(which)
        elif what == _SUBMIT:
            self._submit(which)
        elif what == _WITHDRAWN:
            self._withdraw(self.book.latest[which])
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
        state, start, latest = self.book.columns.state, self.book.columns.start_ns, self.book.latest
        while self._agenda:
            _, what, which = self._agenda[0]
            if what in (_SUBMIT, _NODE, _LOOK):
                return
            row = latest[which] if what == _WITHDRAWN else which
            if state[row] < 0 and not (what == _WITHDRAWN and start[row] >= 0):
                return
            heapq.heappop(self._agenda)

    def _jump(self, next_ns: int) -> None:
        """Nothing has happened for long, and all passes were made: the date moves on by whole minutes, and no timer does."""
        columns = self.book.columns
        limits = (columns.start_ns[row] + columns.estimate_ns[row] for row in self.book.running)
        nearest_ns = min(next_ns, min(limits, default=next_ns))
        span_ns = (nearest_ns - self.now_ns - _BEFORE_NS) // _MINUTE_NS * _MINUTE_NS
        if span_ns > 0:
            self._clock.skip(int(span_ns))
            self.jumps += 1
        self._last_ns = self.now_ns

    def _waits_in_vain(self) -> bool:
        # Only nodes go down and come back any more, all are up, and nobody has started for long.
        if self.book.running or self.states.any_down or any(what not in (_NODE, _LOOK) for _, what, _ in self._agenda):
            return False
        return self.now_ns - self._moved_ns > _STALL_NS

    def _stall(self) -> InputError:
        waiting = [row for row in range(len(self.book)) if self.book.columns.state[row] < 0]
        try:
            self._controller.request("why", self.book.number[waiting[0]])
            reason = "no reason"
        except Refused as why:
            reason = str(why)
        return InputError(
            f"Slurm does not start {len(waiting)} job{'s' * (len(waiting) > 1)}, though nothing has run for "
            f"{format_ns(_STALL_NS)}; job {self.book.job(waiting[0])}: {reason}"
        )

    # ---- what we do ----

    def _begin(self) -> None:
        """What there is before time 0: windows, nodes that are down, and jobs that run already. The clock stands."""
        self._begun = True
        windows = self._scenario.circumstances.windows
        if windows is not None:
            names = [node.name for node in self._nodes]
            for line in reservation_lines(windows, self._scenario.platform, names, self._pace.origin_ns):
                try:
                    self._controller.request(*line)
                except Refused as why:
                    raise InputError(f"--windows: Slurm does not make the reservation of {line[4]}: {why}") from None
        while self._agenda and self._agenda[0][:2] <= (0, _NODE):
            self._change_node(heapq.heappop(self._agenda)[2])
        self._controller.settle()
        for row in np.flatnonzero(self._workload.preset == 1).tolist():
            self._preset(row)
        self._controller.settle()

    def _fields(self, row: int, longer_ns: int = 0) -> list[str]:
        # What the latest attempt of a job asks for, when it is submitted.
        limit_ns = int(self._workload.estimate_ns[row]) + longer_ns
        requeue = int(self._scenario.options.rules.on_failure == "requeue")
        fields = [*self._asked.fields[row], f"minutes={max(1, -(-limit_ns // _MINUTE_NS))}", f"requeue={requeue}"]
        if self._window is not None and self._window[row] >= 0:
            fields.append(f"reservation={reservation_name(int(self._window[row]))}")
        return fields

    def _preset(self, row: int) -> None:
        """A job that runs already: on the nodes where it has run, where they are known and free."""
        fields = self._fields(row, max(0, -self.now_ns))
        nodes = self._asked.nodes[row]
        choices = [[f"on={nodes}"], []] if nodes else [[]]
        for at, choice in enumerate(choices):
            try:
                number, names, groups = self._controller.words("allocate", *fields, *choice)
                break
            except Refused as why:
                if at + 1 == len(choices):
                    raise InputError(
                        f"Slurm does not start job {self.book.job(row)}, which runs already by the log, on "
                        f"{self._workload.cores[row]} cores: {why}"
                    ) from None
        counts = [group.split("x") for group in groups.split(",")]
        cpus = tuple(int(each) for each, times in counts for _ in range(int(times)))
        self.book.submit(row, int(number))
        self._note_start(row, Launch(int(number), names, cpus), max(0, self.now_ns), preset=True)

    def _submit(self, row: int) -> None:
        if not self.book.waits(row):  # it was held back, and has left
            return
        fields = self._fields(row)
        parent = self._dependents.parent(row)
        if parent >= 0:
            ended_ns = self.book.over_for_good(parent)
            if ended_ns < 0 and self.book.latest[parent] not in self.book.number:
                self._dependents.hold_back(row)
                return
            if ended_ns < 0:
                fields.append(f"dependency=afterany:{self.book.number[self.book.latest[parent]]}")
            else:
                fields += self._put_off_until(row, ended_ns + self._dependents.think_ns(row))
        try:
            number = self._controller.request("submit", *fields)
        except Refused as why:
            workload, minutes = self._workload, next(word[8:] for word in fields if word.startswith("minutes="))
            raise InputError(
                f"Slurm does not take job {workload.job_id[row]}, {workload.cores[row]} cores for {minutes} min: {why}"
            ) from None
        self.book.submit(row, number)
        self._look_when_switches_do_not_matter(row)
        early, self._early = self._early, []
        for launch in early:
            self.launched(launch)
        for child in self._dependents.let_go(row):
            self._submit(child)

    def _put_off_until(self, row: int, eligible_ns: int) -> list[str]:
        # What a job that may start only then is submitted with; nothing if that has been.
        columns = self.book.columns
        columns.eligible_ns[row] = max(int(columns.eligible_ns[row]), eligible_ns)
        if eligible_ns <= self.now_ns:
            return []
        heapq.heappush(self._agenda, (self._date_s(eligible_ns) * NS_PER_S - self._pace.origin_ns, _LOOK, -1))
        return [f"begin={self._date_s(eligible_ns)}"]

    def _look_when_switches_do_not_matter(self, row: int) -> None:
        wait_ns = self._scenario.options.rules.switch_wait_ns
        asked = self._scenario.circumstances.requests
        if wait_ns is not None and asked is not None and asked.switches[row]:
            heapq.heappush(self._agenda, (self.now_ns + wait_ns, _LOOK, -1))

    def _end(self, row: int) -> None:
        self.book.end(row, COMPLETED, self.now_ns)
        self._left(row)
        self._tell_put_off()
        try:
            self._ask("end", row, 0)
        except PeerError:
            if row not in self._beaten:  # Slurm has killed it at this very instant, before it heard
                raise

    def _withdraw(self, row: int) -> None:
        self.book.withdraw(row, self.now_ns)
        self._left(row)
        self._tell_put_off()
        if row in self.book.number:
            self._ask("cancel", row)

    def _left(self, row: int) -> None:
        """A job is over for good: those that wait for it may start, or may only after a time."""
        for child in self._dependents.children(int(self.book.columns.origin[row])):
            if child in self.book.number and self.book.waits(child):
                eligible_ns = self.now_ns + self._dependents.think_ns(child)
                if self._put_off_until(child, eligible_ns):
                    self._put_off.append((child, eligible_ns))

    def _tell_put_off(self) -> None:
        while self._put_off:
            row, until_ns = self._put_off.popleft()
            if self.book.waits(row):
                self._ask("begin", row, self._date_s(until_ns))

    def _ask(self, what: str, row: int, *more: object) -> None:
        try:
            self._controller.request(what, self.book.number[row], *more)
        except Refused as why:
            raise PeerError(f"Slurm does not {what} job {self.book.job(row)}: {why}") from None

    def _change_node(self, host: int) -> None:
        if (next_ns := self.states.change(host)) is not None and next_ns < NEVER_UP:
            heapq.heappush(self._agenda, (next_ns, _NODE, host))
        name, down = self._nodes[host].name, self.states.down(host)
        requeues = self._scenario.options.rules.on_failure == "requeue"
        cut = self.book.on_host(host) if down else []
        for row in cut:
            # A job that was allocated, and not submitted, has no script that could be run again.
            again = requeues and self._workload.preset[self.book.columns.origin[row]] == 0
            self.book.end(row, REQUEUED if again else FAILED, self.now_ns)
            self._to_clean[self.book.number[row]] -= 1
            self.answers.note_cut(row, self.now_ns)
        try:
            self._controller.request("node", name, "down" if down else "resume", "by the trace")
        except Refused as why:
            raise PeerError(f"Slurm does not change the state of node {name}: {why}") from None
        for row in cut:
            if self.book.columns.state[row] == REQUEUED:
                self._requeue(row)
            else:
                self._left(row)

    def _requeue(self, row: int) -> None:
        columns, most = self.book.columns, self._scenario.options.rules.max_attempts
        if columns.attempt[row] + 1 >= most:
            raise InputError(f"job {self.book.job(row)} was cut {most} times by nodes that go down (--max-attempts)")
        self.book.requeue(row, self.now_ns)
        job = int(columns.origin[row])
        leaves = [int(self._workload.cancel_ns[job])]
        windows = self._scenario.circumstances.windows
        if windows is not None and self._window is not None and self._window[job] >= 0:
            leaves.append(int(windows.end_ns[self._window[job]]))
        for instant in leaves:
            if instant >= self.now_ns:
                heapq.heappush(self._agenda, (instant, _WITHDRAWN, job))
        heapq.heappush(self._agenda, (self.now_ns + _REQUEUE_NS, _LOOK, -1))

    def _register(self, node: int) -> None:
        known, date_s = self._nodes[node], (self.now_ns + self._pace.origin_ns) // NS_PER_S
        jobs = [self.book.number[row] for row in self.book.on_host(node)]
        release, version = self._slurm.release, self._slurm.version
        said = registration(version, known.name, known.cpus, release, date_s, self._up_since_s, jobs, known.resources)
        code = answered_code(self._controller.ask(said), version)
        if code:
            words = self._controller.last_words()
            raise PeerError(f"slurmctld does not register node {known.name}: code {code}; its last words: {words}")

    # ---- what Slurm does ----

    def wanted(self, node: int) -> None:
        """Slurm wants a node to register."""
        self._to_register.append(node)

    def launched(self, launch: Launch) -> None:
        """Slurm starts a job."""
        row = self.book.row_of.get(launch.job)
        if row is None:
            self._early.append(launch)
            return
        if self.book.columns.start_ns[row] >= 0:
            raise PeerError(f"Slurm starts job {self.book.job(row)} again; preemption is not known to a replay")
        self._note_start(row, launch, self.now_ns)

    def _note_start(self, row: int, launch: Launch, start_ns: int, *, preset: bool = False) -> None:
        self.book.start(row, launch, start_ns, preset=preset)
        self._last_ns = self.now_ns
        self._to_clean[launch.job] = len(launch.cpus)
        if self.answers.recorded:
            self.ends(row, start_ns + int(self._workload.run_ns[self.book.columns.origin[row]]))
        else:
            self.answers.ask(row)

    def ends(self, row: int, end_ns: int) -> None:
        """It is known when a job that runs ends by itself."""
        heapq.heappush(self._agenda, (end_ns, _END, row))

    def stopped(self, number: int, kind: Kind, node: int) -> bool:
        """Slurm ends a job, or cleans up after one, on a node; whether there is nothing left of it.

        A real node says so later, and after the last one Slurm looks for whom to start at once. So does it here: the last
        one tells it by itself, and the others when they are asked.
        """
        self._note_stop(self.book.row_of.get(number), kind)
        left = self._to_clean.get(number, 0) - 1
        self._to_clean[number] = left
        if left == 0:
            self._cleaned.append((number, node))
        return left != 0

    def _note_stop(self, row: int | None, kind: Kind) -> None:
        if row is None:
            return
        if row not in self.book.running:
            if kind == Kind.REQUEST_KILL_TIMELIMIT:
                self._beaten.add(row)
            return
        self._last_ns = self.now_ns
        if kind != Kind.REQUEST_KILL_TIMELIMIT:
            raise PeerError(
                f"Slurm ends job {self.book.job(row)} by itself ({kind.name}); preemption is not known to a replay"
            )
        self.book.end(row, KILLED, self.now_ns)
        self._left(row)
        self.answers.note_cut(row, self.now_ns)

    def note_reasons(self, log: str) -> None:
        """Who has started each job, by slurmctld's log: its main scheduler, or its backfilling."""
        self.book.note_reasons([(int(number), "backfill" in who) for who, number in _STARTED.findall(log)])
