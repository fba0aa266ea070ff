"""One task graph's schedule: which core ran which task when, what it waited for, and what was sent between cores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.application.schedule_bars import ScheduleAxes, ScheduleTasks, ScheduleTransfers
from traces.waits import graph_waits

if TYPE_CHECKING:
    from traces.figures.drawing.canvas import Figure

__all__ = ["MOST_LINES", "ScheduleTasks", "ScheduleTransfers", "draw_schedule", "schedule_figure"]

#: Up to this many transfers are drawn; of more, the largest so many.
MOST_LINES = 300

#: Chunks take turns in these, which tell themselves from each other on grey paper, too.
TURN_COLOURS = ("#4477AA", "#A9C3DE", "#228833", "#A6D1AE")

_UNITS = ((3600 * 10**9, "h"), (60 * 10**9, "min"), (10**9, "s"), (10**6, "ms"), (10**3, "µs"))
_WIDTH_IN = 10.0
_LEGEND_LEVELS = 4


def draw_schedule(
    tasks: ScheduleTasks,
    transfers: ScheduleTransfers | None,
    path: Path,
    *,
    n_cores: int,
    first_core: Sequence[int] = (),
    start_ns: int = 0,
    end_ns: int | None = None,
    title: str = "",
    colour_by: str = "level",
    critical: Array | None = None,
    names: Sequence[str] = (),
) -> Path:
    """Draw a graph's schedule into a file: its cores as rows, its tasks as bars; when a core waited for data is hatched, and a
    thin line leads from the instant and the core at which a transfer began to those at which it arrived.

    Parameters
    ----------
    tasks : ScheduleTasks
    transfers : ScheduleTransfers, optional
        None: there was no network.
    path : Path
        File to write; its suffix says the format: png, svg or pdf.
    n_cores : int
        P; cores that had no task are rows, too.
    first_core : sequence of int
        First core of each host, and ``n_cores``; lines part the hosts.
    start_ns, end_ns : int
        The graph's start and its end, which is marked; default: 0 and the last task's end.
    title : str
        Shown above.
    colour_by : {"level", "chunk"}
        What ``tasks.group`` is. Levels go from dark to light; chunks take turns in a few colours.
    critical : ndarray of int, shape (k,), optional
        Tasks of the critical path, which get an outline.
    names : sequence of str
        Names of the tasks, shown on bars that are wide enough if there are few tasks; empty: their numbers.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    InputError
        If the suffix is unknown, or no task ran.
    """
    from traces.figures.drawing.canvas import figure_format, save

    figure_format(path)
    figure = schedule_figure(
        tasks,
        transfers,
        n_cores=n_cores,
        first_core=first_core,
        start_ns=start_ns,
        end_ns=end_ns,
        title=title,
        colour_by=colour_by,
        critical=critical,
        names=names,
    )
    return save(figure, path)


def schedule_figure(
    tasks: ScheduleTasks,
    transfers: ScheduleTransfers | None,
    *,
    n_cores: int,
    first_core: Sequence[int] = (),
    start_ns: int = 0,
    end_ns: int | None = None,
    title: str = "",
    colour_by: str = "level",
    critical: Array | None = None,
    names: Sequence[str] = (),
) -> Figure:
    """The figure that :func:`draw_schedule` writes; the parameters are the same.

    The collections of its axes have labels: ``tasks`` (those that ran, in the order given), ``waits``, ``critical``,
    ``transfers``. With more than :data:`traces.figures.application.schedule_bars.SINGLE_BARS` tasks the first image is what
    they cover.
    """
    from traces.figures.drawing import canvas
    from traces.figures.drawing.panels import short

    ran = np.flatnonzero(np.asarray(tasks.core) >= 0)
    if len(ran) == 0:
        raise InputError("nothing to draw: no task ran")
    stop_ns = int(np.max(np.asarray(tasks.end_ns)[ran])) if end_ns is None else end_ns
    span_ns = max(stop_ns - start_ns, 1)
    unit_ns, unit = next(((ns, name) for ns, name in _UNITS if span_ns >= 3 * ns), (1, "ns"))
    right = span_ns / unit_ns
    if transfers is None:
        transfers = ScheduleTransfers(*[np.zeros(0, np.int64)] * 5)
    cores_in = min(max(0.16 * n_cores, 1.4), 6.0)
    with canvas.styled():
        figure = canvas.new_figure(_WIDTH_IN, cores_in + 1.3)
        axes = figure.add_subplot()
        drawing = ScheduleAxes(axes, start_ns, unit_ns, right, n_cores, (_WIDTH_IN - 1.0) * canvas.DPI)
        colours, handles = _colours(np.asarray(tasks.group), colour_by)
        drawing.tasks(tasks, ran, colours)
        task, since = graph_waits(*tasks[:3], transfers.target, transfers.sent_ns, transfers.arrived_ns, start_ns)
        if len(task):
            handles.append(drawing.waits(np.asarray(tasks.core)[task], since, np.asarray(tasks.start_ns)[task]))
        if critical is not None and len(critical):
            handles.append(drawing.critical(tasks, np.asarray(critical, np.int64)))
        remark = ""
        if len(transfers.source):
            largest = _largest(np.asarray(transfers.bytes, float))
            if len(largest) < len(transfers.source):
                remark = f"; lines: the largest {MOST_LINES:,} of {len(transfers.source):,} transfers"
            handles.append(drawing.transfers(tasks, transfers, np.sort(largest)))
        drawing.names(tasks, ran, colours, names)
        if len(first_core) <= 65:
            axes.hlines(list(first_core)[1:-1], 0, right, colors=canvas.INK, linewidths=0.8)
        end = axes.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)), label="makespan")
        drawing.frame(unit)
        figure.legend(
            handles=[*handles, end],
            loc="outside upper center",
            ncols=min(len(handles) + 1, 8),
            frameon=False,
            handlelength=1.5,
            columnspacing=1.4,
        )
        axes.set_title(short(title, 60), loc="left", weight="bold")
        said = f"makespan {right:.6g} {unit}; {len(ran):,} tasks, {n_cores:,} cores{remark}"
        axes.set_title(said, loc="right", color=canvas.GREY, fontsize=7.5)
    return figure


def _largest(n_bytes: Array) -> Array:
    # Of equal ones, some from everywhere: the first so many would all be at the left. Multiples of the golden ratio are spread
    # evenly, however many of them there are.
    turn = np.arange(len(n_bytes)) * 0.6180339887498949 % 1.0
    return np.lexsort((turn, -n_bytes))[:MOST_LINES]


def _colours(group: Array, colour_by: str) -> tuple[Array, list[Any]]:
    """Red, green and blue of each task, and what the legend says of them."""
    from traces.figures.drawing import canvas

    if colour_by == "level":
        n = int(group.max()) + 1
        palette = np.array(canvas.shades(n))
        named = range(n) if n <= _LEGEND_LEVELS else (0, n // 3, (2 * n) // 3, n - 1)
        return palette[group], [canvas.Patch(facecolor=palette[k], label=f"level {k}") for k in named]
    palette = np.array([canvas.rgb(colour) for colour in TURN_COLOURS])
    handles = [canvas.Patch(facecolor=palette[0], label=f"a {colour_by}")]
    handles += [canvas.Patch(facecolor=colour, label="the next") for colour in palette[1:2]]
    return palette[group % len(palette)], handles
