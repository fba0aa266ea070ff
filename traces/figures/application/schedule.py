"""The schedule of a task graph: tasks on cores over time, waits for data, and transfers between cores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.application.task_graph import level_colours
from traces.figures.drawing import bars, canvas
from traces.figures.drawing.bars import draw_bars, mark_cores, rectangles
from traces.figures.drawing.panels import legend_above, remark, title_panel
from traces.figures.drawing.time_axis import time_unit
from traces.waits import graph_waits

NAMED_TASKS = 120  #: most tasks whose names are on their bars

#: Colours of the outline of critical tasks, and of the lines of transfers.
CRITICAL_COLOUR, LINE_COLOUR = "#D4006A", "#222222"

# Distance of the ends of transfers from the middle of a row, which has names.
_ASIDE = 0.3


class ScheduleTasks(NamedTuple):
    """The tasks of a graph, one per row; instants are ns since a common instant."""

    core: Array  # int (n,), core that ran it, from 0; -1: it never ran
    # start_ns, end_ns: int64 (n,), when it ran
    start_ns: Array
    end_ns: Array
    group: Array  # int (n,), the number that determines its colour: its level, or its chunk, from 0


class ScheduleTransfers(NamedTuple):
    """Completed transfers, one per row; no rows without a network."""

    # source, target: int (m,), numbers of the producer and the consumer of the data
    source: Array
    target: Array
    bytes: Array  # float64 (m,), size of the transfer
    # int64 (m,): begin and end of the transfer
    sent_ns: Array
    arrived_ns: Array


class ScheduleAxes:
    """Draws on the axes of one schedule."""

    def __init__(self, axes: canvas.Axes, unit_ns: int, right: float, n_cores: int, width_px: float) -> None:
        self._axes, self._right, self._n_cores, self._width_px = axes, right, n_cores, width_px
        self._unit_ns = unit_ns
        self._margin = 0.08 if n_cores <= 32 else 0.0

    def _x(self, instant_ns: Array) -> Array:
        return np.asarray(instant_ns) / self._unit_ns

    def _rectangles(self, core: Array, begin_ns: Array, end_ns: Array, **look: Any) -> None:
        y0, y1 = core + self._margin, core + 1.0 - self._margin
        rectangles(self._axes, self._x(begin_ns), self._x(end_ns), y0, y1, **look)

    def tasks(self, tasks: ScheduleTasks, ran: Array, colours: Array) -> None:
        core, start, end = (np.asarray(column)[ran] for column in tasks[:3])
        palette, colour = np.unique(colours[ran], axis=0, return_inverse=True)
        wide = (8 if len(ran) <= 2000 else 12) * self._right / self._width_px
        columns = (core.astype(np.int64), self._x(start), self._x(end), colour.reshape(-1))
        scale: Any = {"n_rows": self._n_cores, "limits": (0.0, self._right), "margin": self._margin}
        draw_bars(self._axes, *columns, palette, **scale, wide=wide, label="tasks")

    def waits(self, core: Array, begin_ns: Array, end_ns: Array) -> Any:
        if len(core) > bars.SINGLE_BARS:  # more bars than can be distinguished: only the longest are drawn
            longest = np.argsort(begin_ns - end_ns, kind="stable")[: bars.SINGLE_BARS]
            core, begin_ns, end_ns = core[longest], begin_ns[longest], end_ns[longest]
        few = len(core) <= 300  # hatching takes long
        look: dict[str, Any] = {"facecolor": "#F4F4F4" if few else "#D9D9D9", "linewidth": 0.0}
        if few:
            look |= {"hatch": "/////", "edgecolor": "#8F8F8F"}
        self._rectangles(core, begin_ns, end_ns, label="waits", **look)
        return canvas.Patch(label="waits for data", **look)

    def critical(self, tasks: ScheduleTasks, critical: Array) -> Any:
        core, start, end = (np.asarray(column)[critical] for column in tasks[:3])
        ran = core >= 0
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": CRITICAL_COLOUR, "linewidth": 1.4}
        self._rectangles(core[ran], start[ran], end[ran], label="critical", zorder=3.2, **look)
        return canvas.Patch(label="critical path", **look)

    def transfers(self, tasks: ScheduleTasks, transfers: ScheduleTransfers, rows: Array) -> Any:
        core = np.asarray(tasks.core)
        source, target = (np.asarray(column, np.int64)[rows] for column in transfers[:2])
        x0, x1 = self._x(np.asarray(transfers.sent_ns)[rows]), self._x(np.asarray(transfers.arrived_ns)[rows])
        aside = np.where(core[target] > core[source], _ASIDE, -_ASIDE)
        y0, y1 = core[source] + 0.5 + aside, core[target] + 0.5 - aside
        lines = np.stack([x0, y0, x1, y1], axis=1).reshape(-1, 2, 2)
        few = len(rows) <= 60
        look: dict[str, Any] = {"linewidths": 0.7 if few else 0.45, "alpha": 0.85 if few else 0.6}
        drawn = canvas.LineCollection(list(lines), colors=LINE_COLOUR, zorder=3.1, label="transfers", **look)
        self._axes.add_collection(drawn, autolim=False)
        if few:  # a dot marks its arrival
            self._axes.plot(x1, y1, "o", color=LINE_COLOUR, markersize=1.8, zorder=3.1)
        (handle,) = self._axes.plot([], [], color=LINE_COLOUR, linewidth=0.9, label="transfer")
        return handle

    def names(self, tasks: ScheduleTasks, ran: Array, colours: Array, names: Sequence[str]) -> None:
        """Write names of tasks on their bars, if they fit."""
        if len(ran) > NAMED_TASKS or self._n_cores > 32:
            return
        core, start, end = (np.asarray(column)[ran] for column in tasks[:3])
        room = (self._x(end) - self._x(start)) / self._right * self._width_px
        middle = (self._x(start) + self._x(end)) / 2
        for k, task in enumerate(ran.tolist()):
            name, fit = names[task] if names else str(task), int((room[k] - 8) / 11)
            if fit < min(len(name), 5):
                continue
            dark = colours[task] @ (0.299, 0.587, 0.114) < 0.55
            look: Any = {"ha": "center", "va": "center_baseline", "fontsize": 6.5, "zorder": 3.3, "clip_on": True}
            look["color"] = "white" if dark else "#222222"
            self._axes.text(middle[k], core[k] + 0.5, canvas.short(name, fit), **look)

    def frame(self, unit: str, first_core: Sequence[int]) -> None:
        self._axes.set(xlim=(0, 1.008 * self._right), xlabel=f"time since the start of the graph [{unit}]")
        mark_cores(self._axes, self._n_cores, first_core, self._right)


MOST_LINES = 300  #: most transfers that are drawn: the largest

#: Alternating colours of chunks, which also differ in grey.
TURN_COLOURS = ("#4477AA", "#A9C3DE", "#228833", "#A6D1AE")

_WIDTH_IN = 10.0


def schedule_figure(
    tasks: ScheduleTasks,
    transfers: ScheduleTransfers | None,
    *,
    n_cores: int,
    first_core: Sequence[int] = (),
    end_ns: int | None = None,
    title: str = "",
    colour_by: str = "level",
    critical: Array | None = None,
    names: Sequence[str] = (),
) -> canvas.Figure:
    """Draw a graph's schedule: cores as rows, tasks as bars, waits for data hatched, and a thin line from the begin to the
    end of each transfer.

    The collections of its axes have labels: ``tasks`` (in the given order, without tasks that never ran), ``waits``,
    ``critical``, ``transfers``. With too many tasks, the first image shows them.

    - ``transfers``: None without a network.
    - ``n_cores``: P; cores without a task also have rows.
    - ``first_core``: first core of each host, and ``n_cores``; lines separate hosts.
    - ``end_ns``: the graph's end, which is marked; default: the last task's end.
    - ``colour_by``: the meaning of ``tasks.group``. Levels are coloured from dark to light; chunks have a few colours in turn.
    - ``critical``: int (k,), tasks of the critical path, which get an outline.
    - ``names``: names of the tasks, shown on bars that are wide enough if there are few tasks; empty: their numbers.

    Raises InputError if no task ran.
    """
    ran = np.flatnonzero(np.asarray(tasks.core) >= 0)
    if len(ran) == 0:
        raise InputError("nothing to draw: no task ran")
    stop_ns = int(np.max(np.asarray(tasks.end_ns)[ran])) if end_ns is None else end_ns
    unit_ns, unit = time_unit(max(stop_ns, 1))
    right = max(stop_ns, 1) / unit_ns
    if transfers is None:
        transfers = ScheduleTransfers(*[np.zeros(0, np.int64)] * 5)
    cores_in = min(max(0.16 * n_cores, 1.4), 6.0)
    with canvas.drawing(_WIDTH_IN, cores_in + 1.3) as figure:
        axes = figure.add_subplot()
        drawing = ScheduleAxes(axes, unit_ns, right, n_cores, (_WIDTH_IN - 1.0) * canvas.DPI)
        colours, handles = _colours(np.asarray(tasks.group), colour_by)
        drawing.tasks(tasks, ran, colours)
        task, since = graph_waits(*tasks[:3], transfers.target, transfers.sent_ns, transfers.arrived_ns)
        if len(task):
            handles.append(drawing.waits(np.asarray(tasks.core)[task], since, np.asarray(tasks.start_ns)[task]))
        if critical is not None and len(critical):
            handles.append(drawing.critical(tasks, np.asarray(critical, np.int64)))
        left_out = ""
        if len(transfers.source):
            # Equal transfers are chosen evenly along the time axis: multiples of the golden ratio are spread evenly for any n.
            turn = np.arange(len(transfers.source)) * 0.6180339887498949 % 1.0
            largest = np.lexsort((turn, -np.asarray(transfers.bytes, float)))[:MOST_LINES]
            if len(largest) < len(transfers.source):
                left_out = f"; lines: the largest {MOST_LINES:,} of {len(transfers.source):,} transfers"
            handles.append(drawing.transfers(tasks, transfers, np.sort(largest)))
        drawing.names(tasks, ran, colours, names)
        end = axes.axvline(right, color=canvas.PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)), label="makespan")
        drawing.frame(unit, first_core)
        legend_above(figure, [*handles, end], min(len(handles) + 1, 8))
        title_panel(axes, title, 60)
        remark(axes, f"makespan {right:.6g} {unit}; {len(ran):,} tasks, {n_cores:,} cores{left_out}")
    return figure


def _colours(group: Array, colour_by: str) -> tuple[Array, list[Any]]:
    if colour_by == "level":
        return level_colours(group, 4)
    palette = np.array([canvas.rgb(colour) for colour in TURN_COLOURS])
    handles = [canvas.Patch(facecolor=palette[0], label=f"a {colour_by}")]
    handles += [canvas.Patch(facecolor=colour, label="next chunk") for colour in palette[1:2]]
    return palette[group % len(palette)], handles
