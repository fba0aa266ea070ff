"""PCP'19: the scheduling model, and on every node as many optional intervals of a job as units of it fit there (section
2.2).

Of a job's intervals rn are present, all at the job's start; on each node a cumulative constraint for each resource keeps
what is present there within its capacity. Where several units of a job fit a node, they are present in order, as they are
alike. The number of variables is that of (job, node, unit): it grows with the machine.
"""

from typing import Any

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.scheduling import Scheduling, scheduling
from bls.cp.serial import Dispatch


def count_variables(problem: Problem) -> int:
    """How many variables the model has: a start for every job, and whether each unit that fits a node is there."""
    fitting = (np.minimum(problem.units_on(job, problem.capacity), problem.units[job]) for job in range(len(problem)))
    return len(problem) + int(sum(int(units.sum()) for units in fitting))


class ByNodeModel:
    """The model of a problem. ``variables``: starts, and then whether units are present."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.scheduling: Scheduling = scheduling(problem, objective)
        self._problem, model = problem, self.scheduling.model
        self._job: list[int] = []
        self._node: list[int] = []
        present: list[Any] = []
        on_node: list[list[tuple[int, Any]]] = [[] for _ in range(len(problem.capacity))]
        durations = problem.duration_s.tolist()
        for job, units in enumerate(problem.units.tolist()):
            start, first = self.scheduling.starts[job], len(present)
            fitting = np.minimum(problem.units_on(job, problem.capacity), units)
            for node in np.flatnonzero(fitting).tolist():
                for unit in range(int(fitting[node])):
                    literal = model.new_bool_var("")
                    if unit:
                        model.add_implication(literal, present[-1])
                    present.append(literal)
                    box = model.new_optional_fixed_size_interval_var(start, durations[job], literal, "")
                    on_node[node].append((job, box))
                    self._job.append(job)
                    self._node.append(node)
            model.add(sum(present[first:]) == units)
            self.scheduling.decided.append(present[first:])
        self._capacities(on_node)
        self.variables = self.scheduling.starts + present

    def _capacities(self, on_node: list[list[tuple[int, Any]]]) -> None:
        problem, held = self._problem, self._problem.held
        running: dict[tuple[int, int], list[tuple[int, int]]] = {}
        columns = held.node.tolist(), held.kind.tolist(), held.size.tolist(), held.left_s.tolist()
        for node, kind, size, left in zip(*columns, strict=True):
            running.setdefault((node, kind), []).append((left, size))
        asked = problem.per_unit.tolist()
        for node, capacities in enumerate(problem.capacity.tolist()):
            for kind, capacity in enumerate(capacities):
                wanting = [(box, asked[job][kind]) for job, box in on_node[node] if asked[job][kind]]
                if wanting:
                    wanting += [(self.scheduling.running[left], size) for left, size in running.get((node, kind), ())]
                    boxes, demands = zip(*wanting, strict=True)
                    self.scheduling.model.add_cumulative(boxes, demands, capacity)

    def hint(self, plan: Dispatch) -> None:
        """Have the search begin at a plan."""
        left = np.zeros((len(self._problem), len(self._problem.capacity)), np.int64)
        np.add.at(left, (np.repeat(np.arange(len(self._problem)), self._problem.units), plan.unit_node), 1)
        values = []
        for job, node in zip(self._job, self._node, strict=True):
            values.append(int(left[job, node] > 0))
            left[job, node] -= 1
        self.scheduling.hint(plan.start_s.tolist(), self.variables[len(self._problem) :], values)

    def schedule(self, values: list[int]) -> Dispatch:
        """The plan of the variables' values."""
        n_jobs = len(self._problem)
        present = np.flatnonzero(values[n_jobs:])
        unit_node = np.array(self._node, np.int64)[present]  # by job, and by node within
        none = np.zeros((0, len(self._problem.resources)), np.int64)
        return Dispatch(np.array(values[:n_jobs], np.int64), unit_node, none)
