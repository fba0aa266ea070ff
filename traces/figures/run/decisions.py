"""Wall times of scheduling passes by the number of waiting jobs.

Source: Figure 13 of the AccaSim paper, doi:10.1007/s10586-019-02905-5.
"""

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays, class_of, sums_by_class
from traces.figures.drawing.panels import remark
from traces.tables import DataFrame


def decisions_figure(decisions: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the time of a scheduling pass against the number of jobs that waited before it.

    Passes are in classes by this number: one class per number up to 9, then classes that are a quarter wider each. A point is
    the mean of a class, at its mean number of waiting jobs; the pale band goes from the 5th to the 95th percentile.
    """
    waiting, decision_ns = arrays(decisions, ("waiting", "decision_ns"), "decisions")
    if not len(waiting):
        raise InputError("nothing to draw: there is no scheduling pass")
    passes, sizes, times = sums_by_class(waiting, decision_ns)
    some = passes > 0
    size = sizes[some] / passes[some]
    low, high = _band(waiting, decision_ns)
    with canvas.drawing(6.4, 3.4, title) as figure:
        axes = figure.add_subplot()
        axes.fill_between(size, low / 1e3, high / 1e3, color=canvas.PALETTE[0], alpha=0.35, linewidth=0)
        axes.plot(size, times[some] / passes[some] / 1e3, color=canvas.INK, linewidth=1.2, marker="o", markersize=3.4)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set(yscale="log", xlabel="jobs that wait before the scheduling pass", ylabel="decision time [µs]")
        axes.set_xlim(left=0)
        axes.grid()
        passed = f"{len(waiting):,} pass{'es' * (len(waiting) != 1)}"
        remark(axes, f"{passed}, {decision_ns.mean() / 1e3:,.3g} µs on average · line: mean, band: 5 % to 95 %")
    return figure


def _band(waiting: Array, decision_ns: Array) -> Array:
    # Percentiles 5 and 95 of each class that has passes; no less than 1 ns, as the axis is logarithmic.
    place = class_of(waiting)
    order = np.argsort(place, kind="stable")
    groups = np.split(decision_ns[order], np.flatnonzero(np.diff(place[order])) + 1)
    found = np.array([np.quantile(one, (0.05, 0.95)) for one in groups]).T
    return np.asarray(np.maximum(found, 1))
