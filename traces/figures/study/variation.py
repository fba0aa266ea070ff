"""Makespan by the variation of task lengths: the two-level paper's Figures 5 and 6."""

from traces.figures.drawing.canvas import Figure
from traces.figures.study.combinations import Combinations
from traces.figures.study.panels import lines_figure
from traces.tables import DataFrame


def variation_figure(
    results: DataFrame, *, metric: str = "makespan_ns", workload: str | None = None, title: str = ""
) -> Figure:
    """Draw the makespan against the task variation Υ: one panel per batch policy, one line per technique.

    A point is the mean over the seeds, its whisker the 95 % interval. Points of one variation are shifted slightly, in the
    order of the legend. The vertical axis does not start at zero, as its label states. Raises InputError if there is
    nothing to draw, or a name is unknown.
    """
    cells = Combinations.of(results, metric, workload=workload)
    return lines_figure(cells, cells.shown_estimates(), title=title)
