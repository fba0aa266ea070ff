"""The supervisor: the processes that serve jobs, and what happens when one dies.

One asyncio loop owns everything here. A process that dies, hangs or breaks the protocol is replaced, and its jobs are
simulated again elsewhere. What a job's outcome is does not depend on any of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket as sockets
from typing import TYPE_CHECKING, Any, Final

from bridge.protocol.messages import Hello, Message, Outcome, Quit
from bridge.protocol.session import ConnectionClosed, ProtocolError
from bridge.protocol.tables import ConnectionState
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.connection import Connection
from bridge.workers.launchers import Launcher
from bridge.workers.listener import OVER, Listener
from bridge.workers.needs import Needs
from bridge.workers.outstanding_jobs import OutstandingJobs
from bridge.workers.places import Place, is_room, room_for
from traces.base.errors import PeerError

if TYPE_CHECKING:
    from bridge.workers.hosts import Hosts, Wanted

__all__ = ["Supervisor"]

log = logging.getLogger("twolevel.bridge")

#: How long a process may take to connect, s. Not the user's timeout: loading a simulator can take longer than a job.
CONNECT_S = 30.0

#: How many processes may end in a row without having been let in.
_STILLBORN: Final = 5

#: How many jobs a persistent worker may hold, so that it need not wait for the bridge between them.
_DEPTH: Final = 4

#: How long to wait for the news of how a process ended once its connection has, s.
_NEWS_S: Final = 1.0

#: How long a process that was sent a quit may take, s.
_PARTING_S: Final = 5.0

#: How long to wait before another process is tried where none could be started, s.
PAUSE_S: Final = 0.2


class Supervisor:
    """Application processes that serve jobs.

    Parameters
    ----------
    workers : int
        How many simulate at once on this host; with other hosts it may be 0.
    jobs_per_worker : int or None
        After so many jobs a process is replaced; None is never.
    timeout_s : float
        A worker that holds a job and has not been heard of for so long is killed.
    command : str or None
        A command line that starts an application simulator; None is ours.
    socket : str
        ``unix`` or ``tcp``.
    technique : str
        What our own simulator should load in advance.
    needs : Needs
        What the run asks of every application simulator.
    hosts : Wanted or None
        What is said of other hosts, which may join; None: nobody may.
    """

    def __init__(
        self,
        workers: int,
        jobs_per_worker: int | None,
        timeout_s: float,
        command: str | None,
        socket: str,
        technique: str,
        *,
        needs: Needs,
        hosts: Wanted | None = None,
    ) -> None:
        self._jobs_per_worker = jobs_per_worker
        self._timeout_s = timeout_s
        self._command = command
        self._socket = socket
        self._technique = technique
        # A process per job is started before there is a job for it.
        self._per_worker, self._depth = (1, _DEPTH) if jobs_per_worker is None else (2, 1)
        self._simulating, self._wanted = workers, hosts
        self._places: list[Place] = []  # this host, if it takes part, and those that are ready
        self._place: dict[str, Place] = {}  # by worker
        self._workers: dict[str, Worker] = {}
        self._parting: dict[str, float] = {}  # sent a quit, and since when
        self._launched = 0
        self._alone_since = 0.0  # when the last place went, s
        self._closing = False
        self._tasks: dict[asyncio.Task[None], None] = {}  # in the order in which they began
        self._token = secrets.token_hex(16)
        self._awaited: dict[int, str] = {}  # processes that have not said hello
        self._listener = Listener(self._token, self._admit, self._serve, self._awaited)
        self._launcher: Launcher | None = None
        self._hosts: Hosts | None = None
        self._needs = needs
        self._jobs = OutstandingJobs(self._spawn, True if command is None else None)
        #: Reports that nobody has taken yet, by row.
        self.reports = self._jobs.reports
        #: Later promises that nobody has taken yet, by row.
        self.promises = self._jobs.promises

    @property
    def conserves_work(self) -> bool:
        """Whether the workers have said that they conserve work: what an order's bound is worth."""
        return bool(self._jobs.conserves_work)

    @property
    def cost(self) -> dict[str, Any]:
        """What it all cost, by name; complete once closed."""
        doors: list[Listener] = [self._listener]
        hosts: dict[str, Any] = {}
        if self._hosts is not None:
            doors.append(self._hosts.listener)
            hosts = {"hosts": [*(place.cost() for place in self._places if place.here), *self._hosts.cost()]}
        return {
            "processes": self._launched,
            "retries": self._jobs.retries,
            "suspends": self._jobs.suspends,
            "resumes": self._jobs.suspends,
            "injected": self._jobs.injected,
            "refused": sum(door.refused for door in doors),
            "messages": sum(door.messages for door in doors),
            "bytes_sent": sum(door.bytes_sent for door in doors),
            "bytes_received": sum(door.bytes_received for door in doors),
            **hosts,
        }

    @property
    def most_workers(self) -> int:
        """How many were simulating at once at most, or may have been."""
        others = 0 if self._hosts is None else sum(place.workers for place in self._hosts.places)
        return self._simulating + others

    async def open(self, expected_jobs: int) -> None:
        """Listen, and start processes for ``expected_jobs`` jobs.

        Raises
        ------
        InputError, PeerError
            If there can be none.
        """
        self._jobs.expected = expected_jobs
        self._alone_since = self._now()
        if self._wanted is not None:
            await self._open_hosts(self._wanted)
        if self._simulating:
            await self._open_here(self._simulating)
        self._spawn(self._watch_time())
        self._recruit()

    async def _open_here(self, workers: int) -> None:
        address = await self._listener.open(self._socket)
        self._launcher = Launcher(self, address, self._token, self._technique, self._command, self._awaited)
        await self._launcher.open()
        name = sockets.gethostname() if self._wanted else "here"
        alive = room_for(workers * self._per_worker)
        place = Place(name, self._launcher, Assignment(workers, self._depth), workers, alive, here=True)
        self._places.insert(0, place)

    async def _open_hosts(self, wanted: Wanted) -> None:
        from bridge.workers.hosts import Hosts  # it loads ssl's machinery, which runs on this host alone need not

        self._hosts = Hosts(
            self,
            wanted,
            self._token,
            self._admit,
            self._serve,
            technique=self._technique,
            per_worker=self._per_worker,
            depth=self._depth,
        )
        await self._hosts.open()

    def expect_another(self) -> None:
        """There is a job more than :meth:`open` knew: one is tried again that was cut."""
        self._jobs.expected += 1
        self._recruit()

    def submit(self, order: Order) -> None:
        """Have a job simulated."""
        self._jobs.submit(order)
        self._dispatch()

    async def arrival(self) -> None:
        """Wait until there is a report or a promise to take.

        Raises
        ------
        PeerError, InputError
            If the run cannot go on; the message names the job where there is one.
        """
        await self._jobs.arrival()

    async def close(self, *, patient: bool) -> None:
        """Leave nothing behind: no process, no socket, no file.

        Parameters
        ----------
        patient : bool
            Whether workers may end by themselves, which none that is still busy would do soon.
        """
        self._closing = True
        if not patient:
            self._listener.fall_silent()
        for worker in self._workers.values():
            connection = worker.connection
            if patient and connection is not None and connection.session.state is ConnectionState.READY:
                connection.say(Quit())
            else:
                self._kill(worker.name)
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

    # Processes

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks[task] = None
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.fail(error)  # nobody waits for it; the run must not wait for what it will not do

    def fail(self, error: Exception) -> None:
        """The run cannot go on: :meth:`arrival` will raise this."""
        self._jobs.fail(error)

    def _recruit(self) -> None:
        # As many processes as may run at once, but no more than there are jobs left for them.
        while len(self._workers) < self._jobs.expected and not (self._closing or self._jobs.failure):
            places = [place for place in self._places if len(place.names) < place.alive]
            if not places:
                return
            place = min(places, key=lambda one: len(one.names) / one.alive)
            worker = Worker(f"w{self._launched}" + ("" if place.here else f"@{place.name}"), self._now())
            self._launched += 1
            place.launched += 1
            self._workers[worker.name], self._place[worker.name] = worker, place
            place.names.add(worker.name)
            place.processes.launch(worker.name)

    def _kill(self, worker: str) -> None:
        place = self._place.get(worker)
        if place is not None:
            place.processes.kill(worker)

    def unborn(self, worker: str, why: str) -> None:
        """A process could not be started; do with fewer, if there are any."""
        self._workers.pop(worker, None)
        place = self._place.pop(worker, None)
        if place is None:
            return
        place.names.discard(worker)
        if not place.names:
            self._count_stillborn(place, f"no application process can be started: {why}")
            if not self._jobs.failure:
                asyncio.get_running_loop().call_later(PAUSE_S, self._recruit)
        elif len(place.names) < place.alive:
            place.alive = len(place.names)
            where = "" if place.here else f" on host {place.name}"
            log.warning("no more than %d application processes can be started%s: %s", place.alive, where, why)

    def _count_stillborn(self, place: Place, what: str) -> None:
        """A process has ended without having been let in: of too many in a row, ``what`` is said."""
        place.stillborn += 1
        if place.stillborn < _STILLBORN:
            return
        if place.here:
            self.fail(PeerError(what))
        elif self._hosts is not None:
            log.warning("host %s: %s; it is let go", place.name, what)
            self._hosts.dismiss(place)

    def room_more(self, processes: int) -> bool:
        """Whether so many more processes, of hosts that are not ready yet, may be connected."""
        return is_room(sum(place.alive for place in self._places) + processes)

    def awaited_elsewhere(self) -> int:
        """How many processes on other hosts have still to say hello."""
        return sum(worker.connection is None and not self._place[worker.name].here for worker in self._workers.values())

    def joined(self, place: Place) -> None:
        """Another host is ready."""
        self._places.append(place)
        self._recruit()

    def lost(self, place: Place, how: str) -> None:
        """Another host is of no more use: have its jobs simulated again elsewhere."""
        log.warning("host %s was lost: %s", place.name, how)
        if place in self._places:
            self._places.remove(place)
        if not self._places:
            self._alone_since = self._now()
        for name in list(place.names):
            worker = self._workers.get(name)
            if worker is None:
                continue
            worker.how = f"was lost with its host ({how})"
            worker.ended.set()
            if worker.connection is None:
                del self._workers[name]
            else:
                self._lose(worker)
        for name in [name for name, its in self._place.items() if its is place]:
            self._parting.pop(name, None)
            del self._place[name]
        place.names.clear()
        self._recruit()

    def gone(self, worker: str, how: str, *, blameless: bool) -> None:
        """A process has ended. If it was ever connected, the end of its stream says the same, less exactly."""
        self._parting.pop(worker, None)
        lost = self._workers.get(worker)
        if lost is None:
            self._place.pop(worker, None)
            return
        lost.how, lost.blameless = how, blameless
        lost.ended.set()
        if lost.connection is None:
            self._lose(lost)

    def _lose(self, worker: Worker) -> None:
        """A worker is of no more use: have its jobs simulated again, and another process in its place."""
        if self._workers.pop(worker.name, None) is None:
            return
        worker.pouring.clear()  # it is told nothing more
        if self._closing:
            return
        place = self._place[worker.name]
        self._kill(worker.name)
        place.names.discard(worker.name)
        if worker.ended.is_set():
            del self._place[worker.name]
        if worker.connection is None:
            log.warning("application process %s, which had not said hello, %s", worker.name, worker.how)
            if not worker.blameless:
                what = self._command or "the application simulator"
                times = f"{place.stillborn + 1} processes in a row did not say hello"
                self._count_stillborn(place, f"{what}: {times}; the last one {worker.how}")
            if self._jobs.failure:
                return
        else:
            place.assignment.drop(worker)
            worker.connection.abort()
        place.retries += len(worker.orders)
        self._jobs.take_back(worker)
        self._recruit()
        self._dispatch()

    async def _watch_time(self) -> None:
        # Kill who holds a job, or has still to connect, and has not been heard of for too long.
        period = min(1.0, self._timeout_s / 4)
        before = self._now()
        while True:
            await asyncio.sleep(period)
            now = self._now()
            stopped = now - before > max(1.0, 4 * period)  # ourselves; the others may have been, too
            if stopped:
                for worker in self._workers.values():
                    worker.since = now
            before = now
            if self._hosts is not None:
                self._watch_hosts(self._hosts, now, stopped=stopped)
            for worker in list(self._workers.values()):
                allowed = CONNECT_S if worker.connection is None else self._timeout_s
                if now - worker.since > allowed and (worker.orders or worker.connection is None):
                    what = "connect within" if worker.connection is None else "answer for"
                    worker.how = f"did not {what} {allowed:g} s"
                    self._lose(worker)
            for name, since in list(self._parting.items()):
                if now - since > _PARTING_S:
                    del self._parting[name]
                    self._kill(name)

    def _watch_hosts(self, hosts: Hosts, now: float, *, stopped: bool) -> None:
        hosts.watch(now, stopped=stopped)
        if self._places or not hosts.waiting or stopped:
            self._alone_since = now
        elif now - self._alone_since > self._timeout_s:
            what = "no host has joined" if not hosts.places else "all hosts are lost, and no other has joined"
            self.fail(
                PeerError(f"{what} for {self._timeout_s:g} s; on every host that is to take part: {hosts.command}")
            )

    # Jobs

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _dispatch(self) -> None:
        self._jobs.hand_out(self._places)

    def _take(self, worker: Worker, message: Message) -> None:
        worker.since = self._now()
        self._jobs.take(self._place[worker.name], worker, message)
        if isinstance(message, Outcome):
            if worker.served == self._jobs_per_worker:
                self._dismiss(worker)
            self._dispatch()

    def _dismiss(self, worker: Worker) -> None:
        assert worker.connection is not None
        place = self._place[worker.name]
        place.assignment.drop(worker)
        place.names.discard(worker.name)
        del self._workers[worker.name]
        worker.connection.say(Quit())
        self._parting[worker.name] = self._now()
        self._recruit()

    # Connections

    def _admit(self, hello: Hello) -> str | None:
        if self._closing:
            return OVER
        worker = self._workers.get(hello.worker)
        if worker is None or worker.connection is not None:
            return f"no worker {hello.worker!r} is expected"
        earlier = self._jobs.conserves_work
        if earlier is not None and hello.conserves_work != earlier:
            return f"conserves_work is {hello.conserves_work}; it was {earlier} in an earlier hello"
        return None

    async def _serve(self, hello: Hello, connection: Connection) -> None:
        worker = self._workers[hello.worker]
        worker.hello, worker.connection, worker.since = hello, connection, self._now()
        place = self._place[worker.name]
        place.processes.greeted(worker.name)
        place.stillborn = 0
        place.assignment.add(worker)
        self._jobs.learn(hello)
        unmet = self._needs.unmet_by(hello)
        if unmet is not None:
            self.fail(PeerError(unmet))
        try:
            self._dispatch()
            while not isinstance(event := await connection.hear(), ConnectionClosed):
                assert isinstance(event, Message)  # a refusal answers only a hello
                if worker.name in self._workers:  # else its jobs are others' by now, whatever was still on its way
                    self._take(worker, event)
        except ProtocolError as error:
            if not connection.ended:
                connection.say_bytes(error.farewell)
                connection.flush()
                # What the protocol calls a job is its row here; the job's own number is said elsewhere.
                worker.how = str(error).removeprefix("the application ").replace(f"job {error.job}: ", "", 1)
                self._lose(worker)
        except Exception as error:
            self.fail(error)
        finally:
            place.count(connection)
        await self._part(worker, place)

    async def _part(self, worker: Worker, place: Place) -> None:
        """The connection of a worker has ended."""
        place.assignment.drop(worker)
        if worker.name not in self._workers or self._closing:
            return
        self._dispatch()  # one less is busy: another that is there may be able to take what waits
        # Its process will have ended as well; how is worth a moment's waiting.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_NEWS_S):
                await worker.ended.wait()
        self._lose(worker)
