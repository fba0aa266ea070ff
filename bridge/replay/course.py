"""The course of a replay: the order of events on Slurm's side and on ours.

Instants are those of the workload, ns since its time 0. At one instant first jobs end, then nodes change, then jobs are
submitted, then withdrawn, and only then slurmctld acts by itself.
"""

import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from bls.constraints.outages import NEVER as NEVER_UP
from bls.engine.features.outages.options import MAX_ATTEMPTS
from bridge.replay.agenda import DRAIN, END, LOOK, NODE, SUBMIT, WITHDRAWN, Agenda, Answers, Dependents, NodeStates
from bridge.replay.book import ReplayedRows
from bridge.replay.clock import NEVER, ClockPace
from bridge.replay.configuration import MINUTE_NS, Node
from bridge.replay.controller import Controller
from bridge.replay.gpus import gpus_on
from bridge.replay.host_names import expanded
from bridge.replay.messages import Kind, SlurmLaunch, answered_code, epilog_complete, registration
from bridge.replay.nodes import Cleaning, Happenings
from bridge.replay.submissions import Asking, Submissions
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError, PeerError
from traces.base.time import NS_PER_S, format_ns
from traces.lifecycle import Ending

#: If nothing runs, nothing is submitted and Slurm starts nothing for this time, it never will: its longest cycle is an hour.
_STALL_NS = 4 * 3600 * NS_PER_S
_BEFORE_NS = MINUTE_NS  # a jump of the date ends this long before the next event
_PAUSE_S = 0.01  # a real pause while the clock runs at a rate
_REQUEUE_NS = 122 * NS_PER_S  # earliest start of a requeued job, after this time: its credential has to expire first


class Course:
    """The course of a replay. Slurm gets the workload, its constraints and the machine of the scenario. The controller
    must be up; ``known`` are the nodes of the hosts, in the machine's order."""

    def __init__(
        self,
        scenario: ReadyScenario,
        controller: Controller,
        known: Sequence[Node],
        pace: ClockPace,
        asked: Submissions,
    ) -> None:
        workload, constraints = scenario.workload, scenario.constraints
        self._to_register = list(range(len(known)))
        controller.nodes.handlers = Happenings(self.launched, self.stopped, self._to_register.append)
        self._scenario, self._nodes, self._slurm = scenario, known, controller.slurm
        self._workload, self._controller, self._clock, self._pace = workload, controller, controller.clock, pace
        host = {node.name: at for at, node in enumerate(known)}
        self.book = ReplayedRows(workload, scenario.platform.first_core, host)
        self.answers = Answers(recorded=scenario.technique is None)
        self.states = NodeStates(constraints.outages)
        self._drains = NodeStates(None if constraints.outages is None else constraints.outages.drained)
        self._dependents = Dependents(constraints.dependencies)
        self._begin_ns = self._workload.earliest_ns
        self._ask = Asking(scenario, controller, self.book, asked)
        self._first_gpu = scenario.platform.first_gpu
        #: Started jobs with GPUs, and their nodes; Slurm is still to report which GPUs these are.
        self._with_gpus: deque[tuple[int, str]] = deque()
        self._early: list[SlurmLaunch] = []  # launches of jobs whose number Slurm has not returned yet
        self._cleaning = Cleaning(pace.cleanup_ns)
        # Jobs with an earliest start, which are still to be sent to Slurm.
        self._put_off: deque[tuple[int, int]] = deque()
        self._last_ns = -pace.origin_ns  # instant of the last event or jump
        self._moved_ns = 0  # instant of the last change of a job
        self._beaten: set[int] = set()  # rows of jobs that Slurm killed at the instant of their end
        self._begun = False
        self.jumps = 0
        self._up_since_s = self._clock.now_ns // NS_PER_S
        self._agenda = Agenda(workload, constraints.windows, asked.window)
        for what, states in ((NODE, self.states), (DRAIN, self._drains)):
            for instant, at in states.first():
                self._agenda.push(instant, what, at)

    @property
    def now_ns(self) -> int:
        """The present instant."""
        return self._clock.now_ns + int(self._clock.shared.skipped_ns) - self._pace.origin_ns

    def _date_s(self, instant_ns: int) -> int:
        # The first whole second of the date that is not earlier.
        return -(-(instant_ns + self._pace.origin_ns) // NS_PER_S)

    # ---- progress ----

    def go_on(self) -> None:
        """Do the next step, ours or slurmctld's. Raises InputError if Slurm does not accept a job, or never starts it. Raises
        PeerError if slurmctld has died, hangs, or behaves unexpectedly."""
        if self._put_off:
            self._send_put_off()
            return
        if self._with_gpus:
            self._note_gpus(*self._with_gpus.popleft())
            return
        if (report := self._cleaning.report(self.now_ns)) is not None:
            number, node = report
            if self._pace.cleanup_ns:
                self._last_ns = self.now_ns
            self._controller.send(epilog_complete(self._slurm.version, number, self._nodes[node].name))
            return
        if self._to_register:
            self._register(self._to_register.pop(0))
            return
        if not self._begun:
            self._begin()
            return
        self._agenda.forget_past(self.book)
        first, tells_ns = self._agenda.first(), self._cleaning.next_ns()
        instants = [None if first is None else first[0], tells_ns]
        next_ns = min((instant for instant in instants if instant is not None), default=None)
        until_ns = self._last_ns + _STALL_NS if next_ns is None else next_ns
        settle_ns = self._pace.settle_ns
        if settle_ns and next_ns is not None:
            until_ns = min(until_ns, max(self._last_ns + settle_ns, self.now_ns + 1))
        until = until_ns + self._pace.origin_ns - self._clock.shared.skipped_ns  # of the timer
        if until > self._clock.now_ns:
            if self._controller.step(until):
                return
            wake = self._clock.shared.wake_ns
            if wake < until:
                self._clock_to(wake)
                return
            self._clock_to(until)
            if self._clock.now_ns < until:  # a running clock: some thread may wake before
                return
        if next_ns is None:
            raise self._stall()
        if next_ns > self.now_ns:
            self._jump(next_ns)
            return
        if (tells_ns := self._cleaning.next_ns()) is not None and tells_ns <= next_ns:
            return  # a node first
        self._happen(*self._agenda.pop()[1:])

    def _happen(self, what: int, which: int) -> None:
        if what in (NODE, DRAIN) and self._waits_in_vain():
            raise self._stall()
        self._last_ns = self.now_ns
        if what not in (NODE, DRAIN, LOOK):
            self._moved_ns = self.now_ns
        if what == WITHDRAWN:
            self._withdraw(self.book.latest[which])
        elif what != LOOK:
            {END: self._end, NODE: self._change_node, DRAIN: self._drain_node, SUBMIT: self._submit}[what](which)
        self._controller.settle()

    def _clock_to(self, instant: int) -> None:
        # To an instant of the timer.
        if instant == NEVER:
            raise PeerError(f"slurmctld waits for nothing; end of its log: {self._controller.last_words()}")
        if self._clock.rate:
            time.sleep(min(max(instant - self._clock.now_ns, 0) / NS_PER_S / self._clock.rate, _PAUSE_S))
        else:
            self._clock.move(max(instant, self._clock.now_ns))

    def _jump(self, next_ns: int) -> None:
        """After a long idle time with all passes done, move the date on by whole minutes, but no timer."""
        columns = self.book.columns
        limits = (columns.start_ns[row] + columns.estimate_ns[row] for row in self.book.running)
        nearest_ns = min(next_ns, min(limits, default=next_ns))
        span_ns = (nearest_ns - self.now_ns - _BEFORE_NS) // MINUTE_NS * MINUTE_NS
        if span_ns > 0:
            self._clock.skip(int(span_ns))
            self.jumps += 1
        self._last_ns = self.now_ns

    def _waits_in_vain(self) -> bool:
        # Only changes of nodes are left, all nodes are up, and no job has started for long.
        if self.book.running or not self._agenda.only_nodes() or self.states.any_down or self._drains.any_down:
            return False
        return self.now_ns - self._moved_ns > _STALL_NS

    def _stall(self) -> InputError:
        waiting = [row for row in range(len(self.book)) if self.book.columns.state[row] < 0]
        jobs, reason = f"{len(waiting)} job{'s' * (len(waiting) > 1)}", self._ask.why_not(waiting[0])
        one = f"job {self.book.job(waiting[0])}: {reason}"
        return InputError(f"Slurm does not start {jobs}, though nothing has run for {format_ns(_STALL_NS)}; {one}")

    # ---- our events ----

    def _begin(self) -> None:
        """Set up the state before time 0: windows, nodes that are down, and running jobs. The clock stands still."""
        self._begun = True
        self._ask.make_windows([node.name for node in self._nodes], self._pace.origin_ns)
        while (first := self._agenda.first()) is not None and first[:2] <= (0, NODE):
            self._change_node(self._agenda.pop()[2])
        self._controller.settle()
        for row in np.flatnonzero(self._workload.preset == 1).tolist():
            launch = self._ask.allocate(row, max(0, -self.now_ns))
            self.book.submit(row, launch.job)
            self._note_start(row, launch, max(0, self.now_ns), preset=True)
        # Jobs that run already continue on drained nodes.
        while (first := self._agenda.first()) is not None and first[:2] <= (0, DRAIN):
            self._drain_node(self._agenda.pop()[2])
        self._controller.settle()

    def _submit(self, row: int) -> None:
        if not self.book.waits(row):  # it was held, and has left
            return
        more: list[str] = []
        until_ns, parent = int(self._begin_ns[row]), self._dependents.parent(row)
        if parent >= 0:
            ended_ns = self.book.over_for_good(parent)
            if ended_ns < 0 and self.book.latest[parent] not in self.book.number:
                self._dependents.held_back.setdefault(parent, []).append(row)
                return
            if ended_ns < 0:
                more.append(f"dependency=afterany:{self.book.number[self.book.latest[parent]]}")
            else:
                until_ns = max(until_ns, ended_ns + self._dependents.think_ns(row))
        if until_ns > self._workload.submit_ns[row]:
            more += self._put_off_until(row, until_ns)
        number = self._ask.submit(row, more)
        self.book.submit(row, number)
        self._look_when_switches_do_not_matter(row)
        early, self._early = self._early, []
        for launch in early:
            self.launched(launch)
        for child in self._dependents.held_back.pop(row, ()):
            self._submit(child)

    def _put_off_until(self, row: int, eligible_ns: int) -> list[str]:
        # Fields of a job with an earliest start; none if that has passed.
        columns = self.book.columns
        columns.eligible_ns[row] = max(int(columns.eligible_ns[row]), eligible_ns)
        if eligible_ns <= self.now_ns:
            return []
        self._agenda.push(self._date_s(eligible_ns) * NS_PER_S - self._pace.origin_ns, LOOK)
        return [f"begin={self._date_s(eligible_ns)}"]

    def _look_when_switches_do_not_matter(self, row: int) -> None:
        wait_ns = self._scenario.options.batch.waits_for_switches_ns
        asked = self._scenario.constraints.requests
        if wait_ns is not None and asked is not None and asked.switches[row]:
            self._agenda.push(self.now_ns + wait_ns, LOOK)

    def _end(self, row: int) -> None:
        self.book.end(row, Ending.COMPLETED, self.now_ns)
        self._left(row)
        self._send_put_off()
        try:
            self._ask.of_job("end", row, 0)
        except PeerError:
            if row not in self._beaten:  # Slurm has killed it at this instant, before it was notified
                raise

    def _withdraw(self, row: int) -> None:
        parent = self._dependents.parent(int(self.book.columns.origin[row]))
        self.book.withdraw(row, self.now_ns, held=parent >= 0 and self.book.over_for_good(parent) < 0)
        self._left(row)
        self._send_put_off()
        if row in self.book.number:
            self._ask.of_job("cancel", row)
        for child in self._dependents.held_back.pop(row, ()):  # it was held itself, and others for it
            self._submit(child)

    def _left(self, row: int) -> None:
        """A job is finished: jobs that wait for it may start, perhaps after a delay."""
        for child in self._dependents.children(int(self.book.columns.origin[row])):
            if child in self.book.number and self.book.waits(child):
                eligible_ns = max(self.now_ns + self._dependents.think_ns(child), int(self._begin_ns[child]))
                if self._put_off_until(child, eligible_ns):
                    self._put_off.append((child, eligible_ns))

    def _send_put_off(self) -> None:
        while self._put_off:
            row, until_ns = self._put_off.popleft()
            if self.book.waits(row):
                self._ask.of_job("begin", row, self._date_s(until_ns))

    def _change_node(self, host: int) -> None:
        if (next_ns := self.states.change(host)) is not None and next_ns < NEVER_UP:
            self._agenda.push(next_ns, NODE, host)
        name, down = self._nodes[host].name, self.states.down(host)
        requeues = self._scenario.options.batch.on_failure == "requeue"
        cut = self.book.on_host(host) if down else []
        for row in cut:
            # A job that was allocated, not submitted, has no script that could be run again.
            again = requeues and self._workload.preset[self.book.columns.origin[row]] == 0
            self.book.end(row, Ending.REQUEUED if again else Ending.FAILED, self.now_ns)
            self._cleaning.left[self.book.number[row]] -= 1
            self.answers.note_cut(row, self.now_ns)
        self._ask.set_node(name, "down" if down else "resume")
        if not down and self._drains.down(host):
            self._ask.set_node(name, "drain")  # coming back has ended the drain
        for row in cut:
            if self.book.columns.state[row] == Ending.REQUEUED:
                self._requeue(row)
            else:
                self._left(row)

    def _drain_node(self, host: int) -> None:
        if (next_ns := self._drains.change(host)) is not None and next_ns < NEVER_UP:
            self._agenda.push(next_ns, DRAIN, host)
        if not self.states.down(host):
            self._ask.set_node(self._nodes[host].name, "drain" if self._drains.down(host) else "resume")

    def _requeue(self, row: int) -> None:
        columns, most = self.book.columns, self._scenario.options.batch.max_attempts
        if columns.attempt[row] + 1 >= most:
            raise InputError(f"job {self.book.job(row)} was cut {most} times by nodes that go down ({MAX_ATTEMPTS})")
        self.book.requeue(row, self.now_ns)
        self._agenda.leaves_again(int(columns.origin[row]), self.now_ns)
        self._agenda.push(self.now_ns + _REQUEUE_NS, LOOK)

    def _register(self, node: int) -> None:
        known, date_s = self._nodes[node], (self.now_ns + self._pace.origin_ns) // NS_PER_S
        jobs = [self.book.number[row] for row in self.book.on_host(node)]
        release, version = self._slurm.release, self._slurm.version
        said = registration(version, known.name, known.cpus, release, date_s, self._up_since_s, jobs, known.resources)
        code = answered_code(self._controller.ask(said), version)
        if code:
            words = self._controller.last_words()
            raise PeerError(f"slurmctld does not register node {known.name}: code {code}; end of its log: {words}")

    # ---- Slurm's events ----

    def launched(self, launch: SlurmLaunch) -> None:
        """Slurm starts a job."""
        row = self.book.row_of.get(launch.job)
        if row is None:
            self._early.append(launch)
            return
        if self.book.columns.start_ns[row] >= 0:
            raise PeerError(f"Slurm starts job {self.book.job(row)} again; a replay does not support preemption")
        self._note_start(row, launch, self.now_ns)

    def _note_start(self, row: int, launch: SlurmLaunch, start_ns: int, *, preset: bool = False) -> None:
        self.book.start(row, launch, start_ns, preset=preset)
        self._last_ns = self.now_ns
        self._cleaning.left[launch.job] = len(launch.cpus)
        asked = self._scenario.constraints.requests
        if asked is not None and asked.gpus is not None and asked.gpus.any[self.book.columns.origin[row]]:
            self._with_gpus.append((row, launch.nodes))
        if self.answers.recorded:
            self.ends(row, start_ns + int(self._workload.run_ns[self.book.columns.origin[row]]))
        else:
            self.answers.ask(row)

    def _note_gpus(self, row: int, nodes: str) -> None:
        # Slurm reports nothing of a job whose request was omitted.
        firsts = [int(self._first_gpu[self.book.host[name]]) for name in expanded(nodes)]
        held = zip(firsts, map(gpus_on, self._ask.of_job("report", row)[1:]), strict=False)
        self.book.gpus[row] = [(first + gpu, milli) for first, gpus in held for gpu, milli in gpus]

    def ends(self, row: int, end_ns: int) -> None:
        """Set the end of a running job, once it is known."""
        self._agenda.push(end_ns, END, row)

    def stopped(self, number: int, kind: Kind, node: int) -> bool:
        """Slurm ends a job, or cleans up after one, on a node; return whether nothing of it is left there."""
        if (row := self.book.row_of.get(number)) is not None:
            self._note_stop(row, kind)
        return self._cleaning.end(number, node, self.now_ns)

    def _note_stop(self, row: int, kind: Kind) -> None:
        if row not in self.book.running:
            if kind == Kind.REQUEST_KILL_TIMELIMIT:
                self._beaten.add(row)
            return
        self._last_ns = self.now_ns
        if kind != Kind.REQUEST_KILL_TIMELIMIT:
            how = f"by itself ({kind.name}); a replay does not support preemption"
            raise PeerError(f"Slurm ends job {self.book.job(row)} {how}")
        self.book.end(row, Ending.KILLED, self.now_ns)
        self._left(row)
        self.answers.note_cut(row, self.now_ns)
