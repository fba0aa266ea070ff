"""What is minimised: Z = Σ (s - q + d) / e over the modelled jobs, exact as a fraction, and whole for the solver.

With e = d that is the sum of their slowdowns (section 2.2). Others are ours: e = max(d, 10 s), of their bounded slowdowns but
that none is less than 1; and e = 1, of their response times in s, of which only waits depend on the plan.

With weights Z = Σ u (a / d + b / 3600 s) (s - q + d): of slowdowns, and of waits in hours, and u is 1, or with
fairness between that and n / (m n'), of n modelled jobs of m users, n' of them of this job's user: then all users count as
much, however many jobs each has.

Where energy has a weight, :class:`PricedObjective` adds its cost.

Of Z only Σ s / e does. CP-SAT wants whole numbers: with D a multiple of all e, the weights D / e are
exact; where D is too large, they are S / e rounded, never 0, for an S as large as int64 bears. What they say is then not
quite Z, so plans are compared by Z itself, and a bound is made weaker by what rounding may have added.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from bls.cp.instance import UNIT, Piecewise
from bls.cp.parameters import SLOWDOWNS, DispatchWeights, Parameters
from bls.cp.problem import Problem
from traces.base.errors import InputError
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
    - ``costs``: what each start adds to Z where that is no weight × the start; :class:`PricedObjective`
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


def objective_of(problem: Problem, parameters: Parameters) -> Objective:
    """What the plans of a problem are compared by. Raises InputError if energy has a weight, and the instance says no
    prices, or not what jobs draw."""
    weights = parameters.weights
    if parameters.weighs_energy:
        return PricedObjective(problem, weights)
    return Objective(problem, parameters.goal, weights)


class PricedObjective(Objective):
    """Z of the plans of a problem in which energy has a weight; the goal is ``weighted``.

    A later start may cost less, so Z is no weighted sum of starts: it is, for each job, a function of its start that is
    linear in pieces (:class:`bls.cp.instance.Piecewise`), and in the best plan jobs may start later than they could.

    No best plan has a job start later than ``latest_s``. Whatever the others do, one of them keeps a job of d from starting for
    no longer than its own duration and d; so there is a start no later than the last running job's end and the sum of these. A
    later one pays only as long as the wait costs less than its energy may be cheaper, and not after the last change of prices.
    """

    costs: list[Piecewise]  # what each job's start adds to Z, as whole numbers as the solver has them

    def __init__(self, problem: Problem, weights: DispatchWeights) -> None:
        if problem.prices is None or problem.draw_mw is None:
            raise InputError(
                "constraint programming: energy, carbon: the instance says neither; allowed: with prices and draw_mw"
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
        most = sum(
            2 * latest * max(map(abs, piece.slope))
            for piece, latest in zip(self._exact_costs, self.latest_s, strict=True)
        )
        self.is_exact = most <= LARGEST
        self.weights, self.costs = self._exact, self._exact_costs
        if not self.is_exact:
            # Of each slope the rate is rounded, never to 0, and what energy changes: by 1.5 at the most.
            room = LARGEST - 4 * sum(self.latest_s)
            self._scale = Fraction(room * times, most)
            self.weights = [max(1, _rounded(w * room, most)) for w in self._exact]
            self.costs = [
                Piecewise.of(at, [w + _rounded(change * room * times, UNIT * most) for change in changes]).upto(latest)
                for w, (at, changes), latest in zip(self.weights, steps, self.latest_s, strict=True)
            ]

    def _latest(self, left_s: int) -> list[int]:
        """Later starts are in no best plan; see the module."""
        n, in_all, last = len(self._duration), sum(self._duration), self._weighed.from_s[-1]
        found = []
        for d, draw, rate in zip(self._duration, self._draw, self.rates, strict=True):
            others = in_all - d + (n - 1) * d
            worth = math.ceil(Fraction(draw * d * self._weighed.spread, UNIT) / rate)
            found.append(min(left_s + worth, max(last, left_s)) + others)
        return found

    @cached_property
    def constant(self) -> Fraction:
        """Z of a plan in which all start at t."""
        parts = (draw * self._weighed.until(d) for draw, d in zip(self._draw, self._duration, strict=True))
        return self._of_waits + Fraction(sum(parts), UNIT)

    @cached_property
    def least(self) -> int:
        """What :meth:`sum_of` is at least, each job by itself."""
        return sum(piece.extremes(latest)[0] for piece, latest in zip(self._exact_costs, self.latest_s, strict=True))

    @property
    def n_more_variables(self) -> int:
        """How many variables a model has more than one of starts alone."""
        return sum(len(piece.at_s) + 1 for piece in self.costs if len(piece.at_s) > 1)

    def sum_of(self, starts_s: Array) -> int:
        """What the starts add to Z in units of 1/D: what plans are compared by."""
        return sum(piece(s) for piece, s in zip(self._exact_costs, starts_s.tolist(), strict=True))

    def bound(self, weighted: int) -> Fraction:
        """What Z is at least, where the sum of costs is at least ``weighted``."""
        found = Fraction(self.least, self._common)
        if self.is_exact:
            return self.constant + max(found, Fraction(weighted, self._common))
        rounded: Fraction = (weighted - 2 * sum(self.latest_s)) / self._scale
        return self.constant + max(found, rounded)


def _rounded(above: int, below: int) -> int:
    return (2 * above + below) // (2 * below)
