"""The map of cores × time: every cell is the share of its cores × time that is covered."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_frames import S, jobs_of, tasks_of

import traces.figures.run.core_heat as core_heat
from traces.base.errors import InputError
from traces.figures.run.core_heat import heat_figure

HOSTS: dict[str, Any] = {"first_core": np.array([0, 4, 6]), "host_names": ["host 0", "host 1"]}

TASKS = tasks_of(
    [
        (1, 0, 0, 0, 0, 5, 1.0),
        (1, 1, 1, 1, 0, 10, 1.0),
        (1, 2, 1, 1, 10, 12.5, 1.0),
        (2, 0, 0, 4, 5, 20, 1.0),
        (2, 1, 0, -1, -1, -1, 1.0),
    ]
)


def share(figure: Any) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_the_map_by_hand() -> None:
    figure = heat_figure(TASKS, **HOSTS, columns=4, title="t")
    axes, bar = figure.axes
    expected = np.zeros((6, 4))
    expected[0] = [1, 0, 0, 0]
    expected[1] = [1, 1, 0.5, 0]
    expected[4] = [0, 1, 1, 1]
    np.testing.assert_allclose(share(figure), expected, atol=1e-12)
    assert axes.images[0].get_extent() == [0, 20, 6, 0]
    assert axes.images[0].get_clim() == (0, 1)
    assert axes.get_ylim() == (6, 0)
    assert axes.get_xlabel() == "time since the start of the workload [s]"
    assert bar.get_ylabel() == "computing [share of the time]"
    assert axes.get_title(loc="right") == f"6 cores; a cell is 5 s; mean share {32.5 / 120:.3f}"
    assert [text.get_text() for text in axes.texts] == ["host 0", "host 1"]


def test_jobs_show_where_cores_are_held() -> None:
    jobs = jobs_of(
        [
            {"submit": 0, "start": 0, "end": 10, "cores": 3, "allocation": "0-1 4"},
            {"submit": 0, "start": 10, "end": 20, "cores": 1, "allocation": "5"},
            {"submit": 0, "start": -1, "end": -1, "cores": 1},
        ]
    )
    figure = heat_figure(jobs, **HOSTS, columns=2)
    assert share(figure).tolist() == [[1, 0], [1, 0], [0, 0], [0, 0], [1, 0], [0, 1]]
    assert figure.axes[1].get_ylabel() == "held by a job [share of the time]"


BARS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30), st.integers(1, 15)), min_size=1, max_size=10)


@settings(max_examples=40)
@given(BARS, st.integers(1, 12), st.integers(1, 8))
def test_the_mean_is_the_busy_share(drawn: list[tuple[int, int, int]], columns: int, most_rows: int) -> None:
    """Also where several cores are a row, and the last row has fewer than the others."""
    free = dict.fromkeys(range(7), 0)
    rows = []
    for core, gap, length in drawn:
        rows.append((1, len(rows), 0, core, free[core] + gap, free[core] + gap + length, 1.0))
        free[core] += gap + length
    machine = {"first_core": np.array([0, 7]), "host_names": ["h"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_heat, "MOST_ROWS", most_rows)
        figure = heat_figure(tasks_of(rows), **machine, columns=columns)
    map_ = share(figure)
    per_row = {1: 8, 2: 4, 3: 4}.get(most_rows, 2 if most_rows < 7 else 1)
    assert map_.shape == (-(-7 // per_row), columns)
    cores_of_row = np.array([min(per_row, 7 - low) for low in range(0, 7, per_row)])
    begin = min(row[4] for row in rows)
    end = max(row[5] for row in rows)
    begin = 0 if 4 * begin < end else begin
    busy = sum(length for _, _, length in drawn) / (7 * (end - begin))
    assert (map_.mean(axis=1) * cores_of_row).sum() / 7 == pytest.approx(busy)
    said = figure.axes[0].get_title(loc="right")
    assert said.endswith(f"mean share {busy:.3f}") or abs(float(said.split()[-1]) - busy) < 0.0006
    assert (f"{per_row} a row" in said) == (per_row > 1)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match=r"^--cores: 6-8 goes beyond what exists: the machine has cores 0 to 5$"):
        heat_figure(TASKS, **HOSTS, cores=[(6, 9)])
    with pytest.raises(InputError, match=r"^nothing to draw: no job ran on these cores$"):
        heat_figure(TASKS, **HOSTS, cores=[(5, 6)])
    with pytest.raises(InputError, match="no job ran on these cores"):
        heat_figure(jobs_of([{"submit": 0, "start": -1, "end": -1, "cores": 1}]), **HOSTS)
    with pytest.raises(InputError, match=r"^columns: 0 is out of range; allowed: 1 or more$"):
        heat_figure(TASKS, **HOSTS, columns=0)
    with pytest.raises(InputError, match=r"^the table of tasks has no column core; "):
        heat_figure(pd.DataFrame({"start_ns": [0], "end_ns": [S]}), **HOSTS)


def test_memory_is_that_of_intervals_and_not_of_cores() -> None:
    n_cores, n_jobs = 1_000_000, 1000
    rows = [
        {"submit": 0, "start": k, "end": k + 1, "cores": n_cores, "allocation": f"0-{n_cores - 1}"}
        for k in range(n_jobs)
    ]
    jobs = jobs_of(rows)
    tracemalloc.start()
    figure = heat_figure(jobs, first_core=np.array([0, n_cores]), host_names=["host 0"], columns=10)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert share(figure).min() > 0.999
