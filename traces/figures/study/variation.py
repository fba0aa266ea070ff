"""How the makespan grows with the variation of task lengths: the two-level paper's Figures 5 and 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.figures.drawing.canvas import Figure
from traces.figures.study.combinations import Combinations
from traces.figures.study.panels import lines_figure

if TYPE_CHECKING:
    import pandas as pd


def variation_figure(
    results: pd.DataFrame, *, metric: str = "makespan_ns", workload: str | None = None, title: str = ""
) -> Figure:
    """Draw the makespan against the task variation Υ: one panel per batch policy, one line per technique.

    A point is the mean over the seeds, its whisker the 95 % interval. The points of one variation are set apart a little, and
    stand in the order of the legend. The axis of makespans does not start at zero, and says so. More than eight techniques
    are rows.

    Parameters
    ----------
    results : DataFrame
        A study's: a row a combination and seed.
    metric : str
        What is drawn instead of the makespan.
    workload : str, optional
        Which one, if there are several.

    Raises
    ------
    InputError
        If there is nothing to draw, or a name is unknown.
    """
    cells = Combinations.of(results, metric, workload=workload)
    return lines_figure(cells, cells.shown_estimates(), title=title)
