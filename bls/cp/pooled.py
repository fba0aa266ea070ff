"""HCP'19, first stage: the scheduling model alone, as if all nodes were one.

Its second stage, who is where, is :mod:`bls.cp.best_fit`.
"""

from __future__ import annotations

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.scheduling import Scheduling, scheduling
from bls.cp.serial import Dispatch


class PooledModel:
    """The model of a problem."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.scheduling: Scheduling = scheduling(problem, objective)
        self.variables = self.scheduling.starts

    def hint(self, plan: Dispatch) -> None:
        """Have the search begin at a plan."""
        self.scheduling.hint_costs(plan.start_s.tolist())
        for variable, start in zip(self.variables, plan.start_s.tolist(), strict=True):
            self.scheduling.model.add_hint(variable, start)

    def schedule(self, values: list[int]) -> Dispatch:
        """The plan of the variables' values."""
        none = np.zeros(0, np.int64)
        return Dispatch(np.array(values, np.int64), none, np.zeros((0, 0), np.int64))
