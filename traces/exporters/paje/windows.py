"""Millions of intervals in the order of time, a window of it at once, without sorting them all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.rows import BLOCK

#: Of so many intervals one is looked at, to see how many begin and end when.
_SAMPLE = 64


class Timed:
    """Intervals of which those are found that begin, or end, in a window of time.

    Of each block of rows the first and last instants are kept: where rows are roughly in the order of time, as tasks of jobs
    are, only few blocks are looked through for a window. A start below 0 is no interval.
    """

    def __init__(self, start_ns: Array, end_ns: Array) -> None:
        self._columns = (start_ns, end_ns)
        self._spans = [_spans(column) for column in self._columns]

    def sample(self) -> Array:
        """Some of the instants, evenly chosen."""
        return np.concatenate([column[::_SAMPLE][self._columns[0][::_SAMPLE] >= 0] for column in self._columns])

    def beginning(self, since: int, until: int) -> Array:
        """Rows that begin at ``since`` or later, and before ``until``."""
        return self._within(0, since, until)

    def ending(self, since: int, until: int) -> Array:
        """Likewise those that end."""
        return self._within(1, since, until)

    def _within(self, which: int, since: int, until: int) -> Array:
        column, (first, last) = self._columns[which], self._spans[which]
        found = [np.zeros(0, np.int64)]
        for block in np.flatnonzero((first < until) & (last >= since)).tolist():
            at = slice(block * BLOCK, (block + 1) * BLOCK)
            there = (column[at] >= since) & (column[at] < until) & (self._columns[0][at] >= 0)
            found.append(block * BLOCK + np.flatnonzero(there))
        return np.concatenate(found)


def _spans(column: Array) -> tuple[Array, Array]:
    begins = np.arange(0, len(column), BLOCK)
    if not len(begins):
        return begins, begins
    return np.minimum.reduceat(column, begins), np.maximum.reduceat(column, begins)


def boundaries(timed: Sequence[Timed], most: int) -> list[int]:
    """Ascending instants, from the first to beyond the last, between which there are some ``most`` begins and ends."""
    sample = np.sort(np.concatenate([one.sample() for one in timed] or [np.zeros(0, np.int64)]))
    inner = sample[:: max(1, most // _SAMPLE)]
    least, beyond = 0, int(np.iinfo(np.int64).max)
    return [least, *np.unique(inner[inner > least]).tolist(), beyond]
