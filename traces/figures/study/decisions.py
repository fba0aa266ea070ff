"""Wall times of scheduling passes in the combinations of a study: the AccaSim paper's Figures 12 and 13.

Source: doi:10.1007/s10586-019-02905-5.
"""

from typing import Any

from traces.base.errors import InputError
from traces.figures.drawing import canvas
from traces.figures.drawing.frames import arrays
from traces.figures.drawing.panels import name_rows
from traces.figures.drawing.styles import STYLES, style
from traces.tables import DataFrame

MOST_LINES = 2 * len(STYLES)  #: most lines in one figure: each style with full markers, then with white ones


def decision_lines_figure(decisions: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the mean time of a scheduling pass against the number of jobs that waited before it, one line per combination.

    ``decisions`` has a row per combination and class of numbers of waiting jobs: ``label``, and the means ``waiting`` and
    ``decision_ns``. Raises InputError if a column is missing, there is no row, or there are more than :data:`MOST_LINES`
    combinations.
    """
    label, waiting, decision_ns = arrays(decisions, ("label", "waiting", "decision_ns"), "decisions")
    labels = list(dict.fromkeys(label.tolist()))
    if not 1 <= len(labels) <= MOST_LINES:
        raise InputError(f"{len(labels)} combinations to draw in one figure; allowed: 1 to {MOST_LINES}")
    columns = 3 if max(map(len, labels)) < 24 else 2
    with canvas.drawing(6.2, 3.1 + 0.17 * -(-len(labels) // columns), title) as figure:
        axes = figure.add_subplot()
        for k, one in enumerate(labels):
            rows, look = label == one, style(k)
            marks: dict[str, Any] = {"color": look.colour, "linestyle": look.dash, "marker": look.marker}
            marks["markerfacecolor"] = look.colour if k < len(STYLES) else "white"
            name = canvas.short(one, 48)
            axes.plot(waiting[rows], decision_ns[rows] / 1e3, linewidth=1.2, markersize=3.4, label=name, **marks)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set(yscale="log", xlabel="jobs that wait before the scheduling pass", ylabel="mean decision time [µs]")
        axes.set_xlim(left=0)
        axes.grid()
        figure.legend(loc="outside lower center", ncols=min(len(labels), columns), fontsize=7.5, handlelength=3.2)
    return figure


def decision_cost_figure(costs: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the mean time of a simulation step, an instant with a scheduling pass: deciding, and the rest; one bar per
    combination.

    ``costs`` has a row per combination: ``label``, and the means ``deciding_ns`` and ``rest_ns``. Raises InputError if a
    column is missing, or there is no row.
    """
    label, *times = arrays(costs, ("label", "deciding_ns", "rest_ns"), "costs")
    if not len(label):
        raise InputError("nothing to draw: there is no combination")
    deciding, rest = (column / 1e3 for column in times)
    rows = range(len(label))
    with canvas.drawing(6.4, 0.3 * len(label) + 1.3, title, 60) as figure:
        axes = figure.add_subplot()
        edge: dict[str, Any] = {"edgecolor": canvas.INK, "linewidth": 0.6}
        axes.barh(rows, rest, 0.62, color="#d0d0d0", label="the rest", **edge)
        bars = axes.barh(rows, deciding, 0.62, left=rest, color=canvas.PALETTE[0], hatch="//", label="deciding", **edge)
        texts = [f"{a:.3g} + {b:.3g}" for a, b in zip(rest.tolist(), deciding.tolist(), strict=True)]
        axes.bar_label(bars, texts, padding=4, fontsize=7)
        name_rows(axes, [canvas.short(str(one), 48) for one in label])
        axes.set(xlim=(0, 1.25 * float((deciding + rest).max())), xlabel="mean time of a simulation step [µs]")
        figure.legend(loc="outside upper right", ncols=2, handlelength=1.4, handleheight=1.1)
    return figure
