"""What comes before a model is made: the instance, who is modelled, serial schedules and better ones, and nodes left out."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dispatch_cases import CASES, cases, faults, instance_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, least_z, violations

from bls.cp import MODELS, Parameters, dispatch, neighbourhoods, ranking, reduction
from bls.cp.dispatch import plan
from bls.cp.instance import Instance, Queue, up_s
from bls.cp.objective import Objective
from bls.cp.problem import problem_of
from bls.cp.ranking import holders, ranked, select
from bls.cp.reduction import reduced
from bls.cp.serial import BOXES, LAST, NODES, ORDERS, POOL, SerialGeneration, best_list
from traces.base.errors import PluginError
from traces.compiled import Array

ROOMS = {"pool": POOL, "nodes": NODES, "boxes": BOXES}


def column(*values: int) -> Array:
    return np.array(values, np.int64)


@settings(max_examples=150)
@given(cases(nodes=4, jobs=8), st.sampled_from(list(ROOMS)), st.sampled_from(list(ORDERS)), st.booleans())
def test_serial_schedules_obey_and_nobody_could_start_earlier(case: Case, kind: str, order: str, reduce: bool) -> None:
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
    if kind == "pool":  # a job may not start a second earlier beside those that were placed before it
        for k, job in enumerate(places):
            before = places[: k + 1]
            earlier = [starts[one] - (one == job) for one in before]
            assert violations(case, kind, before, earlier, [], []) != []


def in_order(case: Case, room: int, release: list[int], order: list[int]) -> list[int]:
    """Starts of jobs that come in an order, each at the first second from its release on at which it fits, second by second."""
    nodes, starts, held = range(len(case.capacity)), [0] * len(order), []

    def left(node: int, kind: int, second: int) -> int:
        runs = sum(job.places.get(node, 0) * job.per_unit[kind] for job in case.busy if second < job.left)
        return (
            case.capacity[node][kind]
            - runs
            - sum(amount[kind] for on, begin, stop, amount in held if on == node and begin <= second < stop)
        )

    for job in order:
        asked, begin = case.waiting[job], release[job]
        while True:
            seconds, wanted = range(begin, begin + asked.duration), [k for k in case.kinds if asked.per_unit[k]]
            if room == POOL:
                fits = all(
                    sum(left(node, kind, second) for node in nodes) >= asked.units * asked.per_unit[kind]
                    for kind in wanted for second in seconds
                )  # fmt: skip
                places = [0] * asked.units
            else:
                most = [min(left(n, k, s) // asked.per_unit[k] for k in wanted for s in seconds) for n in nodes]
                places = [node for node in nodes for _ in range(most[node])][: asked.units]
                fits = len(places) == asked.units
            if fits:
                break
            begin += 1
        starts[job] = begin
        held += [(node, begin, begin + asked.duration, asked.per_unit) for node in places]
    return starts


@settings(max_examples=150)
@given(cases(nodes=3, jobs=7), st.sampled_from([POOL, NODES]), st.data())
def test_each_starts_as_early_as_it_can_in_any_order(case: Case, room: int, data: st.DataObject) -> None:
    problem = problem_of(instance_of(case), np.arange(len(case.waiting)))
    release = [data.draw(st.integers(0, 9)) for _ in case.waiting]
    generation = SerialGeneration(problem, room, np.array(release))
    for _ in range(3):
        order = data.draw(st.permutations(range(len(release))))
        assert generation(np.array(order)).start_s.tolist() == in_order(case, room, release, list(order))


@settings(max_examples=100)
@given(cases(nodes=4, jobs=8), st.sampled_from(list(ROOMS.values())), st.data())
def test_the_last_plans_order_is_one_more(case: Case, room: int, data: st.DataObject) -> None:
    problem = problem_of(instance_of(case), np.arange(len(case.waiting)))
    objective, generation = Objective(problem), SerialGeneration(problem, room)
    last = np.array([data.draw(st.integers(-1, 9)) for _ in case.waiting])
    order = sorted(range(len(last)), key=lambda job: (last[job] < 0, last[job], job))
    alone, warm = best_list(problem, objective, generation), best_list(problem, objective, generation, last)
    value = objective.sum_of(warm[0].start_s)
    assert value <= objective.sum_of(generation(np.array(order)).start_s)
    if warm[1] == LAST:
        assert value <= objective.sum_of(alone[0].start_s)
        assert (last >= 0).any()
    else:
        assert (warm[1], warm[0].start_s.tolist()) == (alone[1], alone[0].start_s.tolist())


def test_the_list_takes_the_lowest_positions_and_splits_units_over_nodes() -> None:
    case = Case(((4,), (4,)), (Busy(5, {0: 1}, (3,)),), (Waiting(0, 2, 3, (2,)), Waiting(0, 9, 1, (1,))))
    found = SerialGeneration(problem_of(instance_of(case), np.arange(2)), BOXES)(np.arange(2))
    assert found.start_s.tolist() == [5, 0]
    # At 5 the first node is free, all of which two units take; the other job would be in the third one's way at position 0.
    assert found.unit_node.tolist() == [0, 0, 1, 1]
    assert found.unit_low.tolist() == [[0], [2], [0], [2]]


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 2**33), st.integers(1, 2**33), st.integers(1, 3)), min_size=1, max_size=12),
    st.integers(1, 12),
)
def test_priority_is_exact(jobs: list[tuple[int, int, int]], most: int) -> None:
    # Pairs that differ by less than a float can tell.
    jobs = [*jobs, (2**33 - 2, 2**33 - 1, 1), (2**33 - 3, 2**33 - 2, 1), (2**32 - 1, 2**33 - 2, 1), (1, 2, 1)]
    n = len(jobs)
    waited, duration, units = (column(*values) for values in zip(*jobs, strict=True))
    queue = Queue(np.arange(n)[::-1].copy(), waited, duration, units, np.ones((n, 1), np.int64))

    def priority(k: int) -> tuple[Fraction, int, int, int]:
        wait, d, wide = jobs[k]
        return (-Fraction(wait + d, d), d, wide, n - 1 - k)

    assert ranked(queue, np.arange(n), most).tolist() == sorted(range(n), key=priority)[:most]


@settings(max_examples=100)
@given(cases(nodes=4, jobs=8), st.integers(1, 4))
def test_who_fits_is_found_by_units_on_nodes(case: Case, more: int) -> None:
    case = replace(
        case, waiting=tuple(replace(job, units=job.units + more * (k % 2)) for k, job in enumerate(case.waiting))
    )
    instance = instance_of(case)
    for available in (instance.free, instance.capacity):
        wanted = [
            sum(
                min(has // asked for has, asked in zip(node, job.per_unit, strict=True) if asked)
                for node in available.tolist()
            )
            >= job.units
            for job in case.waiting
        ]
        assert holders(available, instance.queue).tolist() == wanted


@settings(max_examples=150)
@given(
    cases(nodes=4, jobs=8), st.sampled_from(["all", "fits"]), st.integers(1, 30), st.integers(1, 5), st.integers(0, 99)
)
def test_jobs_chosen_in_blocks_are_those_who_fit(case: Case, which: str, most: int, block: int, seed: int) -> None:
    some = instance_of(case).queue
    draw = np.random.default_rng(seed)
    many = draw.integers(0, len(some), 40)
    queue = Queue(
        draw.permutation(40),
        draw.integers(0, 9, 40),
        draw.integers(1, 5, 40),
        some.units[many] + draw.integers(0, 3, 40),
        some.per_unit[many] + draw.integers(0, 2, (40, some.per_unit.shape[1])),
    )
    instance = replace(instance_of(case), queue=queue)
    available = instance.free if which == "fits" else instance.capacity
    fitting = np.flatnonzero(holders(available, queue))
    wanted = ranked(queue, fitting, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_BLOCK", block)
        assert select(instance, most, which).tolist() == wanted.tolist()
        assert holders(available, queue, wanted).all()
        assert np.flatnonzero(holders(available, queue)).tolist() == fitting.tolist()


@settings(max_examples=80)
@given(cases(nodes=6, jobs=2), st.integers(1, 3), st.sampled_from([0, 1, 4, 4096]))
def test_nodes_that_are_left_out_are_no_better_than_those_that_stay(case: Case, n_units: int, positions: int) -> None:
    case = replace(case, waiting=(replace(case.waiting[0], units=n_units),))
    problem = problem_of(instance_of(case), np.arange(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "_MOST_POSITIONS", positions)
        smaller, nodes = reduced(problem)
    assert len(set(nodes.tolist())) == len(nodes)
    assert smaller.capacity.tolist() == problem.capacity[nodes].tolist()

    def free_from(of: int) -> list[list[int]]:
        found = [[0] * has for has in case.capacity[of]]
        for kind, node, low, size, left in zip(
            *(getattr(problem.held, name).tolist() for name in ("kind", "node", "low", "size", "left_s")), strict=True
        ):
            if node == of:
                found[kind][low : low + size] = [left] * size
        return found

    def as_good(one: int, other: int) -> bool:
        pairs = zip(free_from(one), free_from(other), strict=True)
        return all(len(a) >= len(b) and all(x <= y for x, y in zip(a, b, strict=False)) for a, b in pairs)

    for node in set(range(len(case.capacity))) - set(nodes.tolist()):
        assert sum(as_good(kept, node) for kept in nodes.tolist()) >= n_units


def test_who_starts_now_takes_nodes_that_are_in_use_and_leaves_empty_ones() -> None:
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


def test_held_boxes_lie_side_by_side_and_equal_ends_are_one() -> None:
    busy = (Busy(5, {1: 1, 0: 2}, (1, 0)), Busy(5, {1: 1}, (2, 1)), Busy(7, {1: 1}, (1, 1)))
    held = problem_of(instance_of(Case(((4, 2), (4, 2)), busy, (Waiting(0, 1, 1, (1, 0)),))), np.arange(1)).held
    boxes = list(zip(*(getattr(held, n).tolist() for n in ("kind", "node", "low", "size", "left_s")), strict=True))
    assert boxes == [(0, 0, 0, 2, 5), (0, 1, 0, 3, 5), (0, 1, 3, 1, 7), (1, 1, 0, 1, 5), (1, 1, 1, 1, 7)]


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
    instance = instance_of(case)
    problem = problem_of(instance, np.arange(len(case.waiting)))
    found = plan(problem, "hcp19", SEARCH, row=instance.queue.row)
    assert found.value == least_z(case, "pool")


@pytest.mark.parametrize("neighbourhood", [0, 1, 2])
def test_every_neighbourhood_keeps_everybody(neighbourhood: int) -> None:
    draw, order = random.Random(3), list(range(12))
    for _ in range(300):
        out = neighbourhoods._taken_out(neighbourhood, order, order[::-1], draw)
        assert 1 <= len(set(out)) == len(out) <= 8
        back = neighbourhoods._back(order, out, draw)
        assert sorted(back) == list(range(12))
        stays = [job for job in order if job not in out]
        assert [job for job in back if job not in out] == stays
        order = back


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
    assert neighbourhoods.bettered(problem, objective, generation, listed, lists=9, seed=0) is listed
