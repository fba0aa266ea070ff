"""Memory that follows cores has no boxes: the same least Z as exhaustive search has with them, and places for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dispatch_cases import cases, faults, instance_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, least_z

from bls.cp import Parameters
from bls.cp.dispatch import plan
from bls.cp.followers import without_followers
from bls.cp.plan import Plan
from bls.cp.problem import Problem, problem_of
from bls.cp.ranking import select

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
