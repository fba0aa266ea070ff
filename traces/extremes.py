"""The lowest and the highest number of a column: asked of every message, and numpy takes longer to begin than to look."""

from __future__ import annotations

from traces.compiled import Array, compiled

__all__ = ["extremes"]


@compiled()
def extremes(values: Array) -> tuple[float, float]:
    """The lowest and the highest of at least one number, both NaN if there is one among them; of int64, as int64.

    Parameters
    ----------
    values : float64 or int64 (N,)
        N >= 1.
    """
    lowest = highest = values[0]
    for value in values:
        if value != value:
            return value, value
        lowest = min(lowest, value)
        highest = max(highest, value)
    return lowest, highest
