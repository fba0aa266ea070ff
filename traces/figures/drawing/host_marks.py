"""The vertical axis of a figure whose rows are cores: numbers of cores, borders and names of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from traces.compiled import Array

if TYPE_CHECKING:
    from traces.figures.drawing.canvas import Axes

__all__ = ["mark_hosts"]

_MOST_TICKS = 32


def mark_hosts(axes: Axes, rows: Array, first_core: Array, host_names: Sequence[str]) -> None:
    """Lines between hosts, their names beside them, and numbers of some cores."""
    from traces.figures.drawing.canvas import GREY, INK

    host = np.searchsorted(first_core, rows, side="right") - 1
    edges = np.flatnonzero(np.diff(host)) + 1
    bounds = np.concatenate([[0], edges, [len(rows)]])
    if len(edges) <= 64:
        axes.hlines(edges, 0, 1, transform=axes.get_yaxis_transform(), colors=INK, linewidths=0.7)
    gaps = np.flatnonzero((np.diff(rows) > 1) & (np.diff(host) == 0)) + 1
    axes.hlines(gaps, 0, 1, transform=axes.get_yaxis_transform(), colors=GREY, linewidths=0.5, linestyles="dotted")

    step = 1
    while len(rows) > 26 * step:
        step *= 2
    ticks = np.flatnonzero((rows - first_core[host]) % step == 0)
    ticks = ticks[:: -(-len(ticks) // _MOST_TICKS)]  # there may be more hosts than numbers have room
    axes.set_yticks(ticks + 0.5, labels=[str(number) for number in rows[ticks].tolist()], fontsize=7)
    axes.tick_params(axis="y", length=2)
    axes.set_ylabel("core")
    every = -(-(len(bounds) - 1) // 32)
    for k in range(0, len(bounds) - 1, every):
        axes.text(
            1.008,
            (bounds[k] + bounds[k + 1]) / 2,
            host_names[int(host[bounds[k]])],
            transform=axes.get_yaxis_transform(),
            rotation=0 if len(bounds) > 9 else -90,
            va="center",
            ha="left",
            fontsize=8,
            color=INK,
        )
