"""Imbalance and coefficient of variation: by hand, and by exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from als.metrics import application_metrics, finish_cov, finish_imbalance


def test_by_hand() -> None:
    # Cores work for 2, 4 and 6 s from 10 s on: the mean is 4 s, the deviation √(8/3) s.
    finish = np.array([12, 14, 16], np.int64) * 10**9
    assert finish_imbalance(finish, 10 * 10**9) == pytest.approx(0.5, rel=1e-15)
    assert finish_cov(finish, 10 * 10**9) == pytest.approx(math.sqrt(8 / 3) / 4, rel=1e-15)


def test_perfect_balance_is_zero_and_nothing_done_is_no_number() -> None:
    even = np.full(7, 3, np.int64)
    assert finish_imbalance(even, 0) == 0.0
    assert finish_cov(even, 0) == 0.0
    assert math.isnan(finish_imbalance(even, 3))
    assert math.isnan(finish_cov(even, 3))


@settings(max_examples=300)
@given(
    start=st.integers(0, 2**60),
    times=st.lists(st.integers(0, 2**61), min_size=1, max_size=20).filter(any),
)
def test_as_exact_arithmetic_has_it(start: int, times: list[int]) -> None:
    finish = np.array([start + time for time in times], np.int64)
    mean = Fraction(sum(times), len(times))
    spread = sum((time - mean) ** 2 for time in times) / len(times)
    imbalance, cov = finish_imbalance(finish, start), finish_cov(finish, start)
    assert imbalance >= 0
    assert imbalance == pytest.approx(float(max(times) / mean - 1), rel=1e-12, abs=1e-14)
    assert cov == pytest.approx(math.sqrt(spread) / float(mean), rel=1e-12, abs=1e-14)


def test_totals_leave_out_jobs_without_an_application_level() -> None:
    some = np.array([0.5, math.nan, 0.0])
    figures = application_metrics(np.array([3, 0, 4]), np.array([2, 0, 4]), some, 2 * some)
    assert figures == {
        "tasks": 7,
        "chunks": 6,
        "mean_imbalance": 0.25,
        "max_imbalance": 0.5,
        "mean_cov": 0.5,
        "max_cov": 1.0,
    }
    none = np.full(1, math.nan)
    figures = application_metrics(np.zeros(1, np.int64), np.zeros(1, np.int64), none, none)
    assert figures["mean_imbalance"] is None
    assert figures["max_cov"] is None
