"""The fork server by itself: commands in, reports out, and nobody left when the commands end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_runs import PATIENCE_S, await_end, await_that, descendants, strike

from bridge.workers.process_names import SERVER_NAME

pytestmark = pytest.mark.whole


class Server:
    """A fork server and both of its pipes."""

    def __init__(self) -> None:
        self.born: dict[str, int] = {}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from bridge.workers.forkserver import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def tell(self, *words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words) + "\n")

    def report(self) -> list[str]:
        """The next that is not of a birth; these are kept."""
        assert self.process.stdout is not None
        while True:
            words: list[str] = json.loads(self.process.stdout.readline())
            if words[0] != "born":
                return words
            self.born[words[1]] = int(words[2])

    def start(self, worker: str, *command: str) -> None:
        self.tell("start", worker, "unix:/nowhere", "token", *command)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    with server.process:
        yield server
    assert server.process.wait(PATIENCE_S) == 0
    assert descendants() == {}


def test_how_commands_end(server: Server) -> None:
    for command, how in (
        ("exit 0", "exited with status 0"),
        ("exit 7", "exited with status 7"),
        ("kill -9 $$", "was killed by SIGKILL"),
        ("kill -SEGV $$", "was killed by SIGSEGV"),
    ):
        server.start("w", "/bin/sh", "-c", command)
        assert server.report() == ["gone", "w", how]
    assert Path(f"/proc/{server.process.pid}/comm").read_text().strip() == SERVER_NAME


def waiting(server: Server) -> list[int]:
    """A command that waits for ever, and a child of its own that does."""
    server.start("w", "/bin/sh", "-c", "sleep 1000000 & sleep 1000000; true")
    return await_that(lambda: len(found := descendants(server.process.pid)) == 3 and list(found))


def test_the_end_of_a_command_ends_what_it_has_started(server: Server) -> None:
    pids = waiting(server)
    server.tell("kill", "w")
    server.tell("kill", "nobody")
    assert server.report() == ["gone", "w", "was killed by SIGKILL"]
    await_end(pids)
    pids = waiting(server)
    leader = next(pid for pid in pids if os.getpgid(pid) == pid)
    strike([leader], signal.SIGTERM)
    assert server.report() == ["gone", "w", "was killed by SIGTERM"]
    assert server.born == {"w": leader}
    await_end(pids)
    pids = waiting(server)  # at the end of all commands
    assert server.process.stdin is not None
    server.process.stdin.close()
    await_end(pids)


def test_workers_end_with_a_server_that_is_killed() -> None:
    server = Server()
    with server.process:
        server.start("w", "/bin/sleep", "1000000")
        pids = await_that(lambda: list(descendants(server.process.pid)))
        server.process.kill()
    await_end(pids)


def test_a_worker_whose_bridge_is_not_there_ends_quietly(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.tell("warm", "no-such-technique")  # which is for its orders to be answered with
    assert server.report() == ["ready"]
    server.tell("fork", "w", "unix:/nowhere", "token")
    assert server.report() == ["gone", "w", "exited with status 1"]
    assert capfd.readouterr().err == ""
