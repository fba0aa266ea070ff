"""The lowest and the highest number of a column, for every message: faster than numpy, whose calls take long to start."""

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints


def extremes(values: Array) -> tuple[float, float]:
    """Return the lowest and the highest number of a column, float64 or int64 (n,), n >= 1; both NaN if it contains NaN."""
    return _of_floats(values) if values.dtype == np.float64 else _of_ints(values)


@compiled()
def _of_floats(values: Floats) -> tuple[float, float]:
    """Extremes of a column of float64."""
    return _found(values)


@compiled()
def _of_ints(values: Ints) -> tuple[float, float]:
    """Extremes of a column of int64."""
    return _found(values)


@compiled(inner=True)
def _found(values: Array) -> tuple[float, float]:
    """Compute the lowest and the highest in one pass, both NaN at the first NaN."""
    lowest = highest = values[0]
    for value in values:
        if value != value:
            return value, value
        lowest = min(lowest, value)
        highest = max(highest, value)
    return lowest, highest
