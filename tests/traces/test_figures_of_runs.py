"""Figures of one run: what is drawn is what the tables of jobs and tasks say."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from run_frames import S, jobs_of, tasks_of
from tables import table_rows

import traces.figures.run.utilisation as utilisation
from traces.base.errors import InputError
from traces.figures.application.chunk_sizes import chunks_figure
from traces.figures.application.task_lengths import task_lengths_figure
from traces.figures.drawing import bars
from traces.figures.drawing.canvas import PALETTE, rgb, save
from traces.figures.drawing.gpu_rows import parts_of_rows
from traces.figures.drawing.panels import Box
from traces.figures.drawing.time_axis import duration_marks, time_axis, time_unit
from traces.figures.run.core_heat import heat_figure
from traces.figures.run.gantt import core_gantt_figure, select_bars
from traces.figures.run.job_imbalance import imbalance_jobs_figure
from traces.figures.run.power import power_figure
from traces.figures.run.utilisation import utilisation_figure
from traces.figures.run.wait_times import waits_figure
from traces.holdings import HeldGpus
from traces.tables import POWER_COLUMNS

pytestmark = pytest.mark.whole

#: job, core, start, end
BARS = np.array(
    [[1542, 0, 0, 4 * S], [1542, 1, 0, 10 * S], [1543, 2, 2 * S, 9 * S], [1542, 0, 4 * S, 7 * S], [1543, 5, 0, 3 * S]]
)
COLUMNS = tuple(BARS.T)
NAMES = ("job_id", "core", "start_ns", "end_ns")
HOSTS: dict[str, Any] = {"first_core": np.array([0, 4, 6]), "host_names": ["host 0", "host 1"]}


def gantt_figure(*columns: Any, **how: Any) -> Any:
    """The chart of these columns."""
    return core_gantt_figure(pd.DataFrame(dict(zip(NAMES, columns, strict=True))), **how)


def rectangles(figure: object) -> list[tuple[float, float, float, float]]:
    """(x0, y0, x1, y1) of the drawn bars."""
    bars = figure.axes[0].collections[0]  # type: ignore[attr-defined]
    corners = [path.vertices[:4] for path in bars.get_paths()]
    return [(*one.min(axis=0).tolist(), *one.max(axis=0).tolist()) for one in corners]


def test_bars_colours_and_the_legend() -> None:
    figure = gantt_figure(*COLUMNS, **HOSTS)
    np.testing.assert_allclose(rectangles(figure), [(s / S, c + 0.06, e / S, c + 0.94) for _, c, s, e in BARS.tolist()])
    axes = figure.axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 10), (6, 0))
    assert axes.get_xlabel() == "time since the start of the workload [s]"
    first, second = rgb(PALETTE[0]), rgb(PALETTE[1])
    colours = [tuple(one[:3]) for one in axes.collections[0].get_facecolor().tolist()]
    assert colours == [first, first, second, first, second]
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["job 1542", "job 1543"]
    assert [patch.get_facecolor()[:3] for patch in legend.get_patches()] == [first, second]
    k = np.arange(40)
    many = gantt_figure(k, k % 6, k * S, (k + 1) * S, **HOSTS)
    assert many.legends == []
    assert "colours recur" in many.axes[0].get_title(loc="right")
    colours = many.axes[0].collections[0].get_facecolor()
    assert (colours[:-1] != colours[1:]).any(axis=1).all()


@pytest.mark.parametrize("single_bars", [2, 10])
def test_jobs_that_never_ran_are_not_drawn(single_bars: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one by one nor as what it covers."""
    monkeypatch.setattr(bars, "SINGLE_BARS", single_bars)
    rows = np.array([[1, 0, 2 * S, 4 * S], [1, -1, -1, -1], [2, 1, 4 * S, 9 * S], [2, 2, 3 * S, 4 * S]])
    columns, others = select_bars(pd.DataFrame(rows, columns=list(NAMES)), None, [(0, 6)])
    assert [column.tolist() for column in columns] == rows[[0, 2, 3]].T.tolist()
    assert not others
    axes = gantt_figure(*rows.T, **HOSTS).axes[0]
    assert axes.get_xlim() == (0, 9)  # and not from the one at -1
    assert axes.get_title(loc="right") == "3 bars of 2 jobs on 6 cores; white: idle"


@pytest.mark.parametrize("block", [1, 2, 1_000_000])
def test_very_many_bars_are_drawn_as_their_union(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "SINGLE_BARS", 4)
    monkeypatch.setattr(bars, "_BLOCK", block)
    axes = gantt_figure(*COLUMNS, **HOSTS).axes[0]
    picture = axes.images[0].get_array()
    assert axes.images[0].get_extent() == [0, 10, 6, 0]
    height, width, _ = picture.shape
    assert height == 6
    first, second, white = rgb(PALETTE[0]), rgb(PALETTE[1]), (1, 1, 1)
    for core, second_of_run, colour in [(0, 1, first), (0, 8, white), (2, 1, white), (2, 5, second), (3, 5, white)]:
        np.testing.assert_allclose(picture[core, second_of_run * width // 10 + 1], colour, err_msg=str(core))


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_files_of_every_format_are_equal_when_drawn_twice(tmp_path: Path, suffix: str, magic: bytes) -> None:
    paths = [save(gantt_figure(*COLUMNS, **HOSTS, title="FCFS, GSS"), tmp_path / name / f"g.{suffix}") for name in "ab"]
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(magic)
    assert first == second


#: Job, GPU, thousandths, start, end; host 0 has GPUs 0 and 1, host 1 GPU 2.
SHARES = [
    *((1542, 0, 1000, 0, 4), (1542, 2, 250, 0, 10), (1543, 2, 500, 2, 9), (1544, 2, 250, 3, 5)),
    *((1543, 1, 1000, 2, 9), (1544, 2, 250, 5, 10), (1544, 0, 500, 4, 6)),
]


def held(rows: list[tuple[int, ...]], first: list[int]) -> HeldGpus:
    job, gpu, milli, start, end = np.array(rows, np.int64).reshape(-1, 5).T
    return HeldGpus(job, job, gpu, milli, start * S, end * S, np.array(first))


@pytest.mark.parametrize(
    ("chosen", "labels", "expected"),
    [
        (
            {},
            ["0", "1", "2", "3", "gpu 0", "gpu 1", "4", "5", "gpu 0"],
            [(0, 4, 4, 5), (2, 5, 9, 6), (0, 8, 10, 8.25), (2, 8.25, 9, 8.75)],
        ),
        ({"cores": [(2, 4)]}, ["2", "3", "gpu 0", "gpu 1"], [(2, 3, 9, 4)]),
        (
            {"cores": [(0, 1), (5, 6)], "jobs": [(1542, 1543)]},
            ["0", "gpu 0", "gpu 1", "5", "gpu 0"],
            [(0, 1, 4, 2), (0, 4, 10, 4.25)],
        ),
    ],
)
def test_gpus_are_below_the_cores_of_their_host(
    chosen: dict[str, Any], labels: list[str], expected: list[tuple[float, ...]]
) -> None:
    """Jobs without a bar on the shown cores draw nothing."""
    figure = gantt_figure(*COLUMNS, **HOSTS, **chosen, gpus=held(SHARES, [0, 2, 3]))
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == labels
    (drawn,) = axes.findobj(lambda one: one.get_gid() == "gpus")
    corners = [path.vertices[:4] for path in drawn.get_paths()]
    assert [(*one.min(axis=0).tolist(), *one.max(axis=0).tolist()) for one in corners] == expected
    colours = [tuple(one[:3]) for one in drawn.get_facecolor().tolist()]
    assert set(colours) <= {rgb(PALETTE[0]), rgb(PALETTE[1])}


@given(
    rows=st.lists(
        st.tuples(st.just(1), st.integers(0, 1), st.sampled_from((1, 250, 333, 500, 1000)), st.integers(0, 9)),
        max_size=12,
    ),
    lasting=st.lists(st.integers(0, 6), min_size=12, max_size=12),
)
def test_parts_of_a_row_are_shares_and_apart(rows: list[tuple[int, ...]], lasting: list[int]) -> None:
    kept: list[tuple[int, ...]] = []
    for (job, gpu, milli, start), time in zip(rows, lasting, strict=False):
        there = [one for one in kept if one[1] == gpu and one[3] < start + time and start < one[4]]
        if time and milli + sum(one[2] for one in there) <= 1000:
            kept.append((job, gpu, milli, start, start + time))
    parts = list(zip(*(column.tolist() for column in parts_of_rows(held(kept, [0, 2]))), strict=True))
    for row, one in enumerate(kept):
        assert sum(high - low for k, low, high in parts if k == row) == one[2]
    for gpu in (0, 1):
        for now in range(16):
            there = [(low, high) for k, low, high in parts if kept[k][1] == gpu and kept[k][3] <= now < kept[k][4]]
            assert all(0 <= low < high <= 1000 for low, high in there)
            assert all(one[1] <= other[0] for one, other in pairwise(sorted(there)))


def test_impossible_figures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot draw into a file ending in '.gif'; allowed: .png, .svg, .pdf"):
        save(gantt_figure(*COLUMNS, **HOSTS), tmp_path / "g.gif")
    with pytest.raises(InputError, match="nothing to draw"):
        gantt_figure(*(column[:0] for column in COLUMNS), **HOSTS)
    with pytest.raises(InputError, match=r"^cores: 6-8 is out of range: the machine has cores 0 to 5"):
        gantt_figure(*COLUMNS, **HOSTS, cores=[(6, 9)])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write the figure: .*file is a file$"):
        save(gantt_figure(*COLUMNS, **HOSTS), tmp_path / "file" / "g.png")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


WIDE: dict[str, Any] = {"first_core": np.array([0, 16, 32]), "host_names": ["host 0", "host 1"]}

#: Job 7 on cores 0 to 1 and 4 to 13, job 8 on 2 to 3, job 9 on 10 to 21 later.
ROWS = [
    *((7, core, 0, core, 0, 9 + core % 2, 1.0) for core in (0, 1, *range(4, 14))),
    *((8, core, 0, core, 0, 10, 1.0) for core in (2, 3)),
    *((9, core, 0, core, 10, 40, 1.0) for core in range(10, 22)),
    (9, 99, 0, -1, -1, -1, 1.0),
]
TASKS = tasks_of(ROWS)


def test_bars_of_chosen_tasks_numbers_of_jobs_and_lines_around_blocks() -> None:
    figure = core_gantt_figure(TASKS, **WIDE)
    assert len(rectangles(figure)) == len(ROWS) - 1
    assert len(rectangles(core_gantt_figure(TASKS, **WIDE, jobs=[(8, 9)]))) == 2
    some = core_gantt_figure(TASKS, **WIDE, jobs=[(7, 8), (9, 10)], cores=[(8, 12)])
    assert (len(rectangles(some)), some.axes[0].get_ylim()) == (6, (4, 0))
    found = {text.get_text(): text.get_position() for text in figure.axes[0].texts if text.get_gid() == "job"}
    assert set(found) == {"7", "8", "9"}
    (x, y), (later, below) = found["7"], found["9"]
    assert 0 < x < 5
    assert 4 < y < 14  # on the larger of its two blocks
    assert 10 < later < 25
    assert below == 12.5  # not on the line between the hosts, which is in its middle
    assert all(y % 1 == 0.5 for _, y in found.values())
    begins, tops, bottoms = (
        [tuple(map(tuple, segment)) for segment in one.get_segments()] for one in figure.axes[0].collections[2:5]
    )
    assert begins == [((0, 0), (0, 2)), ((0, 4), (0, 14)), ((0, 2), (0, 4)), ((10, 10), (10, 22))]
    assert tops == [((0, 0), (10, 0)), ((0, 4), (10, 4)), ((0, 2), (10, 2)), ((10, 10), (40, 10))]
    assert bottoms == [((0, 2), (10, 2)), ((0, 14), (10, 14)), ((0, 4), (10, 4)), ((10, 22), (40, 22))]


COMPUTING = tasks_of(table_rows(__file__, "computing"))


def share(figure: Any) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_the_map_by_hand() -> None:
    figure = heat_figure(COMPUTING, **HOSTS, columns=4, title="t")
    axes, bar = figure.axes
    expected = np.zeros((6, 4))
    expected[0] = [1, 0, 0, 0]
    expected[1] = [1, 1, 0.5, 0]
    expected[4] = [0, 1, 1, 1]
    np.testing.assert_allclose(share(figure), expected, atol=1e-12)
    assert axes.images[0].get_extent() == [0, 20, 6, 0]
    assert axes.images[0].get_clim() == (0, 1)
    assert axes.get_ylim() == (6, 0)
    assert axes.get_xlabel() == "time since the start of the workload [s]"
    assert bar.get_ylabel() == "computing [share of the time]"
    assert axes.get_title(loc="right") == f"6 cores; cell width 5 s; mean share {32.5 / 120:.3f}"
    assert [text.get_text() for text in axes.texts] == ["host 0", "host 1"]


WAITS: list[dict[str, Any]] = table_rows(__file__, "waits")
JOBS = jobs_of(WAITS)


def curves(axes: Any) -> list[tuple[list[float], list[float]]]:
    return [
        (line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in axes.lines
        if line.get_drawstyle() == "steps-post"
    ]


def test_the_curves_by_hand() -> None:
    left, right = waits_figure(JOBS, title="t").axes
    ((x, y),) = curves(left)
    zero = x[0]
    assert x == [zero, zero, zero, 10 * S, 30 * S, pytest.approx(37.5 * S)]
    assert y == [0, 0.25, 0.5, 0.75, 1, 1]
    assert curves(right) == [([1, 1, 1, 2, 4, 5], [0, 0.25, 0.5, 0.75, 1, 1])]
    assert left.get_title(loc="right") == "4 jobs; median 5 s; 50 % did not wait"
    assert right.get_title(loc="right") == "median 1.5"
    assert (left.get_xscale(), right.get_xscale()) == ("log", "log")
    # Zero has a place of its own, left of a border.
    assert left.get_xticklabels()[0].get_text() == "0"
    assert left.get_xlim()[0] < left.get_xticks()[0] == zero
    assert "0 at the left" in left.get_xlabel()
    (border,) = [line for line in left.lines if line.get_linestyle() == ":"]
    assert 0 < zero < border.get_xdata()[0] < 10 * S
    # The marker of the two that did not wait is where the curve begins.
    assert (left.lines[0].get_marker(), left.lines[0].get_markevery()) == ("o", [2])


def test_bounded_slowdown_uses_ten_seconds_and_is_at_least_1() -> None:
    assert waits_figure(JOBS[:2]).axes[1].get_title(loc="right") == "median 1"  # also of the job that ran for 1 s
    _, right = waits_figure(jobs_of([{"submit": 0, "start": 15, "end": 20, "cores": 1}])).axes
    assert curves(right)[0][0][0] == 2


def labelled(n: int) -> pd.DataFrame:
    """Runs in the order a, c, b, d, …, the k-th of which waits k times as long."""
    names = [f"run {letter}" for letter in "acbdefghijkl"[:n]]
    tables = []
    for k, name in enumerate(names):
        table = JOBS[2:4].assign(run=name)
        table["start_ns"] += k * 10 * S
        table["end_ns"] += k * 10 * S
        tables.append(table)
    return pd.concat(tables)


def test_runs_are_lines_that_differ_in_more_than_colour_and_more_are_rows_of_boxes() -> None:
    figure = waits_figure(labelled(8))
    left = figure.axes[0]
    assert [x[0] / S for x, _ in curves(left)] == [10, 20, 30, 40, 50, 60, 70, 80]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:3] == ["run a (2 jobs)", "run c (2 jobs)", "run b (2 jobs)"]
    drawn = [line for line in left.lines if line.get_drawstyle() == "steps-post"]
    assert len({repr(line._unscaled_dash_pattern) for line in drawn}) == len({line.get_color() for line in drawn}) == 8
    left, right = waits_figure(labelled(9)).axes
    assert [text.get_text() for text in left.get_yticklabels()][:3] == ["run a", "run c", "run b"]
    boxes = [(bar.get_x() / S, bar.get_width() / S) for group in left.containers for bar in group]
    expected = [Box.of(np.array([10.0, 30.0]) + 10 * k) for k in range(9)]
    assert boxes == [(pytest.approx(box.first), pytest.approx(box.third - box.first)) for box in expected]
    assert len(right.containers) == 9


def jobs(pairs: list[tuple[int, float]]) -> pd.DataFrame:
    return jobs_of([{"submit": 0, "start": 0, "end": 1, "cores": n, "imbalance": value} for n, value in pairs])


FIVE = [0.1, 0.2, 0.3, 0.4, 0.9]
BALANCES = jobs([(1, 0.0), (1, 0.0), *((8, value) for value in FIVE), (5, 0.5), (16, np.nan), (300, 0.7)])


def labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_boxes_and_points_by_hand() -> None:
    figure = imbalance_jobs_figure(BALANCES, title="t")
    (axes,) = figure.axes
    assert labels(axes) == ["1\n2 jobs", "5–8\n6 jobs", "257–512\n1 job"]
    box = Box.of([*FIVE, 0.5])
    (bar,) = axes.containers[0]
    assert (bar.get_y(), bar.get_height()) == (pytest.approx(box.first), pytest.approx(box.third - box.first))
    (whisker,) = axes.collections[0].get_segments()
    assert whisker.tolist() == [[1, pytest.approx(box.low)], [1, pytest.approx(box.high)]]
    median, points = axes.lines
    assert (median.get_xdata().tolist(), median.get_ydata().tolist()) == ([1], [pytest.approx(box.median)])
    assert (list(points.get_xdata()), list(points.get_ydata())) == ([0, 0, 2], [0, 0, 0.7])
    assert axes.get_ylim()[0] == 0
    assert axes.get_title(loc="right") == "9 jobs, mean 0.344, largest 0.9 (not drawn)"


LOADS = jobs_of(table_rows(__file__, "loads"))


def curve(axes: object) -> tuple[list[float], list[float]]:
    """Values and edges of a panel's curve."""
    data = axes.patches[0].get_data()  # type: ignore[attr-defined]
    return data.values.tolist(), data.edges.tolist()


def test_the_curves_by_hand_of_utilisation() -> None:
    busy, waiting, asked = utilisation_figure(LOADS, cores=8, title="a $run").axes
    assert curve(busy) == ([0.5, 0.625, 0.5, 0.375], [0, 4, 6, 8, 10])
    assert curve(waiting) == ([1, 2, 1], [1, 2, 4, 6])
    assert curve(asked) == ([3, 4, 3], [1, 2, 4, 6])
    assert busy.get_ylim() == (0, 1.05)
    assert waiting.get_ylim()[0] == asked.get_ylim()[0] == 0
    assert busy.get_ylabel() == "busy cores\n[fraction of 8]"
    assert asked.get_xlabel() == "time since the start of the workload [s]"
    # 4 × 6 + 3 × 4 + 1 × 4 = 40 core seconds; the one that never started is nowhere.
    assert busy.get_title(loc="right") == "mean 0.5 (dashed)"
    assert waiting.get_title(loc="right") == "mean 0.7 (dashed), at most 2"
    assert asked.get_title(loc="right") == "mean 1.7 (dashed), at most 4"
    middles = [line.get_ydata()[0] for axes in (busy, waiting, asked) for line in axes.lines]
    assert middles == [pytest.approx(0.5), pytest.approx(0.7), pytest.approx(1.7)]


def test_busy_gpus_by_hand() -> None:
    busy, gpus, waiting, asked = utilisation_figure(LOADS, cores=8, gpus=held(SHARES, [0, 2, 3])).axes
    assert curve(busy) == ([0.5, 0.625, 0.5, 0.375], [0, 4, 6, 8, 10])
    times = [0, 2, 3, 4, 6, 9, 10]
    assert curve(gpus) == ([pytest.approx(one / 3000) for one in (1250, 2750, 3000, 2500, 2000, 500)], times)
    assert gpus.get_ylabel() == "busy GPUs\n[fraction of 3]"
    assert (gpus.get_ylim(), busy.get_ylim()) == ((0, 1.05), (0, 1.05))
    assert [axes.get_xlabel() != "" for axes in (busy, gpus, waiting, asked)] == [False, False, False, True]


def test_a_band_goes_from_the_least_to_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utilisation, "EXACT_STEPS", 2)
    busy = utilisation_figure(LOADS, cores=8).axes[0]
    assert curve(busy) == ([pytest.approx(0.525), pytest.approx(0.475)], [0, 5, 10])
    band = busy.patches[1].get_data()
    assert (band.baseline.tolist(), band.values.tolist()) == ([0.5, 0.375], [0.625, 0.625])
    assert "line: mean of each 5 s, band: least to most" in busy.get_title(loc="right")


def table(**columns: list[int]) -> pd.DataFrame:
    none = {name: [0, 0, 0] for name in POWER_COLUMNS}
    return pd.DataFrame(
        none | {"instant_ns": [0, 20 * S, 80 * S], "power_mw": [400, 280, 400], "limit_mw": [-1] * 3} | columns
    )


def edges_and_values(axes: Any) -> tuple[list[float], list[float]]:
    (patch, *_) = (one for one in axes.patches if isinstance(one, StepPatch))
    values, edges, _ = patch.get_data()
    return list(edges), list(values)


def texts_of(figure: Any) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text)}


DRAWN = [400_000_000, 280_000_000, 400_000_000]


def test_power_its_limit_and_hosts_that_are_stopped() -> None:
    drawn = table(power_mw=DRAWN, limit_mw=[-1, 300_000_000, -1], level=[0, 1, 0])
    figure = power_figure(drawn, until_ns=130 * S, title="a: b, fallback dvfs")
    power, level = figure.axes
    assert edges_and_values(power) == ([0, 20, 80, 130], [400, 280, 400])
    (limit,) = power.lines
    assert limit.get_xdata().tolist() == [0, 20, 80, 130]
    np.testing.assert_equal(limit.get_ydata(), [np.nan, 300, np.nan, np.nan])
    assert edges_and_values(level) == ([0, 20, 80, 130], [0, 1, 0])
    assert {"at most 400 kW; black: the limit", "a: b, fallback dvfs", "power [kW]", "slowing\nlevel"} < texts_of(
        figure
    )
    stopped = table(hosts_out=[0, 1, 0], hosts_stopping=[0, 1, 0], hosts_off=[0, 2, 0], hosts_booting=[0, 0, 3])
    power, away = power_figure(stopped, until_ns=90 * S).axes
    assert not power.lines
    assert edges_and_values(away)[1] == [0, 4, 3]


def test_very_many_steps_are_drawn_by_columns_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.figures.run.power._EXACT_STEPS", 2)
    monkeypatch.setattr("traces.figures.run.power._COLUMNS", 4)
    figure = power_figure(table(power_mw=DRAWN, level=[0, 1, 0]), until_ns=120 * S)
    power, level = (edges_and_values(axes) for axes in figure.axes)
    assert (power, level) == (([0, 30, 60, 90, 120], [360, 280, 320, 400]), ([0, 30, 60, 90, 120], [1, 1, 1, 0]))
    assert "at most 400 kW; line: mean of each 30 s, band: least to most" in texts_of(figure)


def test_parts_of_the_machine_have_panels() -> None:
    rows = [(0, "switch:a", 10**8, 8 * 10**7), (30 * S, "switch:a", 5 * 10**7, -1), (0, "hosts:3", 2 * 10**7, -1)]
    parts = pd.DataFrame(rows, columns=["instant_ns", "domain", "power_mw", "limit_mw"])
    figure = power_figure(table(level=[0, 1, 0]), until_ns=90 * S, domains=parts)
    _, level, first, second = figure.axes
    assert edges_and_values(level)[1] == [0, 1, 0]
    assert edges_and_values(first) == ([0, 30, 90], [100, 50])
    assert edges_and_values(second) == ([0, 90], [20])
    np.testing.assert_equal(first.lines[0].get_ydata(), [80, np.nan, np.nan])
    assert not second.lines
    assert {"switch:a: at most 100 kW; black: the limit", "hosts:3: at most 20 kW"} < texts_of(figure)


#: Job 1 has chunks of 3, 2, 1 tasks, job 2 one of 2.
CHUNKED = tasks_of(
    [
        *((1, task, chunk, 0, task, task + 1, float(task + 1)) for task, chunk in enumerate([0, 0, 0, 1, 1, 2])),
        (2, 0, 0, 1, 0, 1, 30.0),
        (2, 1, 0, 1, 1, 2, 10.0),
        (3, 0, 0, 2, 0, 1, 5.0),
        (4, 0, 0, -1, -1, -1, 5.0),
        (4, 1, 0, -1, -1, -1, 5.0),
    ]
)


def sizes(figure: Any) -> list[tuple[float, float, float]]:
    corners = [path.vertices[:4] for path in figure.axes[0].collections[0].get_paths()]
    return [(one[:, 0].min(), np.ptp(one[:, 0]), one[:, 1].max()) for one in corners]


def test_chunks_of_the_job_with_the_most_tasks() -> None:
    figure = chunks_figure(CHUNKED, title="t")
    assert sizes(figure) == [(0, 3, 3), (3, 2, 2), (5, 1, 1)]
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "job 1 (most tasks)"
    assert axes.get_title(loc="right") == "6 tasks in 3 chunks of at most 3"
    assert (axes.get_xlim(), axes.get_ylim()[0]) == ((0, 6), 0)
    # Of several attempts the last is drawn.
    first = [(1, task, task // 2, 0, task, task + 1, 1.0) for task in range(4)]
    last = [(1, task, task // 3, 0, 10 + task, 11 + task, 1.0) for task in range(6)]
    assert sizes(chunks_figure(tasks_of(first + last))) == [(0, 3, 3), (3, 3, 3)]


def histogram(tasks: pd.DataFrame, **options: Any) -> tuple[Any, np.ndarray, np.ndarray, list[float]]:
    """Axes, heights and edges of the bars, and where the lines of the mean and the deviation are."""
    (axes,) = task_lengths_figure(tasks, **options).axes
    data = axes.patches[0].get_data()
    return axes, data.values, data.edges, [line.get_xdata()[0] for line in axes.lines]


def test_lengths_of_one_job_and_of_all_relative_to_their_jobs() -> None:
    axes, heights, edges, marks = histogram(CHUNKED, job_id=1, title="t")
    assert (heights.sum(), edges[0], edges[-1]) == (6, 1, 6)
    sigma = float(np.std([1, 2, 3, 4, 5, 6]))
    assert marks == [3.5, pytest.approx(3.5 + sigma), pytest.approx(3.5 - sigma)]
    said = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert said == ["mean 3.5 GFLOP", f"mean ± σ, σ = {sigma:.3g} GFLOP; σ / mean = {sigma / 3.5:.3f}"]
    assert axes.get_xlabel() == "length of a task [GFLOP]"
    assert axes.get_title(loc="right") == "6 tasks of job 1"
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0
    axes, heights, edges, marks = histogram(CHUNKED)
    ratios = [*(np.arange(1, 7) / 3.5), 1.5, 0.5]
    assert (heights.sum(), edges[0], edges[-1]) == (len(ratios), pytest.approx(1 / 3.5), pytest.approx(6 / 3.5))
    sigma = np.sqrt(np.square(np.array(ratios) - 1).sum() / (5 + 1))
    assert marks == [1, pytest.approx(1 + sigma), pytest.approx(1 - sigma)]
    assert axes.get_xlabel() == "length of a task / mean length in its job"
    assert axes.get_title(loc="right") == "8 tasks of 2 jobs; 1 job of one task left out"


def test_very_different_lengths_have_a_logarithmic_axis() -> None:
    lengths = [1.0] * 99 + [1000.0]
    rows = [(1, k, 0, 0, 0, 1, length) for k, length in enumerate(lengths)]
    axes, heights, edges, marks = histogram(tasks_of(rows), job_id=1)
    assert axes.get_xscale() == "log"
    assert "(logarithmic)" in axes.get_xlabel()
    assert (heights.sum(), heights[0], heights[-1]) == (100, 99, 1)
    np.testing.assert_allclose(edges[1:] / edges[:-1], (edges[1] / edges[0]))
    assert len(axes.figure.legends[0].get_texts()) == 2
    assert marks == [pytest.approx(np.mean(lengths)), pytest.approx(np.mean(lengths) + np.std(lengths))]


def test_the_unit_goes_at_least_three_times_into_the_span() -> None:
    spans = (1, 2_999, 3_000, 3 * S - 1, 3 * S, 180 * S, 3 * 3600 * S, 3 * 86_400 * S, 4000 * 86_400 * S)
    assert [time_unit(span)[1] for span in spans] == ["ns", "ns", "µs", "ms", "s", "min", "h", "d", "d"]


def test_a_late_window_counts_from_its_beginning() -> None:
    axis = time_axis(2 * S, 10 * S)
    assert (axis.limits, axis.label, axis.at(5 * S)) == ((0, 10), "time since the start of the workload [s]", 5)
    assert time_axis(2 * S, 8 * S).limits == (2, 8)
    axis = time_axis(7200 * S, 7260 * S)
    assert (axis.limits, axis.label, axis.at(7230 * S)) == ((0, 60), "time since 2 h 00 min of the workload [s]", 30)


def test_marks_have_labels() -> None:
    assert [at // S for at, _ in duration_marks(1e9, 4e13)] == [1, 10, 60, 600, 3600, 36_000]
    for (first, last), names in {
        (1e9, 4e13): "1 s, 10 s, 1 min, 10 min, 1 h, 10 h",
        (2.5 * 3600e9, 11 * 3600e9): "5 h, 10 h",
        (10, 1000): "10 ns, 20 ns, 50 ns, 100 ns, 200 ns, 500 ns, 1 µs",
    }.items():
        assert ", ".join(name for _, name in duration_marks(first, last)) == names
    assert len(duration_marks(1, 1e18)) <= 8


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: core_gantt_figure(TASKS, **WIDE, jobs=[(1, 2)]), "nothing to draw: no such job ran on these cores"),
        (lambda: heat_figure(COMPUTING, **HOSTS, cores=[(6, 9)]),
         "^cores: 6-8 is out of range: the machine has cores 0 to 5$"),
        (lambda: heat_figure(COMPUTING, **HOSTS, cores=[(5, 6)]), "^nothing to draw: no job ran on these cores$"),
        (lambda: heat_figure(COMPUTING, **HOSTS, columns=0), "^columns: 0 is out of range; allowed: 1 or more$"),
        (lambda: heat_figure(COMPUTING.drop(columns="core"), **HOSTS), "^the table of tasks has no column core; "),
        (lambda: waits_figure(JOBS[4:]), "^nothing to draw: no job ran that has a wait$"),
        (lambda: waits_figure(JOBS.drop(columns="why")), "^the table of jobs has no column why; needed: start_ns, state, why$"),
        (lambda: imbalance_jobs_figure(BALANCES[BALANCES["cores"] == 16]), "^nothing to draw: no job has an imbalance$"),
        (lambda: utilisation_figure(LOADS[3:], cores=8), "^nothing to draw: no job started$"),
        (lambda: utilisation_figure(LOADS, cores=4), "^the machine has 4 cores, and jobs held 5 of them at once$"),
        (lambda: power_figure(table(), until_ns=0), "nothing took any time"),
        (lambda: chunks_figure(CHUNKED, job_id=4), "^nothing to draw: no task of job 4 ran$"),
        (lambda: chunks_figure(CHUNKED[-2:]), "^nothing to draw: no task ran$"),
        (lambda: task_lengths_figure(CHUNKED, job_id=4), "^nothing to draw: no task of job 4 ran$"),
        (lambda: task_lengths_figure(CHUNKED[CHUNKED.job_id == 3]),
         "^nothing to draw: no job had more than one task; give job_id$"),
        (lambda: task_lengths_figure(CHUNKED[-2:]), "^nothing to draw: no task ran$"),
    ],
)  # fmt: skip
def test_impossible_figures_of_a_run_are_refused(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()


def test_jobs_show_where_cores_are_held() -> None:
    jobs = jobs_of(
        [
            {"submit": 0, "start": 0, "end": 10, "cores": 3, "allocation": "0-1 4"},
            {"submit": 0, "start": 10, "end": 20, "cores": 1, "allocation": "5"},
            {"submit": 0, "start": -1, "end": -1, "cores": 1},
        ]
    )
    figure = heat_figure(jobs, **HOSTS, columns=2)
    assert share(figure).tolist() == [[1, 0], [1, 0], [0, 0], [0, 0], [1, 0], [0, 1]]
    assert figure.axes[1].get_ylabel() == "held by a job [share of the time]"
