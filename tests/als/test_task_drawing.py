"""Task lengths of a job, drawn the same by the slow reference: scaled to the job's work, and as the paper does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import drawing

from als.lengths import lengths as length_model
from als.lengths.draw import drawn, room
from als.programs.tasks import MAX_TASKS_PER_JOB, TaskModel
from traces.base.errors import InputError
from traces.base.time import duration_ns

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
    draw=st.sampled_from(("work", "paper")),
)
def test_lengths_are_those_of_the_reference(
    seed: int, job: int, cores: int, run_ns: int, speed: float, variation: float, per_core: int, draw: str
) -> None:
    model = TaskModel(variation, per_core, seed, f"normal:draw={draw}")
    lengths = model.lengths(job, cores, speed * (run_ns / 1e9), speed).tolist()
    assert lengths == drawing.task_lengths(seed, job, cores, run_ns, speed, variation, per_core, draw)
    total = cores * speed * (run_ns / 1e9)
    assert min(lengths) > 0
    if variation == 0 or draw == "work":
        assert len(lengths) == cores * per_core
        assert math.isclose(math.fsum(lengths), total, rel_tol=1e-14 + 1 / run_ns)
    if variation == 0:
        assert len(set(lengths)) == 1
    elif draw == "work":
        # Also of short jobs, whose tasks take a few ns: not one more or less than the job has. An ns of more than 13 days
        # is lost where work in GFLOP becomes time again, as without variation.
        durations = [duration_ns(length, speed) for length in lengths]
        if run_ns >= per_core and max(durations) < 2**50:
            assert sum(durations) == cores * duration_ns(speed * (run_ns / 1e9), speed)
    else:
        # The last task, and no other, brings the sum up to the job's length.
        assert math.fsum(lengths) >= total * (1 - 1e-12)
        assert math.fsum(lengths[:-1]) <= total * (1 + 1e-12)


def test_draws_that_are_not_positive_are_drawn_again() -> None:
    # With a standard deviation of twice the mean nearly a third of the draws is not positive.
    of_paper = TaskModel(2.0, 1, 5, "normal:draw=paper").lengths(1, 1000, 1.0, 1.0)
    lengths = TaskModel(2.0, 1, 5).lengths(1, len(of_paper), 1.0, 1.0)
    words = drawing.words(5, 1)
    draws = []
    while len([draw for draw in draws if draw > 0]) < len(of_paper):
        draws.append(1.0 + 2.0 * drawing.normal(next(words)))
    positive = np.array([draw for draw in draws if draw > 0])
    assert of_paper.tolist() == positive.tolist()
    assert lengths == pytest.approx(positive / positive.mean(), rel=1e-6)
    assert 0.25 < 1 - len(positive) / len(draws) < 0.37


def test_the_mean_and_the_spread_are_those_asked_for() -> None:
    for draw, count in (("work", 0), ("paper", 1000)):
        lengths = TaskModel(0.25, 4, 1, f"normal:draw={draw}").lengths(9, 25_000, 8.0, 1.0)
        assert abs(lengths.mean() - 2.0) < 0.01
        assert abs(lengths.std() - 0.5) < 0.01
        assert abs(len(lengths) - 100_000) <= count


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


def test_more_tasks_than_there_was_room_for() -> None:
    # A sum far above n times the mean cannot be foreseen by the room; the lengths are drawn again with more.
    model = length_model("normal:draw=paper", variation=0.5)
    lengths = drawn(model, 3, 4, 1, 1.0, 500.0)
    assert len(lengths) > room(model, 1)
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
