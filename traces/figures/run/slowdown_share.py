"""How many jobs have a high slowdown, and how high, by what the scheduler knows of run times.

This is the RM-Replay paper's Figure 10 (M. Martinasso, M. Gila, M. Bianco, S. Alam, C. McMurtrie, T. Schulthess,
"RM-Replay: A High-Fidelity Tuning, Optimization and Exploration Tool for Resource Management", SC18).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import LEGEND, Box, draw_boxes, name_rows, title_figure


@dataclass(frozen=True)
class Affected:
    """The jobs of one log whose slowdown is high, by estimates."""

    log: str  # what it is called
    # where the scheduler's estimates come from; the first is what the others are compared with
    estimates: Sequence[str]
    jobs: int  # how many jobs are counted
    counts: Array  # int (e, samples), how many of them have a high slowdown
    slowdown: Sequence[Box | None]  # the slowdowns of those; None where there are none


def slowdown_share_figure(logs: Sequence[Affected], *, threshold: float, title: str = "") -> Figure:
    """Draw how many jobs have a high slowdown, and how high it is, by estimates; a row of panels a log. ``logs``: what
    was counted. ``threshold``: from where on a slowdown is high. Raises InputError if there is no log."""
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
                # Above and below the middle in turn, so that equal samples stay apart.
                heights = row + 0.09 * (np.arange(len(points)) % 3 - 1)
                left.plot(points, heights, linestyle="none", marker="o", markersize=2.2, color=canvas.INK, zorder=3)
                left.annotate(
                    f"{one.counts[row].mean():,.0f}",
                    (float(points.max()), row),
                    (5, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7.5,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
                    zorder=4,
                )
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
