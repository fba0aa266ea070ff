"""The operating system of a simulated run, what happens to it, and its witness, who sees what must not be."""

from __future__ import annotations

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
from small_scenarios import REACHED, different, expected
from virtual_fork_server import ForkServer
from virtual_hosts import HOST, Site
from virtual_loop import NeverEnds, VirtualLoop
from virtual_network import FIRST_PID, End, VirtualServer, connect_ends
from virtual_processes import CONNECTS, Process

from bridge.protocol.messages import Edges, Failed, Lengths, Message, Outcome, Promise, Quit, Role, name_of, sender_of
from bridge.protocol.session import Session
from bridge.protocol.tables import CONNECTION_EVENTS, ConnectionEvent, ConnectionState, JobEvent
from bridge.workers import workforce
from bridge.workers.outstanding_jobs import RETRIES
from bridge.workers.supervisor import Supervisor
from bridge.workers.workforce import CONNECT_S
from traces.base.errors import InputError, PeerError

__all__ = ["STRANGERS_LET_IN", "Simulated", "Step", "World"]

#: Fewer strangers than there may be, so that some have to go.
STRANGERS_LET_IN = 3

#: The watch looks once a second, or more often; the fork server obeys within so long, s.
_OBEYED_S = 2.0

#: By how much a timer may be late, s: two timers that are due one after the other.
_LATE_S = 0.3

#: State, event, state.
Step = tuple[Any, Any, Any]


@dataclass
class Simulated:
    seed: int
    end: str = ""  # "the same tables", or the error or interrupt with which the run ended
    hosts: bool = False  # whether it is of a run with other hosts
    problems: list[str] = field(default_factory=list)  # what must not be
    log: list[tuple[float, str, str]] = field(default_factory=list)  # instant, who, what
    connection_steps: set[Step] = field(default_factory=set)
    job_steps: set[Step] = field(default_factory=set)
    host_steps: set[Step] = field(default_factory=set)
    #: States of the bridge's connections, of the jobs on them, and processes of each host, as time went on.
    states: set[tuple[Any, ...]] = field(default_factory=set)
    stories: set[tuple[Any, ...]] = field(default_factory=set)  # what happened to the jobs of one connection

    def failure(self) -> str:
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        return f"seed {self.seed}: {self.end}\n{lines}\nrepeat it: python tests/bridge/simulated_run.py {self.seed}"


class Talk:
    """What the bridge's end of one connection has said and heard."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.process: Process | None = None
        self.since_s = 0.0
        self.poured = 0  # slices in a row for somebody who takes nothing
        self.steps: list[JobEvent] = []
        self.outcomes: list[tuple[int, int]] = []  # rows and attempts of which it has told the end


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
        self.ends_ns = self.expected.ledger.jobs.end_ns.tolist()
        self.supervisor: Supervisor | None = None
        self.outcomes: dict[int, list[int]] = {}  # attempts of those that were accepted, by row
        self.false_promises: set[int] = set()
        self.failed: set[int] = set()
        self.steps: Counter[JobEvent] = Counter()
        self.server_deaths = self.strangers = self.folders = 0
        self.most_awaited = 0
        self.server_stopped = self.over = self.interrupted = False
        self.leapt_s: list[float] = []
        self.watches_s = 0.0  # since when the bridge looks who is silent
        self.removed: list[str] = []
        self.visits: list[asyncio.Task[None]] = []
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

    def stop_accepting(self, listening: object) -> None:
        assert isinstance(listening, VirtualServer)
        listening.accepting = False

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], path: str
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        process = CONNECTS.get()
        server = self.listening.get(path)
        if server is None or server.closed:
            raise FileNotFoundError(path)
        name = process.name if process else f"stranger {self.strangers}"
        link = process.link() if process else self.plan.link()
        near, far = connect_ends(self.loop, self.draw, name, link, process.pid if process else FIRST_PID - 2)
        if process:
            process.connects(near)
        self.pairs.append((near, far))
        protocol = factory()
        near.begin(protocol)
        self.note(name, "connects")
        # The bridge has read that a process was born before it hears of its connection, which the process makes later.
        once = process.server.once_told if process else lambda callback: callback()
        server.queue(far, self.draw.uniform(0.0, 0.01), self.draw.randint(1, 3), once)
        return near, protocol

    async def start_process(self, factory: Callable[[], asyncio.SubprocessProtocol]) -> Any:
        await asyncio.sleep(self.draw.uniform(0.0, 0.01))
        command = HOST.get()
        self.note(command.name if command else "bridge", "starts the fork server")
        protocol = factory()
        server = ForkServer(self, protocol)
        self.servers.append(server)
        return server, protocol

    # What happens to everybody

    def begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        plan, later = self.plan, self.loop.call_later
        if self.site is not None:
            self.site.begin()
        for at_s, what in plan.strangers:
            later(at_s, self._stranger, what)
        for at_s, what in plan.server:
            later(at_s, self._strike_server, what)
        for at_s, seconds in plan.partitions:
            later(at_s, self._divide, seconds)
        for at_s, what in plan.leaps:
            later(at_s, self._leap, what)
        for at_s, _ in plan.interrupts:
            later(at_s, self._interrupt)

    def _strike_server(self, what: str) -> None:
        if self.servers and not self.over:
            live = [server for server in self.servers if server.alive]
            (self.draw.choice(live) if self.site is not None and live else self.servers[-1]).strike(what)

    def _divide(self, seconds: float) -> None:
        for command in self.site.commands if self.site is not None and not self.over else ():
            command.cut_off("partition", seconds)
        for process in self.processes.values():
            if process.alive and not self.over and process.server.host is None:
                process.cut_off("partition", self.loop.time() + seconds)

    def _leap(self, seconds: float) -> None:
        if not self.over:
            self.note("bridge", f"does nothing for {seconds:g} s")
            self.loop.leap(seconds)
            self.leapt_s.append(self.loop.time())

    def _interrupt(self) -> None:
        if self.loop.strike(signal.SIGINT):
            self.note("user", "interrupts")
            self.interrupted = True

    def _stranger(self, what: str) -> None:
        if not self.over:
            self.strangers += 1
            self.visits.append(self.loop.create_task(self._visit(what)))

    async def _visit(self, what: str) -> None:
        try:
            if self.site is not None and (not self.listening or self.draw.random() < 0.6):
                reader, writer = await self.site.from_stranger(what)
            else:
                reader, writer = await asyncio.open_unix_connection(next(iter(self.listening)))
        except OSError as error:
            self.strangers -= isinstance(error, ConnectionRefusedError | FileNotFoundError) or self.site is None
            return
        self.note("stranger", what)
        hello = b"\x82\xa4type\xa5hello\xa7version\x05\xa5token\xa4none"
        said = {
            "garbage": b"\x00\x00\x00\x05\xc1tea\xc1",
            "wrong token": len(hello).to_bytes(4, "big") + b"\x83" + hello[1:],
            "oversized": b"\x7f\xff\xff\xff and so on",
            "half a hello": (200).to_bytes(4, "big") + hello,
        }.get(what, b"")
        writer.write(said)
        if what == "half a hello":
            await asyncio.sleep(self.draw.uniform(0.0, 3.0))
        elif what != "leaves":
            with contextlib.suppress(OSError):
                await reader.read()
        writer.close()

    # The witness

    def quiet(self) -> None:
        """At this instant everybody has done what there was to do."""
        live = [talk.session for talk in self.talks.values() if talk.session.state is not ConnectionState.CLOSED]
        seen = [(session.state, tuple(sorted(session._job_states.values()))) for session in live]
        hosts = () if self.site is None else self.site.seen()
        self.found.states.add((tuple(sorted(seen)), hosts))
        for session in live:
            session.validate()
        if self.supervisor is not None and not self.over:
            self._check_supervisor(self.supervisor)

    def _check_supervisor(self, own: Supervisor) -> None:
        if own._jobs.failure or own._workforce.closing:
            return
        held = [row for worker in own._workforce.workers.values() for row in worker.orders]
        queued = [row for _, row in own._jobs._queue]
        if sorted(held + queued) != sorted(own._jobs._orders):
            self.problem(f"orders {sorted(own._jobs._orders)}; held {sorted(held)}, waiting {sorted(queued)}")
        for door in (own._listener, own._hosts.listener) if own._hosts is not None else (own._listener,):
            self.most_awaited = max(self.most_awaited, own._workforce.awaited_elsewhere())
            allowed = STRANGERS_LET_IN + (0 if door is own._listener else self.most_awaited)
            if len(door._strangers) > allowed:
                self.problem(f"{len(door._strangers)} strangers are connected; allowed: {allowed}")
        late_s = self.loop.time() - workforce._PARTING_S - _OBEYED_S
        for name, process in self.processes.items():
            host = process.server.host
            excused = self.leapt_s or self.server_stopped or (host is not None and host.why)
            if process.alive and process.quit_s < late_s and not excused:
                self.problem(f"{name} was told to quit at {process.quit_s:g} s, and is still there")
        beside = self.site is not None and self.loop.time() < self.site.executing_until_s
        if (own.reports or own.promises) and not beside:
            self.problem(f"nobody takes the reports {sorted(own.reports)} and promises {sorted(own.promises)}")
        if own._jobs._queue:
            head = own._jobs._orders[own._jobs._queue[0][1]]
            if any(place.assignment.able(head) is not None for place in own._workforce.places):
                self.problem("a job waits, and a worker could take it")
        for worker in own._workforce.workers.values():
            connection = worker.connection
            if connection is None or connection.session.state is not ConnectionState.READY:
                continue
            if (
                worker.hello
                and worker.hello.tasks == "recipe"
                and connection.session.open_jobs() != list(worker.orders)
            ):
                self.problem(
                    f"{worker.name} holds {list(worker.orders)}, and was told {connection.session.open_jobs()}"
                )

    def stepped(self, session: Session, before: ConnectionState, message: Message, attempt: int) -> None:
        """A session has judged a message, and taken the step."""
        event = CONNECTION_EVENTS[name_of(message)]
        self.found.connection_steps.add((before, event, session.state))
        about_job = event in (ConnectionEvent.ORDER, ConnectionEvent.ANSWER) and before is ConnectionState.READY
        if about_job:
            line = session._story[-1]
            self.found.job_steps.add((line.before, line.event, line.after))
        if session.role is not Role.BRIDGE:
            return
        talk = self.talks.setdefault(session, Talk(session))
        heard = sender_of(message) is Role.APPLICATION
        if session.hello is not None and talk.process is None:
            talk.process = self.processes.get(session.hello.worker)
        who = talk.process.name if talk.process else "somebody"
        if not about_job:
            if isinstance(message, Quit) and talk.process:
                talk.process.quit_s = self.loop.time()
            self.note(who, f"{'says' if heard else 'is told'} {event}")
            talk.since_s = self.loop.time()
            return
        talk.steps.append(line.event)
        if isinstance(message, Outcome):
            talk.outcomes.append((message.job, message.attempt))
        self.note(who, f"{'says' if heard else 'is told'} {line.event} of job {line.job}, attempt {attempt}")
        orders = (JobEvent.START, JobEvent.START_LENGTHS, JobEvent.RESUME)
        if heard or line.event not in orders or len(session.open_jobs()) == 1:
            talk.since_s = self.loop.time()
        if isinstance(message, Lengths | Edges) and talk.process:
            paused = any(end.other.paused for end in talk.process.ends)
            talk.poured = talk.poured + 1 if paused else 0
            if talk.poured > 2:
                self.problem(f"{who} takes nothing, and is told more and more")
        self.steps[line.event] += 1

    def taken(self, message: Message) -> None:
        if isinstance(message, Outcome):
            self.outcomes.setdefault(message.job, []).append(message.attempt)
        elif isinstance(message, Failed):
            self.failed.add(message.job)
        elif isinstance(message, Promise):
            # Where cores are released before an end, the batch level does not go by promises of it; where jobs are directed,
            # it may make void what was promised.
            counts = self.expected.ledger.releases is None and self.expected.ledger.scales is None
            if counts and message.not_before_ns > self.ends_ns[message.job]:
                self.false_promises.add(message.job)

    def given_up_s(self, process: Process) -> float | None:
        """When the bridge will have looked so often that it gives this process up, if it hears nothing of it any more."""
        since_s = max((talk.since_s for talk in self.talks.values() if talk.process is process), default=None)
        if since_s is None:
            return None
        at_s, period_s = self.watches_s, min(1.0, self.plan.timeout_s / 4)
        while at_s - since_s <= self.plan.timeout_s or at_s <= self.loop.time():
            at_s += period_s  # as the timers are added up, to the last bit
        return at_s

    def given_up(self, process: Process) -> None:
        """The bridge has it killed."""
        own = self.supervisor
        if not process.alive or (own is not None and (own._workforce.closing or own._jobs.failure)):
            return
        # Who was away for long knows how long those have been silent that it has welcomed, but no stranger.
        greeted = any(talk.process is process and talk.session.open_jobs() for talk in self.talks.values())
        if not process.why and (greeted or not self.leapt_s):
            self.problem(f"{process.name} is killed, and nothing is wrong with it")

    def warned(self, line: str) -> None:
        self.note("log", line)
        found = re.match(
            r"application process (w\d+(?:@[^\s,]+)?)(?:, which had not said hello,)? did not (\w+) \w+ ([\d.]+) s",
            line,
        )
        if not found:
            return
        name, what, allowed_s = found[1], found[2], float(found[3])
        period_s = min(1.0, self.plan.timeout_s / 4)
        right_s = CONNECT_S if what == "connect" else self.plan.timeout_s
        if abs(allowed_s - right_s) > 1e-6:
            self.problem(f"{name} had {allowed_s:g} s to {what}; expected: {right_s:g} s")
        talks = [talk for talk in self.talks.values() if talk.process and talk.process.name == name and talk.steps]
        if what == "answer" and talks:
            silent_s = self.loop.time() - max(talk.since_s for talk in talks)
            # Who is told bit by bit is also heard of when it takes a bit, which nobody says.
            sure = not self.leapt_s and not (self.plan.told and self.plan.narrow)
            late = sure and silent_s > right_s + period_s + _LATE_S
            if silent_s < right_s - 1e-9 or late:
                self.problem(
                    f"{name} has been silent for {silent_s:g} s, and is given up; expected: after {right_s:g} s"
                )

    # The end

    def check_end(self, error: BaseException | None, result: Any) -> None:
        """Nothing is left, and the end is one that what has happened explains."""
        self.over = True
        tasks = [repr(task) for task in asyncio.all_tasks(self.loop)]
        theirs = set(map(repr, self.site.tasks)) if self.site is not None else set()
        mine = [task for task in tasks if "Process._" not in task and "_visit" not in task and task not in theirs]
        if mine:
            self.problem(f"tasks are left: {mine}")
        if self.site is not None:
            self.site.finish()
        try:
            self.loop.run_until_idle(1e4)
        except NeverEnds as never:
            self.problem(str(never))
        for what in asyncio.all_tasks(self.loop):
            self.problem(f"a task is left for ever: {what!r}")
        for waiting in self.loop.waiting():
            self.problem(f"a callback is left: {waiting}")
        for near, far in self.pairs:
            for end in (near, far):
                if not end.lost:
                    self.problem(f"a connection is left: {end.name}")
        for process in self.processes.values():
            if process.alive:
                self.problem(f"{process.name} is left")
        if any(server.alive for server in self.servers):
            self.problem("a fork server is left")
        if len(self.removed) != self.folders or not all(server.closed for server in self.listening.values()):
            self.problem("the socket is left")
        if self.site is not None:
            self.site.check(self.problem, error is None)
        for complaint in self.loop.complaints:
            self.problem(f"nobody has taken an error: {complaint}")
        self.found.stories.update(tuple(talk.steps) for talk in self.talks.values())
        if error is None:
            self._check_success(result)
        else:
            self._check_error(error)

    def abandon(self) -> None:
        """Whatever is left of a run that has failed, so that nothing of it is found later."""
        for _ in range(3):
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            with contextlib.suppress(NeverEnds):
                self.loop.begin_again()
                self.loop.run_until_idle(1e3)
        for pair in self.pairs:
            for end in pair:
                end.die()

    def _check_success(self, result: Any) -> None:
        self.found.end = "the same tables"
        cost = result.coupling
        other = different(result, self.expected)
        if other:
            self.problem(f"other tables than inline: {other}")
        # A running job that is told something is simulated again, and so has an end more than once; each attempt has one.
        told = self.plan.kind in REACHED
        several = sorted(
            row
            for row, attempts in self.outcomes.items()
            if len(set(attempts) if told else attempts[:1]) < len(attempts)
        )
        if several:
            self.problem(f"several outcomes were taken of jobs {several}")
        ended = sum(map(len, self.outcomes.values()))
        repeated = sum(attempts[-1] + 1 - len(attempts) for attempts in self.outcomes.values())
        if cost["retries"] != repeated:
            self.problem(f"{cost['retries']} retries were counted, and {repeated} were made")
        blamed = self._lost(blameless=False)
        if blamed and max(blamed.values()) > RETRIES:
            self.problem(f"rows were lost more often than {RETRIES} times: {dict(blamed)}")
        if not self.plan.told:
            # What was begun has ended, or was lost with its worker, or had been given up when its outcome came.
            late = self.steps[JobEvent.OUTCOME] - ended
            lost = sum(len(talk.session.open_jobs()) for talk in self.talks.values())
            begun = self.steps[JobEvent.START]
            if not begun - ended == late + lost == repeated:
                self.problem(f"{begun} begun, {ended} ended, {lost} lost, {late} late, {repeated} repeated")
        if self.failed or self.false_promises:
            self.problem("a job failed, or was promised too much of, and nobody noticed")
        lost = self.server_deaths + self.server_stopped or (self.site is not None and self.site.odd)
        if not self.servers or (cost["processes"] != len(self.processes) and not lost):
            self.problem(f"{cost['processes']} processes were counted, and {len(self.processes)} started")
        sent = sum(far.written for _, far in self.pairs)
        if cost["bytes_sent"] != sent:
            self.problem(f"{cost['bytes_sent']} bytes sent were counted, and {sent} were written")
        everybody = self.leapt_s or any("other conservation" in one.why for one in self.processes.values())
        odd = [one for one in self.processes.values() if one.why or everybody]
        most = self.strangers + sum(len(one.ends) for one in odd)
        if self.site is not None and (self.site.odd or self.strangers or self.leapt_s):
            most += self.site.attempts
        if cost["refused"] > most:
            self.problem(f"{cost['refused']} were refused; {most} strangers and processes with faults have connected")
        if cost["suspends"] != cost["resumes"]:
            self.problem(f"{cost['suspends']} suspends, {cost['resumes']} resumes")

    def _check_error(self, error: BaseException) -> None:
        line = str(error)
        self.found.end = f"{type(error).__name__}: {line}"
        if isinstance(error, KeyboardInterrupt):
            if not self.interrupted:
                self.problem("an interrupt that nobody has sent")
            return
        if not isinstance(error, InputError | PeerError) or "\n" in line:
            self.problem(f"no error of one line: {error!r}")
            return
        why = Counter(reason for process in self.processes.values() for reason in set(process.why))
        early = [one for one in self.processes.values() if one.why or self.server_stopped or self.leapt_s]
        # If the first hello says that work is not conserved, all that say it is are refused; and the other way round.
        unheard = 100 if self.server_stopped or why["other conservation"] else len(early)
        job = re.match(r"job (\d+): ", line)
        number = int(job[1]) if job else -1
        if "its application process failed" in line:
            lost = [times for row, times in self._lost(blameless=True).items() if self.job(row) == number]
            explained = max(lost, default=0) > RETRIES and f"failed {RETRIES + 1} times" in line
        elif "processes in a row did not say hello" in line:
            explained = min(unheard, self._in_a_row()) >= workforce._STILLBORN
        elif "no process has connected within" in line:
            explained = not any(what == "is told welcome" for _, _, what in self.found.log)
        elif "no application process can be started" in line:
            explained = why["unborn"] > 0 and unheard >= workforce._STILLBORN
        elif line.startswith("twolevel-fork") and "was killed by SIGKILL" in line:
            ever = any(process.server.host is None for process in self.processes.values())
            explained = self.server_deaths > 3 or (self.server_deaths == 1 and not ever)
        elif line.startswith("twolevel-fork was not ready"):
            explained = self.server_stopped or bool(self.leapt_s)
        elif re.match("(no host has joined|all hosts are lost, and no other has joined) for ", line):
            assert self.site is not None
            since_s = self.loop.time() - self.plan.timeout_s
            # Too many strangers at the door have one that is about to join sent away.
            others = bool(self.leapt_s) or self.strangers > 0
            explained = not self.plan.workers and (self.site.everybody_odd(since_s) or others)
        elif re.search("the application simulator( on host .*)? says: out of luck", line):
            explained = number in map(self.job, self.failed)
        else:
            promised = "what was promised by an earlier process" in line
            explained = promised and number in map(self.job, self.false_promises)
        if not explained:
            self.problem(f"the run ended for no reason: {line}")

    def _in_a_row(self) -> int:
        """How many processes at the most have not come to say hello, or could not be had, between two that were welcomed."""
        most = count = 0
        for _, who, what in self.found.log:
            if "@" in f"{who} {what}":
                continue  # of another host
            if what == "is told welcome":
                count = 0
            count += "which had not said hello" in what or (who == "fork server" and what.startswith("unborn"))
            most = max(most, count)
        return most

    def job(self, row: int) -> int:
        return int(self.expected.ledger.jobs.job_id[row])

    def _lost(self, *, blameless: bool) -> Counter[int]:
        """How often each row was what a worker was at when it was lost; also where the fork server has taken it along."""
        lost: Counter[int] = Counter()
        for talk in self.talks.values():
            # An outcome that came after its worker had been given up is of what it was at then.
            late = [row for row, attempt in talk.outcomes if attempt not in self.outcomes.get(row, ())]
            process, at = talk.process, [*late, *talk.session.open_jobs()]
            if at and process and process.why:
                lost[at[0]] += blameless or not any("fork server" in why for why in process.why)
        return lost
