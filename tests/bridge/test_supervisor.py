"""What a run needs of an application simulator, and which worker gets the next job."""

from __future__ import annotations

import numpy as np
import pytest
from conversation import hello, start

from bridge.protocol.task_payload import TaskPayload
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.needs import Needs

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
