"""Columns of a workload: names, defaults and storage; and the rejected lines of a log.

A column is a read-only array of int64. A column with the same number in all rows keeps one number only (a broadcast array).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from traces.base.columns import read_only
from traces.base.errors import InputError, shown
from traces.compiled import Array

NAME_LENGTH = 100  #: the longest name of a further column
COLUMNS = ("job_id", "submit_ns", "run_ns", "cores", "estimate_ns", "line")  #: the columns that every workload has

_OPTIONAL = (
    "user", "group", "queue", "partition", "qos", "memory_kb", "preceding", "think_ns", "cancel_ns", "wait_ns", "status",
    "preset", "application", "begin_ns",
)  # fmt: skip

#: Optional columns of a workload, and their default value.
OPTIONAL: Mapping[str, int] = MappingProxyType(dict.fromkeys(_OPTIONAL, -1) | {"think_ns": 0, "preset": 0})
BEGIN = "begin_ns"  #: the further field of an SWF file that holds a column of this name, in whole ns

#: SWF's status of failed and of cancelled jobs: those that may have been cancelled before their start.
FAILED, CANCELLED = 0, 5


def kept_column(values: Any, n: int, optional: bool, where: str) -> Array:
    """``values`` as a read-only column; if all rows have the same number, one number only."""
    given = np.asarray(values, dtype=np.int64)
    if optional and given.ndim == 0:
        return np.broadcast_to(np.int64(given), (n,))
    if given.shape != (n,):
        raise InputError(f"{where} has shape {given.shape}; allowed: ({n},)")
    if optional and n:
        lowest, highest = ends(given)
        if lowest == highest:
            return np.broadcast_to(np.int64(lowest), (n,))
    if given.base is None and not given.flags.writeable and given.flags.c_contiguous:
        return given
    return read_only(np.array(given))


def _is_constant(column: Array) -> bool:
    # One number for all rows: the stride is 0.
    return column.ndim == 0 or (len(column) > 0 and column.strides == (0,))


def packed(column: Array) -> Array:
    """One number of shape () if the column is one number for all rows; else the column itself."""
    return np.array(column.flat[0]) if _is_constant(column) else column


def taken_rows(column: Any, rows: Array) -> Array:
    """The column at some rows; one number for all rows stays one number, of shape ()."""
    values = np.asarray(column)
    return packed(values) if _is_constant(values) else np.asarray(values[rows])


def ends(column: Array) -> tuple[int, int]:
    """The smallest and the largest number of a column with at least one row."""
    if _is_constant(column):
        return int(column[0]), int(column[0])
    return int(column.min()), int(column.max())


def ascends(column: Array) -> bool:
    """Whether the numbers are strictly ascending."""
    return bool(np.all(column[1:] > column[:-1]))


def further_column(name: object, column: Any, n: int, source: str) -> Array:
    """A further column of a log, with its name and type checked; see :func:`kept_column`."""
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= NAME_LENGTH:
        allowed = f"1 to {NAME_LENGTH} printable characters"
        raise InputError(f"{source}: a further column is called {shown(name)}; allowed: {allowed}")
    values = np.asarray(column)
    if values.dtype.kind not in "iu" or not np.can_cast(values.dtype, np.int64):
        raise InputError(f"{source}: column {name} is of type {values.dtype}; allowed: int64")
    return kept_column(values, n, True, f"{source}: column {name}")


def kept_names(names: Mapping[int, str], source: str) -> Mapping[int, str]:
    """The names of numbers, checked and read-only."""
    if isinstance(names, MappingProxyType):
        return names  # read-only already, in another workload
    for number, name in names.items():
        if not isinstance(number, int) or number < 0 or not isinstance(name, str) or not name:
            raise InputError(f"{source}: names: {shown(number)}: {shown(name)}; allowed: a text for a number from 0")
    return MappingProxyType(dict(names))


def distinct(values: Array) -> tuple[Array, Array]:
    """``np.unique(values, return_inverse=True)``, but by counting if the values are close together, as users' numbers are."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest > 4 * len(values):
        numbers, place = np.unique(values, return_inverse=True)
        return numbers, place
    above = values - lowest
    there = np.zeros(highest - lowest + 1, np.int64)
    there[above] = 1
    numbers = np.flatnonzero(there) + lowest
    return numbers, (np.cumsum(there) - 1)[above]


KEPT = 10  #: number of rejected lines of each reason that are kept with their error


class RejectedLine(NamedTuple):
    """A rejected line."""

    reason: str  # reason under which it is counted
    line: int  # its number in the file, from 1
    field: str = ""  # the faulty field, column or key, as ``field 5``; empty for the whole line
    word: str = ""  # contents of the field; empty if it is missing
    source: str = ""  # the file, if several logs were merged; else empty

    @property
    def place(self) -> str:
        """Place and error, as ``line 7: field 5, '4x'``."""
        of = f"{self.source} " if self.source else ""
        what = f"{self.field}, {shown(self.word)}" if self.word else self.field and f"{self.field} is missing"
        return f"{of}line {self.line}" + (f": {what}" if what else "")


def first_rejects(rejected: Iterable[RejectedLine]) -> tuple[RejectedLine, ...]:
    """The first :data:`KEPT` of each reason, by reason in the order of their first appearance."""
    found: dict[str, list[RejectedLine]] = {}
    for one in rejected:
        kept = found.setdefault(one.reason, [])
        if len(kept) < KEPT:
            kept.append(one)
    return tuple(one for kept in found.values() for one in kept)


def lines_text(n_lines: int, rejects: Mapping[str, int], rejected: Iterable[RejectedLine] = ()) -> str:
    """How many lines a log has, and :func:`rejects_text`."""
    return f"{n_lines} lines, {'rejected: ' * any(rejects.values())}{rejects_text(rejects, rejected)}"


def rejects_text(rejects: Mapping[str, int], rejected: Iterable[RejectedLine] = ()) -> str:
    """The reasons that occurred, as ``malformed 3 (line 7: field 5, '4x'), no run time 1``, or ``no rejects``."""
    first = {one.reason: one for one in reversed([*rejected]) if one.reason == "malformed"}
    texts = [
        f"{reason} {count}" + (f" ({first[reason].place})" if reason in first else "")
        for reason, count in rejects.items()
        if count
    ]
    return ", ".join(texts) or "no rejects"
