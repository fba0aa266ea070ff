"""Figures of pages that no command draws: dispatchers that plan, estimates, chunks of techniques."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.application.chunk_sizes import draw_chunks
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import LEGEND, Box, counted, draw_boxes, name_rows, panel_grid, remark
from traces.figures.drawing.styles import style

_LEAST = 1.0  #: lower limit of the axes: a slowdown is at least 1, and waits below a second do not matter


class Planned(NamedTuple):
    """Mean and standard deviation of the slowdowns and waits of one dispatcher's jobs (PCP'20 paper, arXiv:2009.10348)."""

    name: str  # dispatcher, and details after a comma, such as its estimates
    slowdown: float
    slowdown_std: float
    wait_s: float
    wait_std_s: float


def planning_outcomes_figure(planned: Sequence[Planned], *, title: str = "") -> canvas.Figure:
    """Draw the mean slowdown and wait of the jobs by dispatcher as points, with a line up to the mean plus one standard
    deviation, on logarithmic axes: Figures 4 and 5 of the paper. Raises InputError if there is no dispatcher."""
    if not planned:
        raise InputError("no dispatcher to draw")
    kinds = list(dict.fromkeys(one.name.split(",")[0] for one in planned))
    with canvas.drawing(7.2, 0.28 * len(planned) + 1.3, title) as figure:
        for place, axes in enumerate(figure.subplots(1, 2, sharey=True)):
            mean, std = np.array([one[1 + 2 * place : 3 + 2 * place] for one in planned]).T
            most = mean + std
            at = np.maximum(mean, _LEAST)
            for row, one in enumerate(planned):
                look = style(kinds.index(one.name.split(",")[0]))
                axes.plot([at[row], most[row]], [row, row], color=look.colour, linewidth=1.2, marker="|", markevery=[1])
                axes.plot(at[row], row, color=look.colour, marker=look.marker, markersize=5.5)
                text = f"{mean[row]:,.1f}" if mean[row] < 100 else f"{mean[row]:,.0f}"
                axes.annotate(text, (most[row], row), (6, 0), textcoords="offset points", va="center", fontsize=7)
            axes.set(xscale="log", xlim=(0.6 * at.min(), 6.0 * most.max()))
            axes.set_xlabel(("slowdown of a job", "wait of a job [s]")[place])
            name_rows(axes, [one.name for one in planned], labelled=place == 0)
        remark = "point and number: mean of all jobs; line: up to the mean plus one standard deviation"
        figure.supxlabel(remark, fontsize=7.5, color=canvas.GREY)
    return figure


def planning_ratios_figure(
    modelled: Array, units: Array, variables: Array, time: Array, value: Array, *, is_made: Array, title: str = ""
) -> canvas.Figure:
    """Draw ratios of PCP'20 to PCP'19 by instance (Figures 6 and 7 of the paper), and of the values of their plans.

    - ``modelled``, ``units``: int (n,), modelled jobs, and their units.
    - ``variables``, ``time``, ``value``: float (n,), ratios of the models' variables, the dispatches' CPU times, and the
      plans' objective Z.
    - ``is_made``: bool (n,), whether PCP'19's model was made; if it was too large, the plan of its list is compared.

    Raises InputError if there is no instance.
    """
    if not len(modelled):
        raise InputError("no instance to draw")
    with canvas.drawing(7.6, 2.7, title) as figure:
        panels = figure.subplots(1, 3)
        columns = (
            (units / modelled, "units of a job", variables, "variables", 0.1),
            (modelled, "modelled jobs", time, "CPU time", 1.0),
            (modelled, "modelled jobs", 1e6 * (value - 1.0), "Z", 0.0),
        )
        for axes, (at, label_below, ratio, name, line) in zip(panels, columns, strict=True):
            for chosen, colour, marker, label in (
                (is_made, canvas.PALETTE[0], "o", "PCP'19 solved, or nothing to solve"),
                (~is_made, canvas.PALETTE[1], "x", "its model is too large"),
            ):
                if chosen.any():
                    look: Any = {"color": colour, "marker": marker, "label": label, "alpha": 0.5}
                    look |= {"linestyle": "none", "markersize": 2.4, "markeredgewidth": 0.6, "rasterized": True}
                    axes.plot(at[chosen], ratio[chosen], **look)
            axes.axhline(line, color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
            axes.set(xscale="log", xlabel=label_below)
            axes.set_title(f"{name}, PCP'20 / PCP'19" + (" − 1 [ppm]" if name == "Z" else ""), loc="left")
        for axes in panels[:2]:
            axes.set_yscale("log")
        panels[1].axhline(0.01, color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
        spread = 1.1e6 * float(np.abs(value - 1.0).max()) or 1.0
        panels[2].set_ylim(-spread, spread)
        if not is_made.all():
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


#: Look of the numbers of jobs.
_NUMBER: Any = {"textcoords": "offset points", "va": "center", "fontsize": 7.5, "zorder": 4}
_NUMBER |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6}}


@dataclass(frozen=True)
class Affected:
    """The jobs of one log whose slowdown is high, by estimates."""

    log: str  # name
    estimates: Sequence[str]  # kinds of estimates; the first is the base of the comparison
    jobs: int  # number of jobs
    counts: Array  # int (e, samples), number of jobs with a high slowdown
    slowdown: Sequence[Box | None]  # their slowdowns; None without any


def slowdown_share_figure(logs: Sequence[Affected], *, threshold: float, title: str = "") -> canvas.Figure:
    """Draw the share of jobs with a slowdown above ``threshold``, and their slowdowns, by estimates; one line of panels per
    log. Raises InputError if there is no log.

    This is the RM-Replay paper's Figure 10 (M. Martinasso, M. Gila, M. Bianco, S. Alam, C. McMurtrie, T. Schulthess,
    "RM-Replay: A High-Fidelity Tuning, Optimization and Exploration Tool for Resource Management", SC18).
    """
    if not logs:
        raise InputError("no log to draw")
    with canvas.drawing(7.6, 0.6 + sum(0.9 + 0.3 * len(one.estimates) for one in logs), title) as figure:
        grid = figure.subplots(
            len(logs), 2, squeeze=False, gridspec_kw={"height_ratios": [1 + len(one.estimates) for one in logs]}
        )
        for one, (left, right) in zip(logs, grid, strict=True):
            share = 100 * np.asarray(one.counts, np.float64) / one.jobs
            means = share.mean(axis=1)
            colours = ["#c4c4c4"] + [canvas.PALETTE[0]] * (len(means) - 1)
            left.axvline(means[0], color=canvas.GREY, linewidth=0.8, linestyle="dotted", zorder=1)
            for row, (mean, points, colour) in enumerate(zip(means.tolist(), share, colours, strict=True)):
                left.barh(row, mean, 0.62, color=colour, alpha=0.55, edgecolor=canvas.INK, linewidth=0.6, zorder=2)
                # Alternating heights, so that equal samples stay visible.
                heights = row + 0.09 * (np.arange(len(points)) % 3 - 1)
                left.plot(points, heights, linestyle="none", marker="o", markersize=2.2, color=canvas.INK, zorder=3)
                left.annotate(f"{one.counts[row].mean():,.0f}", (float(points.max()), row), (5, 0), **_NUMBER)
            name_rows(left, one.estimates)
            left.set_xlim(0, 1.2 * float(share.max()) or 1.0)
            left.set_xlabel(f"jobs with a slowdown > {threshold:g} [% of {one.jobs:,}]")
            left.set_title(one.log, loc="left", weight="bold")
            draw_boxes(right, one.slowdown, ["#c4c4c4"] + [canvas.PALETTE[4]] * (len(means) - 1))
            right.set_xscale("log")
            name_rows(right, [""] * len(means))
            right.set_xlabel("slowdown of these jobs")
        figure.supxlabel(f"one point per sample; {LEGEND}", fontsize=7.5, color=canvas.GREY)
    return figure


_OWNERS_A_ROW = 3

# Colours of one core and of the others.
_MARKED, _OTHERS = "#1f3b5c", "#a9bdd3"


def chunk_owners_figure(chunks: Mapping[str, tuple[Sequence[int], Sequence[int]]], *, marked: int) -> canvas.Figure:
    """Draw chunk sizes as dots, dark for one core.

    - ``chunks``: names, each with the sizes in the order of assignment and the core of each chunk.
    - ``marked``: the core whose chunks are dark.

    Raises InputError if there is nothing to show.
    """
    if not chunks or not all(len(sizes) for sizes, _ in chunks.values()):
        raise InputError("nothing to draw: no chunks")
    n_columns = min(_OWNERS_A_ROW, len(chunks))
    n_rows = -(-len(chunks) // n_columns)
    highest = max(max(sizes) for sizes, _ in chunks.values())
    with canvas.drawing(3.0 * n_columns + 0.4, 1.9 * n_rows + 0.7) as figure:
        grid = panel_grid(figure, len(chunks), n_columns)
        for axes, (name, (sizes, cores)) in zip(grid, chunks.items(), strict=True):
            height, core = np.asarray(sizes, np.float64), np.asarray(cores)
            middle = np.cumsum(height) - height / 2.0
            for mine, colour, label in (
                (core != marked, _OTHERS, "other cores"),
                (core == marked, _MARKED, f"core {marked}"),
            ):
                axes.vlines(middle[mine], 0.8, height[mine], color=colour, lw=0.8)
                axes.plot(middle[mine], height[mine], "o", ms=3, color=colour, mew=0, label=label)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set(ylim=(0.8, 2.0 * highest), xlim=(0, float(height.sum())))
            axes.grid(axis="y")
            axes.set_title(canvas.short(name, 28), loc="left", fontsize=8.5, weight="bold")
            share = float(height[core == marked].sum() / height.sum())
            remark(axes, f"core {marked}: {share:.0%}")
            axes.tick_params(labelsize=7, length=2)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize=7.5)
        figure.supxlabel("tasks assigned", fontsize=8.5)
        figure.supylabel("tasks of a chunk", fontsize=8.5)
    return figure


_PANELS_A_ROW = 4

# A panel whose largest chunk is below this share of the highest would look empty, so it states its sizes.
_FLAT = 0.03


def chunk_sizes_figure(sequences: Mapping[str, Sequence[int]], *, title: str = "") -> canvas.Figure:
    """Draw the chunk sizes of techniques, one panel each. A chunk is a bar whose width and height are its number of tasks,
    beginning where the previous one ended.

    - ``sequences``: names, and sizes in the order of assignment, all with the same sum.

    Raises InputError if there is nothing to show.
    """
    if not sequences or not all(len(sizes) for sizes in sequences.values()):
        raise InputError("nothing to draw: no chunk sizes")
    n_columns = min(_PANELS_A_ROW, len(sequences))
    n_lines = -(-len(sequences) // n_columns)
    highest = max(max(sizes) for sizes in sequences.values())
    total = max(sum(sizes) for sizes in sequences.values())
    with canvas.drawing(2.4 * n_columns + 0.4, 1.5 * n_lines + 0.7, title) as figure:
        grid = panel_grid(figure, len(sequences), n_columns)
        for axes, (name, sizes) in zip(grid, sequences.items(), strict=True):
            draw_chunks(axes, sizes)
            axes.set(xlim=(0, total), ylim=(0, 1.08 * highest))
            axes.grid(axis="y")
            if max(sizes) < _FLAT * highest:
                text = (
                    f"every chunk: {counted(sizes[0], 'task')}"
                    if len(set(sizes)) == 1
                    else f"at most {max(sizes)} tasks"
                )
                axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=7.5)
            axes.set_title(canvas.short(name, 24), loc="left", fontsize=8.5, weight="bold")
            remark(axes, counted(len(sizes), "chunk"))
            axes.tick_params(labelsize=7, length=2)
        figure.supxlabel("tasks assigned", fontsize=8.5)
        figure.supylabel("tasks of a chunk", fontsize=8.5)
    return figure
