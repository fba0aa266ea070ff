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
    from matplotlib.axes import Axes

    from traces.compiled import Array

__all__ = ["power_figure"]

_SHADE = 0.3
_KW = 1e6

#: So many parts of a machine have a panel.
_MOST_PARTS = 12


def power_figure(power: pd.DataFrame, *, until_ns: int, domains: pd.DataFrame | None = None, title: str = "") -> Figure:
    """What is drawn, in kW, and above it the limit; below, where there is any, the level, or how many hosts are stopped; and
    likewise of each part of the machine that has limits of its own.

    The first patch of the first panel is the curve, whose data are its values and edges; the limit is a line with gaps where
    there is none.

    Parameters
    ----------
    power : DataFrame
        power.parquet.
    domains : DataFrame, optional
        power_domains.parquet: a panel for each, in this order, at most 12 of them.
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
    parts = [] if domains is None else list(domains["domain"].unique())[:_MOST_PARTS]
    below = [(level, "level", canvas.PALETTE[1])] if level.any() else []
    below += [(away, "hosts not\nin service", canvas.PALETTE[2])] if away.any() else []
    with canvas.styled():
        figure = canvas.new_figure(8.6, 3.2 + 1.0 * len(below) + 1.5 * len(parts))
        panels = figure.subplots(
            1 + len(below) + len(parts),
            1,
            sharex=True,
            height_ratios=[2.5, *([1.0] * len(below)), *([1.5] * len(parts))],
            squeeze=False,
        )
        times = axis.at(edges)
        _curve(panels[0, 0], drawn, limit, times, "")
        for part, lower in zip(parts, panels[1 + len(below) :, 0], strict=True):
            assert domains is not None
            of, mine, its = arrays(domains[domains["domain"] == part], names[:3], "power_domains")
            _curve(lower, mine, its, axis.at(np.append(of, max(until_ns, int(of[-1]) + 1))), f"{part}: ")
        for lower, (values, label, colour) in zip(panels[1 : 1 + len(below), 0], below, strict=True):
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


def _curve(axes: Axes, drawn: Array, limit: Array, times: Array, of: str) -> None:
    # What is drawn, and the limit to it.
    quiet(axes, "y")
    axes.stairs(drawn / _KW, times, color=canvas.PALETTE[0], linewidth=1.0, zorder=2.2)
    axes.stairs(drawn / _KW, times, fill=True, color=canvas.PALETTE[0], alpha=_SHADE, lw=0)
    words = f"{of}at most {drawn.max() / _KW:,.4g} kW"
    if (limit >= 0).any():
        allowed = np.where(limit >= 0, limit / _KW, np.nan)
        axes.step(times, np.append(allowed, allowed[-1]), where="post", color=canvas.INK, linewidth=1.2, zorder=2.4)
        words += "; black: the limit"
    remark(axes, words)
    axes.set_ylabel("power [kW]")
    axes.set_ylim(0, 1.08 * max(drawn.max(), limit.max(initial=0)) / _KW or 1.0)
