"""Triangular loops: lengths in a straight line from one end of the loop to the other, with nothing random.

Task k of n has a length proportional to first + (last - first)·(k + ½)/n: the line's value in the middle of the task's part
of the loop, as of a triangular matrix. So no task has the length 0, also if one end is 0; with first = 0 lengths are
proportional to k + ½. The lengths' sum is the work of the loop.

The coefficient of variation is √((1 - 1/n²)/12)·|last - first| / ((first + last)/2): 1/√3 for many tasks if one end is 0.
"""

from __future__ import annotations

from als.lengths.contract import SCALED, LengthModel, length_kernel
from traces.compiled import Array

__all__ = ["MAX_END", "triangular_lengths"]

#: Largest length at an end; only the ends' ratio matters.
MAX_END = 1e9


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(params[0] + (params[1] - params[0]) * ((k + 0.5) / n))


def triangular_lengths(name: str, first: float, last: float) -> LengthModel:
    """Lengths in a straight line from ``first`` to ``last``, scaled to the work of the loop."""
    return LengthModel(name, _next_length, (first, last), mode=SCALED, source="its definition")
