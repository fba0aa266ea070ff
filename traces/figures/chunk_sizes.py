"""What the chunk sizes of loop-scheduling techniques look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from traces.errors import InputError
from traces.figures.loop import CHUNK_COLOURS

if TYPE_CHECKING:
    from traces.figures.canvas import Figure

__all__ = ["chunk_sizes_figure", "draw_chunk_sizes"]

_PANELS_A_ROW = 4


def draw_chunk_sizes(sequences: Mapping[str, Sequence[int]], path: Path, *, title: str = "") -> Path:
    """Draw the chunk sizes of techniques into a file, a panel each.

    Parameters
    ----------
    sequences : mapping of str to sequence of int
        Names, and sizes in the order of assignment; all with the same sum.
    path : Path
        File to write; its suffix says the format: png, svg or pdf.
    title : str
        Shown above.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    InputError
        If the suffix is unknown, or there is nothing to show.
    """
    from traces.figures.canvas import figure_format, save

    figure_format(path)
    return save(chunk_sizes_figure(sequences, title=title), path)


def chunk_sizes_figure(sequences: Mapping[str, Sequence[int]], *, title: str = "") -> Figure:
    """The figure that :func:`draw_chunk_sizes` writes.

    In each panel a chunk is a bar: as wide as it has tasks, beginning where the one before it ended, and as high.
    """
    from traces.figures import canvas
    from traces.figures.panels import quiet, short

    if not sequences or not all(len(sizes) for sizes in sequences.values()):
        raise InputError("nothing to draw: no chunk sizes")
    n_columns = min(_PANELS_A_ROW, len(sequences))
    n_rows = -(-len(sequences) // n_columns)
    highest = max(max(sizes) for sizes in sequences.values())
    total = max(sum(sizes) for sizes in sequences.values())
    colours = np.array([canvas.rgb(colour) for colour in CHUNK_COLOURS])
    with canvas.styled():
        figure = canvas.new_figure(2.4 * n_columns + 0.4, 1.5 * n_rows + 0.7)
        grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for axes in grid.flat[len(sequences) :]:
            axes.set_axis_off()
        for axes, (name, sizes) in zip(grid.flat, sequences.items(), strict=False):
            height = np.asarray(sizes, np.float64)
            upto = np.cumsum(height)
            x0, zero = upto - height, np.zeros(len(height))
            corners = np.stack([x0, zero, x0, height, upto, height, upto, zero], axis=1).reshape(-1, 4, 2)
            shades = colours[np.arange(len(height)) % 2]
            axes.add_collection(canvas.PolyCollection(list(corners), facecolors=shades, edgecolors="none"))
            axes.step(np.append(x0, upto[-1]), np.append(height, height[-1]), where="post", color="#33557f", lw=0.8)
            axes.set_xlim(0, total)
            axes.set_ylim(0, 1.08 * highest)
            quiet(axes, "y")
            axes.set_title(short(name, 24), loc="left", fontsize=8.5, weight="bold")
            counted = f"{len(height):,} chunk{'s' if len(height) > 1 else ''}"
            axes.set_title(counted, loc="right", fontsize=7, color=canvas.GREY)
            axes.tick_params(labelsize=7, length=2)
        for k in range(max(0, len(sequences) - n_columns), len(sequences)):
            grid.flat[k].tick_params(labelbottom=True)
        figure.supxlabel("tasks assigned", fontsize=8.5)
        figure.supylabel("tasks of a chunk", fontsize=8.5)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=9.5, weight="bold")
    return figure
