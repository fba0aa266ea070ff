"""Busy cores and the queue over time: the drawn curves are the step functions, or keep their integral."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_frames import jobs_of

import traces.figures.run.utilisation as utilisation
from traces.base.errors import InputError
from traces.figures.run.utilisation import utilisation_figure

JOBS = jobs_of(
    [
        {"submit": 0, "start": 0, "end": 6, "cores": 2, "held": 4},
        {"submit": 1, "start": 6, "end": 10, "cores": 3},
        {"submit": 1, "eligible": 2, "start": 4, "end": 8, "cores": 1},
        {"submit": 3, "start": -1, "end": -1, "cores": 8},
    ]
)


def curve(axes: object) -> tuple[list[float], list[float]]:
    """Values and edges of a panel's curve."""
    data = axes.patches[0].get_data()  # type: ignore[attr-defined]
    return data.values.tolist(), data.edges.tolist()


def test_the_curves_by_hand() -> None:
    busy, waiting, asked = utilisation_figure(JOBS, cores=8, title="a $run").axes
    assert curve(busy) == ([0.5, 0.625, 0.5, 0.375], [0, 4, 6, 8, 10])
    assert curve(waiting) == ([1, 2, 1], [1, 2, 4, 6])
    assert curve(asked) == ([3, 4, 3], [1, 2, 4, 6])
    assert busy.get_ylim() == (0, 1.05)
    assert waiting.get_ylim()[0] == asked.get_ylim()[0] == 0
    assert busy.get_ylabel() == "busy cores\n[fraction of 8]"
    assert asked.get_xlabel() == "time since the start of the workload [s]"
    # 4 × 6 + 3 × 4 + 1 × 4 = 40 core seconds; the one that never started is nowhere.
    assert busy.get_title(loc="right") == "mean 0.5 (dashed)"
    assert waiting.get_title(loc="right") == "mean 0.7 (dashed), at most 2"
    assert asked.get_title(loc="right") == "mean 1.7 (dashed), at most 4"
    middles = [line.get_ydata()[0] for axes in (busy, waiting, asked) for line in axes.lines]
    assert middles == [pytest.approx(0.5), pytest.approx(0.7), pytest.approx(1.7)]


ATTEMPTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 20), st.integers(1, 30), st.integers(1, 6)), min_size=1, max_size=9
)


@pytest.mark.parametrize("exact", [1000, 5])
@settings(max_examples=25)
@given(drawn=ATTEMPTS)
def test_what_is_drawn_integrates_to_the_time_that_cores_are_busy(
    exact: int, drawn: list[tuple[int, int, int, int]]
) -> None:
    """And the queue to the time that jobs wait; step by step, and as columns."""
    rows = [{"submit": q, "start": q + w, "end": q + w + p, "cores": n} for q, w, p, n in drawn]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utilisation, "EXACT_STEPS", exact)
        panels = utilisation_figure(jobs_of(rows), cores=64).axes
    # Short runs have an axis in other units than seconds: areas are compared as shares of the width.
    totals = (sum(p * n for _, _, p, n in drawn), sum(w for _, w, _, _ in drawn), sum(w * n for _, w, _, n in drawn))
    unit = {"s": 1.0, "min": 60.0, "ms": 1e-3}[panels[2].get_xlabel().split("[")[1][:-1]]
    for axes, total, whole in zip(panels, totals, (64, 1, 1), strict=True):
        if axes.patches:
            values, edges = (np.array(column) for column in curve(axes))
            assert (values * np.diff(edges)).sum() * whole * unit == pytest.approx(total)
        else:
            assert total == 0


def test_a_band_goes_from_the_least_to_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utilisation, "EXACT_STEPS", 2)
    busy = utilisation_figure(JOBS, cores=8).axes[0]
    assert curve(busy) == ([pytest.approx(0.525), pytest.approx(0.475)], [0, 5, 10])
    band = busy.patches[1].get_data()
    assert (band.baseline.tolist(), band.values.tolist()) == ([0.5, 0.375], [0.625, 0.625])
    assert "line: mean of each 5 s, band: least to most" in busy.get_title(loc="right")


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match=r"^nothing to draw: no job started$"):
        utilisation_figure(JOBS[3:], cores=8)
    with pytest.raises(InputError, match="no job started"):
        utilisation_figure(JOBS[:0], cores=8)
    with pytest.raises(InputError, match=r"^the machine has 4 cores, and jobs held 5 of them at once$"):
        utilisation_figure(JOBS, cores=4)
    with pytest.raises(InputError, match=r"^the table of jobs has no column eligible_ns; needed: submit_ns, "):
        utilisation_figure(JOBS.drop(columns="eligible_ns"), cores=8)
    with pytest.raises(InputError, match="no column submit_ns"):
        utilisation_figure(pd.DataFrame(), cores=8)
