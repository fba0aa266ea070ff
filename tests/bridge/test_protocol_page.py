"""PROTOCOL.md, its generated parts and a program written from it alone; and strangers, which are refused and counted."""

import asyncio
import contextlib
import json
import logging
import os
import re
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import conversation
import msgspec
import pytest
from conversation import TOKEN, Pair
from faulty_runs import PATIENCE_S, PLATFORM, Once, assert_same, descendants, expected, workload
from pages import section, table

import bridge.protocol.session
from bridge.protocol import framing, messages
from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST, frame
from bridge.protocol.host_messages import HOST_MESSAGES
from bridge.protocol.messages import APPLICATION_MESSAGES, OVER, Cancel, Failed, Hello, Refused, decode, encode
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from bridge.protocol.scheduler_messages import SCHEDULER_MESSAGES
from bridge.protocol.session import NEED_DATA, Refusal, Session
from bridge.protocol.tables import (
    APPLICATION_TABLE,
    HOST_TABLE,
    JOB_TABLE,
    LUMPED,
    SCHEDULED_JOB_TABLE,
    SCHEDULER_TABLE,
    ConnectionState,
    JobEvent,
    Role,
    rows,
)
from bridge.protocol.vocabulary import Message, Vocabulary
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution, Scenario
from bridge.workers import listener
from bridge.workers.address import dial
from bridge.workers.connection import Connection, Streams
from bridge.workers.listener import LINES, STRANGERS, Listener
from traces.base.errors import InputError
from traces.base.time import MAX_NS

pytestmark = pytest.mark.whole

PROTOCOL = Path(bridge.protocol.session.__file__).parents[1] / "PROTOCOL.md"
MESSAGES = APPLICATION_MESSAGES.types
TOY = Path(__file__).parent / "toy_peer.py"
IMAGES = PROTOCOL.parents[1] / "docs" / "images"


#: The tables of states by what precedes them on the page, and words for a picture.
TABLES: dict[str, Any] = {
    "**The connection.**": APPLICATION_TABLE,
    "**A job**": JOB_TABLE,
    "## 14. Hosts": HOST_TABLE,
    "## 15. Schedulers": SCHEDULER_TABLE,
    "Each job:": SCHEDULED_JOB_TABLE,
}


@pytest.mark.parametrize("heading", TABLES)
def test_the_tables_of_states_are_those_of_the_code(heading: str) -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    shown = table(text[text.index("| state |", text.index(f"\n{heading}")) :])
    assert sorted((before, event, *rest) for before, events, *rest in shown for event in events.split("; ")) == sorted(
        (f"`{before.name}`", event, sender, f"`{after.name}`") for before, event, sender, after in rows(TABLES[heading])
    )


def test_the_page_says_how_messages_are_lumped_and_split() -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    for event, lumped in LUMPED.items():
        assert f"*{event}* is any of {', '.join(f'`{name}`' for name in lumped)}." in text
    assert f"what they contain: {', '.join(f'“{event.value}”' for event in JobEvent if ' ' in event.value)}." in text
    for _, event, sender, _ in rows(JOB_TABLE):
        assert APPLICATION_MESSAGES.senders[MESSAGES[event.replace(",", "").split()[0]]] == sender


@pytest.mark.parametrize(
    ("heading", "vocabulary"), [("## 14. Hosts", HOST_MESSAGES), ("## 15. Schedulers", SCHEDULER_MESSAGES)]
)
def test_the_tables_of_messages_are_those_of_the_code(heading: str, vocabulary: Vocabulary) -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    shown = table(text[text.index("| message |", text.index(f"\n{heading}")) :])
    assert [row[0].strip("`") for row in shown] == list(vocabulary.types)
    for (_, sender, fields), kind in zip(shown, vocabulary.types.values(), strict=True):
        assert sender.startswith(vocabulary.senders[kind])
        assert [field for field in kind.__struct_fields__ if f"`{field}`" not in fields] == []


@pytest.mark.parametrize("vocabulary", [APPLICATION_MESSAGES, HOST_MESSAGES, SCHEDULER_MESSAGES])
def test_every_message_with_maps_says_so(vocabulary: Vocabulary) -> None:
    """Or a key that occurs twice in one of them would be found by nobody."""
    for kind in vocabulary.types.values():
        info = msgspec.inspect.type_info(kind)
        assert kind.has_maps == bool(re.search(r"(Struct|Dict)Type\(", repr(info.fields)))  # type: ignore[attr-defined]


def test_the_limits_are_those_of_the_code() -> None:
    rows = table(section(PROTOCOL, "9. Limits"))
    known = {**vars(framing), **vars(messages), "MAX_NS": MAX_NS}
    assert [value for _, value, _ in rows] == [f"{known[name.strip('`')]:,}" for name, _, _ in rows]
    assert {name for name in vars(messages) if name.startswith("MAX_") or name.endswith("_PER_FRAME")} <= {
        name.strip("`") for name, _, _ in rows
    }


@pytest.mark.parametrize(("name", "states"), [("connection", APPLICATION_TABLE), ("job", JOB_TABLE)])
def test_a_picture_has_every_state_and_event(name: str, states: Any) -> None:
    """A box for each state and the words of each event; arrows are drawn by hand."""
    file = IMAGES / f"protocol-{name}.svg"
    assert f"](../docs/images/{file.name})" in PROTOCOL.read_text(encoding="utf-8")
    found, space = ElementTree.parse(file), "{http://www.w3.org/2000/svg}"
    texts = [each.text or "" for each in found.iter(f"{space}text")]
    boxes = {state.name for before, _, _, after in rows(states) for state in (before, after)}
    assert {text for text in texts if text.isupper()} == boxes
    assert len(found.findall(f".//{space}rect[@class='b']")) == len(boxes)
    words = {word.strip(",") for text in texts for word in text.split()}
    assert {word.strip(",") for _, event, _, _ in rows(states) for word in event.split()} <= words


def example_messages() -> Iterator[Message]:
    listing = re.search(r"```session\n(.*?)```", PROTOCOL.read_text(encoding="utf-8"), re.DOTALL)
    assert listing
    pack = {"float64": pack_float64, "int64": pack_int64, "int32": pack_int32}
    for line in listing[1].splitlines():
        speaker, _, text = line.partition("  ")
        fields = json.loads(text)
        for name, value in fields.items():
            if isinstance(value, str) and value.startswith("<"):
                kind, *numbers = value.strip("<>").split()
                fields[name] = pack[kind]([float(n) if kind == "float64" else int(n) for n in numbers])
        role = Role(speaker.partition(" → ")[0])
        yield decode(msgspec.msgpack.encode(fields), role)


def test_the_example_in_the_specification_is_a_session() -> None:
    pair = Pair(welcomed=False)
    messages = list(example_messages())
    for message in messages:
        if isinstance(message, Hello):
            assert message.token == TOKEN
        pair.say(message)
    assert pair.bridge.state is ConnectionState.CLOSING
    kinds = {type(message) for message in messages}
    assert set(MESSAGES.values()) - kinds == {Refused, Failed, Cancel}


def test_the_toy_says_why_it_was_refused(tmp_path: Path) -> None:
    session = Session(ApplicationBook, Role.BRIDGE, TOKEN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        listener.settimeout(60)
        stated = {"TWOLEVEL_ADDRESS": f"unix:{tmp_path / 's'}", "TWOLEVEL_TOKEN": "guessed", "TWOLEVEL_WORKER": "w3"}
        command = [sys.executable, str(TOY)]
        with subprocess.Popen(command, env={**os.environ, **stated}, stderr=subprocess.PIPE, text=True) as process:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(60)
                while (refusal := session.next_event()) is NEED_DATA:
                    session.receive_data(connection.recv(READ_AT_MOST))
                assert isinstance(refusal, Refusal)
                connection.sendall(refusal.farewell)
                assert process.communicate(timeout=60)[1] == "wrong token\n"
    assert process.returncode == 1
    assert len(TOY.read_text(encoding="utf-8").splitlines()) <= 80


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
    "future": (hello(version=14), "protocol version 14 is not supported; supported: 13", b"protocol version 14"),
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
        stated = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        await door.close()
        return stated, door.refused

    stated, refused = asyncio.run(visit(hello(), lambda hello: OVER, "unix"))
    assert (refused, caplog.text) == (0, "")
    assert b"the run is over" in stated
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
