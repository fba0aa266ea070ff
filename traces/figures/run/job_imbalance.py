"""Load imbalance of jobs by number of cores, for one run or several."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays, runs
from traces.figures.drawing.panels import Box, counted, panel_grid, remark
from traces.figures.drawing.styles import FEW, style
from traces.tables import DataFrame

POINTS = 4  #: most jobs that are drawn as points instead of a box

_PER_LINE = 4
_LEGEND = "bar: quartiles; marker: median; line: 5 % to 95 %"


def width_classes(cores: Array) -> tuple[Array, list[str]]:
    """The class of each width, and the classes' names, ascending: 1, 2, 3–4, 5–8, 9–16, … cores; only those that occur."""
    power = np.ceil(np.log2(np.maximum(cores, 1).astype(np.float64))).astype(np.int64)
    found, place = np.unique(power, return_inverse=True)
    names = [f"{2**k}" if k < 2 else f"{2 ** (k - 1) + 1:,}–{2**k:,}" for k in found.tolist()]
    return place, names


def imbalance_jobs_figure(jobs: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the imbalance max(t)/mean(t) − 1 of jobs by class of width.

    A bar goes from the first to the third quartile, its marker is the median, a line goes from the 5th to the 95th percentile;
    values beyond are not drawn. Up to :data:`POINTS` jobs are points. The axis begins at 0, perfect balance. Rows without an
    imbalance (NaN) are left out: they never started, or had no application level. A column ``run`` labels the runs.
    """
    cores, imbalance = arrays(jobs, ("cores", "imbalance"), "jobs")
    known = np.isfinite(imbalance)
    found = [(label, rows[known[rows]]) for label, rows in runs(jobs)]
    found = [(label, rows) for label, rows in found if len(rows)]
    if not found:
        raise InputError("nothing to draw: no job has an imbalance")
    every = np.concatenate([rows for _, rows in found])
    place = np.full(len(cores), -1, np.int64)
    place[every], names = width_classes(cores[every])
    panels = [found] if len(found) <= FEW else [[one] for one in found]
    columns = min(len(panels), _PER_LINE)
    lines = -(-len(panels) // columns)
    alone = len(panels) == 1
    wide_in = min(max(5.4, 0.8 + len(names) * (0.45 + 0.16 * len(found))) if alone else 2.6 * columns + 0.6, 12.0)
    with canvas.drawing(wide_in, 3.6 if alone else 0.7 + 2.0 * lines, title, 62 if alone else 100) as figure:
        grid = panel_grid(figure, len(panels), columns)
        highest = 0.0
        for axes, some in zip(grid, panels, strict=True):
            groups = [[imbalance[rows[place[rows] == k]] for k in range(len(names))] for _, rows in some]
            highest = max(highest, _draw(axes, groups, [label for label, _ in some]))
            if not alone:
                axes.set_title(canvas.short(some[0][0], 30), loc="left", fontsize=8.5, weight="bold")
            _name_classes(axes, names, groups, numbered=alone)
        grid[0].set_ylim(0, 1.06 * highest or 1.0)
        below, left = f"cores of a job    ({_LEGEND})", "imbalance max/mean − 1 [fraction]"
        if alone:
            grid[0].set(xlabel=below, ylabel=left)
        else:
            figure.supxlabel(below, fontsize=8.5)
            figure.supylabel(left, fontsize=8.5)
        if alone and found[0][0]:
            handles, labels = grid[0].get_legend_handles_labels()
            most = max(1, min(len(found), int(wide_in / (0.45 + 0.07 * max(map(len, labels))))))
            figure.legend(handles, labels, loc="outside lower center", ncols=most)
        if len(found) == 1:
            mean, largest = float(imbalance[every].mean()), float(imbalance[every].max())
            beyond = " (not drawn)" if largest > highest else ""
            remark(grid[0], f"{counted(len(every), 'job')}, mean {mean:.3f}, largest {largest:.3g}{beyond}")
    return figure


def _draw(axes: canvas.Axes, groups: Sequence[Sequence[Array]], labels: Sequence[str]) -> float:
    """Draw the classes of some runs side by side; return the highest point."""
    axes.grid(axis="y")
    width = 0.8 / len(groups)
    highest = 0.0
    for j, (label, classes) in enumerate(zip(labels, groups, strict=True)):
        colour, marker = style(j).colour, style(j).marker
        x = np.arange(len(classes)) + (j - (len(groups) - 1) / 2) * width
        boxes = [(at, Box.of(one)) for at, one in zip(x.tolist(), classes, strict=True) if len(one) > POINTS]
        few = [(at, one) for at, one in zip(x.tolist(), classes, strict=True) if 0 < len(one) <= POINTS]
        at = [where for where, _ in boxes]
        axes.vlines(at, [box.low for _, box in boxes], [box.high for _, box in boxes], colors=colour, linewidths=1.0)
        high, first = [box.third - box.first for _, box in boxes], [box.first for _, box in boxes]
        frame: dict[str, Any] = {"alpha": 0.45, "edgecolor": canvas.INK, "linewidth": 0.6}
        axes.bar(at, high, 0.62 * min(width, 0.5), bottom=first, color=colour, **frame)
        look: dict[str, Any] = {"marker": marker, "color": colour, "markeredgecolor": canvas.INK, "clip_on": False}
        look |= {"linestyle": "none", "zorder": 4}
        name = canvas.short(label, 40) or None
        # The layout fails with an empty line.
        if boxes:
            medians = [box.median for _, box in boxes]
            axes.plot(at, medians, markersize=4.5, markeredgewidth=0.7, label=name, **look)
        points = [(where, value) for where, one in few for value in one.tolist()]
        if points:
            name = None if boxes else name
            axes.plot(*zip(*points, strict=True), markersize=2.8, markeredgewidth=0.4, label=name, **look)
        highest = max([highest, *(box.high for _, box in boxes), *(value for _, value in points)])
    return highest


def _name_classes(
    axes: canvas.Axes, names: Sequence[str], groups: Sequence[Sequence[Array]], *, numbered: bool
) -> None:
    labels = []
    for k, name in enumerate(names):
        counts = sorted({len(classes[k]) for classes in groups})
        many = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,}–{counts[-1]:,}"
        labels.append(f"{name}\n{many} job{'s' if counts != [1] else ''}" if numbered else name)
    turned = not numbered and len(names) > 5
    axes.set_xticks(range(len(names)), labels=labels, fontsize=7, rotation=60 if turned else 0)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="x", length=0)
