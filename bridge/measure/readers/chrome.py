"""Traces in Chrome's JSON (Trace Event Format), as many tools write them and Perfetto exports them.

Executions of the region with the given name are the iterations of a loop. An event's argument ``iteration``, ``task`` or
``first`` is its first iteration, and ``iterations`` their number.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from bridge.measure.readers.rows import CollectedRows, Slice, chosen_region
from traces.base.errors import InputError, shown
from traces.base.given_file import parse_json, parsing

_NUMBERS: Final = ("iteration", "task", "first")  # names of the number of an iteration


def reads(source: str, data: bytes, region: str) -> CollectedRows:
    """Return the loop whose iterations are executions of a region. Raises InputError if the trace is not valid, or has no such
    region; the message lists those that are there."""
    with parsing("JSON", source):
        text = data.decode("utf-8-sig")
    content = parse_json(text, source, parse_float=Decimal)
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list):
        raise InputError(f"{source}: no list of events; allowed: a list, or an object with the list traceEvents")
    found = list(_slices(source, events))
    name = chosen_region(source, (name for name, _ in found), region)
    rows = CollectedRows(source)
    rows.add_slices(name, (one for region, one in found if region == name))
    return rows


def first_iteration(values: Mapping[str, Any]) -> int:
    """Return the number of an iteration in the values of an event; -1: there is none."""
    first = next((values[key] for key in _NUMBERS if key in values), -1)
    return first if isinstance(first, int) and first >= 0 else -1


def _slices(source: str, events: list[Any]) -> Iterator[tuple[str, Slice]]:
    # The name of each execution of a region, and when it was.
    opened = defaultdict[str, list[tuple[str, int, dict[str, Any]]]](list)
    last: dict[str, int] = {}
    for k, event in enumerate(events):
        where = f"{source}: event {k}"
        if not isinstance(event, dict):
            raise InputError(f"{where}: {shown(event)}; allowed: an object")
        phase, name, args = event.get("ph"), str(event.get("name", "")), event.get("args")
        if phase not in ("X", "B", "E"):
            continue
        args = args if isinstance(args, dict) else {}
        thread = "/".join(str(event.get(key, "")).rjust(12) for key in ("pid", "tid"))  # numbers are sorted as such
        now = _ns(where, event, "ts")
        end = now + _ns(where, event, "dur") if phase == "X" else now
        if end < now or (phase != "X" and now < last.get(thread, now)):
            raise InputError(f"{where}: the clock goes back")
        if phase != "X":
            last[thread] = now
        if phase == "B":
            opened[thread].append((name, now, args))
            continue
        if phase == "E":
            if not opened[thread]:
                raise InputError(f"{where}: an end (E) without its begin (B)")
            name, now, before = opened[thread].pop()
            args = before | args
        size = args.get("iterations", 1)
        yield name, Slice(thread, now, end, first_iteration(args), size if isinstance(size, int) and size > 0 else 1)
    if left := [name for stack in opened.values() for name, *_ in stack]:
        raise InputError(f"{source}: {shown(left[0])} has a begin (B) without an end (E); is the file truncated?")


def _ns(where: str, event: dict[str, Any], key: str) -> int:
    value: Any = event.get(key)
    if type(value) not in (int, Decimal) or abs(value) > 10**15:
        raise InputError(f"{where}: {key} is {shown(value)}; allowed: a number of microseconds")
    ns: int = round(value * 1000)
    return ns
