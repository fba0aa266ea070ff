"""What panels have in common: grids of them, frames, rows with names, titles, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from traces.compiled import Array
from traces.figures.drawing.canvas import GREY, INK, Axes, Figure
from traces.figures.drawing.styles import UPSILON


def panel_grid(figure: Figure, n: int, columns: int, *, sharex: bool = True) -> list[Axes]:
    """``n`` panels with one vertical axis, ``columns`` side by side; the lowest of each column have numbers below."""
    grid = list(figure.subplots(-(-n // columns), columns, sharex=sharex, sharey=True, squeeze=False).flat)
    for axes in grid[n:]:
        axes.set_visible(False)
    for axes in grid[max(0, n - columns) : n]:
        axes.tick_params(labelbottom=True)
    return grid[:n]


def title_figure(figure: Figure, title: str, most: int = 200) -> None:
    """The title of a figure, if it has one, at the left, of at most so many characters."""
    if title:
        figure.suptitle(short(title, most), x=0.01, ha="left")


def legend_above(figure: Figure, handles: Sequence[Any], columns: int, *, handle: float = 1.4, title: str = "") -> None:
    """A legend above the panels, and maybe a title above it; ``handle`` is the length of a sample in letters."""
    figure.legend(
        handles=list(handles),
        loc="outside upper center",
        ncols=columns,
        handlelength=handle,
        handleheight=1.1,
        columnspacing=1.4,
        title=title or None,
        title_fontproperties={"size": 9.5, "weight": "bold"},
    )


def remark(axes: Axes, text: str) -> None:
    """What is said of a panel at its upper right."""
    axes.set_title(text, loc="right", color=GREY, fontsize=7.5)


def quiet(axes: Axes, grid: Literal["both", "x", "y"]) -> None:
    """A pale grid behind what is drawn."""
    axes.grid(axis=grid)


def name_rows(axes: Axes, names: Sequence[str], *, labelled: bool = True) -> None:
    """Rows with names, the first one at the top; ``labelled`` in the panel at the left, whose names the others share."""
    axes.set_yticks(range(len(names)), labels=list(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelleft=labelled)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def draw_intervals(
    axes: Axes, at: Array, estimates: Sequence[Array], *, lying: bool = False, colour: str = INK
) -> None:
    """A whisker from low to high at each place whose interval is known, of ``estimates`` mean, low and high."""
    mean, low, high = estimates
    known = np.isfinite(low)
    ends = np.stack([mean - low, high - mean])[:, known]
    x, y, ends_of = (mean, at, "xerr") if lying else (at, mean, "yerr")
    look: dict[str, Any] = {
        "fmt": "none",
        "ecolor": colour,
        "elinewidth": 0.9,
        "capsize": 1.8,
        "zorder": 3,
        ends_of: ends,
    }
    axes.errorbar(x[known], y[known], **look)


def empty(axes: Axes, text: str) -> None:
    """A panel that has nothing to draw, and says why."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)


def small() -> dict[str, Any]:
    """The look of small remarks."""
    return {"color": GREY, "fontsize": 7}


def short(text: str, most: int) -> str:
    """A text of at most so many characters, none of which starts a formula, and with upsilons that are told from Y."""
    text = text.replace("$", r"\$").replace("Υ", UPSILON)
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(n: int, what: str) -> str:
    """``1 job``, ``1,542 jobs``."""
    return f"{n:,} {what}{'s' if n > 1 else ''}"
