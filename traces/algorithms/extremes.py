"""The lowest and the highest number of a column: asked of every message, and numpy takes longer to begin than to look."""

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints


def extremes(values: Array) -> tuple[float, float]:
    """The lowest and the highest of at least one number, both NaN if there is one among them; of int64, as int64.
    ``values``: float64 or int64 (N,), n >= 1."""
    return _of_floats(values) if values.dtype == np.float64 else _of_ints(values)


@compiled()
def _of_floats(values: Floats) -> tuple[float, float]:
    """The extremes of a column of float64."""
    return _found(values)


@compiled()
def _of_ints(values: Ints) -> tuple[float, float]:
    """The extremes of a column of int64."""
    return _found(values)


@compiled(inner=True)
def _found(values: Array) -> tuple[float, float]:
    """The lowest and the highest in one pass, both NaN at the first NaN."""
    lowest = highest = values[0]
    for value in values:
        if value != value:
            return value, value
        lowest = min(lowest, value)
        highest = max(highest, value)
    return lowest, highest
