"""CP-SAT, and the scheduling model of all dispatchers (section 2.2): starts of jobs, on pooled resources.

Only this module imports OR-Tools, which is an extra: ``pip install "twolevel[cp]"``. CP-SAT runs with one worker, a seed and a
limit of deterministic time, so that a solve can be repeated.

In the model interval i is job i, [s, s + d), with s in [0, eoh - d]. For each resource a cumulative constraint keeps the demand
of all jobs, including running ones, within the sum over all nodes.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from bls.cp.instance import Piecewise
from bls.cp.objective import Objective
from bls.cp.parameters import Parameters
from bls.cp.problem import Problem
from bls.cp.serial import Dispatch
from traces.base.errors import InputError

#: Result of a solve, by CP-SAT's status.
_STATUS: Final = {"OPTIMAL": "optimal", "FEASIBLE": "feasible", "UNKNOWN": "unknown", "INFEASIBLE": "infeasible"}

#: A solve that reaches the deterministic limit has counted up to it or slightly beyond; this part is left to rounding.
_ROUNDING: Final = 1e-9


@cache
def cp_model() -> Any:
    """OR-Tools' ``cp_model``, imported at first use. Raises InputError if it is not installed."""
    try:
        return import_module("ortools.sat.python.cp_model")
    except ImportError as error:
        raise InputError(f'constraint programming: {error}; pip install "twolevel[cp]" brings what it needs') from None


@dataclass(frozen=True)
class Solved:
    """Result of a solve."""

    status: str  # {"optimal", "feasible", "unknown"}: a plan that is proven to be optimal, a plan, or none
    weighted_bound: int  # lower bound of the weighted sum of starts
    values: list[int]  # values of the requested variables; empty if no plan was found
    # whether the clock ended it: nothing is proven, and the deterministic limit was not reached. Time that has run out is not
    # the criterion, since CP-SAT stops slightly earlier; but then the clock may have cut a step short.
    was_stopped: bool


def solve(model: Any, variables: Sequence[Any], parameters: Parameters, *, limit_s: float, fixed: bool) -> Solved:
    """Solve a model within ``limit_s`` deterministic seconds; return the values of ``variables``. With ``fixed`` only the
    model's own decision strategies guide the search. Raises AssertionError if the model has no plan or is invalid: a bug of the
    project."""
    library = cp_model()
    solver = library.CpSolver()
    chosen = solver.parameters
    chosen.num_workers = 1
    chosen.random_seed = parameters.seed
    chosen.max_deterministic_time = limit_s
    chosen.max_time_in_seconds = parameters.wall_s
    chosen.cp_model_presolve = parameters.presolve
    chosen.linearization_level = 0  # the relaxation is weak here, and expensive to set up
    if fixed:
        chosen.search_branching = library.FIXED_SEARCH
    name = solver.status_name(solver.solve(model))
    status = _STATUS.get(name, "invalid")
    assert status not in ("infeasible", "invalid"), f"the model is {status}: {model.validate()}"
    found = status in ("optimal", "feasible")
    response = solver.response_proto
    values = list(response.solution) if found else []
    counted_s = response.deterministic_time * (1.0 + _ROUNDING)
    return Solved(
        status=status,
        weighted_bound=int(response.inner_objective_lower_bound) if found or status == "unknown" else 0,
        values=[values[variable.index] for variable in variables] if found else [],
        was_stopped=status != "optimal" and (counted_s < limit_s or response.wall_time >= parameters.wall_s),
    )


@dataclass
class Scheduling:
    """A model under construction."""

    model: Any
    starts: list[Any]  # by job
    intervals: list[Any]  # by job
    running: dict[int, Any]  # intervals from t to an end of running jobs, by that end, s after t
    # variables of the place of each job, in the order in which a search selects the smallest domain; empty for the pool
    decided: list[list[Any]] = field(default_factory=list)
    _pieces: list[tuple[int, Piecewise, list[Any], Any]] = field(default_factory=list)

    def minimise(self, objective: Objective) -> None:
        """Minimise the weighted sum of the starts, or of their piecewise costs, where each job lies in one piece."""
        library, model = cp_model(), self.model
        if objective.costs is None:
            model.minimize(library.LinearExpr.weighted_sum(self.starts, objective.weights))
            return
        summed, weights = [], []
        jobs = zip(self.starts, objective.costs, objective.latest_s, strict=True)
        for job, (start, piece, latest) in enumerate(jobs):
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

    def hint(self, start_s: list[int], variables: Sequence[Any] = (), values: Iterable[int] = ()) -> None:
        """Begin the search at starts, with their costs, and at values of other variables."""
        for variable, value in zip((*self.starts, *variables), (*start_s, *values), strict=True):
            self.model.add_hint(variable, value)
        for job, piece, literals, cost in self._pieces:
            now = bisect_right(piece.at_s, start_s[job]) - 1
            for k, literal in enumerate(literals):
                self.model.add_hint(literal, int(k == now))
            self.model.add_hint(cost, piece(start_s[job]))

    def search_as_paper(self) -> None:
        """Search as in section 3: the job of highest priority first, with its earliest start; then, among its positions, the
        one with the smallest domain gets its highest value. The paper's "can start first" is read as the earliest start of the
        next job."""
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
    made = Scheduling(model, starts, intervals, running)
    made.minimise(objective)
    return made


class PooledModel:
    """HCP'19's first stage, as for one large node; best fit follows. As all models it has ``variables``, ``hint``, which begins
    the search at a plan, and ``schedule``, the plan that the values of the variables describe."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.scheduling: Scheduling = scheduling(problem, objective)
        self.variables = self.scheduling.starts

    def hint(self, plan: Dispatch) -> None:
        self.scheduling.hint(plan.start_s.tolist())

    def schedule(self, values: list[int]) -> Dispatch:
        none = np.zeros(0, np.int64)
        return Dispatch(np.array(values, np.int64), none, np.zeros((0, 0), np.int64))
