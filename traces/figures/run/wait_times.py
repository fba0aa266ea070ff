"""Distributions of waits and bounded slowdowns, for one run or several."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays, final_rows, runs
from traces.figures.drawing.panels import LEGEND, Box, counted, draw_boxes, name_rows, remark
from traces.figures.drawing.styles import FEW, style
from traces.figures.drawing.time_axis import duration_marks
from traces.tables import DataFrame

BOUND_NS = 10 * 10**9  #: τ of the bounded slowdown: shorter run times count as this

# Distance of 0 from the smallest wait: share of the range of the logarithms, and least factor.
_APART, _LEAST_APART = 0.12, 1.5


class _Run(NamedTuple):
    label: str
    wait_ns: Array
    slowdown: Array


def waits_figure(jobs: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the empirical distributions of wait and bounded slowdown.

    The wait is start − submit, the bounded slowdown max(1, (end − submit) / max(end − start, 10 s)), both of the measured
    jobs (docs/reference/metrics.md). Both axes are logarithmic; waits of 0 are at the left, where the curve begins with
    their share. Waits count from the column ``begin_ns`` if there is one. A column ``run`` labels the runs; more than
    :data:`FEW` are rows with boxes.
    """
    found = _measured(jobs)
    positive = np.concatenate([one.wait_ns[one.wait_ns > 0] for one in found])
    zero = len(positive) < sum(len(one.wait_ns) for one in found)
    low, high = (float(positive.min()), float(positive.max())) if len(positive) else (1e9, 1e10)
    zero_place = low / max((high / low) ** _APART, _LEAST_APART)
    few = len(found) <= FEW
    height_in = 3.5 + 0.17 * (len(found) > 3) * ((len(found) + 2) // 3) if few else 1.3 + 0.27 * len(found)
    with canvas.drawing(8.6, height_in, title, 97) as figure:
        left, right = figure.subplots(1, 2, sharey=few)
        if few:
            labels = [one.label for one in found]
            _lines(left, [one.wait_ns for one in found], labels, zero_place)
            _lines(right, [one.slowdown for one in found], labels, 1.0)
            left.set(ylabel="share of jobs at or below the value", ylim=(0, 1.02))
            handles, labels = left.get_legend_handles_labels()
            if found[0].label or len(found) > 1:
                columns = min(len(found), 4 if max(map(len, labels)) < 24 else 3)
                figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3)
        else:
            _boxes(left, [np.where(one.wait_ns > 0, one.wait_ns, zero_place) for one in found], found, named=True)
            _boxes(right, [one.slowdown for one in found], found, named=False)
            figure.supxlabel(LEGEND, fontsize=7.5, color=canvas.GREY)
        _durations(left, zero_place if zero else None, low, high)
        left.set_xlabel("wait" + (" (logarithmic; 0 at the left)" if zero else " (logarithmic)"))
        _factors(right, max(float(one.slowdown.max()) for one in found))
        right.set_xlabel("bounded slowdown (logarithmic)")
        if len(found) == 1:
            wait_ns, middle = found[0].wait_ns, float(np.median(found[0].slowdown))
            at_once = f"{100 * np.count_nonzero(wait_ns == 0) / len(wait_ns):.3g} % did not wait"
            remark(left, f"{counted(len(wait_ns), 'job')}; median {format_ns(int(np.median(wait_ns)))}; {at_once}")
            remark(right, f"median {middle:,.0f}" if middle >= 100 else f"median {middle:.3g}")
    return figure


def _measured(jobs: DataFrame) -> list[_Run]:
    wait_ns, slowdown, final = _of_rows(jobs)
    of_run = ((label, rows[final[rows]]) for label, rows in runs(jobs))
    found = [_Run(label, wait_ns[mine], slowdown[mine]) for label, mine in of_run if len(mine)]
    if not found:
        raise InputError("nothing to draw: no job ran that has a wait")
    return found


def _of_rows(jobs: DataFrame) -> tuple[Array, Array, Array]:
    # The wait (ns) and the bounded slowdown of each row, and which rows are measured.
    since = "begin_ns" if "begin_ns" in jobs else "submit_ns"
    submit, start, end = arrays(jobs, (since, "start_ns", "end_ns"), "jobs")
    slowdown = np.maximum(1.0, (end - submit).astype(np.float64) / np.maximum(end - start, BOUND_NS))
    return (start - submit).astype(np.float64), slowdown, final_rows(jobs)


def bounded_slowdowns(jobs: DataFrame) -> Array:
    """Return the bounded slowdown of each measured job, float64; the columns are those of :func:`waits_figure`."""
    _, slowdown, final = _of_rows(jobs)
    return slowdown[final]


def _lines(axes: canvas.Axes, values: Sequence[Array], labels: Sequence[str], zero_place: float) -> None:
    """Draw a step curve for each run, with a marker at its beginning, the values up to ``zero_place``."""
    axes.grid()
    right = 1.25 * max(float(one.max(initial=0)) for one in values)
    for k, (label, one) in enumerate(zip(labels, values, strict=True)):
        first = np.count_nonzero(one <= zero_place)
        line = axes.ecdf(
            np.maximum(one, zero_place),
            color=style(k).colour,
            linestyle=style(k).dash,
            linewidth=1.5,
            marker=style(k).marker if first else "",
            markersize=4.5,
            markevery=[first],
            clip_on=False,
            label=f"{canvas.short(label, 40)} ({counted(len(one), 'job')})" if label else None,
            zorder=3,
        )
        # The curve stays at 1 up to the end of the axis.
        x, share = (np.asarray(column) for column in line.get_data())
        line.set_data(np.append(x, max(right, x[-1])), np.append(share, 1.0))


def _boxes(axes: canvas.Axes, values: Sequence[Array], found: Sequence[_Run], *, named: bool) -> None:
    draw_boxes(axes, [Box.of(one) for one in values], [canvas.PALETTE[4]] * len(values))
    name_rows(axes, [canvas.short(one.label, 40) if named else "" for one in found])


def _durations(axes: canvas.Axes, zero_place: float | None, low: float, high: float) -> None:
    """A logarithmic axis with ticks such as ``1 h``, and one for 0 if needed."""
    axes.set_xscale("log")
    axes.minorticks_off()
    marks = [(float(ns), name) for ns, name in duration_marks(low, 1.25 * high)]
    if zero_place is not None:
        marks.insert(0, (zero_place, "0"))
        axes.axvline((zero_place * low) ** 0.5, color=canvas.GREY, linewidth=0.8, linestyle="dotted")
    axes.set_xticks([ns for ns, _ in marks], labels=[name for _, name in marks], fontsize=7)
    left = low if zero_place is None else zero_place
    axes.set_xlim(left * (left / high) ** 0.02, 1.25 * high)


def _factors(axes: canvas.Axes, most: float) -> None:
    axes.set_xscale("log")
    axes.minorticks_off()
    most = max(most, 10.0)
    ticks = [10**k for k in range(13) if 10**k <= 1.25 * most]
    if len(ticks) < 3:
        ticks = [one for one in (1, 2, 5, 10, 20, 50, 100) if one <= 1.25 * most]
    ticks = ticks[:: -(-len(ticks) // 6)]
    axes.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks], fontsize=7)
    axes.set_xlim(most**-0.02, 1.25 * most)
