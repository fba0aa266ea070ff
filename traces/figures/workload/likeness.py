"""A generated workload compared with its source: submits by hour, weekday and month, and work of jobs.

These are the AccaSim paper's Figures 14 to 17 (doi:10.1007/s10586-019-02905-5) in one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import empty, remark

#: Panels: name in the table, and axis label.
PANELS: Mapping[str, str] = {
    "hour": "hour of the day (local time)",
    "weekday": "weekday",
    "month": "month",
    "work": "work of a job [GFLOP]",
}

_CALENDAR = ("weekday", "month")  #: panels that are omitted if all jobs are in one class

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = "JFMAMJJASOND"


def likeness_figure(
    table: Iterable[Mapping[str, Any]],
    *,
    names: tuple[str, str] = ("source", "generated"),
    distances: Mapping[str, float] | None = None,
    title: str = "",
) -> canvas.Figure:
    """Draw the distributions of a source and of a workload generated from it.

    - ``table``: rows with ``panel`` (one of :data:`PANELS`), ``at`` (hour 0 to 23, weekday 0 (Monday) to 6, month 1 to
      12, log10 GFLOP in even steps), ``source`` and ``generated`` (shares of the jobs, 0 to 1), from
      ``bls.analysis.likeness.distributions``.
    - ``names``: (str, str), of the source and of the generated workload, for the legend.
    - ``distances``: the Kolmogorov–Smirnov distance of each panel, where it is to be written on it.
    """
    panels = _panels(list(table))
    with canvas.drawing(7.2, 4.6, title) as figure:
        grid: list[canvas.Axes] = list(figure.subplots(2, 2).flat)
        for axes, (name, label) in zip(grid, PANELS.items(), strict=True):
            at, source, generated = panels[name]
            if name in _CALENDAR and np.count_nonzero(source + generated) == 1:
                empty(axes, f"all jobs of both are of one {name}")
                continue
            _draw(axes, at, 100 * source, 100 * generated, names)
            axes.set(xlabel=label, ylabel="jobs [%]", ylim=(0, 1.08 * max(0.01, *(100 * source), *(100 * generated))))
            if distances is not None and name in distances:
                remark(axes, f"KS distance {distances[name]:.3f}")
        _ticks(grid)
        handles, labels = grid[0].get_legend_handles_labels()
        look: Any = {"loc": "outside upper right" if title else "outside upper center", "ncols": 2}
        figure.legend(handles[::-1], labels[::-1], **look)
    return figure


def _panels(table: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Array, Array, Array]]:
    found = {}
    for panel in PANELS:
        rows = sorted((row for row in table if row["panel"] == panel), key=lambda row: float(row["at"]))
        at, source, generated = (np.array([float(row[name]) for row in rows]) for name in ("at", "source", "generated"))
        found[panel] = (at, source, generated)
    return found


def _draw(axes: canvas.Axes, at: Array, source: Array, generated: Array, names: tuple[str, str]) -> None:
    """Draw the source as grey bars and the generated workload as points on a line."""
    width = float(np.diff(at).min()) if len(at) > 1 else 1.0
    axes.bar(at, source, 0.86 * width, color="#c4c4c4", label=names[0])
    line: Any = {"color": canvas.PALETTE[0], "linewidth": 1.0, "marker": "o", "markersize": 2.6, "clip_on": False}
    axes.plot(at, generated, label=names[1], **line)


def _ticks(grid: Sequence[canvas.Axes]) -> None:
    hours, weekdays, months, work = grid
    hours.set_xticks(range(0, 24, 3))
    weekdays.set_xticks(range(7), labels=_WEEKDAYS)
    months.set_xticks(range(1, 13), labels=list(_MONTHS))
    for axes in (weekdays, months):
        axes.tick_params(axis="x", length=0)
    low, high = work.get_xlim()
    step = max(1, round((high - low) / 6))
    powers = range(int(np.ceil(low)), int(np.floor(high)) + 1, step)
    work.set_xticks(list(powers), labels=[f"$10^{{{power}}}$" for power in powers])
