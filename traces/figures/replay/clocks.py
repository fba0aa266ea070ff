"""Elapsed times and failures of replays by clock rate and number of jobs: RM-Replay's Figures 7 and 8."""

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import legend_above
from traces.figures.drawing.styles import style
from traces.figures.replay.makespans import rate_name
from traces.tables import DataFrame

_MARKS_S = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def replay_rates_figure(repeats: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw elapsed times (mean, shortest, longest) and the share of failed repeats for each rate, exact clocks at the left.

    ``repeats`` has one row per repeat of the same jobs: ``rate`` (0: exact), ``elapsed_s``, ``failure`` (empty: none).
    Raises InputError if there is no row.
    """
    if not len(repeats):
        raise InputError("nothing to draw: no repeat")
    groups = _by_rate(repeats)
    at = np.arange(len(groups))
    elapsed = [rows["elapsed_s"].to_numpy(np.float64) for _, rows in groups]
    with canvas.drawing(7.2, 3.4, title) as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        mean = np.array([one.mean() for one in elapsed])
        ends = np.abs(np.array([[one.min(), one.max()] for one in elapsed]).T - mean)
        above.errorbar(at, mean, ends, linestyle="none", marker="o", markersize=4.5, color=style(0).colour, capsize=2.5)
        _seconds(above, repeats)
        above.set_ylabel("elapsed [s]")
        failed = [100 * _share(rows) for _, rows in groups]
        below.bar(at, failed, 0.6, color=style(1).colour, zorder=2)
        for x, value in zip(at.tolist(), failed, strict=True):
            below.annotate(f"{value:.0f}", (x, value), (0, 2), textcoords="offset points", ha="center", fontsize=7)
        below.set(ylim=(0, 118), yticks=(0, 50, 100), ylabel="failed [%]")
        below.set_xticks(at, labels=[rate_name(rate) for rate, _ in groups])
        below.set_xlabel("speed of the clock [times real time]")
        for axes in (above, below):
            axes.grid(axis="y")
    return figure


def replay_sizes_figure(repeats: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the share of failed repeats and the elapsed times against the number of ``jobs``, one line per rate; otherwise as
    :func:`replay_rates_figure`."""
    if not len(repeats):
        raise InputError("nothing to draw: no repeat")
    with canvas.drawing(7.2, 3.0) as figure:
        left, right = figure.subplots(1, 2)
        for k, (rate, rows) in enumerate(_by_rate(repeats)):
            sizes = sorted(set(rows["jobs"]))
            parts = [rows[rows["jobs"] == size] for size in sizes]
            _line(left, k, sizes, [float(one["elapsed_s"].mean()) for one in parts], rate_name(rate))
            if rate:
                _line(right, k, sizes, [100 * _share(one) for one in parts], rate_name(rate))
        _seconds(left, repeats)
        left.set_ylabel("elapsed, mean [s]")
        right.set(ylim=(-4, 104), ylabel="failed [%]")
        for axes in (left, right):
            axes.set(xlim=(0, 1.06 * float(repeats["jobs"].max())), xlabel="jobs")
            axes.grid()
        handles = left.get_legend_handles_labels()[0]
        legend_above(figure, handles, min(len(handles), 6), handle=3.2, title=title)
    return figure


def _seconds(axes: canvas.Axes, repeats: DataFrame) -> None:
    # A logarithmic axis of elapsed times.
    low, high = float(repeats["elapsed_s"].min()), float(repeats["elapsed_s"].max())
    marks = [one for one in _MARKS_S if low / 2 <= one <= 2 * high]
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_yticks(marks, labels=[f"{mark:g}" for mark in marks])
    axes.set_ylim(low / 1.6, high * 1.6)


def _by_rate(repeats: DataFrame) -> list[tuple[float, DataFrame]]:
    return [(rate, repeats[repeats["rate"] == rate]) for rate in sorted(set(repeats["rate"].tolist()))]


def _share(rows: DataFrame) -> float:
    return float((rows["failure"].fillna("") != "").mean())


def _line(axes: canvas.Axes, place: int, x: list[int], y: list[float], label: str) -> None:
    look = style(place)
    axes.plot(x, y, color=look.colour, linestyle=look.dash, marker=look.marker, markersize=4.5, label=label, zorder=3)
