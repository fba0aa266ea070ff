"""Colours of the levels of a task graph, from dark to light."""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.compiled import Array
from traces.figures.drawing import canvas


def level_colours(level: Array, most: int) -> tuple[Array, list[Any]]:
    """Red, green and blue of each task by its level, and what the legend says of them: all levels up to ``most``, else four."""
    n = int(level.max()) + 1
    palette = np.array(canvas.shades(n))
    named = range(n) if n <= most else (0, n // 3, (2 * n) // 3, n - 1)
    return palette[level], [canvas.Patch(facecolor=palette[k], label=f"level {k}") for k in named]
