"""What is minimised where energy counts, too: Z of :mod:`bls.cp.objective` and, of each job, what its energy costs.

What starts later may cost less then, so Z is no weighted sum of starts any more: of each job it is a function of its start
that is linear in pieces (:class:`bls.cp.prices.Piecewise`), and in the best plan jobs may start later than they could.

No best plan has a job start later than ``latest_s``. Whatever the others do, one of them keeps a job of d from starting for no
longer than its own duration and d; so there is a start no later than the last running job's end and the sum of these. A later
one is worth it only as long as the wait costs less than its energy may be cheaper, and not behind the last change of prices.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

from bls.cp.objective import LARGEST, PART, Objective
from bls.cp.parameters import DispatchWeights, Parameters
from bls.cp.prices import UNIT, Piecewise
from bls.cp.problem import Problem
from traces.base.errors import InputError
from traces.compiled import Array


def objective_of(problem: Problem, parameters: Parameters) -> Objective:
    """What the plans of a problem are compared by. Raises InputError if energy has a weight, and the instance says no
    prices, or not what jobs draw."""
    weights = parameters.weights
    if parameters.weighs_energy:
        return PricedObjective(problem, weights)
    return Objective(problem, parameters.goal, weights)


class PricedObjective(Objective):
    """Z of the plans of a problem in which energy has a weight; the goal is ``weighted``."""

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
