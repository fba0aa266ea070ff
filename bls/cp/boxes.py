"""PCP'20: the scheduling model, with a position for every unit and resource (section 3 of the paper).

The pieces of a resource lie on one axis, node by node. A unit is a box: the duration of its job × as many neighbouring
positions as the unit requests. Boxes of one resource do not overlap, and none spans two nodes. All resources of a unit are on
one node. So the number of variables depends on the waiting units and not on the machine.

The available copy of the paper lacks the beginning of section 3: that running jobs are boxes at fixed positions, and packed
(``bls.cp.instance``), was inferred. The paper finds the node of a position by an ``element`` constraint. Here a box lies within
one node because the domain of its position has gaps; with many nodes or several resources, the position is capacity × node + an
offset between 0 and capacity - request, where the node is a variable. If nodes differ in size, a literal names the class of the
unit's node. Positions of a job's units ascend, which implies the paper's ``alldifferent``. Its implied cumulative constraint in
space is left out: it hardly binds.
"""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from bls.cp.objective import Objective
from bls.cp.problem import Problem
from bls.cp.scheduling import Scheduling, cp_model, scheduling
from bls.cp.serial import Dispatch
from traces.compiled import Array

#: Up to this number of nodes, gaps in the domain of a position separate nodes; for more nodes, variables are faster than gaps.
_MOST_GAPS: Final = 128


class _Shape(NamedTuple):
    """Nodes and resources on which units of one request may lie: nodes ``hosts``, kinds of resources ``wanted``."""

    # int64 (h,), (w,), (w,)
    hosts: Array
    wanted: Array
    asked: Array
    # int64 (h, w), (h, w), (h, 2 w): lines are the capacity, and position 0 if all nodes before had the same capacity
    capacity: Array
    base: Array
    lines: Array
    first: Array  # int64: index in ``hosts`` of the first node of each class: neighbouring nodes with equal lines
    by_node: bool  # whether the node is a variable
    fixed: list[bool]  # by kind, whether the node alone determines the position

    @property
    def n_variables(self) -> int:
        """Number of variables per unit."""
        n_classes = len(self.first) if self.by_node and len(self.first) > 1 else 0
        return self.by_node + n_classes + self.fixed.count(False)


def _shape(problem: Problem, job: int) -> _Shape:
    hosts = np.flatnonzero(problem.units_on(job, problem.capacity))
    wanted = np.flatnonzero(problem.per_unit[job])
    asked = problem.per_unit[job, wanted]
    capacity, base = problem.capacity[np.ix_(hosts, wanted)], problem.base[np.ix_(hosts, wanted)]
    lines = np.concatenate((capacity, base - capacity * hosts[:, np.newaxis]), axis=1)
    first = np.flatnonzero(np.concatenate((np.ones(1, bool), (lines[1:] != lines[:-1]).any(axis=1))))
    by_node = len(wanted) > 1 or (len(hosts) > _MOST_GAPS and int(asked[0]) > 1)
    fixed = [by_node and len(first) == 1 and has == wants for has, wants in zip(capacity[0], asked, strict=True)]
    return _Shape(hosts, wanted, asked, capacity, base, lines, first, by_node, fixed)


def count_variables(problem: Problem) -> int:
    """Number of variables of the model: one start per job, and the variables of the place of each unit."""
    _, first, which = np.unique(problem.per_unit, axis=0, return_index=True, return_inverse=True)
    of_units = np.bincount(which.ravel(), weights=problem.units).tolist()
    shapes = (_shape(problem, job) for job in first.tolist())
    return len(problem) + int(sum(n * shape.n_variables for n, shape in zip(of_units, shapes, strict=True)))


class _Request(NamedTuple):
    """Possible places of the units of one request."""

    nodes: Any  # domain of the node variable; None if there is none
    # list of (Domain, int, int): classes of neighbouring nodes that are alike: their numbers, the first and the last
    classes: list[tuple[Any, int, int]]
    # the kind of resource; the request of a unit; the domain of its positions, None if the node alone determines them; and by
    # class of nodes, scale and shift: a node begins at scale × its number + shift, and has ``scale`` pieces
    kinds: list[tuple[int, int, Any, list[tuple[int, int]]]]


class _Position(NamedTuple):
    """Beginning of a unit's box on the axis of one kind of resource: scale × variable + shift."""

    unit: int
    kind: int
    variable: Any
    scale: int
    shift: int

    @property
    def term(self) -> Any:
        """The position as an expression of the model."""
        return self.variable if (self.scale, self.shift) == (1, 0) else self.scale * self.variable + self.shift


class BoxesModel:
    """The model of a problem. ``variables`` are the starts, followed by the variables of positions by unit and resource."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.scheduling: Scheduling = scheduling(problem, objective)
        self._problem, self._model = problem, self.scheduling.model
        kinds = range(len(problem.resources))
        self._when: list[list[Any]] = [[] for _ in kinds]
        self._where: list[list[Any]] = [[] for _ in kinds]
        self._requests: dict[tuple[int, ...], _Request] = {}
        self._positions: list[_Position] = []
        #: Every variable of a place, with its unit and its kind of resource; kind -1: the variable is the node.
        self._meant: list[tuple[Any, int, int]] = []
        #: Literals that are true if the node of a unit lies between a first and a last node.
        self._of_class: list[tuple[Any, int, int, int]] = []
        self._running_boxes()
        for job, units in enumerate(problem.units.tolist()):
            request, first = self._request(job), len(self._positions)
            for unit in range(int(problem.first_unit[job]), int(problem.first_unit[job]) + units):
                self._unit_boxes(job, unit, request)
            placed, asked = self._positions[first:], request.kinds[0][1]
            ascending = [position.term for position in placed[:: len(request.kinds)]]
            for lower, upper in pairwise(ascending):
                self._model.add(upper >= lower + asked)
            self.scheduling.decided.append([position.variable for position in placed])
        for when, where in zip(self._when, self._where, strict=True):
            if when:
                self._model.add_no_overlap_2d(when, where)
        self.variables = self.scheduling.starts + [position.variable for position in self._positions]

    def _running_boxes(self) -> None:
        """Add the boxes of running jobs; neighbouring boxes that end together are merged."""
        problem, held = self._problem, self._problem.held
        asked = problem.per_unit.max(axis=0).tolist()
        low = problem.base[held.node, held.kind] + held.low
        boxes: list[tuple[int, int, int, int]] = []
        columns = held.kind.tolist(), low.tolist(), held.size.tolist(), held.left_s.tolist()
        for kind, at, size, left in zip(*columns, strict=True):
            of_kind, begin, length, end = boxes[-1] if boxes else (-1, 0, 0, 0)
            if (kind, at, left) == (of_kind, begin + length, end):
                boxes[-1] = kind, begin, length + size, left
            else:
                boxes.append((kind, at, size, left))
        for kind, at, size, left in boxes:
            if asked[kind]:
                self._when[kind].append(self.scheduling.running[left])
                self._where[kind].append(self._model.new_fixed_size_interval_var(at, size, ""))

    def _request(self, job: int) -> _Request:
        """Domains that all units with the same request share."""
        key = tuple(self._problem.per_unit[job].tolist())
        if key not in self._requests:
            domain = cp_model().Domain
            hosts, wanted, asked, capacity, base, lines, first, by_node, fixed = _shape(self._problem, job)
            numbers = [run.tolist() for run in np.split(hosts, first[1:])]
            kinds: list[tuple[int, int, Any, list[tuple[int, int]]]] = []
            for k, kind in enumerate(wanted.tolist()):
                of_classes = lines[first][:, [k, k + len(wanted)]].tolist()
                gaps = np.stack((base[:, k], base[:, k] + capacity[:, k] - asked[k]), axis=1).ravel()
                positions = None
                if not fixed[k]:
                    positions = domain.from_flat_intervals((gaps[[0, -1]] if by_node else gaps).tolist())
                kinds.append((kind, int(asked[k]), positions, [(scale, shift) for scale, shift in of_classes]))
            classes = [(domain.from_values(run), run[0], run[-1]) for run in numbers]
            nodes = domain.from_values(hosts.tolist()) if by_node else None
            self._requests[key] = _Request(nodes, classes, kinds)
        return self._requests[key]

    def _unit_boxes(self, job: int, unit: int, request: _Request) -> None:
        model = self._model
        node: Any = None
        of_class: list[Any] = []
        if request.nodes is not None:
            node = model.new_int_var_from_domain(request.nodes, "")
            self._meant.append((node, unit, -1))
            of_class = self._classes(unit, node, request)
        for kind, asked, domain, lines in request.kinds:
            if domain is None:
                position = _Position(unit, kind, node, *lines[0])
            else:
                position = _Position(unit, kind, model.new_int_var_from_domain(domain, ""), 1, 0)
                self._meant.append((position.variable, unit, kind))
                for k, (scale, shift) in enumerate(lines if node is not None else ()):
                    offset = position.variable - scale * node
                    lies = model.add_linear_constraint(offset, shift, shift + scale - asked)
                    if of_class:
                        lies.only_enforce_if(of_class[k])
            self._positions.append(position)
            self._when[kind].append(self.scheduling.intervals[job])
            self._where[kind].append(model.new_fixed_size_interval_var(position.term, asked, ""))

    def _classes(self, unit: int, node: Any, request: _Request) -> list[Any]:
        """Literals that select the class of a unit's node; empty if there is only one class."""
        if len(request.classes) == 1:
            return []
        found = []
        for numbers, first, last in request.classes:
            literal = self._model.new_bool_var("")
            self._model.add_linear_expression_in_domain(node, numbers).only_enforce_if(literal)
            self._of_class.append((literal, unit, first, last))
            found.append(literal)
        self._model.add_exactly_one(found)
        return found

    def hint(self, plan: Dispatch) -> None:
        """Begin the search at a plan, with a value for every variable."""
        model, node, low = self._model, plan.unit_node, plan.unit_low
        self.scheduling.hint(plan.start_s.tolist())
        position = (self._problem.base[node] + low).tolist()
        for variable, unit, kind in self._meant:
            model.add_hint(variable, int(node[unit]) if kind < 0 else position[unit][kind])
        for literal, unit, first, last in self._of_class:
            model.add_hint(literal, int(first <= node[unit] <= last))

    def schedule(self, values: list[int]) -> Dispatch:
        problem, n_jobs = self._problem, len(self._problem)
        unit_node = np.zeros(int(problem.first_unit[-1]), np.int64)
        unit_low = np.zeros((len(unit_node), len(problem.resources)), np.int64)
        ends = problem.base + problem.capacity
        for (unit, kind, _, scale, shift), value in zip(self._positions, values[n_jobs:], strict=True):
            at = scale * value + shift
            node = int(np.searchsorted(ends[:, kind], at, side="right"))
            unit_node[unit] = node
            unit_low[unit, kind] = at - problem.base[node, kind]
        return Dispatch(np.array(values[:n_jobs], np.int64), unit_node, unit_low)
