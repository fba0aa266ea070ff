"""Sets of global core numbers as sorted, disjoint intervals, and their text in tables: ``0-63 128-191``."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array

Intervals: TypeAlias = Sequence[tuple[int, int]]  #: half-open intervals of numbers

#: -1 is a log's value for an unknown number, and not a range.
_PART = re.compile(r"[0-9]{1,18}(?:-[0-9]{0,18})?|-(?!1$)[0-9]{1,18}")

# Maximum digits of a number.
_DIGITS = 18

OPEN: Final = 10**18 + 1  #: end of an interval without an end: above all numbers that can be written


def intervals_of(first: Array, count: Array) -> Array:
    """Return the numbers ``first[i], … first[i] + count[i] - 1`` of all i, in this order."""
    return np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def joined_numbers(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers without duplicates as half-open intervals."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


def intervals_text(intervals: Iterable[tuple[int, int]]) -> str:
    """Return the text of half-open intervals ``[first, stop)``: ``"0-63 128 256-"`` for ``[(0, 64), (128, 129), (256,
    OPEN)]``."""
    return " ".join(f"{lo}-{'' if hi == OPEN else hi - 1}" if hi - lo > 1 else f"{lo}" for lo, hi in intervals)


def within(numbers: Array, intervals: Intervals) -> Array:
    """Return which numbers are in one of some half-open intervals: bool, of the same shape."""
    found = np.zeros(len(numbers), np.bool_)
    for lo, hi in intervals:
        found |= (numbers >= lo) & (numbers < hi)
    return found


_ROWS = 1 << 14  #: number of sets processed at once, which is faster than all at once and needs little memory


class Texts(NamedTuple):
    """A column of short texts in one piece of memory, without an object for each of millions of them."""

    text: Array  # ndarray of uint8, all texts, concatenated; ASCII
    first: Array  # int64 (n + 1,), text ``i`` is ``text[first[i]:first[i + 1]]``

    def list(self) -> list[str]:
        """Return them as a list of str."""
        text = self.text.tobytes().decode("ascii")
        return [text[first:stop] for first, stop in pairwise(self.first.tolist())]


def intervals_texts(first: Array, lo: Array, hi: Array) -> Texts:
    """Return :func:`intervals_text` of many sets.

    - ``first``: int64 (n + 1,), set ``i`` has the intervals ``first[i]:first[i + 1]``, concatenated; no set is empty.
    - ``lo``, ``hi``: ndarray of int64, the intervals ``[lo, hi)``, from 0.
    """
    pieces = [_texts(first[at : at + _ROWS + 1], lo, hi) for at in range(0, len(first) - 1, _ROWS)]
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(piece.first) for piece in pieces)])
    return Texts(np.concatenate([np.zeros(0, np.uint8), *(piece.text for piece in pieces)]), np.cumsum(lengths))


def _texts(first: Array, lo: Array, hi: Array) -> Texts:
    lo, hi, first = lo[first[0] : first[-1]], hi[first[0] : first[-1]], first - first[0]
    several = hi - lo > 1
    gap = np.ones(len(lo), np.int64)
    gap[first[:-1][first[:-1] < len(lo)]] = 0
    last = np.where(several, hi - 1, 0)
    low_digits, high_digits = _digits(lo), np.where(several, _digits(last), 0)
    low_stop = gap + low_digits
    stop = np.cumsum(low_stop + several + high_digits)
    end = np.zeros(len(lo) + 1, np.int64)
    end[1:] = stop
    text = np.full(int(end[-1]), ord(" "), np.uint8)
    low_stop += end[:-1]
    text[low_stop[several]] = ord("-")
    _write(text, lo, low_digits, low_stop)
    _write(text, last, high_digits, stop)
    return Texts(text, end[first])


def _digits(numbers: Array) -> Array:
    # The number of digits of each non-negative number.
    found = np.ones(len(numbers), np.int64)
    power = 10
    while len(numbers) and power <= numbers.max():
        found += numbers >= power
        power *= 10
    return found


def _write(text: Array, numbers: Array, digits: Array, stop: Array) -> None:
    # Write each number with ``digits`` digits before ``stop``.
    place = 0
    while True:
        there = digits > place
        if not there.all():
            numbers, digits, stop = numbers[there], digits[there], stop[there]
        if not len(numbers):
            return
        place += 1
        rest = numbers // 10
        text[stop - place] = ord("0") + numbers - 10 * rest
        numbers = rest


def check_ends(intervals: Iterable[tuple[int, int]], stop: int, where: str, known: str) -> None:
    """Refuse intervals beyond the existing numbers.

    - ``intervals``: iterable of (int, int), half-open; one without an end, up to :data:`OPEN`, may begin anywhere below
      ``stop``.
    - ``stop``: the first number that does not exist.
    - ``where``, ``known``: the option, and what exists, for the error: ``the machine has cores 0 to 63``.

    Raises InputError if an interval ends beyond ``stop``, or begins there.
    """
    for lo, hi in intervals:
        if lo >= stop or OPEN != hi > stop:
            raise InputError(f"{where}: {intervals_text([(lo, hi)])} is out of range: {known}")


def parse_intervals(
    text: str, where: str, stop: int = OPEN, *, example: str = "0-63 128 256-"
) -> list[tuple[int, int]]:
    """Return the half-open intervals of a text such as ``0-63 128 256-`` or ``-63,128``, sorted and merged.

    - ``text``: numbers and ranges; a range without a begin starts at 0, one without an end stops at ``stop``.
    - ``stop``: the number of existing numbers, if known. The text is not checked against it.
    - ``example``: what an error says that is allowed.

    Raises InputError if a part is not a number or a range, or a range ends before it begins.
    """
    found: list[tuple[int, int]] = []
    for part in text.replace(",", " ").split():
        low, dash, high = part.partition("-")
        if not _PART.fullmatch(part) or (low and high and int(high) < int(low)):
            raise InputError(f"{where}: {shown(part)} is not a number or a range; allowed: e.g. {example}")
        lo = int(low or 0)
        found.append((lo, int(high) + 1 if high else max(lo + 1, stop if dash else 0)))
    merged: list[tuple[int, int]] = []
    for lo, hi in sorted(found):
        if merged and lo <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        else:
            merged.append((lo, hi))
    return merged


def parse_texts(texts: Sequence[str], where: str) -> tuple[Array, Array, Array]:
    """Parse many texts as :func:`parse_intervals` does.

    Returns:
    - ``first``, ``lo``, ``hi``: ndarray of int64, as for :func:`intervals_texts`: set ``i`` has the intervals
      ``first[i]:first[i + 1]``.

    Raises InputError as :func:`parse_intervals`.
    """
    none = (np.zeros(0, np.int64),) * 3
    pieces = [none, *(_parsed(texts[at : at + _ROWS], where) for at in range(0, len(texts), _ROWS))]
    count, lo, hi = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    return np.concatenate([[0], np.cumsum(count)]), lo, hi


def _parsed(texts: Sequence[str], where: str) -> tuple[Array, Array, Array]:
    # Return the number of intervals of each text, and the intervals.
    found = _plain(texts)
    if found is not None:
        return found
    held = [parse_intervals(text, where) for text in texts]
    edges = np.array([interval for one in held for interval in one], np.int64).reshape(-1, 2)
    return np.array([len(one) for one in held], np.int64), edges[:, 0].copy(), edges[:, 1].copy()


def _plain(texts: Sequence[str]) -> tuple[Array, Array, Array] | None:
    """Parse texts from :func:`intervals_text`, as :func:`_parsed` does; return None for other texts."""
    letters = np.frombuffer(("\n" + "\n".join(texts) + "\n").encode(), np.uint8)
    digit = (letters >= ord("0")) & (letters <= ord("9"))
    ends_line = letters == ord("\n")
    edges = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    begin, stop = edges[::2], edges[1::2]
    before, after = letters[begin - 1], letters[stop]
    last = before == ord("-")
    low = np.flatnonzero(~last)
    several = after[low] == ord("-")
    # One character, or ends of lines, separates two numbers; no number is long; each range has both of its numbers.
    if (
        np.count_nonzero(ends_line) != len(texts) + 1
        or np.count_nonzero(~digit & ~ends_line) != np.count_nonzero(before != ord("\n"))
        or (stop - begin).max(initial=0) > _DIGITS
        or not np.isin(before[low], (ord(" "), ord("\n"))).all()
        or last[:1].any()
        or (last[1:] & last[:-1]).any()
        or np.count_nonzero(several) != np.count_nonzero(last)
    ):
        return None
    numbers = np.zeros(len(begin), np.int64)
    for place in range(int((stop - begin).max(initial=0))):
        there = begin + place < stop
        numbers[there] = 10 * numbers[there] + (letters[begin[there] + place] - ord("0"))
    lo = numbers[low]
    hi = lo + 1
    hi[several] = numbers[low[several] + 1] + 1
    line = np.cumsum(ends_line)[begin[low]] - 1
    if (hi <= lo).any() or ((line[1:] == line[:-1]) & (lo[1:] <= hi[:-1])).any():
        return None
    return np.bincount(line, minlength=len(texts)), lo, hi
