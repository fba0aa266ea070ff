"""Batch metrics: a case by hand, and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bls.metrics import batch_metrics, bounded_slowdown, slowdown

S = 10**9


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_by_hand() -> None:
    """Four cores. Job A at once for 10 s on 3, B waits 9 s for all 4 for 5 s, C waits 13 s and runs for 1 s on 1."""
    submit, start, end = column(0, 1, 2) * S, column(0, 10, 15) * S, column(10, 15, 16) * S
    assert slowdown(submit, start, end).tolist() == [1.0, 14 / 5, 14.0]
    # With τ = 10 s: A 10/10, B 14/10, C 14/10.
    assert bounded_slowdown(submit, start, end).tolist() == [1.0, 1.4, 1.4]
    assert batch_metrics(submit, start, end, column(3, 4, 1), 4) == {
        "jobs": 3,
        "makespan_ns": 16 * S,
        "mean_wait_ns": pytest.approx(22 * S / 3),
        "max_wait_ns": 13 * S,
        "mean_response_ns": pytest.approx(38 * S / 3),
        "max_response_ns": 14 * S,
        "mean_slowdown": pytest.approx((1 + 14 / 5 + 14) / 3),
        "max_slowdown": 14.0,
        "mean_bounded_slowdown": pytest.approx(3.8 / 3),
        "max_bounded_slowdown": 1.4,
        "utilisation": (3 * 10 + 4 * 5 + 1 * 1) / (4 * 16),
        "utilisation_span_ns": [0, 16 * S],
        "throughput_jobs_per_s": 3 / 16,
    }


def test_the_makespan_is_from_the_first_submit_to_the_last_end() -> None:
    figures = batch_metrics(column(7, 9), column(20, 9), column(25, 90), column(1, 1), 2)
    assert figures["makespan_ns"] == 83
    assert figures["utilisation_span_ns"] == [7, 90]


def test_jobs_that_take_no_time_have_no_slowdown() -> None:
    figures = batch_metrics(column(0, 0), column(0, 5), column(4, 5), column(1, 1), 1)
    assert figures["mean_slowdown"] == 1.0
    only = batch_metrics(column(3), column(3), column(3), column(1), 1)
    assert only["mean_slowdown"] is None
    assert only["max_slowdown"] is None
    assert (only["utilisation"], only["throughput_jobs_per_s"]) == (0.0, 0.0)
    assert only["mean_bounded_slowdown"] == 1.0


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 2**60), st.integers(0, 2**60), st.integers(1, 2**60), st.integers(1, 2**24)),
        min_size=1,
        max_size=8,
    )
)
def test_as_exact_arithmetic_has_them(jobs: list[tuple[int, int, int, int]]) -> None:
    submit = [job[0] for job in jobs]
    start = [job[0] + job[1] for job in jobs]
    end = [job[0] + job[1] + job[2] for job in jobs]
    n = len(jobs)
    figures = batch_metrics(column(*submit), column(*start), column(*end), column(*(job[3] for job in jobs)), 2**24)

    def near(exact: Fraction) -> object:
        return pytest.approx(float(exact), rel=1e-12)

    makespan = max(end) - min(submit)
    assert figures["makespan_ns"] == makespan
    assert figures["mean_wait_ns"] == near(Fraction(sum(job[1] for job in jobs), n))
    assert figures["max_wait_ns"] == max(job[1] for job in jobs)
    assert figures["mean_response_ns"] == near(Fraction(sum(job[1] + job[2] for job in jobs), n))
    assert figures["mean_slowdown"] == near(sum(Fraction(job[1] + job[2], job[2]) for job in jobs) / n)
    bounded = [max(Fraction(1), Fraction(job[1] + job[2], max(job[2], 10 * S))) for job in jobs]
    assert figures["mean_bounded_slowdown"] == near(sum(bounded, Fraction(0)) / n)
    assert figures["max_bounded_slowdown"] == near(max(bounded))
    assert figures["utilisation"] == near(Fraction(sum(job[2] * job[3] for job in jobs), 2**24 * makespan))
    assert figures["throughput_jobs_per_s"] == near(Fraction(n * S, makespan))
