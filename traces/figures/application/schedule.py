"""One task graph's schedule: which core ran which task when, what it waited for, and what was sent between cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.application.level_colours import level_colours
from traces.figures.application.schedule_bars import ScheduleAxes, ScheduleTasks, ScheduleTransfers
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.panels import legend_above, remark, short
from traces.figures.drawing.time_axis import time_unit
from traces.waits import graph_waits

__all__ = ["MOST_LINES", "ScheduleTasks", "ScheduleTransfers", "schedule_figure"]

#: Up to this many transfers are drawn; of more, the largest so many.
MOST_LINES = 300

#: Chunks take turns in these, which tell themselves from each other on grey paper, too.
TURN_COLOURS = ("#4477AA", "#A9C3DE", "#228833", "#A6D1AE")

_WIDTH_IN = 10.0


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
    """A graph's schedule: its cores as rows, its tasks as bars; when a core waited for data is hatched, and a thin line leads
    from the instant and the core at which a transfer began to those at which it arrived.

    The collections of its axes have labels: ``tasks`` (those that ran, in the order given), ``waits``, ``critical``,
    ``transfers``. Of too many tasks to be drawn each by itself the first image is what they cover.

    - ``transfers``: None: there was no network.
    - ``n_cores``: P; cores that had no task are rows, too.
    - ``first_core``: first core of each host, and ``n_cores``; lines part the hosts.
    - ``start_ns``, ``end_ns``: the graph's start and its end, which is marked; default: 0 and the last task's end.
    - ``colour_by``: what ``tasks.group`` is. Levels go from dark to light; chunks take turns in a few colours.
    - ``critical``: int (k,), tasks of the critical path, which get an outline.
    - ``names``: names of the tasks, shown on bars that are wide enough if there are few tasks; empty: their numbers.

    Raises InputError if no task ran.
    """
    ran = np.flatnonzero(np.asarray(tasks.core) >= 0)
    if len(ran) == 0:
        raise InputError("nothing to draw: no task ran")
    stop_ns = int(np.max(np.asarray(tasks.end_ns)[ran])) if end_ns is None else end_ns
    span_ns = max(stop_ns - start_ns, 1)
    unit_ns, unit = time_unit(span_ns)
    right = span_ns / unit_ns
    if transfers is None:
        transfers = ScheduleTransfers(*[np.zeros(0, np.int64)] * 5)
    cores_in = min(max(0.16 * n_cores, 1.4), 6.0)
    with canvas.drawing(_WIDTH_IN, cores_in + 1.3) as figure:
        axes = figure.add_subplot()
        drawing = ScheduleAxes(axes, start_ns, unit_ns, right, n_cores, (_WIDTH_IN - 1.0) * canvas.DPI)
        colours, handles = _colours(np.asarray(tasks.group), colour_by)
        drawing.tasks(tasks, ran, colours)
        task, since = graph_waits(*tasks[:3], transfers.target, transfers.sent_ns, transfers.arrived_ns, start_ns)
        if len(task):
            handles.append(drawing.waits(np.asarray(tasks.core)[task], since, np.asarray(tasks.start_ns)[task]))
        if critical is not None and len(critical):
            handles.append(drawing.critical(tasks, np.asarray(critical, np.int64)))
        left_out = ""
        if len(transfers.source):
            largest = _largest(np.asarray(transfers.bytes, float))
            if len(largest) < len(transfers.source):
                left_out = f"; lines: the largest {MOST_LINES:,} of {len(transfers.source):,} transfers"
            handles.append(drawing.transfers(tasks, transfers, np.sort(largest)))
        drawing.names(tasks, ran, colours, names)
        end = axes.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)), label="makespan")
        drawing.frame(unit, first_core)
        legend_above(figure, [*handles, end], min(len(handles) + 1, 8))
        axes.set_title(short(title, 60), loc="left", weight="bold")
        remark(axes, f"makespan {right:.6g} {unit}; {len(ran):,} tasks, {n_cores:,} cores{left_out}")
    return figure


def _largest(n_bytes: Array) -> Array:
    # Of equal ones, some from everywhere: the first so many would all be at the left. Multiples of the golden ratio are spread
    # evenly, however many of them there are.
    turn = np.arange(len(n_bytes)) * 0.6180339887498949 % 1.0
    return np.lexsort((turn, -n_bytes))[:MOST_LINES]


def _colours(group: Array, colour_by: str) -> tuple[Array, list[Any]]:
    """Red, green and blue of each task, and what the legend says of them."""
    if colour_by == "level":
        return level_colours(group, 4)
    palette = np.array([canvas.rgb(colour) for colour in TURN_COLOURS])
    handles = [canvas.Patch(facecolor=palette[0], label=f"a {colour_by}")]
    handles += [canvas.Patch(facecolor=colour, label="the next") for colour in palette[1:2]]
    return palette[group % len(palette)], handles
