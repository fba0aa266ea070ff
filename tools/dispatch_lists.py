"""A list in one order only, for the study of dispatchers that plan: by the ranking, as the prototype of ``bls.cp`` had it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.cp import Instance
from bls.cp.dispatch import fitted
from bls.cp.objective import Objective
from bls.cp.plan import Plan
from bls.cp.problem import in_large_pieces, problem_of
from bls.cp.ranking import holders, select
from bls.cp.serial import POOL, SerialGeneration
from bls.policies.planning.planner import Planner
from bls.policies.planning.run import PlannedRun

__all__ = ["RANKED", "Ranked", "RankedRun"]


class RankedRun(PlannedRun):
    """A run whose passes put each job, in the order of the ranking, where it can start first; on pooled resources."""

    def plan(self, instance: Instance) -> Plan:
        """The plan of an instance."""
        place = select(instance, self.parameters.queue, self.parameters.which)
        problem = problem_of(instance, place)
        if not len(place) or not holders(instance.free, instance.queue, place).any():
            return Plan(self.name, "nothing", place=place[:0])
        pieces = in_large_pieces(problem)
        schedule = SerialGeneration(pieces, POOL)(np.arange(len(pieces)))
        value = Objective(pieces, self.parameters.goal, self.parameters.weights).value(schedule.start_s)
        starts, unplaced = fitted(problem, schedule, instance.queue.row)
        return Plan(
            self.name,
            "feasible",
            source="planned",
            value=value,
            list_value=value,
            list_order="slowdown",
            modelled=len(problem),
            place=problem.place,
            schedule=schedule,
            starts=starts,
            unplaced=unplaced,
        )


@dataclass(frozen=True)
class Ranked(Planner):
    """A planner of such runs."""

    def for_run(self) -> RankedRun:
        """The policy of one run."""
        return RankedRun(self.name, self.parameters)


#: All that wait, by the ranking.
RANKED = Ranked(name="hcp19", which="all", search="list")
