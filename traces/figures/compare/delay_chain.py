"""One chain of delays in two runs: jobs that each started when the previous one ended."""

from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError, one_of
from traces.base.time import NS_PER_S, format_ns
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import small
from traces.tables import DataFrame

MOST_JOBS = 12  #: most jobs of a chain that are drawn: the last

_HOUR_NS = 3600 * NS_PER_S
_RUN_HEIGHT, _WAIT_HEIGHT = 0.62, 0.14

# Styles of bars: wait, run, and extra run time.
_WAIT = "#777777"
_RUN: dict[str, Any] = {"facecolor": "#a9bdd3", "edgecolor": canvas.INK, "linewidth": 0.5}
_OVER: dict[str, Any] = _RUN | {"facecolor": "#EE7733", "hatch": "//////"}


class _Bars(NamedTuple):
    """The jobs of the chain in one run, the root first; hours."""

    eligible: Array
    start: Array
    end: Array
    over: Array


def delay_chain_figure(frame: DataFrame, *, late: str, title: str = "") -> canvas.Figure:
    """Draw both runs on one time axis, one row per job of the chain, the root at the top.

    A thin bar is the wait since the job was eligible, a thick bar its run; the hatched part is its extra run time compared
    with the other run. An arrow leads from a job to the next one if the next one started when it ended.

    - ``frame``: the jobs of the chain from the last to the first: ``job_id``, ``attempt``, ``start_delta_ns``, and
      ``eligible_a_ns``, ``start_a_ns``, ``end_a_ns``, and the same for b, as made by ``bridge.compare.comparison``. Above
      :data:`MOST_JOBS` only the last are drawn, and the figure states this.
    - ``late``: ``"A"`` or ``"B"``: the run in which the job started later.

    Raises InputError if there are no rows, or the run is neither.
    """
    if not len(frame):
        raise InputError("nothing to draw: the chain has no job")
    if late not in ("A", "B"):
        raise one_of("run", late, ("A", "B"), "late")
    shown = frame.iloc[:MOST_JOBS].iloc[::-1]
    runs = {name: _bars(shown, name.lower(), "b" if name == "A" else "a") for name in ("A", "B")}
    low = min(float(bars.start.min()) for bars in runs.values())
    high = max(float(bars.end.max()) for bars in runs.values())
    low -= 0.04 * (high - low)
    high += 0.02 * (high - low)
    cut = any(bool((bars.eligible < low).any()) for bars in runs.values())
    with canvas.drawing(7.2, 1.3 + 2 * (0.25 + 0.21 * len(shown)), title) as figure:
        panels: list[canvas.Axes] = list(figure.subplots(2, 1, sharex=True))
        names = [
            f"job {job}" + (f" attempt {attempt}" if attempt else "")
            for job, attempt in zip(shown["job_id"].tolist(), shown["attempt"].tolist(), strict=True)
        ]
        for axes, (name, bars) in zip(panels, runs.items(), strict=True):
            _draw(axes, bars, low)
            axes.set_yticks(range(len(shown)), labels=names, fontsize=7)
            axes.set_ylim(len(shown) - 0.4, -0.6)
            delayed = " (delayed)" if name == late else ""
            axes.set_title(f"run {name}{delayed}", loc="left", fontsize=8.5, weight="bold")
        for row, delta in enumerate(shown["start_delta_ns"].tolist()):
            text = ("+" if delta > 0 else "−" if delta < 0 else "") + format_ns(abs(delta))
            look: Any = {"textcoords": "offset points", "va": "center", "fontsize": 7, "annotation_clip": False}
            panels[1].annotate(text, (1, row), (5, 0), xycoords=("axes fraction", "data"), **look)
        panels[1].set_title("start in B − A", loc="right", fontsize=7, color=canvas.INK)
        part = f"the last {len(shown)} of {len(frame)} jobs; " if len(frame) > len(shown) else ""
        panels[0].set_title(part + "two single runs", loc="right", **small())
        panels[0].set_xlim(low, high)
        panels[0].tick_params(axis="x", length=0)
        panels[1].set_xlabel("time [h]" + ("; earlier waits are cut at the left" if cut else ""))
        _legend(figure)
    return figure


def _bars(jobs: DataFrame, run: str, other: str) -> _Bars:
    start, end, start_other, end_other = (
        jobs[name].to_numpy(np.int64)
        for name in (f"start_{run}_ns", f"end_{run}_ns", f"start_{other}_ns", f"end_{other}_ns")
    )
    over = np.maximum((end - start) - (end_other - start_other), 0)
    return _Bars(*(values / _HOUR_NS for values in (jobs[f"eligible_{run}_ns"].to_numpy(np.int64), start, end, over)))


def _draw(axes: canvas.Axes, bars: _Bars, low: float) -> None:
    rows = np.arange(len(bars.start))
    from_ns = np.maximum(bars.eligible, low)
    axes.barh(rows, np.maximum(bars.start - from_ns, 0), _WAIT_HEIGHT, left=from_ns, color=_WAIT, zorder=2)
    axes.barh(rows, bars.end - bars.start, _RUN_HEIGHT, left=bars.start, zorder=3, **_RUN)
    some = bars.over > 0
    axes.barh(rows[some], bars.over[some], _RUN_HEIGHT, left=(bars.end - bars.over)[some], zorder=4, **_OVER)
    arrow = {"arrowstyle": "-|>", "color": canvas.INK, "lw": 0.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 6}
    for row in rows[1:].tolist():
        if bars.start[row] == bars.end[row - 1]:
            begin, end = (bars.end[row - 1], row - 1 + _RUN_HEIGHT / 2), (bars.start[row], row - _RUN_HEIGHT / 2)
            axes.annotate("", end, begin, arrowprops=arrow, zorder=5)
    axes.grid(axis="x")


def _legend(figure: canvas.Figure) -> None:
    handles = [
        canvas.Patch(color=_WAIT, label="wait"),
        canvas.Patch(label="run", **_RUN),
        canvas.Patch(label="extra run time", **_OVER),
        canvas.Patch(facecolor="none", edgecolor="none", label="↓ started when the job above ended"),
    ]
    look: Any = {"loc": "outside upper right", "ncols": 4, "fontsize": 7.5, "handlelength": 1.6, "columnspacing": 1.2}
    figure.legend(handles=handles, **look)
