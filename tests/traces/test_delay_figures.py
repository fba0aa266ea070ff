"""The figures of a comparison: start delays of all jobs, and one chain of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from traces.base.errors import InputError
from traces.figures.compare.delay_chain import MOST_JOBS, delay_chain_figure
from traces.figures.compare.start_delays import start_delays_figure

HOUR = 3600 * 10**9


def starts(deltas: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job_id": np.arange(len(deltas)) + 10,
            "start_a_ns": np.arange(len(deltas)) * HOUR,
            "start_delta_ns": np.array([round(delta * HOUR) for delta in deltas], np.int64),
        }
    )


def chained(*rows: tuple[float, ...]) -> pd.DataFrame:
    """Of job, eligible, start and end in A, and in B; h."""
    names = ("eligible_a_ns", "start_a_ns", "end_a_ns", "eligible_b_ns", "start_b_ns", "end_b_ns")
    frame = pd.DataFrame({"job_id": [int(row[0]) for row in rows], "attempt": 0})
    for place, name in enumerate(names, 1):
        frame[name] = [round(row[place] * HOUR) for row in rows]
    frame["start_delta_ns"] = frame["start_b_ns"] - frame["start_a_ns"]
    return frame


CHAIN = chained((3, 9, 12, 13, 9, 15, 16), (2, 10, 11, 12, 10, 13, 15), (1, 10, 10, 11.5, 10, 10, 13))


def bars(axes: Axes) -> list[list[tuple[float, float, float]]]:
    """Row, left end and width of the bars of every kind: waits, runs, overruns."""
    return [
        [
            (round(bar.get_y() + bar.get_height() / 2, 6), round(bar.get_x(), 6), round(bar.get_width(), 6))
            for bar in group
        ]
        for group in axes.containers
    ]


def arrows(axes: Axes) -> list[tuple[float, float, float, float]]:
    return [
        (*text.xyann, *text.xy)  # type: ignore[attr-defined]
        for text in axes.texts
        if getattr(text, "arrow_patch", None) is not None
    ]


def test_start_delays() -> None:
    (axes,) = start_delays_figure(starts([0, 2, -3, 1, -1, 0]), title="T").axes
    zero, later, earlier, same = axes.get_lines()
    assert np.asarray(zero.get_ydata()).tolist() == [0, 0]
    assert [np.asarray(line.get_xdata()).tolist() for line in (later, earlier, same)] == [[1, 3], [2, 4], [0, 5]]
    assert [np.asarray(line.get_ydata()).tolist() for line in (later, earlier, same)] == [[2, 1], [-3, -1], [0, 0]]
    # Told apart without colours, too: by marker, and by what fills it.
    assert len({line.get_marker() for line in (later, earlier, same)}) == 3
    assert to_hex(earlier.get_markerfacecolor()) == "#ffffff" != to_hex(later.get_markerfacecolor())
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels == ["later in B: 2", "earlier in B: 2", "same start: 2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("start in A [h]", "start in B − start in A [h]")
    assert [text.get_text() for text in axes.texts] == [
        "job 11: +2 h 00 min",
        "job 12: −3 h 00 min",
        "one run of each, no estimate",
    ]


def test_both_runs_of_a_chain() -> None:
    upper, lower = delay_chain_figure(CHAIN, late="B").axes
    assert [text.get_text() for text in upper.get_yticklabels()] == ["job 1", "job 2", "job 3"]
    assert upper.get_ylim()[0] > upper.get_ylim()[1]  # the first of the chain is at the top
    low = 10 - 0.04 * 6
    assert bars(upper) == [
        [(0, 10, 0), (1, 10, 1), (2, pytest.approx(low), pytest.approx(12 - low))],
        [(0, 10, 1.5), (1, 11, 1), (2, 12, 1)],
        [],
    ]
    waits, ran, over = bars(lower)
    assert waits[:2] == [(0, 10, 0), (1, 10, 3)]
    assert ran == [(0, 10, 3), (1, 13, 2), (2, 15, 1)]
    assert over == [(0, 11.5, 1.5), (1, 14, 1)]
    assert all(bar.get_hatch() for bar in lower.containers[2])
    assert upper.get_xlim() == lower.get_xlim() == pytest.approx((low, 16 + 0.02 * (16 - low)))
    # Arrows only where one started as the other ended: in A job 2 did not wait for job 1.
    assert arrows(upper) == [(12, pytest.approx(1.31), 12, pytest.approx(1.69))]
    assert arrows(lower) == [
        (13, pytest.approx(0.31), 13, pytest.approx(0.69)),
        (15, pytest.approx(1.31), 15, pytest.approx(1.69)),
    ]
    said = [text.get_text() for text in lower.texts if text.get_text()]
    assert said == ["0 s", "+2 h 00 min", "+3 h 00 min"]
    assert (upper.get_title(loc="left"), lower.get_title(loc="left")) == ("run A", "run B (the chain's)")
    assert "waits that began before are cut" in lower.get_xlabel()
    uncut = delay_chain_figure(CHAIN.iloc[1:], late="A").axes
    assert uncut[1].get_xlabel() == "time [h]"
    assert uncut[0].get_title(loc="left") == "run A (the chain's)"
    assert uncut[0].get_title(loc="right") == "one run of each, no estimate"


def test_of_a_long_chain_the_last_jobs_are_drawn() -> None:
    n = MOST_JOBS + 3
    frame = chained(*((n - k, 0, n - k, n - k + 1, 0, n - k + 2, n - k + 3) for k in range(n)))
    frame.loc[0, "attempt"] = 2
    upper, lower = delay_chain_figure(frame, late="B").axes
    names = [text.get_text() for text in upper.get_yticklabels()]
    assert names == [*(f"job {k}" for k in range(4, n)), f"job {n} attempt 2"]
    assert upper.get_title(loc="right").startswith(f"the last {MOST_JOBS} of {n} jobs; ")
    assert len(arrows(upper)) == len(arrows(lower)) == MOST_JOBS - 1


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="no job started in both runs"):
        start_delays_figure(starts([]))
    with pytest.raises(InputError, match="the chain has no job"):
        delay_chain_figure(CHAIN.iloc[:0], late="B")
    with pytest.raises(InputError, match="late: unknown run 'C'"):
        delay_chain_figure(CHAIN, late="C")
