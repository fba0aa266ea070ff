"""What is minimised: Z = Σ (s - q + d) / e over the modelled jobs, exact as a fraction, and whole for the solver.

With e = d that is the sum of their slowdowns (section 2.2). Others are ours: e = max(d, 10 s), of their bounded slowdowns but
that none is less than 1; and e = 1, of their response times in s, of which only waits depend on the plan.

Of Z only Σ s / e does. CP-SAT wants whole numbers: with D a multiple of all e, the weights D / e are
exact; where D is too large, they are S / e rounded, never 0, for an S as large as int64 bears. What they say is then not
quite Z, so plans are compared by Z itself, and a bound is made weaker by what rounding may have added.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from bls.cp.problem import Problem
from traces.compiled import Array

__all__ = ["BOUND_S", "Objective"]

#: What counts as the duration of shorter jobs where slowdowns are bounded, as Feitelson and others have it.
BOUND_S: Final = 10

#: What the weighted sum of the latest starts may be: below 2**63 with room for what the solver adds and subtracts.
_LARGEST: Final = 2**58


class Objective:
    """Z of the plans of a problem.

    Parameters
    ----------
    problem : Problem
    goal : {"slowdown", "bounded", "wait"}
        What e is: d, max(d, 10 s) or 1.

    Attributes
    ----------
    per_s : int64 (k,)
        e.
    weights : list of int
        Of the starts in seconds, at least 1 each.
    is_exact : bool
        Whether they are proportional to 1/e.
    """

    def __init__(self, problem: Problem, goal: str = "slowdown") -> None:
        by_goal = {"slowdown": problem.duration_s, "bounded": np.maximum(problem.duration_s, BOUND_S)}
        self.per_s: Array = by_goal.get(goal, np.ones(len(problem), np.int64))
        self._per: list[int] = self.per_s.tolist()
        duration = problem.duration_s.tolist()
        self._until: list[int] = (problem.waited_s + problem.duration_s).tolist()
        latest = [problem.horizon_s - d for d in duration]
        self._common = math.lcm(*self._per)
        self._exact = [self._common // e for e in self._per]
        self.is_exact = sum(w * s for w, s in zip(self._exact, latest, strict=True)) <= _LARGEST
        self.weights = self._exact if self.is_exact else self._rounded(latest)

    def _rounded(self, latest: list[int]) -> list[int]:
        # Each weight is at most S / e + 1.
        weighted = sum(w * s for w, s in zip(self._exact, latest, strict=True))
        scale = max(1, (_LARGEST - sum(latest)) * self._common // weighted)
        return [max(1, (2 * scale + e) // (2 * e)) for e in self._per]

    @cached_property
    def constant(self) -> Fraction:
        """Z of a plan in which all start at t."""
        many = zip(self._exact, self._until, strict=True)
        return Fraction(sum(w * until for w, until in many), self._common)

    def sum_of(self, starts_s: Array) -> int:
        """Σ s / e in units of 1/D: what plans are compared by."""
        return sum(w * s for w, s in zip(self._exact, starts_s.tolist(), strict=True))

    def value(self, starts_s: Array) -> Fraction:
        """Z of the plan with these starts, s after t."""
        return self.constant + Fraction(self.sum_of(starts_s), self._common)

    def bound(self, weighted: int) -> Fraction:
        """What Z is at least, where the weighted sum of starts is at least ``weighted``."""
        if self.is_exact:
            return self.constant + Fraction(max(0, weighted), self._common)
        dearest = max(w * e for w, e in zip(self.weights, self._per, strict=True))
        return self.constant + Fraction(max(0, weighted), dearest)
