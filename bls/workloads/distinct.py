"""The distinct numbers of a column, and the place of each row's among them."""

from __future__ import annotations

import numpy as np

from traces.compiled import Array


def distinct(values: Array) -> tuple[Array, Array]:
    """``np.unique(values, return_inverse=True)``; found by counting where the numbers are close together, as users' are.
    ``values``: int64 (n,). Returns ``numbers``, int64 (k,): ascending; ``place``, int64 (n,): ``numbers[place]`` are the
    values."""
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
