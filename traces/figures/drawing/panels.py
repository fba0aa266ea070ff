"""Panels: grids, named rows, titles, legends, intervals, boxes of distributions, step functions.

A box extends from the first to the third quartile, its line is the median, its whiskers end at the 5th and the 95th
percentile, and a diamond is the mean. Values beyond the whiskers are not drawn: there may be thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import GREY, INK, Axes, Figure, StepPatch
from traces.figures.drawing.steps import Steps, in_columns
from traces.figures.drawing.time_axis import TimeAxis


def panel_grid(figure: Figure, n: int, columns: int, *, sharex: bool = True) -> list[Axes]:
    """``n`` panels that share a vertical axis, ``columns`` per line; the lowest of each column have tick labels below."""
    grid = list(figure.subplots(-(-n // columns), columns, sharex=sharex, sharey=True, squeeze=False).flat)
    for axes in grid[n:]:
        axes.set_visible(False)
    for axes in grid[max(0, n - columns) : n]:
        axes.tick_params(labelbottom=True)
    return grid[:n]


def title_panel(axes: Axes, title: str, most: int) -> None:
    """Write the title of a figure at the upper left of its first panel, cut to ``most`` characters."""
    axes.set_title(canvas.short(canvas.shown_title(title), most), loc="left", weight="bold")


def legend_above(
    figure: Figure,
    handles: Sequence[Any],
    columns: int,
    *,
    labels: Sequence[str] | None = None,
    handle: float = 1.4,
    title: str = "",
) -> None:
    """Add a legend above the panels, with an optional title above it. ``handle`` is the length of a sample in letters; a
    tuple among the handles is drawn as samples side by side. ``labels`` are by default those of the handles."""
    names = labels if labels is not None else [one.get_label() for one in handles]
    title_look = {"title": canvas.shown_title(title) or None, "title_fontproperties": {"size": 9.5, "weight": "bold"}}
    look: dict[str, Any] = {"ncols": columns, "handlelength": handle, "handleheight": 1.1, "columnspacing": 1.4}
    look["handler_map"] = {tuple: canvas.HandlerTuple(ndivide=None, pad=0.0)}
    figure.legend(handles=list(handles), labels=names, loc="outside upper center", **look, **title_look)


def remark(axes: Axes, text: str) -> None:
    """Write a remark at the upper right of a panel."""
    axes.set_title(text, loc="right", color=GREY, fontsize=7.5)


def name_rows(axes: Axes, names: Sequence[str], *, labelled: bool = True) -> None:
    """Name rows, the first at the top; ``labelled`` only in the panel at the left."""
    axes.set_yticks(range(len(names)), labels=list(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelleft=labelled)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def draw_intervals(
    axes: Axes, at: Array, estimates: Sequence[Array], *, lying: bool = False, colour: str = INK
) -> None:
    """Draw a whisker at each place whose interval is known; ``estimates``: mean, low and high."""
    mean, low, high = estimates
    known = np.isfinite(low)
    ends = np.stack([mean - low, high - mean])[:, known]
    x, y, ends_of = (mean, at, "xerr") if lying else (at, mean, "yerr")
    look: dict[str, Any] = {"fmt": "none", "ecolor": colour, "elinewidth": 0.9, "capsize": 1.8, "zorder": 3}
    look[ends_of] = ends
    axes.errorbar(x[known], y[known], **look)


def empty(axes: Axes, text: str) -> None:
    """Show only the reason for an empty panel."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)


def small() -> dict[str, Any]:
    """Return the style of small remarks."""
    return {"color": GREY, "fontsize": 7}


def counted(n: int, what: str) -> str:
    """``1 job``, ``1,542 jobs``."""
    return f"{n:,} {what}{'s' if n > 1 else ''}"


LEGEND = "box: quartiles and median; whiskers: 5 % to 95 %; diamond: mean"  #: the legend of boxes


@dataclass(frozen=True)
class Box:
    """A distribution: percentiles 5, 25, 50, 75 and 95, and the mean."""

    low: float
    first: float
    median: float
    third: float
    high: float
    mean: float

    @classmethod
    def of(cls, values: Sequence[float] | Array) -> Box:
        """The box of values. Raises InputError without values, or if one is not a number."""
        column = np.asarray(values, np.float64)
        if column.size == 0 or not np.isfinite(column).all():
            raise InputError("no box can be drawn of no values, or of values that are no numbers")
        low, first, median, third, high = np.quantile(column, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
        return cls(low, first, median, third, high, float(column.mean()))


def draw_boxes(axes: Axes, boxes: Sequence[Box | None], colours: Sequence[str]) -> None:
    """Draw a box in each row, the first at the top; None leaves a row empty."""
    for row, (box, colour) in enumerate(zip(boxes, colours, strict=True)):
        if box is None:
            continue
        axes.hlines(row, box.low, box.high, color=canvas.INK, linewidth=0.8, zorder=2)
        axes.vlines((box.low, box.high), row - 0.17, row + 0.17, color=canvas.INK, linewidth=0.8, zorder=2)
        look: dict[str, Any] = {"color": colour, "edgecolor": canvas.INK, "linewidth": 0.8, "zorder": 3}
        axes.barh(row, box.third - box.first, 0.6, left=box.first, **look)
        axes.vlines(box.median, row - 0.3, row + 0.3, color=canvas.INK, linewidth=2.0, zorder=4)
        mark: dict[str, Any] = {"marker": "D", "markersize": 4.2, "color": "white", "markeredgecolor": canvas.INK}
        axes.plot(box.mean, row, zorder=5, clip_on=False, **mark)


_SHADE = 0.3


def draw_steps(
    axes: Axes,
    curve: Steps,
    span: tuple[int, int],
    axis: TimeAxis,
    *,
    unit: float,
    colour: str,
    exact: int,
    columns: int,
) -> str:
    """Draw a step function as a line and the area below it; return a remark if it has too many steps to draw each.

    - ``curve``: its last value is 0.
    - ``span``: (int, int), the time that is drawn, ns.
    - ``unit``: the size of 1 on the axis.
    - ``exact``: up to this number each step is drawn. A longer curve is drawn as means in ``columns`` of equal time, which
      keep its integral, with a band from the smallest to the largest value of each column.
    """
    axes.grid(axis="y")
    said = ""
    if len(curve.value) > exact:
        found = in_columns(curve, *span, columns)
        edges = axis.at(found.edge_ns)
        _stairs(axes, found.mean / unit, edges, edgecolor=colour, linewidth=1.0, zorder=2.2)
        least = found.least / unit
        _stairs(axes, found.most / unit, edges, baseline=least, fill=True, facecolor=colour, alpha=_SHADE, linewidth=0)
        said = f"; line: mean of each {format_ns((span[1] - span[0]) // columns)}, band: least to most"
    elif len(curve.value) > 1:
        values, edges = curve.value[:-1] / unit, axis.at(curve.instant_ns)
        _stairs(axes, values, edges, edgecolor=colour, linewidth=1.0, zorder=2.2)
        _stairs(axes, values, edges, fill=True, facecolor=colour, alpha=_SHADE, linewidth=0)
    most = float(curve.value.max(initial=0)) / unit
    axes.set_ylim(0, 1.08 * most or 1.0)
    return said


def _stairs(axes: Axes, values: Array, edges: Array, *, fill: bool = False, **style: Any) -> None:
    # Axes.stairs would need a second for the limits of 10,000 steps.
    axes.add_artist(StepPatch(values, edges, fill=fill, **style))
