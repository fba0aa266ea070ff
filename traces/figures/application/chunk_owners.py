"""What chunks were, and which of them one core had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import panel_grid, quiet, remark, short

_PANELS_A_ROW = 3

# One core's, and the others'.
_MARKED, _OTHERS = "#1f3b5c", "#a9bdd3"


def chunk_owners_figure(chunks: Mapping[str, tuple[Sequence[int], Sequence[int]]], *, marked: int) -> Figure:
    """The sizes of chunks as dots, those of one core dark.

    - ``chunks``: mapping of str to (sequence of int, sequence of int), names; sizes in the order of assignment, and the
      core that had each.
    - ``marked``: the core whose chunks are dark.

    Raises InputError if there is nothing to show.
    """
    if not chunks or not all(len(sizes) for sizes, _ in chunks.values()):
        raise InputError("nothing to draw: no chunks")
    n_columns = min(_PANELS_A_ROW, len(chunks))
    n_rows = -(-len(chunks) // n_columns)
    highest = max(max(sizes) for sizes, _ in chunks.values())
    with canvas.drawing(3.0 * n_columns + 0.4, 1.9 * n_rows + 0.7) as figure:
        grid = panel_grid(figure, len(chunks), n_columns)
        for axes, (name, (sizes, cores)) in zip(grid, chunks.items(), strict=True):
            height, core = np.asarray(sizes, np.float64), np.asarray(cores)
            middle = np.cumsum(height) - height / 2.0
            for mine, colour, label in (
                (core != marked, _OTHERS, "other cores"),
                (core == marked, _MARKED, f"core {marked}"),
            ):
                axes.vlines(middle[mine], 0.8, height[mine], color=colour, lw=0.8)
                axes.plot(middle[mine], height[mine], "o", ms=3, color=colour, mew=0, label=label)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set_ylim(0.8, 2.0 * highest)
            axes.set_xlim(0, float(height.sum()))
            quiet(axes, "y")
            axes.set_title(short(name, 28), loc="left", fontsize=8.5, weight="bold")
            share = float(height[core == marked].sum() / height.sum())
            remark(axes, f"core {marked}: {share:.0%}")
            axes.tick_params(labelsize=7, length=2)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize=7.5)
        figure.supxlabel("tasks assigned", fontsize=8.5)
        figure.supylabel("tasks of a chunk", fontsize=8.5)
    return figure
