"""Sorting within kernels, beside Python's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from traces.algorithms.sorting import sort_first, sort_places
from traces.compiled import compiled
from traces.kernels.signatures import Floats, Ints


@compiled()
def _sort(values: Ints, n: int) -> None:
    sort_first(values, n)


@compiled()
def _order(keys: Floats, places: Ints, space: Ints, n: int) -> None:
    sort_places(keys, places, space, n)


@given(st.lists(st.integers(-50, 50), max_size=200), st.integers(0, 5))
def test_numbers_are_sorted_and_what_is_behind_them_stays(values: list[int], behind: int) -> None:
    column = np.array([*values, *range(behind)], np.int64)
    _sort(column, len(values))
    assert column.tolist() == [*sorted(values), *range(behind)]


@given(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1e300, float("inf"), 3.0]), max_size=300))
def test_equal_keys_keep_their_order(keys: list[float]) -> None:
    n = len(keys)
    places, space = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _order(np.array(keys, np.float64), places, space, n)
    assert places.tolist() == sorted(range(n), key=lambda k: keys[k])


def test_the_last_run_may_be_of_one() -> None:
    for n in (0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 64, 65):
        keys = -np.arange(float(n))
        places, space = np.zeros(n, np.int64), np.zeros(n, np.int64)
        _order(keys, places, space, n)
        assert places.tolist() == list(range(n - 1, -1, -1))
