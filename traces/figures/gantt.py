"""The Gantt chart of a run: cores as rows, jobs as colours, a bar for each task, idle cores white.

It shows what Figure 9 of the two-level paper shows in Vampir: where load imbalance inside a job keeps the
next one waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from traces.compiled import Array
from traces.errors import InputError
from traces.figures.coverage import painted
from traces.time import format_ns

if TYPE_CHECKING:
    from traces.figures.canvas import Axes, Figure

__all__ = ["draw_gantt", "gantt_figure", "select_bars"]

#: Half-open intervals of numbers, as ``traces.intervals.parse_intervals`` gives them.
Intervals = Sequence[tuple[int, int]]

#: A legend names the jobs up to this many; above, colours recur.
LEGEND_JOBS = 15

#: Up to this many bars are drawn each by itself; above, as a picture of what they cover.
SINGLE_BARS = 50_000

_UNITS = (
    (86_400 * 10**9, "d"),
    (3600 * 10**9, "h"),
    (60 * 10**9, "min"),
    (10**9, "s"),
    (10**6, "ms"),
    (10**3, "µs"),
)
_WIDTH_IN = 10.0
_COLUMNS = 2000
_MAX_ROWS = 2000


def _within(numbers: Array, intervals: Intervals) -> Array:
    found = np.zeros(len(numbers), bool)
    for lo, hi in intervals:
        found |= (numbers >= lo) & (numbers < hi)
    return found


def select_bars(
    job_id: Array,
    core: Array,
    start_ns: Array,
    end_ns: Array,
    *,
    jobs: Intervals | None = None,
    cores: Intervals | None = None,
) -> tuple[Array, Array, Array, Array]:
    """The bars of some jobs on some cores.

    Parameters
    ----------
    job_id, core, start_ns, end_ns : ndarray, shape (n,)
        A bar each; what never ran (its core is -1) is none.
    jobs, cores : sequence of (int, int), optional
        Half-open intervals of job numbers and of global core numbers; None is all.

    Returns
    -------
    tuple of four ndarray
        The four columns, of the chosen bars.
    """
    chosen = np.asarray(core >= 0)
    if jobs is not None:
        chosen &= _within(job_id, jobs)
    if cores is not None:
        chosen &= _within(core, cores)
    return job_id[chosen], core[chosen], start_ns[chosen], end_ns[chosen]


def draw_gantt(
    job_id: Array,
    core: Array,
    start_ns: Array,
    end_ns: Array,
    *,
    first_core: Array,
    host_names: Sequence[str],
    path: Path,
    title: str = "",
    cores: Intervals | None = None,
) -> Path:
    """Draw a Gantt chart into a file.

    Parameters
    ----------
    job_id : ndarray of int64, shape (n,)
        Job number of each bar: of each task, or of each job on each of its cores.
    core : ndarray of int, shape (n,)
        Its global core number.
    start_ns, end_ns : ndarray of int64, shape (n,)
        Its time, ns since the workload's time 0.
    first_core : ndarray of int64, shape (n_hosts + 1,)
        As in ``traces.ledger.Machine``.
    host_names : sequence of str
        One per host.
    path : Path
        File to write; its suffix says the format: png, svg or pdf.
    title : str
        Shown above the chart.
    cores : sequence of (int, int), optional
        Half-open intervals of the cores that get a row; None is every core of the machine.

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
    figure = gantt_figure(
        job_id, core, start_ns, end_ns, first_core=first_core, host_names=host_names, title=title, cores=cores
    )
    return save(figure, path)


def gantt_figure(
    job_id: Array,
    core: Array,
    start_ns: Array,
    end_ns: Array,
    *,
    first_core: Array,
    host_names: Sequence[str],
    title: str = "",
    cores: Intervals | None = None,
) -> Figure:
    """The figure that :func:`draw_gantt` writes; the parameters are the same.

    The first collection of its axes are the bars: one polygon each, in the order given, from (start, row) to
    (end, row + 1) less a margin, where rows count the cores shown. With more than :data:`SINGLE_BARS` the
    first image is what they cover.
    """
    from traces.figures import canvas

    n_cores = int(first_core[-1])
    all_cores = np.arange(n_cores)
    rows = all_cores if cores is None else all_cores[_within(all_cores, cores)]
    if len(rows) == 0:
        raise InputError(f"no core to draw: the machine has cores 0 to {n_cores - 1}")
    job_id, core, start_ns, end_ns = select_bars(
        job_id, core, start_ns, end_ns, cores=cores if cores is not None else [(0, n_cores)]
    )
    if len(job_id) == 0:
        raise InputError("nothing to draw: no such job ran on these cores")
    row = np.searchsorted(rows, core)
    colour, legend = _colours(job_id, start_ns)
    first_ns, last_ns = int(start_ns.min()), int(end_ns.max())
    if 4 * first_ns < last_ns:
        first_ns = 0  # what is so near the beginning is drawn from it
    span_ns = max(last_ns - first_ns, 1)
    unit_ns, unit = next(((ns, name) for ns, name in _UNITS if span_ns >= 3 * ns), (1, "ns"))
    # A window late in a long run is told from its own beginning: nobody reads ticks such as 412.0183 h.
    origin_ns = first_ns if first_ns >= 5 * span_ns else 0
    left, right = (first_ns - origin_ns) / unit_ns, (first_ns - origin_ns + span_ns) / unit_ns

    height_in = min(max(1.7 + 0.13 * len(rows), 2.6), 7.0)
    with canvas.styled():
        figure = canvas.new_figure(_WIDTH_IN, height_in)
        axes = figure.add_subplot()
        palette = np.array([canvas.rgb(one) for one in canvas.PALETTE])
        if len(job_id) > SINGLE_BARS:
            begin, stop = (start_ns - first_ns) / span_ns, (end_ns - first_ns) / span_ns
            picture = painted(row, begin, stop, colour, palette, len(rows), _COLUMNS, _MAX_ROWS)
            axes.imshow(picture, extent=(left, right, len(rows), 0), aspect="auto")
        else:
            x0, x1 = (start_ns - origin_ns) / unit_ns, (end_ns - origin_ns) / unit_ns
            row_px = (height_in - 1.2) * canvas.DPI / len(rows)
            margin = 0.06 if row_px >= 12 else 0.0
            y0, y1 = row + margin, row + 1.0 - margin
            corners = np.stack([x0, y0, x0, y1, x1, y1, x1, y0], axis=1).reshape(-1, 4, 2)
            bars = canvas.PolyCollection(
                list(corners), facecolors=palette[colour], edgecolors="none", rasterized=len(job_id) > 5000
            )
            axes.add_collection(bars, autolim=False)
            # A white line ends each bar that is wide enough to remain visible beside it.
            wide = (x1 - x0) / (right - left) * (_WIDTH_IN - 1.0) * canvas.DPI >= 6
            axes.vlines(x1[wide], y0[wide], y1[wide], colors="white", linewidths=0.4, rasterized=len(job_id) > 5000)
        axes.set_xlim(left, right)
        axes.set_ylim(len(rows), 0)
        axes.set_xlabel(f"time since {_origin_name(origin_ns)} [{unit}]")
        _mark_hosts(axes, rows, first_core, host_names)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        n_jobs = len(np.unique(job_id))
        counted = f"{len(job_id):,} bars of {n_jobs:,} job{'s' if n_jobs > 1 else ''} on {len(rows):,} cores"
        if legend:
            handles = [canvas.Patch(facecolor=palette[k], label=f"job {number}") for number, k in legend]
            figure.legend(
                handles=handles,
                loc="outside upper center",
                ncols=min(len(handles), 8),
                frameon=False,
                handlelength=1.1,
                handleheight=1.1,
                columnspacing=1.4,
            )
        else:
            counted += "; colours recur"
        axes.set_title(title, loc="left", weight="bold")
        axes.set_title(counted, loc="right", color=canvas.GREY, fontsize=7.5)
    return figure


def _origin_name(origin_ns: int) -> str:
    return "the start of the workload" if origin_ns == 0 else f"{format_ns(origin_ns)} of the workload"


def _colours(job_id: Array, start_ns: Array) -> tuple[Array, list[tuple[int, int]]]:
    """Colour of each bar, and (job number, colour) of the legend if there are few enough jobs for one.

    Jobs take the colours in the order in which they start, so that neighbours in time differ.
    """
    numbers, index = np.unique(job_id, return_inverse=True)
    begun = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(begun, index, start_ns)
    rank = np.empty(len(numbers), np.int64)
    rank[np.lexsort((numbers, begun))] = np.arange(len(numbers)) % LEGEND_JOBS
    legend = list(zip(numbers.tolist(), rank.tolist(), strict=True)) if len(numbers) <= LEGEND_JOBS else []
    return rank[index], legend


def _mark_hosts(axes: Axes, rows: Array, first_core: Array, host_names: Sequence[str]) -> None:
    """Lines between hosts, their names beside them, and numbers of some cores."""
    from traces.figures.canvas import GREY, INK

    host = np.searchsorted(first_core, rows, side="right") - 1
    edges = np.flatnonzero(np.diff(host)) + 1
    bounds = np.concatenate([[0], edges, [len(rows)]])
    if len(edges) <= 64:
        axes.hlines(edges, 0, 1, transform=axes.get_yaxis_transform(), colors=INK, linewidths=0.7)
    gaps = np.flatnonzero((np.diff(rows) > 1) & (np.diff(host) == 0)) + 1
    axes.hlines(gaps, 0, 1, transform=axes.get_yaxis_transform(), colors=GREY, linewidths=0.5, linestyles="dotted")

    step = 1
    while len(rows) > 26 * step:
        step *= 2
    ticks = np.flatnonzero((rows - first_core[host]) % step == 0)
    axes.set_yticks(ticks + 0.5, labels=[str(number) for number in rows[ticks].tolist()], fontsize=7)
    axes.tick_params(axis="y", length=2)
    axes.set_ylabel("core")
    every = -(-(len(bounds) - 1) // 32)
    for k in range(0, len(bounds) - 1, every):
        axes.text(
            1.008,
            (bounds[k] + bounds[k + 1]) / 2,
            host_names[int(host[bounds[k]])],
            transform=axes.get_yaxis_transform(),
            rotation=0 if len(bounds) > 9 else -90,
            va="center",
            ha="left",
            fontsize=8,
            color=INK,
        )
