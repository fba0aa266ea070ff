"""The scheduling model that all dispatchers have in common (section 2.2): when jobs start, on pooled resources.

Interval i is job i, [s, s + d), with s in [0, eoh - d]. For each resource a cumulative constraint keeps the demand of all
jobs, running ones included, within what all nodes have together. The objective is Z of :mod:`bls.cp.objective`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from bls.cp.objective import Objective
from bls.cp.prices import Piecewise
from bls.cp.problem import Problem
from bls.cp.solver import cp_model


@dataclass
class Scheduling:
    """A model that is being made."""

    problem: Problem
    model: Any
    starts: list[Any]  # by job
    intervals: list[Any]  # by job
    running: dict[int, Any]  # from t to an instant at which running jobs end, by that instant, s after t
    # the variables that say where a job is, by job, in the order in which a search looks for the smallest domain; empty
    # for the pool
    decided: list[list[Any]] = field(default_factory=list)
    _pieces: list[tuple[int, Piecewise, list[Any], Any]] = field(default_factory=list)

    def minimise(self, objective: Objective) -> None:
        """Minimise the weighted sum of the starts; or of what these cost, in pieces. A job is in one of its pieces, and costs
        what that says."""
        library, model = cp_model(), self.model
        if objective.costs is None:
            model.minimize(library.LinearExpr.weighted_sum(self.starts, objective.weights))
            return
        summed, weights = [], []
        for job, (start, piece, latest) in enumerate(
            zip(self.starts, objective.costs, objective.latest_s, strict=True)
        ):
            if len(piece.at_s) == 1:
                summed.append(start)
                weights.append(piece.slope[0])
                continue
            literals = [model.new_bool_var("") for _ in piece.at_s]
            cost = model.new_int_var(*piece.extremes(latest), "")
            model.add_exactly_one(literals)
            ends = [*piece.at_s[1:], latest]
            for literal, at, end, value, slope in zip(literals, *piece[:1], ends, *piece[1:], strict=True):
                model.add_linear_constraint(start, at, end).only_enforce_if(literal)
                model.add(cost - slope * start == value - slope * at).only_enforce_if(literal)
            self._pieces.append((job, piece, literals, cost))
            summed.append(cost)
            weights.append(1)
        model.minimize(library.LinearExpr.weighted_sum(summed, weights))

    def hint_costs(self, start_s: list[int]) -> None:
        """Have the search begin at what starts cost."""
        for job, piece, literals, cost in self._pieces:
            now = bisect_right(piece.at_s, start_s[job]) - 1
            for k, literal in enumerate(literals):
                self.model.add_hint(literal, int(k == now))
            self.model.add_hint(cost, piece(start_s[job]))

    @property
    def n_variables(self) -> int:
        """How many variables the model has."""
        return len(self.model.proto.variables)

    def search_as_paper(self) -> None:
        """Section 3: the job of highest priority first, its earliest start; then, of its positions, the one with the
        smallest domain gets its highest value.

        That "can start first" is read as the earliest start of the job that is next by priority.
        """
        library = cp_model()
        for start, decided in zip(self.starts, self.decided or [[]] * len(self.starts), strict=True):
            self.model.add_decision_strategy([start], library.CHOOSE_FIRST, library.SELECT_MIN_VALUE)
            if decided:
                self.model.add_decision_strategy(decided, library.CHOOSE_MIN_DOMAIN_SIZE, library.SELECT_MAX_VALUE)


def scheduling(problem: Problem, objective: Objective) -> Scheduling:
    """The model of a problem on pooled resources."""
    model = cp_model().CpModel()
    durations, units = problem.duration_s.tolist(), problem.units.tolist()
    starts = [model.new_int_var(0, latest, "") for latest in objective.latest_s]
    intervals = [model.new_fixed_size_interval_var(s, d, "") for s, d in zip(starts, durations, strict=True)]
    ends, amounts = problem.pooled_ends
    running = {end: model.new_fixed_size_interval_var(0, end, "") for end in ends.tolist()}
    for kind, total in enumerate(problem.total.tolist()):
        asked = problem.per_unit[:, kind].tolist()
        wanting = [job for job, amount in enumerate(asked) if amount]
        if not wanting:
            continue
        held = [(end, amount) for end, amount in zip(running, amounts[:, kind].tolist(), strict=True) if amount]
        boxes = [intervals[job] for job in wanting] + [running[end] for end, _ in held]
        demands = [units[job] * asked[job] for job in wanting] + [amount for _, amount in held]
        model.add_cumulative(boxes, demands, total)
    made = Scheduling(problem, model, starts, intervals, running)
    made.minimise(objective)
    return made
