"""How dispatchers that plan with constraint programming compare: Figures 4 to 7 of the PCP'20 paper (arXiv:2009.10348)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import PALETTE, Figure
from traces.figures.drawing.panels import name_rows, title_figure

#: Bars begin here where the axis is logarithmic: a slowdown is 1 or more, and waits of less than a second are none.
_FIRST_SLOWDOWN, _FIRST_WAIT_S = 1.0, 1.0


class Planned(NamedTuple):
    """What a dispatcher did with jobs."""

    name: str
    # slowdown, slowdown_std: mean and standard deviation of the jobs
    slowdown: float
    slowdown_std: float
    wait_s: float
    wait_std_s: float


def planning_outcomes_figure(planned: Sequence[Planned], *, title: str = "") -> Figure:
    """Draw the mean slowdown and wait of the jobs by dispatcher, with one standard deviation: Figures 4 and 5 of the
    paper. ``title``: above the panels. Raises InputError if there is no dispatcher."""
    if not planned:
        raise InputError("no dispatcher to draw")
    with canvas.drawing(7.2, 0.28 * len(planned) + 1.3) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        columns = (
            (
                [one.slowdown for one in planned],
                [one.slowdown_std for one in planned],
                _FIRST_SLOWDOWN,
                "slowdown of a job",
            ),
            ([one.wait_s for one in planned], [one.wait_std_s for one in planned], _FIRST_WAIT_S, "wait of a job [s]"),
        )
        colours = {name: PALETTE[k] for k, name in enumerate(dict.fromkeys(one.name.split(",")[0] for one in planned))}
        for axes, (means, stds, first, label) in zip(panels, columns, strict=True):
            for row, (one, mean, std) in enumerate(zip(planned, means, stds, strict=True)):
                colour = colours[one.name.split(",")[0]]
                axes.barh(row, max(mean, first), 0.62, color=colour, alpha=0.55, edgecolor=canvas.INK, linewidth=0.6)
                axes.plot([max(mean, first), mean + std], [row, row], color=canvas.INK, linewidth=0.9, zorder=3)
                axes.plot([mean + std], [row], marker="|", markersize=5, color=canvas.INK, zorder=3)
                axes.annotate(
                    f"{mean:,.1f}" if mean < 100 else f"{mean:,.0f}",
                    (mean + std, row),
                    (5, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                )
            axes.set_xscale("log")
            axes.set_xlim(first, 6.0 * max(mean + std for mean, std in zip(means, stds, strict=True)) + first)
            axes.set_xlabel(label)
            name_rows(axes, [one.name for one in planned], labelled=axes is panels[0])
        figure.supxlabel("bar: mean of all jobs; line: one standard deviation more", fontsize=7.5, color=canvas.GREY)
        title_figure(figure, title)
    return figure


def planning_ratios_figure(
    modelled: Array, units: Array, variables: Array, time: Array, value: Array, *, is_made: Array, title: str = ""
) -> Figure:
    """Draw what PCP'20 needs of what PCP'19 needs, by instance: Figures 6 and 7 of the paper, and the values of the plans.

    - ``modelled``, ``units``: int (n,), how many jobs are modelled, and of how many units they are.
    - ``variables``, ``time``, ``value``: float (n,), of the models, of the dispatches, and Z of the plans: those of
      PCP'20 over those of PCP'19.
    - ``is_made``: bool (n,), whether PCP'19's model was made; where it was too large its list's plan is compared.

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
                    axes.plot(
                        at[chosen],
                        ratio[chosen],
                        linestyle="none",
                        marker=marker,
                        markersize=2.4,
                        markeredgewidth=0.6,
                        alpha=0.5,
                        color=colour,
                        label=label,
                        rasterized=True,
                    )
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
