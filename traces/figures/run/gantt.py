"""The Gantt chart of a run: cores as rows, jobs as colours, a bar for each task, idle cores white.

Like Figure 9 of the two-level paper, it shows how load imbalance within a job delays the next one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.base.options import PART_CORES
from traces.compiled import Array
from traces.figures.drawing import bars, canvas
from traces.figures.drawing.bars import mark_hosts
from traces.figures.drawing.frames import arrays, counted_values
from traces.figures.drawing.gpu_rows import ChartRows, parts_of_rows
from traces.figures.drawing.panels import counted, legend_above, remark, title_panel
from traces.figures.drawing.time_axis import TimeAxis, time_axis
from traces.holdings import HeldGpus
from traces.intervals import Intervals, check_ends, within
from traces.records.gpus import WHOLE_GPU
from traces.tables import DataFrame

_FONT_PT = 6.5
# Width of a digit, height of a line (in font sizes), and margin of a number.
_DIGIT, _LINE, _AROUND_PT = 0.64, 0.8, 3.0
_JOB_NUMBER: Any = {"ha": "left", "va": "center_baseline", "fontsize": _FONT_PT, "gid": "job", "zorder": 3}
_JOB_NUMBER |= {"clip_on": True, "in_layout": False}
# Smallest block with an edge, in points.
_EDGE_PT = 2.5
# Bars per sorted block.
_SORTED = 1_000_000


class Blocks(NamedTuple):
    """Blocks, one per row, from the first start to the last end of a job on its cores."""

    job_id: Array  # int64 (k,), its job's number
    # low, high: int64 (k,), its first row, and one beyond its last
    low: Array
    high: Array
    # start_ns, end_ns: int64 (k,), its time
    start_ns: Array
    end_ns: Array
    colour: Array  # int64 (k,), index of its colour
    filled: Array  # float64 (k,), the share of it that bars cover


def large_jobs(job: Array, count: Array, start_ns: Array, end_ns: Array, point: tuple[float, float]) -> Array:
    """Jobs that may have a block large enough for an edge or a number: bool, one per job.

    - ``job``: int (n,), the place of each bar's job, from 0.
    - ``count``: int64 (jobs,), bars of each job, the most rows of a block.
    - ``start_ns``, ``end_ns``: int64 (n,), time of each bar.
    - ``point``: (float, float), a point's size: ns, rows.
    """
    begin, stop = np.full(len(count), np.iinfo(np.int64).max), np.full(len(count), np.iinfo(np.int64).min)
    np.minimum.at(begin, job, start_ns)
    np.maximum.at(stop, job, end_ns)
    return np.asarray((stop - begin >= _EDGE_PT * point[0]) & (count >= _EDGE_PT * point[1]))


def job_blocks(job_id: Array, row: Array, start_ns: Array, end_ns: Array, colour: Array) -> Blocks:
    """The blocks of bars, by job, then by row of the chart."""
    if not len(row):
        none = np.zeros(0, np.int64)
        return Blocks(none, none, none, none, none, none, np.zeros(0))
    # One row per job and row of the chart: first start, last end, colour, and the time that bars cover.
    columns = []
    for part in (slice(lo, lo + _SORTED) for lo in range(0, len(row), _SORTED)):
        start, end = start_ns[part].astype(np.int64), end_ns[part].astype(np.int64)
        busy = (end - start).astype(np.float64)
        columns.append(_merged(job_id[part], row[part].astype(np.int64), start, end, colour[part], busy))
    several = (np.concatenate(one) for one in zip(*columns, strict=True))
    job, at, start, end, colour, busy = columns[0] if len(columns) == 1 else _merged(*several)
    fresh_job = np.append(True, job[1:] != job[:-1])
    fresh = fresh_job | np.append(True, np.diff(at) > 1)
    first_of_job, first = np.flatnonzero(fresh_job), np.flatnonzero(fresh)
    of_job = np.cumsum(fresh_job)[first] - 1
    begin = np.minimum.reduceat(start, first_of_job)[of_job]
    stop = np.maximum.reduceat(end, first_of_job)[of_job]
    low, high = at[first], at[np.append(first[1:], len(at)) - 1] + 1
    area = (high - low) * np.maximum(stop - begin, 1).astype(np.float64)
    return Blocks(job[first], low, high, begin, stop, colour[first], np.add.reduceat(busy, first) / area)


def _merged(job: Array, row: Array, start: Array, end: Array, colour: Array, busy: Array) -> tuple[Array, ...]:
    order = np.lexsort((row, job))
    job, row = job[order], row[order]
    first = np.flatnonzero(np.append(True, (job[1:] != job[:-1]) | (row[1:] != row[:-1])))
    begin, stop = np.minimum.reduceat(start[order], first), np.maximum.reduceat(end[order], first)
    return job[first], row[first], begin, stop, colour[order][first], np.add.reduceat(busy[order], first)


def edge_blocks(axes: canvas.Axes, blocks: Blocks, axis: TimeAxis, point: tuple[float, float]) -> None:
    """Draw white lines at the begin of blocks, above and below them; ``point``: size of a point in ns and rows."""
    wide = (blocks.end_ns - blocks.start_ns) >= _EDGE_PT * point[0]
    high = (blocks.high - blocks.low) >= _EDGE_PT * point[1]
    some = np.flatnonzero(wide & high & (blocks.filled >= 0.5))
    x0, x1 = axis.at(blocks.start_ns[some]), axis.at(blocks.end_ns[some])
    many = len(some) > 1000
    axes.vlines(x0, blocks.low[some], blocks.high[some], colors="white", linewidths=0.5, rasterized=many)
    for y in (blocks.low[some], blocks.high[some]):
        axes.hlines(y, x0, x1, colors="white", linewidths=0.5, rasterized=many)


def name_blocks(
    axes: canvas.Axes, blocks: Blocks, axis: TimeAxis, point: tuple[float, float], palette: Array, lines: Array
) -> None:
    """Write each job's number at the begin of its largest block, if it fits and the job covers most of the block.
    ``palette``: the colours; ``lines``: rows of lines between hosts, which stay free."""
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
        fits = width * min(1.0, blocks.filled[k]) >= needed and height >= _LINE * _FONT_PT + _AROUND_PT / 2
        if not fits or blocks.filled[k] < 0.5:
            continue
        dark = float(palette[blocks.colour[k]] @ (0.299, 0.587, 0.114)) < 0.55
        x = float(axis.at(int(blocks.start_ns[k] + _AROUND_PT / 2 * point[0])))
        y = float(bounds[part] + bounds[part + 1] - 1) // 2 + 0.5  # the middle of a row
        axes.text(x, y, str(job), color="white" if dark else "black", **_JOB_NUMBER)


LEGEND_JOBS = 15  #: most jobs in a legend; with more, colours recur

# Heights in points from which rows have margins; widths in points from which bars have a white end.
_MARGIN_PT, _END_PT = 4.3, 2.2

_WIDTH_IN = 10.0


def chosen_cores(first_core: Array, cores: Intervals | None) -> Array:
    """The cores of the machine in these intervals, ascending: the rows of a figure. Raises InputError for an unknown core."""
    n_cores = int(first_core[-1])
    every: Array = np.arange(n_cores)
    if cores is None:
        return every
    check_ends(cores, n_cores, str(PART_CORES), f"the machine has cores 0 to {n_cores - 1}")
    return every[within(every, cores)]


def select_bars(tasks: DataFrame, jobs: Intervals | None, cores: Intervals) -> tuple[tuple[Array, ...], bool]:
    """The bars of some jobs on some cores, and whether other jobs also ran there.

    The bars are the columns ``job_id``, ``core``, ``start_ns`` and ``end_ns`` of a table of tasks, without rows that never ran
    (core or start -1).
    """
    columns = tuple(arrays(tasks, ("job_id", "core", "start_ns", "end_ns"), "tasks"))
    job_id, core, start_ns, _ = columns
    there = (core >= 0) & (start_ns >= 0) & within(core, cores)
    chosen = there if jobs is None else there & within(job_id, jobs)
    others = bool(np.count_nonzero(chosen) < np.count_nonzero(there))
    # Without a copy of millions of rows if all are chosen.
    return columns if chosen.all() else tuple(column[chosen] for column in columns), others


def core_gantt_figure(
    tasks: DataFrame,
    *,
    first_core: Array,
    host_names: Sequence[str],
    jobs: Intervals | None = None,
    cores: Intervals | None = None,
    gpus: HeldGpus | None = None,
    title: str = "",
) -> canvas.Figure:
    """Draw a Gantt chart of a table of tasks: ``job_id``, ``core``, ``start_ns`` and ``end_ns``.

    The first collection of its axes has the bars: one polygon each, in the given order, from (start, row) to (end, row + 1)
    less a margin, where rows count the shown cores. With too many bars, the first image shows them. White lines separate
    jobs, and each job's number is on its largest block of cores, if it fits, so that jobs differ without colours. If these
    cores also had other jobs, the figure states that white is idle or other jobs. If ``gpus`` are given, each host has rows of
    its GPUs below its cores, and the collection ``gpus`` their bars: a job fills the share of a row's height that it held.

    - ``first_core``: int64 (n_hosts + 1,), as in ``traces.ledger.MachineShape``.
    - ``host_names``: one per host.
    - ``jobs``, ``cores``: sequence of (int, int), half-open intervals of the job numbers that are drawn, and of the global
      numbers of the cores that get a row; None is all.

    Raises InputError if there is nothing to show.
    """
    known = chosen_cores(first_core, cores)
    shown, places = [(0, len(known))] if cores is None else cores, ChartRows.of(first_core, known, gpus)
    (job_id, core, start_ns, end_ns), others = select_bars(tasks, jobs, shown)
    if len(job_id) == 0:
        raise InputError("nothing to draw: no such job ran on these cores")
    place, rows = core if gpus is None else places.core[core], places.place
    row = place if len(rows) == places.first[-1] else np.searchsorted(rows, place)
    numbers, job, count = counted_values(job_id)
    job_colour, legend = _colours(numbers, job, start_ns)
    colour = job_colour[job]
    axis = time_axis(int(start_ns.min()), int(end_ns.max()))
    left, right = axis.limits

    height_in = min(max(1.7 + 0.13 * len(rows), 2.6), 7.0)
    with canvas.drawing(_WIDTH_IN, height_in) as figure:
        axes = figure.add_subplot()
        palette = np.array([canvas.rgb(one) for one in canvas.PALETTE])
        width_pt, height_pt = 72 * (_WIDTH_IN - 1.0), 72 * (height_in - 1.2)  # about, of the axes
        margin = 0.06 if height_pt / len(rows) >= _MARGIN_PT else 0.0
        wide = _END_PT * (right - left) / width_pt
        scale: Any = {"n_rows": len(rows), "limits": axis.limits}
        if len(row) > bars.SINGLE_BARS:
            bars.draw_covered(axes, row, start_ns, end_ns, colour, palette, **scale, at=axis.at)
        else:
            x0, x1 = axis.at(start_ns), axis.at(end_ns)
            bars.draw_bars(axes, row, x0, x1, colour, palette, **scale, margin=margin, wide=wide)
        if gpus is not None:
            _draw_gpus(axes, gpus, places, axis, numbers, palette[job_colour])
        axes.set(xlim=(left, right), ylim=(len(rows), 0), xlabel=axis.label)
        point = (axis.span_ns / width_pt, len(rows) / height_pt)
        some = np.flatnonzero(large_jobs(job, count, start_ns, end_ns, point)[job])
        blocks = job_blocks(job_id[some], row[some], start_ns[some], end_ns[some], colour[some])
        edge_blocks(axes, blocks, axis, point)
        if len(numbers) > 1:  # a single job has no number
            name_blocks(axes, blocks, axis, point, palette, np.searchsorted(rows, places.first[1:-1]))
        mark_hosts(axes, rows, places.first, host_names, places.labels)
        said = f"{len(job_id):,} bars of {counted(len(numbers), 'job')} on {len(known):,} cores"
        said += "; white: idle or other jobs" if others else "; white: idle"
        if legend:
            handles = [canvas.Patch(facecolor=palette[k], label=f"job {number}") for number, k in legend]
            legend_above(figure, handles, min(len(handles), 8), handle=1.1)
        else:
            said += "; colours recur"
        title_panel(axes, title, 50)
        remark(axes, said)
    return figure


def _draw_gpus(
    axes: canvas.Axes, gpus: HeldGpus, rows: ChartRows, axis: TimeAxis, numbers: Array, colours: Array
) -> None:
    # Draw the jobs with these ascending numbers and colours.
    held, low, high = parts_of_rows(gpus)
    there = np.isin(gpus.job_id[held], numbers) & np.isin(rows.gpu[gpus.gpu[held]], rows.place)
    held, low, high = held[there], low[there] / WHOLE_GPU, high[there] / WHOLE_GPU
    row = np.searchsorted(rows.place, rows.gpu[gpus.gpu[held]])
    look: Any = {"edgecolors": "white", "linewidths": 0.3, "gid": "gpus"}
    look["facecolors"] = colours[np.searchsorted(numbers, gpus.job_id[held])]
    bars.rectangles(axes, axis.at(gpus.start_ns[held]), axis.at(gpus.end_ns[held]), row + low, row + high, **look)


def _colours(numbers: Array, job: Array, start_ns: Array) -> tuple[Array, list[tuple[int, int]]]:
    """Colour of each job (int8), and (job number, colour) of the legend if there are few jobs.

    ``numbers``: job numbers; ``job``: place of each bar's job among them. Colours follow the order of starts, so that
    neighbours in time differ.
    """
    begun = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(begun, job, start_ns)
    rank = np.empty(len(numbers), np.int8)
    rank[np.lexsort((numbers, begun))] = np.arange(len(numbers)) % LEGEND_JOBS
    legend = list(zip(numbers.tolist(), rank.tolist(), strict=True)) if len(numbers) <= LEGEND_JOBS else []
    return rank, legend
