"""What is minimised: Z = Σ (s - q + d) / d over the modelled jobs (section 2.2), exact as a fraction, and whole for the
solver.

Of Z only Σ s / d depends on the plan. CP-SAT wants whole numbers: with D a multiple of all d, the weights D / d are
exact; where D is too large, they are S / d rounded, never 0, for an S as large as int64 bears. What they say is then not
quite Z, so plans are compared by Z itself, and a bound is made weaker by what rounding may have added.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Final

from bls.cp.problem import Problem
from traces.compiled import Array

__all__ = ["Objective"]

#: What the weighted sum of the latest starts may be: below 2**63 with room for what the solver adds and subtracts.
_LARGEST: Final = 2**58


class Objective:
    """Z of the plans of a problem.

    Attributes
    ----------
    weights : list of int
        Of the starts in seconds, at least 1 each.
    is_exact : bool
        Whether they are proportional to 1/d.
    """

    def __init__(self, problem: Problem) -> None:
        self._duration: list[int] = problem.duration_s.tolist()
        self._waited: list[int] = problem.waited_s.tolist()
        latest = [problem.horizon_s - d for d in self._duration]
        self._common = math.lcm(*self._duration)
        self._exact = [self._common // d for d in self._duration]
        self.is_exact = sum(w * s for w, s in zip(self._exact, latest, strict=True)) <= _LARGEST
        self.weights = self._exact if self.is_exact else self._rounded(latest)

    def _rounded(self, latest: list[int]) -> list[int]:
        # Each weight is at most S / d + 1.
        weighted = sum(w * s for w, s in zip(self._exact, latest, strict=True))
        scale = max(1, (_LARGEST - sum(latest)) * self._common // weighted)
        return [max(1, (2 * scale + d) // (2 * d)) for d in self._duration]

    @cached_property
    def constant(self) -> Fraction:
        """Z of a plan in which all start at t."""
        many = zip(self._exact, self._waited, strict=True)
        return len(self._exact) + Fraction(sum(w * waited for w, waited in many), self._common)

    def sum_of(self, starts_s: Array) -> int:
        """Σ s / d in units of 1/D: what plans are compared by."""
        return sum(w * s for w, s in zip(self._exact, starts_s.tolist(), strict=True))

    def value(self, starts_s: Array) -> Fraction:
        """Z of the plan with these starts, s after t."""
        return self.constant + Fraction(self.sum_of(starts_s), self._common)

    def bound(self, weighted: int) -> Fraction:
        """What Z is at least, where the weighted sum of starts is at least ``weighted``."""
        if self.is_exact:
            return self.constant + Fraction(max(0, weighted), self._common)
        dearest = max(w * d for w, d in zip(self.weights, self._duration, strict=True))
        return self.constant + Fraction(max(0, weighted), dearest)
