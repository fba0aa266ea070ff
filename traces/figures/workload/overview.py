"""A workload on one page: what arrives when, how wide and long jobs are, how good the estimates, whose the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from traces.base.time import format_ns
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Axes, Figure
from traces.figures.drawing.panels import short
from traces.figures.workload import job_panels, time_panels

_HOUR_S = 3600

#: Of a shorter log there is no panel of the months of the year: it has not even two whole ones to compare.
_MONTHS_NS = 62 * 86_400 * 10**9


class Described(Protocol):
    """Figures of a workload, as ``bls.describe`` returns them."""

    def as_dict(self) -> dict[str, Any]:
        """The figures in plain values; the keys are those of ``twolevel workload info`` in JSON."""


def overview_figure(described: Described) -> Figure:
    """Draw a workload's figures on one page: jobs and offered load over time, arrivals by hour, weekday (of more than one) and
    month (of logs of two months or more), widths, run times and estimates, users, and classes of jobs.

    - ``described``: the figures.
    """
    found = described.as_dict()
    with canvas.styled():
        figure = canvas.new_figure(11.7, 8.3)  # A4, landscape
        rows = figure.add_gridspec(4, 12, height_ratios=(0.2, 1.0, 1.0, 1.0))
        _head(figure.add_subplot(rows[0, :]), found)
        long = found["span_ns"] >= _MONTHS_NS
        line = rows[1, : 9 if long else 12].subgridspec(2, 1, hspace=0.04)
        time_panels.time_line(figure.add_subplot(line[0]), figure.add_subplot(line[1]), found)
        if long:
            time_panels.by_month(figure.add_subplot(rows[1, 9:]), found)
        if sum(jobs > 0 for jobs in found["arrivals"]["by_weekday"]) > 1:
            week = rows[2, :6].subgridspec(2, 2, height_ratios=(1, 1.5), width_ratios=(5, 1), hspace=0.04, wspace=0.03)
            time_panels.week([figure.add_subplot(week[k]) for k in (0, 2, 3)], found)
        else:
            time_panels.hours(figure.add_subplot(rows[2, :6]), found)
        job_panels.widths(figure.add_subplot(rows[2, 6:]), found)
        job_panels.lengths(figure.add_subplot(rows[3, :3]), found)
        job_panels.accuracy(figure.add_subplot(rows[3, 3:6]), found)
        job_panels.users(figure.add_subplot(rows[3, 6:9]), found)
        job_panels.classes(figure.add_subplot(rows[3, 9:]), found)
        _settle(figure)
    return figure


def _settle(figure: Figure) -> None:
    """Lay the figure out once, and round: the solver's last digits depend on where its variables lie in memory, and
    an SVG names its clipping rectangles by all digits."""
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((round(box.x0, 5), round(box.y0, 5), round(box.width, 5), round(box.height, 5)))


def _head(axes: Axes, found: Mapping[str, Any]) -> None:
    axes.set_axis_off()
    name = Path(found["source"]).name
    computer = found["header"].get("Computer") or found["header"].get("Installation", "")
    title = f"{short(computer, 70)}  ({short(name, 50)})" if computer else short(name, 100)
    rejects = sum(found["rejects"].values())
    users, arrivals = found["users"], found["arrivals"]
    dates = f", {arrivals['first'][:10]} to {arrivals['last'][:10]}" if arrivals["start"] else ""
    facts = [
        f"{found['jobs']:,} jobs" + (f" ({rejects:,} lines rejected)" if rejects else ""),
        f"submitted in {format_ns(found['span_ns'])}{dates}",
        *([f"{users['users']:,} users"] if users else []),
        f"{_large(found['work_core_s'] / _HOUR_S)} core-hours",
        "no load: one instant" if found["load"] is None else f"offered load {found['load']:.3f}",
        f"{short(found['platform'], 24)}: {found['platform_cores']:,} cores",
    ]
    # Out of the layout: a long line is not to make the panels narrow.
    axes.text(0, 1, title, va="top", in_layout=False, weight="bold", fontsize=12)
    axes.text(0, 0.3, "  ·  ".join(facts), va="top", in_layout=False)


def _large(number: float) -> str:
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
