"""Distribution of the task lengths of one job, or of all jobs relative to the mean of each job."""

from typing import Any, NamedTuple

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays, counted_values
from traces.figures.drawing.panels import counted, remark
from traces.tables import DataFrame

_LONG = 12.0  #: the axis is logarithmic if a length exceeds this multiple of the mean

_MOST_BARS = 80

# Tasks whose lengths are divided at a time.
_BLOCK = 1_000_000


class _Lengths(NamedTuple):
    values: Array
    mean: float
    sigma: float
    unit: str
    said: str


def task_lengths_figure(tasks: DataFrame, *, job_id: int | None = None, title: str = "") -> canvas.Figure:
    """A histogram of task lengths with their mean and standard deviation: of the job ``job_id``, or of all.

    For one job: lengths in GFLOP; σ is the population's, so σ / mean is the job's ``length_cov``. For several jobs: each
    length relative to the mean of its job, which shows the variation Υ and not the differences between jobs; σ is pooled
    within jobs, √(Σ (length / mean of its job − 1)² / Σ (tasks of a job − 1)), and jobs of one task, which is always at 1,
    are left out. Tasks that never ran (start -1) are not counted.

    The first patch is the histogram: numbers of tasks, from 0, in at most 80 bars of equal width; or of equal ratio, on a
    logarithmic axis, if the longest has more than 12 times the mean. Raises InputError if a column is missing, or no such
    task ran.
    """
    found = _one(tasks, job_id) if job_id is not None else _all(tasks)
    values = found.values
    logarithmic = bool(values.max() > _LONG * found.mean and values.min() > 0)
    edges = _edges(values, logarithmic)
    # With equal widths numpy does not sort.
    equal: Any = {"bins": edges} if logarithmic else {"bins": len(edges) - 1, "range": (edges[0], edges[-1])}
    heights, edges = np.histogram(values, **equal)
    with canvas.drawing(6.6, 3.3, title, 76) as figure:
        axes = figure.add_subplot()
        axes.stairs(heights, edges, fill=True, color=canvas.PALETTE[4], alpha=0.6)
        axes.stairs(heights, edges, color=canvas.PALETTE[0], linewidth=1.1)
        axes.axvline(found.mean, color=canvas.INK, linewidth=1.2, label=f"mean {found.mean:.4g}{found.unit}")
        cov = found.sigma / found.mean if found.mean > 0 else 0.0
        label = f"mean ± σ, σ = {found.sigma:.3g}{found.unit}; σ / mean = {cov:.3f}"
        dashed: dict[str, Any] = {"color": canvas.INK, "linewidth": 1.0, "linestyle": (0, (4, 2))}
        axes.axvline(found.mean + found.sigma, label=label, **dashed)
        if found.mean > found.sigma:
            axes.axvline(found.mean - found.sigma, **dashed)
        if logarithmic:
            axes.set_xscale("log")
        else:
            axes.set_xlim(0, 1.02 * float(edges[-1]))
        axes.grid(axis="y")
        what = "length of a task [GFLOP]" if found.unit else "length of a task / mean length in its job"
        what += " (logarithmic)" if logarithmic else ""
        axes.set(ylim=(0, 1.08 * float(heights.max())), xlabel=what, ylabel="tasks")
        axes.locator_params(axis="y", integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        figure.legend(loc="outside lower center", ncols=2)
        remark(axes, found.said)
    return figure


def _lengths(tasks: DataFrame) -> tuple[Array, Array]:
    job, length = arrays(tasks, ("job_id", "length_gflop"), "tasks")
    ran = np.isfinite(length)
    if "start_ns" in tasks:
        ran &= tasks["start_ns"].to_numpy() >= 0
    return (job, length) if ran.all() else (job[ran], length[ran])


def _one(tasks: DataFrame, job_id: int) -> _Lengths:
    job, length = _lengths(tasks)
    mine = length[job == job_id]
    if len(mine) == 0:
        raise InputError(f"nothing to draw: no task of job {shown(job_id)} ran")
    said = f"{counted(len(mine), 'task')} of job {job_id}"
    return _Lengths(mine, float(mine.mean()), float(mine.std()), " GFLOP", said)


def _all(tasks: DataFrame) -> _Lengths:
    job, length = _lengths(tasks)
    numbers, index, count = counted_values(job)
    if len(numbers) == 0:
        raise InputError("nothing to draw: no task ran")
    mean = np.bincount(index, weights=length) / count
    usable = (count > 1) & (mean > 0)
    some = usable[index]
    if not some.any():
        raise InputError("nothing to draw: no job had more than one task; give job_id")
    parts = [slice(lo, lo + _BLOCK) for lo in range(0, len(length), _BLOCK)]
    ratio = np.empty(int(np.count_nonzero(some)))
    at = 0
    for part in parts:
        here = length[part][some[part]] / mean[index[part][some[part]]]
        ratio[at : at + len(here)] = here
        at += len(here)
    freedom = int((count[usable] - 1).sum())
    sigma = float(np.sqrt(sum(float(np.square(ratio[part] - 1.0).sum()) for part in parts) / freedom))
    said = f"{len(ratio):,} tasks of {counted(int(usable.sum()), 'job')}"
    alone = int((~usable).sum())
    if alone:
        said += f"; {counted(alone, 'job')} of one task left out"
    return _Lengths(ratio, 1.0, sigma, "", said)


def _edges(values: Array, logarithmic: bool) -> Array:
    """Edges of bars; their number grows with the number of tasks."""
    low, high = float(values.min()), float(values.max())
    bars = int(np.clip(round(2 * len(values) ** (1 / 3)), 5, _MOST_BARS))
    if not high - low > 1e-9 * max(abs(high), 1.0):  # all equal: one bar
        half = 0.05 * abs(high) or 0.05
        return np.array([low - half, high + half])
    if logarithmic:
        return np.geomspace(low, high, bars + 1)  # whose ends are exactly these
    return np.linspace(low, high, bars + 1)
