"""Node classes in place of positions: the number of units of a job on each class of nodes. This model is not from the papers.

Nodes with equal resources form a *class*. For a job whose units fit one class only, the start is the only unknown; for others
the model has one number per class. So the number of variables grows neither with nodes nor with units.

The sum of the resources of a class is not a sufficient limit, because a unit lies on one node. So each class is measured by
every kind of unit that is requested, and by single pieces of each resource: K(t) such units fit its nodes at t, next to the
running jobs. A unit that is m times as large counts as m units, and at any time at most K may be taken. If all units are alike
this is exact, and Z equals that of PCP'19. Otherwise the model is a relaxation, Z(pool) ≤ Z(classes) ≤ Z(pcp19), and
:mod:`bls.cp.class_places` places the jobs that start now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.scheduling import Scheduling, scheduling
from bls.cp.serial import Dispatch
from traces.compiled import Array

#: Number of kinds of units by which a class is measured besides single pieces: the kinds that fill it most. Each is a
#: constraint.
_MOST_MEASURES: Final = 24


class _Measure(NamedTuple):
    """Capacity of a class for units of one kind."""

    now: int  # units that fit now
    more: Array  # int64 (ends,): further units that fit as running jobs end, by ``problem.pooled_ends``
    taken: Array  # int64 (k,): room that a unit of each job takes, in units


@dataclass(frozen=True)
class NodeClasses:
    """Classes of a problem's nodes, with regard to the requested kinds of resources."""

    problem: Problem
    of_node: Array  # int64 (nodes,): the class of each node
    # int64 (k, classes): units of each job that fit the empty nodes of a class, at most all units of the job
    most: Array

    @classmethod
    def of(cls, problem: Problem) -> NodeClasses:
        """The classes of a problem."""
        asked = np.flatnonzero(problem.per_unit.any(axis=0))
        has, of_node = np.unique(problem.capacity[:, asked], axis=0, return_inverse=True)
        of_node = of_node.ravel()
        times, most = np.bincount(of_node), np.zeros((len(problem), len(has)), np.int64)
        for k, (units, per_unit) in enumerate(zip(problem.units.tolist(), problem.per_unit[:, asked], strict=True)):
            wanted = np.flatnonzero(per_unit)
            fits = (has[:, wanted] // per_unit[wanted]).min(axis=1) * times
            most[k] = np.minimum(fits, units)
        return cls(problem, of_node, most)

    @property
    def n_variables(self) -> int:
        """Number of variables of the model: one start per job, and the counts of units per class."""
        choices = (self.most > 0).sum(axis=1)
        return len(self.most) + int(np.where(choices > 2, choices, choices - 1).sum())

    @cached_property
    def _rows(self) -> tuple[Array, Array, Array]:
        """Free resources of nodes from certain instants on: node, index of the end (-1: now) and resources. Ordered by node and
        instant, int64 (r,), (r,), (r, resources)."""
        problem, held = self.problem, self.problem.held
        ends, _ = problem.pooled_ends
        n_nodes, n_ends = len(problem.capacity), max(1, len(ends))
        at = held.node * n_ends + np.searchsorted(ends, held.left_s)
        keys, which = np.unique(at, return_inverse=True)
        freed = np.zeros((len(keys), len(problem.resources)), np.int64)
        np.add.at(freed, (which.ravel(), held.kind), held.size)
        node = np.concatenate((np.arange(n_nodes), keys // n_ends))
        end = np.concatenate((np.full(n_nodes, -1), keys % n_ends))
        order = np.lexsort((end, node))
        node, end = node[order], end[order]
        in_all = np.concatenate((problem.free, freed))[order].cumsum(axis=0)
        first = np.flatnonzero(end < 0)
        before = np.concatenate((np.zeros((1, in_all.shape[1]), np.int64), in_all[first[1:] - 1]))
        return node, end, in_all - before[node]

    def measures(self) -> Iterator[tuple[int, _Measure]]:
        """Measures of each class, with its index: by single pieces of each kind, and by the requested units."""
        problem = self.problem
        pieces = np.eye(len(problem.resources), dtype=np.int64)[problem.per_unit.any(axis=0)]
        shapes = np.unique(problem.per_unit, axis=0)
        shapes = shapes[shapes.sum(axis=1) > 1]
        found: list[list[tuple[float, _Measure]]] = [[] for _ in range(self.most.shape[1])]
        for number, shape in enumerate((*pieces, *shapes)):
            for node_class, measure in self._measured(shape):
                wanted = float((measure.taken * self.most[:, node_class]).sum())
                if wanted > measure.now:  # else all of them fit at once
                    full = wanted / max(1, measure.now + int(measure.more.sum()))
                    found[node_class].append((np.inf if number < len(pieces) else full, measure))
        for node_class, of_class in enumerate(found):
            of_class.sort(key=lambda one: -one[0])
            n_pieces = sum(full == np.inf for full, _ in of_class)
            for _, measure in of_class[: n_pieces + _MOST_MEASURES]:
                yield node_class, measure

    def _measured(self, shape: Array) -> Iterator[tuple[int, _Measure]]:
        """Measures of all classes by one kind of unit, if a job takes room of it there."""
        kinds = np.flatnonzero(shape)
        node, end, free = self._rows
        fits = (free[:, kinds] // shape[kinds]).min(axis=1)
        first = end < 0
        gained = np.concatenate((fits[:1], np.diff(fits)))
        gained[first] = fits[first]
        n_classes, n_ends = self.most.shape[1], len(self.problem.pooled_ends[0])
        table = np.zeros((n_classes, n_ends + 1), np.int64)
        np.add.at(table, (self.of_node[node], end), gained)  # index -1, the last column, is now
        taken = (self.problem.per_unit[:, kinds] // shape[kinds]).min(axis=1)
        for node_class in np.flatnonzero(((taken > 0)[:, np.newaxis] & (self.most > 0)).any(axis=0)).tolist():
            yield node_class, _Measure(int(table[node_class, -1]), table[node_class, :-1], taken)


class ClassesModel:
    """The model of a problem. ``variables`` are the starts, then the number of units per class where there is a choice."""

    def __init__(self, problem: Problem, objective: Objective, classes: NodeClasses | None = None) -> None:
        self.scheduling: Scheduling = scheduling(problem, objective)
        self.classes = classes or NodeClasses.of(problem)
        self._problem, self._model = problem, self.scheduling.model
        counts: list[Any] = []
        #: Number of units by job and class: a variable, an expression, or a number.
        self._units: list[dict[int, Any]] = []
        self._counted: list[tuple[int, int]] = []
        for job, units in enumerate(problem.units.tolist()):
            first = len(counts)
            self._units.append(self._of_job(job, units, counts))
            self.scheduling.decided.append(counts[first:])
        self.variables = self.scheduling.starts + counts
        for node_class, measure in self.classes.measures():
            self._capacity(node_class, measure)

    def _of_job(self, job: int, units: int, counts: list[Any]) -> dict[int, Any]:
        most = self.classes.most[job]
        able = np.flatnonzero(most).tolist()
        if len(able) == 1:
            return {able[0]: units}
        found: dict[int, Any] = {}
        for node_class in able[: 1 if len(able) == 2 else None]:
            others = int(most.sum() - most[node_class])
            found[node_class] = self._model.new_int_var(max(0, units - others), int(most[node_class]), "")
            self._counted.append((job, node_class))
        counts += found.values()
        if len(able) == 2:
            found[able[1]] = units - found[able[0]]
        else:
            self._model.add(sum(found.values()) == units)
        return found

    def _capacity(self, node_class: int, measure: _Measure) -> None:
        boxes, demands = [], []
        for job, taken in enumerate(measure.taken.tolist()):
            if taken and node_class in self._units[job]:
                boxes.append(self.scheduling.intervals[job])
                demands.append(taken * self._units[job][node_class])
        ends = self._problem.pooled_ends[0].tolist()
        for end, more in zip(ends, measure.more.tolist(), strict=True):
            if more:
                boxes.append(self.scheduling.running[end])
                demands.append(more)
        self._model.add_cumulative(boxes, demands, measure.now + int(measure.more.sum()))

    def hint(self, plan: Dispatch) -> None:
        """Begin the search at a plan, with places or of this model."""
        of_classes = plan.class_units
        if of_classes is None:
            of_classes = np.zeros(self.classes.most.shape, np.int64)
            jobs = np.repeat(np.arange(len(self._problem)), self._problem.units)
            np.add.at(of_classes, (jobs, self.classes.of_node[plan.unit_node]), 1)
        values = [int(of_classes[job, one]) for job, one in self._counted]
        self.scheduling.hint(plan.start_s.tolist(), self.variables[len(self._problem) :], values)

    def schedule(self, values: list[int]) -> Dispatch:
        """The plan that the values of the variables describe; it has no places."""
        n_jobs = len(self._problem)
        units = np.where(self.classes.most > 0, self._problem.units[:, np.newaxis], 0)
        for (job, node_class), value in zip(self._counted, values[n_jobs:], strict=True):
            able = np.flatnonzero(self.classes.most[job])
            units[job, node_class] = value
            if len(able) == 2:
                units[job, able[1]] = self._problem.units[job] - value
        none = np.zeros(0, np.int64)
        return Dispatch(np.array(values[:n_jobs], np.int64), none, np.zeros((0, 0), np.int64), units)
