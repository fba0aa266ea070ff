"""Which worker gets the next job."""

from __future__ import annotations

import numpy as np
from conversation import start

from bridge.protocol.task_payload import TaskPayload
from bridge.workers.assignment import Assignment, Order, Worker


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
