"""The figures of the studies draw what they are given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from traces.base.errors import InputError
from traces.figures.drawing.boxes import Box
from traces.figures.drawing.canvas import save
from traces.figures.run.slowdown_share import Affected, slowdown_share_figure
from traces.figures.study.dispatchers import (
    by_queue_size,
    dispatchers_figure,
    scaling_figure,
    step_times_figure,
)

NAMES = [("FIFO", "FF"), ("FIFO", "BF"), ("EASY", "FF")]
SLOWDOWN = [np.linspace(1, 101, 101), np.linspace(1, 51, 101), np.array([1.0, 1.0, 1.0, 5.0])]
QUEUE = [np.arange(101), np.zeros(7, np.int64), np.array([0, 0, 4, 8])]


def bars(axes: object) -> list[tuple[float, float]]:
    """Left end and width of each."""
    return [(bar.get_x(), bar.get_width()) for group in axes.containers for bar in group]  # type: ignore[attr-defined]


def test_a_box_is_its_percentiles() -> None:
    assert Box.of(np.arange(101)) == Box(5, 25, 50, 75, 95, 50)
    assert Box.of([3]) == Box(3, 3, 3, 3, 3, 3)
    for nothing in ([], [1.0, np.nan], [np.inf]):
        with pytest.raises(InputError, match="no box"):
            Box.of(nothing)


def test_boxes_of_the_dispatchers() -> None:
    left, right = dispatchers_figure(NAMES, SLOWDOWN, QUEUE).axes
    assert bars(left) == [(26, 50), (13.5, 25), (1, 1)]
    assert bars(right) == [(25, 50), (0, 0), (0, 5)]
    assert [line.get_xdata()[0] for line in left.lines] == [51, 26, 2]  # the means
    assert [text.get_text() for text in left.get_yticklabels()] == ["FIFO-FF", "FIFO-BF", "EASY-FF"]
    assert left.get_ylim()[0] > left.get_ylim()[1]  # the first one is at the top
    colours = [bar.get_facecolor() for group in left.containers for bar in group]
    assert colours[0] == colours[1] != colours[2]
    assert (left.get_xscale(), right.get_xscale()) == ("log", "symlog")


def test_bars_of_a_step_are_the_rest_and_then_deciding() -> None:
    (axes,) = step_times_figure(NAMES, [1000, 2000, 3500], [4000, 4000, 500]).axes
    assert bars(axes) == [(0, 4), (0, 4), (0, 0.5), (4, 1), (4, 2), (0.5, 3.5)]
    assert [group.get_label() for group in axes.containers] == ["the rest", "deciding"]
    assert [text.get_text() for text in axes.texts] == ["4.00 + 1.00", "4.00 + 2.00", "0.50 + 3.50"]
    assert "[µs]" in axes.get_xlabel()


def test_queue_sizes_are_put_into_classes() -> None:
    queue = np.repeat([0, 1, 10, 11, 12, 13, 14, 400], [10, 12, 11, 5, 5, 5, 5, 9])
    size, mean_ns = by_queue_size(queue, queue * 100 + 7)
    # 10 to 12 are one class, 13 to 15 another; there are only nine decisions at 400.
    first = (10 * 11 + 11 * 5 + 12 * 5) / 21
    assert size.tolist() == pytest.approx([0, 1, first, 13.5])
    assert mean_ns.tolist() == pytest.approx([7, 107, 100 * first + 7, 1357])
    assert by_queue_size(np.zeros(0, np.int64), np.zeros(0))[0].size == 0


def test_lines_of_scaling() -> None:
    queue = [np.repeat([0, 5], 10)] * 3
    times = [np.repeat([1000, 2000 * k], 10) for k in (1, 2, 3)]
    (axes,) = scaling_figure(NAMES, queue, times).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1, 2], [1, 4], [1, 6]]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", "-"]
    assert axes.lines[0].get_color() == axes.lines[1].get_color() != axes.lines[2].get_color()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["FIFO-FF", "FIFO-BF", "EASY-FF"]
    with pytest.raises(InputError, match="no dispatcher"):
        scaling_figure([], [], [])


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


def test_figures_are_written_equal_for_equal_data(tmp_path: Path) -> None:
    times = [np.full(len(queue), 900) for queue in QUEUE]

    def drawn(where: Path) -> list[bytes]:
        paths = [
            save(dispatchers_figure(NAMES, SLOWDOWN, QUEUE), where / "a.svg"),
            save(step_times_figure(NAMES, [1, 2, 3], [4, 5, 6]), where / "b.svg"),
            save(scaling_figure(NAMES, QUEUE, times), where / "c.svg"),
            save(slowdown_share_figure([affected()], threshold=5), where / "d.svg"),
        ]
        return [path.read_bytes() for path in paths]

    assert drawn(tmp_path / "one") == drawn(tmp_path / "two")
    with pytest.raises(InputError, match="cannot draw"):
        save(dispatchers_figure(NAMES, SLOWDOWN, QUEUE), tmp_path / "a.gif")
