"""PCP'19: the scheduling model, with optional intervals on every node: one for each unit of a job that fits there (section
2.2).

Exactly rn of a job's intervals are present, all of them at the job's start. A cumulative constraint per node and resource keeps
the present intervals within the capacity. If several units of a job fit a node they are present in order, because they are
alike. There is one variable per (job, node, unit), so the number of variables grows with the machine.
"""

from typing import Any

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.scheduling import Scheduling, scheduling
from bls.cp.serial import Dispatch


def count_variables(problem: Problem) -> int:
    """Number of variables of the model: one start per job, and the presence of each unit on each node that it fits."""
    fitting = (np.minimum(problem.units_on(job, problem.capacity), problem.units[job]) for job in range(len(problem)))
    return len(problem) + int(sum(int(units.sum()) for units in fitting))


class ByNodeModel:
    """The model of a problem. ``variables`` are the starts, followed by the presence of units."""

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
        left = np.zeros((len(self._problem), len(self._problem.capacity)), np.int64)
        np.add.at(left, (np.repeat(np.arange(len(self._problem)), self._problem.units), plan.unit_node), 1)
        values = []
        for job, node in zip(self._job, self._node, strict=True):
            values.append(int(left[job, node] > 0))
            left[job, node] -= 1
        self.scheduling.hint(plan.start_s.tolist(), self.variables[len(self._problem) :], values)

    def schedule(self, values: list[int]) -> Dispatch:
        n_jobs = len(self._problem)
        present = np.flatnonzero(values[n_jobs:])
        unit_node = np.array(self._node, np.int64)[present]  # by job, and by node within
        none = np.zeros((0, len(self._problem.resources)), np.int64)
        return Dispatch(np.array(values[:n_jobs], np.int64), unit_node, none)
