"""Use of the machine and length of the queue over time."""

from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays
from traces.figures.drawing.panels import draw_steps, remark
from traces.figures.drawing.steps import mean, steps
from traces.figures.drawing.time_axis import time_axis
from traces.holdings import HeldGpus
from traces.records.gpus import WHOLE_GPU
from traces.tables import DataFrame

EXACT_STEPS = 1_000  #: up to this many steps each is drawn; otherwise this number of columns with their mean and range


def utilisation_figure(
    jobs: DataFrame,
    *,
    cores: int,
    releases: DataFrame | None = None,
    widths: DataFrame | None = None,
    gpus: HeldGpus | None = None,
    title: str = "",
) -> canvas.Figure:
    """Draw busy cores, waiting jobs and their requested cores over time: three panels; if ``gpus`` are given, also busy GPUs.

    Busy cores are held by jobs; each attempt waits from the instant at which it is eligible to its start. Jobs that never
    started are omitted, since the table does not say when they left the queue. Means: first submit to last end. ``cores``
    is the number of cores of the machine. Raises InputError if more cores were held than there are.

    The first patch of each panel is the curve. A curve of more than :data:`EXACT_STEPS` steps is drawn as means in this
    number of equal columns, with a band from the smallest to the largest value of each.
    """
    names = ("submit_ns", "eligible_ns", "start_ns", "end_ns", "cores", "held_cores")
    columns = arrays(jobs, names, "jobs")
    started = columns[2] >= 0
    if not started.any():
        raise InputError("nothing to draw: no job started")
    submit, eligible, start, end, asked, held = (column[started] for column in columns)
    begin, until, weight = start, end, held
    if releases is not None:
        row, at = arrays(releases, ("row", "released_ns"), "releases")
        begin, until = np.concatenate([start, at]), np.concatenate([end, columns[3][row]])
        weight = np.concatenate([held, np.full(len(row), -1)])
    if widths is not None:
        row, at, change = arrays(widths, ("row", "command_ns", "change"), "widths")
        row, at = row[change > 0], at[change > 0]
        begin, until = np.concatenate([begin, at]), np.concatenate([until, columns[3][row]])
        weight = np.concatenate([weight, np.ones(len(row), np.int64)])
    busy = steps(begin, until, weight)
    if len(busy.value) and busy.value.max() > cores:
        raise InputError(f"the machine has {cores} cores, and jobs held {int(busy.value.max())} of them at once")
    first, last = int(submit.min()), int(end.max())
    axis = time_axis(first, last)
    one = np.ones(len(start), np.int64)
    curves = [(busy, float(cores), f"busy cores\n[fraction of {cores:,}]", canvas.PALETTE[0])]
    if gpus is not None:
        used, n = steps(gpus.start_ns, gpus.end_ns, gpus.milli), int(gpus.first[-1])
        curves.append((used, float(WHOLE_GPU * n), f"busy GPUs\n[fraction of {n:,}]", canvas.PALETTE[3]))
    machine = len(curves)
    curves += [
        (steps(eligible, start, one), 1.0, "waiting jobs", canvas.PALETTE[1]),
        (steps(eligible, start, asked), 1.0, "requested cores\n(waiting jobs)", canvas.PALETTE[2]),
    ]
    with canvas.drawing(8.6, 3.3 + 1.3 * machine, title, 100) as figure:
        panels = figure.subplots(len(curves), 1, sharex=True, height_ratios=[1.25] * machine + [1.0, 1.0])
        for axes, (curve, whole, label, colour) in zip(panels, curves, strict=True):
            look: Any = {"colour": colour, "exact": EXACT_STEPS, "columns": EXACT_STEPS}
            thinned = draw_steps(axes, curve, (first, last), axis, unit=whole, **look)
            middle = mean(curve, first, last) / whole
            axes.axhline(middle, color=canvas.INK, linewidth=0.8, linestyle=(0, (5, 3)))
            said = f"mean {f'{middle:,.0f}' if middle >= 1000 else f'{middle:.3g}'} (dashed)"
            axes.set_ylabel(label)
            if whole == 1.0:
                said += f", at most {int(curve.value.max(initial=0)):,}"
                axes.locator_params(axis="y", integer=True)
                axes.yaxis.set_major_formatter("{x:,.0f}")
            remark(axes, said + thinned)
        for axes in panels[:machine]:
            axes.set_ylim(0, 1.05)
        panels[-1].set(xlim=axis.limits, xlabel=axis.label)
        figure.align_ylabels(panels)
    return figure
