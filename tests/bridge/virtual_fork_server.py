"""The fork server of a simulated run, which can be killed, stopped, and slow."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from typing import Any

from virtual_hosts import HOST
from virtual_network import FIRST_PID, Link, Wire
from virtual_processes import Process

__all__ = ["ForkServer"]

#: A fork server that was stopped obeys within so long what it was told meanwhile, s.
_CATCHES_UP_S = 1.0


class _Commands(asyncio.WriteTransport):
    """The bridge's end of the pipe to the fork server."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire, self._closing = wire, False

    def write(self, data: Any) -> None:
        if not self._closing:
            self._wire.put(data)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._wire.finish()

    def abort(self) -> None:
        self.close()

    def is_closing(self) -> bool:
        return self._closing


class ForkServer(asyncio.SubprocessTransport):
    """The fork server, as asyncio sees a child process; ``bridge.workers.forkserver`` says what it is asked and answers."""

    def __init__(self, world: Any, protocol: asyncio.SubprocessProtocol) -> None:
        super().__init__()
        self.world, self._protocol = world, protocol
        self.host = HOST.get()  # the worker command that has started it; None: the run
        if self.host is not None:
            self.host.servers.append(self)
        self.processes: dict[str, Process] = {}
        self.alive, self.stopped = True, False
        self._code: int | None = None
        self._waiters: list[asyncio.Future[int]] = []
        self._text = b""
        link = Link(world.draw.choice((0.003, 0.003, 0.3)), beat_s=world.plan.beat_s)
        loop, draw = world.loop, world.draw
        self._reports = Wire(loop, draw, link, self._tell, lambda error: protocol.pipe_connection_lost(1, None))
        self._obeys = Wire(loop, draw, link, self._hear, lambda error: self._over())
        self._stdin = _Commands(self._obeys)
        self._resumed_s = -_CATCHES_UP_S
        self._unreaped: list[Callable[[], None]] = []  # while it was stopped
        self._unborn: list[str] = []
        self._is_ready = False
        self._once_told: list[Callable[[], None]] = []
        protocol.connection_made(self)

    def report(self, *words: str) -> None:
        self.world.note("fork server", " ".join(words))
        self._reports.put((json.dumps(words) + "\n").encode())

    def _tell(self, data: bytes) -> None:
        self._protocol.pipe_data_received(1, data)
        if not self._reports.waiting:
            once_told, self._once_told = self._once_told, []
            for callback in once_told:
                callback()

    def once_told(self, callback: Callable[[], None]) -> None:
        """To be called when everything that is reported by now has arrived."""
        if self._reports.waiting:
            self._once_told.append(callback)
        else:
            callback()

    def _hear(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            if self.alive:
                self._obey(*json.loads(line))

    def _obey(self, word: str, *details: str) -> None:
        world = self.world
        if word == "trust":
            return
        if word == "warm":
            prepares_s = self.host.plan.prepares_s if self.host is not None else 0.0
            if prepares_s:
                world.loop.call_later(prepares_s, self._ready)
            else:
                self._ready()
            return
        name = details[0]
        if word == "kill":
            world.note("bridge", f"kill {name}")
            process = self.processes.get(name)
            if process is not None:
                world.given_up(process)
                process.die(signal.SIGKILL)
            return
        fault = world.plan.fault()
        process = Process(self, name, fault, told=word == "start")
        world.processes[name] = process
        if self.host is not None:
            process.why += [f"host: {why}" for why in self.host.why]  # it was asked for before, or is not heard of
        if world.loop.time() - self._resumed_s < _CATCHES_UP_S:
            process.why.append("fork server paused")  # it was asked for before
        as_it_ends = self.host is not None and self.host.kind == "unborn as it ends"
        if as_it_ends and self.host is not None:
            self.host.fires()
        if fault.kind == "unborn" or as_it_ends:
            process.alive = False
            process.fires()
            self._unborn.append(name)
            if not as_it_ends:
                self.run_ends()
            return
        self.processes[name] = process
        process.begin(details[1], details[2])

    def run_ends(self) -> None:
        unborn, self._unborn = self._unborn, []
        for name in unborn:
            if self.alive:
                self.report("unborn", name, "Resource temporarily unavailable")

    def _ready(self) -> None:
        if self.alive and self.stopped:
            self._unreaped.append(self._ready)
        elif self.alive:
            self._is_ready = True
            self.report("ready")

    def reap(self, process: Process, how: str) -> None:

        def tell() -> None:
            if self.alive and self.processes.pop(process.name, None) is not None:
                self.report("gone", process.name, how)

        if self.stopped:
            self._unreaped.append(tell)
            return
        self.world.loop.call_later(self.world.draw.uniform(0.0, 0.05), tell)

    def _over(self) -> None:
        self._exit(0)

    def strike(self, what: str) -> None:
        if not self.alive or self.stopped:
            return
        self.world.note("fork server", what)
        for process in self.processes.values():
            process.why.append(f"fork server {what}")
        if self.host is not None:
            self.host.why.append(f"fork server {what}")
            self.host.failed_early |= what == "killed" and not self._is_ready
        if what == "killed":
            self.world.server_deaths += self.host is None
            self._exit(-signal.SIGKILL)
        else:
            self.stopped = True
            self.world.server_stopped = self.world.server_stopped or self.host is None
            self._obeys.hold()
            if what == "paused":
                self.world.loop.call_later(10 ** self.world.draw.uniform(-1.0, 2.0), self._go_on)

    def _go_on(self) -> None:
        if self.alive:
            self.world.note("fork server", "goes on")
            self.stopped, self._resumed_s = False, self.world.loop.time()
            self._obeys.release()
            unreaped, self._unreaped = self._unreaped, []
            for tell in unreaped:
                tell()

    def _exit(self, code: int) -> None:
        if not self.alive:
            return
        self.alive, self._code = False, code
        for process in list(self.processes.values()):  # they die with it
            process.die(signal.SIGKILL)
        self.processes.clear()
        self._reports.finish()
        self.world.loop.call_later(self.world.draw.uniform(0.0, 0.01), self._reaped)

    def _reaped(self) -> None:
        assert self._code is not None
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(self._code)
        self._stdin.close()
        self._protocol.pipe_connection_lost(0, None)
        self._protocol.process_exited()

    # As asyncio has it

    def get_pid(self) -> int:
        return FIRST_PID - 1

    def get_returncode(self) -> int | None:
        return self._code

    def get_pipe_transport(self, fd: int) -> Any:
        return {0: self._stdin, 1: _Reports()}.get(fd)

    async def _wait(self) -> int:
        if self._code is not None:
            return self._code
        waiter = self.world.loop.create_future()
        self._waiters.append(waiter)
        return await waiter  # type: ignore[no-any-return]

    def kill(self) -> None:
        if not self.alive:
            raise ProcessLookupError
        self._exit(-signal.SIGKILL)

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return not self.alive


class _Reports(asyncio.ReadTransport):
    """The bridge's end of the pipe from the fork server; no report is long enough for it to pause."""

    def pause_reading(self) -> None:
        raise AssertionError("the reports are too long for a reader")
