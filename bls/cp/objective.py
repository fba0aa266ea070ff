"""The minimised value: Z = Σ (s - q + d) / e over the modelled jobs, exact as a fraction, and as integers for the solver.

With e = d, Z is the sum of the jobs' slowdowns (section 2.2). The paper has no other goal. e = max(d, 10 s): bounded slowdowns,
except that they may be less than 1; e = 1, response times in s; and with weights, Z = Σ u (a / d + b / 3600 s) (s - q + d):
weighted slowdowns and waits in hours. u is 1; with fairness it lies between 1 and n / (m n') for n modelled jobs of m users, n'
of them of this job's user, for which all users have the same total weight.

CP-SAT needs integers: with D a multiple of all e, the weights D / e are exact. If D is too large they are S / e rounded, never
to 0, with the largest S that int64 allows. The solver's sum then differs slightly from Z, so plans are compared by Z itself,
and a bound is weakened by the largest rounding error.
"""

import math
from fractions import Fraction
from typing import Final

import numpy as np

from bls.cp.instance import UNIT, Piecewise
from bls.cp.parameters import SLOWDOWNS, DispatchWeights, Parameters
from bls.cp.problem import Problem
from traces.base.errors import InputError
from traces.compiled import Array

BOUND_S: Final = 10  #: shorter durations count as this one in bounded slowdowns, as is usual (Feitelson and others)
_HOUR_S: Final = 3600  #: waits are weighted in hours
PART: Final = 10**6  #: weights are multiples of 1 / PART; smaller ones are refused as parameters

#: Limit of the weighted sum of the latest starts: below 2**63 with room for the solver's additions and subtractions.
LARGEST: Final = 2**58


def _weighted(problem: Problem, weights: DispatchWeights) -> list[Fraction]:
    """Cost of a second of each job's wait with the goal ``weighted``: 1 / e."""
    of_slowdown, of_wait, fair = (Fraction(round(value * PART), PART) for value in weights[:3])
    n = len(problem)
    users = np.zeros(n, np.int64) if problem.user is None else problem.user
    _, which, counts = np.unique(users, return_inverse=True, return_counts=True)
    share = [Fraction(n, len(counts) * count) for count in counts[which.ravel()].tolist()]
    rates = [of_slowdown / d + of_wait / _HOUR_S for d in problem.duration_s.tolist()]
    return [rate * (1 + fair * (one - 1)) for rate, one in zip(rates, share, strict=True)]


class Objective:
    """Z of the plans of a problem.

    - ``goal``: selects e: d, max(d, 10 s), 1, or by weights
    - ``per_s``, int64 or float64 (k,): e; ``rates``: 1 / e
    - ``weights``: weights of the starts in seconds, at least 1 each; ``is_exact``: whether they are proportional to 1/e
    - ``latest_s``, ``horizon_s``: latest start of each job, and latest end, in any optimal plan
    - ``costs``: contribution of each start to Z if that is not weight × start
    - ``constant``: Z of a plan in which all jobs start at t; ``least``: lower bound of :meth:`sum_of`
    - ``n_more_variables``: number of variables of a model in addition to those of starts and places
    """

    costs: list[Piecewise] | None = None

    def __init__(self, problem: Problem, goal: str = "slowdown", weights: DispatchWeights = SLOWDOWNS) -> None:
        if goal == "weighted":
            self.rates = _weighted(problem, weights)
            self.per_s: Array = np.array([float(1 / rate) for rate in self.rates], np.float64)
        else:
            by_goal = {"slowdown": problem.duration_s, "bounded": np.maximum(problem.duration_s, BOUND_S)}
            self.per_s = by_goal.get(goal, np.ones(len(problem), np.int64))
            self.rates = [Fraction(1, e) for e in self.per_s.tolist()]
        duration = problem.duration_s.tolist()
        self.horizon_s = problem.horizon_s
        self.latest_s = latest = [problem.horizon_s - d for d in duration]
        self._common = math.lcm(*(rate.denominator for rate in self.rates))
        self._exact = [rate.numerator * (self._common // rate.denominator) for rate in self.rates]
        self.is_exact = sum(w * s for w, s in zip(self._exact, latest, strict=True)) <= LARGEST
        self.weights = self._exact if self.is_exact else self._rounded(latest)
        until: list[int] = (problem.waited_s + problem.duration_s).tolist()
        self.constant = Fraction(sum(w * one for w, one in zip(self._exact, until, strict=True)), self._common)
        self.least = self.n_more_variables = 0

    def _rounded(self, latest: list[int]) -> list[int]:
        # Each weight is at most S / e + 1.
        weighted = sum(w * s for w, s in zip(self._exact, latest, strict=True))
        scale = max(1, (LARGEST - sum(latest)) * self._common // weighted)
        parts = ((rate.numerator, rate.denominator) for rate in self.rates)
        return [max(1, (2 * scale * above + below) // (2 * below)) for above, below in parts]

    @property
    def floor(self) -> Fraction:
        """Lower bound of Z, each job alone."""
        return self.constant + Fraction(self.least, self._common)

    def sum_of(self, starts_s: Array) -> int:
        """Σ s / e in units of 1/D, by which plans are compared."""
        return sum(w * s for w, s in zip(self._exact, starts_s.tolist(), strict=True))

    def value(self, starts_s: Array) -> Fraction:
        """Z of the plan with these starts, s after t."""
        return self.constant + Fraction(self.sum_of(starts_s), self._common)

    def bound(self, weighted: int) -> Fraction:
        """Lower bound of Z if the weighted sum of starts is at least ``weighted``."""
        if self.is_exact:
            return self.constant + Fraction(max(0, weighted), self._common)
        dearest = max(w / rate for w, rate in zip(self.weights, self.rates, strict=True))
        return self.constant + max(0, weighted) / dearest


def objective_of(problem: Problem, parameters: Parameters) -> Objective:
    """The objective of a problem's plans. Raises InputError if energy has a weight and the prices or powers are missing."""
    weights = parameters.weights
    if parameters.weighs_energy:
        return PricedObjective(problem, weights)
    return Objective(problem, parameters.goal, weights)


class PricedObjective(Objective):
    """Z of the plans of a problem in which energy has a weight; the goal is ``weighted``.

    A later start may cost less, so the cost of each job is a piecewise linear function of its start
    (:class:`bls.cp.instance.Piecewise`), and in an optimal plan jobs may start later than possible, but not later than
    ``latest_s``. Any other job delays a job of duration d by at most its own duration plus d. So some start is possible no
    later than the end of the last running job plus the sum of these delays. A later start pays only while the wait costs less
    than the cheaper energy can save, and not after the last change of prices.
    """

    costs: list[Piecewise]  # contribution of each job's start to Z, as integers for the solver

    def __init__(self, problem: Problem, weights: DispatchWeights) -> None:
        if problem.prices is None or problem.draw_mw is None:
            raise InputError(
                "constraint programming: energy, carbon: the instance lacks prices or draw_mw; allowed: with both of them"
            )
        super().__init__(problem, "weighted", weights)
        energy, carbon = round(weights.energy * PART), round(weights.carbon * PART)
        self._weighed = problem.prices.weighed(energy, carbon)
        self._draw: list[int] = problem.draw_mw.tolist()
        self._duration: list[int] = problem.duration_s.tolist()
        self.latest_s = self._latest(int(problem.held.left_s.max(initial=0)))
        self.horizon_s = max(latest + d for latest, d in zip(self.latest_s, self._duration, strict=True))
        steps = [
            (at, [draw * change for change in changes])
            for (at, changes), draw in zip(map(self._weighed.changes, self._duration), self._draw, strict=True)
        ]
        shared = math.gcd(UNIT, *(change for _, changes in steps for change in changes))
        rates, times = self._common, math.lcm(self._common, UNIT // shared)
        self._exact = [w * (times // rates) for w in self._exact]
        self._common, each = times, times // (UNIT // shared)
        self._exact_costs = [
            Piecewise.of(at, [w + change // shared * each for change in changes]).upto(latest)
            for w, (at, changes), latest in zip(self._exact, steps, self.latest_s, strict=True)
        ]
        costs = zip(self._exact_costs, self.latest_s, strict=True)
        most = sum(2 * latest * max(map(abs, piece.slope)) for piece, latest in costs)
        self.is_exact = most <= LARGEST
        self.weights, self.costs = self._exact, self._exact_costs
        parts = (draw * self._weighed.until(d) for draw, d in zip(self._draw, self._duration, strict=True))
        self.constant += Fraction(sum(parts), UNIT)
        extremes = map(Piecewise.extremes, self._exact_costs, self.latest_s)
        self.least = sum(lowest for lowest, _ in extremes)
        if not self.is_exact:
            # The rate of each slope (never to 0) and the change by energy are rounded: an error of at most 1.5.
            room = LARGEST - 4 * sum(self.latest_s)
            self._scale = Fraction(room * times, most)
            self.weights = [max(1, _rounded(w * room, most)) for w in self._exact]
            self.costs = [
                Piecewise.of(at, [w + _rounded(change * room * times, UNIT * most) for change in changes]).upto(latest)
                for w, (at, changes), latest in zip(self.weights, steps, self.latest_s, strict=True)
            ]
        self.n_more_variables = sum(len(piece.at_s) + 1 for piece in self.costs if len(piece.at_s) > 1)

    def _latest(self, left_s: int) -> list[int]:
        """Latest start of each job in any optimal plan; see the class."""
        n, in_all, last = len(self._duration), sum(self._duration), self._weighed.from_s[-1]
        found = []
        for d, draw, rate in zip(self._duration, self._draw, self.rates, strict=True):
            others = in_all - d + (n - 1) * d
            worth = math.ceil(Fraction(draw * d * self._weighed.spread, UNIT) / rate)
            found.append(min(left_s + worth, max(last, left_s)) + others)
        return found

    def sum_of(self, starts_s: Array) -> int:
        """Contribution of the starts to Z in units of 1/D, by which plans are compared."""
        return sum(piece(s) for piece, s in zip(self._exact_costs, starts_s.tolist(), strict=True))

    def bound(self, weighted: int) -> Fraction:
        """Lower bound of Z if the sum of costs is at least ``weighted``."""
        found = Fraction(self.least, self._common)
        if self.is_exact:
            return self.constant + max(found, Fraction(weighted, self._common))
        rounded: Fraction = (weighted - 2 * sum(self.latest_s)) / self._scale
        return self.constant + max(found, rounded)


def _rounded(above: int, below: int) -> int:
    return (2 * above + below) // (2 * below)
