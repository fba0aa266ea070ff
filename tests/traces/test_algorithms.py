"""Heaps, sorting, extremes, lanes and step functions against plain Python."""

from itertools import pairwise

import numpy as np
import pytest
from batch_traces import deepest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import ledgers

from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_remove_keys, heap_replace_top, heap_settle
from traces.algorithms.extremes import extremes
from traces.algorithms.lanes import pack_lanes
from traces.algorithms.sorting import sort_places
from traces.compiled import compiled, own
from traces.figures.drawing.steps import in_columns, mean, steps
from traces.kernels.signatures import Floats, Ints
from traces.ledger import Ledger
from traces.series import load_series


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_extremes(values: list[float], instants: list[int]) -> None:
    assert extremes(np.array(values)) == (min(values), max(values))
    column = np.frombuffer(np.array(instants).tobytes(), np.int64)  # read-only, as a message has it
    assert extremes(column) == (min(instants), max(instants))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_that_is_no_number_makes_both_none(at: int) -> None:
    for bits in (0x7FF8_0000_0000_0000, 0x7FF0_0000_0000_0001):  # quiet, signalling
        values = np.array([1.0, 3.0, 2.0])
        values.view(np.uint64)[at] = bits
        assert np.isnan(extremes(values)).all()


def test_columns_that_kernels_accept_are_not_copied() -> None:
    fit = np.arange(4.0)
    assert own(fit, np.float64) is fit
    others = (fit[::2], fit.astype(np.float32), np.frombuffer(fit.tobytes()), fit.astype(">f8"), [0.0, 2.0], fit[::-1])
    for unfit in others:
        made = own(unfit, np.float64)
        assert (made.flags.carray, made.dtype, made.tolist()) == (True, np.float64, list(unfit))


@compiled()
def _order(keys: Floats, places: Ints, space: Ints, n: int) -> None:
    sort_places(keys, places, space, n)


@given(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1e300, float("inf"), 3.0]), max_size=300))
def test_equal_keys_keep_their_order(keys: list[float]) -> None:
    n = len(keys)
    places, space = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _order(np.array(keys, np.float64), places, space, n)
    assert places.tolist() == sorted(range(n), key=lambda k: keys[k])


#: Begins and ends.
Intervals = list[tuple[int, int]]


def clash(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two intervals cannot be drawn one after the other."""
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


@settings(max_examples=200, deadline=None)
@given(ledgers())
def test_it_counts_the_state_after_each_instant(of: Ledger) -> None:
    jobs, found = of.jobs, load_series(of)
    columns = (column.tolist() for column in (jobs.eligible_ns, jobs.start_ns, jobs.end_ns, jobs.held_cores))
    rows = [row for row in zip(*columns, strict=True) if row[1] != -1]
    expected, last = [], (0, 0)
    for instant in sorted({moment for row in rows for moment in row[:3]}):
        waiting = sum(eligible <= instant < start for eligible, start, _, _ in rows)
        state = waiting, sum(cores for _, start, end, cores in rows if start <= instant < end)
        if state != last:
            expected.append((instant, *state))
        last = state
    columns = (column.tolist() for column in (found.instant_ns, found.queue_length, found.busy_cores))
    assert list(zip(*columns, strict=True)) == expected


ROOM = 40


@settings(max_examples=400)
@given(data=st.data())
def test_the_smallest_pair_is_first_whatever_is_done(data: st.DataObject) -> None:
    time, key = np.full(ROOM, -99, np.int64), np.full(ROOM, -99, np.int64)
    pairs: list[tuple[int, int]] = []
    for number in range(data.draw(st.integers(1, ROOM))):
        actions = ("push", "push", "drop", "replace", "settle", "remove") if pairs else ("push",)
        action, size = data.draw(st.sampled_from(actions)), len(pairs)
        t = data.draw(st.integers(0, 6) | st.sampled_from((2**62, 2**63 - 1)))
        if action == "push":
            # Pairs are unique: keys are, but do not come in order.
            size = heap_push(time, key, size, t, (number * 17) % ROOM)
            pairs.append((t, (number * 17) % ROOM))
        elif action == "drop":
            size = heap_drop_top(time, key, size)
            pairs.remove(min(pairs))
        elif action == "replace":
            top = min(pairs)
            heap_replace_top(time, key, size, t, top[1])
            pairs[pairs.index(top)] = (t, top[1])
        elif action == "remove":
            lo = data.draw(st.integers(0, ROOM))
            hi = data.draw(st.integers(lo, ROOM))
            size = heap_remove_keys(time, key, size, lo, hi)
            pairs = [(at, one) for at, one in pairs if not lo <= one < hi]
        else:
            at = data.draw(st.integers(0, size - 1))
            old = (int(time[at]), int(key[at]))
            heap_settle(time, key, size, at, t)
            pairs[pairs.index(old)] = (t, old[1])
        assert size == len(pairs)
        held = list(zip(time[:size].tolist(), key[:size].tolist(), strict=True))
        assert sorted(held) == sorted(pairs)
        assert not pairs or held[0] == min(pairs)
    left = []
    for size in range(len(pairs), 0, -1):
        left.append((int(time[0]), int(key[0])))
        assert heap_drop_top(time, key, size) == size - 1
    assert left == sorted(pairs)
