"""Reading text files block by block, and assembling rows of jobs from the blocks.

The text of a log of millions of lines is never in memory as a whole: only a block of lines and the rows read so far are.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Protocol

import numpy as np

from bls.workloads.columns import KEPT, OPTIONAL, RejectedLine, first_rejects
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload
from traces.base.columns import read_only
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

BLOCK_BYTES = 1 << 20  #: size of a block in bytes
LINE_BYTES = 1 << 26  #: the longest line; a file with a longer one is not a text
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Readable(Protocol):
    """A source of text: a binary file, ``io.BytesIO`` or ``traces.base.given_file.GivenFile``."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill ``buffer`` or a part of it, and return the number of bytes: 0 at the end."""


def line_blocks(file: Readable, source: str, block_bytes: int = BLOCK_BYTES) -> Iterator[Array]:
    """Yield whole lines of a file, as many as a block holds, as signed bytes, int8 (kernels combine unsigned and signed
    integers to a float). Only the last block may lack the line feed at its end; the next block overwrites it. ``block_bytes``:
    from 3; larger if a line is longer. A UTF-8 byte order mark is left out. Raises InputError if the file is empty, or a line
    is longer than ``LINE_BYTES``."""
    block = np.empty(block_bytes, np.int8)
    held, first, more = 0, True, True
    while more:
        end = held + _fill(file, block[held:])
        more = end == len(block)
        start = 0
        if first:
            if not end:
                raise InputError(f"{source}: the file is empty")
            start = len(_BYTE_ORDER_MARK) if block[:3].tobytes() == _BYTE_ORDER_MARK else 0
            first = False
        stop = start + block[start:end].tobytes().rfind(b"\n") + 1 if more else end
        if stop > start:
            yield block[start:stop]
        held = end - stop
        if held == len(block):
            if held >= LINE_BYTES:
                raise InputError(f"{source}: a line is longer than {LINE_BYTES} bytes; this is no text")
            longer = np.empty(2 * held, np.int8)
            longer[:held] = block
            block = longer
        else:
            block[:held] = block[stop:end].copy()


def _fill(file: Readable, block: Array) -> int:
    # Before the end of the file, a read may return less than requested.
    at = 0
    while at < len(block):
        got = file.readinto(block[at:].data.cast("B"))
        if not got:
            break
        at += got
    return at


class GrowingColumn:
    """A growing column of int64 that is stored as one number while all its values are equal."""

    def __init__(self) -> None:
        self._n = 0
        self._one = 0
        self._values: Array | None = None

    def add(self, values: Array) -> None:
        """Append a copy of ``values``, an ndarray of int64 of shape (m,)."""
        n, more = self._n, len(values)
        if not more:
            return
        self._n = n + more
        if self._values is None:
            if n == 0:
                self._one = int(values[0])
            # The last value first, since it usually differs if any does.
            if values[-1] == self._one and np.all(values == self._one):
                return
            self._values = np.empty(2 * self._n, np.int64)
            self._values[:n] = self._one
        if self._n > len(self._values):
            longer = np.empty(2 * self._n, np.int64)  # memory that is not written to is not allocated yet
            longer[:n] = self._values[:n]
            self._values = longer
        self._values[n : self._n] = values

    def taken(self, *, whole: bool = False) -> Array:
        """All values, read-only, leaving an empty column: shape (n,), or () for one number, unless ``whole``."""
        if self._values is not None:
            column = self._values[: self._n].copy()
        else:
            column = np.full(self._n, self._one) if whole else np.array(self._one)
        self._n, self._values = 0, None
        return read_only(column)


def check_order(keys: Array, lines: Array, unit: str, source: str) -> None:
    """Raise InputError if a job is submitted before the job above it, or does not have a higher number.

    - ``keys``: job numbers and submits in the order of the file, beginning with the previous job, int64 (2, jobs + 1)
    - ``lines``: the numbers of the jobs' lines or rows, int64 (jobs,); ``unit``: line or row
    """
    higher, later = np.diff(keys) > [[0], [-1]]
    if not (higher & later).all():
        k = int(np.argmin(higher & later))
        what = "is submitted before a job" if not later[k] else "has no higher number than a job"
        raise InputError(
            f"{source}: {unit} {lines[k]}: job {keys[0, k + 1]} {what} of an earlier {unit}; "
            "allowed where a log is read as the simulation goes: jobs in the order of submits and of numbers"
        )


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_DIGITS = re.compile(r"[0-9]{1,18}")
_NANO = Decimal("1e-9")
_MOST_S = Decimal(MAX_NS) * _NANO
_CONTEXT = Context(prec=40)
_INSTANTS = ("cancel_ns", "begin_ns")  #: optional columns of instants since time 0, -1 for none
_UNKNOWN_NAMES = frozenset(("", "-1", "Unknown", "None", "(null)"))


def number(word: str) -> Decimal | None:
    """The value of a decimal number, perhaps with an exponent; None for any other word."""
    return Decimal(word) if _NUMBER.fullmatch(word) else None


def whole(word: str) -> int | None:
    """The value of an integer in ±2**62, perhaps with a point; None for any other word."""
    if _DIGITS.fullmatch(word):
        return int(word)
    value = number(word)
    if value is None or value.copy_abs() > MAX_NS or value != value.to_integral_value():
        return None
    return int(value)


def seconds_ns(word: str) -> int | None:
    """Seconds in ns, rounded half to even; None for a word that is not a decimal number or is beyond ±2**62 ns."""
    if _DIGITS.fullmatch(word):
        ns = int(word) * NS_PER_S
        return ns if ns <= MAX_NS else None
    value = number(word)
    return None if value is None else exact_ns(value)


def exact_ns(seconds: Decimal | int) -> int | None:
    """Seconds in ns, rounded half to even; None beyond ±2**62 ns."""
    value = Decimal(seconds)
    if value.copy_abs() > _MOST_S:
        return None
    return int(value.quantize(_NANO, ROUND_HALF_EVEN, _CONTEXT).scaleb(9, _CONTEXT))


def kilobytes(value: Decimal | None) -> int:
    """``value`` rounded up, or -1 if it is not positive, unknown, or beyond 2**62."""
    if value is None or not 0 < value <= MAX_NS:
        return -1
    return int(value.to_integral_value("ROUND_CEILING"))


class Names:
    """Numbers of names, from 1 in order of their first appearance; -1 for names that mean "unknown"."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of ``name``."""
        return -1 if name in _UNKNOWN_NAMES else self.known.setdefault(name, len(self.known) + 1)


def text_lines(file: Readable, source: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank: (number from 1, text without its line end). Raises as :func:`line_blocks`."""
    first = 1
    for block in line_blocks(file, source):
        lines = block.tobytes().decode("utf-8", "replace").split("\n")
        for place, line in enumerate(lines):
            if line and not line.isspace():
                yield first + place, line.rstrip("\r")
        first += len(lines) - 1


class JobRows:
    """Jobs and rejects of a file that Python reads line by line. ``further``: names of columns of ``Workload.extras``;
    ``named``: columns whose numbers stand for ``names``, those of ``application`` being names of jobs."""

    def __init__(self, source: str, further: Iterable[str] = (), named: Iterable[str] = ()) -> None:
        self.source = source
        self.header: list[str] = []
        self.rejects = {MALFORMED: 0, NO_RUN_TIME: 0, NO_PROCESSORS: 0}
        self.n_lines = 0
        self.ids: dict[int, str] = {}
        self.also_preceding: dict[int, tuple[int, ...]] = {}
        self.rejected: list[RejectedLine] = []
        self.remarks: list[str] = []
        self.names = {column: Names() for column in named}
        self._base = [array("q") for _ in range(6)]
        self._others: dict[str, array[int]] = {}
        self._further = tuple(further)

    def __len__(self) -> int:
        return len(self._base[0])

    def count(self, reason: str, line: int = 0, field: str = "", word: object = "") -> None:
        """Count a line under a reason for its rejection, with the faulty field; an empty reason counts a job."""
        self.n_lines += 1
        if reason:
            self.rejects[reason] = self.rejects.get(reason, 0) + 1
            if line and self.rejects[reason] <= KEPT:
                self.rejected.append(RejectedLine(reason, line, field, f"{word}"))

    def add(
        self, job_id: int, submit_ns: int, run_ns: int, cores: int, estimate_ns: int, line: int, **others: int
    ) -> None:
        """Add a job; ``others`` are optional and further columns, by name, the same for every job."""
        for column, value in zip(self._base, (job_id, submit_ns, run_ns, cores, estimate_ns, line), strict=True):
            column.append(value)
        if not self._others:
            self._others = {name: array("q") for name in others}
        for name, value in others.items():
            self._others[name].append(value)

    def workload(self, start_ns: int = 0) -> Workload:
        """The workload, with time 0 at ``start_ns``. Raises InputError if there is no job."""
        base = [np.array(column, np.int64) for column in self._base]
        base[1] -= start_ns
        others = {name: np.array(column, np.int64) for name, column in self._others.items()}
        for name in _INSTANTS:
            instant = others.get(name, np.empty(0, np.int64))
            instant[instant >= 0] -= start_ns
        for column in (*base, *others.values()):
            column.flags.writeable = False  # so that the workload takes them as they are
        labels = {column: {k: name for name, k in names.known.items()} for column, names in self.names.items()}
        return Workload.from_lines(
            base,
            header=self.header,
            rejects=self.rejects,
            source=self.source,
            n_lines=self.n_lines,
            extra={name: column for name, column in others.items() if name in OPTIONAL},
            extras={name: column for name, column in others.items() if name in self._further},
            names=labels.pop("application", None),
            ids=self.ids,
            also_preceding=self.also_preceding,
            rejected=first_rejects(self.rejected),
            remarks=self.remarks,
            labels=labels,
        )
