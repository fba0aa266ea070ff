"""One loop: which core ran which chunk when, and how large the chunks were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing.coverage import painted

if TYPE_CHECKING:
    from traces.figures.drawing.canvas import Axes, Figure

__all__ = [
    "CHUNK_COLOURS",
    "IDLE_COLOUR",
    "SCHEDULING_COLOUR",
    "LoopChunks",
    "draw_loop",
    "loop_figure",
    "loop_intervals",
]

#: A core's chunks take turns in the first two; the other two tell themselves from both, and on grey paper, too.
CHUNK_COLOURS = ("#4477AA", "#A9C3DE")
SCHEDULING_COLOUR = "#222222"
IDLE_COLOUR = "#EDEDED"

#: Up to this many bars are drawn each by itself; above, as a picture of what they cover.
SINGLE_BARS = 50_000

#: Up to this many chunks are a dot each in the panel of sizes; above, each column has a line from the smallest to the
#: largest of its chunks.
SINGLE_DOTS = 5_000

_SCHEDULING, _IDLE = 2, 3
_UNITS = ((3600 * 10**9, "h"), (60 * 10**9, "min"), (10**9, "s"), (10**6, "ms"), (10**3, "µs"))
_WIDTH_IN = 10.0
_COLUMNS = 2000
_MAX_ROWS = 2000


class LoopChunks(NamedTuple):
    """The chunks of a loop, each a row; instants are ns since any one instant.

    Attributes
    ----------
    core : int (n,)
        Number of the core that ran it, from 0.
    size : int (n,)
        Its tasks.
    request_ns, begin_ns, end_ns : int64 (n,)
        When the core asked for it, when its first task began, and when its last one was done. A core has one chunk at a
        time: none is asked for before the one before it has ended.
    """

    core: Array
    size: Array
    request_ns: Array
    begin_ns: Array
    end_ns: Array


def loop_intervals(chunks: LoopChunks, n_cores: int, start_ns: int, end_ns: int) -> tuple[Array, Array, Array, Array]:
    """What each core did from ``start_ns`` to ``end_ns``, without a gap.

    Returns
    -------
    core, begin_ns, end_ns, kind : int64 (m,)
        Ordered by core, then by time. Kind 0 and 1: a chunk, in turn; 2: from a request to the first task, so overhead,
        messages and waiting for the master; 3: idle.
    """
    order = np.lexsort((chunks.begin_ns, chunks.core))
    core = np.asarray(chunks.core, np.int64)[order]
    asked, begun, done = (np.asarray(column, np.int64)[order] for column in chunks[2:])
    fresh = np.concatenate([[True], np.diff(core) > 0])[: len(core)]
    rank = np.arange(len(core)) - np.maximum.accumulate(np.where(fresh, np.arange(len(core)), 0))
    before = np.where(fresh, start_ns, np.concatenate([[start_ns], done[:-1]])[: len(core)])
    last = np.full(n_cores, start_ns, np.int64)
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


def draw_loop(
    chunks: LoopChunks,
    *,
    n_cores: int,
    path: Path,
    start_ns: int = 0,
    end_ns: int | None = None,
    title: str = "",
    first_core: Sequence[int] = (),
) -> Path:
    """Draw a loop into a file: its cores as rows, its chunks as bars of two shades; below, the sizes of the chunks.

    Parameters
    ----------
    chunks : LoopChunks
    n_cores : int
        P; cores that had no chunk are rows, too.
    path : Path
        File to write; its suffix says the format: png, svg or pdf.
    start_ns, end_ns : int
        The loop's start and its end, which is marked; default: 0 and the last chunk's end.
    title : str
        Shown above.
    first_core : sequence of int
        First core of each host, and ``n_cores``; lines part the hosts.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    InputError
        If the suffix is unknown, or there is no chunk.
    """
    from traces.figures.drawing.canvas import figure_format, save

    figure_format(path)
    figure = loop_figure(chunks, n_cores=n_cores, start_ns=start_ns, end_ns=end_ns, title=title, first_core=first_core)
    return save(figure, path)


def loop_figure(
    chunks: LoopChunks,
    *,
    n_cores: int,
    start_ns: int = 0,
    end_ns: int | None = None,
    title: str = "",
    first_core: Sequence[int] = (),
) -> Figure:
    """The figure that :func:`draw_loop` writes; the parameters are the same.

    The first collection of its first axes are the bars of :func:`loop_intervals`, in that order; with more than
    :data:`SINGLE_BARS` its first image is what they cover.
    """
    from traces.figures.drawing import canvas
    from traces.figures.drawing.panels import quiet, short

    if len(chunks.core) == 0:
        raise InputError("nothing to draw: no chunk was run")
    stop_ns = int(np.max(chunks.end_ns)) if end_ns is None else end_ns
    span_ns = max(stop_ns - start_ns, 1)
    unit_ns, unit = next(((ns, name) for ns, name in _UNITS if span_ns >= 3 * ns), (1, "ns"))
    right = span_ns / unit_ns
    cores_in = min(max(0.16 * n_cores, 1.2), 5.0)
    with canvas.styled():
        figure = canvas.new_figure(_WIDTH_IN, cores_in + 2.3)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[cores_in, 1.0])
        _draw_cores(upper, loop_intervals(chunks, n_cores, start_ns, stop_ns), n_cores, (start_ns, span_ns), right)
        if len(first_core) <= 65:
            upper.hlines(list(first_core)[1:-1], 0, right, colors=canvas.INK, linewidths=0.8)
        end = upper.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)), label="makespan")
        lower.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)))
        upper.set_xlim(0, 1.008 * right)
        quiet(lower, "y")
        _draw_sizes(lower, (np.asarray(chunks.request_ns) - start_ns) / unit_ns, np.asarray(chunks.size), right)
        lower.set_xlabel(f"time since the start of the loop [{unit}]")
        named = (*zip(CHUNK_COLOURS, ("a chunk", "the next"), strict=True), (SCHEDULING_COLOUR, "scheduling"))
        handles: list[Any] = [canvas.Patch(facecolor=colour, label=label) for colour, label in named]
        handles += [canvas.Patch(facecolor=IDLE_COLOUR, edgecolor="#c8c8c8", linewidth=0.5, label="idle"), end]
        figure.legend(
            handles=handles, loc="outside upper center", ncols=5, frameon=False, handlelength=1.4, columnspacing=1.6
        )
        upper.set_title(short(title, 70), loc="left", weight="bold")
        counted = f"{len(chunks.core):,} chunks, {int(np.sum(chunks.size)):,} tasks, {n_cores:,} cores"
        said = f"makespan {right:.6g} {unit}; {counted}"
        upper.set_title(said, loc="right", color=canvas.GREY, fontsize=7.5)
    return figure


def _draw_cores(
    axes: Axes, intervals: tuple[Array, Array, Array, Array], n_cores: int, span: tuple[int, int], right: float
) -> None:
    from traces.figures.drawing import canvas

    core, begin_ns, end_ns, kind = intervals
    palette = np.array([canvas.rgb(colour) for colour in (*CHUNK_COLOURS, SCHEDULING_COLOUR, IDLE_COLOUR)])
    begin, end = (begin_ns - span[0]) / span[1], (end_ns - span[0]) / span[1]
    if len(core) > SINGLE_BARS:
        picture = painted(core, begin, end, kind, palette, n_cores, _COLUMNS, _MAX_ROWS)
        axes.imshow(picture, extent=(0, right, n_cores, 0), aspect="auto", interpolation="antialiased")
    else:
        margin = 0.08 if n_cores <= 32 else 0.0
        y0, y1 = core + margin, core + 1.0 - margin
        x0, x1 = begin * right, end * right
        corners = np.stack([x0, y0, x0, y1, x1, y1, x1, y0], axis=1).reshape(-1, 4, 2)
        bars = canvas.PolyCollection(
            list(corners), facecolors=palette[kind], edgecolors="none", rasterized=len(core) > 5000
        )
        axes.add_collection(bars, autolim=False)
    axes.set_ylim(n_cores, 0)
    step = 1
    while n_cores > 26 * step:
        step *= 2
    ticks = np.arange(0, n_cores, step)
    axes.set_yticks(ticks + 0.5, labels=[str(number) for number in ticks.tolist()], fontsize=7)
    axes.tick_params(axis="y", length=2)
    axes.set_ylabel("core")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _draw_sizes(axes: Axes, at: Array, size: Array, right: float) -> None:
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
