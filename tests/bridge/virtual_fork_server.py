"""The fork server of a simulated run, which can be killed, stopped, and slow."""

import asyncio
import json
import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from virtual_hosts import HOST
from virtual_network import FIRST_PID, Link, Wire
from virtual_processes import Process


class ForkServer(asyncio.SubprocessTransport):
    """The fork server, as asyncio sees a child process; ``bridge.workers.forkserver`` states its commands and reports."""

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
        self._reports = Wire(world.loop, world.draw, link, self._deliver, lambda error: self._lost(1))
        self._obeys = Wire(world.loop, world.draw, link, self._hear, lambda error: self.exit(0))
        self._unborn: list[str] = []
        self.is_ready = self._is_closed = False
        self._once_told: list[Callable[[], None]] = []
        protocol.connection_made(self)

    def report(self, *words: str) -> None:
        self.world.note("fork server", " ".join(words))
        self._reports.put((json.dumps(words) + "\n").encode())

    def _deliver(self, data: bytes) -> None:
        self._protocol.pipe_data_received(1, data)
        if not self._reports.waiting:
            once_told, self._once_told = self._once_told, []
            for callback in once_told:
                callback()

    def once_told(self, callback: Callable[[], None]) -> None:
        """Call it when everything that is reported by now has arrived."""
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
        if word == "warm":
            prepares_s = self.host.plan.prepares_s if self.host is not None else 0.0
            if prepares_s:
                world.loop.call_later(prepares_s, self._ready)
            else:
                self._ready()
        elif word == "kill":
            world.note("bridge", f"kill {details[0]}")
            process = self.processes.get(details[0])
            if process is not None:
                world.given_up(process)
                process.die(signal.SIGKILL)
        elif word in ("start", "fork"):
            self._start(word == "start", *details[:3])

    def _start(self, told: bool, name: str, address: str, token: str) -> None:
        fault = self.world.plan.fault()
        process = self.world.processes[name] = Process(self, name, fault, told)
        if self.host is not None:
            process.why += [f"host: {why}" for why in self.host.why]  # it was requested before, or is not heard of
        as_it_ends = self.host is not None and self.host.kind == "unborn as it ends"
        if as_it_ends:
            self.host.fires()  # type: ignore[union-attr]
        if fault.kind == "unborn" or as_it_ends:
            process.alive = False
            process.fires()
            self._unborn.append(name)
            if not as_it_ends:
                self.run_ends()
            return
        self.processes[name] = process
        process.begin(address, token)

    def run_ends(self) -> None:
        unborn, self._unborn = self._unborn, []
        for name in unborn:
            if self.alive:
                self.report("unborn", name, "Resource temporarily unavailable")

    def _ready(self) -> None:
        if self.alive and not self.stopped:
            self.is_ready = True
            self.report("ready")

    def reap(self, process: Process, how: str) -> None:
        def tell() -> None:
            if self.alive and not self.stopped and self.processes.pop(process.name, None) is not None:
                self.report("gone", process.name, how)

        self.world.loop.call_later(self.world.draw.uniform(0.0, 0.05), tell)

    def strike(self, what: str) -> None:
        if not self.alive or self.stopped:
            return
        self.world.note("fork server", what)
        for process in self.processes.values():
            process.why.append(f"fork server {what}")
        if self.host is not None:
            self.host.why.append(f"fork server {what}")
            self.host.failed_early |= what == "killed" and not self.is_ready
        if what == "killed":
            self.world.server_deaths += self.host is None
            self.exit(-signal.SIGKILL)
        else:
            self.stopped = True
            self.world.server_stopped = self.world.server_stopped or self.host is None
            self._obeys.hold()

    def exit(self, code: int) -> None:
        if not self.alive:
            return
        self.alive, self._code = False, code
        for process in list(self.processes.values()):  # they end with it
            process.die(signal.SIGKILL)
        self.processes.clear()
        self._reports.finish()
        self.world.loop.call_later(self.world.draw.uniform(0.0, 0.01), self._reaped)

    def _reaped(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(self._code or 0)
        self._close_commands()
        self._lost(0)
        self._protocol.process_exited()

    def _lost(self, fd: int) -> None:
        self._protocol.pipe_connection_lost(fd, None)

    # As asyncio has it

    def get_pid(self) -> int:
        return FIRST_PID - 1

    def get_returncode(self) -> int | None:
        return self._code

    def get_pipe_transport(self, fd: int) -> Any:
        """The bridge's ends of the pipes: of commands, and of reports, none of which is long enough to be paused."""
        commands = SimpleNamespace(
            write=lambda data: self._is_closed or self._obeys.put(data),
            close=self._close_commands,
            abort=self._close_commands,
            is_closing=lambda: self._is_closed,
        )
        return {0: commands, 1: SimpleNamespace()}.get(fd)

    def _close_commands(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._obeys.finish()

    async def _wait(self) -> int:
        if self._code is not None:
            return self._code
        self._waiters.append(self.world.loop.create_future())
        return await self._waiters[-1]

    def kill(self) -> None:
        if not self.alive:
            raise ProcessLookupError
        self.exit(-signal.SIGKILL)

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return not self.alive
