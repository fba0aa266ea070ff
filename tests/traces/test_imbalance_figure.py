"""Imbalance by width: which class a job is in, and what its box is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_frames import jobs_of

from traces.base.errors import InputError
from traces.figures.drawing.boxes import Box
from traces.figures.run.job_imbalance import imbalance_jobs_figure, width_classes


def jobs(pairs: list[tuple[int, float]]) -> pd.DataFrame:
    return jobs_of([{"submit": 0, "start": 0, "end": 1, "cores": n, "imbalance": value} for n, value in pairs])


FIVE = [0.1, 0.2, 0.3, 0.4, 0.9]
JOBS = jobs([(1, 0.0), (1, 0.0), *((8, value) for value in FIVE), (5, 0.5), (16, np.nan), (300, 0.7)])


def labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_classes_of_widths() -> None:
    place, names = width_classes(np.array([1, 2, 3, 4, 5, 8, 9, 1024, 1025]))
    assert names == ["1", "2", "3–4", "5–8", "9–16", "513–1,024", "1,025–2,048"]
    assert place.tolist() == [0, 1, 2, 2, 3, 3, 4, 5, 6]


def test_boxes_and_points_by_hand() -> None:
    figure = imbalance_jobs_figure(JOBS, title="t")
    (axes,) = figure.axes
    assert labels(axes) == ["1\n2 jobs", "5–8\n6 jobs", "257–512\n1 job"]
    box = Box.of([*FIVE, 0.5])
    (bar,) = axes.containers[0]
    assert (bar.get_y(), bar.get_height()) == (pytest.approx(box.first), pytest.approx(box.third - box.first))
    (whisker,) = axes.collections[0].get_segments()
    assert whisker.tolist() == [[1, pytest.approx(box.low)], [1, pytest.approx(box.high)]]
    median, points = axes.lines
    assert (median.get_xdata().tolist(), median.get_ydata().tolist()) == ([1], [pytest.approx(box.median)])
    assert (list(points.get_xdata()), list(points.get_ydata())) == ([0, 0, 2], [0, 0, 0.7])
    assert axes.get_ylim()[0] == 0
    assert axes.get_title(loc="right") == "9 jobs, mean 0.344, largest 0.9 (not drawn)"


def several(n: int) -> pd.DataFrame:
    return pd.concat([JOBS.assign(run=f"run {k}", imbalance=JOBS["imbalance"] * (k + 1)) for k in range(n)])


def test_runs_stand_side_by_side() -> None:
    figure = imbalance_jobs_figure(several(3))
    (axes,) = figure.axes
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["run 0", "run 1", "run 2"]
    middles = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines[::2]]
    median = float(np.median([*FIVE, 0.5]))
    assert [y for _, y in middles] == [pytest.approx(median * k) for k in (1, 2, 3)]
    x = [x for x, _ in middles]
    assert x == sorted(set(x))
    assert x[0] > 0.5
    assert x[-1] < 1.5
    assert len({line.get_marker() for line in axes.lines[::2]}) == 3


def test_more_than_eight_runs_have_a_panel_each() -> None:
    figure = imbalance_jobs_figure(several(9))
    named = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert named == [f"run {k}" for k in range(9)]
    assert figure.legends == []


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match=r"^nothing to draw: no job has an imbalance$"):
        imbalance_jobs_figure(JOBS[JOBS["cores"] == 16])
    with pytest.raises(InputError, match="no column imbalance"):
        imbalance_jobs_figure(JOBS.drop(columns="imbalance"))
