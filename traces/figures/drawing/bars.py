"""Bars of cores × time, drawn singly or as an image of their cover, and the labels of cores and hosts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from traces.compiled import Array, compiled, own
from traces.figures.drawing.canvas import GREY, INK, Axes, PolyCollection
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
    """Add each bar's colour, weighted by the covered share of each cell, to ``ink``, and the share to ``covered``. ``start``
    and ``end`` are in cells."""
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
    """The image of bars on white.

    - ``blocks``: blocks of bars, so that memory holds few at a time. Each is four arrays of equal length: row (int, 0 to
      ``n_rows`` - 1), start and end as fractions of the width, and index into ``colours``.
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
    # Rounding may cover slightly more than a full cell.
    return np.clip(ink + (1.0 - covered)[:, :, None], 0.0, 1.0)


SINGLE_BARS = 50_000  #: up to this many bars are drawn singly; more are drawn as an image of their cover
_MOST_MARKS = 5_000  #: more bars than this are one image within an SVG

_COLUMNS = 2000
_MAX_ROWS = 2000

# Bars whose places are computed at a time.
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
    - ``x0``, ``x1``: float64 (n,), begin and end.
    - ``colour``: int64 (n,), index into ``palette``, float64 (c, 3).
    - ``margin``: in rows, above and below.
    - ``wide``: bars of at least this length get a white line at their end.
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
    """Draw bars as an image of their cover; memory and file size do not depend on their number.

    - ``axes``, ``row``, ``colour``, ``palette``, ``n_rows``, ``limits``: as in :func:`draw_bars`.
    - ``start``, ``end``: shape (n,), begin and end.
    - ``at``: maps these numbers to places on the axis.
    """
    left, right = limits
    parts = (slice(lo, lo + _BLOCK) for lo in range(0, len(row), _BLOCK))
    blocks = (
        (row[part], (at(start[part]) - left) / (right - left), (at(end[part]) - left) / (right - left), colour[part])
        for part in parts
    )
    picture = painted(blocks, palette, n_rows, _COLUMNS, _MAX_ROWS)
    axes.imshow(picture, extent=(left, right, n_rows, 0), aspect="auto")


_MOST_TICKS = 32

_MOST_HOSTS = 64  #: most hosts that lines separate


def mark_hosts(
    axes: Axes, rows: Array, first_core: Array, host_names: Sequence[str], labels: Sequence[str] = ()
) -> None:
    """Draw lines between hosts, and label hosts and some rows: with the numbers of cores, or their ``labels``."""
    host = np.searchsorted(first_core, rows, side="right") - 1
    edges = np.flatnonzero(np.diff(host)) + 1
    bounds = np.concatenate([[0], edges, [len(rows)]])
    if len(edges) <= _MOST_HOSTS:
        axes.hlines(edges, 0, 1, transform=axes.get_yaxis_transform(), colors=INK, linewidths=0.7)
    gaps = np.flatnonzero((np.diff(rows) > 1) & (np.diff(host) == 0)) + 1
    axes.hlines(gaps, 0, 1, transform=axes.get_yaxis_transform(), colors=GREY, linewidths=0.5, linestyles="dotted")

    ticks = np.flatnonzero((rows - first_core[host]) % _step(len(rows)) == 0)
    ticks = ticks[:: -(-len(ticks) // _MOST_TICKS)]
    _number(axes, ticks, rows)
    if labels:
        axes.set_yticks(ticks + 0.5, labels=[labels[row] for row in ticks.tolist()])
        axes.set_ylabel("core, or GPU of the host")
    every = -(-(len(bounds) - 1) // 32)
    look: Any = {"rotation": 0 if len(bounds) > 9 else -90, "va": "center", "ha": "left", "fontsize": 8, "color": INK}
    for k in range(0, len(bounds) - 1, every):
        middle, name = (bounds[k] + bounds[k + 1]) / 2, host_names[int(host[bounds[k]])]
        axes.text(1.008, middle, name, transform=axes.get_yaxis_transform(), **look)


def mark_cores(axes: Axes, n_cores: int, first_core: Sequence[int], right: float) -> None:
    """Label some of the cores from 0 to ``n_cores`` - 1, and draw lines between hosts from 0 to ``right``."""
    axes.set_ylim(n_cores, 0)
    _number(axes, np.arange(0, n_cores, _step(n_cores)), np.arange(n_cores))
    if len(first_core) <= _MOST_HOSTS + 1:
        axes.hlines(list(first_core)[1:-1], 0, right, colors=INK, linewidths=0.8)


def _step(n_cores: int) -> int:
    # Distance between labelled cores.
    step = 1
    while n_cores > 26 * step:
        step *= 2
    return step


def _number(axes: Axes, ticks: Array, cores: Array) -> None:
    axes.set_yticks(ticks + 0.5, labels=[str(number) for number in cores[ticks].tolist()], fontsize=7)
    axes.tick_params(axis="y", length=2)
    axes.set_ylabel("core")
