"""Number of jobs with a high slowdown, and their slowdowns, by the estimates of the scheduler.

This is the RM-Replay paper's Figure 10 (M. Martinasso, M. Gila, M. Bianco, S. Alam, C. McMurtrie, T. Schulthess,
"RM-Replay: A High-Fidelity Tuning, Optimization and Exploration Tool for Resource Management", SC18).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import LEGEND, Box, draw_boxes, name_rows, title_figure

#: Look of the numbers of jobs.
_NUMBER: Any = {"textcoords": "offset points", "va": "center", "fontsize": 7.5, "zorder": 4}
_NUMBER |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6}}


@dataclass(frozen=True)
class Affected:
    """The jobs of one log whose slowdown is high, by estimates."""

    log: str  # name
    estimates: Sequence[str]  # sources of estimates; the first is the base of the comparison
    jobs: int  # number of jobs
    counts: Array  # int (e, samples), number of jobs with a high slowdown
    slowdown: Sequence[Box | None]  # their slowdowns; None without any


def slowdown_share_figure(logs: Sequence[Affected], *, threshold: float, title: str = "") -> Figure:
    """Draw the share of jobs with a slowdown above ``threshold``, and their slowdowns, by estimates; one line of panels per
    log. Raises InputError if there is no log."""
    if not logs:
        raise InputError("no log to draw")
    with canvas.drawing(7.6, 0.6 + sum(0.9 + 0.3 * len(one.estimates) for one in logs)) as figure:
        grid = figure.subplots(
            len(logs), 2, squeeze=False, gridspec_kw={"height_ratios": [1 + len(one.estimates) for one in logs]}
        )
        for one, (left, right) in zip(logs, grid, strict=True):
            share = 100 * np.asarray(one.counts, np.float64) / one.jobs
            means = share.mean(axis=1)
            colours = ["#c4c4c4"] + [canvas.PALETTE[0]] * (len(means) - 1)
            left.axvline(means[0], color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
            for row, (mean, points, colour) in enumerate(zip(means.tolist(), share, colours, strict=True)):
                left.barh(row, mean, 0.62, color=colour, alpha=0.55, edgecolor=canvas.INK, linewidth=0.6, zorder=2)
                # Alternating heights, so that equal samples stay visible.
                heights = row + 0.09 * (np.arange(len(points)) % 3 - 1)
                left.plot(points, heights, linestyle="none", marker="o", markersize=2.2, color=canvas.INK, zorder=3)
                left.annotate(f"{one.counts[row].mean():,.0f}", (float(points.max()), row), (5, 0), **_NUMBER)
            name_rows(left, one.estimates)
            left.set_xlim(0, 1.2 * float(share.max()) or 1.0)
            left.set_xlabel(f"jobs with a slowdown > {threshold:g} [% of {one.jobs:,}]")
            left.set_title(one.log, loc="left", weight="bold")
            draw_boxes(right, one.slowdown, ["#c4c4c4"] + [canvas.PALETTE[4]] * (len(means) - 1))
            right.set_xscale("log")
            name_rows(right, [""] * len(means))
            right.set_xlabel("slowdown of these jobs")
        figure.supxlabel(f"a point: a sample; {LEGEND}", fontsize=7.5, color=canvas.GREY)
        title_figure(figure, title)
    return figure
