"""The makespans of many techniques: one row per technique, so that dozens of long names can be read; one panel per batch
policy and variation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import draw_intervals, name_rows, panel_grid
from traces.figures.study.combinations import Combinations
from traces.metric_units import four_digits

#: What is written beside the best: of a metric that is to be low, and of one that is to be high.
BEST = ("lowest", "highest")

#: So many panels stand side by side.
_PER_LINE = 3

_ROW_IN, _PANEL_IN, _LETTER_IN = 0.19, 3.0, 0.065


def makespan_rows(
    cells: Combinations,
    panels: Sequence[str],
    estimates: tuple[Array, ...],
    over: Sequence[Sequence[Sequence[str]]],
    *,
    corner: str,
    title: str = "",
) -> Figure:
    """Bars with whiskers, one a row.

    - ``cells``: names and unit.
    - ``panels``: what the variations that are drawn are called.
    - ``estimates``: three ndarrays of float64 (batches, techniques, panels), mean, low and high as they are shown; NaN
      where there is none.
    - ``over``: by panel, batch policy and technique: what is written behind the value.
    - ``corner``, ``title``: above the panels.
    """
    names = cells.techniques
    n_batches = len(cells.batches)
    columns = min(n_batches, _PER_LINE)
    lines = -(-n_batches * len(panels) // columns)
    names_in = 0.3 + _LETTER_IN * max(map(len, names))
    with canvas.styled():
        figure = canvas.new_figure(
            max(4.5, names_in + _PANEL_IN * columns), lines * (0.75 + _ROW_IN * len(names)) + 0.35
        )
        for place, axes in enumerate(panel_grid(figure, n_batches * len(panels), columns)):
            k, batch = divmod(place, n_batches)
            mean, low, high = (one[batch, :, k] for one in estimates)
            behind = over[k][batch]
            axes.set_title(", ".join([cells.batches[batch], *[panels[k]] * (len(panels) > 1)]), weight="bold")
            name_rows(axes, names, labelled=place % columns == 0)
            best = [text in BEST for text in behind]
            colours = [canvas.PALETTE[0] if one else canvas.PALETTE[4] for one in best]
            axes.barh(range(len(names)), np.nan_to_num(mean), 0.74, color=colours)
            draw_intervals(axes, np.arange(len(names)), (mean, low, high), lying=True)
            for at in np.flatnonzero(np.isfinite(mean)).tolist():
                axes.annotate(
                    "  ".join(part for part in (four_digits(mean[at]), behind[at]) if part),
                    (float(np.nanmax([mean[at], high[at]])), at),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center_baseline",
                    fontsize=6.5,
                    weight="bold" if best[at] else "normal",
                    in_layout=False,
                )
        # From zero, since bars are compared by their length; to the right there is room for the figures.
        figure.axes[0].set_xlim(0, _room(over) * float(np.nanmax(estimates)) or 1.0)
        figure.supxlabel(f"{cells.how.label}\n{corner}".rstrip(), fontsize=7.5)
        if title:
            figure.suptitle(title)
    return figure


def _room(over: Sequence[Sequence[Sequence[str]]]) -> float:
    # The axis is so many times as long as the longest bar, for what is written behind it.
    written_in = 0.05 * (8 + max(len(text) for panel in over for row in panel for text in row))
    return 1.0 / max(0.25, 1.0 - written_in / (_PANEL_IN - 0.15))
