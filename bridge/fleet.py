"""The fleet: application processes, the jobs they hold, and what happens when one dies.

One asyncio loop owns everything here. Jobs wait in the order in which the batch level will need them, go to the worker
with the fewest, and are simulated again elsewhere, up to :data:`RETRIES` times, if their worker dies, hangs or breaks
the protocol. What a job's outcome is does not depend on any of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bridge.framing import READ_AT_MOST
from bridge.launchers import CommandLauncher, ForkServerLauncher, Launcher
from bridge.messages import (
    LENGTHS_PER_FRAME,
    PROTOCOL_VERSION,
    Failed,
    Hello,
    Lengths,
    Message,
    Outcome,
    Promise,
    Quit,
    Records,
    Refused,
    Role,
    Start,
    Welcome,
    pack_float64,
)
from bridge.session import NEED_DATA, ConnectionClosed, ProtocolError, Refusal, Session
from traces.compiled import Array
from traces.errors import InputError, PeerError

__all__ = ["RETRIES", "Fleet", "Order", "Report"]

log = logging.getLogger("twolevel.bridge")

#: How often a job is simulated again after its process died or hung.
RETRIES = 3

#: How many processes may end in a row without ever having said hello.
_STILLBORN = 5

#: How long somebody who has connected may take to say hello, s.
_HELLO_S = 10.0

#: How many may be connected without having said hello.
_STRANGERS = 64

#: Longest path of a Unix socket on Linux, in bytes.
_UNIX_PATH = 107


@dataclass(frozen=True)
class Order:
    """One job to simulate.

    Attributes
    ----------
    start : Start
        What the worker is told, with a recipe; ``job`` is the row in the workload.
    bound_ns : int
        An instant before which a worker that conserves work cannot end it.
    job_number : int
        The workload's number, for messages.
    lengths : callable
        Draws the task lengths, for a worker that asks for them.
    """

    start: Start
    bound_ns: int
    job_number: int
    lengths: Callable[[], Array]


@dataclass
class Report:
    """What a worker reported of one job."""

    outcome: Outcome
    records: list[Records]


@dataclass
class _Worker:
    name: str
    session: Session | None = None  # None until it has connected
    writer: asyncio.StreamWriter | None = None
    orders: dict[int, Order] = field(default_factory=dict)  # in the order in which they were sent
    records: dict[int, list[Records]] = field(default_factory=dict)
    since: float = 0.0  # when it was last heard of, or was given work while it had none
    served: int = 0


class Fleet:
    """Application processes that serve jobs.

    Parameters
    ----------
    workers : int
        How many run at once.
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
    """

    def __init__(
        self,
        workers: int,
        jobs_per_worker: int | None,
        timeout_s: float,
        command: str | None,
        socket: str,
        technique: str,
    ) -> None:
        self._limit = workers
        self._jobs_per_worker = jobs_per_worker
        self._timeout_s = timeout_s
        self._command = command
        self._socket = socket
        self._technique = technique
        # With one job in hand and one to come a worker need not wait for the bridge between jobs.
        self._depth = 2 if jobs_per_worker is None else 1
        # A process per job is started before there is a job for it.
        self._alive = workers if jobs_per_worker is None else 2 * workers
        self._token = secrets.token_hex(16)
        self._workers: dict[str, _Worker] = {}
        self._queue: list[tuple[int, int]] = []  # heap of (instant by which it is needed, row)
        self._orders: dict[int, Order] = {}  # not yet reported
        self._retries: dict[int, int] = {}
        self._expected = 0
        self._stillborn = 0
        self._strangers = 0
        self._failure: PeerError | InputError | None = None
        self._closing = False
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None
        self._folder: Path | None = None
        self._launcher: Launcher | None = None
        #: Reports that nobody has taken yet, by row.
        self.reports: dict[int, Report] = {}
        #: Later promises that nobody has taken yet, by row.
        self.promises: dict[int, int] = {}
        #: Whether the workers have said that they conserve work: what an order's bound is worth.
        self.conserves_work = command is None
        #: What it all cost, by name.
        self.cost: dict[str, float | int] = dict.fromkeys(
            ("processes", "retries", "refused", "messages", "bytes_sent", "bytes_received"), 0
        )

    async def open(self, expected_jobs: int) -> None:
        """Listen, and start processes for ``expected_jobs`` jobs."""
        self._expected = expected_jobs
        address = await self._listen()
        if self._command is None:
            self._launcher = ForkServerLauncher(address, self._token, self._technique, self._gone, self._fail)
        else:
            self._launcher = CommandLauncher(self._command, address, self._token, self._gone)
        await self._launcher.open()
        self._spawn(self._watch_time())
        self._recruit()

    async def _listen(self) -> str:
        if self._socket == "tcp":
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=READ_AT_MOST)
            port = self._server.sockets[0].getsockname()[1]
            return f"tcp:127.0.0.1:{port}"
        self._folder = Path(tempfile.mkdtemp(prefix="twolevel-"))  # only its owner may enter it
        path = str(self._folder / "bridge")
        if len(os.fsencode(path)) > _UNIX_PATH:
            raise InputError(f"{path} is too long for a Unix socket; set TMPDIR to a shorter path, or use --socket tcp")
        self._server = await asyncio.start_unix_server(self._connected, path, limit=READ_AT_MOST)
        return f"unix:{path}"

    def submit(self, order: Order) -> None:
        """Have a job simulated."""
        row = order.start.job
        self._orders[row] = order
        heapq.heappush(self._queue, (order.bound_ns, row))
        self._dispatch()

    async def arrival(self) -> None:
        """Wait until there is a report or a promise to take.

        Raises
        ------
        PeerError, InputError
            If the run cannot go on; the message names the job where there is one.
        """
        while not (self.reports or self.promises):
            if self._failure:
                raise self._failure
            self._arrived.clear()
            await self._arrived.wait()

    async def close(self) -> None:
        """Leave nothing behind: no process, no socket, no file."""
        self._closing = True
        for worker in self._workers.values():
            self._send_quit(worker)
        if self._launcher is not None:
            await self._launcher.close()
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # Processes

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _fail(self, error: PeerError | InputError) -> None:
        self._failure = self._failure or error
        self._arrived.set()

    def _recruit(self) -> None:
        # As many processes as may run at once, but no more than there are jobs left for them.
        while len(self._workers) < min(self._alive, self._expected) and not (self._closing or self._failure):
            worker = _Worker(f"w{self.cost['processes']}", since=self._now())
            self.cost["processes"] += 1
            self._workers[worker.name] = worker
            assert self._launcher is not None
            self._launcher.launch(worker.name)

    def _gone(self, name: str) -> None:
        # A process has ended; if it was ever connected, the end of its stream says the same.
        worker = self._workers.get(name)
        if worker is None or worker.session is not None or self._closing:
            return
        self._stillborn += 1
        if self._stillborn >= _STILLBORN:
            what = self._command or "the application simulator"
            self._fail(PeerError(f"{what}: {self._stillborn} processes in a row ended without having connected"))
            return
        self._lose(worker, "ended before it had connected")

    def _lose(self, worker: _Worker, why: str) -> None:
        """A worker is of no more use: have its jobs simulated again, and another process in its place."""
        if self._workers.pop(worker.name, None) is None or self._closing:
            return
        assert self._launcher is not None
        self._launcher.kill(worker.name)
        if worker.orders:
            log.warning("application process %s %s; %d jobs are simulated again", worker.name, why, len(worker.orders))
        # Only the job it was at can be to blame; those behind it had not begun.
        for at, order in enumerate(worker.orders.values()):
            row = order.start.job
            if at == 0:
                tries = self._retries[row] = self._retries.get(row, 0) + 1
                if tries > RETRIES:
                    self._fail(
                        PeerError(
                            f"job {order.job_number}: its application process failed {tries} times; the last one {why}"
                        )
                    )
                    return
                self.cost["retries"] += 1
            again = replace(order, start=_next_attempt(order.start))
            self._orders[row] = again
            heapq.heappush(self._queue, (again.bound_ns, row))
        self._recruit()
        self._dispatch()

    # Jobs

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _dispatch(self) -> None:
        while self._queue and not self._failure:
            able = [
                worker
                for worker in self._workers.values()
                if worker.session is not None
                and len(worker.orders) < self._depth
                and (self._jobs_per_worker is None or worker.served + len(worker.orders) < self._jobs_per_worker)
            ]
            if not able or self._busy() >= self._limit * self._depth:
                return
            worker = min(able, key=lambda one: len(one.orders))
            _, row = heapq.heappop(self._queue)
            self._give(worker, self._orders[row])

    def _busy(self) -> int:
        return sum(len(worker.orders) for worker in self._workers.values())

    def _give(self, worker: _Worker, order: Order) -> None:
        assert worker.session is not None
        hello = worker.session.hello
        assert hello is not None
        if not worker.orders:
            worker.since = self._now()
        worker.orders[order.start.job] = order
        if hello.tasks == "recipe":
            self._send(worker, order.start)
        else:
            lengths = order.lengths()
            self._send(worker, _with_lengths(order.start, len(lengths)))
            for first in range(0, len(lengths), LENGTHS_PER_FRAME):
                part = pack_float64(lengths[first : first + LENGTHS_PER_FRAME])
                self._send(worker, Lengths(job=order.start.job, first=first, length_gflop=part))
        if hello.conserves_work:
            worker.session.hold_to(order.start.job, order.bound_ns)

    def _send(self, worker: _Worker, message: Message) -> None:
        assert worker.session is not None
        assert worker.writer is not None
        data = worker.session.send(message)
        self.cost["messages"] += 1
        self.cost["bytes_sent"] += len(data)
        worker.writer.write(data)

    def _send_quit(self, worker: _Worker) -> None:
        if worker.session is not None:
            with contextlib.suppress(Exception):
                self._send(worker, Quit())

    def _take(self, worker: _Worker, message: Message) -> None:
        self.cost["messages"] += 1
        worker.since = self._now()
        if isinstance(message, Records):
            worker.records.setdefault(message.job, []).append(message)
        elif isinstance(message, Promise):
            self.promises[message.job] = message.not_before_ns
            self._arrived.set()
        elif isinstance(message, Outcome):
            del worker.orders[message.job], self._orders[message.job]
            worker.served += 1
            self._expected -= 1
            self.promises.pop(message.job, None)
            self.reports[message.job] = Report(message, worker.records.pop(message.job, []))
            self._arrived.set()
            if worker.served == self._jobs_per_worker:
                self._send_quit(worker)
                del self._workers[worker.name]
                self._recruit()
            self._dispatch()
        elif isinstance(message, Failed):
            number = worker.orders[message.job].job_number
            kind = InputError if message.blame == "user" else PeerError
            self._fail(kind(f"job {number}: the application simulator says: {message.reason}"))

    # Connections

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._strangers >= _STRANGERS:
            self._refuse("too many have connected without a hello")
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        session = Session(Role.BRIDGE, self._token)
        worker: _Worker | None = None
        try:
            self._strangers += 1
            try:
                async with asyncio.timeout(_HELLO_S):
                    worker = await self._greet(session, reader, writer)
            finally:
                self._strangers -= 1
            if worker is not None:
                self._dispatch()
                await self._hear(worker, session, reader)
                self._lose(worker, "closed its connection")
        except ProtocolError as error:
            self._part(writer, error.farewell)
            if worker is None:
                self._refuse(str(error))
            else:
                log.warning("application process %s: %s", worker.name, error)
                self._lose(worker, str(error))
        except TimeoutError:
            self._refuse(f"no hello within {_HELLO_S:g} s")
        except ConnectionError:
            if worker is not None:
                self._lose(worker, "died")
        finally:
            with contextlib.suppress(ConnectionError):
                writer.close()

    def _refuse(self, why: str) -> None:
        self.cost["refused"] += 1
        log.warning("a connection was refused: %s", why)

    def _part(self, writer: asyncio.StreamWriter, farewell: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(farewell)

    async def _next(self, session: Session, reader: asyncio.StreamReader) -> Message | Refusal | ConnectionClosed:
        while True:
            event = session.next_event()
            if event is not NEED_DATA:
                return event
            data = await reader.read(READ_AT_MOST)
            self.cost["bytes_received"] += len(data)
            if data:
                session.receive_data(data)
            else:
                session.receive_eof()

    async def _greet(
        self, session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> _Worker | None:
        """The worker that has said a proper hello, or None."""
        event = await self._next(session, reader)
        if isinstance(event, Refusal):
            self._part(writer, event.farewell)
            self._refuse(f"{event.reason} (to blame: the {event.blame})")
            return None
        if not isinstance(event, Hello):
            self._refuse("it was closed before a hello")
            return None
        worker = self._workers.get(event.worker)
        if worker is None or worker.session is not None:
            reason = f"no worker {event.worker!r} is expected"
            writer.write(session.send(Refused(reason=reason[:500], blame="application")))
            self._refuse(reason)
            return None
        writer.write(session.send(Welcome(version=PROTOCOL_VERSION, run="twolevel")))
        worker.session, worker.writer, worker.since = session, writer, self._now()
        self.conserves_work = event.conserves_work
        self._stillborn = 0
        return worker

    async def _hear(self, worker: _Worker, session: Session, reader: asyncio.StreamReader) -> None:
        while True:
            event = await self._next(session, reader)
            if isinstance(event, ConnectionClosed):
                return
            assert not isinstance(event, Refusal)
            self._take(worker, event)

    async def _watch_time(self) -> None:
        # Kill who holds a job, or has still to connect, and has not been heard of for too long.
        while True:
            await asyncio.sleep(min(1.0, self._timeout_s / 4))
            late = self._now() - self._timeout_s
            for worker in list(self._workers.values()):
                if worker.since < late and (worker.orders or worker.session is None):
                    if worker.session is None:
                        self._stillborn += 1
                    if self._stillborn >= _STILLBORN:
                        self._fail(PeerError(f"{self._stillborn} application processes in a row did not connect"))
                        return
                    self._lose(worker, f"did not answer for {self._timeout_s:g} s")


def _next_attempt(start: Start) -> Start:
    fields = {name: getattr(start, name) for name in start.__struct_fields__}
    return Start(**(fields | {"attempt": start.attempt + 1}))


def _with_lengths(start: Start, tasks: int) -> Start:
    fields = {name: getattr(start, name) for name in start.__struct_fields__}
    return Start(**(fields | {"recipe": None, "tasks": tasks}))
