"""Submitted jobs per hour: RM-Replay's Figure 4."""

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import remark
from traces.tables import DataFrame

_DAY_H = 24

_FEW_HOURS = 72  #: longer logs have ticks for days, shorter ones for hours


def submissions_figure(submissions: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw one bar per ``hour`` since a midnight, ascending, with its number of ``jobs``. Raises InputError if there is no
    row."""
    if not len(submissions):
        raise InputError("nothing to draw: no job was submitted")
    hour, jobs = (submissions[name].to_numpy(np.int64) for name in ("hour", "jobs"))
    with canvas.drawing(7.2, 2.7, title) as figure:
        axes = figure.add_subplot()
        axes.bar(hour + 0.5, jobs, 1.0, color=canvas.PALETTE[0], edgecolor="white", linewidth=0.4, zorder=2)
        first, last = int(hour[0]), int(hour[-1]) + 1
        if last - first > _FEW_HOURS:
            days = range(first - first % _DAY_H, last + 1, _DAY_H * max(1, (last - first) // (_DAY_H * 12)))
            axes.set_xticks(list(days), labels=[str(day // _DAY_H) for day in days])
            axes.set_xlabel("day")
        else:
            step = next(one for one in (1, 2, 3, 6) if (last - first) / one <= 14 or one == 6)
            marks = range(first - first % step, last + 1, step)
            axes.set_xticks(list(marks), labels=[f"{mark % _DAY_H}:00" for mark in marks])
            axes.set_xlabel("time of the day")
        axes.set(xlim=(first, last), ylabel="jobs submitted in an hour")
        axes.locator_params(axis="y", integer=True)
        axes.grid(axis="y")
        remark(axes, f"{int(jobs.sum()):,} jobs; most in an hour: {int(jobs.max()):,}")
    return figure
