"""Distributions of every combination of a study, as boxes: the AccaSim paper's Figures 10 and 11.

Source: doi:10.1007/s10586-019-02905-5.
"""

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays
from traces.figures.drawing.panels import LEGEND, Box, counted, draw_boxes, name_rows
from traces.tables import DataFrame

_NUMBERS = tuple(Box.__dataclass_fields__)


def distributions_figure(boxes: DataFrame, *, of: str = "slowdown", axis: str = "", title: str = "") -> canvas.Figure:
    """Draw a box per combination: quartiles, median and mean, and whiskers at 5 % and 95 %.

    - ``boxes``: one row per combination: ``label``, ``batch`` (rows of one batch policy have one colour), ``low``,
      ``first``, ``median``, ``third``, ``high`` and ``mean``, which are means over the seeds, and ``seeds``, their number.
    - ``of``: ``slowdown``: bounded slowdowns of jobs, on a logarithmic axis; ``queue``: waiting jobs before scheduling
      passes, on an axis that is linear up to 1.
    - ``axis``: label of the axis of values, for another definition of the slowdown.

    Raises InputError if a column is missing, or there is no row.
    """
    label, batch, seeds, *numbers = arrays(boxes, ("label", "batch", "seeds", *_NUMBERS), "boxes")
    if not len(label):
        raise InputError("nothing to draw: there is no combination")
    batches = list(dict.fromkeys(batch.tolist()))
    colours = [canvas.PALETTE[batches.index(one) % len(canvas.PALETTE)] for one in batch]
    with canvas.drawing(7.6, 0.3 * len(label) + 1.5, title) as figure:
        axes = figure.add_subplot()
        draw_boxes(axes, [Box(*map(float, row)) for row in zip(*numbers, strict=True)], colours)
        name_rows(axes, [canvas.short(str(one), 48) for one in label])
        if of == "slowdown":
            axes.set(xscale="log", xlabel=axis or "bounded slowdown of jobs (logarithmic)")
            axes.set_xlim(left=0.85)  # so that a median of 1 is visible
        else:
            axes.set_xscale("symlog", linthresh=1.0)
            axes.set_xlim(left=0)
            axes.set_xlabel(axis or "jobs that wait before a scheduling pass (logarithmic from 1 on)")
        said = LEGEND if seeds.max() == 1 else f"{LEGEND}; means over {counted(int(seeds.max()), 'seed')}"
        figure.supxlabel(said, fontsize=7.5, color=canvas.GREY)
    return figure
