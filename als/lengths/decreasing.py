"""Lengths that fall along the loop, in a straight line: those of :mod:`als.lengths.triangular` with first > last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel
from als.lengths.triangular import MAX_END, triangular_lengths
from traces.base.errors import InputError
from traces.base.ranges import real

__all__ = ["Decreasing"]


@dataclass(frozen=True)
class Decreasing:
    """Parameters of decreasing lengths.

    Attributes
    ----------
    first, last : float
        Lengths at the beginning and the end of the loop, in any unit, 0 to ``MAX_END``; only their ratio matters. The
        first is above the other.
    """

    name: ClassVar[str] = "decreasing"
    first: float = 1.0
    last: float = 0.0

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            object.__setattr__(self, name, real(f"lengths decreasing: {name}", getattr(self, name), 0.0, MAX_END))
        if not self.first > self.last:
            raise InputError(f"lengths decreasing: first={self.first:g}, last={self.last:g}; allowed: first above last")

    def lengths(self, variation: float) -> LengthModel:
        """The model, whatever the run's variation."""
        return triangular_lengths(self.name, self.first, self.last)
