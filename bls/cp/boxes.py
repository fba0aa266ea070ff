"""PCP'20: the scheduling model, and for every unit and resource a position (section 3).

All nodes' pieces of a resource lie on one axis, node by node. A unit is a box: the job's time × as many neighbouring
positions as it asks for; boxes of a resource do not overlap, and none lies across two nodes. All resources of a unit are
on one node. So the number of variables depends on the units that wait, not on the machine.

The paper's copy that this was made from lacks the end of section 2.2 and the begin of section 3, where the axis is
introduced; that running jobs are boxes at fixed positions, and that these are packed (``bls.cp.instance``), was inferred.
Said in other ways:

- On which node a position is, an ``element`` constraint in the paper: a box lies within a node as its position has a
  domain with gaps, or, where there are many nodes or several resources, as it is from 0 to capacity - request above
  capacity × node, a variable; of a unit that asks for all of a node that is all. Only where a unit of several resources
  may be on nodes of several sizes, a table is looked up, as in the paper.
- Units of a job are alike: their positions ascend, which implies the paper's ``alldifferent``.
- Of its two implied cumulative constraints the one in time is in the scheduling model; the one in space (demand: time,
  capacity: eoh) hardly binds, as eoh is about the sum of all durations, and is left out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.scheduling import Scheduling, scheduling
from bls.cp.serial import Schedule
from bls.cp.solver import cp_model
from traces.compiled import Array

__all__ = ["BoxesModel"]

#: So many nodes are told apart by gaps in the domain of a position; of more, variables are quicker than gaps.
_MOST_GAPS: Final = 128


class _Kind(NamedTuple):
    """What units of a request need of one kind of resource.

    Attributes
    ----------
    kind, asked : int
    domain : Domain or None
        Of positions; None where the node alone says the position.
    scale, shift : int
        A node begins at scale × its number + shift, and has ``scale`` of it; 0, 0 where this is not so of all that may
        host it.
    """

    kind: int
    asked: int
    domain: Any
    scale: int
    shift: int


class _Request(NamedTuple):
    """Where units of a request may be: the domain of a variable for the node, None if none is needed; and its resources."""

    nodes: Any
    kinds: list[_Kind]


class _Position(NamedTuple):
    """Where a unit's box of a kind of resource begins on the axis: scale × variable + shift."""

    unit: int
    kind: int
    variable: Any
    scale: int
    shift: int

    @property
    def term(self) -> Any:
        """What the model knows it by."""
        return self.variable if (self.scale, self.shift) == (1, 0) else self.scale * self.variable + self.shift


class BoxesModel:
    """The model of a problem.

    Attributes
    ----------
    scheduling : Scheduling
    variables : list of IntVar
        Starts, and then what positions are made of, by unit and resource; all else that says where a unit is follows.
    """

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.scheduling: Scheduling = scheduling(problem, objective)
        self._problem, self._model = problem, self.scheduling.model
        kinds = range(len(problem.resources))
        self._when: list[list[Any]] = [[] for _ in kinds]
        self._where: list[list[Any]] = [[] for _ in kinds]
        self._requests: dict[tuple[int, ...], _Request] = {}
        self._positions: list[_Position] = []
        #: Every variable of a place: of which unit, and of which kind the position; -1: it is the node.
        self._meant: list[tuple[Any, int, int]] = []
        self._running_boxes()
        for job, units in enumerate(problem.units.tolist()):
            request, first = self._request(job), len(self._positions)
            for unit in range(int(problem.first_unit[job]), int(problem.first_unit[job]) + units):
                self._unit_boxes(job, unit, request)
            placed, asked = self._positions[first:], request.kinds[0].asked
            ascending = [position.term for position in placed[:: len(request.kinds)]]
            for lower, upper in pairwise(ascending):
                self._model.add(upper >= lower + asked)
            self.scheduling.decided.append([position.variable for position in placed])
        for when, where in zip(self._when, self._where, strict=True):
            if when:
                self._model.add_no_overlap_2d(when, where)
        self.variables = self.scheduling.starts + [position.variable for position in self._positions]

    def _running_boxes(self) -> None:
        """Boxes of running jobs; neighbours on the axis that end together are one."""
        problem, held = self._problem, self._problem.held
        asked = problem.per_unit.max(axis=0).tolist()
        low = problem.base[held.node, held.kind] + held.low
        open_box: tuple[int, int, int, int] | None = None
        boxes: list[tuple[int, int, int, int]] = []
        columns = held.kind.tolist(), low.tolist(), held.size.tolist(), held.left_s.tolist()
        for kind, at, size, left in zip(*columns, strict=True):
            if open_box is not None and (kind, at, left) == (open_box[0], open_box[1] + open_box[2], open_box[3]):
                open_box = kind, open_box[1], open_box[2] + size, left
                boxes[-1] = open_box
            else:
                open_box = kind, at, size, left
                boxes.append(open_box)
        for kind, at, size, left in boxes:
            if asked[kind]:
                self._when[kind].append(self.scheduling.running[left])
                self._where[kind].append(self._model.new_fixed_size_interval_var(at, size, ""))

    def _request(self, job: int) -> _Request:
        """What is the same for all units of all jobs that ask for the same."""
        key = tuple(self._problem.per_unit[job].tolist())
        if key not in self._requests:
            problem, library = self._problem, cp_model()
            hosts = np.flatnonzero(problem.units_on(job, problem.capacity))
            wanted = [kind for kind, asked in enumerate(key) if asked]
            affine = [self._affine(kind, hosts) for kind in wanted]
            by_node = len(wanted) > 1 or (len(hosts) > _MOST_GAPS and key[wanted[0]] > 1 and affine[0][0] > 0)
            kinds = []
            for kind, (scale, shift) in zip(wanted, affine, strict=True):
                low = problem.base[hosts, kind]
                gaps = np.stack((low, low + problem.capacity[hosts, kind] - key[kind]), axis=1).ravel()
                tied = by_node and scale > 0
                domain = library.Domain.from_flat_intervals((gaps[[0, -1]] if tied else gaps).tolist())
                kinds.append(_Kind(kind, key[kind], None if tied and scale == key[kind] else domain, scale, shift))
            nodes = library.Domain.from_values(hosts.tolist()) if by_node else None
            self._requests[key] = _Request(nodes, kinds)
        return self._requests[key]

    def _affine(self, kind: int, hosts: Array) -> tuple[int, int]:
        capacities, bases = self._problem.capacity[hosts, kind], self._problem.base[hosts, kind]
        scale = int(capacities[0])
        shift = int(bases[0]) - scale * int(hosts[0])
        return (scale, shift) if (capacities == scale).all() and (bases - shift == scale * hosts).all() else (0, 0)

    def _unit_boxes(self, job: int, unit: int, request: _Request) -> None:
        model, node = self._model, None
        if request.nodes is not None:
            node = model.new_int_var_from_domain(request.nodes, "")
            self._meant.append((node, unit, -1))
        for kind, asked, domain, scale, shift in request.kinds:
            if domain is None:
                position = _Position(unit, kind, node, scale, shift)
            else:
                position = _Position(unit, kind, model.new_int_var_from_domain(domain, ""), 1, 0)
                self._meant.append((position.variable, unit, kind))
                if node is not None:
                    self._tie(position, node, asked, scale, shift)
            self._positions.append(position)
            self._when[kind].append(self.scheduling.intervals[job])
            self._where[kind].append(model.new_fixed_size_interval_var(position.term, asked, ""))

    def _tie(self, position: _Position, node: Any, asked: int, scale: int, shift: int) -> None:
        """Have a position lie on a node."""
        if scale:
            self._model.add_linear_constraint(position.variable - scale * node, shift, shift + scale - asked)
        else:
            capacity = self._problem.capacity[:, position.kind]
            self._model.add_element(position.variable, np.repeat(np.arange(len(capacity)), capacity).tolist(), node)

    def hint(self, plan: Schedule) -> None:
        """Have the search begin at a plan; every variable is given its value."""
        model, node, low = self._model, plan.unit_node, plan.unit_low
        for variable, start in zip(self.scheduling.starts, plan.start_s.tolist(), strict=True):
            model.add_hint(variable, start)
        position = (self._problem.base[node] + low).tolist()
        for variable, unit, kind in self._meant:
            model.add_hint(variable, int(node[unit]) if kind < 0 else position[unit][kind])

    def schedule(self, values: list[int]) -> Schedule:
        """The plan of the variables' values."""
        problem, n_jobs = self._problem, len(self._problem)
        unit_node = np.zeros(int(problem.first_unit[-1]), np.int64)
        unit_low = np.zeros((len(unit_node), len(problem.resources)), np.int64)
        ends = problem.base + problem.capacity
        for (unit, kind, _, scale, shift), value in zip(self._positions, values[n_jobs:], strict=True):
            at = scale * value + shift
            node = int(np.searchsorted(ends[:, kind], at, side="right"))
            unit_node[unit] = node
            unit_low[unit, kind] = at - problem.base[node, kind]
        return Schedule(np.array(values[:n_jobs], np.int64), unit_node, unit_low)
