"""The makespans of repeats by the rate of their clock: RM-Replay's Figure 5."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import LEGEND, Box, counted, draw_boxes, name_rows, small
from traces.figures.drawing.styles import style
from traces.figures.drawing.time_axis import time_unit
from traces.tables import DataFrame

_POINTS = 7  #: most repeats drawn as points; more are a box


def rate_name(rate: float) -> str:
    """The name of a clock rate: ``exact``, ``100×``."""
    return f"{rate:g}×" if rate else "exact"


def replay_makespans_figure(repeats: DataFrame, *, references: Mapping[str, int], title: str = "") -> canvas.Figure:
    """Draw the makespans of repeats, one row per rate, and lines at other makespans, ``references`` (ns): of the log, of
    engines.

    ``repeats`` has one row per repeat: ``rate`` (0: exact) and ``makespan_ns``, empty if it failed. Raises InputError if no
    repeat has a makespan.
    """
    ended = repeats[repeats["makespan_ns"].notna()]
    if not len(ended):
        raise InputError("nothing to draw: no repeat has come to its end")
    rates = list(dict.fromkeys(repeats["rate"]))
    unit_ns, unit = time_unit(int(ended["makespan_ns"].max()))
    values = [ended["makespan_ns"][ended["rate"] == rate].to_numpy(np.float64) / unit_ns for rate in rates]
    with canvas.drawing(7.2, 1.5 + 0.36 * len(rates), title) as figure:
        axes = figure.add_subplot()
        for k, (name, makespan_ns) in enumerate(references.items()):
            look, label = style(k + 1), canvas.short(name, 30)
            axes.axvline(makespan_ns / unit_ns, color=look.colour, linestyle=look.dash, label=label, zorder=1)
        many = [len(one) > _POINTS for one in values]
        boxes = [Box.of(one) if box else None for one, box in zip(values, many, strict=True)]
        draw_boxes(axes, boxes, [canvas.PALETTE[4]] * len(values))
        dots: dict[str, Any] = {"marker": "o", "markersize": 4.5, "alpha": 0.7, "color": canvas.PALETTE[0]}
        for row, one in enumerate(values):
            if not many[row]:
                axes.plot(one, np.full(len(one), row), linestyle="none", zorder=3, **dots)
        name_rows(axes, [f"{rate_name(rate)} ({len(one)})" for rate, one in zip(rates, values, strict=True)])
        axes.margins(x=0.06)
        axes.set(xlabel=f"makespan [{unit}]", ylabel="clock (repeats)")
        said = "; ".join(["a point a repeat"] * (not all(many)) + [LEGEND] * any(many))
        lost = len(repeats) - len(ended)
        lost_words = f"; {counted(lost, 'repeat')} ended with an error" if lost else ""
        axes.text(0, 1.02, said + lost_words, transform=axes.transAxes, va="bottom", **small())
        if references:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=min(len(references), 4))
    return figure
