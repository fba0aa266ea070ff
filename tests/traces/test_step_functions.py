"""Step functions of time, against what is counted instant by instant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.figures.drawing.steps import in_columns, mean, steps

ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(1, 5)), min_size=1, max_size=10)


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    begin, length, weight = np.array(rows, np.int64).T
    return begin, begin + length, weight


def counted(rows: list[tuple[int, int, int]], upto: int) -> list[int]:
    return [sum(w for b, n, w in rows if b <= t < b + n) for t in range(upto)]


@given(ROWS)
def test_the_values_are_those_that_are_counted(rows: list[tuple[int, int, int]]) -> None:
    found = steps(*columns(rows))
    assert (np.diff(found.instant_ns) > 0).all()
    assert (np.diff(found.value) != 0).all()
    place = np.searchsorted(found.instant_ns, np.arange(50), side="right")
    assert np.append(0, found.value)[place].tolist() == counted(rows, 50)


@given(ROWS, st.integers(1, 9), st.integers(0, 20), st.integers(1, 40))
def test_columns_keep_the_mean_and_the_extremes(
    rows: list[tuple[int, int, int]], n_columns: int, first: int, width: int
) -> None:
    """Columns of whole width: what is counted within each."""
    found = steps(*columns(rows))
    seen = in_columns(found, first, first + n_columns * width, n_columns)
    values = np.array(counted(rows, first + n_columns * width))[first:].reshape(n_columns, width)
    np.testing.assert_allclose(seen.mean, values.mean(axis=1), atol=1e-12)
    assert seen.least.tolist() == values.min(axis=1).tolist()
    assert seen.most.tolist() == values.max(axis=1).tolist()
    assert mean(found, first, first + n_columns * width) == pytest.approx(values.mean())


def test_nothing_is_nothing() -> None:
    none = np.zeros(0, np.int64)
    found = steps(none, none, none)
    assert len(found.value) == 0
    assert mean(found, 0, 10) == 0
    assert in_columns(found, 0, 10, 2).mean.tolist() == [0, 0]
