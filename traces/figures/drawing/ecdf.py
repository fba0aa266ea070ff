"""Empirical distribution functions, and fewer of their points where there are more than can be seen."""

from __future__ import annotations

import numpy as np

from traces.compiled import Array

__all__ = ["ecdf"]

#: A curve of more points keeps the first one in each so many equal parts of the shares.
PARTS = 2_000


def ecdf(values: Array) -> tuple[Array, Array]:
    """The distinct values in ascending order, and the share of all values that is at most each: float64, float64.

    With more than :data:`PARTS` distinct values some are left out. Those that remain are exact, the largest is among them, and
    between two of them the function grows by less than 1/:data:`PARTS` more than what is shown.
    """
    value, count = np.unique(np.asarray(values, np.float64), return_counts=True)
    share = np.cumsum(count) / max(len(values), 1)
    if len(value) > PARTS:
        part = np.floor(share * PARTS)
        kept = np.append(True, np.diff(part) > 0)
        value, share = value[kept], share[kept]
    return value, share
