"""How dispatchers compare: what they do to jobs and to the queue, and what deciding costs.

These are the AccaSim paper's Figures 10 to 13 (doi:10.1007/s10586-019-02905-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.boxes import LEGEND, Box, draw_boxes
from traces.figures.drawing.canvas import PALETTE, Axes, Figure
from traces.figures.drawing.panels import name_rows, title_figure
from traces.figures.drawing.styles import style

__all__ = ["by_queue_size", "dispatchers_figure", "scaling_figure", "step_times_figure"]

#: A dispatcher: its scheduler and its allocator.
Name = tuple[str, str]

_LINES = ("solid", "dashed", "dotted", "dashdot")


def dispatchers_figure(
    names: Sequence[Name], slowdown: Sequence[Array], queue: Sequence[Array], *, title: str = ""
) -> Figure:
    """Draw the distributions of slowdown and of queue size by dispatcher.

    Parameters
    ----------
    names : sequence of (str, str), length d
        Scheduler and allocator; those of one scheduler have one colour.
    slowdown : sequence of float arrays, length d
        Slowdown of every job, 1 or more.
    queue : sequence of int arrays, length d
        Jobs that wait at every simulation step.
    title : str
        Above the panels.

    Raises
    ------
    InputError
        If a dispatcher has no values.
    """
    boxes = [[Box.of(values) for values in columns] for columns in (slowdown, queue)]
    colours = _colours(names)
    with canvas.styled():
        figure = canvas.new_figure(7.6, 0.36 * len(names) + 1.5)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, rows, label in zip(panels, boxes, ("slowdown of a job", "jobs in the queue at a step"), strict=True):
            draw_boxes(axes, rows, colours)
            axes.set_xlabel(label)
        panels[0].set_xscale("log")
        panels[0].set_xlim(left=0.85)  # so that a median of 1 is seen
        # Often nobody waits, which has no logarithm.
        panels[1].set_xscale("symlog", linthresh=1.0)
        panels[1].set_xlim(left=0)
        for axes in panels:
            name_rows(axes, ["-".join(name) for name in names], labelled=axes is panels[0])
        figure.supxlabel(LEGEND, fontsize=7.5, color=canvas.GREY)
        title_figure(figure, title)
    return figure


def step_times_figure(
    names: Sequence[Name], deciding_ns: Sequence[float], rest_ns: Sequence[float], *, title: str = ""
) -> Figure:
    """Draw what a simulation step costs by dispatcher: deciding, and the rest.

    Parameters
    ----------
    names : sequence of (str, str), length d
        Scheduler and allocator.
    deciding_ns, rest_ns : sequence of float, length d
        Mean time of a step in ns.
    title
        As of :func:`dispatchers_figure`.
    """
    rows = range(len(names))
    deciding, rest = (np.asarray(column, np.float64) / 1e3 for column in (deciding_ns, rest_ns))
    with canvas.styled():
        figure = canvas.new_figure(5.6, 0.3 * len(names) + 1.2)
        axes = figure.add_subplot()
        edge: dict[str, Any] = {"edgecolor": canvas.INK, "linewidth": 0.6}
        axes.barh(rows, rest, 0.62, color="#d0d0d0", label="the rest", **edge)
        bars = axes.barh(rows, deciding, 0.62, left=rest, color=canvas.PALETTE[0], label="deciding", **edge)
        texts = [f"{a:.2f} + {b:.2f}" for a, b in zip(rest.tolist(), deciding.tolist(), strict=True)]
        axes.bar_label(bars, texts, padding=4, fontsize=7)
        name_rows(axes, ["-".join(name) for name in names])
        axes.set_xlim(0, 1.2 * float((deciding + rest).max()))
        axes.set_xlabel("mean time of a simulation step [µs]")
        figure.legend(loc="outside upper right", ncols=2, handlelength=1.1, handleheight=1.1)
        title_figure(figure, title)
    return figure


def by_queue_size(queue: Array, decide_ns: Array, least: int = 10) -> tuple[Array, Array]:
    """Mean queue size and mean time to decide, by classes of queue size.

    A class a size up to 10, then classes that are a quarter wider each; those of less than ``least`` decisions are
    left out.

    Returns
    -------
    size, mean_ns : float64 (k,)
    """
    edges = [*range(11)]
    while edges[-1] <= int(queue.max(initial=0)):
        edges.append(int(edges[-1] * 1.25) + 1)
    place = np.searchsorted(np.array(edges), queue, side="right")
    count = np.bincount(place)
    full = count >= least
    sums = (np.bincount(place, column) for column in (queue, decide_ns))
    size, mean_ns = (total[full] / count[full] for total in sums)
    return size, mean_ns


def scaling_figure(
    names: Sequence[Name], queue: Sequence[Array], decide_ns: Sequence[Array], *, title: str = ""
) -> Figure:
    """Draw the mean time to decide against the size of the queue, a line a dispatcher (:func:`by_queue_size`).

    Parameters
    ----------
    names : sequence of (str, str), length d
        Scheduler and allocator; those of one scheduler have one colour, those of one allocator one kind of line.
    queue, decide_ns : sequence of int arrays, length d
        Of every decision: jobs that wait, and wall time in ns.
    title
        As of :func:`dispatchers_figure`.
    """
    if not names:
        raise InputError("no dispatcher to draw")
    colours = _colours(names)
    allocators = list(dict.fromkeys(allocator for _, allocator in names))
    schedulers = list(dict.fromkeys(scheduler for scheduler, _ in names))
    with canvas.styled():
        figure = canvas.new_figure(6.4, 3.6)
        axes: Axes = figure.add_subplot()
        for name, colour, sizes, times in zip(names, colours, queue, decide_ns, strict=True):
            size, mean_ns = by_queue_size(sizes, times)
            axes.plot(
                size,
                mean_ns / 1e3,
                color=colour,
                linewidth=1.2,
                linestyle=_LINES[allocators.index(name[1]) % len(_LINES)],
                marker=style(schedulers.index(name[0])).marker,
                markersize=3.4,
                markerfacecolor=colour if name[1] == allocators[0] else "white",
                label="-".join(name),
            )
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_yscale("log")
        axes.set_xlim(left=0)
        axes.set_xlabel("jobs in the queue")
        axes.set_ylabel("mean time to decide [µs]")
        axes.grid()
        axes.legend(ncols=len(schedulers), fontsize=7.5, loc="upper left", handlelength=3.2)
        axes.set_ylim(top=axes.get_ylim()[1] * 2.5)
        axes.set_title(title, loc="left", weight="bold")
    return figure


def _colours(names: Sequence[Name]) -> list[str]:
    # Light ones, by scheduler.
    schedulers = list(dict.fromkeys(scheduler for scheduler, _ in names))
    return [PALETTE[schedulers.index(scheduler) % len(PALETTE)] for scheduler, _ in names]
