"""The blocks of a Gantt chart, each a job on cores that follow each other: their edges and their numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.canvas import Axes
from traces.figures.drawing.time_axis import TimeAxis

__all__ = ["Blocks", "edge_blocks", "job_blocks", "name_blocks"]

_FONT_PT = 6.5
# A digit's width and a line's height, in sizes of the font; and the room around a number.
_DIGIT, _LINE, _AROUND_PT = 0.64, 0.8, 3.0
# Only around blocks larger than this, in points, is there an edge that leaves something of them.
_EDGE_PT = 2.5


class Blocks(NamedTuple):
    """A row a block, from the first start to the last end of its job on all its cores.

    Attributes
    ----------
    job_id : int64 (k,)
        Its job's number.
    low, high : int64 (k,)
        Its first row, and one beyond its last.
    start_ns, end_ns : int64 (k,)
        Its time.
    colour : int64 (k,)
        Index of its colour.
    filled : float64 (k,)
        Which share of it bars cover.
    """

    job_id: Array
    low: Array
    high: Array
    start_ns: Array
    end_ns: Array
    colour: Array
    filled: Array


def job_blocks(job_id: Array, row: Array, start_ns: Array, end_ns: Array, colour: Array) -> Blocks:
    """The blocks that bars make, by job, then by row; the columns are the bars', ``row`` counts the rows of the chart."""
    order = np.lexsort((row, job_id))
    job, at, colour = job_id[order], row[order].astype(np.int64), colour[order]
    start, end = start_ns[order].astype(np.int64), end_ns[order].astype(np.int64)
    fresh_job = np.append(True, job[1:] != job[:-1])
    fresh = fresh_job | np.append(True, np.diff(at) > 1)
    first_of_job, first = np.flatnonzero(fresh_job), np.flatnonzero(fresh)
    of_job = np.cumsum(fresh_job)[first] - 1
    begin = np.minimum.reduceat(start, first_of_job)[of_job]
    stop = np.maximum.reduceat(end, first_of_job)[of_job]
    low, high = at[first], at[np.append(first[1:], len(at)) - 1] + 1
    busy = np.add.reduceat((end - start).astype(np.float64), first)
    area = (high - low) * np.maximum(stop - begin, 1).astype(np.float64)
    return Blocks(job[first], low, high, begin, stop, colour[first], busy / area)


def edge_blocks(axes: Axes, blocks: Blocks, axis: TimeAxis, point: tuple[float, float]) -> None:
    """White lines where a block begins, above it and below it; ``point`` is a point's size: ns, rows."""
    wide = (blocks.end_ns - blocks.start_ns) >= _EDGE_PT * point[0]
    high = (blocks.high - blocks.low) >= _EDGE_PT * point[1]
    some = np.flatnonzero(wide & high & (blocks.filled >= 0.5))
    x0, x1 = axis.at(blocks.start_ns[some]), axis.at(blocks.end_ns[some])
    many = len(some) > 1000
    axes.vlines(x0, blocks.low[some], blocks.high[some], colors="white", linewidths=0.5, rasterized=many)
    for y in (blocks.low[some], blocks.high[some]):
        axes.hlines(y, x0, x1, colors="white", linewidths=0.5, rasterized=many)


def name_blocks(
    axes: Axes, blocks: Blocks, axis: TimeAxis, point: tuple[float, float], palette: Array, lines: Array
) -> None:
    """Each job's number at the begin of the largest of its blocks, where it fits and where most of the block is the job's.

    ``palette`` are the colours, ``lines`` the rows at which lines between hosts are, which are kept free. One job alone has no
    number.
    """
    if len(blocks.job_id) == 0 or (blocks.job_id == blocks.job_id[0]).all():
        return
    largest: dict[int, int] = {}
    for k, (job, size) in enumerate(zip(blocks.job_id.tolist(), (blocks.high - blocks.low).tolist(), strict=True)):
        before = largest.get(job)
        if before is None or size > blocks.high[before] - blocks.low[before]:
            largest[job] = k
    for job, k in largest.items():
        width = (blocks.end_ns[k] - blocks.start_ns[k]) / point[0]
        inside = lines[(lines > blocks.low[k]) & (lines < blocks.high[k])]
        bounds = np.concatenate([[blocks.low[k]], inside, [blocks.high[k]]])
        part = int(np.argmax(np.diff(bounds)))
        height = (bounds[part + 1] - bounds[part]) / point[1]
        needed = _DIGIT * _FONT_PT * len(str(job)) + _AROUND_PT
        if (
            width * min(1.0, blocks.filled[k]) < needed
            or height < _LINE * _FONT_PT + _AROUND_PT / 2
            or blocks.filled[k] < 0.5
        ):
            continue
        dark = float(palette[blocks.colour[k]] @ (0.299, 0.587, 0.114)) < 0.55
        axes.text(
            float(axis.at(int(blocks.start_ns[k] + _AROUND_PT / 2 * point[0]))),
            float(bounds[part] + bounds[part + 1] - 1) // 2 + 0.5,  # the middle of a row
            str(job),
            ha="left",
            va="center_baseline",
            fontsize=_FONT_PT,
            color="white" if dark else "black",
            gid="job",
            clip_on=True,
            in_layout=False,
            zorder=3,
        )
