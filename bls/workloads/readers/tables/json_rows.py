"""Tables in JSON: one object per line, or one list of objects, whose cells may be within other objects and lists.

Numbers stay as they are written, as texts. A column is a path: ``a.b`` is the key ``b`` of the object at ``a``, ``a[-1]`` the
last element of the list at ``a``. On the way through a list without an index, all elements count, and the cell is a list.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np

from bls.workloads.columns import KEPT, RejectedLine
from bls.workloads.workload import MALFORMED
from traces.base.errors import InputError, shown
from traces.base.given_file import parse_json

MOST_JSON_BYTES = 1 << 30  #: longest JSON text that is one value, and so in memory as a whole
_LOOKED_AT = 1000  # rows whose keys become the table's columns
_LONGEST_LINE = 1 << 26
_MOST_OPENED = 100  # objects and lists in a line that Arrow parses
_KINDS_OF = 100  # lines that show which columns have whole numbers
_SCALAR = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false"
_STEP = re.compile(r"([^.\[\]]+)|\[(-?[0-9]{1,6})\]")

_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str
)  # made once, as it takes as long as a row

Row = dict[str, Any]


def root_of(name: str) -> str:
    """The first key of a path."""
    match = _STEP.match(name)
    return match[1] or name if match else name


class JsonRows:
    """Objects with their row numbers; others are counted as rejects."""

    def __init__(self, rows: Iterable[tuple[int, Any]]) -> None:
        self.rejected: list[RejectedLine] = []
        self.n_rejected = 0
        checked = self._checked(rows)
        start = list(islice(checked, _LOOKED_AT))
        self.names = tuple(dict.fromkeys(chain.from_iterable(_paths(row) for _, row in start)))
        self._rows = chain(start, checked)

    def _checked(self, rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Row]]:
        for line, row in rows:
            if isinstance(row, dict):
                yield line, row
                continue
            self.n_rejected += 1
            if self.n_rejected <= KEPT:
                self.rejected.append(RejectedLine(MALFORMED, line, "object", f"{row}"[:100]))

    def several(self, n: int) -> Iterator[tuple[list[Row], list[int]]]:
        """The objects and their row numbers, up to ``n`` at a time."""
        while rows := list(islice(self._rows, n)):
            yield [row for _, row in rows], [line for line, _ in rows]


def _paths(row: Row, within: str = "") -> Iterator[str]:
    """The paths of the cells of a row, and of the objects in it."""
    for key, value in row.items():
        yield f"{within}{key}"
        if isinstance(value, dict):
            yield from _paths(value, f"{within}{key}.")


def blocks_of_lines(text: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines of about ``size`` bytes, after the number of the first."""
    first = 1
    while data := text.read(size):
        if not data.endswith(b"\n"):
            data += text.readline(_LONGEST_LINE)
        yield first, data
        first += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def records_of_lines(first: int, data: bytes, source: str) -> Iterator[tuple[int, Any]]:
    """The values of lines, with their numbers from ``first`` on; lines that are no JSON as texts."""
    for line, one in enumerate(io.BytesIO(data), first):
        if len(one) >= _LONGEST_LINE:
            raise InputError(f"{source}: line {line}: longer than {_LONGEST_LINE} bytes; allowed: one object per line")
        if not one.isspace():
            try:
                yield line, _DECODER.decode(one.decode().strip())
            except (ValueError, RecursionError):
                yield line, one.decode("utf-8", "replace").strip()


def plain_lines(data: bytes) -> int:
    """Number of lines if each starts and ends as an object and Arrow would find what Python's parser finds, else 0."""
    if not data.startswith(b"{") or not data.endswith((b"}", b"\n")) or len(data) >= _LONGEST_LINE:
        return 0
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    starts = ends[: len(ends) - data.endswith(b"\n")] + 1
    last = np.where(text[ends - 1] == ord("\r"), text[ends - 2], text[ends - 1])
    if (last != ord("}")).any() or (text[starts] != ord("{")).any():
        return 0
    # Arrow reads -0 as 0, takes Inf as a number, and has no limit to the depth of objects and lists.
    signs = np.flatnonzero(text[:-2] == ord("-"))
    if np.isin(text[signs + 2][text[signs + 1] == ord("0")], tuple(b" \t\r,}")).any() or b"Inf" in data:
        return 0
    opened = np.flatnonzero(text | 32 == ord("{"))  # also [
    if np.diff(np.searchsorted(opened, [0, *starts, len(text)])).max() > _MOST_OPENED:
        return 0
    try:
        data.decode()
    except UnicodeDecodeError:
        return 0
    return len(starts) + 1


def quoted(data: bytes, names: Iterable[str]) -> bytes:
    """Lines with the numbers and truth values of some keys as texts, as they are written."""
    keys = b"|".join(re.escape(json.dumps(name, ensure_ascii=False)).encode() for name in names)
    return re.sub(rb"((?:%s)\s*:\s*)(%s)(?=[\s,}])" % (keys, _SCALAR), rb'\1"\2"', data) if keys else data


def whole_numbers(data: bytes, names: list[str]) -> tuple[list[str], list[str]]:
    """The columns that have only whole numbers in the first lines, and those with other numbers or truth values."""
    rows = [json.loads(line) for line in islice(io.BytesIO(data), _KINDS_OF)]
    kinds = {name: {type(row[name]) for row in rows if row.get(name) is not None} for name in names}
    whole = [name for name in names if kinds[name] == {int}]
    return whole, [name for name in names if name not in whole and kinds[name] & {int, float, bool}]


def records_of_text(text: BinaryIO, source: str, key: str) -> Iterable[tuple[int, Any]]:
    """The values of the text's list, with their numbers. An object has it at the given key, or has only one list."""
    data = text.read(MOST_JSON_BYTES + 1)
    if len(data) > MOST_JSON_BYTES:
        raise InputError(
            f"{source}: more than {MOST_JSON_BYTES:,} bytes of JSON; allowed: up to as many, or one object per line"
        )
    found = parse_json(data, source, parse_int=str, parse_float=str, parse_constant=str)
    if isinstance(found, dict):
        lists = [name for name, value in found.items() if isinstance(value, list)]
        if key not in lists and (key or len(lists) != 1):
            what = f"no list at {shown(key)}" if key else f"{len(lists)} lists"
            raise InputError(
                f"{source}: {what} in the object; allowed with records: {', '.join(lists) or 'none, as it has no list'}"
            )
        found = found[key or lists[0]]
    if not isinstance(found, list):
        raise InputError(f"{source}: a {type(found).__name__}; allowed: a list of objects, or one object per line")
    return enumerate(found, 1)


def cells_of(rows: list[Row], name: str) -> list[Any]:
    """The cells of a column: None if missing, a text, an object, or a list of texts."""
    plain = [step[0] or int(step[1]) for step in _STEP.findall(name)]
    return [_cell(row[name]) if name in row else _at(row, plain) for row in rows]


def _at(value: Any, steps: list[Any]) -> Any:
    for place, step in enumerate(steps):
        if isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return None
            value = value[step]
        elif isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list):
            found = [_at(one, steps[place:]) for one in value]
            return list(
                chain.from_iterable(one if isinstance(one, list) else [] if one is None else [one] for one in found)
            )
        else:
            return None
    return _cell(value)


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, str | dict):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        # Of objects and lists within a list only their number matters.
        return [cell if isinstance(cell := _cell(one), str) else "…" for one in value if one is not None]
    return f"{value}"
