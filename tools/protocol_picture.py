"""Write the generated parts of ``bridge/PROTOCOL.md``: the state tables and the limits; and the pictures that it shows.

    python -m tools.protocol_picture            # rewrite the parts, and the pictures
    python -m tools.protocol_picture --check    # exit 1 if one of them is out of date

The tables in :mod:`bridge.protocol.tables` and the constants are the only source.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

from bridge.protocol import framing, messages
from bridge.protocol.tables import CONNECTION_EVENTS, CONNECTION_TABLE, JOB_TABLE, ConnectionEvent, JobEvent
from tools.plain_tool import only
from tools.protocol_drawing import drawn
from traces.base.time import MAX_NS

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = ROOT / "bridge" / "PROTOCOL.md"
IMAGES = ROOT / "docs" / "images"

#: The pictures: what they show, and the states from top to bottom.
PICTURES = {
    "protocol-connection.svg": (
        "States of a connection",
        CONNECTION_TABLE,
        ("AWAIT_HELLO", "AWAIT_WELCOME", "READY", "CLOSING", "CLOSED"),
    ),
    "protocol-job.svg": (
        "States of a job",
        JOB_TABLE,
        ("ABSENT", "LOADING", "LINKING", "RUNNING", "SUSPENDED", "REPORTING", "SENDING", "CANCELLED"),
    ),
}

LIMITS = (
    ("MAX_FRAME_BEFORE_HELLO", framing.MAX_FRAME_BEFORE_HELLO, "bytes of a payload until the `welcome`"),
    ("MAX_FRAME", framing.MAX_FRAME, "bytes of a payload afterwards"),
    ("MAX_CORES", messages.MAX_CORES, "cores of one job"),
    ("MAX_TASKS", messages.MAX_TASKS, "tasks of one job"),
    ("MAX_EDGES", messages.MAX_EDGES, "edges of one job"),
    ("MAX_CHANGES", messages.MAX_CHANGES, "changes in one message"),
    ("MAX_PARTS", messages.MAX_PARTS, "parts of one job"),
    ("MAX_HOSTS", messages.MAX_HOSTS, "hosts of the machine"),
    ("MAX_PROMISES", messages.MAX_PROMISES, "`promise`s for one `start`, and `suspended`s before `until_ns`"),
    ("MAX_WISHES", messages.MAX_WISHES, "`wish`es for one `start`"),
    ("MAX_HINTS", messages.MAX_HINTS, "hints in one message"),
    ("MAX_HINTED", messages.MAX_HINTED, "cores that all of them name"),
    ("MAX_RESIZES", messages.MAX_RESIZES, "resizes in one message"),
    ("MAX_RESIZED", messages.MAX_RESIZED, "places that all of them name"),
    ("MAX_SCALES", messages.MAX_SCALES, "scales in one message"),
    ("MAX_SCALED", messages.MAX_SCALED, "places that all of them name"),
    ("LENGTHS_PER_FRAME", messages.LENGTHS_PER_FRAME, "tasks in one `lengths`"),
    ("EDGES_PER_FRAME", messages.EDGES_PER_FRAME, "edges in one `edges`"),
    ("RECORDS_PER_FRAME", messages.RECORDS_PER_FRAME, "tasks in one `records`, transfers in one `transfers`"),
    ("MAX_NS", MAX_NS, "latest instant and longest duration, ns (146 years)"),
)


def _messages_of(event: StrEnum) -> list[str]:
    if isinstance(event, ConnectionEvent):
        return [name for name, its in CONNECTION_EVENTS.items() if its is event]
    # A job event is a message's type, or begins with it.
    return [event.value.replace(",", "").split()[0]]


def _sender(event: StrEnum) -> str:
    names = _messages_of(event)
    if not names:
        return "either"
    applications = {messages.MESSAGES[name] in get_args(messages.FromApplication) for name in names}
    (application,) = applications
    return "application" if application else "bridge"


def _table(table: Mapping[tuple[Any, Any], StrEnum]) -> list[str]:
    lines = ["| state | event | sent by | new state |", "|---|---|---|---|"]
    lines += [
        f"| `{before.name}` | {event.value} | {_sender(event)} | `{after.name}` |"
        for (before, event), after in table.items()
    ]
    return lines


def _picture(name: str) -> str:
    return f"![{PICTURES[name][0]}, and what leads from one to another](../docs/images/{name})"


def pictures() -> dict[Path, str]:
    """The pictures, as SVG, by file."""
    return {IMAGES / name: drawn(table, order) for name, (_, table, order) in PICTURES.items()}


def states() -> str:
    """The two tables, each with its picture."""
    lump = [
        f"*{event.value}* is any of {', '.join(f'`{name}`' for name in _messages_of(event))}."
        for event in (ConnectionEvent.ORDER, ConnectionEvent.ANSWER)
    ]
    split = [f"“{event.value}”" for event in JobEvent if " " in event.value]
    lines = [
        "**The connection.** " + " ".join(lump),
        "",
        _picture("protocol-connection.svg"),
        "",
        *_table(CONNECTION_TABLE),
        "",
        f"**A job**, on a connection that is `READY`. Some messages are split by what they contain: {', '.join(split)}.",
        "",
        _picture("protocol-job.svg"),
        "",
        *_table(JOB_TABLE),
    ]
    return "\n".join(lines)


def limits() -> str:
    """The table of limits."""
    lines = ["| name | at most | of what |", "|---|---|---|"]
    lines += [f"| `{name}` | {value:,} | {what} |" for name, value, what in LIMITS]
    return "\n".join(lines)


def updated(text: str) -> str:
    """``text`` with what lies between the markers made anew.

    Raises
    ------
    ValueError
        If a pair of markers is missing.
    """
    for name, make in (("states", states), ("limits", limits)):
        begin, end = f"<!-- generated: {name} -->\n", f"\n<!-- end of {name} -->"
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"the markers of {name!r} are missing")
        text = before + begin + make() + end + after
    return text


def main(arguments: list[str]) -> int:
    """Rewrite the files, or with ``--check`` say whether they are up to date."""
    made = {PROTOCOL: updated(PROTOCOL.read_text(encoding="utf-8")), **pictures()}
    if arguments == ["--check"]:
        return int(any(not file.exists() or file.read_text(encoding="utf-8") != text for file, text in made.items()))
    for file, text in made.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    only(__doc__, many=True)
    sys.exit(main(sys.argv[1:]))
