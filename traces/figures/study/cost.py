"""What a simulation costs by the number of jobs: the two-level paper's Figure 10."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import legend_above, quiet
from traces.figures.study.combinations import style
from traces.metric_units import four_digits, interval_text
from traces.statistics.intervals import CONFIDENCE, MIN_SEEDS, Estimate, mean_interval

if TYPE_CHECKING:
    import pandas as pd

#: From such a ratio of most to fewest jobs on both axes are logarithmic.
_WIDE = 8.0

#: A line is drawn by so many points.
_BENDS = 60

#: Up to so many sizes are named on a logarithmic axis.
_NAMED = 8


@dataclass(frozen=True)
class _Costs:
    # Of a group: sizes, increasing, and of each the wall times of its repetitions.
    jobs: Array
    wall_s: list[Array]

    @property
    def mean(self) -> Array:
        return np.array([times.mean() for times in self.wall_s])


def cost_figure(costs: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the wall time of a simulation against its number of jobs.

    A point is the mean of the repetitions, its bar goes from the shortest to the longest. Axes are logarithmic where the most
    jobs are at least 8 times the fewest. The line is a time to begin and a time a job, fitted to the means by least squares of
    the relative errors; on logarithmic axes it is bent. The legend tells both, the time a job with its 95 % interval, which is
    that of the repetitions (how far another measurement may be off), not of the line (whether it is one); they are told if
    every size has equally many repetitions, five or more.

    Parameters
    ----------
    costs : DataFrame
        A row a simulation: ``jobs`` (number of jobs), ``wall_s`` (s), and, if there are several kinds, ``group`` (what each
        is called). Rows without a time are left out.

    Raises
    ------
    InputError
        If a column is missing, there is no row, or a number is not positive.
    """
    groups = _groups(costs)
    sizes = np.concatenate([group.jobs for group in groups.values()])
    logarithmic = bool(sizes.max() >= _WIDE * sizes.min())
    with canvas.drawing(5.2, 3.4 + 0.17 * len(groups)) as figure:
        axes = figure.add_subplot()
        for place, (name, group) in enumerate(groups.items()):
            look = style(place)
            mean = group.mean
            ends = np.array([[times.min(), times.max()] for times in group.wall_s]).T
            axes.errorbar(
                group.jobs,
                mean,
                np.abs(ends - mean),
                linestyle="none",
                marker=look.marker,
                markersize=4.5,
                markeredgecolor="white",
                markeredgewidth=0.4,
                color=look.colour,
                elinewidth=1.0,
                capsize=2.5,
                label=None if len(group.jobs) > 1 else name or None,
                zorder=3,
            )
            if len(group.jobs) > 1:
                x, y = _line(group)
                text = _told(group)
                axes.plot(
                    x,
                    y,
                    color=look.colour,
                    linestyle=look.dash,
                    marker=look.marker,
                    markersize=0,
                    linewidth=1.2,
                    label=": ".join(part for part in (name, text) if part),
                )
        if logarithmic:
            axes.set(xscale="log", yscale="log")
            if len(set(sizes.tolist())) <= _NAMED:
                each = sorted(set(sizes.tolist()))
                axes.set_xticks(each, labels=[f"{size:,.0f}" for size in each])
                axes.set_xticks([], minor=True)
        else:
            axes.set_xlim(0, 1.05 * float(sizes.max()))
            axes.set_ylim(bottom=0)
        axes.set(xlabel="jobs", ylabel="wall time of a simulation [s]")
        quiet(axes, "both")
        handles, _ = axes.get_legend_handles_labels()
        if handles:
            legend_above(figure, handles, 1, handle=3.4, title=title)
        elif title:
            axes.set_title(title, weight="bold")
        figure.supxlabel(_remark(groups), fontsize=6.8, color=canvas.GREY)
    return figure


def _groups(costs: pd.DataFrame) -> dict[str, _Costs]:
    for name in ("jobs", "wall_s"):
        if name not in costs.columns:
            raise InputError(f"no column {shown(name)}; allowed: jobs, wall_s and perhaps group")
    timed = costs[costs["jobs"].notna() & costs["wall_s"].notna()]
    if len(timed) == 0:
        raise InputError("no wall time to draw; allowed: one row or more")
    jobs, wall_s = timed["jobs"].to_numpy(np.float64), timed["wall_s"].to_numpy(np.float64)
    if not (np.isfinite(wall_s).all() and wall_s.min() > 0 and jobs.min() > 0):
        raise InputError("jobs and wall_s: a number that is not positive; allowed: 1 job or more, more than 0 s")
    names = timed["group"].astype(str).to_numpy() if "group" in timed.columns else np.full(len(timed), "")
    found = {}
    for name in dict.fromkeys(names.tolist()):
        sizes = np.unique(jobs[names == name])
        found[str(name)] = _Costs(sizes, [wall_s[(names == name) & (jobs == size)] for size in sizes.tolist()])
    return found


def _weights(group: _Costs) -> Array:
    # The time to begin and the time a job are these (2, sizes) times the means: least squares of (fitted - mean) / mean.
    rows = np.stack([np.ones(len(group.jobs)), group.jobs], axis=1) / group.mean[:, None]
    weights: Array = np.linalg.pinv(rows) / group.mean
    return weights


def _line(group: _Costs) -> tuple[Array, Array]:
    begin_s, job_s = _weights(group) @ group.mean
    x = np.geomspace(group.jobs[0], group.jobs[-1], _BENDS)
    return x, np.maximum(begin_s + job_s * x, group.mean.min() / 10)


def _slope(group: _Costs) -> Estimate | None:
    # The time a job is linear in the times, so a repetition of all sizes has one, and the mean of these is that of the means.
    repeats = {len(times) for times in group.wall_s}
    if len(repeats) > 1 or max(repeats) < MIN_SEEDS:
        return None
    weights, times = _weights(group)[1], np.stack(group.wall_s)
    return mean_interval(weights @ times, magnitude=float(np.abs(weights) @ times.max(axis=1)))


def _told(group: _Costs) -> str:
    slope = _slope(group)
    if slope is None:
        return ""
    begin_s = four_digits(float(_weights(group)[0] @ group.mean))
    job = interval_text(*(1e3 * one for one in (slope.mean, slope.low, slope.high)))
    return f"{begin_s} s and {job} ms a job"


def _remark(groups: dict[str, _Costs]) -> str:
    counts = [len(times) for group in groups.values() for times in group.wall_s]
    few, most = min(counts), max(counts)
    times = f"{most}" if few == most else f"{few} to {most}"
    said = f"mean of {times} repetition{'s' * (most > 1)}, shortest to longest; fitted line"
    return said if few < MIN_SEEDS or few < most else f"{said}, {100 * CONFIDENCE:g} % interval of its time a job"
