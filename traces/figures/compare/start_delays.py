"""Delay of each job's start in one run relative to another, against its start."""

from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.base.time import NS_PER_S, format_ns
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import small
from traces.tables import DataFrame

_HOUR_NS = 3600 * NS_PER_S

_MOST_MARKS = 2000  #: more marks than this are one image within an SVG

#: Later, earlier, same: label, marker, colour, whether it is filled.
_KINDS = (
    ("later in B", "^", "#1f3b5c", True),
    ("earlier in B", "v", "#EE7733", False),
    ("same start", ".", "#8a8a8a", True),
)


def start_delays_figure(frame: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the start in B minus the start in A of every job, at its start in A. ``frame``: ``job_id``, ``start_a_ns`` and
    ``start_delta_ns``, as made by ``bridge.compare.comparison``. Raises InputError if there are no rows."""
    if not len(frame):
        raise InputError("nothing to draw: no job started in both runs")
    at, delta = (frame[name].to_numpy(np.int64) for name in ("start_a_ns", "start_delta_ns"))
    job = frame["job_id"].to_numpy()
    with canvas.drawing(7.2, 3.4, title) as figure:
        axes = figure.subplots()
        axes.axhline(0, color=canvas.GREY, linewidth=0.8, zorder=1)
        for which, (label, marker, colour, filled) in zip((delta > 0, delta < 0, delta == 0), _KINDS, strict=True):
            look: Any = {"marker": marker, "markeredgecolor": colour, "markerfacecolor": colour if filled else "white"}
            look |= {"linestyle": "none", "markersize": 3.6, "markeredgewidth": 0.7, "zorder": 2}
            x, y, name = at[which] / _HOUR_NS, delta[which] / _HOUR_NS, f"{label}: {int(which.sum()):,}"
            axes.plot(x, y, label=name, rasterized=len(frame) > _MOST_MARKS, **look)
        axes.margins(y=0.13)
        low, high = axes.get_xlim()
        for extreme, above in ((int(np.argmax(delta)), True), (int(np.argmin(delta)), False)):
            if not (delta[extreme] > 0 if above else delta[extreme] < 0):
                continue
            at_h, delta_h = float(at[extreme] / _HOUR_NS), float(delta[extreme] / _HOUR_NS)
            text = f"job {job[extreme]}: {'+' if above else '−'}{format_ns(abs(int(delta[extreme])))}"
            side = "right" if at_h > low + 0.8 * (high - low) else "left"
            look = {"ha": side, "va": "bottom" if above else "top", "fontsize": 7.5, "textcoords": "offset points"}
            axes.annotate(text, (at_h, delta_h), (0, 5 if above else -5), **look)
        axes.set(xlabel="start in A [h]", ylabel="start in B − start in A [h]")
        axes.grid(axis="y")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=3)
        axes.text(0, 1.01, "two single runs", transform=axes.transAxes, va="bottom", **small())
    return figure
