"""The figure of the benchmark: cost against jobs and against cores, as the two-level paper's Figure 10."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from traces.figures.drawing.canvas import new_figure, save, styled

Points = Sequence[tuple[int, Sequence[float]]]


def draw(by_jobs: Points, by_cores: Points, path: Path) -> Path:
    """Draw seconds (median, with the range of the runs) against jobs and against cores, on logarithmic axes."""
    with styled():
        figure = new_figure(8.0, 3.2)
        left, right = figure.subplots(1, 2)
        for axes, points, label in ((left, by_jobs, "jobs"), (right, by_cores, "cores of the machine")):
            x = [n for n, _ in points]
            middle = [statistics.median(s) for _, s in points]
            axes.fill_between(x, [min(s) for _, s in points], [max(s) for _, s in points], alpha=0.25, linewidth=0)
            axes.plot(x, middle, marker="o", label="measured")
            axes.plot(x, [middle[0] * n / x[0] for n in x], linestyle="dotted", color="grey", label="linear")
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel(label)
            axes.set_ylabel("simulation time [s]")
            axes.legend(frameon=False)
        left.set_title("first n jobs on 256 cores")
        right.set_title("10,000 jobs, as wide as the machine")
        return save(figure, path)
