"""Draw ``docs/images/lengths.png``: what the distributions of task lengths look like.

    python -m tools.length_pictures

What is drawn is what the simulator draws, of seed 1 and job 1.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from als.lengths import LengthModel, lengths
from als.lengths.draw import drawn, length_cov
from tools.plain_tool import only
from traces.figures.drawing.canvas import GREY, INK, PALETTE, Figure, new_figure, save, styled

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "lengths.png"

#: Drawn as a density: what is written, the largest length shown, in means, and the number of bars.
DENSITIES = (
    ("normal:cov=0.25", 3.0, 60),
    ("uniform:cov=0.25", 3.0, 90),
    ("exponential", 4.0, 60),
    ("gamma:cov=0.5", 4.0, 60),
    ("lognormal:cov=1", 4.0, 60),
    ("bimodal:share=0.1,ratio=10", 6.0, 60),
)

#: Drawn along the loop: what is written (one or two), and the number of tasks.
LOOPS = (
    (("increasing", "decreasing"), 40),
    (("correlated:cov=0.25,rho=0.95",), 400),
    (("mandelbrot:width=32,height=32",), 1024),
)

_MANY = 200_000


def _drawn(model: LengthModel, n: int) -> Any:
    # Lengths in units of the mean, as they are drawn: not scaled to the work of a loop.
    count = model.tasks(n)
    return drawn(model, 1, 1, n, 1.0, float(count))


def _density(axes: Any, spec: str, most: float, bars: int) -> None:
    found = _drawn(lengths(spec).with_draw("paper"), _MANY)
    heights, edges = np.histogram(found, bins=bars, range=(0.0, most))
    axes.stairs(heights / len(found) * bars / most, edges, fill=True, color=PALETTE[0], alpha=0.35)
    axes.stairs(heights / len(found) * bars / most, edges, color=PALETTE[0], linewidth=1.2)
    axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle="--")
    axes.set_xlim(0.0, most)
    axes.set_ylim(0.0, 1.12 * heights.max() / len(found) * bars / most)
    axes.set_title(spec, loc="left", color=INK)
    axes.text(
        0.97, 0.92, f"c.o.v. {length_cov(found, 0, len(found)):.2f}", transform=axes.transAxes, ha="right", va="top"
    )


def _along(axes: Any, specs: tuple[str, ...], n: int) -> None:
    highest = 0.0
    for style, spec in zip(("-", ":"), specs, strict=False):
        found = _drawn(lengths(spec).with_draw("paper"), n)
        n = len(found)
        edges = np.arange(n + 1)
        colour = PALETTE[0] if style == "-" else PALETTE[1]
        axes.stairs(
            found, edges, color=colour, linewidth=1.3 if n < 100 else 0.8, linestyle=style, label=spec, baseline=None
        )
        highest = max(highest, float(found.max()))
        cov = length_cov(found, 0, n)
    axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle="--")
    axes.set_xlim(0, n)
    axes.set_ylim(0.0, 1.3 * highest)
    axes.set_title(" · ".join(specs), loc="left", color=INK)
    axes.text(0.97, 0.92, f"c.o.v. {cov:.2f}", transform=axes.transAxes, ha="right", va="top")
    axes.set_xlabel("task")
    if len(specs) > 1:
        axes.legend(loc="upper center", bbox_to_anchor=(0.46, 1.03), frameon=False)


def picture() -> Figure:
    """The figure: six densities, three loops."""
    figure = new_figure(9.0, 6.4)
    with styled():
        columns = 3
        rows = math.ceil((len(DENSITIES) + len(LOOPS)) / columns)
        panels = figure.subplots(rows, columns).ravel()
        for axes, (spec, most, bars) in zip(panels, DENSITIES, strict=False):
            _density(axes, spec, most, bars)
            axes.set_xlabel("length / mean")
        for axes, (specs, n) in zip(panels[len(DENSITIES) :], LOOPS, strict=True):
            _along(axes, specs, n)
        for i, axes in enumerate(panels):
            axes.spines[["top", "right"]].set_visible(False)
            if i % columns == 0:
                axes.set_ylabel("density" if i < len(DENSITIES) else "length / mean")
    return figure


def main() -> int:
    """Write the picture."""
    sys.stdout.write(f"{save(picture(), PICTURE)}\n")
    return 0


if __name__ == "__main__":
    only(__doc__)
    sys.exit(main())
