"""The makespans of many techniques: a row a technique, so that dozens of long names can be read; a panel a batch policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from traces.compiled import Array
from traces.figures import canvas

if TYPE_CHECKING:
    from traces.figures.canvas import Axes, Figure

__all__ = ["makespan_rows", "ratio_rows"]

#: So many panels stand side by side.
_PER_LINE = 4

#: Up to so many columns of ratios hold their numbers.
_NUMBERED = 12

_ROW_IN, _PANEL_IN, _LETTER_IN = 0.19, 2.3, 0.065


def _panels(bls: Sequence[str], als: Sequence[str], panel_in: float) -> tuple[Figure, list[Axes]]:
    # A panel a policy, the first technique at the top of each.
    columns = min(len(bls), _PER_LINE)
    lines = -(-len(bls) // columns)
    names_in = 0.3 + _LETTER_IN * max(map(len, als))
    figure = canvas.new_figure(names_in + panel_in * columns, lines * (0.75 + _ROW_IN * len(als)) + 0.25)
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for place, axes in enumerate(panels):
        if place >= len(bls):
            axes.set_visible(False)
            continue
        axes.set_title(bls[place], weight="bold")
        axes.set_yticks(range(len(als)), labels=als)
        axes.tick_params(axis="y", length=0, labelleft=place % columns == 0)
        # Where the last line of panels is not full, those above its gap have the numbers.
        axes.tick_params(axis="x", labelbottom=place + columns >= len(bls))
        axes.set_ylim(len(als) - 0.4, -0.6)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
    return figure, panels[: len(bls)]


def makespan_rows(
    bls: Sequence[str], als: Sequence[str], makespan_ns: Array, *, unit: tuple[int, str], corner: str, title: str = ""
) -> Figure:
    """Bars: ``makespan_ns`` float64 (policies, techniques), NaN where there is none; ``unit`` is its ns and its name."""
    best = float(np.nanmin(makespan_ns)) if np.isfinite(makespan_ns).any() else np.nan
    most = float(np.nan_to_num(makespan_ns).max())
    with canvas.styled():
        figure, panels = _panels(bls, als, _PANEL_IN)
        for axes, row in zip(panels, makespan_ns, strict=True):
            colours = [canvas.PALETTE[1] if ns == best else canvas.PALETTE[0] for ns in row.tolist()]
            axes.barh(range(len(als)), np.nan_to_num(row) / unit[0], 0.78, color=colours)
            for at, ns in enumerate(row.tolist()):
                if np.isfinite(ns):
                    over = f"+{100 * (ns / best - 1):.1f} %" if ns > best else "best"
                    axes.annotate(
                        f"{ns / unit[0]:.4g}  {over}",
                        (ns / unit[0], at),
                        xytext=(2, 0),
                        textcoords="offset points",
                        va="center_baseline",
                        fontsize=6.5,
                        weight="normal" if ns > best else "bold",
                        in_layout=False,
                    )
            axes.set_axisbelow(True)
            axes.grid(axis="x", color="#e6e6e6", linewidth=0.6)
        # From zero, since bars are compared by their length; to the right there is room for the figures.
        panels[0].set_xlim(0, 1.55 * most / unit[0] or 1.0)
        figure.supxlabel(f"makespan [{unit[1]}]", fontsize=8.5)
        figure.suptitle("    ".join(part for part in (title, corner) if part), fontsize=8, color=canvas.GREY)
    return figure


def ratio_rows(
    bls: Sequence[str], als: Sequence[str], variations: Array, ratio: Array, *, base: str, title: str = ""
) -> Figure:
    """A table of cells, the darker the larger: ``ratio`` float64 (policies, techniques, variations)."""
    names = [f"{one:g}" for one in variations.tolist()]
    known = ratio[np.isfinite(ratio)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 1.0)
    span = (high - low) or 1.0
    with canvas.styled():
        figure, panels = _panels(bls, als, max(1.2, min(0.45 * len(names), 5.4) + 0.2))
        for axes, rows in zip(panels, ratio, strict=True):
            axes.imshow(rows, cmap="Blues", vmin=low, vmax=low + 1.25 * span, aspect="auto", interpolation="nearest")
            axes.set_xticks(range(len(names)), labels=names if len(names) <= _NUMBERED else _some(names))
            axes.tick_params(axis="x", length=0, labelsize=7.5)
            axes.spines["bottom"].set_visible(False)
            for (at, column), value in np.ndenumerate(rows if len(names) <= _NUMBERED else np.empty((0, 0))):
                if np.isfinite(value):
                    dark = (value - low) / span > 0.7
                    axes.annotate(
                        f"{value:.3f}",
                        (column, at),
                        ha="center",
                        va="center_baseline",
                        fontsize=6.5,
                        color="white" if dark else canvas.INK,
                        in_layout=False,
                    )
        figure.supxlabel("variation Υ", fontsize=8.5)
        said = f"makespan at Υ / makespan at {base}: {low:.3f} (pale) to {high:.3f} (dark)"
        figure.suptitle("    ".join(part for part in (title, said) if part), fontsize=8, color=canvas.GREY)
    return figure


def _some(names: list[str]) -> list[str]:
    # Every so many, so that they can be read.
    step = -(-len(names) // _NUMBERED)
    return [name if at % step == 0 else "" for at, name in enumerate(names)]
