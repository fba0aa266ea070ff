"""Confidence intervals of means: their coverage, and what must hold of every one."""

import math

import numpy as np
import pytest

from traces.base.errors import InputError
from traces.statistics import MIN_SEEDS, mean_interval, mean_intervals

pytestmark = pytest.mark.whole

ROWS = 1_000


def coverage(values: np.ndarray, true: float, confidence: float = 0.95) -> float:
    low, high = mean_intervals(values, confidence=confidence)
    return float(np.mean((low <= true) & (true <= high)))


# 1,000 samples tell a coverage to ± 1.4 % (two standard errors); docs/explanation/statistics.md has it from 6,000.
def test_intervals_have_their_stated_coverage() -> None:
    drawn = np.random.default_rng(10).standard_normal((2, 10, ROWS))
    assert 0.93 <= coverage(drawn[0], 0.0) <= 0.97
    # Skewed values are covered less when they are few: there is no telling from ten values how long the tail is.
    assert 0.925 <= coverage(np.exp(0.5 * drawn[1]), math.exp(0.125)) <= 0.97


def test_skewed_values_are_covered_better_than_by_students_t() -> None:
    values = np.random.default_rng(3).exponential(1.0, (10, ROWS))
    half = 2.262 * values.std(axis=0, ddof=1) / math.sqrt(len(values))
    students = float(np.mean(np.abs(values.mean(axis=0) - 1.0) <= half))
    assert 0.97 >= coverage(values, 1.0) > max(0.92, students + 0.02)


def test_few_values_have_no_interval() -> None:
    for n in range(MIN_SEEDS):
        found = mean_interval([float(k) for k in range(n)])
        assert found.n == n
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert not found.has_interval
        assert math.isnan(found.mean) if n == 0 else found.mean == (n - 1) / 2
    assert mean_interval([float(k) for k in range(MIN_SEEDS)]).has_interval


def test_equal_values_are_certain() -> None:
    found = mean_interval([37.0] * 6)
    assert (found.mean, found.low, found.high) == (37.0, 37.0, 37.0)
    # 0.1 + 0.2 is 0.3 but for rounding.
    found = mean_interval([0.3, 0.1 + 0.2, 0.3, 0.3, 0.3])
    assert found.low == found.high == found.mean
    # The same spread matters where the numbers are that small, and not where they were differences of large ones.
    spread = [1e-12, 2e-12, 3e-12, 4e-12, 5e-12]
    assert mean_interval(spread).low < mean_interval(spread).high
    assert mean_interval(spread, magnitude=1e5).low == mean_interval(spread, magnitude=1e5).high


def test_missing_values_are_left_out() -> None:
    assert mean_interval([1, math.nan, 2, 3, 4, 5, math.nan]) == mean_interval([1, 2, 3, 4, 5])


def test_columns_are_samples_of_their_own() -> None:
    columns = np.random.default_rng(6).exponential(1.0, (7, 4))
    columns[:, 2] = 3.0
    low, high = mean_intervals(columns)
    for k in range(4):
        one = mean_interval(columns[:, k])
        assert (low[k], high[k]) == pytest.approx((one.low, one.high), rel=1e-12)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="not finite"):
        mean_interval([1, 2, 3, 4, math.inf])
    for confidence in (0.4, 1.0, 95, math.nan):
        with pytest.raises(InputError, match="confidence"):
            mean_interval([1, 2, 3, 4, 5], confidence=confidence)
