"""Node classes: their relaxation against exhaustive search, and who starts now put on nodes, against all ways to do it."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count, product

import numpy as np
import pytest
from dispatch_cases import cases, faults, instance_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, classes_of, least_z

from bls.cp import Parameters, class_places, classes, dispatch
from bls.cp.classes import ClassesModel, NodeClasses
from bls.cp.dispatch import plan
from bls.cp.followers import without_followers
from bls.cp.objective import Objective
from bls.cp.plan import Plan
from bls.cp.problem import Problem, problem_of
from bls.cp.ranking import select
from bls.cp.solver import cp_model

LONG = Parameters(which="all", limit_s=5.0)


def problem_for(case: Case) -> Problem:
    return problem_of(instance_of(case), np.arange(len(case.waiting)))


@settings(max_examples=50)
@given(cases(nodes=4), st.sampled_from(["hinted", "guided", "paper"]))
def test_optima_of_many_classes_equal_exhaustive_search(case: Case, search: str) -> None:
    instance = instance_of(case)
    found = plan(problem_for(case), "cp-classes", replace(LONG, search=search), row=instance.queue.row)
    assert (found.status, found.value, found.bound) == ("optimal", least_z(case, "classes"), found.value)
    assert faults(case, found, instance) == []


@settings(max_examples=50)
@given(cases(nodes=4, jobs=5), st.integers(0, 1))
def test_measures_that_are_left_out_weaken_the_relaxation_and_nothing_else(case: Case, most: int) -> None:
    instance = instance_of(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "_MOST_MEASURES", most)
        found = plan(problem_for(case), "cp-classes", LONG, row=instance.queue.row)
    assert found.status == "optimal"
    pool = plan(problem_for(case), "hcp19", LONG, row=instance.queue.row)
    whole = plan(problem_for(case), "cp-classes", LONG, row=instance.queue.row)
    assert pool.value <= found.value <= whole.value  # type: ignore[operator]
    now = {start.row for start in found.starts}
    assert found.schedule is not None
    assert now | set(found.unplaced) == set(np.flatnonzero(found.schedule.start_s == 0).tolist())


def test_variables_grow_neither_with_nodes_nor_with_units() -> None:
    waiting = tuple(Waiting(k, 3 + k, 1 + k, (2, k % 2)) for k in range(4))
    few = Case(((5, 1), (5, 1), (4, 0), (4, 0)), (), waiting)
    many = replace(few, capacity=few.capacity * 50, waiting=tuple(replace(job, units=9 * job.units) for job in waiting))
    for case in (few, many):
        problem = problem_for(case)
        # Four starts; jobs without a card may be on either class, and those with one on one of them.
        assert (
            NodeClasses.of(problem).n_variables == 6 == ClassesModel(problem, Objective(problem)).scheduling.n_variables
        )
    three = replace(few, capacity=(*few.capacity, (3, 0)))
    problem = problem_for(three)
    assert NodeClasses.of(problem).n_variables == 10 == ClassesModel(problem, Objective(problem)).scheduling.n_variables


def test_a_class_model_that_is_too_large_is_not_made() -> None:
    case = Case(((5, 1), (4, 0)), (), tuple(Waiting(k, 3 + k, 1, (3, 0)) for k in range(4)))
    few = replace(LONG, most_variables=7)
    assert dispatch(instance_of(case), "cp-classes", few).status == "too-large"
    assert dispatch(instance_of(case), "cp-classes", replace(few, most_variables=8)).variables == 8


def best_of_all(problem: Problem, starting: list[int], of_classes: np.ndarray, node_class: np.ndarray) -> int:
    """The most weight, which is a job's number + 1, that has places, of all ways to put units on nodes."""
    ways: list[list[tuple[int, ...] | None]] = []
    for job in starting:
        units = [node_class.tolist().index(one) for one in np.repeat(np.arange(of_classes.shape[1]), of_classes[job])]
        nodes = [np.flatnonzero(node_class == node_class[one]).tolist() for one in units]
        ways.append([None, *sorted({tuple(sorted(way)) for way in product(*nodes)})])
    best = 0
    for together in product(*ways):
        free = problem.free.copy()
        for job, on in zip(starting, together, strict=True):
            if on is not None:
                np.subtract.at(free, list(on), problem.per_unit[job])
        if (free >= 0).all():
            best = max(best, sum(job + 1 for job, on in zip(starting, together, strict=True) if on is not None))
    return best


@settings(max_examples=50)
@given(cases(nodes=4, jobs=4))
def test_places_lose_least_of_all_ways(case: Case) -> None:
    problem = problem_for(case)
    found = plan(problem, "cp-classes", LONG, row=np.arange(len(problem)))
    assert found.schedule is not None
    if found.schedule.class_units is None:
        return
    of = NodeClasses.of(problem)
    starting = np.arange(len(problem))  # whether or not the plan has all start now
    weights = [job + 1 for job in range(len(problem))]
    places = class_places.class_places(of, starting, found.schedule.class_units, weights, LONG)
    placed, lost = places.placed, places.without
    assert sorted([*placed, *lost]) == list(range(len(problem)))
    free = problem.free.copy()
    for job, nodes in placed.items():
        assert len(nodes) == problem.units[job]
        np.subtract.at(free, nodes, problem.per_unit[job])
    assert (free >= 0).all()
    by_all = best_of_all(problem, starting.tolist(), found.schedule.class_units, of.of_node)
    solved, was_stopped, _ = class_places._solved(of, starting, found.schedule.class_units, weights, LONG, {})
    assert not was_stopped
    assert sum(job + 1 for job in solved) == by_all
    assert sum(job + 1 for job in placed) >= by_all


def test_who_has_no_place_waits_and_the_clock_leaves_it_to_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    # All three start by classes, and nodes have room for two.
    case = Case(((4,), (4,)), (), tuple(Waiting(k, 4, 1, (asked,)) for k, asked in enumerate((3, 3, 2))))
    instance = instance_of(case)
    found = dispatch(instance, "cp-classes", LONG)
    assert (found.value, len(found.starts), len(found.unplaced)) == (least_z(case, "classes"), 2, 1)
    assert (found.source, found.is_repeatable) == ("planned", True)
    of_solver = class_places.solve
    monkeypatch.setattr(class_places, "solve", lambda *a, **b: replace(of_solver(*a, **b), was_stopped=True))
    found = dispatch(instance, "cp-classes", LONG)
    assert (found.source, found.is_repeatable, found.unplaced, len(found.starts)) == ("fallback", False, (), 2)
    assert found.value == found.list_value


def test_a_heavy_job_beats_two_light_ones_and_the_solve_of_places_is_counted() -> None:
    """By classes all start; on nodes three units of five leave no room for one of four, nor does that for all three."""
    heavy, light = Waiting(0, 1, 3, (5,)), Waiting(90, 10, 1, (4,))
    for duration, first in ((1, [2]), (100, [0, 1])):
        case = Case(((8,),) * 3, (), (light, light, replace(heavy, duration=duration)))
        ticks = count()
        found = dispatch(instance_of(case), "cp-classes", LONG, clock_ns=lambda: next(ticks))  # noqa: B023
        assert (found.schedule.start_s == 0).all()  # type: ignore[union-attr]
        assert [start.row for start in found.starts] == first
        assert sorted(first + list(found.unplaced)) == [0, 1, 2]
        # The list, building, the solve, and the one for places: each from a tick to the next.
        assert (found.status, found.solves, found.list_ns, found.build_ns, found.solve_ns) == ("optimal", 2, 1, 1, 2)
    alike = Case(((8,),) * 2, (Busy(3, {0: 1}, (5,)),), (light, light, light))
    assert dispatch(instance_of(alike), "cp-classes", LONG).solves == 1


def everywhere(of: NodeClasses, starting: np.ndarray) -> np.ndarray:
    return np.arange(len(of.of_node))


@pytest.mark.parametrize("seed", range(4))
def test_nodes_that_are_left_out_lose_no_place(seed: int) -> None:
    """On 8 to 12 nodes of two classes, of which many have as much free, the uncut model places no more."""
    draw = random.Random(seed)
    large = [draw.random() < 0.5 for _ in range(draw.randint(8, 12))]
    large[:2] = [True, False]
    busy = tuple(
        Busy(9, {node: 1}, (2 if is_large else 0, 0) if draw.random() < 0.8 else (2, 1))
        for node, is_large in enumerate(large)
    )
    shapes = [(draw.choice((1, 2, 3)), 0) for _ in range(3)] + [(draw.choice((2, 3)), 1)]
    waiting = tuple(Waiting(0, 4, draw.randint(1, 2), shape) for shape in shapes)
    problem = problem_for(Case(tuple((6, 1) if is_large else (4, 1) for is_large in large), busy, waiting))
    of, jobs, weights = NodeClasses.of(problem), np.arange(4), [3, 4, 5, 6]
    assert of.most.shape == (4, 2)
    units = np.zeros((4, 2), np.int64)
    for job, one in enumerate(problem.units.tolist()):
        units[job, 0] = draw.randint(max(0, one - int(of.most[job, 1])), min(one, int(of.most[job, 0])))
        units[job, 1] = one - units[job, 0]
    cut, was_stopped, _ = class_places._solved(of, jobs, units, weights, LONG, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_places, "_nodes", everywhere)
        whole, _, _ = class_places._solved(of, jobs, units, weights, LONG, {})
    assert not was_stopped
    assert sum(weights[job] for job in cut) == sum(weights[job] for job in whole)
    assert len(class_places._nodes(of, jobs)) <= len(large)


@settings(max_examples=120)
@given(cases(nodes=4, jobs=5), st.booleans())
def test_the_hint_is_the_plan(case: Case, with_places: bool) -> None:
    """All variables fixed to the hint are a solution, with the starts and the units of the plan; of either kind of plan."""
    problem = problem_for(case)
    search, model = ("list", "pcp19") if with_places else ("paper", "cp-classes")
    found = plan(problem, model, replace(LONG, search=search), row=np.arange(len(problem)))
    assert found.schedule is not None
    objective, schedule = Objective(problem), found.schedule
    made = ClassesModel(problem, objective)
    made.hint(schedule)
    hint = made.scheduling.model.proto.solution_hint
    values = dict(zip(hint.vars, hint.values, strict=True))
    assert sorted(values) == sorted(variable.index for variable in made.variables)
    for variable in made.variables:
        made.scheduling.model.add(variable == values[variable.index])
    solver = cp_model().CpSolver()
    assert solver.status_name(solver.solve(made.scheduling.model)) == "OPTIMAL"
    again = made.schedule([values[variable.index] for variable in made.variables])
    assert again.start_s.tolist() == schedule.start_s.tolist()
    of_classes = schedule.class_units
    if of_classes is None:
        of_classes = np.zeros(made.classes.most.shape, np.int64)
        jobs = np.repeat(np.arange(len(problem)), problem.units)
        np.add.at(of_classes, (jobs, np.array(classes_of(case))[schedule.unit_node]), 1)
    assert again.class_units is not None
    assert again.class_units.tolist() == of_classes.tolist()


#: A node with two of memory for each core, and one with three, and a little more.
TWO = ((4, 9), (2, 6))


@st.composite
def following(draw: st.DrawFn) -> tuple[Case, bool]:
    """Cores alone, and memory beside them of which no unit asks for more than its share; and whether the longest come first."""
    of_cores = draw(cases().filter(lambda case: len(case.capacity[0]) == 1))
    ratio = [draw(st.integers(1, 3)) for _ in of_cores.capacity]
    capacity = tuple(
        (has, has * q + draw(st.integers(0, has - 1))) for (has,), q in zip(of_cores.capacity, ratio, strict=True)
    )

    def asked(cores: int, most: int) -> tuple[int, int]:
        return cores, draw(st.integers(0, cores * most))

    busy = [
        replace(job, per_unit=asked(job.per_unit[0], min(ratio[node] for node in job.places))) for job in of_cores.busy
    ]
    sorted_ = draw(st.booleans())
    if sorted_:
        busy.sort(key=lambda job: -job.left)
    waiting = tuple(replace(job, per_unit=asked(job.per_unit[0], min(ratio))) for job in of_cores.waiting)
    return Case(capacity, tuple(busy), waiting), sorted_


def problem(case: Case) -> Problem:
    instance = instance_of(case)
    return problem_of(instance, select(instance, 100, "all"))


def planned(case: Case, limit_s: float = 5.0) -> Plan:
    return plan(problem(case), "pcp20", Parameters(limit_s=limit_s), row=instance_of(case).queue.row)


@settings(max_examples=100)
@given(following())
def test_what_follows_is_left_out_and_has_places(drawn: tuple[Case, bool]) -> None:
    case, longest_first = drawn
    smaller, followers = without_followers(problem(case))
    if longest_first and any(job.per_unit[1] for job in case.waiting):
        assert [(one.kind, one.leader) for one in followers] == [(1, 0)]
    if followers:
        assert not smaller.per_unit[:, 1].any()
        assert not (smaller.held.kind == 1).any()
        assert smaller.area.tolist() == problem(case).area.tolist()
    found = planned(case)
    assert found.status == "optimal"
    assert found.value == found.bound == least_z(case, "boxes")
    assert faults(case, found, instance_of(case)) == []


@pytest.mark.parametrize(
    ("busy", "waiting", "follows"),
    [
        ((), (Waiting(0, 3, 1, (2, 4)), Waiting(0, 3, 1, (4, 8))), True),
        ((), (Waiting(0, 3, 1, (3, 6)),), True),
        # The node of two cores has three for each, but this unit fits either.
        ((), (Waiting(0, 3, 1, (2, 5)),), False),
        ((), (Waiting(0, 3, 1, (0, 1)),), False),
        # Two of the memory for a core, as it has; and one more.
        ((Busy(9, {0: 1}, (1, 2)), Busy(5, {0: 1}, (2, 4))), (Waiting(0, 3, 1, (1, 2)),), True),
        ((Busy(9, {0: 1}, (1, 3)), Busy(5, {0: 1}, (2, 4))), (Waiting(0, 3, 1, (1, 2)),), False),
        # Together they hold no more than their share, but until 9 the first alone does.
        ((Busy(9, {0: 1}, (1, 3)), Busy(5, {0: 1}, (2, 3))), (Waiting(0, 3, 1, (1, 2)),), False),
        # What it holds more on the other node is its share there.
        ((Busy(9, {1: 1}, (1, 3)),), (Waiting(0, 3, 1, (1, 2)),), True),
        ((Busy(9, {1: 1}, (0, 1)),), (Waiting(0, 3, 1, (1, 2)),), False),
        # At 5 the lowest core is free, and its memory is not.
        ((Busy(5, {0: 1}, (1, 0)), Busy(9, {0: 1}, (1, 2))), (Waiting(0, 3, 1, (1, 2)),), False),
        # Nobody who runs has memory.
        ((Busy(5, {0: 1}, (1, 0)), Busy(9, {0: 1}, (1, 0))), (Waiting(0, 3, 1, (1, 2)),), True),
    ],
)
def test_what_follows(busy: tuple[Busy, ...], waiting: tuple[Waiting, ...], follows: bool) -> None:
    case = Case(TWO, busy, waiting)
    _, followers = without_followers(problem(case))
    assert bool(followers) == follows
    found = planned(case)
    assert found.value == least_z(case, "boxes")
    assert faults(case, found, instance_of(case)) == []


def test_memory_of_a_size_of_its_own_on_every_node_makes_the_model_no_larger() -> None:
    """Without it there were a literal for each node and unit."""
    sizes = tuple((4, 4000 + node) for node in range(100))
    jobs = tuple(Waiting(k, 10 + k, 3, (3, 2900)) for k in range(20))
    busy = tuple(Busy(50 + node, {node: 1}, (2, 1500)) for node in range(99, -1, -1))
    cores = Case(
        tuple((4,) for _ in sizes),
        tuple(replace(job, per_unit=job.per_unit[:1]) for job in busy),
        tuple(replace(job, per_unit=job.per_unit[:1]) for job in jobs),
    )
    with_memory, alone = planned(Case(sizes, busy, jobs), 0.05), planned(cores, 0.05)
    assert (with_memory.variables, with_memory.value) == (alone.variables, alone.value)
    assert with_memory.variables > 0
    assert with_memory.schedule is not None
    assert alone.schedule is not None
    assert np.array_equal(with_memory.schedule.start_s, alone.schedule.start_s)
