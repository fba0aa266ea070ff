"""CSV files of times: a column of times, ``iteration,time[,thread]``, or chunks, ``[thread,]first,iterations,begin,end``."""

import re
from collections import defaultdict
from typing import Final

from bridge.measure.readers.rows import CollectedRows, Slice
from traces.base.errors import InputError, listed, parse_real, parse_whole, shown
from traces.base.given_file import parsing

_COLUMN = re.compile(r"(iterations|iteration|thread|first|time|begin|end)(?:_(s|ms|us|ns))?")
_UNITS_NS: Final = {None: 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_TIMES: Final = ("time", "begin", "end")
_FORMS: Final = ({"time"}, {"iteration", "time"}, {"first", "iterations", "begin", "end"})  # and of all: thread
_MOST_NS: Final = 2**62


def reads(source: str, data: bytes, region: str) -> CollectedRows:
    """Return the loop of a CSV file; ``region`` is its name. Raises InputError with file, line and column."""
    rows, name = CollectedRows(source), region or "loop"
    lines = _lines(rows, data)
    if "begin" in lines[0]:
        columns = ("thread", "begin", "end", "first", "iterations")
        rows.add_slices(name, (Slice(*(line[column] for column in columns)) for line in lines))
        return rows
    lowest = min(line.get("iteration", 0) for line in lines)
    if lowest:
        rows.remarks[f"iterations begin at {lowest} in the file, and at 0 here"] = None
    rows.remarks["the begins of iterations are unknown: those of a thread follow each other in the file's order"] = None
    firsts = [line.get("iteration", k) - lowest for k, line in enumerate(lines)]
    now, slices = 0, []
    for places in rows.instances(name, [(first, 1) for first in firsts]):
        free: dict[int, int] = defaultdict(int)  # time that each thread has worked
        for place in places:
            one, begin = lines[place], now + free[lines[place]["thread"]]
            slices.append(Slice(one["thread"], begin, begin + one["time"], firsts[place]))
            free[one["thread"]] += one["time"]
        now += max(free.values())
    rows.add_slices(name, slices)
    return rows


def _lines(rows: CollectedRows, data: bytes) -> list[dict[str, int]]:
    # Values by the column's name without unit; times in ns.
    with parsing("CSV", rows.source):
        text = data.decode("utf-8-sig")
    lines = [(k, list(map(str.strip, line.split(",")))) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    names = ["time"]
    if lines[0][1][0][:1].isalpha():
        names = [name.lower() for name in lines.pop(0)[1]]
    columns = [match.groups() for match in map(_COLUMN.fullmatch, names) if match]
    kinds = [kind for kind, _ in columns]
    if len(columns) < len(names) or len({*kinds}) < len(kinds) or {*kinds} - {"thread"} not in _FORMS:
        forms = "time; iteration,time; or first,iterations,begin,end; each also with thread"
        raise InputError(f"{rows.source}: line 1: columns {listed(names)}; allowed: {forms}")
    units = [_UNITS_NS[unit] if kind in _TIMES else 0 for kind, unit in columns]
    if not lines:
        raise InputError(f"{rows.source}: no line of times follows the header")
    if any(kind in _TIMES and unit is None for kind, unit in columns):
        rows.remarks["times have no unit, and are taken as seconds"] = None
    if "thread" not in kinds:
        rows.remarks["no column thread: all iterations are those of one thread"] = None
    found = []
    for number, fields in lines:
        where = f"{rows.source}: line {number}"
        if len(fields) != len(kinds):
            raise InputError(f"{where}: {len(fields)} fields; the first line has {len(kinds)}")
        values = zip(kinds, fields, units, strict=True)
        found.append({"thread": 0} | {kind: _value(f"{where}: {kind}", kind, one, unit) for kind, one, unit in values})
        if found[-1].get("end", 0) < found[-1].get("begin", 0):
            raise InputError(f"{where}: the clock goes back: the end is before the begin")
    return found


def _value(where: str, name: str, text: str, unit_ns: int) -> int:
    lowest = 1 if name == "iterations" else 0
    try:
        number = round(parse_real(text) * unit_ns) if unit_ns else parse_whole(text)
    except (ValueError, OverflowError):
        number = -1
    if not lowest <= number <= _MOST_NS:
        what = "a time" if unit_ns else "a whole number"
        raise InputError(f"{where}: {shown(text)}; allowed: {what}, {lowest} or more")
    return number
