"""Intervals on lanes: none within another, and no more lanes than lie over one another somewhere."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from batch_traces import deepest
from hypothesis import given
from hypothesis import strategies as st

from traces.algorithms.lanes import pack_lanes

#: Begins and ends.
Intervals = list[tuple[int, int]]


def clash(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two intervals cannot be drawn one behind the other."""
    return not (a[1] <= b[0] or b[1] <= a[0])


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=14))
def test_lanes_are_as_few_as_can_be(drawn: Intervals) -> None:
    intervals = [(begin, begin + length) for begin, length in drawn]
    columns = np.array(intervals, np.int64).reshape(-1, 2).T
    lane, order = pack_lanes(*columns)
    assert sorted(order.tolist()) == list(range(len(intervals)))
    assert set(lane.tolist()) == set(range(deepest(intervals)))
    for k in range(len(intervals)):
        for j in range(k):
            assert lane[j] != lane[k] or not clash(intervals[j], intervals[k])
    # In this order lanes follow one another, and on each no clock goes back.
    steps = [(int(lane[k]), *intervals[k]) for k in order]
    for before, after in pairwise(steps):
        assert before[0] < after[0] or (before[0] == after[0] and before[2] <= after[1])


@pytest.mark.parametrize(
    ("intervals", "lanes"),
    [
        ([(0, 10), (3, 12), (4, 20), (10, 11), (12, 13)], [0, 1, 2, 0, 0]),  # the lowest of those that are free
        ([(0, 5), (5, 5), (5, 9)], [0, 0, 0]),
        ([(0, 9), (5, 5)], [0, 1]),
        ([(7, 8), (0, 1), (2, 3)], [0, 0, 0]),
    ],
)
def test_by_hand(intervals: Intervals, lanes: list[int]) -> None:
    assert pack_lanes(*np.array(intervals, np.int64).T)[0].tolist() == lanes
