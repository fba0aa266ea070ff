"""Task lengths of a job to the nanosecond, and models that are refused; test_lengths draws them against the reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from als.programs.tasks import MAX_TASKS_PER_JOB, TaskModel
from traces.base.errors import InputError
from traces.base.time import duration_ns


@pytest.mark.parametrize(
    ("work_ns", "variation", "expected"),
    [
        (3, 10.0, [1, 1, 1]),  # all are rounded up to the shortest
        (5, 1e-9, [2, 2, 1]),  # 5/3 each would be 6: one is taken from the last of more than 1 ns
        (4, 1e-9, [2, 1, 1]),  # 4/3 each would be 3
        (2, 1e-9, [1, 1, 1]),  # a job that is shorter than its tasks can be
    ],
)
def test_nanoseconds_that_rounding_gains_or_loses(work_ns: int, variation: float, expected: list[int]) -> None:
    lengths = TaskModel(variation, 3, 1).lengths(1, 1, work_ns * 1e-9, 1.0)
    assert sorted((duration_ns(length, 1.0) for length in lengths), reverse=True) == expected


def test_a_job_of_more_nanoseconds_than_64_bits_hold() -> None:
    # 40,000 cores for 30 days each are 1.04e20 ns.
    run_ns = 30 * 86_400 * 10**9
    lengths = TaskModel(1.0, 4, 1).lengths(1, 40_000, run_ns / 1e9, 1.0)
    assert sum(duration_ns(length, 1.0) for length in lengths) == 40_000 * run_ns


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"variation": -0.1}, "--variation: -0.1 is out of range; allowed: 0 to 10"),
        ({"variation": 10.5}, "--variation: 10.5 is out of range; allowed: 0 to 10"),
        ({"variation": math.nan}, "--variation: nan is out of range; allowed: 0 to 10"),
        ({"tasks_per_core": 0}, "--tasks-per-core: 0 is out of range; allowed: 1 to 100000000"),
        ({"seed": -1}, "--seed: -1 is out of range; allowed: 0 to 18446744073709551615"),
        ({"seed": 2**64}, "--seed: 18446744073709551616 is out of range; allowed: 0 to 18446744073709551615"),
        ({"variation": "0.1"}, "--variation: '0.1' is not a number; allowed: 0 to 10"),
        ({"tasks_per_core": 2.0}, "--tasks-per-core: 2.0 is not a whole number; allowed: 1 to 100000000"),
        ({"seed": True}, f"--seed: True is not a whole number; allowed: 0 to {2**64 - 1}"),
    ],
)
def test_a_model_that_cannot_be(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        TaskModel(**values)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_job_of_too_many_tasks_is_named() -> None:
    model = TaskModel(0.0, MAX_TASKS_PER_JOB // 2, 0)
    model.check(np.array([1, 2]), np.array([7, 8]))
    with pytest.raises(InputError, match="gives job 8 of 3 cores 150000000 tasks; allowed: up to 100000000 a job"):
        model.check(np.array([1, 3]), np.array([7, 8]))
