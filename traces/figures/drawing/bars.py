"""Bars of cores × time: each by itself, or a picture of what they cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.canvas import Axes, PolyCollection
from traces.figures.drawing.coverage import painted

#: Up to this many bars are drawn each by itself; above, as a picture of what they cover.
SINGLE_BARS = 50_000

#: More bars than this are one picture within an SVG.
_MOST_MARKS = 5_000

_COLUMNS = 2000
_MAX_ROWS = 2000

# Bars of which a picture computes the places at a time.
_BLOCK = 1_000_000


def rectangles(axes: Axes, x0: Array, x1: Array, y0: Array, y1: Array, **look: Any) -> None:
    """Add rectangles as one collection, in the order given."""
    corners = np.stack([x0, y0, x0, y1, x1, y1, x1, y0], axis=1).reshape(-1, 4, 2)
    bars = PolyCollection(list(corners), rasterized=len(corners) > _MOST_MARKS, **look)
    axes.add_collection(bars, autolim=False)


def draw_bars(
    axes: Axes,
    row: Array,
    x0: Array,
    x1: Array,
    colour: Array,
    palette: Array,
    *,
    n_rows: int,
    limits: tuple[float, float],
    margin: float = 0.0,
    wide: float | None = None,
    **look: Any,
) -> None:
    """Draw bars from (x0, row) to (x1, row + 1), each row less a margin.

    - ``row``: int64 (n,), from 0 to ``n_rows`` - 1.
    - ``x0``, ``x1``: float64 (n,), where they begin and end.
    - ``colour``: int64 (n,), index into ``palette``, float64 (c, 3).
    - ``margin``: in rows, above and below.
    - ``wide``: bars of at least this length get a white line at their end, which is to remain visible beside it.
    """
    if len(row) > SINGLE_BARS:
        draw_covered(axes, row, x0, x1, colour, palette, n_rows=n_rows, limits=limits)
        return
    y0, y1 = row + margin, row + 1.0 - margin
    rectangles(axes, x0, x1, y0, y1, facecolors=palette[colour], edgecolors="none", **look)
    if wide is not None:
        some = x1 - x0 >= wide
        axes.vlines(x1[some], y0[some], y1[some], colors="white", linewidths=0.45, rasterized=len(row) > _MOST_MARKS)


def draw_covered(
    axes: Axes,
    row: Array,
    start: Array,
    end: Array,
    colour: Array,
    palette: Array,
    *,
    n_rows: int,
    limits: tuple[float, float],
    at: Callable[[Array], Array] = np.asarray,
) -> None:
    """Draw bars as an image of what they cover; memory and file size do not depend on how many they are.

    - ``axes``, ``row``, ``colour``, ``palette``, ``n_rows``, ``limits``: as in :func:`draw_bars`.
    - ``start``, ``end``: shape (n,), where they begin and end.
    - ``at``: takes some of these numbers, and gives their places on the axis.
    """
    left, right = limits
    parts = (slice(lo, lo + _BLOCK) for lo in range(0, len(row), _BLOCK))
    blocks = (
        (row[part], (at(start[part]) - left) / (right - left), (at(end[part]) - left) / (right - left), colour[part])
        for part in parts
    )
    picture = painted(blocks, palette, n_rows, _COLUMNS, _MAX_ROWS)
    axes.imshow(picture, extent=(left, right, n_rows, 0), aspect="auto")
