"""The application processes of a simulated run: tasks that can be killed, stopped, slow, lie, or never come."""

from __future__ import annotations

import asyncio
import math
import random
import signal
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec
from lengths_peer import ToldPeer
from rogue_frames import HELLOS, spoiled
from virtual_network import End, Link, hold, release

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.messages import Hello, Outcome, Promise, Suspended
from bridge.protocol.session import ProtocolError, Session
from bridge.protocol.tables import JobState, Role
from bridge.workers.connection import Connection, Streams
from bridge.workers.process_names import how_ended
from bridge.workers.worker import serve
from traces.base.errors import PeerError, TwolevelError

if TYPE_CHECKING:
    from virtual_fork_server import ForkServer

#: The process that a task belongs to.
CONNECTS: ContextVar[Process | None] = ContextVar("CONNECTS", default=None)

#: What a process can do to a run before it has said hello, and after.
BEFORE_HELLO = ("unborn", "stillborn", "never connects", "late", "silent", *HELLOS)
WITH_JOBS = ("killed", "stopped", "cut off", "slow", "closes")
SPOILS = (
    "twice", "garbage", "oversized", "another job", "another attempt", "unknown message", "too early", "failed",
    "failed after records", "failed after records", "false promise",
)  # fmt: skip
HARMLESS = ("connects twice", "slow to leave", "late")
FAULTS = (*BEFORE_HELLO, *WITH_JOBS, *SPOILS, *HARMLESS)


class Fault:
    def __init__(self, kind: str, draw: random.Random, timeout_s: float) -> None:
        self.kind = kind  # one of FAULTS, or empty
        # What sets off one of WITH_JOBS; seconds since it connected, or bytes.
        self.at = draw.choice(("time", "sent", "heard"))
        self.amount = draw.uniform(0.0, 0.3) if self.at == "time" else draw.randint(1, 3000)
        lasts = {"late": (0.02, 40.0), "cut off": (0.1, 3 * timeout_s), "slow to leave": (0.1, 12.0)}
        shortest, longest = lasts.get(kind, (0.1, 1.0))
        self.seconds = shortest * (longest / shortest) ** draw.random()
        self.latency_s = draw.choice((timeout_s, 30.0)) * draw.uniform(0.2, 1.5)
        self.which = draw.choice((0, 0, 1, 2))  # of its outcomes is spoiled
        self.fired = False


class Process:
    def __init__(self, server: ForkServer, name: str, fault: Fault, told: bool) -> None:
        self.server, self.name, self.fault, self.told = server, name, fault, told
        self.world = server.world
        self.pid = next(self.world.pids)
        self.alive, self.stopped = True, False
        self.why: list[str] = []  # faults that have come into effect: it may be given up for these only
        self.ends: list[End] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.quit_s = math.inf  # when it received a quit
        self._sent = self._heard = self._outcomes = 0

    def note(self, what: str) -> None:
        self.world.note(self.name, what)

    def fires(self) -> None:
        if not self.fault.fired:
            self.fault.fired = True
            self.why.append(self.fault.kind)
            self.note(self.fault.kind)

    # Its life

    def begin(self, address: str, token: str) -> None:
        self.tasks.append(self.world.loop.create_task(self._live(address, token)))

    async def _live(self, address: str, token: str) -> None:
        CONNECTS.set(self)
        code = 1
        try:
            await self._pause(self.world.draw.uniform(0.0, 0.02))
            self.server.report("born", self.name, str(self.pid))
            code = await self._work(address, token)
        except ProtocolError as error:
            self.world.faults.append(f"{self.name} blames the bridge: {error}")
        except (OSError, TwolevelError) as error:
            self.note(f"says {error}")
        except Exception as error:
            self.world.faults.append(f"{self.name}: {type(error).__name__}: {error}")
        self._end(how_ended(code))

    async def _connect(self, address: str) -> Streams:
        if address.startswith("unix:"):
            return await asyncio.open_unix_connection(address.removeprefix("unix:"))
        return await self.world.site.from_process(self)  # type: ignore[no-any-return]

    async def _work(self, address: str, token: str) -> int:
        kind = self.fault.kind
        if kind in ("stillborn", "never connects", "late"):
            self.fires()
        if kind == "stillborn":
            return 3
        if kind == "never connects":
            await asyncio.Event().wait()
        if kind == "late":
            await self._pause(self.fault.seconds)
        streams = await self._connect(address)
        if kind == "silent":
            self.fires()
            await streams[0].read()
            streams[1].close()
            return 0
        if kind in WITH_JOBS and self.fault.at == "time":
            self.world.loop.call_later(self.fault.amount, self._strike)
        if kind == "connects twice":
            self.fires()
            self.tasks.append(self.world.loop.create_task(self._serve_again(address, token)))
        await self._serve(streams, token)
        if kind == "slow to leave":
            self.fires()
            await self._pause(self.fault.seconds)
        return 0

    async def _serve(self, streams: Streams, token: str) -> None:
        talk = Talk(Session(ApplicationBook, Role.APPLICATION), *streams)
        await serve(talk, token, self.name, ToldPeer() if self.told else None)

    async def _serve_again(self, address: str, token: str) -> None:
        try:
            await self._serve(await self._connect(address), token)
        except (OSError, PeerError) as error:
            self.note(f"again: {error}")

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self.stopped:
            await asyncio.Event().wait()

    # Its faults

    def connects(self, near: End) -> None:
        self.ends.append(near)
        near.change, near.heard = self._sends, self._hears

    def link(self) -> Link:
        link: Link = self.world.plan.link()
        if self.fault.kind == "slow":
            self.fires()
            link.latency_s = self.fault.latency_s
        return link

    def _sends(self, data: bytes) -> bytes:
        fault = self.fault
        if fault.kind in SPOILS or fault.kind in HELLOS:
            data, self._outcomes, gone = spoiled(fault.kind, data, self._outcomes, fault.which)
            if gone is not None:
                self.fires()
            if gone:
                self.world.loop.call_soon(self.die, signal.SIGKILL)
        if fault.kind in WITH_JOBS and fault.at == "sent" and not fault.fired:
            left = int(fault.amount) - self._sent
            self._sent += len(data)
            if len(data) > left:
                # What the kernel has taken arrives; the blow falls in the middle of the rest.
                if fault.kind in ("killed", "closes"):
                    data = data[:left]
                self.world.loop.call_soon(self._strike)
        return data

    def _hears(self, data: bytes) -> None:
        self._heard += len(data)
        if self.fault.kind in WITH_JOBS and self.fault.at == "heard" and self._heard > self.fault.amount:
            self._strike()

    def _strike(self) -> None:
        fault = self.fault
        if fault.fired or not self.alive:
            return
        self.fires()
        if fault.kind == "killed":
            self.die(signal.SIGKILL)
        elif fault.kind == "stopped":
            self.stopped = True
            hold(self.ends)
        elif fault.kind == "closes":
            for end in self.ends:
                end.abort()
            for task in self.tasks:  # and it lives on, and does nothing
                task.cancel()
        else:
            self.world.loop.call_later(fault.seconds, release, hold(self.ends))

    def die(self, number: signal.Signals) -> None:
        """It is killed, at this very instant."""
        self._end(how_ended(-number))

    def _end(self, how: str) -> None:
        if not self.alive:
            return
        self.alive = False
        self.note(how)
        for end in self.ends:
            end.die(ConnectionResetError("by the simulation") if self.world.draw.random() < 0.2 else None)
            if self.stopped:
                release([end])
        for task in self.tasks:
            task.cancel()
        self.server.reap(self, how)


class Talk(Connection):
    """The connection of a process, whose simulator may be a user's own: it requests lengths, and makes promises."""

    def send(self, message: Any) -> None:
        process = CONNECTS.get()
        if process is not None and process.told:
            if isinstance(message, Hello):
                conserves_work = process.world.plan.conserves_work
                message = msgspec.structs.replace(message, tasks="lengths", conserves_work=conserves_work)
            elif isinstance(message, Outcome | Suspended):
                self._promise(process.world.draw, message)
        super().send(message)

    def _promise(self, draw: random.Random, answer: Outcome | Suspended) -> None:
        if self.session.book.job_state(answer.job) is not JobState.RUNNING:
            return
        latest = answer.end_ns if isinstance(answer, Outcome) else answer.now_ns
        for _ in range(draw.choice((0, 0, 1, 2))):
            least = self.session.book.open_job(answer.job).not_before_ns
            if least <= latest:
                super().send(Promise(job=answer.job, not_before_ns=draw.randint(least, latest)))
                self.flush()
