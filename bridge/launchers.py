"""Launchers: how application processes come to be. They connect to the bridge by themselves.

A launcher tells its owner when a process is gone; whether and when it connects is the owner's to see.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable
from typing import Protocol

from bridge.messages import ADDRESS_VARIABLE, TOKEN_VARIABLE, WORKER_VARIABLE
from bridge.worker import die_with_parent
from traces.errors import InputError, PeerError

__all__ = ["CommandLauncher", "ForkServerLauncher", "Launcher"]

#: How often the fork server may die in one run.
_SERVER_DEATHS = 3

#: How long processes that were asked to quit may take before they are killed, s.
_PARTING_S = 2.0


class Launcher(Protocol):
    """Starts and kills application processes, named by worker ids."""

    async def open(self) -> None:
        """Get ready. Raises ``PeerError`` or ``InputError`` if that cannot be."""
        ...

    def launch(self, worker: str) -> None:
        """Start a process for a worker id that was not used before."""
        ...

    def kill(self, worker: str) -> None:
        """Kill it, if it is still there."""
        ...

    async def close(self) -> None:
        """Leave no process behind: wait a moment for those that were asked to quit, then kill."""
        ...


class ForkServerLauncher:
    """Forks our own application simulator from a server that has loaded it (``bridge.forkserver``).

    Parameters
    ----------
    address, token : str
        Where workers connect, and with what.
    technique : str
        What the server loads in advance.
    gone : callable
        Called with the worker id when a process has ended.
    failed : callable
        Called with an error when no process can be had any more.
    """

    def __init__(
        self,
        address: str,
        token: str,
        technique: str,
        gone: Callable[[str], None],
        failed: Callable[[PeerError], None],
    ) -> None:
        self._address, self._token, self._technique = address, token, technique
        self._gone, self._failed = gone, failed
        self._server: asyncio.subprocess.Process | None = None
        self._reports: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._workers: set[str] = set()
        self._deaths = 0
        self._closing = False
        self._all_gone = asyncio.Event()

    async def open(self) -> None:
        """Start the server and wait until it has loaded the simulator."""
        await self._start_server()
        self._reports = asyncio.create_task(self._listen())
        await self._ready.wait()

    async def _start_server(self) -> None:
        self._server = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bridge.forkserver",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._tell("warm", self._technique)

    def _tell(self, *words: str) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        # A server that has just died is noticed at the end of its reports.
        with contextlib.suppress(ConnectionError):
            self._server.stdin.write((json.dumps(words) + "\n").encode())

    async def _listen(self) -> None:
        while True:
            assert self._server is not None
            assert self._server.stdout is not None
            async for line in self._server.stdout:
                word, *details = json.loads(line)
                if word == "ready":
                    self._ready.set()
                elif word == "gone":
                    self._drop(details[0])
            await self._server.wait()
            if self._closing:
                return
            self._deaths += 1
            if self._deaths > _SERVER_DEATHS:
                self._ready.set()
                self._failed(PeerError(f"the fork server of the application processes died {self._deaths} times"))
                return
            await self._start_server()
            for worker in list(self._workers):  # its workers died with it
                self._drop(worker)

    def _drop(self, worker: str) -> None:
        self._workers.discard(worker)
        if not self._workers:
            self._all_gone.set()
        self._gone(worker)

    def launch(self, worker: str) -> None:
        """Fork a worker."""
        self._workers.add(worker)
        self._all_gone.clear()
        self._tell("fork", worker, self._address, self._token)

    def kill(self, worker: str) -> None:
        """Kill a worker."""
        self._tell("kill", worker)

    async def close(self) -> None:
        """End the server, and every worker with it."""
        self._closing = True
        if self._server is None:
            return
        if self._workers and self._server.returncode is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), _PARTING_S)
        assert self._server.stdin is not None
        self._server.stdin.close()
        try:
            await asyncio.wait_for(self._server.wait(), _PARTING_S)
        except TimeoutError:
            self._server.kill()
            await self._server.wait()
        if self._reports is not None:
            await self._reports


class CommandLauncher:
    """Starts a command line of the user's, once for every worker.

    Parameters
    ----------
    command : str
        Split into words as a shell would; no shell runs it.
    address, token : str
        Where workers connect, and with what: given in the environment, where other users cannot read them.
    gone : callable
        Called with the worker id when a process has ended.
    """

    def __init__(self, command: str, address: str, token: str, gone: Callable[[str], None]) -> None:
        self._words = shlex.split(command)
        self._command = command
        self._environment = {ADDRESS_VARIABLE: address, TOKEN_VARIABLE: token}
        self._gone = gone
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waiting_to_start: set[str] = set()
        self._error: InputError | None = None

    async def open(self) -> None:
        """See that the command can be started at all."""
        import shutil

        if shutil.which(self._words[0]) is None:
            raise InputError(f"--als-command: {self._words[0]!r} is not a program that can be run")

    def launch(self, worker: str) -> None:
        """Start the command."""
        self._tasks[worker] = asyncio.create_task(self._run(worker))

    async def _run(self, worker: str) -> None:
        parent = os.getpid()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                env={**os.environ, **self._environment, WORKER_VARIABLE: worker},
                start_new_session=True,  # an interrupt at the terminal is ours to deal with
                preexec_fn=lambda: die_with_parent(parent),
            )
        except OSError:
            self._gone(worker)
            return
        self._processes[worker] = process
        await process.wait()
        del self._processes[worker]
        self._gone(worker)

    def kill(self, worker: str) -> None:
        """Kill the command and what it has started."""
        process = self._processes.get(worker)
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Wait a moment for the commands to end, then kill them."""
        tasks = [task for task in self._tasks.values() if not task.done()]
        if tasks:
            await asyncio.wait(tasks, timeout=_PARTING_S)
        for worker in list(self._processes):
            self.kill(worker)
        if tasks:
            await asyncio.wait(tasks)
