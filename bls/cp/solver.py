"""The one door to OR-Tools, which is an extra: ``pip install "twolevel[cp]"``.

CP-SAT is run with one worker, a seed, and a limit of deterministic time, so that a solve can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from traces.base.errors import InputError

#: What became of a solve, by CP-SAT's words.
_STATUS: Final = {"OPTIMAL": "optimal", "FEASIBLE": "feasible", "UNKNOWN": "unknown", "INFEASIBLE": "infeasible"}

#: A solve that the deterministic limit ends has counted up to it, or a little beyond; so much of it is left to rounding.
_ROUNDING: Final = 1e-9


@cache
def cp_model() -> Any:
    """OR-Tools' ``cp_model``, imported when it is first needed. Raises InputError if it is not installed."""
    try:
        return import_module("ortools.sat.python.cp_model")
    except ImportError as error:
        raise InputError(f'constraint programming: {error}; pip install "twolevel[cp]" brings what it needs') from None


@dataclass(frozen=True)
class Solved:
    """What a solve found."""

    status: str  # {"optimal", "feasible", "unknown"}: a plan that is proven to be optimal, a plan, or none
    weighted_bound: int  # the weighted sum of starts is at least this
    values: list[int]  # of the variables that were asked for; empty where no plan was found
    # whether the clock ended it: nothing is proven, and the deterministic limit was not reached. That the clock has run
    # out does not say it, as CP-SAT stops a little before; where it has, though, it may have cut a step short.
    was_stopped: bool


def solve(
    model: Any, variables: Sequence[Any], *, limit_s: float, wall_s: float, seed: int, presolve: bool, fixed: bool
) -> Solved:
    """Solve a model.

    - ``variables``: whose values are wanted
    - ``limit_s``, ``wall_s``: deterministic s; and s of the clock, at which it is stopped in any case
    - ``presolve``: whether the model is rewritten first
    - ``fixed``: whether the model's own decision strategies, and nothing else, say where to look

    Raises AssertionError if the model has no plan, or is none: a bug of the project.
    """
    library = cp_model()
    solver = library.CpSolver()
    chosen = solver.parameters
    chosen.num_workers = 1
    chosen.random_seed = seed
    chosen.max_deterministic_time = limit_s
    chosen.max_time_in_seconds = wall_s
    chosen.cp_model_presolve = presolve
    chosen.linearization_level = 0  # its relaxation is weak here, and dear to set up
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
        was_stopped=status != "optimal" and (counted_s < limit_s or response.wall_time >= wall_s),
    )
