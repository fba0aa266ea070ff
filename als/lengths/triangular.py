"""Increasing and decreasing lengths (triangular loops): in a straight line from one end to the other, with nothing random.

Task k of n has a length proportional to first + (last - first)·(k + ½)/n: the line's value in the middle of the task's part
of the loop, as of a triangular matrix. So no task has the length 0, also if one end is 0; with first = 0 lengths are
proportional to k + ½. The lengths' sum is the work of the loop.

The coefficient of variation is √((1 - 1/n²)/12)·|last - first| / ((first + last)/2): 1/√3 for many tasks if one end is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from als.lengths.contract import PATTERN, LengthModel, length_kernel
from traces.base.errors import InputError, real
from traces.compiled import Array

#: Largest length at an end; only the ends' ratio matters.
MAX_END = 1e9


@length_kernel
def _next_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(params[0] + (params[1] - params[0]) * ((k + 0.5) / n))


@dataclass(frozen=True)
class Triangular:
    """Parameters of lengths that grow or fall along the loop; of which of the two, the name says."""

    name: str
    # lengths at the beginning and the end of the loop, in any unit, 0 to ``MAX_END``; only their ratio matters. The
    # first is below the last where they grow, above it where they fall.
    first: float
    last: float

    def __post_init__(self) -> None:
        where = f"lengths {self.name}"
        for name in ("first", "last"):
            object.__setattr__(self, name, real(f"{where}: {name}", getattr(self, name), 0.0, MAX_END))
        first, last, grows = self.first, self.last, self.name == "increasing"
        if not (first < last if grows else first > last):
            allowed = f"first {'below' if grows else 'above'} last"
            raise InputError(f"{where}: first={first:g}, last={last:g}; allowed: {allowed}")

    def lengths(self, variation: float) -> LengthModel:
        return LengthModel(self.name, _next_length, (self.first, self.last), mode=PATTERN, source="its definition")


INCREASING = Triangular("increasing", 0.0, 1.0)
DECREASING = Triangular("decreasing", 1.0, 0.0)
