"""The operating system of a simulated run, its accidents, and its witness, which reports whatever must not be."""

import asyncio
import contextlib
import re
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from fault_plans import Plan
from session_invariants import check_session
from small_scenarios import INTERRUPTED, different, expected
from virtual_fork_server import ForkServer
from virtual_hosts import HOST, Site
from virtual_loop import NeverEnds, VirtualLoop
from virtual_network import FIRST_PID, End, VirtualServer, connect_ends
from virtual_processes import CONNECTS, Process

from bls.engine.features.directions.records import ScaleRecords
from bls.engine.features.releases.records import ReleaseRecords
from bridge.protocol.host_messages import HostBook
from bridge.protocol.messages import EdgeSlice, Failed, Lengths, Outcome, Promise, Quit, sender_of
from bridge.protocol.session import Session
from bridge.protocol.tables import ANSWER, LUMPED, ORDER, ConnectionState, JobEvent, Role
from bridge.protocol.vocabulary import Message
from bridge.workers import workforce
from bridge.workers.outstanding_jobs import RETRIES
from bridge.workers.supervisor import Supervisor
from bridge.workers.workforce import CONNECT_S
from traces.base.errors import InputError, PeerError

#: The watch looks once a second, or more often; the fork server obeys within this time, s.
_OBEYED_S = 2.0

#: How late a timer may be, s: two timers that are due one after the other.
_LATE_S = 0.3

#: What a table of states has for a message.
_EVENTS = {message: event for event, messages in LUMPED.items() for message in messages}

#: State, event, state.
Step = tuple[Any, Any, Any]


@dataclass
class Simulated:
    seed: int
    end: str = ""  # "the same tables", or the error or interrupt with which the run ended
    hosts: bool = False  # whether the run has other hosts
    problems: list[str] = field(default_factory=list)
    log: list[tuple[float, str, str]] = field(default_factory=list)  # instant, who, what
    connection_steps: set[Step] = field(default_factory=set)
    job_steps: set[Step] = field(default_factory=set)
    host_steps: set[Step] = field(default_factory=set)

    def failure(self) -> str:
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        return f"seed {self.seed}: {self.end}\n{lines}\nrepeat it: python tests/bridge/test_simulated_network.py {self.seed}"


class Talk:
    """The messages at the bridge's end of one connection."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.process: Process | None = None
        self.since_s = 0.0
        self.poured = 0  # slices in a row for a process that takes nothing
        self.has_jobs = False
        self.outcomes: list[tuple[int, int]] = []  # rows and attempts


class World:
    """The operating system of one simulated run, and its witness."""

    def __init__(self, seed: int) -> None:
        self.plan, self.found = Plan(seed), Simulated(seed)
        self.draw = self.plan.draw
        self.loop = VirtualLoop(self.draw)
        self.loop.system = self
        self.pids = count(FIRST_PID)
        self.faults: list[str] = self.found.problems
        self.processes: dict[str, Process] = {}
        self.servers: list[ForkServer] = []
        self.listening: dict[str, VirtualServer] = {}
        self.pairs: list[tuple[End, End]] = []
        self.talks: dict[Session, Talk] = {}
        self.expected = expected(self.plan.kind, self.plan.variant, self.plan.keep_tasks)
        self.supervisor: Supervisor | None = None
        self.outcomes: dict[int, list[int]] = {}  # attempts that were accepted, by row
        self.false_promises: set[int] = set()
        self.failed: set[int] = set()
        self.steps: Counter[JobEvent] = Counter()
        self.server_deaths = 0
        self.server_stopped = self.over = self.interrupted = False
        self.leapt_s: list[float] = []
        self.folders: list[str] = []
        self.removed: list[str] = []
        self.site = Site(self) if self.plan.hosts else None
        self.found.hosts = self.site is not None
        self._has_begun = False

    def note(self, who: str, what: str) -> None:
        self.found.log.append((self.loop.time(), who, what))

    def problem(self, what: str) -> None:
        self.note("witness", what)
        self.faults.append(f"at {self.loop.time():.4f} s: {what}")

    # The system

    async def listen(self, factory: Callable[[], asyncio.BaseProtocol], path: str) -> asyncio.AbstractServer:
        self.note("bridge", "listens")
        server = self.listening[path] = VirtualServer(self.loop, factory)
        self.begin()
        return server

    async def secure(self, factory: Callable[[], asyncio.BaseProtocol], plug: Any) -> Any:
        assert self.site is not None
        return await self.site.handshake(factory, plug)

    def begun(self, task: asyncio.Task[Any]) -> None:
        if self.site is not None:
            self.site.begun(task)

    def beside(self) -> float:
        assert self.site is not None
        later_s = self.draw.choice((0.0, 0.0, 0.001, 0.05))
        self.site.executing_until_s = self.loop.time() + later_s
        return later_s

    def stop_accepting(self, listening: Any) -> None:
        listening.accepting = False

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], path: str
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        process, server = CONNECTS.get(), self.listening.get(path)
        assert process is not None
        if server is None or server.closed:
            raise FileNotFoundError(path)
        near, far = connect_ends(self.loop, self.draw, process.name, process.link(), process.pid)
        process.connects(near)
        self.pairs.append((near, far))
        protocol = factory()
        near.begin(protocol)
        process.note("connects")
        # The report of a birth arrives before the connection, which the process makes later.
        server.queue(far, self.draw.uniform(0.0, 0.01), self.draw.randint(1, 3), process.server.once_told)
        return near, protocol

    async def start_process(self, factory: Callable[[], asyncio.SubprocessProtocol]) -> Any:
        await asyncio.sleep(self.draw.uniform(0.0, 0.01))
        command = HOST.get()
        self.note(command.name if command else "bridge", "starts the fork server")
        protocol = factory()
        self.servers.append(ForkServer(self, protocol))
        return self.servers[-1], protocol

    # Accidents

    def begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        if self.site is not None:
            self.site.begin()
        for accidents, happens in (
            (self.plan.server, self._strike_server),
            (self.plan.leaps, self._leap),
            (self.plan.interrupts, self._interrupt),
        ):
            for at_s, what in accidents:
                self.loop.call_later(at_s, lambda happens=happens, what=what: None if self.over else happens(what))

    def _strike_server(self, what: str) -> None:
        live = [server for server in self.servers if server.alive]
        if self.servers:
            (self.draw.choice(live) if self.site is not None and live else self.servers[-1]).strike(what)

    def _leap(self, seconds: float) -> None:
        self.note("bridge", f"does nothing for {seconds:g} s")
        self.loop.leap(seconds)
        self.leapt_s.append(self.loop.time())

    def _interrupt(self, _: str) -> None:
        if self.loop.strike(signal.SIGINT):
            self.note("user", "interrupts")
            self.interrupted = True

    # The witness

    def quiet(self) -> None:
        """At this instant everything is done that there was to do."""
        for session in self.talks:
            if session.state is not ConnectionState.CLOSED:
                check_session(session)
        own = self.supervisor
        if own is not None and not self.over and not own.jobs.failure and not own._workforce.closing:
            self._check_supervisor(own)

    def _check_supervisor(self, own: Supervisor) -> None:
        held = [row for worker in own._workforce.workers.values() for row in worker.jobs]
        queued = [row for _, row in own.jobs._queue]
        if sorted(held + queued) != sorted(own.jobs._orders):
            self.problem(f"orders {sorted(own.jobs._orders)}; held {sorted(held)}, waiting {sorted(queued)}")
        late_s = self.loop.time() - workforce._PARTING_S - _OBEYED_S
        for name, process in self.processes.items():
            host = process.server.host
            excused = self.leapt_s or self.server_stopped or (host is not None and host.why)
            if process.alive and process.quit_s < late_s and not excused:
                self.problem(f"{name} received a quit at {process.quit_s:g} s, and is still there")
        beside = self.site is not None and self.loop.time() < self.site.executing_until_s
        if (own.jobs.reports or own.jobs.promises) and not beside:
            self.problem(
                f"the reports {sorted(own.jobs.reports)} and promises {sorted(own.jobs.promises)} are not taken"
            )
        if own.jobs._queue:
            head = own.jobs._orders[own.jobs._queue[0][1]]
            if any(place.assignment.able(head) is not None for place in own._workforce.places):
                self.problem("a job waits, and a worker could take it")
        for worker in own._workforce.workers.values():
            if worker.connection is None or worker.connection.session.state is not ConnectionState.READY:
                continue
            open_jobs = worker.connection.session.book.open_jobs()
            if worker.hello and worker.hello.tasks == "recipe" and open_jobs != list(worker.jobs):
                self.problem(f"{worker.name} holds {list(worker.jobs)}, and its connection {open_jobs}")

    def stepped(
        self, session: Session[Any], before: ConnectionState, name: str, message: Message | None = None
    ) -> None:
        """A session has judged a message, or refused one, or found the end of its stream, and taken the step."""
        if isinstance(session.book, HostBook):
            self.site.stepped(session, before, name)
            return
        event = _EVENTS.get(name, name)
        self.found.connection_steps.add((before, event, session.state))
        if message is None:
            return
        about_job = event in (ORDER, ANSWER) and before is ConnectionState.READY
        if about_job:
            job, step, was, after = session.book.latest_step
            self.found.job_steps.add((was, step, after))
        if session.role is not Role.BRIDGE:
            return
        talk = self.talks.setdefault(session, Talk(session))
        heard = sender_of(message) is Role.APPLICATION
        if session.book.hello is not None and talk.process is None:
            talk.process = self.processes.get(session.book.hello.worker)
        who = talk.process.name if talk.process else "somebody"
        verb = "says" if heard else "is told"
        if not about_job:
            if isinstance(message, Quit) and talk.process:
                talk.process.quit_s = self.loop.time()
            self.note(who, f"{verb} {event}")
            talk.since_s = self.loop.time()
            return
        talk.has_jobs = True
        self.steps[step] += 1
        if isinstance(message, Outcome):
            talk.outcomes.append((message.job, message.attempt))
        self.note(who, f"{verb} {step} of job {job}, attempt {getattr(message, 'attempt', 0)}")
        orders = (JobEvent.START, JobEvent.START_LENGTHS, JobEvent.RESUME)
        if heard or step not in orders or len(session.book.open_jobs()) == 1:
            talk.since_s = self.loop.time()
        if isinstance(message, Lengths | EdgeSlice) and talk.process:
            paused = any(end.other.paused for end in talk.process.ends)
            talk.poured = talk.poured + 1 if paused else 0
            if talk.poured > 2:
                self.problem(f"{who} takes nothing, and is told more and more")

    def taken(self, message: Message) -> None:
        if isinstance(message, Outcome):
            self.outcomes.setdefault(message.job, []).append(message.attempt)
        elif isinstance(message, Failed):
            self.failed.add(message.job)
        elif isinstance(message, Promise):
            # Where cores are released before an end, the batch level does not rely on promises of it; where jobs are directed,
            # it may make a promise void.
            ledger = self.expected.ledger
            if (
                ledger.of(ReleaseRecords) is None
                and ledger.of(ScaleRecords) is None
                and message.not_before_ns > ledger.jobs.end_ns[message.job]
            ):
                self.false_promises.add(message.job)

    def given_up(self, process: Process) -> None:
        """The bridge has it killed."""
        own = self.supervisor
        if not process.alive or (own is not None and (own._workforce.closing or own.jobs.failure)):
            return
        # After a leap the bridge knows how long processes have been silent that it has welcomed, but not strangers.
        greeted = any(talk.process is process and talk.session.book.open_jobs() for talk in self.talks.values())
        if not process.why and (greeted or not self.leapt_s):
            self.problem(f"{process.name} is killed, and nothing is wrong with it")

    def warned(self, line: str) -> None:
        self.note("log", line)
        of_process = r"application process (w\d+(?:@[^\s,]+)?)(?:, which had not sent a hello,)? "
        found = re.match(of_process + r"did not (\w+) \w+ ([\d.]+) s", line)
        if not found:
            return
        name, what, allowed_s = found[1], found[2], float(found[3])
        right_s = CONNECT_S if what == "connect" else self.plan.timeout_s
        if abs(allowed_s - right_s) > 1e-6:
            self.problem(f"{name} had {allowed_s:g} s to {what}; expected: {right_s:g} s")
        talks = [talk for talk in self.talks.values() if talk.process and talk.process.name == name and talk.has_jobs]
        if what == "answer" and talks:
            silent_s = self.loop.time() - max(talk.since_s for talk in talks)
            # A process that is told bit by bit is also heard of when it takes a bit, which no message says.
            sure = not self.leapt_s and not (self.plan.told and self.plan.narrow)
            latest_s = right_s + min(1.0, self.plan.timeout_s / 4) + _LATE_S
            if silent_s < right_s - 1e-6 or (sure and silent_s > latest_s):
                self.problem(f"{name} is given up after {silent_s:g} s of silence; expected: after {right_s:g} s")

    # The end

    def check_end(self, error: BaseException | None, result: Any) -> None:
        """Nothing is left, and the events of the run explain its end."""
        self.over = True
        theirs = self.site.tasks if self.site is not None else set()
        tasks = [repr(task) for task in asyncio.all_tasks(self.loop) - theirs]
        if mine := [task for task in tasks if "Process._" not in task]:
            self.problem(f"tasks are left: {mine}")
        if self.site is not None:
            self.site.finish()
        try:
            self.loop.run_until_idle(1e4)
        except NeverEnds as never:
            self.problem(str(never))
        left = [repr(task) for task in asyncio.all_tasks(self.loop)] + self.loop.waiting()
        left += [end.name for pair in self.pairs for end in pair if not end.lost]
        left += [process.name for process in self.processes.values() if process.alive]
        left += ["a fork server" for server in self.servers if server.alive]
        left += ["the socket" for server in self.listening.values() if not server.closed]
        left += sorted(set(self.folders) - set(self.removed))
        for one in left:
            self.problem(f"is left for ever: {one}")
        if self.site is not None:
            self.site.check(self.problem, error is None)
        for complaint in self.loop.complaints:
            self.problem(f"an error is not handled: {complaint}")
        if error is None:
            self.found.end = "the same tables"
            self._check_success(result, result.coupling)
        else:
            self.found.end = f"{type(error).__name__}: {error}"
            if not self._is_explained(error, str(error)):
                self.problem(f"the run ended for no reason: {error!r}")

    def abandon(self) -> None:
        """Remove whatever is left of a run that has failed, so that nothing of it is found later."""
        for _ in range(3):
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            with contextlib.suppress(NeverEnds):
                self.loop.run_until_idle(1e3)
        for pair in self.pairs:
            for end in pair:
                end.die()
        self.loop.close()

    def _check_success(self, result: Any, cost: dict[str, Any]) -> None:
        if other := different(result, self.expected):
            self.problem(f"other tables than inline: {other}")
        # A running job that receives a command is simulated again, and so has several ends; each attempt has one.
        again = self.plan.kind in INTERRUPTED
        for row, attempts in self.outcomes.items():
            if len(set(attempts) if again else attempts[:1]) < len(attempts):
                self.problem(f"several outcomes were taken of job {row}")
        ended = sum(map(len, self.outcomes.values()))
        repeated = sum(attempts[-1] + 1 - len(attempts) for attempts in self.outcomes.values())
        blamed = self._lost(blameless=False)
        if max(blamed.values(), default=0) > RETRIES:
            self.problem(f"rows were lost more often than {RETRIES} times: {dict(blamed)}")
        if not self.plan.told:
            # A job that was begun has ended, or was lost with its worker, or had been given up when its outcome came.
            late = self.steps[JobEvent.OUTCOME] - ended
            lost = sum(len(talk.session.book.open_jobs()) for talk in self.talks.values())
            begun = self.steps[JobEvent.START]
            if not begun - ended == late + lost == repeated:
                self.problem(f"{begun} begun, {ended} ended, {lost} lost, {late} late, {repeated} repeated")
        if self.failed or self.false_promises:
            self.problem("a job failed, or was promised too much of, without any effect")
        counts = {"retries": repeated, "bytes_sent": sum(far.written for _, far in self.pairs)}
        counts["suspends"] = cost["resumes"]
        if not (self.server_deaths or self.server_stopped or (self.site is not None and self.site.odd())):
            counts["processes"] = len(self.processes)
        for name, number in counts.items():
            if cost[name] != number:
                self.problem(f"{name}: {cost[name]} were counted; expected: {number}")
        everybody = self.leapt_s or any("other conservation" in one.why for one in self.processes.values())
        most = sum(len(one.ends) for one in self.processes.values() if one.why or everybody)
        if self.site is not None and (self.site.odd() or self.leapt_s):
            most += self.site.attempts
        if cost["refused"] > most:
            self.problem(f"{cost['refused']} were refused; {most} processes with faults have connected")

    def _is_explained(self, error: BaseException, line: str) -> bool:
        if isinstance(error, KeyboardInterrupt):
            return self.interrupted
        if not isinstance(error, InputError | PeerError) or "\n" in line:
            return False
        why = Counter(reason for process in self.processes.values() for reason in set(process.why))
        early = [one for one in self.processes.values() if one.why or self.server_stopped or self.leapt_s]
        # If the first hello says that work is not conserved, all others are refused; and conversely.
        unheard = 100 if self.server_stopped or why["other conservation"] else len(early)
        job = re.match(r"job (\d+): ", line)
        number = int(job[1]) if job else -1
        if "its application process failed" in line:
            lost = [times for row, times in self._lost(blameless=True).items() if self.job(row) == number]
            return max(lost, default=0) > RETRIES and f"failed {RETRIES + 1} times" in line
        if "processes in a row did not send a hello" in line:
            return min(unheard, self._in_a_row()) >= workforce._STILLBORN
        if "no process has connected within" in line:
            return not any(what == "is told welcome" for _, _, what in self.found.log)
        if "no application process can be started" in line:
            return why["unborn"] > 0 and unheard >= workforce._STILLBORN
        if line.startswith("twolevel-fork") and "was killed by SIGKILL" in line:
            ever = any(process.server.host is None for process in self.processes.values())
            return self.server_deaths > 3 or (self.server_deaths == 1 and not ever)
        if line.startswith("twolevel-fork was not ready"):
            return self.server_stopped or bool(self.leapt_s)
        if re.match("(no host has joined|all hosts are lost, and no other has joined) for ", line):
            assert self.site is not None
            odd = bool(self.leapt_s) or self.site.odd(max(0.0, self.loop.time() - self.plan.timeout_s))
            return odd and not self.plan.workers
        if re.search("the application simulator( on host .*)? reports: out of luck", line):
            return number in map(self.job, self.failed)
        promised = "before the promise of an earlier process" in line
        return promised and number in map(self.job, self.false_promises)

    def _in_a_row(self) -> int:
        """The most processes that have not come to say hello, or could not be had, between two that were welcomed."""
        most = count = 0
        for _, who, what in self.found.log:
            if "@" in f"{who} {what}":
                continue  # of another host
            if what == "is told welcome":
                count = 0
            count += "which had not sent a hello" in what or (who == "fork server" and what.startswith("unborn"))
            most = max(most, count)
        return most

    def job(self, row: int) -> int:
        return int(self.expected.ledger.jobs.job_id[row])

    def _lost(self, *, blameless: bool) -> Counter[int]:
        """How often a worker was lost that was at a row; ``blameless``: also with its fork server."""
        lost: Counter[int] = Counter()
        for talk in self.talks.values():
            # An outcome that came after its worker had been given up is of the job that the worker was at then.
            late = [row for row, attempt in talk.outcomes if attempt not in self.outcomes.get(row, ())]
            process, at = talk.process, [*late, *talk.session.book.open_jobs()]
            if at and process and process.why:
                lost[at[0]] += blameless or not any("fork server" in why for why in process.why)
        return lost
