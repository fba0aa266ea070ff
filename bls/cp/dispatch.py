"""A dispatch: which jobs are modelled, the list, the model and its search, and the jobs that start.

The list's plan is complete. The solver begins with it and can only improve it. If the solver finds no plan, or the clock stops
it, the list starts jobs. On an idle machine both start some job at once. Only if energy has a price may all jobs be held back
until the first planned start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from bls.cp import boxes, by_node
from bls.cp.boxes import BoxesModel
from bls.cp.by_node import ByNodeModel
from bls.cp.class_places import best_fit, class_places
from bls.cp.classes import ClassesModel, NodeClasses
from bls.cp.instance import Instance
from bls.cp.objective import Objective, objective_of
from bls.cp.parameters import MODELS, Parameters
from bls.cp.problem import Problem, holders, in_large_pieces, problem_of, select
from bls.cp.reduction import Follower, placed, reduced, without_followers
from bls.cp.scheduling import PooledModel, cp_model, solve
from bls.cp.serial import Dispatch, SerialGeneration, best_list, bettered
from bls.cp.serial_kernel import BOXES, NODES, POOL
from traces.base.errors import one_of
from traces.compiled import Array


class PlannedStart(NamedTuple):
    """A job that starts at t."""

    # its position in the queue, and the caller's name of it
    place: int
    row: int
    unit_node: Array  # int64 (units,): the node of each of its units
    # int64 (units, resources) or None: with the model of boxes, the first position of each unit within its node; 0 for
    # resources that it does not request
    unit_low: Array | None

    @property
    def units_on(self) -> dict[int, int]:
        """Number of units per node, in ascending order of nodes."""
        nodes, counts = np.unique(self.unit_node, return_counts=True)
        return dict(zip(nodes.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True)
class DispatchPlan:
    """A decision."""

    model: str  # ``hcp19``, ``cp-classes``, ``pcp19`` or ``pcp20``
    # {"optimal" (by the solver's weights), "feasible", "unknown" (no plan in time), "too-large" (no model was made), "nothing"
    # (no job fits the free resources)}
    status: str
    source: str = "planned"  # {"planned", "fallback"}: whether the solver's or the list's plan starts jobs
    is_repeatable: bool = True  # false if the clock stopped a solve
    is_exact: bool = True  # whether the solver's weights are proportional to 1/d
    # Z of the plan, Z of the list, and a lower bound of Z; None if nothing was planned. With ``hcp19`` all refer to the
    # pool; of ``cp-classes`` the list's has places, and the plan's may have none.
    value: Fraction | None = None
    list_value: Fraction | None = None
    bound: Fraction | None = None
    list_order: str = ""  # the order of the list, one of :data:`bls.cp.serial.ORDERS`
    # jobs and variables of the model, and number of solves; 0 variables if no model was made
    modelled: int = 0
    variables: int = 0
    solves: int = 0
    # duration by the caller's clock
    list_ns: int = 0
    build_ns: int = 0
    solve_ns: int = 0
    place: Array | None = None  # int64 (modelled,): the jobs, by their places in the queue, the highest priority first
    schedule: Dispatch | None = None  # planned starts, nodes and positions; None if nothing was planned
    starts: tuple[PlannedStart, ...] = ()  # jobs that start now, by priority
    unplaced: tuple[int, ...] = ()  # rows of jobs that the plan starts now but for which no nodes are left; they wait

    @property
    def is_solved(self) -> bool:
        """Whether the next dispatch may model as many jobs as allowed: a plan was found, and no solve stopped by the clock."""
        return self.is_repeatable and (self.source == "planned" or self.status != "unknown")


def starts_of(problem: Problem, schedule: Dispatch, row: Array) -> tuple[PlannedStart, ...]:
    """Jobs that start at t in a schedule with places on the machine's nodes. ``row``, int64 (n,): rows of the queue."""
    found = []
    for job in np.flatnonzero(schedule.start_s == 0).tolist():
        units = slice(int(problem.first_unit[job]), int(problem.first_unit[job + 1]))
        node = schedule.unit_node[units]
        low = schedule.unit_low[units] if len(schedule.unit_low) else None
        place = int(problem.place[job])
        found.append(PlannedStart(place, int(row[place]), node, low))
    return tuple(found)


_Model: TypeAlias = PooledModel | ClassesModel | ByNodeModel | BoxesModel

#: Model and kind of room of the lists, by dispatcher.
_KINDS: Final[dict[str, tuple[type[_Model], int]]] = {
    "hcp19": (PooledModel, POOL),
    "cp-classes": (ClassesModel, NODES),
    "pcp19": (ByNodeModel, NODES),
    "pcp20": (BoxesModel, BOXES),
}


#: Limit of the capacity of all nodes × the horizon, per kind of resource: CP-SAT sums areas of running and waiting jobs.
_LARGEST_AREA: Final = 2.0**60


def dispatch(
    instance: Instance,
    model: str,
    parameters: Parameters,
    *,
    queue: int | None = None,
    last_s: Array | None = None,
    clock_ns: Callable[[], int] = lambda: 0,
) -> DispatchPlan:
    """Decide which jobs start at t, and where.

    Parameters
    ----------
    instance : Instance
    model : str
        One of ``bls.cp.parameters.MODELS``.
    parameters : Parameters
    queue : int, optional
        The largest number of jobs to model now, if not ``parameters.queue``.
    last_s : int64 (n,), optional
        Starts of the queue's jobs in the previous plan, s from any origin, -1 for others: a further order of the list.
    clock_ns : callable
        Clock that measures times, ns; without it they are 0. Decisions do not depend on it.

    Raises
    ------
    InputError
        If the model is unknown, or OR-Tools is not installed.
    """
    if model not in MODELS:
        raise one_of("model", model, MODELS, "constraint programming")
    if parameters.has_solver:
        cp_model()  # fail at once if it is not installed
    place = select(instance, parameters.queue if queue is None else queue, parameters.which)
    problem = problem_of(instance, place)
    fitting = parameters.which == "fits" or holders(instance.free, instance.queue, place).any()
    if not len(place) or not fitting:
        return DispatchPlan(model, "nothing", place=place[:0])
    return plan(problem, model, parameters, row=instance.queue.row, last_s=last_s, clock_ns=clock_ns)


def plan(
    problem: Problem,
    model: str,
    parameters: Parameters,
    *,
    row: Array,
    last_s: Array | None = None,
    clock_ns: Callable[[], int] = lambda: 0,
) -> DispatchPlan:
    """Plan the jobs of a problem, as :func:`dispatch` does; ``row`` and ``last_s`` are columns of the queue."""
    kind, room = _KINDS[model]
    given, problem = problem, in_large_pieces(problem)
    began = clock_ns()
    followers: list[Follower] = []
    if room == BOXES:
        problem, followers = without_followers(problem)
    if bool((problem.per_unit.sum(axis=1) == 1).all()):
        # Each unit requests one piece of one kind, and a piece that is free at its start stays free. So places exist wherever
        # enough pieces are free, and the pooled model has the same plans as the others.
        kind = PooledModel
    whole, where = problem, None
    if room == BOXES:
        problem, where = reduced(problem)
    objective = objective_of(problem, parameters)
    generation = SerialGeneration(problem, room, objective=objective)
    last = None if last_s is None else last_s[problem.place]
    listed, order = best_list(problem, objective, generation, last)
    value = objective.value(listed.start_s)
    found = DispatchPlan(
        model,
        "unknown",
        source="fallback",
        is_exact=objective.is_exact,
        list_value=value,
        bound=objective.floor,
        list_order=order,
        modelled=len(problem),
        place=problem.place,
        list_ns=clock_ns() - began,
    )
    chosen, solving = listed, _Solving(problem, objective, generation, parameters, clock_ns)
    if objective.sum_of(listed.start_s) == objective.least:  # optimal; usually because all jobs start
        found = replace(found, status="optimal", source="planned")
    elif parameters.search == "list":
        found = replace(found, status="feasible", source="planned")
    elif parameters.search == "lns":
        began, lists, seed = clock_ns(), parameters.lists, parameters.seed
        chosen = bettered(problem, objective, generation, listed, lists=lists, seed=seed)
        found = replace(found, status="feasible", source="planned", solve_ns=clock_ns() - began)
    elif solving.is_too_large(kind):
        found = replace(found, status="too-large")
    else:
        hint = listed
        if parameters.search == "guided" and kind is not PooledModel:
            found, hint = solving.guided(whole, listed, found)
        if found.is_repeatable:
            found, chosen = solving.solved(kind, hint, found)
            if kind is PooledModel and room != POOL:
                chosen = generation.as_planned(chosen.start_s)  # no job later, and all have places
        if found.source == "fallback":
            chosen = listed
    # Otherwise the machine would stay empty.
    if objective.costs is None and not len(whole.held) and chosen.start_s.all():
        chosen, found = listed, replace(found, source="fallback")
    if chosen.class_units is not None:
        began, now = clock_ns(), np.flatnonzero(chosen.start_s == 0)
        on_nodes, without, was_stopped, solves = class_places(
            solving.classes, now, chosen.class_units, objective.weights, parameters
        )
        found = replace(found, solves=found.solves + solves, solve_ns=found.solve_ns + clock_ns() - began)
        if not was_stopped:
            starts, unplaced = _starts(problem, on_nodes, without, row)
            value = objective.value(chosen.start_s)
            return replace(found, value=value, schedule=chosen, starts=starts, unplaced=unplaced)
        chosen, found = listed, replace(found, source="fallback", is_repeatable=False)
    value = objective.value(chosen.start_s)
    if where is not None:
        node, per_unit = where[chosen.unit_node], np.repeat(given.per_unit, given.units, axis=0)
        low = placed(chosen.unit_low, node, per_unit, followers)
        chosen = replace(chosen, unit_node=node, unit_low=low * problem.piece)
    if room != POOL:
        return replace(found, value=value, schedule=chosen, starts=starts_of(given, chosen, row))
    starts, unplaced = _starts(given, *best_fit(given, given.free, np.flatnonzero(chosen.start_s == 0)), row)
    return replace(found, value=value, schedule=chosen, starts=starts, unplaced=unplaced)


@dataclass(frozen=True)
class _Solving:
    """Ways in which a problem becomes a plan better than its list."""

    problem: Problem
    objective: Objective
    generation: SerialGeneration
    parameters: Parameters
    clock_ns: Callable[[], int]

    @cached_property
    def classes(self) -> NodeClasses:
        return NodeClasses.of(self.problem)

    def is_too_large(self, kind: type[_Model]) -> bool:
        """Whether a model is not made: too many variables, or areas (pieces × seconds) close to the range of int64."""
        problem, parameters = self.problem, self.parameters
        if float(problem.total.max()) * self.objective.horizon_s > _LARGEST_AREA:
            return True
        most = parameters.most_variables - self.objective.n_more_variables
        if kind is ByNodeModel:
            return by_node.count_variables(problem) > most
        if kind is ClassesModel:
            return self.classes.n_variables > most
        if kind is BoxesModel:
            return boxes.count_variables(problem) > min(most, parameters.most_box_variables)
        return len(problem) > most

    def guided(self, whole: Problem, listed: Dispatch, found: DispatchPlan) -> tuple[DispatchPlan, Dispatch]:
        """The better of the list and the schedule in the order of a plan of the pool, whose bound also holds with places."""
        began, objective = self.clock_ns(), objective_of(whole, self.parameters)
        made = PooledModel(whole, objective)
        generation = SerialGeneration(whole, POOL, objective=objective)
        made.hint(best_list(whole, objective, generation)[0])
        search = _Search(made, objective, self.parameters)
        search.run()
        best = listed
        if search.schedule is not None:
            best = self._best(listed, self.generation(np.argsort(search.schedule.start_s, kind="stable")))
        return replace(
            found,
            is_repeatable=not search.was_stopped,
            bound=max(objective.floor, objective.bound(search.weighted_bound)),
            solves=search.solves,
            solve_ns=self.clock_ns() - began,
        ), best

    def solved(self, kind: type[_Model], hint: Dispatch, found: DispatchPlan) -> tuple[DispatchPlan, Dispatch]:
        """The solver's plan of a problem, starting from a hint. A plan may start a job later than possible if time ran out, or
        be worse in fact because weights were rounded. So the best by exact Z of three schedules is taken: the plan, the serial
        schedule in the order of its starts, and the hint. With the paper's search the plan is taken unchanged."""
        began, parameters = self.clock_ns(), self.parameters
        classes = (self.classes,) if kind is ClassesModel else ()
        made = kind(self.problem, self.objective, *classes)
        if parameters.search == "paper":
            made.scheduling.search_as_paper()
        else:
            made.hint(hint)
        built = self.clock_ns()
        search = _Search(made, self.objective, parameters)
        search.run()
        chosen = search.schedule or hint
        if search.schedule is not None and parameters.search != "paper":
            again = self.generation(np.argsort(search.schedule.start_s, kind="stable"))
            known = kind is not ClassesModel  # of equally good plans, prefer one with places
            chosen = self._best(search.schedule, again, hint) if known else self._best(again, hint, search.schedule)
        bound = self.objective.bound(search.weighted_bound)
        return replace(
            found,
            status=search.status,
            source="fallback" if search.schedule is None else "planned",
            is_repeatable=not search.was_stopped,
            variables=len(made.scheduling.model.proto.variables),
            bound=bound if found.bound is None else max(found.bound, bound),
            solves=found.solves + search.solves,
            build_ns=built - began,
            solve_ns=found.solve_ns + self.clock_ns() - built,
        ), chosen

    def _best(self, *schedules: Dispatch) -> Dispatch:
        return min(schedules, key=lambda schedule: self.objective.sum_of(schedule.start_s))


def _starts(
    problem: Problem, placed: dict[int, Array], without: list[int], row: Array
) -> tuple[tuple[PlannedStart, ...], tuple[int, ...]]:
    places = [(int(problem.place[job]), nodes) for job, nodes in placed.items()]
    starts = tuple(PlannedStart(place, int(row[place]), nodes, None) for place, nodes in places)
    return starts, tuple(int(row[problem.place[job]]) for job in without)


@dataclass
class _Search:
    """The search of a model: solves with the limits of ``Parameters``."""

    model: _Model
    objective: Objective
    parameters: Parameters
    # the result; None if nothing was found or the clock stopped a solve: then the list decides, whatever earlier solves
    # found, and the plan is not repeatable
    schedule: Dispatch | None = None
    status: str = "unknown"  # of the last solve that found a plan; of the last one if none did
    weighted_bound: int = 0
    solves: int = 0
    was_stopped: bool = False

    def run(self) -> None:
        """Solve until the plan is final or a limit is reached."""
        chosen = self.parameters
        limit_s, tries = chosen.limit_s, chosen.tries
        before: Fraction | None = None
        while True:
            self._solve(limit_s)
            if self.was_stopped:
                return
            if self.schedule is None:
                if not tries:
                    return
                tries -= 1
                limit_s += chosen.more_s
                continue
            value = self.objective.value(self.schedule.start_s)
            if self.status == "optimal" or value == before or 2.0 * limit_s > chosen.longest_s:
                return
            before = value
            limit_s *= 2.0
            if chosen.search != "paper":
                self.model.scheduling.model.clear_hints()
                self.model.hint(self.schedule)

    def _solve(self, limit_s: float) -> None:
        chosen, made = self.parameters, self.model
        fixed = chosen.search == "paper"
        solved = solve(made.scheduling.model, made.variables, chosen, limit_s=limit_s, fixed=fixed)
        self.solves += 1
        if solved.values or self.schedule is None:
            self.status = solved.status
        self.was_stopped = solved.was_stopped
        self.weighted_bound = max(self.weighted_bound, solved.weighted_bound)
        if solved.was_stopped:
            self.schedule = None
        elif solved.values:
            self.schedule = made.schedule(solved.values)
