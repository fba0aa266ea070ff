"""Bars as a picture: how much of every cell of a grid each colour covers. For more bars than can be seen one by one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Floats, Floats2, Floats3, Ints


@compiled()
def _paint(
    row: Ints,
    start: Floats,
    end: Floats,
    colour: Ints,
    colours: Floats2,
    rows_per_cell: int,
    ink: Floats3,
    covered: Floats2,
) -> None:
    """Add each bar's colour, weighted by the share of a cell that it covers, to ``ink``, and the share to ``covered``.
    ``start`` and ``end`` are in cells."""
    n_columns = covered.shape[1]
    for k in range(len(row)):
        y = row[k] // rows_per_cell
        first = max(int(start[k]), 0)
        last = min(int(np.ceil(end[k])), n_columns)
        for x in range(first, last):
            share = (min(end[k], x + 1.0) - max(start[k], float(x))) / rows_per_cell
            if share > 0.0:
                covered[y, x] += share
                for band in range(3):
                    ink[y, x, band] += share * colours[colour[k], band]


def painted(
    blocks: Iterable[tuple[Array, Array, Array, Array]], colours: Array, n_rows: int, n_columns: int, max_rows: int
) -> Array:
    """The picture of bars on white.

    - ``blocks``: iterable of (row, start, end, colour), some bars after others, so that few are held at a time. Each is
      four arrays of one length: the row of each bar (int, 0 to ``n_rows`` - 1), its start and its end as fractions of
      the width, and its index into ``colours``.
    - ``colours``: float64 (c, 3), red, green and blue, each from 0 to 1.
    - ``n_rows``, ``n_columns``: height in rows and width in cells.
    - ``max_rows``: greatest height of the picture; with more rows, several share a cell.

    Returns float64 (at most max_rows, n_columns, 3): a cell that bars cover by half is half white.
    """
    rows_per_cell = -(-n_rows // max_rows)
    height = -(-n_rows // rows_per_cell)
    ink = np.zeros((height, n_columns, 3))
    covered = np.zeros((height, n_columns))
    inks = own(colours, np.float64)
    for row, start, end, colour in blocks:
        begin, stop = own(start * n_columns, np.float64), own(end * n_columns, np.float64)
        _paint(own(row, np.int64), begin, stop, own(colour, np.int64), inks, rows_per_cell, ink, covered)
    # Rounding may cover a full cell by a hair more than all of it.
    return np.clip(ink + (1.0 - covered)[:, :, None], 0.0, 1.0)
