"""The figures of the studies draw what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from traces.base.errors import InputError
from traces.figures.drawing.boxes import Box
from traces.figures.run.slowdown_share import Affected, slowdown_share_figure
from traces.figures.study.planning import Planned, planning_outcomes_figure, planning_ratios_figure


def bars(axes: object) -> list[tuple[float, float]]:
    """Left end and width of each."""
    return [(bar.get_x(), bar.get_width()) for group in axes.containers for bar in group]  # type: ignore[attr-defined]


def test_a_box_is_its_percentiles() -> None:
    assert Box.of(np.arange(101)) == Box(5, 25, 50, 75, 95, 50)
    assert Box.of([3]) == Box(3, 3, 3, 3, 3, 3)
    for nothing in ([], [1.0, np.nan], [np.inf]):
        with pytest.raises(InputError, match="no box"):
            Box.of(nothing)


def affected(log: str = "some log") -> Affected:
    high = Box(6, 8, 10, 20, 40, 15)
    return Affected(log, ["requested", "exact"], 200, np.array([[40, 50], [10, 14]]), [high, None])


def test_the_share_of_jobs_with_a_high_slowdown() -> None:
    left, right = slowdown_share_figure([affected()], threshold=5).axes
    assert bars(left) == [(0, 22.5), (0, 6)]  # percent of 200
    assert [text.get_text() for text in left.texts] == ["45", "12"]
    before, *points = left.lines
    assert before.get_xdata() == [22.5, 22.5]
    assert [line.get_xdata().tolist() for line in points] == [[20, 25], [5, 7]]
    assert left.get_xlabel() == "jobs with a slowdown > 5 [% of 200]"
    assert bars(right) == [(8, 12)]  # nothing where no job has one
    assert len(slowdown_share_figure([affected("a"), affected("b")], threshold=5).axes) == 4
    with pytest.raises(InputError, match="no log"):
        slowdown_share_figure([], threshold=5)


def test_the_figure_of_outcomes_has_a_bar_and_a_deviation_for_each() -> None:
    planned = [Planned("hcp19, exact", 2.0, 3.0, 10.0, 20.0), Planned("pcp20, exact", 150.0, 4.0, 0.0, 0.0)]
    slowdown, wait = planning_outcomes_figure(planned).axes
    assert [bar.get_width() for bar in slowdown.patches] == [2.0, 150.0]
    assert [bar.get_width() for bar in wait.patches] == [10.0, 1.0]
    assert [line.get_xdata().tolist() for line in slowdown.lines[::2]] == [[2.0, 5.0], [150.0, 154.0]]  # type: ignore[union-attr]
    assert [text.get_text() for text in slowdown.texts] == ["2.0", "150"]
    with pytest.raises(InputError, match="no dispatcher"):
        planning_outcomes_figure([])


def test_the_figure_of_ratios_tells_models_that_were_not_made() -> None:
    modelled, ratio = np.array([1, 10, 100]), np.array([0.5, 0.05, 0.01])
    figure = planning_ratios_figure(
        modelled, 4 * modelled, ratio, ratio, np.ones(3), is_made=np.array([True, True, False])
    )
    variables, _, value = figure.axes
    assert [len(line.get_xdata()) for line in variables.lines] == [2, 1, 2]  # type: ignore[arg-type]
    assert variables.lines[0].get_xdata().tolist() == [4.0, 4.0]  # type: ignore[union-attr]
    assert variables.lines[1].get_ydata().tolist() == [0.01]  # type: ignore[union-attr]
    assert value.lines[0].get_ydata().tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    assert value.get_ylim()[0] < 0 < value.get_ylim()[1]
    assert len(figure.legends) == 1
    none = np.zeros(0)
    with pytest.raises(InputError, match="no instance"):
        planning_ratios_figure(none, none, none, none, none, is_made=none.astype(bool))
