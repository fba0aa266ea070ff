"""What a machine draws over the time of a run, and what it may draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure
from traces.figures.drawing.frames import arrays
from traces.figures.drawing.panels import quiet, remark, title_figure
from traces.figures.drawing.time_axis import time_axis

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["power_figure"]

_SHADE = 0.3
_KW = 1e6


def power_figure(power: pd.DataFrame, *, until_ns: int, title: str = "") -> Figure:
    """What is drawn, in kW, and above it the limit; below, where there is any, the level, or how many hosts are stopped.

    The first patch of the first panel is the curve, whose data are its values and edges; the limit is a line with gaps where
    there is none.

    Parameters
    ----------
    power : DataFrame
        power.parquet.
    until_ns : int
        The last end.
    title : str
        Shown above.

    Raises
    ------
    InputError
        If a column is missing, or nothing took any time.
    """
    names = ("instant_ns", "power_mw", "limit_mw", "level", "hosts_out", "hosts_stopping", "hosts_off", "hosts_booting")
    at, drawn, limit, level, *stopped = arrays(power, names, "power")
    if until_ns <= at[0]:
        raise InputError("nothing to draw: nothing took any time")
    edges = np.append(at, max(until_ns, int(at[-1]) + 1))
    axis = time_axis(int(at[0]), int(edges[-1]))
    away = np.sum(stopped, axis=0)
    below = [(level, "level", canvas.PALETTE[1])] if level.any() else []
    below += [(away, "hosts not\nin service", canvas.PALETTE[2])] if away.any() else []
    with canvas.styled():
        figure = canvas.new_figure(8.6, 3.2 + 1.0 * len(below))
        panels = figure.subplots(
            1 + len(below), 1, sharex=True, height_ratios=[2.5, *([1.0] * len(below))], squeeze=False
        )
        axes = panels[0, 0]
        quiet(axes, "y")
        times = axis.at(edges)
        axes.stairs(drawn / _KW, times, color=canvas.PALETTE[0], linewidth=1.0, zorder=2.2)
        axes.stairs(drawn / _KW, times, fill=True, color=canvas.PALETTE[0], alpha=_SHADE, lw=0)
        words = f"at most {drawn.max() / _KW:,.4g} kW"
        if (limit >= 0).any():
            allowed = np.where(limit >= 0, limit / _KW, np.nan)
            axes.step(times, np.append(allowed, allowed[-1]), where="post", color=canvas.INK, linewidth=1.2, zorder=2.4)
            words += "; black: the limit"
        remark(axes, words)
        axes.set_ylabel("power [kW]")
        axes.set_ylim(0, 1.08 * max(drawn.max(), limit.max(initial=0)) / _KW or 1.0)
        for lower, (values, label, colour) in zip(panels[1:, 0], below, strict=True):
            quiet(lower, "y")
            lower.stairs(values, times, fill=True, color=colour, alpha=0.7, lw=0)
            lower.set_ylabel(label)
            lower.locator_params(axis="y", integer=True)
            lower.set_ylim(0, 1.08 * values.max())
        panels[-1, 0].set_xlim(*axis.limits)
        panels[-1, 0].set_xlabel(axis.label)
        figure.align_ylabels(list(panels[:, 0]))
        title_figure(figure, title, 100)
    return figure
