"""Wall time of a simulation by the number of jobs: the two-level paper's Figure 10."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import legend_above
from traces.figures.drawing.styles import style
from traces.metric_units import four_digits, interval_text
from traces.statistics.intervals import CONFIDENCE, MIN_SEEDS, Estimate, mean_interval
from traces.tables import DataFrame

_WIDE = 8.0  #: both axes are logarithmic from this ratio of the most to the fewest jobs
_BENDS = 60  #: points of a fitted line

#: Look of points and whiskers.
_POINT: Any = {"linestyle": "none", "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.4}
_POINT |= {"elinewidth": 1.0, "capsize": 2.5, "zorder": 3}

_NAMED = 8  #: most sizes that a logarithmic axis names


@dataclass(frozen=True)
class _Costs:
    # One group: increasing sizes, and the wall times of the repetitions of each.
    jobs: Array
    wall_s: list[Array]

    @property
    def mean(self) -> Array:
        return np.array([times.mean() for times in self.wall_s])


def cost_figure(costs: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the wall time of a simulation (``wall_s``) against its number of ``jobs``, one line per ``group`` if there is
    this column.

    A point is the mean of the repetitions, its whiskers end at the shortest and the longest. Axes are logarithmic if the
    most jobs are at least 8 times the fewest. The line is a constant plus a time per job, fitted to the means by least
    squares of the relative errors; on logarithmic axes it is curved. Both numbers are in the upper left corner if all sizes
    have the same number of repetitions, five or more. The 95 % interval of the time per job is for the repetitions: it does
    not show whether the cost is linear. Rows without a time are omitted. Raises InputError if a column is missing, there is
    no row, or a number is not positive.
    """
    groups = _groups(costs)
    sizes = np.concatenate([group.jobs for group in groups.values()])
    logarithmic = bool(sizes.max() >= _WIDE * sizes.min())
    with canvas.drawing(5.2, 3.4 + 0.17 * len(groups)) as figure:
        axes = figure.add_subplot()
        fits = []
        for place, (name, group) in enumerate(groups.items()):
            of_group = style(place)
            mean = group.mean
            ends = np.array([[times.min(), times.max()] for times in group.wall_s]).T
            point: Any = {"color": of_group.colour, "marker": of_group.marker, "label": name or None}
            alone = point if len(group.jobs) == 1 else point | {"label": None}
            axes.errorbar(group.jobs, mean, np.abs(ends - mean), **alone, **_POINT)
            if len(group.jobs) > 1:
                begin_s, job_s = _weights(group) @ group.mean
                x = np.geomspace(group.jobs[0], group.jobs[-1], _BENDS)
                y, text = np.maximum(begin_s + job_s * x, mean.min() / 10), _fit_text(group)
                axes.plot(x, y, linestyle=of_group.dash, linewidth=1.2, markersize=0, **point)
                fits.append((of_group.colour, ": ".join(part for part in (name, text) if part)))
        if logarithmic:
            axes.set(xscale="log", yscale="log")
            low, high = axes.get_ylim()
            if high < 1000 * low:
                axes.yaxis.set_major_locator(canvas.LogLocator(subs=(1, 2, 5)))
                axes.yaxis.set_major_formatter("{x:g}")
                axes.yaxis.set_minor_formatter("")
            if len(set(sizes.tolist())) <= _NAMED:
                each = sorted(set(sizes.tolist()))
                axes.set_xticks(each, labels=[f"{size:,.0f}" for size in each])
                axes.set_xticks([], minor=True)
        else:
            axes.set_xlim(0, 1.05 * float(sizes.max()))
            axes.set_ylim(bottom=0)
        axes.set(xlabel="jobs", ylabel="wall time of a simulation [s]")
        axes.grid()
        handles, _ = axes.get_legend_handles_labels()
        if len(groups) > 1 and handles:
            legend_above(figure, handles, min(len(handles), 3), handle=3.4, title=title)
        elif title := canvas.shown_title(title):
            axes.set_title(title, weight="bold")
        for line, (colour, text) in enumerate(fits):  # costs grow with jobs, so this corner is free
            look: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "fontsize": 7}
            axes.annotate(text, (0, 1), (6, -4 - 10 * line), color=colour, **look)
        figure.supxlabel(_remark(groups), fontsize=6.8, color=canvas.GREY)
    return figure


def _groups(costs: DataFrame) -> dict[str, _Costs]:
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
    # These (2, sizes) times the means are the constant and the time per job: least squares of (fitted - mean) / mean.
    rows = np.stack([np.ones(len(group.jobs)), group.jobs], axis=1) / group.mean[:, None]
    weights: Array = np.linalg.pinv(rows) / group.mean
    return weights


def _slope(group: _Costs) -> Estimate | None:
    # The time per job is linear in the times: each repetition has one, and their mean is the fitted one.
    repeats = {len(times) for times in group.wall_s}
    if len(repeats) > 1 or max(repeats) < MIN_SEEDS:
        return None
    weights, times = _weights(group)[1], np.stack(group.wall_s)
    return mean_interval(weights @ times, magnitude=float(np.abs(weights) @ times.max(axis=1)))


def _fit_text(group: _Costs) -> str:
    slope = _slope(group)
    if slope is None:
        return ""
    begin_s = four_digits(float(_weights(group)[0] @ group.mean))
    scale, unit = (1e6, "µs") if slope.mean < 1e-4 else (1e3, "ms")
    return f"fit: {begin_s} s + {interval_text(*(scale * one for one in (slope.mean, slope.low, slope.high)))} {unit} per job"


def _remark(groups: dict[str, _Costs]) -> str:
    counts = [len(times) for group in groups.values() for times in group.wall_s]
    few, most = min(counts), max(counts)
    times = f"{most}" if few == most else f"{few} to {most}"
    text = f"point: mean of {times} repetition{'s' * (most > 1)}; whiskers: shortest and longest; line: fit"
    return text if few < MIN_SEEDS or few < most else f"{text}; brackets: {100 * CONFIDENCE:g} % interval"
