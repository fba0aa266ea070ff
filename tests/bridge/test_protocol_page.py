"""PROTOCOL.md: its generated parts, its example, and a program that was written from it alone."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from conversation import JOB, TOKEN, Pair, changed, edges, graph, lengths, start

import bridge.protocol.session
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.messages import (
    MESSAGES,
    Cancel,
    Failed,
    Hello,
    Message,
    Outcome,
    Quit,
    Refused,
    Role,
    Welcome,
    decode,
)
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from bridge.protocol.session import NEED_DATA, ConnectionClosed, Refusal, Session
from bridge.protocol.tables import CONNECTION_TABLE, JOB_TABLE, ConnectionState
from tools import protocol_picture
from tools.protocol_drawing import drawn

PROTOCOL = Path(bridge.protocol.session.__file__).parents[1] / "PROTOCOL.md"
TOY = Path(__file__).parent / "toy_peer.py"


def test_the_pictures_and_tables_in_the_specification_are_up_to_date() -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    assert protocol_picture.PROTOCOL == PROTOCOL
    assert protocol_picture.updated(text) == text, "run: python -m tools.protocol_picture"
    for before, event in [*CONNECTION_TABLE, *JOB_TABLE]:
        assert f"| `{before.name}` | {event.value} |" in text
    for file, picture in protocol_picture.pictures().items():
        assert file.read_text(encoding="utf-8") == picture, "run: python -m tools.protocol_picture"
        assert f"](../docs/images/{file.name})" in text


def test_a_picture_has_every_state_and_event_and_its_arrows_lead_where_the_table_says() -> None:
    class Named(StrEnum):
        A = "a"
        B = "b"
        C = "c"

    class Event(StrEnum):
        GO = "go & on"
        BACK = "back"
        STAY = "stay"

    table = {(Named.A, Event.GO): Named.C, (Named.B, Event.GO): Named.C, (Named.A, Event.BACK): Named.B}
    table |= {(Named.C, Event.BACK): Named.A, (Named.B, Event.STAY): Named.B}
    found = ElementTree.fromstring(drawn(table, "ABC"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [each.text for each in found.iter(f"{space}text")]
    # To C two of them go by one lane.
    assert sorted(texts) == sorted(["A", "B", "C", "go & on", "back", "back", "↻ stay"])
    boxes = [(float(box.attrib["y"]), float(box.attrib["height"])) for box in found.findall(f"{space}rect[@class='b']")]
    paths = [each.attrib["d"] for each in found.findall(f"{space}path")]
    assert len(paths) == 1 + 1 + 2 + 1  # where it begins, A to B, the lane of two, C to A

    def inside(box: int, y: str) -> bool:
        top, height = boxes[box]
        return top < float(y) < top + height

    lanes = [re.fullmatch(r"M\d+ (\d+)H\d+(?:V(\d+)H\d+)?", path) for path in paths]
    ends = [(one[1], one[2]) for one in lanes if one]
    assert sum(inside(0, begin) and end is not None and inside(2, end) for begin, end in ends) == 1
    assert sum(inside(1, begin) and end is None for begin, end in ends) == 1
    assert sum(inside(2, begin) and end is not None and inside(0, end) for begin, end in ends) == 1
    with pytest.raises(AssertionError, match="the order has every state"):
        drawn(table, "AB")


def test_a_specification_without_markers_is_noticed() -> None:
    with pytest.raises(ValueError, match="markers of 'states'"):
        protocol_picture.updated("nothing here")


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


Toy = tuple[Session, socket.socket, "subprocess.Popen[str]"]


@contextmanager
def toy(kind: str, folder: Path, token: str = TOKEN) -> Iterator[Toy]:
    """The toy, started as a process and connected."""
    if kind == "unix":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / "s"))
        address = f"unix:{folder / 's'}"
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"tcp:127.0.0.1:{listener.getsockname()[1]}"
    told = {"TWOLEVEL_ADDRESS": address, "TWOLEVEL_TOKEN": token, "TWOLEVEL_WORKER": "w3"}
    with listener:
        listener.listen()
        listener.settimeout(60)
        with subprocess.Popen(
            [sys.executable, str(TOY)], env={**os.environ, **told}, stderr=subprocess.PIPE, text=True
        ) as process:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(60)
                yield Session(Role.BRIDGE, TOKEN), connection, process
            assert process.wait(60) is not None


def hear(session: Session, connection: socket.socket) -> Any:
    while (event := session.next_event()) is NEED_DATA:
        data = connection.recv(READ_AT_MOST)
        if data:
            session.receive_data(data)
        else:
            session.receive_eof()
    return event


def test_the_toy_says_what_it_cannot_do(fields: dict[str, Any], tmp_path: Path) -> None:
    with toy("unix", tmp_path) as (session, connection, _):
        hear(session, connection)
        connection.sendall(session.send(Welcome(version=11, run="r")))
        connection.sendall(session.send(start(**fields)) + session.send(lengths()))
        reason = "the toy only runs straight: no --speeds, no --network"
        assert hear(session, connection) == Failed(job=JOB, reason=reason, blame="user")
        connection.sendall(session.send(Quit()))
        assert hear(session, connection) == ConnectionClosed()


def test_the_toy_hears_a_graph_out_before_it_says_that_it_has_none(tmp_path: Path) -> None:
    with toy("unix", tmp_path) as (session, connection, _):
        hear(session, connection)
        connection.sendall(session.send(Welcome(version=11, run="r")))
        said = (graph(), lengths(), edges(0, 1), start(job=8), changed(lengths(), job=8))
        connection.sendall(b"".join(session.send(message) for message in said))
        other = hear(session, connection)
        assert isinstance(other, Outcome)
        assert other.job == 8
        connection.sendall(session.send(edges(1, 1)))
        reason = "the toy only runs straight: no --speeds, no --network"
        assert hear(session, connection) == Failed(job=JOB, reason=reason, blame="user")
        connection.sendall(session.send(Quit()))
        assert hear(session, connection) == ConnectionClosed()


def test_the_toy_says_why_it_was_refused(tmp_path: Path) -> None:
    with toy("unix", tmp_path, token="guessed") as (session, connection, process):
        refusal = hear(session, connection)
        assert isinstance(refusal, Refusal)
        connection.sendall(refusal.farewell)
        assert process.stderr is not None
        assert process.stderr.read() == "wrong token\n"
        assert process.wait(60) == 1


def test_the_toy_is_eighty_lines() -> None:
    assert len(TOY.read_text(encoding="utf-8").splitlines()) <= 80
