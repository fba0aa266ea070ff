"""How the makespan depends on the combination of the two levels, and on how much task lengths vary.

These are the two-level paper's Figures 3 and 4 (makespans of every combination) and 7 and 8 (the ratio of the
makespan with variation Υ to the one without).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from traces.compiled import Array
from traces.errors import InputError

if TYPE_CHECKING:
    from traces.figures.canvas import Axes, Figure

__all__ = ["draw_makespan_ratios", "draw_makespans", "makespan_ratio_figure", "makespans_figure"]

_UNITS = ((86_400 * 10**9, "d"), (3600 * 10**9, "h"), (60 * 10**9, "min"), (10**9, "s"), (10**6, "ms"))
_MARKERS = "osD^vPX*"

#: Up to so many techniques are told apart by colours and a legend; more are rows.
_FEW = 8


class _Cells:
    """Mean makespan (ns) of every (batch policy, technique, variation), NaN where there is none."""

    def __init__(
        self,
        bls: Sequence[str],
        als: Sequence[str],
        variation: Sequence[float] | Array,
        makespan_ns: Sequence[int] | Array,
    ) -> None:
        if len(bls) == 0:
            raise InputError("no makespan to draw")
        self.bls = list(dict.fromkeys(bls))
        self.als = list(dict.fromkeys(als))
        self.variations = np.unique(np.asarray(variation, np.float64))
        shape = (len(self.bls), len(self.als), len(self.variations))
        total, count = np.zeros(shape), np.zeros(shape)
        columns = np.searchsorted(self.variations, np.asarray(variation, np.float64)).tolist()
        for policy, technique, k, ns in zip(bls, als, columns, makespan_ns, strict=True):
            cell = (self.bls.index(policy), self.als.index(technique), k)
            total[cell] += float(ns)
            count[cell] += 1
        self.makespan_ns = np.full(shape, np.nan)
        np.divide(total, count, out=self.makespan_ns, where=total > 0)  # where no job ran there is none, either


def makespans_figure(
    bls: Sequence[str],
    als: Sequence[str],
    variation: Sequence[float] | Array,
    makespan_ns: Sequence[int] | Array,
    *,
    title: str = "",
) -> Figure:
    """The figure that :func:`draw_makespans` writes; the parameters are the same."""
    from traces.figures import canvas

    cells = _Cells(bls, als, variation, makespan_ns)
    ns = cells.makespan_ns[:, :, 0]
    best = float(np.nanmin(ns)) if np.isfinite(ns).any() else np.nan
    unit_ns, unit = next((one for one in _UNITS if np.nan_to_num(best) >= 3 * one[0]), (1, "ns"))
    n_techniques = len(cells.als)
    smallest = f"variation {cells.variations[0]:g}"
    if n_techniques > _FEW:
        from traces.figures.makespan_rows import makespan_rows

        return makespan_rows(cells.bls, cells.als, ns, unit=(unit_ns, unit), corner=smallest, title=title)
    width = 0.82 / n_techniques
    with canvas.styled():
        width_in = max(5.0, 0.62 * ns.size + 1.2)
        columns = _legend_columns(cells.als, width_in, 0.4)
        figure = canvas.new_figure(width_in, 3.6 + 0.17 * (-(-n_techniques // columns) - 1))
        axes = figure.add_subplot()
        for j, technique in enumerate(cells.als):
            x = np.arange(len(cells.bls)) + (j - (n_techniques - 1) / 2) * width
            heights = ns[:, j] / unit_ns
            axes.bar(
                x,
                np.nan_to_num(heights),
                width * 0.92,
                color=canvas.PALETTE[j % len(canvas.PALETTE)],
                label=technique,
            )
            for at, height, exact in zip(x.tolist(), heights.tolist(), ns[:, j].tolist(), strict=True):
                if np.isfinite(height):
                    over = f"+{100 * (exact / best - 1):.1f} %" if exact > best else "best"
                    axes.annotate(
                        f"{height:.4g}\n{over}",
                        (at, height),
                        xytext=(0, 2),
                        textcoords="offset points",
                        ha="center",
                        va="bottom",
                        fontsize=6.5,
                        weight="bold" if exact == best else "normal",
                    )
        axes.set_xticks(range(len(cells.bls)), labels=cells.bls)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("batch policy")
        # Bars are compared by their length, so the axis starts at zero; the figures on them show small
        # differences.
        axes.set_ylim(0, 1.16 * float(np.nan_to_num(ns).max()) / unit_ns or 1.0)
        axes.set_ylabel(f"makespan [{unit}]")
        _quiet(axes)
        figure.legend(
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            handlelength=1.1,
            handleheight=1.1,
        )
        axes.set_title(title, loc="left", weight="bold")
        axes.set_title(smallest, loc="right", color=canvas.GREY, fontsize=7.5)
    return figure


def draw_makespans(
    bls: Sequence[str],
    als: Sequence[str],
    variation: Sequence[float] | Array,
    makespan_ns: Sequence[int] | Array,
    *,
    path: Path,
    title: str = "",
) -> Path:
    """Draw the makespan of every combination, at the smallest variation, as bars grouped by batch policy.

    The axis of makespans starts at zero; each bar says its value and how far it is above the best. More than eight
    techniques are rows, with a panel a policy.

    Parameters
    ----------
    bls, als : sequence of str, shape (n,)
        Batch policy and technique of each run; they are drawn in the order in which they first appear.
    variation : sequence of float, shape (n,)
        Variation Υ of each run (a fraction).
    makespan_ns : sequence of int, shape (n,)
        Makespan of each run (ns). Of several runs of one combination the mean is drawn.
    path : Path
        File to write: png, svg or pdf.
    title : str
        Shown above the bars.

    Raises
    ------
    InputError
        If the suffix is unknown, or there is no run.
    """
    from traces.figures.canvas import figure_format, save

    figure_format(path)
    return save(makespans_figure(bls, als, variation, makespan_ns, title=title), path)


def makespan_ratio_figure(
    bls: Sequence[str],
    als: Sequence[str],
    variation: Sequence[float] | Array,
    makespan_ns: Sequence[int] | Array,
    *,
    title: str = "",
) -> Figure:
    """The figure that :func:`draw_makespan_ratios` writes; the parameters are the same."""
    from traces.figures import canvas

    cells = _Cells(bls, als, variation, makespan_ns)
    ratio = cells.makespan_ns / cells.makespan_ns[:, :, :1]
    base = f"{cells.variations[0]:g}"
    if len(cells.als) > _FEW:
        from traces.figures.makespan_rows import ratio_rows

        return ratio_rows(cells.bls, cells.als, cells.variations, ratio, base=base, title=title)
    with canvas.styled():
        width_in = max(4.5, 2.9 * len(cells.bls) + 0.6)
        columns = _legend_columns(cells.als, width_in, 0.6)
        figure = canvas.new_figure(width_in, 3.4 + 0.17 * (-(-len(cells.als) // columns) - 1))
        panels = figure.subplots(1, len(cells.bls), sharey=True, squeeze=False)[0]
        for i, (policy, axes) in enumerate(zip(cells.bls, panels, strict=True)):
            axes.axhline(1.0, color=canvas.GREY, linewidth=0.7, linestyle="dotted")
            for j, technique in enumerate(cells.als):
                axes.plot(
                    cells.variations,
                    ratio[i, j],
                    color=canvas.PALETTE[j % len(canvas.PALETTE)],
                    marker=_MARKERS[j % len(_MARKERS)],
                    markersize=4,
                    linewidth=1.4,
                    label=technique if i == 0 else None,
                )
            axes.set_title(policy, weight="bold")
            axes.set_xlabel("variation Υ")
            axes.set_xticks(cells.variations, labels=[f"{one:g}" for one in cells.variations.tolist()])
            axes.tick_params(axis="x", labelsize=7.5)
            _quiet(axes)
        panels[0].set_ylabel(f"makespan at Υ / makespan at {base}\n(axis does not start at zero)")
        figure.legend(loc="outside lower center", ncols=columns, frameon=False)
        if title:
            figure.suptitle(title, weight="bold", fontsize=9.5)
    return figure


def draw_makespan_ratios(
    bls: Sequence[str],
    als: Sequence[str],
    variation: Sequence[float] | Array,
    makespan_ns: Sequence[int] | Array,
    *,
    path: Path,
    title: str = "",
) -> Path:
    """Draw how the makespan of every combination grows with variation: a panel a batch policy, a line a
    technique.

    Each line is relative to its own value at the smallest variation. The vertical axis does not start at
    zero, and says so. More than eight techniques are the rows of a table with shaded cells. The parameters, and what
    is raised, are :func:`draw_makespans`'s.
    """
    from traces.figures.canvas import figure_format, save

    figure_format(path)
    return save(makespan_ratio_figure(bls, als, variation, makespan_ns, title=title), path)


def _legend_columns(names: Sequence[str], width_in: float, handle_in: float) -> int:
    # As many names side by side as the figure is wide for.
    column_in = handle_in + 0.068 * max(map(len, names))
    return max(1, min(len(names), int(width_in / column_in)))


def _quiet(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
