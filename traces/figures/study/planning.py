"""Comparison of dispatchers that plan with constraint programming: Figures 4 to 7 of the PCP'20 paper (arXiv:2009.10348)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import PALETTE, Figure
from traces.figures.drawing.panels import name_rows, title_figure
from traces.figures.drawing.styles import style

_LEAST = 1.0  #: smaller means are drawn here: a slowdown is at least 1, and waits below a second do not matter


class Planned(NamedTuple):
    """Mean and standard deviation of the slowdowns and waits of one dispatcher's jobs."""

    name: str  # dispatcher, then what follows a comma, as its estimates
    slowdown: float
    slowdown_std: float
    wait_s: float
    wait_std_s: float


def planning_outcomes_figure(planned: Sequence[Planned], *, title: str = "") -> Figure:
    """Draw the mean slowdown and wait of the jobs by dispatcher as points, with a line up to the mean plus one standard
    deviation, on logarithmic axes: Figures 4 and 5 of the paper. Raises InputError if there is no dispatcher."""
    if not planned:
        raise InputError("no dispatcher to draw")
    kinds = list(dict.fromkeys(one.name.split(",")[0] for one in planned))
    with canvas.drawing(7.2, 0.28 * len(planned) + 1.3) as figure:
        for place, axes in enumerate(figure.subplots(1, 2, sharey=True)):
            mean, std = np.array([one[1 + 2 * place : 3 + 2 * place] for one in planned]).T
            most = mean + std
            at = np.maximum(mean, _LEAST)
            for row, one in enumerate(planned):
                look = style(kinds.index(one.name.split(",")[0]))
                axes.plot([at[row], most[row]], [row, row], color=look.colour, linewidth=1.2, marker="|", markevery=[1])
                axes.plot(at[row], row, color=look.colour, marker=look.marker, markersize=5.5)
                text = f"{mean[row]:,.1f}" if mean[row] < 100 else f"{mean[row]:,.0f}"
                axes.annotate(text, (most[row], row), (6, 0), textcoords="offset points", va="center", fontsize=7)
            axes.set(xscale="log", xlim=(0.6 * at.min(), 6.0 * most.max()))
            axes.set_xlabel(("slowdown of a job", "wait of a job [s]")[place])
            name_rows(axes, [one.name for one in planned], labelled=place == 0)
        remark = "point and number: mean of all jobs; line: up to the mean plus one standard deviation"
        figure.supxlabel(remark, fontsize=7.5, color=canvas.GREY)
        title_figure(figure, title)
    return figure


def planning_ratios_figure(
    modelled: Array, units: Array, variables: Array, time: Array, value: Array, *, is_made: Array, title: str = ""
) -> Figure:
    """Draw ratios of PCP'20 to PCP'19 by instance (Figures 6 and 7 of the paper), and of the values of their plans.

    - ``modelled``, ``units``: int (n,), modelled jobs, and their units.
    - ``variables``, ``time``, ``value``: float (n,), ratios of the models' variables, the dispatches' CPU times, and the
      plans' objective Z.
    - ``is_made``: bool (n,), whether PCP'19's model was made; if it was too large, its list's plan is compared.

    Raises InputError if there is no instance.
    """
    if not len(modelled):
        raise InputError("no instance to draw")
    with canvas.drawing(7.6, 2.7) as figure:
        panels = figure.subplots(1, 3)
        columns = (
            (units / modelled, "units of a job", variables, "variables", 0.1),
            (modelled, "modelled jobs", time, "CPU time", 1.0),
            (modelled, "modelled jobs", 1e6 * (value - 1.0), "Z", 0.0),
        )
        for axes, (at, label_below, ratio, name, line) in zip(panels, columns, strict=True):
            for chosen, colour, marker, label in (
                (is_made, PALETTE[0], "o", "PCP'19 solved, or nothing to solve"),
                (~is_made, PALETTE[1], "x", "its model is too large"),
            ):
                if chosen.any():
                    look: Any = {"color": colour, "marker": marker, "label": label, "alpha": 0.5}
                    look |= {"linestyle": "none", "markersize": 2.4, "markeredgewidth": 0.6, "rasterized": True}
                    axes.plot(at[chosen], ratio[chosen], **look)
            axes.axhline(line, color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
            axes.set(xscale="log", xlabel=label_below)
            axes.set_title(f"{name}, PCP'20 / PCP'19" + (" − 1 [ppm]" if name == "Z" else ""), loc="left")
        for axes in panels[:2]:
            axes.set_yscale("log")
        panels[1].axhline(0.01, color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
        spread = 1.1e6 * float(np.abs(value - 1.0).max()) or 1.0
        panels[2].set_ylim(-spread, spread)
        if not is_made.all():
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        title_figure(figure, title)
    return figure
