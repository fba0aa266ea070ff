"""Load imbalance of jobs by technique."""

import numpy as np

from traces.figures.drawing import canvas
from traces.figures.drawing.panels import LEGEND, Box, draw_boxes, name_rows
from traces.figures.drawing.styles import UPSILON
from traces.figures.study.combinations import Combinations
from traces.figures.study.panels import lines_figure
from traces.tables import DataFrame


def imbalance_figure(
    results: DataFrame, *, metric: str = "mean_imbalance", workload: str | None = None, title: str = ""
) -> canvas.Figure:
    """Draw the load imbalance of jobs by technique: against the variation, or as boxes if there is one variation only.

    Against the variation: one panel per batch policy, one line per technique, means with 95 % intervals; the axis starts at
    zero. Boxes: one row per technique, over all seeds and batch policies. ``metric``: a measure of imbalance from 0 on, a
    fraction; the others as in :mod:`traces.figures.study`. Raises InputError if there is nothing to draw, or a name is unknown.
    """
    cells = Combinations.of(results, metric, workload=workload)
    if len(cells.variations) == 1:
        return _boxes(cells, title)
    return lines_figure(cells, cells.shown_estimates(), from_zero=True, title=title)


def _boxes(cells: Combinations, title: str) -> canvas.Figure:
    boxes: list[Box | None] = []
    for values in cells.values.swapaxes(0, 1):
        known = values[np.isfinite(values)] / cells.how.scale
        boxes.append(Box.of(known) if known.size else None)
    several = f"{len(cells.batches)} batch policies and " if len(cells.batches) > 1 else ""
    n_seeds = len(cells.seeds)
    over = f"over {several}{n_seeds} seed{'s' * (n_seeds > 1)}"
    names_in = 0.3 + 0.065 * max(map(len, cells.techniques))
    with canvas.drawing(max(4.5, names_in + 4.2), 0.32 * len(boxes) + 1.15, title) as figure:
        axes = figure.add_subplot()
        # Rows have names, so one light colour is enough.
        draw_boxes(axes, boxes, [canvas.PALETTE[4]] * len(boxes))
        name_rows(axes, cells.techniques)
        axes.set_xlim(left=0)
        axes.set_xlabel(cells.how.label)
        remark = f"variation {UPSILON} = {cells.variations[0]:g}; {over}\n{LEGEND}"
        figure.supxlabel(remark, fontsize=6.8, color=canvas.GREY)
    return figure
