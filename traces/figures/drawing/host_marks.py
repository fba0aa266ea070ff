"""The vertical axis of a figure whose rows are cores: numbers of cores, borders and names of hosts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.canvas import GREY, INK, Axes

_MOST_TICKS = 32

#: Up to so many hosts are parted by lines.
_MOST_HOSTS = 64


def mark_hosts(axes: Axes, rows: Array, first_core: Array, host_names: Sequence[str]) -> None:
    """Lines between hosts, their names beside them, and numbers of some cores."""
    host = np.searchsorted(first_core, rows, side="right") - 1
    edges = np.flatnonzero(np.diff(host)) + 1
    bounds = np.concatenate([[0], edges, [len(rows)]])
    if len(edges) <= _MOST_HOSTS:
        axes.hlines(edges, 0, 1, transform=axes.get_yaxis_transform(), colors=INK, linewidths=0.7)
    gaps = np.flatnonzero((np.diff(rows) > 1) & (np.diff(host) == 0)) + 1
    axes.hlines(gaps, 0, 1, transform=axes.get_yaxis_transform(), colors=GREY, linewidths=0.5, linestyles="dotted")

    ticks = np.flatnonzero((rows - first_core[host]) % _step(len(rows)) == 0)
    ticks = ticks[:: -(-len(ticks) // _MOST_TICKS)]  # there may be more hosts than numbers have room
    _number(axes, ticks, rows)
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


def mark_cores(axes: Axes, n_cores: int, first_core: Sequence[int], right: float) -> None:
    """Numbers of some of the cores from 0 to ``n_cores`` - 1, and lines between hosts from 0 to ``right``."""
    axes.set_ylim(n_cores, 0)
    _number(axes, np.arange(0, n_cores, _step(n_cores)), np.arange(n_cores))
    if len(first_core) <= _MOST_HOSTS + 1:
        axes.hlines(list(first_core)[1:-1], 0, right, colors=INK, linewidths=0.8)


def _step(n_cores: int) -> int:
    # One core in so many has its number.
    step = 1
    while n_cores > 26 * step:
        step *= 2
    return step


def _number(axes: Axes, ticks: Array, cores: Array) -> None:
    axes.set_yticks(ticks + 0.5, labels=[str(number) for number in cores[ticks].tolist()], fontsize=7)
    axes.tick_params(axis="y", length=2)
    axes.set_ylabel("core")
