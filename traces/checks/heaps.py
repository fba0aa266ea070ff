"""What must hold of a binary heap: no entry comes before the one above it."""

from __future__ import annotations

import numpy as np

from traces.compiled import Array


def first_out_of_order(*columns: Array) -> int:
    """The first entry that comes before its parent, or -1; entries are compared column by column, as tuples are."""
    size = len(columns[0])
    below = np.arange(1, size)
    above = (below - 1) >> 1
    before, equal = np.zeros(len(below), np.bool_), np.ones(len(below), np.bool_)
    for column in columns:
        before |= equal & (column[below] < column[above])
        equal &= column[below] == column[above]
    bad = np.flatnonzero(before)
    return int(below[bad[0]]) if len(bad) else -1
