"""Differences of submits, starts and durations of jobs from a reference: RM-Replay's Figure 6."""

from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import counted, legend_above
from traces.figures.drawing.styles import style
from traces.tables import DataFrame

_PANELS = (("delta_submit_ns", "Δ submit"), ("delta_start_ns", "Δ start"), ("delta_duration_ns", "Δ duration"))

_LINEAR_NS = 60 * NS_PER_S  #: the axis is linear up to a minute, and logarithmic beyond it on both sides

_MARKS = ((60, "1 min"), (600, "10 min"), (3600, "1 h"), (36_000, "10 h"), (4 * 86_400, "4 d"), (40 * 86_400, "40 d"))

_LEAST_NS = 90 * NS_PER_S  #: least range of a panel


def differences_figure(differences: DataFrame, *, reference: str, title: str = "") -> canvas.Figure:
    """Draw the share of jobs whose submit, start or duration is at most x later or longer than in the ``reference``.

    ``differences`` has one row per job and side: ``side``, ``delta_submit_ns``, ``delta_start_ns``, ``delta_duration_ns``.
    Raises InputError if there is no row.
    """
    if not len(differences):
        raise InputError("nothing to draw: no job ran in both")
    sides = {str(name): rows for name, rows in differences.groupby("side", sort=False)}
    with canvas.drawing(7.2, 3.1) as figure:
        panels = figure.subplots(1, len(_PANELS), sharey=True, squeeze=False)[0]
        for axes, (column, words) in zip(panels, _PANELS, strict=True):
            for k, (name, rows) in enumerate(sides.items()):
                label = f"{canvas.short(name, 30)} ({counted(len(rows), 'job')})"
                _curve(axes, rows[column].to_numpy(np.int64), k, label)
            _axis(axes, float(differences[column].abs().max()))
            axes.set_xlabel(words)
            axes.grid()
        panels[0].set(ylim=(-0.02, 1.02), ylabel="share of jobs")
        legend_above(figure, panels[0].get_legend_handles_labels()[0], min(len(sides), 3), handle=3.2, title=title)
        text = f"later or longer than in {reference} is to the right; axes are logarithmic beyond 1 min"
        figure.supxlabel(text, fontsize=7, color=canvas.GREY)
    return figure


def _curve(axes: canvas.Axes, values: Array, place: int, label: str) -> None:
    look = style(place)
    values = np.sort(values).astype(np.float64)
    share = np.arange(1, len(values) + 1) / len(values)
    edge = 2.0 * max(abs(values[0]), abs(values[-1]), _LEAST_NS)
    x, y = np.concatenate([[-edge, values[0]], values, [edge]]), np.concatenate([[0.0, 0.0], share, [1.0]])
    line: Any = {"color": look.colour, "linestyle": look.dash, "linewidth": 1.4, "label": label, "zorder": 3}
    axes.step(x, y, where="post", **line)


def _axis(axes: canvas.Axes, most_ns: float) -> None:
    most_ns = max(1.25 * most_ns, _LEAST_NS)
    axes.set_xscale("symlog", linthresh=_LINEAR_NS, linscale=0.7)
    axes.minorticks_off()
    kept = [(seconds * NS_PER_S, name) for seconds, name in _MARKS if seconds * NS_PER_S <= most_ns]
    kept = kept[-2:] if len(kept) < 3 else kept[-1::-2]
    marks = [*((-ns, f"−{name}") for ns, name in kept), (0, "0"), *kept]
    axes.set_xticks([ns for ns, _ in marks], labels=[name for _, name in marks], fontsize=7, rotation=30)
    axes.set_xlim(-most_ns, most_ns)
