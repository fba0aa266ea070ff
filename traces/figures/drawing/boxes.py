"""Distributions as lying boxes, one a row: what the figures of studies have in common.

A box goes from the first to the third quartile, its line is the median, its whiskers end at the 5th and the 95th
percentile, and a diamond is the mean. Values beyond the whiskers are not drawn: there are thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Axes

#: What a reader must be told.
LEGEND = "box: quartiles and median; whiskers: 5 % to 95 %; diamond: mean"


@dataclass(frozen=True)
class Box:
    """A distribution: percentiles 5, 25, 50, 75 and 95, and the mean."""

    low: float
    first: float
    median: float
    third: float
    high: float
    mean: float

    @classmethod
    def of(cls, values: Sequence[float] | Array) -> Box:
        """The box of some values. Raises InputError if there are none, or one is no number."""
        column = np.asarray(values, np.float64)
        if column.size == 0 or not np.isfinite(column).all():
            raise InputError("no box can be drawn of no values, or of values that are no numbers")
        low, first, median, third, high = np.quantile(column, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
        return cls(low, first, median, third, high, float(column.mean()))


def draw_boxes(axes: Axes, boxes: Sequence[Box | None], colours: Sequence[str]) -> None:
    """Draw a box in each row, the first one at the top; nothing where there is none."""
    for row, (box, colour) in enumerate(zip(boxes, colours, strict=True)):
        if box is None:
            continue
        axes.hlines(row, box.low, box.high, color=canvas.INK, linewidth=0.8, zorder=2)
        axes.vlines((box.low, box.high), row - 0.17, row + 0.17, color=canvas.INK, linewidth=0.8, zorder=2)
        look: dict[str, Any] = {"color": colour, "edgecolor": canvas.INK, "linewidth": 0.8, "zorder": 3}
        axes.barh(row, box.third - box.first, 0.6, left=box.first, **look)
        axes.vlines(box.median, row - 0.3, row + 0.3, color=canvas.INK, linewidth=2.0, zorder=4)
        mark: dict[str, Any] = {"marker": "D", "markersize": 4.2, "color": "white", "markeredgecolor": canvas.INK}
        axes.plot(box.mean, row, zorder=5, clip_on=False, **mark)
