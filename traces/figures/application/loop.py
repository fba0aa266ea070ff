"""One loop: its chunks on cores over time, and their sizes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.bars import draw_bars, mark_cores
from traces.figures.drawing.panels import legend_above, remark, title_panel
from traces.figures.drawing.time_axis import time_unit

#: Chunks of a core alternate between two shades; the other colours differ from both, also in grey.
CHUNK_COLOURS = ("#4477AA", "#A9C3DE")
SCHEDULING_COLOUR = "#222222"
IDLE_COLOUR = "#EDEDED"

#: Up to this many chunks are dots in the panel of sizes; with more, each column has a line from its smallest to its largest.
SINGLE_DOTS = 5_000

_SCHEDULING, _IDLE = 2, 3
_WIDTH_IN = 10.0


class LoopChunks(NamedTuple):
    """The chunks of a loop, one per row; instants are ns since a common instant."""

    core: Array  # int (n,), core that ran it, from 0
    size: Array  # int (n,), number of tasks
    # int64 (n,): request of the core, start of the first task, end of the last; a core has one chunk at a time
    request_ns: Array
    begin_ns: Array
    end_ns: Array


def loop_intervals(chunks: LoopChunks, n_cores: int, end_ns: int) -> tuple[Array, Array, Array, Array]:
    """The activity of each core from 0 to ``end_ns``, without gaps.

    Returns core, begin_ns, end_ns and kind, int64 (m,), ordered by core, then by time. Kind 0 and 1: chunks, alternating;
    2: from a request to the first task (overhead, messages, waiting for the master); 3: idle.
    """
    order = np.lexsort((chunks.begin_ns, chunks.core))
    core = np.asarray(chunks.core, np.int64)[order]
    asked, begun, done = (np.asarray(column, np.int64)[order] for column in chunks[2:])
    fresh = np.concatenate([[True], np.diff(core) > 0])[: len(core)]
    rank = np.arange(len(core)) - np.maximum.accumulate(np.where(fresh, np.arange(len(core)), 0))
    before = np.where(fresh, 0, np.concatenate([[0], done[:-1]])[: len(core)])
    last = np.zeros(n_cores, np.int64)
    np.maximum.at(last, core, done)
    every = np.arange(n_cores)
    parts = (
        (core, begun, done, rank % 2),
        (core, asked, begun, np.full(len(core), _SCHEDULING)),
        (core, before, asked, np.full(len(core), _IDLE)),
        (every, last, np.full(n_cores, end_ns), np.full(n_cores, _IDLE)),
    )
    row, begin, end, kind = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    some = end > begin
    row, begin, end, kind = row[some], begin[some], end[some], kind[some]
    order = np.lexsort((begin, row))
    return row[order], begin[order], end[order], kind[order]


def loop_figure(
    chunks: LoopChunks,
    *,
    n_cores: int,
    end_ns: int | None = None,
    title: str = "",
    first_core: Sequence[int] = (),
) -> canvas.Figure:
    """Draw a loop: cores as rows with chunks as bars, and below them the sizes of the chunks.

    The first collection of the first axes has the bars of :func:`loop_intervals`; with too many bars, the first image shows
    them.

    - ``n_cores``: rows, including cores without a chunk.
    - ``end_ns``: the end of the loop, which is marked; default: the end of the last chunk.
    - ``first_core``: first core of each host, and ``n_cores``; lines separate hosts.

    Raises InputError if there is no chunk.
    """
    if len(chunks.core) == 0:
        raise InputError("nothing to draw: no chunk was run")
    stop_ns = int(np.max(chunks.end_ns)) if end_ns is None else end_ns
    unit_ns, unit = time_unit(max(stop_ns, 1))
    right = max(stop_ns, 1) / unit_ns
    cores_in = min(max(0.16 * n_cores, 1.2), 5.0)
    with canvas.drawing(_WIDTH_IN, cores_in + 2.3) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[cores_in, 1.0])
        core, begin_ns, until_ns, kind = loop_intervals(chunks, n_cores, stop_ns)
        palette = np.array([canvas.rgb(colour) for colour in (*CHUNK_COLOURS, SCHEDULING_COLOUR, IDLE_COLOUR)])
        margin = 0.08 if n_cores <= 32 else 0.0
        x0, x1 = begin_ns / unit_ns, until_ns / unit_ns
        draw_bars(upper, core, x0, x1, kind, palette, n_rows=n_cores, limits=(0.0, right), margin=margin)
        mark_cores(upper, n_cores, first_core, right)
        end = upper.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)), label="makespan")
        lower.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)))
        upper.set_xlim(0, 1.008 * right)
        lower.grid(axis="y")
        _draw_sizes(lower, np.asarray(chunks.request_ns) / unit_ns, np.asarray(chunks.size), right)
        lower.set_xlabel(f"time since the start of the loop [{unit}]")
        first, second, scheduling = (canvas.Patch(facecolor=one) for one in (*CHUNK_COLOURS, SCHEDULING_COLOUR))
        idle = canvas.Patch(facecolor=IDLE_COLOUR, edgecolor="#c8c8c8", linewidth=0.5)
        named: dict[str, Any] = {
            "chunks, in alternating shades": (first, second),
            "overhead and waiting for a chunk": scheduling,
            "idle": idle,
            "end of the loop": end,
        }
        legend_above(figure, list(named.values()), 4, labels=list(named))
        title_panel(upper, title, 70)
        counted = f"{len(chunks.core):,} chunks, {int(np.sum(chunks.size)):,} tasks, {n_cores:,} cores"
        remark(upper, f"makespan {right:.6g} {unit}; {counted}")
    return figure


def _draw_sizes(axes: canvas.Axes, at: Array, size: Array, right: float) -> None:
    if len(at) <= SINGLE_DOTS:
        few = len(at) <= 500
        axes.plot(at, size, ".", color=CHUNK_COLOURS[0], markersize=4 if few else 2, rasterized=not few, clip_on=False)
    else:
        n_columns = 1000
        column = np.minimum((at / right * n_columns).astype(np.int64), n_columns - 1)
        least, most = np.full(n_columns, np.iinfo(np.int64).max), np.zeros(n_columns, np.int64)
        np.minimum.at(least, column, size)
        np.maximum.at(most, column, size)
        some = most > 0
        x = (np.arange(n_columns)[some] + 0.5) * right / n_columns
        axes.vlines(x, least[some] * 0.93, most[some] * 1.07, colors=CHUNK_COLOURS[0], linewidths=0.8)
    axes.set_yscale("log")
    axes.minorticks_off()
    most_tasks = int(np.max(size))
    axes.set_ylim(0.7, 1.8 * max(most_tasks, 2))
    ticks = [10**k for k in range(12) if 10**k <= 1.8 * max(most_tasks, 2)]
    if len(ticks) < 3:
        ticks = [2**k for k in range(0, 12, 1 if most_tasks < 32 else 2) if 2**k <= 1.8 * max(most_tasks, 2)]
    axes.set_yticks(ticks, labels=[f"{tick:,}" for tick in ticks], fontsize=7)
    axes.set_ylabel("tasks of\na chunk")
