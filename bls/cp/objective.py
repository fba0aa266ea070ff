"""What is minimised: Z = Σ (s - q + d) / e over the modelled jobs, exact as a fraction, and whole for the solver.

With e = d that is the sum of their slowdowns (section 2.2). Others are ours: e = max(d, 10 s), of their bounded slowdowns but
that none is less than 1; and e = 1, of their response times in s, of which only waits depend on the plan.

With weights Z = Σ u (a / d + b / 3600 s) (s - q + d): of slowdowns, and of waits in hours, and u is 1, or with
fairness between that and n / (m n'), of n modelled jobs of m users, n' of them of this job's user: then all users count as
much, however many jobs each has.

Where energy has a weight, :mod:`bls.cp.priced` adds what it costs.

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

from bls.cp.parameters import SLOWDOWNS, DispatchWeights
from bls.cp.prices import Piecewise
from bls.cp.problem import Problem
from traces.compiled import Array

#: What counts as the duration of shorter jobs where slowdowns are bounded, as Feitelson and others have it.
BOUND_S: Final = 10

#: A wait is weighed in hours.
_HOUR_S: Final = 3600

#: Weights are whole numbers of this part; smaller ones are refused where they are given.
PART: Final = 10**6

#: What the weighted sum of the latest starts may be: below 2**63 with room for what the solver adds and subtracts.
LARGEST: Final = 2**58


def _weighted(problem: Problem, weights: DispatchWeights) -> list[Fraction]:
    """What a second of each job's wait costs by weights: 1 / e where the goal is ``weighted``."""
    of_slowdown, of_wait, fair = (Fraction(round(value * PART), PART) for value in weights[:3])
    n = len(problem)
    users = np.zeros(n, np.int64) if problem.user is None else problem.user
    _, which, counts = np.unique(users, return_inverse=True, return_counts=True)
    share = [Fraction(n, len(counts) * count) for count in counts[which.ravel()].tolist()]
    rates = [of_slowdown / d + of_wait / _HOUR_S for d in problem.duration_s.tolist()]
    return [rate * (1 + fair * (one - 1)) for rate, one in zip(rates, share, strict=True)]


class Objective:
    """Z of the plans of a problem.

    - ``goal``, {"slowdown", "bounded", "wait", "weighted"}: what e is: d, max(d, 10 s), 1, or what weights say
    - ``per_s``, int64 or float64 (k,): e; where the goal is ``weighted`` as floats
    - ``rates``: 1 / e
    - ``weights``: of the starts in seconds, at least 1 each
    - ``is_exact``: whether they are proportional to 1/e
    - ``latest_s``: no best plan has a job start later
    - ``horizon_s``: nor end later
    - ``costs``: what each start adds to Z where that is no weight × the start; :mod:`bls.cp.priced`
    - ``least``: what :meth:`sum_of` is at least
    """

    costs: list[Piecewise] | None = None

    @property
    def n_more_variables(self) -> int:
        """How many variables a model has beside those of starts and places."""
        return 0

    def __init__(self, problem: Problem, goal: str = "slowdown", weights: DispatchWeights = SLOWDOWNS) -> None:
        if goal == "weighted":
            self.rates = _weighted(problem, weights)
            self.per_s: Array = np.array([float(1 / rate) for rate in self.rates], np.float64)
        else:
            by_goal = {"slowdown": problem.duration_s, "bounded": np.maximum(problem.duration_s, BOUND_S)}
            self.per_s = by_goal.get(goal, np.ones(len(problem), np.int64))
            self.rates = [Fraction(1, e) for e in self.per_s.tolist()]
        duration = problem.duration_s.tolist()
        self._until: list[int] = (problem.waited_s + problem.duration_s).tolist()
        self.horizon_s = problem.horizon_s
        self.latest_s = latest = [problem.horizon_s - d for d in duration]
        self._common = math.lcm(*(rate.denominator for rate in self.rates))
        self._exact = [rate.numerator * (self._common // rate.denominator) for rate in self.rates]
        self.is_exact = sum(w * s for w, s in zip(self._exact, latest, strict=True)) <= LARGEST
        self.weights = self._exact if self.is_exact else self._rounded(latest)

    def _rounded(self, latest: list[int]) -> list[int]:
        # Each weight is at most S / e + 1.
        weighted = sum(w * s for w, s in zip(self._exact, latest, strict=True))
        scale = max(1, (LARGEST - sum(latest)) * self._common // weighted)
        parts = ((rate.numerator, rate.denominator) for rate in self.rates)
        return [max(1, (2 * scale * above + below) // (2 * below)) for above, below in parts]

    @property
    def _of_waits(self) -> Fraction:
        # Σ (d - q) / e
        many = zip(self._exact, self._until, strict=True)
        return Fraction(sum(w * until for w, until in many), self._common)

    @cached_property
    def constant(self) -> Fraction:
        """Z of a plan in which all start at t."""
        return self._of_waits

    @cached_property
    def least(self) -> int:
        """What :meth:`sum_of` is at least."""
        return 0

    @property
    def floor(self) -> Fraction:
        """What Z is at least, each job by itself."""
        return self.constant + Fraction(self.least, self._common)

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
        dearest = max(w / rate for w, rate in zip(self.weights, self.rates, strict=True))
        return self.constant + max(0, weighted) / dearest
