"""Scheduling passes by the number of jobs that waited before them, in classes of this number."""

from __future__ import annotations

import numpy as np

from traces.compiled import Array


def _first_sizes() -> list[int]:
    sizes = list(range(11))
    while sizes[-1] < 2**31:
        sizes.append(int(sizes[-1] * 1.25) + 1)
    return sizes


# The smallest number of each class: one class per number up to 9, then classes that are a quarter wider each.
_FIRST = np.array(_first_sizes(), np.int64)

#: How many classes there are.
N_CLASSES = len(_FIRST)


def class_of(waiting: Array) -> Array:
    """Return the class of each number of waiting jobs, int64."""
    return np.searchsorted(_FIRST, waiting, side="right") - 1


def sums_by_class(waiting: Array, decision_ns: Array) -> Array:
    """Sum passes by class; sums of several tables may be added. Returns float64 (3, N_CLASSES): number of passes, sum
    of waiting jobs, and sum of the times (ns)."""
    place = class_of(waiting)
    return np.array([np.bincount(place, column, N_CLASSES) for column in (np.ones(len(place)), waiting, decision_ns)])
