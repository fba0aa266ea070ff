"""The supervisor: sets up the application processes and their connections, handles their messages, and closes everything.

One asyncio loop owns all. A process that dies, hangs or breaks the protocol is replaced, and its jobs are simulated again
elsewhere, which does not change their outcomes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket as sockets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bls.engine.features.limits.options import FALLBACK
from bls.engine.features.releases.options import COORDINATION
from bls.engine.features.widths.options import MALLEABLE, RESIZE
from bls.options import BLS_COMMAND
from bridge.options.declared import ALS_COMMAND
from bridge.protocol.application_book import IS_SCHEDULER
from bridge.protocol.messages import OVER, Hello
from bridge.protocol.session import ProtocolError, Refusal
from bridge.protocol.vocabulary import Message
from bridge.workers.assignment import Assignment, Place, Worker, room_for
from bridge.workers.connection import TRAFFIC, Connection, add_traffic
from bridge.workers.launchers import Launcher
from bridge.workers.listener import Listener
from bridge.workers.outstanding_jobs import OutstandingJobs
from bridge.workers.workforce import Workforce, loop_s
from traces.base.errors import InputError, at, begins_at

if TYPE_CHECKING:
    from bridge.workers.hosts import Hosts, HostsRequest

log = logging.getLogger("twolevel.bridge")

#: Number of jobs that a persistent worker may hold, so that it need not wait for the bridge between them.
_DEPTH: Final = 4

_NEWS_S: Final = 1.0  # time to wait for the report of how a process ended, after its connection has, s


@dataclass(frozen=True)
class Needs:
    """Abilities that the application simulators of a run need."""

    releases: bool = False  # report cores that a job no longer needs
    hints: bool = False  # accept hints: for which of a job's cores other jobs wait
    resizes: bool = False  # add cores to running jobs, and request cores back
    wishes: bool = False  # report how many cores jobs request
    scaled_by: str = ""  # the option, with its value, by which speeds of cores are scaled; empty if they are not

    def unmet_by(self, hello: Hello) -> str | None:
        """The first need that a simulator's hello does not meet, as a line for the user; None if it meets all."""
        hint = f"{COORDINATION:{'hint' if self.hints else 'release'}}"
        with_hints = "none, release" if hello.releases else "none"
        by_limits = begins_at(self.scaled_by, str(FALLBACK))
        otherwise = "none, hold, stop:idle, stop:off" if by_limits else "a policy that leaves speeds alone"
        needed = (
            ("releases", self.releases, hint, "cannot follow it", "none"),
            ("resizes", self.resizes, str(MALLEABLE), "cannot follow it", f"{RESIZE:mold}, or without it"),
            ("wishes", self.wishes, f"{RESIZE:evolve}", "never requests cores", "another one"),
            ("scales", bool(self.scaled_by), self.scaled_by, "cannot follow it", otherwise),
            ("hints", self.hints, hint, "cannot follow it", with_hints),
        )
        for what, is_needed, option, lack, allowed in needed:
            if is_needed and not getattr(hello, what):
                return f"{option}: {hello.name!r} {lack}: its hello has {what} = false; allowed: {allowed}"
        return None


class Supervisor:
    """Application processes that serve jobs: submit them to ``jobs``, and take their reports there.

    - ``workers``: number that simulate at once on this host; with other hosts it may be 0.
    - ``jobs_per_worker``: number of jobs after which a process is replaced; None is never.
    - ``timeout_s``: a worker with a job is killed after this time without a message.
    - ``command``: a command line that starts an application simulator; None: the built-in one.
    - ``socket``: ``unix`` or ``tcp``.
    - ``technique``, ``program``: loaded by the built-in simulator in advance; the program is JSON, or empty for none.
    - ``hosts``: options of other hosts, which may join; None: this host only.
    """

    def __init__(
        self,
        workers: int,
        jobs_per_worker: int | None,
        timeout_s: float,
        command: str | None,
        socket: str,
        technique: str,
        program: str = "",
        *,
        needs: Needs,
        hosts: HostsRequest | None = None,
    ) -> None:
        self._command, self._socket, self._technique, self._program = command, socket, technique, program
        # A process per job is started before there is a job for it.
        self._per_worker, self._depth = (1, _DEPTH) if jobs_per_worker is None else (2, 1)
        self._simulating, self._wanted, self._needs = workers, hosts, needs
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order of their start
        self._token = secrets.token_hex(16)
        self._awaited: dict[int, str] = {}  # processes without a hello
        self._listener = Listener(self._token, self._admit, self._serve, self._awaited, self._wrong)
        self._launcher: Launcher | None = None
        self._hosts: Hosts | None = None
        self.jobs = OutstandingJobs(self._spawn, True if command is None else None)
        self._workforce = Workforce(self.jobs, jobs_per_worker, timeout_s, command)

    @property
    def cost(self) -> dict[str, Any]:
        """Costs by name; complete once closed."""
        doors, hosts = [self._listener], {}
        if self._hosts is not None:
            doors.append(self._hosts.listener)
            here = [place for place in self._workforce.places if place.here]
            hosts = {"hosts": [place.cost() for place in (*here, *self._hosts.places)]}
        return {
            "processes": self._workforce.launched,
            "retries": self.jobs.retries,
            "suspends": self.jobs.suspends,
            "resumes": self.jobs.suspends,
            "injected": self.jobs.injected,
            **{name: sum(getattr(door, name) for door in doors) for name in ("refused", *TRAFFIC)},
            **hosts,
        }

    @property
    def most_workers(self) -> int:
        """Upper bound of the number that simulated at once."""
        return self._simulating + (0 if self._hosts is None else sum(place.workers for place in self._hosts.places))

    async def open(self, expected_jobs: int) -> None:
        """Listen, and start processes for ``expected_jobs`` jobs. Raises InputError or PeerError if that is impossible."""
        self.jobs.expected = expected_jobs
        self._workforce.alone_since = loop_s()
        if self._wanted is not None:
            await self._open_hosts(self._wanted)
        if self._simulating:
            await self._open_here(self._simulating)
        self._spawn(self._workforce.watch())
        self._workforce.recruit()

    async def _open_here(self, workers: int) -> None:
        address = await self._listener.open(self._socket)
        self._launcher = Launcher(
            self._workforce, address, self._token, self._technique, self._command, self._awaited, program=self._program
        )
        await self._launcher.open()
        name = sockets.gethostname() if self._wanted else "here"
        alive = room_for(workers * self._per_worker)
        place = Place(name, self._launcher, Assignment(workers, self._depth), workers, alive, here=True)
        self._workforce.places.insert(0, place)

    async def _open_hosts(self, wanted: HostsRequest) -> None:
        from bridge.workers.hosts import Hosts  # loads ssl, which runs on this host alone do not need

        self._hosts = self._workforce.hosts = Hosts(
            self._workforce,
            wanted,
            self._token,
            self._admit,
            self._serve,
            technique=self._technique,
            per_worker=self._per_worker,
            depth=self._depth,
        )
        await self._hosts.open()

    async def close(self, *, patient: bool) -> None:
        """Clean up: end processes, close sockets, remove files. ``patient``: whether workers may end by themselves."""
        if not patient:
            self._listener.fall_silent()
        self._workforce.close(patient=patient)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            if self._hosts is not None:
                await self._hosts.close(patient=patient)
        finally:
            try:
                if self._launcher is not None:
                    await self._launcher.close(patient=patient)
            finally:
                await self._listener.close()

    # Tasks

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks[task] = None
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.jobs.fail(error)  # no task awaits this one; the run must not wait for it either

    # Connections

    def _admit(self, hello: Hello) -> str | None:
        if self._workforce.closing:
            return OVER
        if (worker := self._workforce.workers.get(hello.worker)) is None or worker.connection is not None:
            return f"no worker {hello.worker!r} is expected"
        if (earlier := self.jobs.conserves_work) is not None and hello.conserves_work != earlier:
            return f"conserves_work is {hello.conserves_work}; it was {earlier} in an earlier hello"
        return None

    def _wrong(self, refusal: Refusal) -> None:
        # The hello shows a program of another kind, and so would all other processes of the command.
        if self._command is not None and refusal.reason == IS_SCHEDULER:
            where = at(str(ALS_COMMAND), self._command)
            what = f"{refusal.reason} ({BLS_COMMAND} is for schedulers)"
            self.jobs.fail(InputError(f"{where}: {self._command}: {what}"))

    async def _serve(self, hello: Hello, connection: Connection) -> None:
        worker = self._workforce.workers[hello.worker]
        worker.hello, worker.connection, worker.since = hello, connection, loop_s()
        place = self._workforce.place_of[worker.name]
        place.processes.greeted(worker.name)
        place.stillborn, self._workforce.met = 0, True
        place.assignment.add(worker)
        self.jobs.learn(hello)
        if (unmet := self._needs.unmet_by(hello)) is not None:
            self.jobs.fail(InputError(unmet))
        try:
            self._workforce.dispatch()
            while isinstance(event := await connection.receive(), Message):
                # After a loss its jobs belong to other workers, even if messages are still under way.
                if worker.name in self._workforce.workers:
                    self._workforce.take(worker, event)
        except ProtocolError as error:
            if not connection.ended:
                connection.send_bytes(error.farewell)
                connection.flush()
                # The protocol names a job by its row; the job's number is reported elsewhere.
                worker.how = str(error).removeprefix("the application ").replace(f"job {error.job}: ", "", 1)
                self._workforce.lose(worker)
        except Exception as error:
            self.jobs.fail(error)
        finally:
            add_traffic(place, connection)
        await self._part(worker, place)

    async def _part(self, worker: Worker, place: Place) -> None:
        """Handle the end of a worker's connection."""
        place.assignment.drop(worker)
        if worker.name not in self._workforce.workers or self._workforce.closing:
            return
        self._workforce.dispatch()  # one less is busy: another worker may be able to take a waiting job
        # Its process will have ended as well; wait a moment to learn how.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_NEWS_S):
                await worker.ended.wait()
        self._workforce.lose(worker)
