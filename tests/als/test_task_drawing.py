"""Task lengths: what the two-level paper's section 5.1 says, drawn the same by the slow reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import drawing

from als.lengths import lengths as length_model
from als.lengths.draw import room
from als.programs.tasks import MAX_TASKS_PER_JOB, TaskModel, drawn_lengths
from traces.base.errors import InputError

numbers = st.sampled_from((0, 1, 2**62, 2**64 - 1)) | st.integers(0, 2**64 - 1)
speeds = st.sampled_from((46.875, 1.0, 3.3, 1e-3, 7e5))
#: A nanosecond to two million seconds.
run_times = st.sampled_from((1, 7, 10**9, 86_400 * 10**9, 2 * 10**15)) | st.integers(1, 2 * 10**15)


@settings(max_examples=800)
@given(
    seed=numbers,
    job=st.integers(0, 2**62),
    cores=st.integers(1, 40),
    run_ns=run_times,
    speed=speeds,
    variation=st.sampled_from((0.0, 1e-9, 0.1, 0.25, 1.0, 10.0)) | st.floats(0, 10),
    per_core=st.integers(1, 6),
)
def test_lengths_are_those_of_the_reference(
    seed: int, job: int, cores: int, run_ns: int, speed: float, variation: float, per_core: int
) -> None:
    model = TaskModel(variation, per_core, seed)
    lengths = model.lengths(job, cores, speed * (run_ns / 1e9)).tolist()
    assert lengths == drawing.task_lengths(seed, job, cores, run_ns, speed, variation, per_core)
    total = cores * speed * (run_ns / 1e9)
    assert min(lengths) > 0
    if variation == 0:
        assert len(lengths) == cores * per_core
        assert len(set(lengths)) == 1
        assert math.isclose(math.fsum(lengths), total, rel_tol=1e-14)
    else:
        # The last task, and no other, brings the sum up to the job's length.
        assert math.fsum(lengths) >= total * (1 - 1e-12)
        assert math.fsum(lengths[:-1]) <= total * (1 + 1e-12)


def test_draws_that_are_not_positive_are_drawn_again() -> None:
    # With a standard deviation of twice the mean nearly a third of the draws is not positive.
    lengths = TaskModel(2.0, 1, 5).lengths(job=1, cores=1000, core_gflop=1.0)
    words = drawing.words(5, 1)
    draws = []
    while len([draw for draw in draws if draw > 0]) < len(lengths):
        draws.append(1.0 + 2.0 * drawing.normal(next(words)))
    assert lengths.tolist() == [draw for draw in draws if draw > 0]
    assert 0.25 < 1 - len(lengths) / len(draws) < 0.37


def test_the_mean_and_the_spread_are_those_asked_for() -> None:
    lengths = TaskModel(0.25, 4, 1).lengths(job=9, cores=25_000, core_gflop=8.0)
    assert abs(lengths.mean() - 2.0) < 0.01
    assert abs(lengths.std() - 0.5) < 0.01
    assert abs(len(lengths) - 100_000) < 1000


def test_more_tasks_than_there_was_room_for() -> None:
    # A sum far above n times the mean cannot be foreseen by the room; the lengths are drawn again with more.
    lengths = drawn_lengths(3, 4, 1, 1.0, 0.5, 500.0)
    assert len(lengths) > room(length_model("normal", variation=0.5), 1)
    assert math.fsum(lengths[:-1]) < 500.0 <= math.fsum(lengths)


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
