"""A dispatch: which jobs are modelled, the list, the model, its search, and the jobs that start.

The list's plan is complete. The solver begins at it and can only improve it; where the solver finds nothing, or is stopped
by the clock, the list starts jobs. On a machine on which nothing runs some job starts at once in either, so no job that
fits an empty machine is lost; only where energy has a price may all be held back, until the first of them is planned to start.
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
from bls.cp.serial import BOXES, NODES, POOL, Dispatch, SerialGeneration, best_list, bettered
from traces.base.errors import one_of
from traces.compiled import Array


class PlannedStart(NamedTuple):
    """A job that starts at t."""

    # where it is in the queue, and what the caller knows it by
    place: int
    row: int
    unit_node: Array  # int64 (units,): the node of each of its units
    # int64 (units, resources) or None: of the model of boxes: the first of each unit's positions within its node, 0 of
    # what it does not ask for
    unit_low: Array | None

    @property
    def units_on(self) -> dict[int, int]:
        """How many of its units each node gets, by ascending number of the node."""
        nodes, counts = np.unique(self.unit_node, return_counts=True)
        return dict(zip(nodes.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True)
class DispatchPlan:
    """A decision."""

    model: str  # ``hcp19``, ``cp-classes``, ``pcp19`` or ``pcp20``
    # {"optimal", "feasible", "unknown", "too-large", "nothing"}: what the solver says: a plan that is optimal, a plan, none in
    # time; a model that was not made as it is too large; or that nobody who could be modelled fits what is free, so that
    # nothing was planned. Optimal is meant of the whole weights that the solver was given: of Z itself if ``is_exact``.
    status: str
    source: str = "planned"  # {"planned", "fallback"}: whether the solver's plan starts jobs, or the list's
    is_repeatable: bool = True  # false if the clock stopped a solve
    is_exact: bool = True  # whether the solver's weights are proportional to 1/d
    # Z of the plan, of the list, and what Z is at least; None where nothing was planned. Of ``hcp19`` all are of the
    # pool; of ``cp-classes`` the list's has places, and the plan's may have none.
    value: Fraction | None = None
    list_value: Fraction | None = None
    bound: Fraction | None = None
    list_order: str = ""  # the order of the list, one of :data:`bls.cp.serial.ORDERS`
    # jobs and variables of the model, and how often it was solved; 0 variables where none was made
    modelled: int = 0
    variables: int = 0
    solves: int = 0
    # how long that took by the caller's clock
    list_ns: int = 0
    build_ns: int = 0
    solve_ns: int = 0
    place: Array | None = None  # int64 (modelled,): the jobs, by their places in the queue, the highest priority first
    # when the plan starts them, and on which nodes and positions of the machine; None where nothing was planned. Nobody
    # who does not start at t is promised anything.
    schedule: Dispatch | None = None
    starts: tuple[PlannedStart, ...] = ()  # who starts now, by priority
    # of ``hcp19`` and ``cp-classes``: rows of jobs that the plan would have started now, and for which there are no
    # nodes beside who else starts; they wait
    unplaced: tuple[int, ...] = ()

    @property
    def is_solved(self) -> bool:
        """Whether the next dispatch may model as many jobs as ever; see ``Parameters.next_queue``.

        Not where nothing was found in time, or the clock stopped a solve; a model that is too large, or a plan that would
        have left an empty machine idle, says nothing about time.
        """
        return self.is_repeatable and (self.source == "planned" or self.status != "unknown")


def starts_of(problem: Problem, schedule: Dispatch, row: Array) -> tuple[PlannedStart, ...]:
    """Who starts at t by a schedule with places. ``schedule``: on the machine's nodes. ``row``, int64 (n,): of the queue."""
    found = []
    for job in np.flatnonzero(schedule.start_s == 0).tolist():
        units = slice(int(problem.first_unit[job]), int(problem.first_unit[job + 1]))
        node = schedule.unit_node[units]
        low = schedule.unit_low[units] if len(schedule.unit_low) else None
        place = int(problem.place[job])
        found.append(PlannedStart(place, int(row[place]), node, low))
    return tuple(found)


_Model: TypeAlias = PooledModel | ClassesModel | ByNodeModel | BoxesModel

#: Of each dispatcher: its model, and the room of its lists.
_KINDS: Final[dict[str, tuple[type[_Model], int]]] = {
    "hcp19": (PooledModel, POOL),
    "cp-classes": (ClassesModel, NODES),
    "pcp19": (ByNodeModel, NODES),
    "pcp20": (BoxesModel, BOXES),
}


#: Of a kind of resource, what all nodes have × the horizon: CP-SAT sums areas, running jobs' beside waiting ones'.
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
    """Decide who starts at t, and where.

    Parameters
    ----------
    instance : Instance
    model : {"hcp19", "cp-classes", "pcp19", "pcp20"}
    parameters : Parameters
    queue : int, optional
        The most jobs that are modelled now, where that is not ``parameters.queue``; see ``Parameters.next_queue``.
    last_s : int64 (n,), optional
        When the plan before starts the jobs of the queue, at any count of seconds, -1 of those that it has not: the list
        has one more order.
    clock_ns : callable, optional
        What times are measured with, ns; without it they are 0. Nothing depends on it.

    Raises
    ------
    InputError
        If there is no such model, or OR-Tools is not installed.
    """
    if model not in MODELS:
        raise one_of("model", model, MODELS, "constraint programming")
    if parameters.has_solver:
        cp_model()  # it is said at once if it is not there
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
    """Plan the jobs of a problem; as :func:`dispatch`, with ``row`` and ``last_s`` of the queue."""
    kind, room = _KINDS[model]
    given, problem = problem, in_large_pieces(problem)
    began = clock_ns()
    followers: list[Follower] = []
    if room == BOXES:
        problem, followers = without_followers(problem)
    if bool((problem.per_unit.sum(axis=1) == 1).all()):
        # Each unit asks for one piece of one kind, and any that is free at its start is free for as long as it needs it: where
        # there are pieces enough there are places, so that the pooled model has the plans of all.
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
    if objective.sum_of(listed.start_s) == objective.least:  # nothing is better; mostly that all start
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
                chosen = generation.as_planned(chosen.start_s)  # nobody later, and all have places
        if found.source == "fallback":
            chosen = listed
    # The machine is empty, and would stay so.
    if objective.costs is None and not len(whole.held) and chosen.start_s.all():
        chosen, found = listed, replace(found, source="fallback")
    if chosen.class_units is not None:
        began, now = clock_ns(), np.flatnonzero(chosen.start_s == 0)
        places = class_places(solving.classes, now, chosen.class_units, objective.weights, parameters)
        found = replace(found, solves=found.solves + places.solves, solve_ns=found.solve_ns + clock_ns() - began)
        if not places.was_stopped:
            starts, unplaced = _starts(problem, places.placed, places.without, row)
            return replace(
                found, value=objective.value(chosen.start_s), schedule=chosen, starts=starts, unplaced=unplaced
            )
        chosen, found = listed, replace(found, source="fallback", is_repeatable=False)
    value = objective.value(chosen.start_s)
    if where is not None:
        node, per_unit = where[chosen.unit_node], np.repeat(given.per_unit, given.units, axis=0)
        low = placed(chosen.unit_low, node, per_unit, followers)
        chosen = replace(chosen, unit_node=node, unit_low=low * problem.piece)
    starts, unplaced = (starts_of(given, chosen, row), ()) if room != POOL else fitted(given, chosen, row)
    return replace(found, value=value, schedule=chosen, starts=starts, unplaced=unplaced)


@dataclass(frozen=True)
class _Solving:
    """How a problem becomes a plan beyond its list."""

    problem: Problem
    objective: Objective
    generation: SerialGeneration
    parameters: Parameters
    clock_ns: Callable[[], int]

    @cached_property
    def classes(self) -> NodeClasses:
        """Of the problem's nodes."""
        return NodeClasses.of(self.problem)

    def is_too_large(self, kind: type[_Model]) -> bool:
        """Whether a model is not made: too many variables, or areas of pieces × seconds that int64 hardly bears."""
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
        """The better of the list and the schedule in the order of a plan of the pool, which is solved in a moment. What Z is
        at least in the pool, it is at least with places."""
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
        """What the solver makes of a problem, and of a hint.

        It may leave a job later than it could be, as its time was up; and where its weights are rounded, a plan that is better
        by these may be worse. So the best by exact Z is taken of its plan, the serial schedule in the order of its starts, and
        the hint. The paper's search is taken as it is.
        """
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
            known = kind is not ClassesModel  # of plans that are as good those with places
            chosen = self._best(search.schedule, again, hint) if known else self._best(again, hint, search.schedule)
        bound = self.objective.bound(search.weighted_bound)
        return replace(
            found,
            status=search.status,
            source="fallback" if search.schedule is None else "planned",
            is_repeatable=not search.was_stopped,
            variables=made.scheduling.n_variables,
            bound=bound if found.bound is None else max(found.bound, bound),
            solves=found.solves + search.solves,
            build_ns=built - began,
            solve_ns=found.solve_ns + self.clock_ns() - built,
        ), chosen

    def _best(self, *schedules: Dispatch) -> Dispatch:
        return min(schedules, key=lambda schedule: self.objective.sum_of(schedule.start_s))


def fitted(problem: Problem, schedule: Dispatch, row: Array) -> tuple[tuple[PlannedStart, ...], tuple[int, ...]]:
    """HCP'19's best fit of who starts now by a schedule: the starts; and, by row, who would if there were nodes for it."""
    return _starts(problem, *best_fit(problem, problem.free, np.flatnonzero(schedule.start_s == 0)), row)


def _starts(
    problem: Problem, placed: dict[int, Array], without: list[int], row: Array
) -> tuple[tuple[PlannedStart, ...], tuple[int, ...]]:
    places = [(int(problem.place[job]), nodes) for job, nodes in placed.items()]
    starts = tuple(PlannedStart(place, int(row[place]), nodes, None) for place, nodes in places)
    return starts, tuple(int(row[problem.place[job]]) for job in without)


@dataclass
class _Search:
    """The search of a model: solves, with limits as ``Parameters`` says."""

    model: _Model
    objective: Objective
    parameters: Parameters
    # what was found; None if nothing was, or the clock stopped a solve: then the list decides, whatever earlier solves
    # found, and the plan is not repeatable
    schedule: Dispatch | None = None
    status: str = "unknown"  # of the last solve that found a plan; of the last one if none did
    weighted_bound: int = 0
    solves: int = 0
    was_stopped: bool = False

    def run(self) -> None:
        """Solve until it is known, or the limits are reached."""
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
        solved = solve(
            made.scheduling.model,
            made.variables,
            limit_s=limit_s,
            wall_s=chosen.wall_s,
            seed=chosen.seed,
            presolve=chosen.presolve,
            fixed=chosen.search == "paper",
        )
        self.solves += 1
        if solved.values or self.schedule is None:
            self.status = solved.status
        self.was_stopped = solved.was_stopped
        self.weighted_bound = max(self.weighted_bound, solved.weighted_bound)
        if solved.was_stopped:
            self.schedule = None
        elif solved.values:
            self.schedule = made.schedule(solved.values)
