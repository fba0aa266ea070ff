"""The fork server: a small process that starts the application processes, and whose end also ends them.

It reads one command per line and writes one report per line; the bridge is at the other end of both pipes. Words are
quoted as in JSON.

=====================================  ============================================================================
``warm TECHNIQUE [PROGRAM]``           load the application simulator and what it needs for this technique and program,
                                       which is JSON; answered by ``ready``
``trust CERTIFICATE``                  the bridge is on another host, and has this certificate; before ``warm``
``fork WORKER ADDRESS TOKEN``          fork a worker that has everything loaded
``start WORKER ADDRESS TOKEN WORD …``  start a command line of the user as a worker
``kill WORKER``                        kill it, if it still exists
end of the commands                    kill every worker and exit: the bridge is gone
=====================================  ============================================================================

A started worker itself reports ``born WORKER PID`` before it connects. The end of a worker is reported by ``gone WORKER
HOW``, a failed start by ``unborn WORKER WHY``.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from bridge.encoding import json
from bridge.standard_error import keep_standard_streams, on_command_line
from bridge.workers.process_names import PROCESS_NAME, SERVER_NAME, die_with_parent, how_ended, name_process

_NOT_EXECUTED = 127  # exit status of a command that cannot be executed, as in a shell

# Not os.fork: hooks of modules in a new process (new locks of logging and threading, a new seed of random) write to hundreds
# of pages, each of which is then copied. This call is for a process with one thread, which holds no lock.
_fork = ctypes.PyDLL(None, use_errno=True).fork


class _Pipes(NamedTuple):
    """The two ends to the bridge, on descriptors that no plug-in reads or writes."""

    commands: int
    reports: int

    @classmethod
    def taken(cls) -> _Pipes:
        """Take over stdin and stdout; a plug-in then prints to stderr, and has nothing to read."""
        pipes = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return pipes

    def report(self, *words: str) -> None:
        """Write one report."""
        data = json.encode(words) + b"\n"
        while data:
            data = data[os.write(self.reports, data) :]

    def step_aside(self, birth: bytes) -> None:
        """In a new process: report its birth, close what only the server needs, and discard output."""
        os.write(self.reports, b'%b,"%d"]\n' % (birth, os.getpid()))
        signal.set_wakeup_fd(-1)
        os.close(self.commands)
        os.close(self.reports)
        os.dup2(0, 1)


def _be_worker(server: int, pipes: _Pipes, serve: Callable[..., None] | None, birth: bytes, *words: str) -> NoReturn:
    try:
        assert serve is not None  # the bridge waits until the server is warm
        die_with_parent(server)
        name_process(PROCESS_NAME)
        pipes.step_aside(birth)
        serve(*words)
        os._exit(0)  # immediately: nothing needs an orderly shutdown
    except OSError:
        pass  # the bridge is gone
    except BaseException as error:
        from traces.base.errors import TwolevelError

        if isinstance(error, TwolevelError):
            print(f"{PROCESS_NAME}: {on_command_line(error.text)}", file=sys.stderr, flush=True)
        else:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
    # Not sys.exit: exit handlers of the server must not run here.
    os._exit(1)


def _be_command(
    server: int, pipes: _Pipes, birth: bytes, worker: str, address: str, token: str, *words: str
) -> NoReturn:
    from bridge.protocol.messages import ADDRESS_VARIABLE, TOKEN_VARIABLE, WORKER_VARIABLE

    try:
        os.setsid()  # its own process group, so that it can be killed with its children
        die_with_parent(server)
        pipes.step_aside(birth)
        environment = {ADDRESS_VARIABLE: address, TOKEN_VARIABLE: token, WORKER_VARIABLE: worker}
        os.execvpe(words[0], words, {**os.environ, **environment})
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr, flush=True)
    os._exit(_NOT_EXECUTED)


class _Server:
    def __init__(self, pipes: _Pipes) -> None:
        self._pipes = pipes
        self._context: Any = None
        # The main function of a worker, with a loaded simulator: every worker begins with a copy.
        self._serve: Callable[..., None] | None = None
        self._workers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._commanded = False
        self._is_alone = True  # the only thread; plug-ins may start others

    def obey(self, command: str, *words: str) -> None:
        if command == "warm":
            from bridge.workers.plain_worker import warm_up

            gc.disable()
            self._serve = warm_up(self._context, *words)
            gc.enable()
            gc.collect()
            self._is_alone = threading.active_count() == 1
            gc.freeze()  # so that garbage collections in the workers do not write to, and copy, every page
            self._pipes.report("ready")
        elif command == "trust":
            from bridge.protocol.host_messages import APPLICATION_ALPN
            from bridge.workers.credentials import pinned_context

            self._context = pinned_context(words[0], APPLICATION_ALPN)
        elif command in ("fork", "start"):
            self._commanded |= command == "start"
            self._launch(command, *words)
        elif command == "kill":
            self._kill(words[0])

    def _launch(self, command: str, worker: str, *words: str) -> None:
        server, birth = os.getpid(), json.encode(["born", worker])[:-1]
        try:
            pid = _fork() if self._is_alone else os.fork()
            if pid < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        except OSError as error:
            self._pipes.report("unborn", worker, str(error.strerror))
            return
        if pid == 0:
            if command == "fork":
                _be_worker(server, self._pipes, self._serve, birth, worker, *words)
            _be_command(server, self._pipes, birth, worker, *words)
        self._workers[worker], self._names[pid] = pid, worker

    def _kill(self, worker: str) -> None:
        if (pid := self._workers.get(worker)) is not None:  # not reaped yet, so that the number is still valid
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._kill_group(pid)

    @staticmethod
    def _kill_group(pid: int) -> None:
        # The children of a command; forked workers have no group of their own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def reap(self, *, wait: bool = False) -> None:
        """Report the workers that have ended, or wait for all of them."""
        while self._workers:
            if self._commanded:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG))
                if ended is None:
                    return
                self._kill_group(ended.si_pid)  # while the number is still reserved
            pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
            if pid == 0:
                return
            if (worker := self._names.pop(pid, None)) is not None:
                del self._workers[worker]
                if not wait:
                    self._pipes.report("gone", worker, how_ended(os.waitstatus_to_exitcode(status)))

    def end(self) -> None:
        """Kill and reap every worker."""
        for worker in list(self._workers):
            self._kill(worker)
        self.reap(wait=True)


def _serve(server: _Server, commands: int) -> None:
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    waiting = b""
    while True:
        ready, _, _ = select.select([commands, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            server.reap()
        if commands in ready:
            data = os.read(commands, 65536)
            if not data:
                return
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                server.obey(*json.decode(line))


def main() -> None:
    """Serve until the end of the commands."""
    keep_standard_streams()
    name_process(SERVER_NAME)
    # Even a stopped server must notice the end of its commands, and end the workers.
    die_with_parent(os.getppid(), signal.SIGCONT)
    pipes = _Pipes.taken()
    server = _Server(pipes)
    try:
        _serve(server, pipes.commands)
    except BrokenPipeError:
        pass  # the bridge is gone
    finally:
        server.end()
