"""Panels of batch policies for figures of studies: techniques against the variation, and legends."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import draw_intervals, legend_above, name_rows, panel_grid
from traces.figures.drawing.styles import FEW, UPSILON, style
from traces.figures.study.combinations import Combinations

_ROW_IN, _LETTER_IN = 0.17, 0.065

#: Total width of the panels of a batch policy, and limits of the width of one panel.
_PANELS_IN, _NARROWEST_IN, _WIDEST_IN = 8.0, 1.15, 2.4


def _rows_figure(
    cells: Combinations,
    variations: Sequence[float],
    estimates: tuple[Array, Array, Array],
    label: str,
    remark: str,
    reference: float | None,
    title: str,
) -> canvas.Figure:
    """Draw points with whiskers in rows; parameters as for :func:`lines_figure`."""
    batches, techniques = cells.batches, cells.techniques
    rows = np.arange(len(techniques))
    n = len(variations)
    panel_in = min(_WIDEST_IN, max(_NARROWEST_IN, _PANELS_IN / n))
    names_in = 0.4 + _LETTER_IN * max(map(len, techniques))
    height_in = len(batches) * (0.55 + _ROW_IN * len(techniques)) + 0.75
    with canvas.drawing(max(4.5, names_in + panel_in * n), height_in) as figure:
        grid = figure.subplots(len(batches), n, sharex=True, sharey=True, squeeze=False)
        for i, batch in enumerate(batches):
            for k, axes in enumerate(grid[i]):
                mean, low, high = (one[i, :, k] for one in estimates)
                known = np.isfinite(mean)
                name_rows(axes, techniques, labelled=k == 0)
                axes.set_title(f"{batch}, {UPSILON} = {variations[k]:g}", weight="bold", fontsize=8)
                if reference is not None:
                    axes.axvline(reference, color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
                axes.plot(mean[known], rows[known], "o", color=canvas.PALETTE[0], markersize=3.0)
                draw_intervals(axes, rows, (mean, low, high), lying=True, colour=canvas.PALETTE[0])
                axes.locator_params(axis="x", nbins=4)
                axes.tick_params(axis="x", labelsize=7)
        figure.supxlabel(f"{label}\n{remark}", fontsize=7.5)
        if title := canvas.shown_title(title):
            figure.suptitle(title)
    return figure


_PER_LINE = 3  #: panels per line

#: Distance between the points of techniques at one variation: share of the axis; most of the distance between two variations
#: in total; and share of the panel if there is only one variation.
_APART, _CROWD, _APART_ALONE = 0.009, 0.6, 0.09


def legend_columns(names: Sequence[str], width_in: float, handle_in: float) -> int:
    """Number of columns of a legend as wide as the figure; ``handle_in``: width of a sample."""
    column_in = handle_in + 0.068 * max(map(len, names))
    most = max(1, min(len(names), int(width_in / column_in)))
    return -(-len(names) // -(-len(names) // most))  # lines of equal length


def lines_figure(
    cells: Combinations,
    estimates: tuple[Array, Array, Array],
    *,
    variations: Sequence[float] = (),
    label: str = "",
    remark: str = "",
    reference: float | None = None,
    from_zero: bool = False,
    title: str = "",
) -> canvas.Figure:
    """One panel per batch policy, one line per technique, with the interval of each point; more than eight techniques are rows.

    - ``cells``: the combinations that are drawn.
    - ``estimates``: float64 (batches, techniques, variations), mean, low and high as they are shown; NaN if unknown.
    - ``variations``: increasing; default all.
    - ``label``, ``remark``: label of the axis, with its unit (default: the metric), and text below (default: number of seeds).
    - ``reference``: value at which a horizontal line is drawn.
    - ``from_zero``: whether the axis starts at zero; if not, its label states this.
    """
    batches, techniques = cells.batches, cells.techniques
    variations, label, remark = variations or cells.variations, label or cells.how.label, remark or cells.seeds_text()
    label = label if from_zero else f"{label}\n(axis does not start at zero)"
    if len(techniques) > FEW:
        return _rows_figure(cells, variations, estimates, label, remark, reference, title)
    columns = min(len(batches), _PER_LINE)
    lines = -(-len(batches) // columns)
    width_in = max(4.5, 2.7 * columns + 0.7)
    at = np.asarray(variations, np.float64)
    alone = len(at) == 1
    # Neighbours must not overlap, however close two variations are.
    step = _APART_ALONE if alone else min(_APART * (at[-1] - at[0]), _CROWD * np.diff(at).min() / len(techniques))
    across = legend_columns(techniques, width_in, 0.75)
    with canvas.drawing(width_in, 2.7 * lines + 0.7 + 0.17 * (-(-len(techniques) // across) - 1)) as figure:
        for place, axes in enumerate(panel_grid(figure, len(batches), columns)):
            if reference is not None:
                axes.axhline(reference, color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
            for j, technique in enumerate(techniques):
                mean, low, high = (one[place, j] for one in estimates)
                known = np.isfinite(mean)
                look = style(j)
                places = at + (j - (len(techniques) - 1) / 2) * step
                line: Any = {"color": look.colour, "linestyle": look.dash, "marker": look.marker}
                line |= {"linewidth": 1.2, "markersize": 3.8, "label": technique if place == 0 else None}
                axes.plot(places[known], mean[known], **line)
                draw_intervals(axes, places, (mean, low, high), colour=look.colour)
            axes.set_title(batches[place], weight="bold")
            axes.set_xticks(at, labels=[f"{one:g}" for one in variations])
            axes.tick_params(axis="x", labelsize=7.5)
            if alone:
                axes.set_xlim(at[0] - 0.5, at[0] + 0.5)
            if place + columns >= len(batches):
                axes.set_xlabel(f"variation {UPSILON}")
            if place % columns == 0:
                axes.set_ylabel(label)
            axes.grid(axis="y")
        if from_zero:
            figure.axes[0].set_ylim(bottom=0)
        legend_above(figure, figure.axes[0].get_legend_handles_labels()[0], across, handle=3.4, title=title)
        figure.supxlabel(remark, fontsize=6.8, color=canvas.GREY)
    return figure
