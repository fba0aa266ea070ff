"""The makespans of many techniques: one row per technique, so that dozens of long names can be read; one panel per batch
policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.study.combinations import Combinations
from traces.figures.study.panels import name_panel_rows, whiskers
from traces.metric_units import four_digits

if TYPE_CHECKING:
    from traces.figures.drawing.canvas import Figure

__all__ = ["makespan_rows"]

#: So many panels stand side by side.
_PER_LINE = 3

_ROW_IN, _PANEL_IN, _LETTER_IN = 0.19, 3.0, 0.065


def makespan_rows(
    cells: Combinations,
    estimates: tuple[Array, Array, Array],
    over: Sequence[Sequence[str]],
    *,
    corner: str,
    title: str = "",
) -> Figure:
    """Bars with whiskers, one a row.

    Parameters
    ----------
    cells : Combinations
        Names and unit.
    estimates : three ndarrays of float64, shape (batches, techniques)
        Mean, low and high; NaN where there is none.
    over : sequence of sequence of str
        By batch policy and technique: what is written behind the value.
    corner, title : str
        Above the panels.
    """
    scale, names = cells.how.scale, cells.techniques
    mean, low, high = (one / scale for one in estimates)
    columns = min(len(cells.batches), _PER_LINE)
    lines = -(-len(cells.batches) // columns)
    names_in = 0.3 + _LETTER_IN * max(map(len, names))
    with canvas.styled():
        figure = canvas.new_figure(
            max(4.5, names_in + _PANEL_IN * columns), lines * (0.75 + _ROW_IN * len(names)) + 0.35
        )
        panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).flat
        for place, axes in enumerate(panels):
            if place >= len(cells.batches):
                axes.set_visible(False)
                continue
            axes.set_title(cells.batches[place], weight="bold")
            name_panel_rows(axes, names, labelled=place % columns == 0)
            # Where the last line of panels is not full, those above its gap have the numbers.
            axes.tick_params(axis="x", labelbottom=place + columns >= len(cells.batches))
            lowest = [text == "lowest" for text in over[place]]
            colours = [canvas.PALETTE[0] if one else canvas.PALETTE[4] for one in lowest]
            axes.barh(range(len(names)), np.nan_to_num(mean[place]), 0.74, color=colours)
            known = np.flatnonzero(np.isfinite(low[place]))
            axes.errorbar(
                mean[place, known],
                known,
                xerr=whiskers(low[place], mean[place], high[place])[:, known],
                fmt="none",
                ecolor=canvas.INK,
                elinewidth=0.9,
                capsize=1.6,
                zorder=3,
            )
            for at in np.flatnonzero(np.isfinite(mean[place])).tolist():
                axes.annotate(
                    "  ".join(part for part in (four_digits(mean[place, at]), over[place][at]) if part),
                    (float(np.nanmax([mean[place, at], high[place, at]])), at),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center_baseline",
                    fontsize=6.5,
                    weight="bold" if lowest[at] else "normal",
                    in_layout=False,
                )
        # From zero, since bars are compared by their length; to the right there is room for the figures.
        figure.axes[0].set_xlim(0, _room(over) * float(np.nanmax([mean, high])) or 1.0)
        figure.supxlabel(f"{cells.how.label}\n{corner}", fontsize=7.5)
        if title:
            figure.suptitle(title, fontsize=9.5, weight="bold")
    return figure


def _room(over: Sequence[Sequence[str]]) -> float:
    # The axis is so many times as long as the longest bar, for what is written behind it.
    written_in = 0.05 * (8 + max(len(text) for row in over for text in row))
    return 1.0 / max(0.25, 1.0 - written_in / (_PANEL_IN - 0.15))
