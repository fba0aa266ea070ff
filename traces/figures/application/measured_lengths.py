"""Measured lengths of the iterations of loops, along each loop and as densities with the fitted distribution."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import remark, title_panel

MOST_LOOPS = 6  #: loops that are drawn: those with the most work
_MOST_DOTS = 20_000
_MOST_BARS = 60


class MeasuredLengths(NamedTuple):
    """The lengths of one loop."""

    name: str
    lengths_ns: Array  # float64 (n,)
    fit: str  # words on the fitted distribution; empty: none
    at: Array  # float64 (m,): lengths over the mean
    density: Array  # float64 (m,): the fitted density there


def measured_lengths_figure(loops: Sequence[MeasuredLengths], *, title: str = "") -> canvas.Figure:
    """Two panels for each loop: the length of each iteration, over its place in the loop; and a histogram of lengths over
    their mean, with the fitted density as a line. Draws the ``MOST_LOOPS`` loops with the most work. Raises InputError if there
    are none."""
    if not loops:
        raise InputError("nothing to draw: no loop was measured")
    drawn = sorted(loops, key=lambda one: -float(one.lengths_ns.sum()))[:MOST_LOOPS]
    with canvas.drawing(9.0, 0.6 + 2.3 * len(drawn), title, 100) as figure:
        rows = figure.subplots(len(drawn), 2, squeeze=False, width_ratios=(3, 2))
        for k, one in enumerate(drawn):
            _along(rows[k][0], one, last=k == len(drawn) - 1)
            _density(rows[k][1], one, last=k == len(drawn) - 1)
    return figure


def _along(axes: canvas.Axes, one: MeasuredLengths, *, last: bool) -> None:
    step = -(-len(one.lengths_ns) // _MOST_DOTS)
    at = np.arange(0, len(one.lengths_ns), step)
    axes.plot(at, one.lengths_ns[at] / 1e3, linestyle="none", marker=".", markersize=2.5, color=canvas.PALETTE[0])
    title_panel(axes, one.name, 48)
    remark(axes, f"{len(one.lengths_ns):,} tasks, mean {float(one.lengths_ns.mean()) / 1e3:.4g} µs")
    axes.set(ylim=(0, 1.05 * float(one.lengths_ns.max()) / 1e3), ylabel="length [µs]")
    if last:
        axes.set_xlabel("task, in the order of the loop")


def _density(axes: canvas.Axes, one: MeasuredLengths, *, last: bool) -> None:
    ratio = one.lengths_ns / one.lengths_ns.mean()
    high = max(1.05 * float(np.quantile(ratio, 0.995)), 1.2)
    axes.hist(
        ratio[ratio <= high],
        bins=min(_MOST_BARS, max(10, round(2 * len(ratio) ** (1 / 3)))),
        weights=np.full(int((ratio <= high).sum()), 1.0),
        range=(0, high),
        density=True,
        color=canvas.PALETTE[4],
        alpha=0.6,
    )
    shown = one.at <= high
    axes.plot(one.at[shown], one.density[shown], color=canvas.INK, linewidth=1.2)
    remark(axes, one.fit)
    axes.set(xlim=(0, high), ylabel="density")
    if last:
        axes.set_xlabel("length / mean")
