"""Draw the figure of ``docs/reference/core-speeds.md``: what each kind of core speeds does to a machine of three cores.

    python -m tools.speed_pictures

What is drawn is what the simulator computes with.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from als.core_speeds import CoreSpeeds, core_speeds
from tools.plain_tool import only
from traces.base.time import NS_PER_S
from traces.figures.drawing.canvas import GREY, PALETTE, Figure, new_figure, save, styled
from traces.figures.drawing.panels import quiet

IMAGE = Path(__file__).resolve().parent.parent / "docs" / "images" / "core-speeds.png"

UNTIL_NS = 240 * NS_PER_S
SEED = 1

#: The file of the third panel, as the page shows it.
TRACE = "time_s,core,factor\n0,0,1\n30,0,0.6\n45,0,0.9\n0,1,0.4\n20,1,1.1\n50,1,0.8\n"


@dataclass(frozen=True)
class Panel:
    """One panel: what is said of the speeds, and which cores are drawn."""

    specs: tuple[str, ...]
    cores: tuple[int, ...]


PANELS = (
    Panel(("square:period=60s,low=0.5",), (0,)),
    Panel(("square:period=80s,low=0.25,duty=0.75,offset=20s,cores=1",), (0, 1)),
    Panel(("noise:period=10s,sigma=0.1",), (0, 1, 2)),
    Panel(("trace:FILE.csv,periodic=80s",), (0, 1)),
    Panel(("late:cores=1,at=50s", "lost:cores=2,at=170s"), (0, 1, 2)),
    Panel(("square:period=60s,low=0.5", "noise:period=10s,sigma=0.1", "lost:cores=1,at=90s,until=150s"), (0, 1)),
)

# Cores are told apart by colour, dashes and width, so that they are in grey and where they lie on each other.
_LOOKS = ((PALETTE[0], "solid", 2.2), (PALETTE[1], (0, (5, 1.5)), 1.5), (PALETTE[6], (0, (1.2, 1.2)), 1.4))


def steps(speeds: CoreSpeeds, core: int) -> tuple[list[float], list[float]]:
    """Seconds and factors of one core from 0 to the end, for a line of steps."""
    numbers = np.array([core])
    changes = speeds.changes(numbers, np.ones(1), 0, UNTIL_NS - 1, 10**6).changes
    instants = [0, *(at for at, _, _ in changes), UNTIL_NS]
    factors = [float(speeds.factors(numbers, 0)[0]), *(factor for _, _, factor in changes)]
    return [at / NS_PER_S for at in instants], [*factors, factors[-1]]


def figure_of(panels: Sequence[Panel], folder: Path) -> Figure:
    """The figure; ``folder`` is for the recorded trace."""
    file = folder / "speeds.csv"
    file.write_text(TRACE, encoding="utf-8")
    with styled():
        figure = new_figure(7.6, 1.25 * len(panels) + 0.7)
        rows = figure.subplots(len(panels), 1, sharex=True, sharey=True)
        for axes, panel in zip(rows, panels, strict=True):
            speeds = core_speeds([spec.replace("FILE.csv", str(file)) for spec in panel.specs], 3, SEED)
            for core in panel.cores:
                colour, dashes, width = _LOOKS[core]
                x, y = steps(speeds, core)
                axes.step(x, y, where="post", color=colour, linestyle=dashes, linewidth=width, label=f"core {core}")
            quiet(axes, "both")
            axes.set_title("  ×  ".join(panel.specs), loc="left", family="DejaVu Sans Mono", fontsize=7.5)
            axes.set_ylabel("factor")
        rows[0].set_ylim(-0.08, 1.45)
        rows[0].set_yticks((0, 0.5, 1))
        rows[-1].set_xlim(0, UNTIL_NS / NS_PER_S)
        rows[-1].set_xticks(range(0, 241, 20))
        rows[-1].set_xlabel("simulated time [s]")
        # The third panel has all cores, so that one legend serves for every panel.
        handles, labels = rows[2].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=3, frameon=False, handlelength=3.2)
        figure.supxlabel("0: the core is not there", fontsize=7.5, color=GREY)
    return figure


def main() -> None:
    """Draw it."""
    with tempfile.TemporaryDirectory() as folder:
        save(figure_of(PANELS, Path(folder)), IMAGE)


if __name__ == "__main__":
    only(__doc__)
    main()
