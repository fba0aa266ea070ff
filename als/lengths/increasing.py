"""Lengths that grow along the loop, in a straight line: those of :mod:`als.lengths.triangular` with first < last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import LengthModel
from als.lengths.triangular import MAX_END, triangular_lengths
from traces.base.errors import InputError
from traces.base.ranges import real

__all__ = ["Increasing"]


@dataclass(frozen=True)
class Increasing:
    """Parameters of increasing lengths.

    Attributes
    ----------
    first, last : float
        Lengths at the beginning and the end of the loop, in any unit, 0 to ``MAX_END``; only their ratio matters. The
        last is above the other.
    """

    name: ClassVar[str] = "increasing"
    first: float = 0.0
    last: float = 1.0

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            object.__setattr__(self, name, real(f"lengths increasing: {name}", getattr(self, name), 0.0, MAX_END))
        if not self.first < self.last:
            raise InputError(f"lengths increasing: first={self.first:g}, last={self.last:g}; allowed: first below last")

    def lengths(self, variation: float) -> LengthModel:
        """The model, whatever the run's variation."""
        return triangular_lengths(self.name, self.first, self.last)
