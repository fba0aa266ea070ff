"""The blocks of a Gantt chart, each a job on cores that follow each other: their edges and their numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.canvas import Axes
from traces.figures.drawing.time_axis import TimeAxis

_FONT_PT = 6.5
# A digit's width and a line's height, in sizes of the font; and the room around a number.
_DIGIT, _LINE, _AROUND_PT = 0.64, 0.8, 3.0
# Only around blocks larger than this, in points, is there an edge that leaves something of them.
_EDGE_PT = 2.5
# Bars that are sorted at a time.
_SORTED = 1_000_000


class Blocks(NamedTuple):
    """A row a block, from the first start to the last end of its job on all its cores."""

    job_id: Array  # int64 (k,), its job's number
    # low, high: int64 (k,), its first row, and one beyond its last
    low: Array
    high: Array
    # start_ns, end_ns: int64 (k,), its time
    start_ns: Array
    end_ns: Array
    colour: Array  # int64 (k,), index of its colour
    filled: Array  # float64 (k,), which share of it bars cover


def large_jobs(job: Array, count: Array, start_ns: Array, end_ns: Array, point: tuple[float, float]) -> Array:
    """Which jobs may have a block of which an edge or a number is drawn: bool, one per job.

    - ``job``: int (n,), the place of each bar's job, from 0.
    - ``count``: int64 (jobs,), bars of each job: its blocks have no more rows.
    - ``start_ns``, ``end_ns``: int64 (n,), time of each bar.
    - ``point``: (float, float), a point's size: ns, rows.
    """
    begin, stop = np.full(len(count), np.iinfo(np.int64).max), np.full(len(count), np.iinfo(np.int64).min)
    np.minimum.at(begin, job, start_ns)
    np.maximum.at(stop, job, end_ns)
    return np.asarray((stop - begin >= _EDGE_PT * point[0]) & (count >= _EDGE_PT * point[1]))


def job_blocks(job_id: Array, row: Array, start_ns: Array, end_ns: Array, colour: Array) -> Blocks:
    """The blocks that bars make, by job, then by row; the columns are the bars', ``row`` counts the rows of the chart."""
    if not len(row):
        none = np.zeros(0, np.int64)
        return Blocks(none, none, none, none, none, none, np.zeros(0))
    parts = [slice(lo, lo + _SORTED) for lo in range(0, len(row), _SORTED)]
    columns = [_by_row(job_id[part], row[part], start_ns[part], end_ns[part], colour[part]) for part in parts]
    job, at, start, end, colour, busy = (
        columns[0] if len(columns) == 1 else _merged(*(np.concatenate(one) for one in zip(*columns, strict=True)))
    )
    fresh_job = np.append(True, job[1:] != job[:-1])
    fresh = fresh_job | np.append(True, np.diff(at) > 1)
    first_of_job, first = np.flatnonzero(fresh_job), np.flatnonzero(fresh)
    of_job = np.cumsum(fresh_job)[first] - 1
    begin = np.minimum.reduceat(start, first_of_job)[of_job]
    stop = np.maximum.reduceat(end, first_of_job)[of_job]
    low, high = at[first], at[np.append(first[1:], len(at)) - 1] + 1
    area = (high - low) * np.maximum(stop - begin, 1).astype(np.float64)
    return Blocks(job[first], low, high, begin, stop, colour[first], np.add.reduceat(busy, first) / area)


def _by_row(job_id: Array, row: Array, start_ns: Array, end_ns: Array, colour: Array) -> tuple[Array, ...]:
    # One per job and row, by these: job, row, first start, last end, colour, and the time that bars cover.
    start, end = start_ns.astype(np.int64), end_ns.astype(np.int64)
    return _merged(job_id, row.astype(np.int64), start, end, colour, (end - start).astype(np.float64))


def _merged(job: Array, row: Array, start: Array, end: Array, colour: Array, busy: Array) -> tuple[Array, ...]:
    order = np.lexsort((row, job))
    job, row = job[order], row[order]
    first = np.flatnonzero(np.append(True, (job[1:] != job[:-1]) | (row[1:] != row[:-1])))
    return (
        job[first],
        row[first],
        np.minimum.reduceat(start[order], first),
        np.maximum.reduceat(end[order], first),
        colour[order][first],
        np.add.reduceat(busy[order], first),
    )


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
    """Each job's number at the begin of the largest of its blocks, where it fits and where most of the block is the
    job's. ``palette`` are the colours, ``lines`` the rows at which lines between hosts are, which are kept free."""
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
