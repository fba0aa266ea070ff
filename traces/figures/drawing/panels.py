"""What the panels of a page have in common."""

from __future__ import annotations

from typing import Any, Literal

from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Axes

__all__ = ["empty", "quiet", "short", "small"]


def quiet(axes: Axes, grid: Literal["both", "x", "y"]) -> None:
    """Axes without a frame above and at the right, with a pale grid behind what is drawn."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color="#e6e6e6", linewidth=0.6)


def empty(axes: Axes, text: str) -> None:
    """A panel that has nothing to draw, and says why."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=canvas.GREY)


def small() -> dict[str, Any]:
    """The look of small remarks."""
    return {"color": canvas.GREY, "fontsize": 7}


def short(text: str, most: int) -> str:
    """A text of at most so many characters, none of which starts a formula."""
    text = text.replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"
