"""Many techniques against the variation: one row per technique, a point with its interval; one panel per batch policy and
variation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import draw_intervals, name_rows
from traces.figures.drawing.styles import UPSILON

_ROW_IN, _LETTER_IN = 0.17, 0.065

#: The panels of a batch policy take so much room together, and each of them between so much and so much.
_PANELS_IN, _NARROWEST_IN, _WIDEST_IN = 8.0, 1.15, 2.4


def variation_rows(
    batches: Sequence[str],
    techniques: Sequence[str],
    variations: Sequence[float],
    estimates: tuple[Array, Array, Array],
    *,
    label: str,
    remark: str,
    reference: float | None = None,
    title: str = "",
) -> Figure:
    """Points with whiskers in rows; the parameters are those of :func:`traces.figures.study.panels.lines_figure`."""
    rows = np.arange(len(techniques))
    n = len(variations)
    panel_in = min(_WIDEST_IN, max(_NARROWEST_IN, _PANELS_IN / n))
    names_in = 0.4 + _LETTER_IN * max(map(len, techniques))
    with canvas.styled():
        figure = canvas.new_figure(
            max(4.5, names_in + panel_in * n), len(batches) * (0.55 + _ROW_IN * len(techniques)) + 0.75
        )
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
        if title:
            figure.suptitle(title)
    return figure
