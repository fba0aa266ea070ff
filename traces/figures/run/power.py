"""Power of a machine and its limit over time."""

from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays
from traces.figures.drawing.panels import draw_steps, remark
from traces.figures.drawing.steps import Steps, in_columns
from traces.figures.drawing.time_axis import TimeAxis, time_axis
from traces.tables import DataFrame

_KW = 1e6

#: Up to this many steps each is drawn; otherwise columns of equal time with their mean and range.
_EXACT_STEPS, _COLUMNS = 50_000, 1_000

_MOST_DOMAINS = 12  #: most domains with a panel


def power_figure(
    power: DataFrame, *, until_ns: int, domains: DataFrame | None = None, title: str = ""
) -> canvas.Figure:
    """Draw the power (kW) and the limit; below, if not empty, the level, or the number of stopped hosts; and the power and
    the limit of each domain of ``domains``, a table with the columns instant_ns, domain, power_mw and limit_mw (at most 12
    domains), up to the last end ``until_ns``.

    The first patch of the first panel is the curve; the limit is a line with gaps. A curve of more than 50,000 steps is
    drawn as 1,000 columns of time, each with its mean and range.
    """
    names = ("instant_ns", "power_mw", "limit_mw", "level", "hosts_out", "hosts_stopping", "hosts_off", "hosts_booting")
    at, drawn, limit, level, *stopped = arrays(power, names, "power")
    if until_ns <= at[0]:
        raise InputError("nothing to draw: nothing took any time")
    end_ns = max(until_ns, int(at[-1]) + 1)
    axis = time_axis(int(at[0]), end_ns)
    away = np.sum(stopped, axis=0)
    parts = [] if domains is None else list(domains["domain"].unique())[:_MOST_DOMAINS]
    below = [(level, "slowing\nlevel", canvas.PALETTE[1])] if level.any() else []
    below += [(away, "hosts not\nin service", canvas.PALETTE[2])] if away.any() else []
    with canvas.drawing(8.6, 3.2 + 1.0 * len(below) + 1.5 * len(parts), title, 100) as figure:
        heights = [2.5, *([1.0] * len(below)), *([1.5] * len(parts))]
        panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        _curve(panels[0], _until(at, drawn, end_ns), limit, axis, "")
        for part, lower in zip(parts, panels[1 + len(below) :], strict=True):
            assert domains is not None
            of, mine, its = arrays(domains[domains["domain"] == part], names[:3], "power_domains")
            _curve(lower, _until(of, mine, max(until_ns, int(of[-1]) + 1)), its, axis, f"{part}: ")
        for lower, (values, label, colour) in zip(panels[1 : 1 + len(below)], below, strict=True):
            lower.grid(axis="y")
            shown, edges_ns = values, np.append(at, end_ns)
            if len(values) > _EXACT_STEPS:
                columns = in_columns(_until(at, values, end_ns), int(at[0]), end_ns, _COLUMNS)
                shown, edges_ns = columns.most, columns.edge_ns
            lower.stairs(shown, axis.at(edges_ns), fill=True, color=colour, alpha=0.7, lw=0)
            lower.locator_params(axis="y", integer=True)
            lower.set(ylabel=label, ylim=(0, 1.08 * values.max()))
        panels[-1].set(xlim=axis.limits, xlabel=axis.label)
        figure.align_ylabels(list(panels))
    return figure


def _until(at: Array, values: Array, end_ns: int) -> Steps:
    # Values from these instants on, and the end of the last one.
    return Steps(np.append(at, end_ns), np.append(values, 0))


def _curve(axes: canvas.Axes, drawn: Steps, limit: Array, axis: TimeAxis, of: str) -> None:
    # Power and limit.
    span = int(drawn.instant_ns[0]), int(drawn.instant_ns[-1])
    look: Any = {"colour": canvas.PALETTE[0], "exact": _EXACT_STEPS, "columns": _COLUMNS}
    thinned = draw_steps(axes, drawn, span, axis, unit=_KW, **look)
    words = f"{of}at most {drawn.value.max() / _KW:,.4g} kW"
    if (limit >= 0).any():
        allowed = np.where(limit >= 0, limit / _KW, np.nan)
        times = axis.at(drawn.instant_ns)
        axes.step(times, np.append(allowed, allowed[-1]), where="post", color=canvas.INK, linewidth=1.2, zorder=2.4)
        words += "; black: the limit"
    remark(axes, words + thinned)
    axes.set(ylabel="power [kW]", ylim=(0, 1.08 * max(drawn.value.max(), limit.max(initial=0)) / _KW or 1.0))
