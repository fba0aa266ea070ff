"""Figures of loops and graphs: bars, chunks, levels and places."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

import traces.figures.application.schedule as schedule
import traces.figures.application.task_graph as task_graph
from tools.paper_figures import chunk_sizes_figure
from traces.base.errors import InputError
from traces.figures.application.graph_levels import task_levels
from traces.figures.application.loop import LoopChunks, loop_figure, loop_intervals
from traces.figures.application.schedule import ScheduleTasks, ScheduleTransfers, schedule_figure
from traces.figures.application.task_graph import task_graph_figure
from traces.figures.drawing import bars
from traces.figures.drawing.canvas import save, shades

pytestmark = pytest.mark.whole


def chunks(*rows: tuple[int, int, int, int, int]) -> LoopChunks:
    return LoopChunks(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


# Core 1 had no chunk; core 0 waits between its chunks, and core 2 pays for its only one.
SMALL = chunks((2, 5, 0, 3, 10), (0, 4, 0, 0, 4), (0, 1, 6, 7, 9))


def test_cores_over_time_by_hand() -> None:
    intervals = np.stack(loop_intervals(SMALL, 3, 12), axis=1).tolist()
    assert intervals == table_rows(__file__, "what_cores_did")


def test_bars_axes_and_the_makespan() -> None:
    figure = loop_figure(SMALL, n_cores=3, end_ns=12, title="gss", first_core=(0, 2, 3))
    upper, lower = figure.axes
    bars = upper.collections[0]
    assert len(bars.get_paths()) == 9
    corners = bars.get_paths()[3].vertices[:4]
    assert sorted(set(np.asarray(corners)[:, 0].tolist())) == [7.0, 9.0]
    assert np.asarray(corners)[:, 1].min() > 0.0
    assert np.asarray(corners)[:, 1].max() < 1.0
    shades = {tuple(np.round(colour, 6)) for colour in np.asarray(bars.get_facecolor())[[0, 1, 2, 3]]}
    assert len(shades) == 4
    (between,) = upper.collections[1].get_segments()
    assert [y for _, y in between] == [2, 2]
    (end,) = upper.get_lines()
    assert list(end.get_xdata()) == [12, 12]
    assert upper.get_ylabel() == "core"
    assert lower.get_xlabel() == "time since the start of the loop [ns]"
    assert upper.get_title(loc="left") == "gss"
    assert upper.get_title(loc="right") == "makespan 12 ns; 3 chunks, 10 tasks, 3 cores"
    _, dots = lower.get_lines()
    assert list(zip(dots.get_xdata(), dots.get_ydata(), strict=True)) == [(0, 5), (0, 4), (6, 1)]
    (legend,) = figure.legends
    labels = ["chunks, in alternating shades", "overhead and waiting for a chunk", "idle", "end of the loop"]
    assert [text.get_text() for text in legend.get_texts()] == labels


def test_chunk_sizes_are_squares_side_by_side() -> None:
    figure = chunk_sizes_figure({"gss": [5, 3, 2], "static": [5, 5], "ss": [1] * 10, "a": [10], "b": [4, 6]}, title="T")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["gss", "static", "ss", "a", "b"]
    assert [axes.get_title(loc="right") for axes in shown][2:4] == ["10 chunks", "1 chunk"]
    boxes = [path.get_extents().bounds for path in shown[0].collections[0].get_paths()]
    assert boxes == [(0, 0, 5, 5), (5, 0, 3, 3), (8, 0, 2, 2)]
    assert {axes.get_xlim() for axes in shown} == {(0, 10)}
    assert len({axes.get_ylim() for axes in shown}) == 1


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="no chunk was run"):
        loop_figure(LoopChunks(*[np.empty(0, np.int64)] * 5), n_cores=3)
    with pytest.raises(InputError, match="no chunk sizes"):
        chunk_sizes_figure({"gss": []})


def table(*rows: tuple[int, ...]) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*rows, strict=True)]


# Core, start, end, level. Task 3 waits on core 1 from 4 (task 1 ends) to 6; task 4 never ran.
TASKS = ScheduleTasks(*table((0, 0, 3, 0), (1, 0, 4, 0), (0, 3, 5, 1), (1, 6, 9, 1), (-1, -1, -1, 2)))
# Source, target, bytes, sent, arrived.
TRANSFERS = ScheduleTransfers(*table((0, 3, 100, 3, 6), (1, 2, 0, 2, 3)))
OPTIONS: dict[str, Any] = {"n_cores": 3, "first_core": (0, 2, 3)}


def boxes(axes: Any, label: str) -> list[list[float]]:
    (drawn,) = [one for one in axes.collections if one.get_label() == label]
    corners = [np.asarray(path.vertices[:4]) for path in drawn.get_paths()]
    return [np.round([*one.min(axis=0), *one.max(axis=0)], 6).tolist() for one in corners]


def labels(axes: Any) -> set[str]:
    return {one.get_label() for one in axes.collections}


def test_bars_waits_lines_and_the_critical_path() -> None:
    figure = schedule_figure(TASKS, TRANSFERS, critical=np.array([0, 3, 4]), end_ns=12, title="heft", **OPTIONS)
    (axes,) = figure.axes
    assert boxes(axes, "tasks") == [[0, 0.08, 3, 0.92], [0, 1.08, 4, 1.92], [3, 0.08, 5, 0.92], [6, 1.08, 9, 1.92]]
    assert boxes(axes, "waits") == [[4, 1.08, 6, 1.92]]
    assert boxes(axes, "critical") == [[0, 0.08, 3, 0.92], [6, 1.08, 9, 1.92]]
    (lines,) = [one for one in axes.collections if one.get_label() == "transfers"]
    assert [np.round(one, 6).tolist() for one in lines.get_segments()] == [[[3, 0.8], [6, 1.2]], [[2, 1.2], [3, 0.8]]]
    assert axes.get_xlim()[0] == 0
    assert axes.get_xlim()[1] == pytest.approx(12, rel=0.01)
    assert axes.get_ylim() == (3, 0)
    assert axes.get_xlabel() == "time since the start of the graph [ns]"
    assert axes.get_title(loc="left") == "heft"
    assert axes.get_title(loc="right") == "makespan 12 ns; 4 tasks, 3 cores"
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["level 0", "level 1", "level 2", "waits for data", "critical path", "transfer", "makespan"]


def test_many_tasks_become_an_image_of_their_union(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "SINGLE_BARS", 3)
    axes = schedule_figure(TASKS, TRANSFERS, **OPTIONS).axes[0]
    pixels = np.asarray(axes.images[0].get_array())
    assert "tasks" not in labels(axes)
    for row, at, level in ((0, 1, 0), (0, 4, 1), (1, 8, 1)):
        assert pixels[row, int(at / 9 * bars._COLUMNS)] == pytest.approx(shades(3)[level])
    assert pixels[1, int(5 / 9 * bars._COLUMNS)] == pytest.approx([1, 1, 1])


# 0 -> 1 -> 3, 0 -> 2 -> 3, 0 -> 3 passes a level; 4 stands alone.
SOURCE, TARGET = np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 3, 3])
DIAMOND = (np.array([1.0, 4.0, 0.0, 1.0, 2.0]), SOURCE, TARGET, np.array([4.0, 1.0, 0.0, 16.0, 1.0]))


def test_levels_are_longest_paths() -> None:
    assert task_levels(5, SOURCE, TARGET).tolist() == [0, 1, 1, 2, 0]
    assert task_levels(3, np.array([2, 0]), np.array([0, 1])).tolist() == [1, 2, 0]
    assert task_levels(1, np.zeros(0, int), np.zeros(0, int)).tolist() == [0]
    with pytest.raises(InputError, match="tasks that wait for each other"):
        task_levels(3, np.array([0, 1]), np.array([1, 0]))


def test_circles_edges_and_names() -> None:
    figure = task_graph_figure(*DIAMOND, ["a", "b", "c", "d", "e"], critical=[0, 1, 3], title="diamond")
    (axes,) = figure.axes
    (circles,) = [one for one in axes.collections if one.get_label() == "tasks"]
    assert np.asarray(circles.get_offsets())[:, 0].tolist() == [0, 1, 1, 2, 0]
    areas = circles.get_sizes()
    assert areas[1] / areas[0] == pytest.approx(4)
    assert areas[2] > 0
    (critical,) = [one for one in axes.collections if one.get_label() == "critical"]
    (others,) = [one for one in axes.collections if one.get_label() == "edges"]
    assert len(critical.get_segments()) == 2
    assert len(others.get_segments()) == 3
    widths = critical.get_linewidths()
    assert widths[1] > widths[0]
    for edge, (a, b) in zip(critical.get_segments(), ((0, 1), (1, 3)), strict=True):
        offsets = np.asarray(circles.get_offsets())
        np.testing.assert_allclose([edge[0], edge[-1]], offsets[[a, b]])
    assert [text.get_text() for text in axes.texts] == ["a", "b", "c", "d", "e"]
    assert axes.get_title(loc="right") == "5 tasks, 5 edges, 3 levels; 8 GFLOP"
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == ["level 0", "level 1", "level 2", "edge (wider: more bytes)", "critical path", "without bytes"]


def test_a_large_graph_is_its_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_graph, "MOST_NODES", 4)
    upper, lower = task_graph_figure(*DIAMOND, []).axes
    assert [bar.get_height() for bar in upper.patches] == [2, 2, 1]
    assert [bar.get_height() for bar in lower.patches] == [3, 4, 1]
    assert upper.get_ylim()[0] == lower.get_ylim()[0] == 0


def test_the_least_graphs(tmp_path: Path) -> None:
    none = np.zeros(0)
    save(task_graph_figure(np.zeros(1), none, none, none, [r"$\alpha"]), tmp_path / "one.png")
    save(task_graph_figure(np.zeros(2), np.array([0]), np.array([1]), np.zeros(1), []), tmp_path / "order.png")
    save(schedule_figure(ScheduleTasks(*table((0, 0, 1, 0))), None, n_cores=1), tmp_path / "one.png")
    with pytest.raises(InputError, match="no task ran"):
        save(schedule_figure(ScheduleTasks(*table((-1, -1, -1, 0))), None, n_cores=1), tmp_path / "s.png")
    with pytest.raises(InputError, match="the graph has no task"):
        save(task_graph_figure(none, none, none, none, []), tmp_path / "s.png")


def test_names_stand_where_they_fit() -> None:
    tasks = ScheduleTasks(*table((0, 0, 100, 0), (0, 100, 101, 0), (1, 0, 30, 0)))
    names = ["first", "second", "the third has a name that is longer than its bar can bear"]
    axes = schedule_figure(tasks, None, names=names, **OPTIONS).axes[0]
    first, third = (text.get_text() for text in axes.texts)
    assert first == "first"
    assert third.startswith("the third has a name")
    assert third.endswith("…")
    axes = schedule_figure(tasks, None, **OPTIONS).axes[0]
    assert [text.get_text() for text in axes.texts] == ["0", "2"]


def test_only_the_largest_of_many_transfers_are_drawn_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "MOST_LINES", 1)
    axes = schedule_figure(TASKS, TRANSFERS, **OPTIONS).axes[0]
    (lines,) = [one for one in axes.collections if one.get_label() == "transfers"]
    assert [np.round(one, 6).tolist() for one in lines.get_segments()] == [[[3, 0.8], [6, 1.2]]]
    assert axes.get_title(loc="right").endswith("; lines: the largest 1 of 2 transfers")


def test_colours_are_hosts_or_cores() -> None:
    def shown(**options: Any) -> list[str]:
        return [text.get_text() for text in task_graph_figure(*DIAMOND, [], **options).legends[0].get_texts()][:-2]

    core = np.array([0, 3, 2, 1, -1])
    assert shown(core=core, first_core=(0, 2, 4)) == ["host 0", "host 1", "never ran"]
    assert shown(core=core) == ["core 0", "core 1", "core 2", "core 3", "never ran"]
