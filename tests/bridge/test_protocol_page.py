"""PROTOCOL.md: its generated parts, its example, and a program that was written from it alone."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from conversation import TOKEN, Pair
from pages import section, table

import bridge.protocol.session
from bridge.protocol import framing, messages
from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.framing import READ_AT_MOST
from bridge.protocol.host_messages import HOST_MESSAGES
from bridge.protocol.messages import APPLICATION_MESSAGES, Cancel, Failed, Hello, Refused, decode
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
        told = {"TWOLEVEL_ADDRESS": f"unix:{tmp_path / 's'}", "TWOLEVEL_TOKEN": "guessed", "TWOLEVEL_WORKER": "w3"}
        command = [sys.executable, str(TOY)]
        with subprocess.Popen(command, env={**os.environ, **told}, stderr=subprocess.PIPE, text=True) as process:
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
