"""Plans of dispatches: their parts, lists, node classes and plans ahead, by hand and against exhaustive search."""

from dataclasses import replace
from fractions import Fraction
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, least_z, violations
from tables import table_rows

from bls.cp import MODELS, Parameters, class_places, dispatch, plan_ahead
from bls.cp.dispatch import DispatchPlan, plan
from bls.cp.instance import Instance, Queue, RunningUnits, up_s
from bls.cp.objective import Objective
from bls.cp.problem import Problem, problem_of, ranked
from bls.cp.reduction import reduced, without_followers
from bls.cp.serial import ORDERS, SerialGeneration, best_list, bettered
from bls.cp.serial_kernel import BOXES, NODES, POOL
from traces.base.errors import InputError, PluginError
from traces.compiled import Array

#: Of each dispatcher, the cells of the reference.
CELLS = {"hcp19": "pool", "cp-classes": "classes", "pcp19": "nodes", "pcp20": "boxes"}

#: Drawn by hand, with the smallest Z of each in the pool, by classes, on nodes and in boxes, by hand if a reason is given.
CASES: dict[str, tuple[Case, tuple[str, str, str, str]]] = {
    # Two jobs that need all of a node: Z is 3/3 + 9/6 if the short one is first, else 6/6 + 9/3.
    "order": (Case(((4,),), (), (Waiting(0, 6, 1, (4,)), Waiting(0, 3, 1, (4,)))), ("5/2", "5/2", "5/2", "5/2")),
    # Two cores are free on each of two nodes: three pieces for one unit are in the pool only. At 5 node 0 is free.
    "pool lies": (
        Case(((4,), (4,)), (Busy(5, {0: 2}, (1,)), Busy(9, {1: 2}, (1,))), (Waiting(0, 4, 1, (3,)),)),
        ("1", "9/4", "9/4", "9/4"),
    ),
    # At 2 two cores are free on the node, and not side by side; at 9 all are.
    "apart": (
        Case(((4,),), tuple(Busy(left, {0: 1}, (1,)) for left in (2, 9, 2, 9)), (Waiting(0, 3, 1, (2,)),)),
        ("5/3", "5/3", "5/3", "4"),
    ),
    # The last position of one node and the first ones of the next are free: side by side on the axis, and no place for a unit.
    "across": (
        Case(((3,), (3,)), (Busy(9, {0: 2}, (1,)),), (Waiting(0, 4, 1, (2,)), Waiting(0, 4, 1, (2,)))),
        ("2", "3", "3", "3"),
    ),
    # Two units of three fit two nodes of four, and three units of two would, too; but none of two in addition to two of three.
    "classes lie": (
        Case(((4,), (4,)), (), tuple(Waiting(0, 4, 1, (asked,)) for asked in (3, 3, 2))),
        ("3", "3", "4", "4"),
    ),
    # One large node has cores, the other one its GPU; the small one is free at 5. The pool has both.
    "sizes apart": (
        Case(
            ((2, 1), (4, 1), (4, 1)),
            (Busy(5, {0: 1}, (2, 0)), Busy(9, {1: 1}, (4, 0)), Busy(100, {2: 1}, (0, 1))),
            (Waiting(0, 5, 1, (2, 1)),),
        ),
        ("1", "2", "2", "2"),
    ),
    # The last job first, then the first one at 1: two cores of node 0 and the one of node 1. So the second has to wait until 3.
    "units": (
        Case(
            ((3,), (3,)),
            (Busy(2, {1: 1}, (2,)),),
            (Waiting(3, 2, 3, (1,)), Waiting(1, 4, 2, (2,)), Waiting(0, 1, 2, (1,))),
        ),
        ("6", "6", "6", "6"),
    ),
}


def instance_of(case: Case) -> Instance:
    """The instance of a case; a job's row is its place in ``case.waiting``."""

    def column(values: list[int]) -> Array:
        return np.array(values, np.int64)

    def table(rows: list[tuple[int, ...]]) -> Array:
        return np.array(rows, np.int64).reshape(len(rows), len(case.capacity[0]))

    places = [(k, node, units) for k, job in enumerate(case.busy) for node, units in sorted(job.places.items())]
    running = RunningUnits(
        column([job.left for job in case.busy]),
        table([job.per_unit for job in case.busy]),
        *(column([place[k] for place in places]) for k in range(3)),
    )
    jobs = case.waiting
    queue = Queue(
        column(list(range(len(jobs)))),
        column([job.waited for job in jobs]),
        column([job.duration for job in jobs]),
        column([job.units for job in jobs]),
        table([job.per_unit for job in jobs]),
    )
    names = ("core", "gpu", "mic")[: len(case.capacity[0])]
    return Instance(names, table(list(case.capacity)), running, queue)


def faults(case: Case, plan: DispatchPlan, instance: Instance) -> list[str]:
    assert plan.schedule is not None
    assert plan.place is not None
    jobs, units = plan.place.tolist(), instance.queue.units[plan.place].tolist()
    first = np.cumsum([0, *units])
    cells, of_classes = CELLS[plan.model], plan.schedule.class_units
    nodes = [plan.schedule.unit_node[a:b].tolist() for a, b in pairwise(first)]
    if of_classes is not None:
        nodes = [np.repeat(np.arange(len(counts)), counts).tolist() for counts in of_classes]
    elif cells == "classes":  # the list's plan has places
        cells = "nodes"
    lows = [plan.schedule.unit_low[a:b].tolist() for a, b in pairwise(first)]
    wrong = violations(case, cells, jobs, plan.schedule.start_s.tolist(), nodes, lows)
    now = [start.row for start in plan.starts]
    wrong += violations(case, "nodes", now, [0] * len(now), [start.unit_node.tolist() for start in plan.starts], [])
    at_once = [job for job, start in zip(jobs, plan.schedule.start_s.tolist(), strict=True) if start == 0]
    if sorted([*now, *plan.unplaced]) != sorted(at_once):
        wrong.append(f"{now} and {plan.unplaced} of {at_once}")
    return wrong


@st.composite
def cases(draw: st.DrawFn, *, nodes: int = 2, jobs: int = 3) -> Case:
    """Small dispatches in which every job fits the empty machine."""
    kinds = draw(st.integers(1, 2))
    capacity = tuple(
        (draw(st.integers(1, 4)), *(draw(st.integers(0, 2)) for _ in range(kinds - 1)))
        for _ in range(draw(st.integers(1, nodes)))
    )
    free = [list(node) for node in capacity]
    busy = []
    for _ in range(draw(st.integers(0, 3))):
        node = draw(st.integers(0, len(capacity) - 1))
        asked = tuple(draw(st.integers(0 if which else 1, 2)) for which in range(kinds))
        if all(has >= wanted for has, wanted in zip(free[node], asked, strict=True)):
            free[node] = [has - wanted for has, wanted in zip(free[node], asked, strict=True)]
            busy.append(Busy(draw(st.integers(1, 6)), {node: 1}, asked))
    waiting = []
    for _ in range(draw(st.integers(1, jobs))):
        host = draw(st.sampled_from(capacity))
        asked = tuple(draw(st.integers(0 if which else 1, has)) if has else 0 for which, has in enumerate(host))
        fitting = sum(
            min(has // wanted for has, wanted in zip(node, asked, strict=True) if wanted) for node in capacity
        )
        units = draw(st.integers(1, min(2, fitting)))
        waiting.append(Waiting(draw(st.integers(0, 8)), draw(st.integers(1, 5)), units, asked))
    return Case(capacity, tuple(busy), tuple(waiting))


def planned(instance: Instance, model: str, parameters: Parameters) -> DispatchPlan:
    """Return the plan of all jobs, whether or not one can start now."""
    problem = problem_of(instance, np.arange(len(instance.queue)))
    return plan(problem, model, parameters, row=instance.queue.row)


ROOMS = {"pool": POOL, "nodes": NODES, "boxes": BOXES}


def column(*values: int) -> Array:
    return np.array(values, np.int64)


@settings(max_examples=150)
@given(cases(nodes=4, jobs=8), st.sampled_from(list(ROOMS)), st.sampled_from(list(ORDERS)), st.booleans())
def test_serial_schedules_are_valid_and_earliest(case: Case, kind: str, order: str, reduce: bool) -> None:
    problem = problem_of(instance_of(case), np.arange(len(case.waiting)))
    nodes = np.arange(len(case.capacity))
    if reduce and kind == "boxes":
        problem, nodes = reduced(problem)
    places = ORDERS[order](problem, Objective(problem)).tolist()
    assert sorted(places) == list(range(len(case.waiting)))
    found = SerialGeneration(problem, ROOMS[kind])(np.array(places))
    first = problem.first_unit.tolist()
    starts, lows = found.start_s.tolist(), found.unit_low.tolist()
    on = nodes[found.unit_node].tolist()

    def of_units(values: list[int] | list[list[int]], jobs: list[int]) -> list[object]:
        return [values[first[job] : first[job + 1]] for job in jobs]

    everybody = list(range(len(starts)))
    assert violations(case, kind, everybody, starts, of_units(on, everybody), of_units(lows, everybody)) == []
    if kind == "pool":  # no job could start a second earlier among the jobs placed before it
        for k, job in enumerate(places):
            before = places[: k + 1]
            earlier = [starts[one] - (one == job) for one in before]
            assert violations(case, kind, before, earlier, [], []) != []


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 2**33), st.integers(1, 2**33), st.integers(1, 3)), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_priority_is_exact(jobs: list[tuple[int, int, int]], most: int) -> None:
    # Pairs that differ by less than the precision of a float.
    jobs = [*jobs, (2**33 - 2, 2**33 - 1, 1), (2**33 - 3, 2**33 - 2, 1), (2**32 - 1, 2**33 - 2, 1), (1, 2, 1)]
    n = len(jobs)
    waited, duration, units = (column(*values) for values in zip(*jobs, strict=True))
    queue = Queue(np.arange(n)[::-1].copy(), waited, duration, units, np.ones((n, 1), np.int64))

    def priority(k: int) -> tuple[Fraction, int, int, int]:
        wait, d, wide = jobs[k]
        return (-Fraction(wait + d, d), d, wide, n - 1 - k)

    assert ranked(queue, np.arange(n), most).tolist() == sorted(range(n), key=priority)[:most]


def test_starting_jobs_take_used_nodes_and_leave_empty_ones() -> None:
    """The empty node 0 is as good as any other; were it alone kept, no node would stay whole."""
    busy = (Busy(9, {2: 1}, (3, 1)), Busy(7, {1: 1}, (2, 1)), Busy(9, {3: 1}, (4, 2)))
    narrow, wide = Waiting(5, 3, 1, (1, 1)), Waiting(0, 1, 1, (4, 2))
    case = Case(((4, 2),) * 4, busy, (narrow,))
    problem = problem_of(instance_of(case), np.arange(1))
    # Node 2 is free last of those that the job fits; node 3 has nothing free, and of the others one is enough.
    assert reduced(problem)[1].tolist() == [2, 0]
    found = dispatch(instance_of(case), "pcp20", Parameters())
    assert [start.unit_node.tolist() for start in found.starts] == [[2]]
    both = dispatch(instance_of(replace(case, waiting=(narrow, wide))), "pcp20", Parameters())
    assert {start.row: start.unit_node.tolist() for start in both.starts} == {0: [2], 1: [0]}


def test_seconds_are_rounded_so_that_nothing_is_promised_too_early() -> None:
    assert up_s(column(1, 10**9, 10**9 + 1, 0, -(10**12))).tolist() == [1, 1, 2, 1, 1]
    instance = Instance.at(
        10**10 + 1,
        resources=("core",),
        capacity=np.array([[4]]),
        expected_end_ns=column(2 * 10**10, 5 * 10**9),
        held_per_unit=np.array([[1], [2]]),
        places=(column(0, 1), column(0, 0), column(1, 1)),
        row=column(17, 4),
        submit_ns=column(10**10, 9 * 10**9 + 2),
        estimate_ns=column(1, 3 * 10**9 + 5),
        units=column(1, 1),
        per_unit=np.array([[1], [4]]),
    )
    assert instance.running.left_s.tolist() == [10, 1]
    assert instance.queue.waited_s.tolist() == [0, 0]
    assert instance.queue.duration_s.tolist() == [1, 4]
    assert instance.free.tolist() == [[1]]


GOOD = instance_of(CASES["units"][0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: replace(GOOD, resources=("core", "gpu")), r"capacity: int64 of shape \(2, 1\); allowed: .*\(2, 2\)"),
        (lambda: replace(GOOD, capacity=GOOD.capacity.astype(float)), "capacity: float64"),
        (lambda: replace(GOOD, capacity=GOOD.capacity * 2**59), r"capacity: core of all nodes: .*allowed: 0 to 1\.15"),
        (lambda: replace(GOOD, queue=replace(GOOD.queue, units=column(1, 0, 1))), "units: 0; allowed: 1 or more"),
        (lambda: replace(GOOD, queue=replace(GOOD.queue, duration_s=column(1, 0, 1))), "duration_s: 0; allowed"),
        (
            lambda: replace(GOOD, queue=replace(GOOD.queue, per_unit=np.array([[1], [0], [1]]))),
            "per_unit: 0; allowed: 1",
        ),
        (lambda: replace(GOOD, running=replace(GOOD.running, left_s=column(0))), "left_s: 0; allowed: 1 or more"),
        (lambda: replace(GOOD, running=replace(GOOD.running, place_node=column(2))), "place_node: 2; allowed: 0 to 1"),
        (
            lambda: replace(GOOD, running=replace(GOOD.running, place_units=column(2))),
            "core held on node 1: 4; allowed: 0 to 3",
        ),
    ],
)
def test_instances_that_cannot_be(wrong: object, message: str) -> None:
    with pytest.raises(PluginError, match=f"the policy's instance: .*{message}"):
        wrong()  # type: ignore[operator]


SEARCH = Parameters(which="all", search="lns")


@settings(max_examples=60)
@given(cases(nodes=3, jobs=6), st.sampled_from(MODELS), st.integers(0, 3), st.integers(1, 30))
def test_never_worse_than_the_list_with_places_and_repeatable(case: Case, model: str, seed: int, lists: int) -> None:
    instance = instance_of(case)
    problem = problem_of(instance, np.arange(len(case.waiting)))
    chosen = replace(SEARCH, seed=seed, lists=lists)
    found, again = (plan(problem, model, chosen, row=instance.queue.row) for _ in range(2))
    assert found.list_value >= found.value >= found.bound  # type: ignore[operator]
    assert faults(case, found, instance) == []
    assert (found.is_repeatable, found.source, found.solves) == (True, "planned", 0)
    assert found.schedule is not None
    assert again.schedule is not None
    assert found.schedule.start_s.tolist() == again.schedule.start_s.tolist()
    more = plan(problem, model, replace(chosen, lists=2 * lists), row=instance.queue.row)
    assert more.value <= found.value  # type: ignore[operator]


@settings(max_examples=60)
@given(cases(nodes=2, jobs=4))
def test_of_a_pool_some_order_is_the_best_plan_and_it_is_found(case: Case) -> None:
    found = planned(instance_of(case), "hcp19", SEARCH)
    assert found.value == least_z(case, "pool")


def test_seeds_differ_and_a_plan_in_which_all_start_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = tuple(Waiting(k, 2 + 7 * k % 11, 1 + k % 3, (1 + k % 4,)) for k in range(40))
    instance = instance_of(Case(((8,), (8,)), (), waiting))
    plans = [dispatch(instance, "hcp19", replace(SEARCH, seed=seed, lists=60)) for seed in range(4)]
    assert len({one.value for one in plans}) > 1
    assert all(one.value < one.list_value for one in plans)  # type: ignore[operator]
    alone = Case(((8,),), (), (Waiting(0, 3, 1, (1,)),))
    problem = problem_of(instance_of(alone), np.arange(1))
    objective, generation = Objective(problem), SerialGeneration(problem, POOL)
    listed, _ = best_list(problem, objective, generation)
    assert bettered(problem, objective, generation, listed, lists=9, seed=0) is listed


LONG = Parameters(which="all", limit_s=5.0)


def problem_for(case: Case) -> Problem:
    return problem_of(instance_of(case), np.arange(len(case.waiting)))


@settings(max_examples=50)
@given(cases(nodes=4), st.sampled_from(["hinted", "guided", "paper"]))
def test_optima_of_many_classes_equal_exhaustive_search(case: Case, search: str) -> None:
    instance = instance_of(case)
    found = planned(instance, "cp-classes", replace(LONG, search=search))
    assert (found.status, found.value, found.bound) == ("optimal", least_z(case, "classes"), found.value)
    assert faults(case, found, instance) == []


def test_a_class_model_that_is_too_large_is_not_made() -> None:
    case = Case(((5, 1), (4, 0)), (), tuple(Waiting(k, 3 + k, 1, (3, 0)) for k in range(4)))
    few = replace(LONG, most_variables=7)
    assert dispatch(instance_of(case), "cp-classes", few).status == "too-large"
    assert dispatch(instance_of(case), "cp-classes", replace(few, most_variables=8)).variables == 8


def test_jobs_without_a_place_wait_and_a_stopped_solve_uses_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
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


#: A node with two of memory for each core, and one with three, and a little more.
TWO = ((4, 9), (2, 6))


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
        # No running job has memory.
        ((Busy(5, {0: 1}, (1, 0)), Busy(9, {0: 1}, (1, 0))), (Waiting(0, 3, 1, (1, 2)),), True),
    ],
)
def test_resources_that_follow_another_one(busy: tuple[Busy, ...], waiting: tuple[Waiting, ...], follows: bool) -> None:
    case = Case(TWO, busy, waiting)
    _, followers = without_followers(problem_for(case))
    assert bool(followers) == follows
    found = planned(instance_of(case), "pcp20", Parameters(limit_s=5.0))
    assert found.value == least_z(case, "boxes")
    assert faults(case, found, instance_of(case)) == []


def planned_ahead(case: Case, submit: list[int], **more: Any) -> Any:
    return plan_ahead(
        np.array(case.capacity),
        submit_s=np.array(submit),
        duration_s=np.array([job.duration for job in case.waiting]),
        units=np.array([job.units for job in case.waiting]),
        per_unit=np.array([job.per_unit for job in case.waiting]),
        **more,
    )


@settings(max_examples=60)
@given(cases(nodes=3, jobs=6), st.data(), st.booleans())
def test_plans_obey_and_are_repeatable(case: Case, data: st.DataObject, pooled: bool) -> None:
    submit = [data.draw(st.integers(-5, 15)) for _ in case.waiting]
    found, again = (planned_ahead(case, submit, pooled=pooled, lists=20, seed=3) for _ in range(2))
    starts = found.start_s.tolist()
    assert starts == again.start_s.tolist()
    assert all(start >= come for start, come in zip(starts, submit, strict=True))
    empty = Case(case.capacity, (), case.waiting)
    nodes = [found.unit_node[a:b].tolist() for a, b in zip(found.first_unit, found.first_unit[1:], strict=False)]
    since = [start - min(submit) for start in starts]
    assert violations(empty, "pool" if pooled else "nodes", list(range(len(starts))), since, nodes, []) == []
    waits = zip(starts, submit, case.waiting, strict=True)
    assert found.value == sum(Fraction(s - q + job.duration, job.duration) for s, q, job in waits) <= found.list_value
    if pooled:
        known = planned_ahead(case, submit, pooled=True, lists=0, known_s=found.start_s)
        assert known.value <= found.value


def test_knowledge_of_future_jobs_leaves_cores_idle_for_them() -> None:
    """Two jobs of all cores, of 100 s and, a second later, of one second: every policy starts the first one at once."""
    columns = {"submit_s": [10, 11], "duration_s": [100, 1], "units": [1, 1], "per_unit": [[4], [4]]}
    found = plan_ahead(np.array([[4]]), **{name: np.array(column) for name, column in columns.items()})
    assert (found.start_s.tolist(), found.value) == ([12, 11], Fraction(102, 100) + 1)
    assert found.unit_node.tolist() == [0, 0]


def test_impossible_plans_are_errors_of_one_line() -> None:
    good = {"submit_s": np.array([0]), "duration_s": np.array([5]), "units": np.array([1]), "per_unit": np.array([[3]])}
    for wrong, said in (
        ({"per_unit": np.array([[5]])}, "plan ahead: job 0 (from 0) does not fit the empty machine"),
        ({"goal": "energy"}, "plan ahead: goal: unknown goal"),
        ({"lists": -1}, "plan ahead: lists: -1"),
        ({"seed": -1}, "plan ahead: seed: -1"),
        ({"duration_s": np.array([0])}, "plan ahead: duration_s: 0; allowed: 1 or more"),
        ({"units": np.array([0])}, "plan ahead: units: 0; allowed: 1 or more"),
        ({"per_unit": np.array([[0]])}, "plan ahead: per_unit: 0; allowed: 1 or more of some resource"),
    ):
        with pytest.raises(InputError) as error:
            plan_ahead(np.array([[4]]), **{**good, **wrong})  # type: ignore[arg-type]
        assert said in str(error.value)
        assert "\n" not in str(error.value)
    no_jobs = {name: column[:0] for name, column in good.items()}
    assert plan_ahead(np.array([[4]]), **no_jobs).value == 0


@pytest.mark.parametrize(
    ("name", "values", "kind", "of", "allowed"), table_rows(__file__, "columns_that_do_not_belong_together")
)
def test_columns_that_do_not_belong_together(name: str, values: list[Any], kind: str, of: str, allowed: str) -> None:
    good = {"submit_s": [0, 0], "duration_s": [9, 1], "units": [1, 1], "per_unit": [[1], [4]], "known_s": [0, 9]}
    columns = {"capacity": np.array([[4]]), **{one: np.array(column) for one, column in good.items()}}
    columns[name] = np.array(values, kind)
    with pytest.raises(PluginError) as error:
        plan_ahead(columns.pop("capacity"), **columns)  # type: ignore[arg-type]
    said = f"plan ahead: {name}: {kind} of shape {of}; allowed: whole numbers (int64) of shape {allowed}"
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)
