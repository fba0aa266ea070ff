"""The places of cores in a job, what a run needs of an application simulator, and which worker gets the next job."""

from __future__ import annotations

import numpy as np
import pytest
from conversation import hello, start

from bridge.couplings.places import Places
from bridge.protocol.task_payload import TaskPayload
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.needs import Needs
from traces.base.time import MAX_NS


def test_cores_come_to_the_first_places_that_are_free() -> None:
    begun = Places.of(np.array([4, 5, 9]), 10)
    assert begun.latest.tolist() == [4, 5, 9]
    wider = begun.with_cores([6, 7], np.array([True, False, True]), 20)
    assert wider.latest.tolist() == [4, 6, 9, 7]
    assert wider.place.tolist() == [0, 1, 2, 1, 3]
    assert wider.until_ns.tolist() == [MAX_NS, 20, MAX_NS, MAX_NS, MAX_NS]
    places, at_ns = np.array([1, 1, 1, 3, 0]), np.array([10, 19, 20, 25, 30])
    assert wider.cores_of(places, at_ns).tolist() == [5, 5, 6, 7, 4]


def test_a_core_that_comes_again_is_at_its_new_place_only() -> None:
    begun = Places.of(np.array([4, 5]), 0)
    moved = begun.with_cores([8], np.array([True, False]), 5).with_cores([5], np.array([True, True]), 9)
    assert moved.latest.tolist() == [4, 8, 5]
    assert moved.last_there.tolist() == [True, True, True]
    # Core 4 goes, and comes to the place of 8, which has gone before: its first place is nobody's now.
    again = moved.with_cores([4], np.array([True, False, True]), 12)
    assert again.latest.tolist() == [4, 4, 5]
    assert again.last_there.tolist() == [False, True, True]


BOTH = Needs(releases=True, hints=True)


@pytest.mark.parametrize(
    ("needs", "lacks", "said"),
    [
        (Needs(releases=True), "releases", "--coordination release: 'toy' cannot follow it: {}; allowed: none"),
        (BOTH, "releases", "--coordination hint: 'toy' cannot follow it: {}; allowed: none"),
        (BOTH, "hints", "--coordination hint: 'toy' cannot follow it: {}; allowed: none, release"),
        (Needs(resizes=True, releases=True), "resizes",
         "--malleable: 'toy' cannot follow it: {}; allowed: --resize mold, or without it"),
        (Needs(wishes=True), "wishes", "--resize evolve: 'toy' never wishes: {}; allowed: another one"),
        (Needs(scaled_by="--fallback dvfs"), "scales",
         "--fallback dvfs: 'toy' cannot follow it: {}; allowed: none, hold, stop:idle, stop:off"),
        (Needs(scaled_by="--bls mine, which directs speeds"), "scales",
         "--bls mine, which directs speeds: 'toy' cannot follow it: {}; allowed: a policy that leaves speeds alone"),
    ],
)  # fmt: skip
def test_the_option_and_what_is_allowed(needs: Needs, lacks: str, said: str) -> None:
    assert needs.unmet_by(hello(name="toy")) is None
    assert needs.unmet_by(hello(name="toy", **{lacks: False})) == said.format(f"its hello says {lacks} = false")
    nothing = dict.fromkeys(("releases", "hints", "resizes", "wishes", "scales"), False)
    assert Needs().unmet_by(hello(**nothing)) is None


def order(row: int) -> Order:
    return Order(start("recipe", job=row), 0, 100 + row, lambda: TaskPayload(np.ones(3)))


def crew(assignment: Assignment, count: int) -> list[Worker]:
    workers = [Worker(f"w{k}", 0.0) for k in range(count)]
    for worker in workers:
        assignment.add(worker)
    return workers


def test_the_one_with_the_fewest_is_next_and_of_those_the_one_that_waited_longest() -> None:
    assignment = Assignment(2, 2)
    first, second = crew(assignment, 2)
    got = []
    for row in range(4):
        worker = assignment.able(order(row))
        assert worker is not None
        assignment.give(worker, order(row))
        got.append(worker)
    assert got == [first, second, first, second]
    assert assignment.able(order(4)) is None
    assert assignment.take(second, 1).job_number == 101
    assert assignment.able(order(4)) is second


def test_a_job_that_was_lost_is_alone() -> None:
    assignment = Assignment(2, 3)
    (worker,) = crew(assignment, 1)
    assignment.give(worker, order(0))
    assert assignment.able(order(1).again()) is None
    assert assignment.able(order(1)) is worker
    assignment.take(worker, 0)
    assignment.give(worker, order(1).again())
    assert assignment.able(order(2)) is None


def test_one_that_was_dropped_gets_nothing_and_keeps_what_it_held() -> None:
    assignment = Assignment(1, 2)
    first, second = crew(assignment, 2)
    assignment.give(first, order(0))
    assignment.drop(first)
    assignment.drop(first)
    assert list(first.orders) == [0]
    assert assignment.able(order(1)) is second
    assignment.take(first, 0)
    assert assignment.able(order(1)) is second
