"""Who should not be there: refused, logged, counted, and the run goes on to the same result."""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import conversation
import pytest
from conversation import TOKEN
from faulty_runs import PATIENCE_S, PLATFORM, Once, assert_same, descendants, expected, workload

from bridge.protocol.framing import frame
from bridge.protocol.messages import OVER, Hello, encode
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution, Scenario
from bridge.workers import listener
from bridge.workers.address import dial
from bridge.workers.connection import Connection, Streams
from bridge.workers.listener import LINES, STRANGERS, Listener
from traces.base.errors import InputError

pytestmark = pytest.mark.whole


def hello(**fields: object) -> bytes:
    return frame(encode(conversation.hello(**{"worker": "nobody", "tasks": "recipe", **fields})))


NOBODY = "no worker 'nobody' is expected"

STRANGE = {
    "silence": (b"", "it ended before a hello", b""),
    "garbage": (b"\x00\x00\x00\x05\xc1\xc1\xc1\xc1\xc1", "not a message", b""),
    "http": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "a frame of 1195725856 bytes; allowed: 1 to 4096", b""),
    "oversized": (struct.pack(">I", 4097), "a frame of 4097 bytes; allowed: 1 to 4096", b""),
    "endless": (struct.pack(">I", 4096) + bytes(9000), "are waiting; allowed: 4100", b""),
    "wrong token": (hello(token="guess"), "wrong token (to blame: the stranger)", b"wrong token"),
    "no token": (hello(token=""), "wrong token (to blame: the stranger)", b"wrong token"),
    "future": (hello(version=12), "protocol version 12 is not supported; supported: 11", b"protocol version 12"),
    "unknown": (hello(), NOBODY, NOBODY.encode()),
    "a name that is taken": (hello(worker="w0"), "no worker 'w0' is expected", b"no worker 'w0' is expected"),
}


def test_strangers_are_refused(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """They come while a run lasts, each with something to say."""
    addresses: list[str] = []
    listen = Listener.open

    async def listened(self: Listener, kind: str) -> str:
        addresses.append(await listen(self, kind))
        return addresses[-1]

    monkeypatch.setattr(Listener, "open", listened)
    monkeypatch.setattr(secrets, "token_hex", lambda count: TOKEN)
    guests = {name: socket.socket(socket.AF_UNIX) for name in STRANGE}

    def come() -> None:
        for name, guest in guests.items():
            guest.connect(addresses[-1].removeprefix("unix:"))
            guest.sendall(STRANGE[name][0])

    scenario = ReadyScenario.of(workload(), PLATFORM, Scenario.flat(als="ss", variation=0.25, tasks_per_core=3, seed=3))
    # One worker, so that it is known to have said hello when they come.
    with caplog.at_level(logging.WARNING, "twolevel.bridge"):
        result = run(scenario, execution=Execution("pool", 1), watch=Once(3, come))
    assert_same(result, expected())
    assert result.coupling["refused"] == len(STRANGE)
    assert result.coupling["retries"] == 0
    assert TOKEN not in caplog.text
    for name, guest in guests.items():
        _, logged, answer = STRANGE[name]
        heard = b""
        with guest, contextlib.suppress(ConnectionResetError):  # it was thrown out with something left to say
            while part := guest.recv(4096):
                heard += part
        assert logged in caplog.text
        assert answer in heard
        assert bool(answer) == bool(heard)
    assert descendants() == {}


async def nobody(hello: Hello, connection: Connection) -> None:
    raise AssertionError("nobody was let in")


async def connect(address: str) -> Streams:
    return await asyncio.open_connection(sock=dial(address))


def awaiting(kind: str, words: bytes, *, ours: bool) -> tuple[int, int]:
    """Somebody comes, then a crowd; how many were refused, and how many of these while the first was still there."""
    awaited: dict[int, str] = {}

    async def visited() -> tuple[int, int]:
        door = Listener(TOKEN, lambda hello: "a reason", nobody, awaited)
        address = await door.open(kind)
        awaited.update({os.getpid(): "w5"} if ours else {})
        ends = [await connect(address)]
        await settled(lambda: len(door._connections) == 1)
        awaited.clear()
        awaited[2**31 - 1] = "w6"  # somebody is awaited, but it is not who comes
        ends += [await connect(address) for _ in range(STRANGERS)]
        await settled(lambda: len(door._connections) + door.refused == 1 + STRANGERS)
        await settled(lambda: ours or door.refused == 1)
        there = door.refused
        ends[0][1].write(words)
        ends[0][1].close()
        await settled(lambda: len(door._connections) <= STRANGERS)
        refused = door.refused
        for _, writer in ends[1:]:
            writer.close()
        await door.close()
        return refused, there

    return asyncio.run(visited())


async def settled(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0)


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_one_of_ours_is_no_stranger_in_a_crowd_or_when_it_is_killed(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert awaiting(kind, b"", ours=False) == (1, 1)
    assert awaiting(kind, b"", ours=True) == (0, 0)
    assert awaiting(kind, hello()[:20], ours=True)[0] == 0
    assert "of w5" not in caplog.text
    assert awaiting(kind, b"GET / HTTP", ours=True)[0] == 1
    assert "application process w5 was refused: the stranger broke the protocol: a frame of" in caplog.text


def test_of_many_strangers_there_is_no_line_each(caplog: pytest.LogCaptureFixture) -> None:
    async def visit(coming: int) -> None:
        door = Listener(TOKEN, lambda hello: "a reason", nobody)
        address = await door.open("unix")
        for count in range(1, coming + 1):
            _, writer = await connect(address)
            writer.close()
            await settled(lambda: door.refused == count)  # noqa: B023  called before the next one comes
        await door.close()

    asyncio.run(visit(LINES))
    assert len(caplog.messages) == LINES
    caplog.clear()
    asyncio.run(visit(LINES + 9))
    more = ["further connections are refused without a message each", f"{LINES + 9} connections were refused in all"]
    assert caplog.messages[LINES:] == more


def test_strangers_that_are_silent_or_find_a_fault_and_processes_that_come_late(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(hello: Hello) -> str | None:
        raise ZeroDivisionError("a bug")

    async def visit(words: bytes, judge: Callable[[Hello], str | None], kind: str) -> tuple[bytes, int]:
        door = Listener(TOKEN, judge, nobody)
        reader, writer = await connect(await door.open(kind))
        writer.write(words)
        told = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        await door.close()
        return told, door.refused

    told, refused = asyncio.run(visit(hello(), lambda hello: OVER, "unix"))
    assert (refused, caplog.text) == (0, "")
    assert b"the run is over" in told
    assert asyncio.run(visit(hello(), broken, "tcp")) == (b"", 1)
    assert "ZeroDivisionError: 'a bug'" in caplog.text
    monkeypatch.setattr(listener, "HELLO_S", 0.0)
    assert asyncio.run(visit(b"", lambda hello: None, "unix")) == (b"", 1)
    assert "a connection was refused: no hello within 0 s" in caplog.text


def test_addresses_that_are_none() -> None:
    for place in ("", "unix:", "tcp:", "tcp:here", "tcp::1", "tcp:here:99999", "tcp:here:²", "tcp:here:" + "9" * 5000):
        with pytest.raises(InputError, match=r"^bridge address .*; allowed: unix:/path or tcp:host:port$"):
            dial(place)


def test_a_folder_with_too_long_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    scenario = ReadyScenario.of(workload(), PLATFORM, Scenario.flat(als="ss"))
    with pytest.raises(InputError, match=r"too long for a Unix socket; set TMPDIR to a shorter path"):
        run(scenario, execution=Execution("pool", 2))
    assert list(deep.iterdir()) == []
    assert_same(run(scenario, execution=Execution("pool", 2, socket="tcp")), run(scenario))
