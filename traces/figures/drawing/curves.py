"""Draws step functions of time; those of very many steps by columns of time."""

from __future__ import annotations

from typing import Any

from traces.compiled import Array
from traces.figures.drawing.canvas import Axes, StepPatch
from traces.figures.drawing.panels import quiet
from traces.figures.drawing.steps import Steps, in_columns
from traces.figures.drawing.time_axis import TimeAxis

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
) -> bool:
    """Draw a step function as a line and the area below it, and return whether it had too many steps to draw each.

    - ``curve``: its last value is 0.
    - ``span``: (int, int), the time that is drawn, ns.
    - ``unit``: what a 1 of the axis is.
    - ``exact``: up to this number of steps each is drawn. A curve of more is the mean in each of a number of equal
      columns of time, so that it keeps its integral, with a band from the least to the largest value in the column.
    """
    quiet(axes, "y")
    thinned = len(curve.value) > exact
    if thinned:
        found = in_columns(curve, *span, columns)
        edges = axis.at(found.edge_ns)
        _stairs(axes, found.mean / unit, edges, edgecolor=colour, linewidth=1.0, zorder=2.2)
        least = found.least / unit
        _stairs(axes, found.most / unit, edges, baseline=least, fill=True, facecolor=colour, alpha=_SHADE, linewidth=0)
    elif len(curve.value) > 1:
        values, edges = curve.value[:-1] / unit, axis.at(curve.instant_ns)
        _stairs(axes, values, edges, edgecolor=colour, linewidth=1.0, zorder=2.2)
        _stairs(axes, values, edges, fill=True, facecolor=colour, alpha=_SHADE, linewidth=0)
    most = float(curve.value.max(initial=0)) / unit
    axes.set_ylim(0, 1.08 * most or 1.0)
    return thinned


def _stairs(axes: Axes, values: Array, edges: Array, *, fill: bool = False, **style: Any) -> None:
    # As Axes.stairs, which also spends a second on the limits of 10,000 steps. Here the limits are set.
    axes.add_artist(StepPatch(values, edges, fill=fill, **style))
