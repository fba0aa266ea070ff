"""Chunks of a job in the order of assignment, and how long tasks are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_frames import tasks_of

from traces.base.errors import InputError
from traces.figures.application.chunk_sizes import chunks_figure
from traces.figures.application.task_lengths import task_lengths_figure

#: Job 1 has chunks of 3, 2, 1 tasks, job 2 one of 2.
TASKS = tasks_of(
    [
        *((1, task, chunk, 0, task, task + 1, float(task + 1)) for task, chunk in enumerate([0, 0, 0, 1, 1, 2])),
        (2, 0, 0, 1, 0, 1, 30.0),
        (2, 1, 0, 1, 1, 2, 10.0),
        (3, 0, 0, 2, 0, 1, 5.0),
        (4, 0, 0, -1, -1, -1, 5.0),
        (4, 1, 0, -1, -1, -1, 5.0),
    ]
)


def sizes(figure: Any) -> list[tuple[float, float, float]]:
    corners = [path.vertices[:4] for path in figure.axes[0].collections[0].get_paths()]
    return [(one[:, 0].min(), np.ptp(one[:, 0]), one[:, 1].max()) for one in corners]


def test_chunks_of_the_job_with_the_most_tasks() -> None:
    figure = chunks_figure(TASKS, title="t")
    assert sizes(figure) == [(0, 3, 3), (3, 2, 2), (5, 1, 1)]
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "job 1, the one with the most tasks"
    assert axes.get_title(loc="right") == "3 chunks of 6 tasks; at most 3"
    assert axes.get_xlim() == (0, 6)
    assert axes.get_ylim()[0] == 0


def test_of_several_attempts_the_last_is_drawn() -> None:
    first = [(1, task, task // 2, 0, task, task + 1, 1.0) for task in range(4)]
    last = [(1, task, task // 3, 0, 10 + task, 11 + task, 1.0) for task in range(6)]
    assert sizes(chunks_figure(tasks_of(first + last))) == [(0, 3, 3), (3, 3, 3)]


def test_no_chunks_is_said() -> None:
    with pytest.raises(InputError, match=r"^nothing to draw: no task of job 4 ran$"):
        chunks_figure(TASKS, job_id=4)
    with pytest.raises(InputError, match=r"^nothing to draw: no task ran$"):
        chunks_figure(TASKS[-2:])
    with pytest.raises(InputError, match="no column chunk"):
        chunks_figure(TASKS.drop(columns="chunk"))


def histogram(figure: Any) -> tuple[np.ndarray, np.ndarray]:
    data = figure.axes[0].patches[0].get_data()
    return data.values, data.edges


def marks(figure: Any) -> list[float]:
    return [line.get_xdata()[0] for line in figure.axes[0].lines]


def test_lengths_of_one_job() -> None:
    figure = task_lengths_figure(TASKS, job_id=1, title="t")
    heights, edges = histogram(figure)
    assert heights.sum() == 6
    assert (edges[0], edges[-1]) == (1, 6)
    sigma = float(np.std([1, 2, 3, 4, 5, 6]))
    assert marks(figure) == [3.5, pytest.approx(3.5 + sigma), pytest.approx(3.5 - sigma)]
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said == ["mean 3.5 GFLOP", f"mean ± σ, σ = {sigma:.3g} GFLOP; σ / mean = {sigma / 3.5:.3f}"]
    (axes,) = figure.axes
    assert axes.get_xlabel() == "length of a task [GFLOP]"
    assert axes.get_title(loc="right") == "6 tasks of job 1"
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0


def test_lengths_of_all_jobs_are_relative_to_their_jobs() -> None:
    figure = task_lengths_figure(TASKS)
    heights, edges = histogram(figure)
    ratios = [*(np.arange(1, 7) / 3.5), 1.5, 0.5]
    assert heights.sum() == len(ratios)
    assert (edges[0], edges[-1]) == (pytest.approx(1 / 3.5), pytest.approx(6 / 3.5))
    sigma = np.sqrt(np.square(np.array(ratios) - 1).sum() / (5 + 1))
    assert marks(figure) == [1, pytest.approx(1 + sigma), pytest.approx(1 - sigma)]
    assert figure.axes[0].get_xlabel() == "length of a task / mean length in its job"
    assert figure.axes[0].get_title(loc="right") == "8 tasks of 2 jobs; 1 job of one task left out"


def test_very_different_lengths_have_a_logarithmic_axis() -> None:
    lengths = [1.0] * 99 + [1000.0]
    figure = task_lengths_figure(tasks_of([(1, k, 0, 0, 0, 1, length) for k, length in enumerate(lengths)]), job_id=1)
    assert figure.axes[0].get_xscale() == "log"
    assert "(logarithmic)" in figure.axes[0].get_xlabel()
    heights, edges = histogram(figure)
    assert (heights.sum(), heights[0], heights[-1]) == (100, 99, 1)
    np.testing.assert_allclose(edges[1:] / edges[:-1], (edges[1] / edges[0]))
    assert len(figure.legends[0].get_texts()) == 2
    assert marks(figure) == [pytest.approx(np.mean(lengths)), pytest.approx(np.mean(lengths) + np.std(lengths))]


def test_no_lengths_is_said() -> None:
    with pytest.raises(InputError, match=r"^nothing to draw: no task of job 4 ran$"):
        task_lengths_figure(TASKS, job_id=4)
    with pytest.raises(InputError, match=r"^nothing to draw: no job had more than one task; give job_id$"):
        task_lengths_figure(TASKS[TASKS.job_id == 3])
    with pytest.raises(InputError, match=r"^nothing to draw: no task ran$"):
        task_lengths_figure(TASKS[-2:])
    with pytest.raises(InputError, match="no column length_gflop"):
        task_lengths_figure(pd.DataFrame({"job_id": [1]}))
