"""Axes of time: their unit, their origin, their marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_frames import S

from traces.figures.drawing.time_axis import duration_marks, time_axis, time_unit


@pytest.mark.parametrize(
    ("span", "unit"),
    [
        (1, "ns"),
        (2_999, "ns"),
        (3_000, "µs"),
        (3 * S - 1, "ms"),
        (3 * S, "s"),
        (180 * S, "min"),
        (3 * 3600 * S, "h"),
        (3 * 86_400 * S, "d"),
        (4000 * 86_400 * S, "d"),
    ],
)
def test_the_unit_goes_at_least_three_times_into_the_span(span: int, unit: str) -> None:
    assert time_unit(span)[1] == unit


def test_what_is_near_the_beginning_is_told_from_it() -> None:
    axis = time_axis(2 * S, 10 * S)
    assert (axis.limits, axis.label) == ((0, 10), "time since the start of the workload [s]")
    assert axis.at(5 * S) == 5
    assert time_axis(2 * S, 8 * S).limits == (2, 8)


def test_a_late_window_is_told_from_its_begin() -> None:
    axis = time_axis(7200 * S, 7260 * S)
    assert (axis.limits, axis.label) == ((0, 60), "time since 2 h 00 min of the workload [s]")
    assert axis.at(7230 * S) == 30


def test_a_window_in_the_middle_keeps_the_clock_of_the_workload() -> None:
    axis = time_axis(60 * S, 100 * S)
    assert (axis.limits, axis.origin_ns) == ((60, 100), 0)


def test_no_time_is_an_axis_all_the_same() -> None:
    assert time_axis(5 * S, 5 * S).span_ns == 1


@given(st.floats(1, 1e18), st.floats(1, 1e6))
def test_marks_are_few_ascending_and_within(low: float, factor: float) -> None:
    marks = duration_marks(low, low * factor)
    at = [ns for ns, _ in marks]
    assert len(at) <= 8
    assert at == sorted(set(at))
    assert all(low <= ns <= low * factor for ns in at)
    assert factor < 5 or low * factor > 3e18 or at


def test_marks_say_what_they_are() -> None:
    assert duration_marks(1e9, 4e13) == [
        (S, "1 s"),
        (10 * S, "10 s"),
        (60 * S, "1 min"),
        (600 * S, "10 min"),
        (3600 * S, "1 h"),
        (36_000 * S, "10 h"),
    ]
    assert [name for _, name in duration_marks(2.5 * 3600e9, 11 * 3600e9)] == ["5 h", "10 h"]
    assert [name for _, name in duration_marks(10, 1000)] == [
        "10 ns",
        "20 ns",
        "50 ns",
        "100 ns",
        "200 ns",
        "500 ns",
        "1 µs",
    ]
    assert len(duration_marks(1, 1e18)) <= 8
