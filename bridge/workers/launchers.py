"""The launcher of application processes, which notifies its owner of their ends. They connect to the bridge themselves."""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import sys
from typing import Protocol

from bridge.options.declared import ALS_COMMAND
from bridge.workers.process_names import SERVER_NAME, how_ended
from traces.base.errors import InputError, PeerError, TwolevelError, at, shown

_SERVER_DEATHS = 3  # number of times that the fork server may die in one run

#: Time that the fork server may take to load the application simulator, or to compile it with a cold cache, s.
READY_S = 600.0

PARTING_S = 2.0  # time that processes may take after a request to quit, before they are killed, s
_REMEMBERED_S = 1.0  # time for which an ended process is still recognised as one of this run, s

#: Settings that prevent the start of threads, which a fork would not copy completely; none of them is needed.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: The server gets the module path of this process, regardless of the working directory.
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from bridge.workers.forkserver import main; main()"


class Owner(Protocol):
    """The user of launched processes, notified of their ends."""

    def gone(self, worker: str, how: str, *, blameless: bool) -> None:
        """A process has ended, ``how`` as in "was killed by SIGKILL"; ``blameless`` if it died with the fork server."""

    def unborn(self, worker: str, why: str) -> None:
        """A process could not be started."""

    def fail(self, error: TwolevelError) -> None:
        """No process can be started any more."""


class Launcher:
    """Starts and kills application processes, named by worker ids, by way of ``bridge.workers.forkserver``.

    - ``address``, ``token``: passed to workers in the environment, where other users cannot read them.
    - ``technique``, ``program``: loaded by the server in advance; the program is JSON, or empty for none.
    - ``command``: starts a custom application simulator, without a shell; None: the built-in one.
    - ``awaited``: updated here: the processes that were started and have not sent a hello, names by process ids.
    - ``certificate``: of a bridge on another host; empty for one on this host.
    """

    def __init__(
        self,
        owner: Owner,
        address: str,
        token: str,
        technique: str,
        command: str | None,
        awaited: dict[int, str],
        certificate: str = "",
        program: str = "",
    ) -> None:
        self._owner, self._address, self._token, self._awaited = owner, address, token, awaited
        self._technique, self._program, self._certificate = technique, program, certificate
        self._words = shlex.split(command or "")
        self._server: asyncio.subprocess.Process | None = None
        self._reports: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._workers: dict[str, None] = {}  # in the order of their launch
        self._deaths = 0
        self._closing = False
        self._all_gone = asyncio.Event()

    async def open(self) -> None:
        """Start the server and wait until it has loaded the simulator. Raises InputError if the command is not a program.
        Raises PeerError if the server does not start."""
        if self._words and shutil.which(self._words[0]) is None:
            where = at(str(ALS_COMMAND), shlex.join(self._words))
            raise InputError(f"{where}: {shown(self._words[0])} is not a program that can be run")
        await self._start_server()
        self._reports = asyncio.create_task(self._listen())
        if not self._words:
            try:
                await asyncio.wait_for(self._ready.wait(), READY_S)
            except TimeoutError:
                raise PeerError(f"{SERVER_NAME} was not ready after {READY_S:g} s") from None

    async def _start_server(self) -> None:
        self._server = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-c",
            _BOOT,
            json.dumps([os.path.abspath(folder) for folder in sys.path]),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # interrupts at the terminal are handled by this process
            env=None if self._words else {**os.environ, **_ONE_THREAD},
        )
        if self._certificate:
            self._send("trust", self._certificate)
        if not self._words:
            self._send("warm", self._technique, self._program)
        if self._closing and self._server.stdin is not None:  # it was closed meanwhile
            self._server.stdin.close()

    def _send(self, *words: str) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        # A server that has just died is noticed at the end of its reports.
        with contextlib.suppress(OSError):
            self._server.stdin.write((json.dumps(words) + "\n").encode())

    async def _listen(self) -> None:
        try:
            while True:
                assert self._server is not None
                assert self._server.stdout is not None
                async for line in self._server.stdout:
                    self._heed(*json.loads(line))
                code = await self._server.wait()
                if self._closing:
                    return
                self._deaths += 1
                if self._deaths > _SERVER_DEATHS or not (self._ready.is_set() or self._words):
                    again = f" for the {self._deaths}th time" if self._deaths > 1 else ""
                    raise PeerError(f"{SERVER_NAME}, which starts the application processes, {how_ended(code)}{again}")
                await self._start_server()
                for worker in list(self._workers):  # they died with it
                    self._drop(worker)
                    self._owner.gone(worker, f"ended with {SERVER_NAME}", blameless=True)
        except TwolevelError as error:
            self._owner.fail(error)
        except Exception as error:
            self._owner.fail(PeerError(f"{SERVER_NAME}: {type(error).__name__}: {error}"))
        finally:
            self._ready.set()
            self._all_gone.set()

    def _heed(self, word: str, *details: str) -> None:
        if word == "ready":
            self._ready.set()
            return
        worker, how = details
        if word == "born":
            self._awaited[int(how)] = worker
            return
        self._drop(worker)
        if word == "gone":
            self._owner.gone(worker, how, blameless=False)
        else:
            self._owner.unborn(worker, how)

    def _drop(self, worker: str) -> None:
        # A little later, as the end of its connection may not have been seen yet.
        asyncio.get_running_loop().call_later(_REMEMBERED_S, self.greeted, worker)
        self._workers.pop(worker, None)
        if not self._workers:
            self._all_gone.set()

    def launch(self, worker: str) -> None:
        """Start a process for a new worker id."""
        self._workers[worker] = None
        self._all_gone.clear()
        self._send("start" if self._words else "fork", worker, self._address, self._token, *self._words)

    def greeted(self, worker: str) -> None:
        for pid in [pid for pid, name in self._awaited.items() if name == worker]:
            del self._awaited[pid]

    def kill(self, worker: str) -> None:
        """Kill a worker and the processes that it started, if it still exists."""
        if worker in self._workers:
            self._send("kill", worker)

    async def close(self, *, patient: bool) -> None:
        """End all processes. ``patient``: whether to wait a moment for those that were asked to quit."""
        self._closing = True
        if self._server is None:
            return
        if patient and self._workers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), PARTING_S)
        assert self._server.stdin is not None
        self._server.stdin.close()
        try:
            await asyncio.wait_for(self._server.wait(), PARTING_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._server.kill()
            await self._server.wait()
        if self._reports is not None:
            await self._reports
