"""Distributions of waits and slowdowns: whose, where the zeros are, and what is left out of a long curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_frames import S, jobs_of

from traces.base.errors import InputError
from traces.figures.drawing.boxes import Box
from traces.figures.run.wait_times import waits_figure

#: Waits of 0, 0, 10, 30 s; bounded slowdowns 1, 1, 2, 4. The others are nobody's wait.
ROWS: list[dict[str, Any]] = [
    {"submit": 0, "start": 0, "end": 100, "cores": 1},
    {"submit": 5, "start": 5, "end": 6, "cores": 1},
    {"submit": 10, "start": 20, "end": 30, "cores": 1},
    {"submit": 10, "start": 40, "end": 50, "cores": 1, "state": "killed"},
    {"submit": 0, "start": 9, "end": 12, "cores": 1, "state": "requeued"},
    {"submit": 0, "start": 7, "end": 12, "cores": 1, "why": "preset"},
    {"submit": 3, "start": -1, "end": -1, "cores": 1},
    {"submit": 3, "start": -1, "end": -1, "cores": 1, "state": "rejected"},
]
JOBS = jobs_of(ROWS)


def curves(axes: Any) -> list[tuple[list[float], list[float]]]:
    return [
        (line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in axes.lines
        if line.get_drawstyle() == "steps-post"
    ]


def test_the_curves_by_hand() -> None:
    left, right = waits_figure(JOBS, title="t").axes
    ((x, y),) = curves(left)
    zero = x[0]
    assert x == [zero, zero, zero, 10 * S, 30 * S, pytest.approx(37.5 * S)]
    assert y == [0, 0.25, 0.5, 0.75, 1, 1]
    assert 0 < zero < 10 * S
    ((x, y),) = curves(right)
    assert (x, y) == ([1, 1, 1, 2, 4, 5], [0, 0.25, 0.5, 0.75, 1, 1])
    assert left.get_title(loc="right") == "4 jobs; median 5 s; 50 % did not wait"
    assert right.get_title(loc="right") == "median 1.5"


def test_a_short_job_counts_as_one_of_ten_seconds() -> None:
    _, right = waits_figure(jobs_of([{"submit": 0, "start": 15, "end": 20, "cores": 1}])).axes
    assert curves(right)[0][0][0] == 2


def test_zero_has_a_place_of_its_own() -> None:
    left, right = waits_figure(JOBS).axes
    names = [text.get_text() for text in left.get_xticklabels()]
    assert names[0] == "0"
    assert left.get_xticks()[0] == curves(left)[0][0][0]
    assert left.get_xlim()[0] < left.get_xticks()[0]
    assert "0 apart" in left.get_xlabel()
    (border,) = [line for line in left.lines if line.get_linestyle() == ":"]
    assert left.get_xticks()[0] < border.get_xdata()[0] < 10 * S
    assert (left.get_xscale(), right.get_xscale()) == ("log", "log")
    markers = [line.get_marker() for line in left.lines[:1]]
    assert markers == ["o"]
    assert left.lines[0].get_markevery() == [2]  # of the two that did not wait: where the curve begins


def labelled(n: int) -> pd.DataFrame:
    """Runs in the order a, c, b, d, …, the k-th of which waits k times as long."""
    names = [f"run {letter}" for letter in "acbdefghijkl"[:n]]
    tables = []
    for k, name in enumerate(names):
        table = JOBS[2:4].assign(run=name)
        table["start_ns"] += k * 10 * S
        table["end_ns"] += k * 10 * S
        tables.append(table)
    return pd.concat(tables)


def test_runs_are_lines_that_differ_in_more_than_colour() -> None:
    figure = waits_figure(labelled(8))
    left = figure.axes[0]
    assert [x[0] / S for x, _ in curves(left)] == [10, 20, 30, 40, 50, 60, 70, 80]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:3] == [
        "run a (2 jobs)",
        "run c (2 jobs)",
        "run b (2 jobs)",
    ]
    drawn = [line for line in left.lines if line.get_drawstyle() == "steps-post"]
    looks = {repr(line._unscaled_dash_pattern) for line in drawn}
    assert len(looks) == 8
    assert len({line.get_color() for line in drawn}) == 8


def test_more_runs_are_rows_of_boxes() -> None:
    figure = waits_figure(labelled(9))
    left, right = figure.axes
    assert [text.get_text() for text in left.get_yticklabels()][:3] == ["run a", "run c", "run b"]
    boxes = [(bar.get_x() / S, bar.get_width() / S) for group in left.containers for bar in group]
    expected = [Box.of(np.array([10.0, 30.0]) + 10 * k) for k in range(9)]
    assert boxes == [(pytest.approx(box.first), pytest.approx(box.third - box.first)) for box in expected]
    assert len(right.containers) == 9


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match=r"^nothing to draw: no job ran that has a wait$"):
        waits_figure(JOBS[4:])
    with pytest.raises(InputError, match=r"^the table of jobs has no column why; needed: start_ns, state, why$"):
        waits_figure(JOBS.drop(columns="why"))
