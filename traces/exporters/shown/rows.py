"""Rows of bytes that are built column by column: many lines of text, or messages, in a few numpy operations.

A trace has millions of rows of a few forms. The common parts of a form are written once for a whole block of rows; parts
that some rows lack, such as leading zeros, are masked, and left out when the block becomes bytes. This handles some
millions of rows per second without compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from traces.base.errors import escaped
from traces.compiled import Array
from traces.ledger import Ledger

#: Number of rows built at once: enough to hide the cost of calls, and few enough for the processor's cache.
BLOCK = 1 << 14

_THREE = np.array([list(f"{number:03d}".encode()) for number in range(1000)], np.uint8)


def blocks(n: int) -> Iterator[slice]:
    """Divide ``n`` rows into blocks of at most :data:`BLOCK`."""
    return (slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK))


class Words(NamedTuple):
    """Texts to choose from: ``letters`` uint8 (k, longest), and their ``lengths`` (k,)."""

    letters: Array
    lengths: Array


def words(texts: Sequence[str]) -> Words:
    """Texts in UTF-8."""
    encoded = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in encoded], np.int64)
    letters = np.zeros((len(encoded), int(lengths.max(initial=0))), np.uint8)
    for row, text in zip(letters, encoded, strict=True):
        row[: len(text)] = list(text)
    return Words(letters, lengths)


class _Part(NamedTuple):
    content: bytes | Array  # the same for all rows, or uint8 (n, width)
    width: int
    keep: Array | None  # bool (n,) or (n, width); None: everything


class Rows:
    """``n`` rows, to which parts are appended."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._parts: list[_Part] = []

    def put(self, content: bytes | Array, keep: Array | None = None) -> Rows:
        """Append bytes, the same for all rows or uint8 (n, width), where ``keep`` (bool (n,) or (n, width)) is set."""
        width = len(content) if isinstance(content, bytes) else content.shape[1]
        if width:
            self._parts.append(_Part(content, width, keep))
        return self

    def add(self, other: Rows, keep: Array | None = None) -> Rows:
        """Append other rows, where ``keep`` (bool (n,)) is set."""
        for content, _, own in other._parts:
            if own is None or keep is None:
                self.put(content, keep if own is None else own)
            else:
                self.put(content, own & (keep if own.ndim == 1 else keep[:, None]))
        return self

    def number(self, values: Array) -> Rows:
        """Append whole numbers in decimal, without leading zeros."""
        values = np.asarray(values, np.int64)
        negative = values < 0
        if negative.any():
            self.put(b"-", negative)
            values = np.abs(values)
        width = len(str(int(values.max(initial=0))))
        powers = 10 ** np.arange(width - 1, 0, -1, dtype=np.int64)
        keep = np.ones((self.n, width), np.bool_)
        np.greater_equal(values[:, None], powers, out=keep[:, : width - 1])
        return self.put(_digits(values, width), keep)

    def decimal(self, values: Array, places: int) -> Rows:
        """Append whole numbers with a point before their last ``places`` digits; ``places`` is a multiple of 3."""
        whole, rest = np.divmod(np.asarray(values, np.int64), 10**places)
        return self.number(whole).put(b".").put(_digits(rest, places))

    def scaled(self, values: Array, exponent: int) -> Rows:
        """Append whole numbers times ten to the power of ``exponent``, 0 or a negative multiple of 3."""
        return self.decimal(values, -exponent) if exponent else self.number(values)

    def numbers(self, *columns: Array) -> Rows:
        """Append whole numbers, each followed by a comma."""
        for values in columns:
            self.number(values).put(b",")
        return self

    def word(self, known: Words, which: Array) -> Rows:
        """Append one of some texts in each row."""
        lengths = known.lengths[which]
        return self.put(known.letters[which], np.arange(known.letters.shape[1]) < lengths[:, None])

    def text(self, known: Sequence[str], which: Array) -> Rows:
        """Append one of many texts in each row; only the texts in these rows are tabulated, since others may be long."""
        there, place = np.unique(which, return_inverse=True)
        return self.word(words([known[one] for one in there.tolist()]), place)

    @property
    def lengths(self) -> Array:
        """Return the number of bytes of each row, int64 (n,)."""
        found = np.zeros(self.n, np.int64)
        for _, width, keep in self._parts:
            if keep is None:
                found += width
            else:
                found += keep.sum(axis=1) if keep.ndim == 2 else keep * width
        return found

    @property
    def uniform(self) -> int | None:
        """Return the number of bytes of all rows if nothing is masked, else None."""
        return None if any(part.keep is not None for part in self._parts) else sum(part.width for part in self._parts)

    def matrix(self) -> tuple[Array, Array]:
        """Return the bytes, and which of them are kept: uint8 and bool (n, width)."""
        width = sum(part.width for part in self._parts)
        out, mask = np.empty((self.n, width), np.uint8), np.ones((self.n, width), np.bool_)
        at = 0
        for content, size, keep in self._parts:
            out[:, at : at + size] = np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content
            if keep is not None:
                mask[:, at : at + size] = keep if keep.ndim == 2 else keep[:, None]
            at += size
        return out, mask

    def tobytes(self) -> bytes:
        """Return all rows, concatenated."""
        out, mask = self.matrix()
        return out.tobytes() if self.uniform is not None else out[mask].tobytes()


def merged(groups: Sequence[tuple[Array, Rows]]) -> bytes:
    """Merge rows of several forms by their instants; at one instant in the order of the groups."""
    instants = np.concatenate([instant for instant, _ in groups]) if groups else np.zeros(0, np.int64)
    built = [rows.matrix() for _, rows in groups]
    width = max((out.shape[1] for out, _ in built), default=0)
    whole, there = np.empty((len(instants), width), np.uint8), np.zeros((len(instants), width), np.bool_)
    at = 0
    for out, mask in built:
        n, size = out.shape
        whole[at : at + n, :size], there[at : at + n, :size] = out, mask
        at += n
    order = np.argsort(instants, kind="stable")
    return whole[order][there[order]].tobytes()


def _digits(values: Array, width: int) -> Array:
    # The last digits of non-negative numbers, uint8 (n, width), with leading zeros.
    groups = -(-width // 3)
    out = np.empty((len(values), 3 * groups), np.uint8)
    for group in range(groups - 1, -1, -1):
        rest = values // 1000
        out[:, 3 * group : 3 * group + 3] = _THREE[values - 1000 * rest]
        values = rest
    return out[:, 3 * groups - width :]


class JobNames:
    """The names of a ledger's jobs by row, each in one line (:func:`traces.base.errors.escaped`).

    - ``form``: quotes a name as the format requires.
    - ``apart``: characters that names must not contain, since they separate fields.

    - ``texts``: list of str, one per row, empty if the log has no name; an empty list if none of these jobs has a name.
    """

    def __init__(self, ledger: Ledger, form: Callable[[str], str] = str, *, apart: str = "") -> None:
        ids = ledger.ids
        numbers = ledger.jobs.job_id.tolist() if ids else []
        texts = [form(escaped(ids.get(number, ""), apart=apart)) for number in numbers]
        self.texts = texts if any(texts) else []

    def labels(self, numbers: Array) -> list[str]:
        """Return ``job NUMBER`` of each row, followed by its name where it has one."""
        named = [f" {text}" if text else "" for text in self.texts] or [""] * len(numbers)
        return [f"job {number}{text}" for number, text in zip(numbers.tolist(), named, strict=True)]

    def append(self, rows: Rows, row: Array, before: bytes) -> Rows:
        """Append ``before`` and the name of a job row to each of some rows, where the job has a name."""
        if not self.texts or not len(row):
            return rows
        has = np.array([bool(self.texts[one]) for one in row.tolist()])
        return rows.put(before, has).text(self.texts, row)
