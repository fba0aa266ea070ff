"""The fork server: a small process that has loaded the application simulator once and forks it for every worker.

It reads one command a line and writes one report a line; the bridge is at the other end of both pipes.

======================================  =============================================================
``warm TECHNIQUE``                      load what a run with this technique needs; answered by ``ready``
``fork WORKER ADDRESS TOKEN``           fork a worker; answered by ``born WORKER PID``
``kill WORKER``                         kill it, if it is still there
end of the commands                     kill every worker and exit: the bridge is gone
======================================  =============================================================

When a worker has ended, ``gone WORKER`` is reported. Words are quoted as in JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import sys

from als.application import Application
from als.tasks import drawn_lengths
from als.techniques import technique
from bridge.worker import PROCESS_NAME, die_with_parent, name_process, serve
from traces.errors import TwolevelError

__all__ = ["main"]

#: What ``ps`` shows for the server itself.
SERVER_NAME = "twolevel-fork"


def _warm(name: str) -> None:
    # Once through everything that an order needs, so that no worker loads it again.
    try:
        application = Application(drawn_lengths(0, 0, 8, 1.0, 0.1, 8.0), [1.0] * 4, technique(name))
    except TwolevelError:
        return  # each order will be answered with the reason
    application.advance(1)
    application.set_speed(2.0)
    application.advance()


def _be_worker(address: str, token: str, worker: str, server: int) -> None:
    code = 1
    try:
        die_with_parent(server)
        name_process(PROCESS_NAME)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        asyncio.run(serve(address, token, worker))
        code = 0
    except OSError:
        pass  # the bridge is gone
    except TwolevelError as error:
        print(f"{PROCESS_NAME}: {error}", file=sys.stderr, flush=True)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        # Not sys.exit: what the server has registered for its own exit is not ours to run.
        os._exit(code)


def _report(*words: object) -> None:
    os.write(1, (json.dumps(words) + "\n").encode())


class _Server:
    def __init__(self) -> None:
        self.workers: dict[str, int] = {}

    def obey(self, command: str, *words: str) -> None:
        if command == "warm":
            _warm(*words)
            gc.collect()
            gc.freeze()  # so that collections in the workers do not touch, and copy, every page
            _report("ready")
        elif command == "fork":
            worker, address, token = words
            server = os.getpid()
            pid = os.fork()
            if pid == 0:
                _be_worker(address, token, worker, server)
            self.workers[worker] = pid
            _report("born", worker, pid)
        elif command == "kill" and words[0] in self.workers:
            os.kill(self.workers[words[0]], signal.SIGKILL)

    def reap(self) -> None:
        while self.workers:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            for worker in [name for name, of in self.workers.items() if of == pid]:
                del self.workers[worker]
                _report("gone", worker)

    def end(self) -> None:
        for pid in self.workers.values():
            os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Serve until the commands end."""
    name_process(SERVER_NAME)
    # An interrupt at the terminal reaches the whole process group; the bridge decides what becomes of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    server = _Server()
    waiting = b""
    try:
        while True:
            ready, _, _ = select.select([0, woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
                server.reap()
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    return
                *lines, waiting = (waiting + data).split(b"\n")
                for line in lines:
                    server.obey(*json.loads(line))
    except BrokenPipeError:
        return  # the bridge is gone
    finally:
        server.end()


if __name__ == "__main__":
    main()
