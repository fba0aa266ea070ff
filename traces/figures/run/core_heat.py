"""Map of cores × time: the darker, the busier."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from traces.base.errors import InputError, shown
from traces.base.time import format_ns
from traces.compiled import Array, compiled, own
from traces.figures.drawing import canvas
from traces.figures.drawing.bars import mark_hosts
from traces.figures.drawing.frames import arrays, held_cores
from traces.figures.drawing.panels import remark
from traces.figures.drawing.time_axis import TimeAxis, time_axis
from traces.figures.run.gantt import chosen_cores
from traces.intervals import Intervals, within
from traces.kernels.signatures import Floats, Floats2, Ints
from traces.tables import DataFrame

MOST_ROWS = 512  #: with more cores than this, several share a row

_BLOCK = 1_000_000


def heat_figure(
    frame: DataFrame,
    *,
    first_core: Array,
    host_names: Sequence[str],
    releases: DataFrame | None = None,
    widths: DataFrame | None = None,
    jobs: Intervals | None = None,
    cores: Intervals | None = None,
    columns: int = 500,
    title: str = "",
) -> canvas.Figure:
    """Draw the share of time in which cores compute tasks, or are held by jobs.

    The first image of the first axes is the map: float64 (rows, columns), the covered share of the cores × time of each cell.
    Time begins at the first shown start, or at the workload's time 0 if that is near. With more than :data:`MOST_ROWS` cores a
    row is the mean of 2, 4, 8 … consecutive cores. If other jobs are left out, the figure states this.

    - ``frame``: tasks, with the columns ``core``, ``start_ns`` and ``end_ns``: the map shows where cores compute; or jobs,
      with ``allocation``, ``start_ns`` and ``end_ns``: where they are held. ``job_id`` chooses the jobs.
    - ``columns``: number of equal pieces of the time, 1 or more.
    """
    if columns < 1:
        raise InputError(f"columns: {shown(columns)} is out of range; allowed: 1 or more")
    chosen = np.ones(len(frame), np.bool_)
    if jobs is not None:
        chosen = within(arrays(frame, ("job_id",), "jobs or tasks")[0], jobs)
    held = "core" not in frame.columns and "allocation" in frame.columns
    if held:
        job, *of_held = held_cores(frame, releases, widths)
        low, high, start_ns, end_ns = _where(chosen[job], *of_held)
    else:
        low, start_ns, end_ns = _where(chosen, *arrays(frame, ("core", "start_ns", "end_ns"), "tasks"))
        high = low + 1
    rows = chosen_cores(first_core, cores)
    ran = (low >= 0) & (start_ns >= 0)
    # Rows of the figure instead of cores: some cores of an interval may not be shown.
    low, high, start_ns, end_ns = _where(ran, low, high, start_ns, end_ns)
    if cores is not None:
        low, high = np.searchsorted(rows, low), np.searchsorted(rows, high)
    else:
        high = np.minimum(high, len(rows))
    low, high, start_ns, end_ns = _where(low < high, low, high, start_ns, end_ns)
    if len(low) == 0:
        raise InputError("nothing to draw: no job ran on these cores")
    axis = time_axis(int(start_ns.min()), int(end_ns.max()))
    per_row = 1
    while len(rows) > MOST_ROWS * per_row:
        per_row *= 2
    share = _shares((low, high, start_ns, end_ns), axis, len(rows), columns, per_row)
    with canvas.drawing(9.0, min(max(1.7 + 0.06 * len(rows), 2.6), 5.0), title, 98) as figure:
        axes = figure.add_subplot()
        left, right = axis.limits
        look: Any = {"cmap": "Blues", "vmin": 0, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
        picture = axes.imshow(share, extent=(left, right, len(share) * per_row, 0), **look)
        axes.set(ylim=(len(rows), 0), xlabel=axis.label)
        mark_hosts(axes, rows, first_core, host_names)
        bar = figure.colorbar(picture, ax=axes, fraction=0.025, pad=0.015, aspect=30)
        bar.set_label("held by a job [share of the time]" if held else "computing [share of the time]")
        bar.outline.set_linewidth(0.5)
        whole = float(share[: len(rows) // per_row].sum()) * per_row
        if len(rows) % per_row:
            whole += float(share[-1].sum()) * (len(rows) % per_row)
        said = f"{len(rows):,} cores" + (f", {per_row} per row" if per_row > 1 else "")
        said += f"; cell width {format_ns(axis.span_ns // columns)}; mean share {whole / (len(rows) * columns):.3f}"
        said += "" if chosen.all() else "; without other jobs"
        remark(axes, said)
    return figure


def _where(chosen: Array, *columns: Array) -> tuple[Array, ...]:
    # The chosen rows, without a copy if all are chosen.
    return columns if chosen.all() else tuple(column[chosen] for column in columns)


@compiled()
def _cover(low: Ints, high: Ints, begin: Floats, stop: Floats, per_row: int, covered: Floats2) -> None:
    """Add the share that bars cover to each cell of ``covered``. A bar has the rows ``low`` to ``high`` - 1, and the time
    ``begin`` to ``stop`` in cells; a cell has ``per_row`` rows."""
    n_columns = covered.shape[1]
    for k in range(len(low)):
        first, last = max(int(begin[k]), 0), min(int(np.ceil(stop[k])), n_columns)
        for y in range(low[k] // per_row, (high[k] - 1) // per_row + 1):
            rows = (min(high[k], (y + 1) * per_row) - max(low[k], y * per_row)) / per_row
            for x in range(first, last):
                covered[y, x] += rows * max(0.0, min(stop[k], x + 1.0) - max(begin[k], float(x)))


def _shares(bars: tuple[Array, ...], axis: TimeAxis, n_rows: int, columns: int, per_row: int) -> Array:
    # The last row may have fewer cores. Bars are drawn in blocks to save memory.
    share = np.zeros((-(-n_rows // per_row), columns))
    for at in range(0, len(bars[0]), _BLOCK):
        low, high, start_ns, end_ns = (column[at : at + _BLOCK] for column in bars)
        begin, stop = ((of - axis.first_ns) / axis.span_ns * columns for of in (start_ns, end_ns))
        _cover(own(low, np.int64), own(high, np.int64), begin, stop, per_row, share)
    if n_rows % per_row:
        share[-1] *= per_row / (n_rows % per_row)
    found: Array = np.clip(share, 0.0, 1.0)
    return found
