"""The makespans of many techniques: one row per technique, so that dozens of long names can be read; one panel per batch
policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import draw_intervals, name_rows, panel_grid
from traces.figures.study.combinations import Combinations
from traces.metric_units import four_digits

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
        Mean, low and high as they are shown; NaN where there is none.
    over : sequence of sequence of str
        By batch policy and technique: what is written behind the value.
    corner, title : str
        Above the panels.
    """
    names = cells.techniques
    mean, low, high = estimates
    columns = min(len(cells.batches), _PER_LINE)
    lines = -(-len(cells.batches) // columns)
    names_in = 0.3 + _LETTER_IN * max(map(len, names))
    with canvas.styled():
        figure = canvas.new_figure(
            max(4.5, names_in + _PANEL_IN * columns), lines * (0.75 + _ROW_IN * len(names)) + 0.35
        )
        for place, axes in enumerate(panel_grid(figure, len(cells.batches), columns)):
            axes.set_title(cells.batches[place], weight="bold")
            name_rows(axes, names, labelled=place % columns == 0)
            lowest = [text == "lowest" for text in over[place]]
            colours = [canvas.PALETTE[0] if one else canvas.PALETTE[4] for one in lowest]
            axes.barh(range(len(names)), np.nan_to_num(mean[place]), 0.74, color=colours)
            draw_intervals(axes, np.arange(len(names)), (mean[place], low[place], high[place]), lying=True)
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
            figure.suptitle(title)
    return figure


def _room(over: Sequence[Sequence[str]]) -> float:
    # The axis is so many times as long as the longest bar, for what is written behind it.
    written_in = 0.05 * (8 + max(len(text) for row in over for text in row))
    return 1.0 / max(0.25, 1.0 - written_in / (_PANEL_IN - 0.15))
