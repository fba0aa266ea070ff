"""Lines against the variation: makespans, their ratios, imbalance; what a simulation costs; what changes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from study_frames import plain, results, within

from traces.base.errors import InputError
from traces.figures.application.imbalance import imbalance_figure
from traces.figures.study.comparison import comparison_figure
from traces.figures.study.cost import cost_figure
from traces.figures.study.ratio import ratio_figure
from traces.figures.study.variation import variation_figure
from traces.statistics import mean_interval, paired, paired_comparisons

MANY = [f"tss:first={k}" for k in range(9)]


def grows(bls: str, als: str, variation: float, seed: int) -> float:
    """Makespans of which the ratio has a spread: each seed grows by its own."""
    return plain(bls, als, 0.0, seed) * (1 + variation * (1 + seed / 10))


def test_lines_are_the_means_and_whiskers_the_intervals() -> None:
    figure = variation_figure(results(plain), title="T")
    assert [axes.get_title() for axes in figure.axes] == ["fcfs", "sjf+easy"]
    for axes, base in zip(figure.axes, (30, 24), strict=True):
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3 and line.get_linestyle() != "None"]
        for line, more in zip(lines, (2, 0, 1), strict=True):
            expected = [[v, (base + more) * (1 + v)] for v in (0, 0.1, 0.25)]
            np.testing.assert_allclose(line.get_ydata(), np.array(expected)[:, 1])
            np.testing.assert_allclose(line.get_xdata(), (0, 0.1, 0.25), atol=0.0025)
        assert len({line.get_marker() for line in lines}) == 3
        assert len(axes.collections) == 3
    found = mean_interval([plain("fcfs", "static", 0.1, seed) for seed in range(6)])
    segment = figure.axes[0].collections[0].get_segments()[1]
    assert segment[:, 1].tolist() == pytest.approx([found.low, found.high])
    assert segment[0, 0] == pytest.approx(0.1, abs=0.01)
    assert figure.axes[0].get_ylabel() == "makespan [h]\n(axis does not start at zero)"
    assert figure.legends[0].get_title().get_text() == "T"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["static", "ss", "gss"]


def test_ratios_are_paired_by_seed() -> None:
    figure = ratio_figure(results(grows))
    axes = figure.axes[0]
    lines = [
        line for line in axes.get_lines() if len(line.get_xdata()) == 2 and line.get_marker() not in ("None", "_", "|")
    ]
    lines = [line for line in lines if line.get_linestyle() != "None"]
    seeds = range(6)
    first = paired([grows("fcfs", "static", 0.0, s) for s in seeds], [grows("fcfs", "static", 0.1, s) for s in seeds])
    assert lines[0].get_xydata()[0].tolist() == pytest.approx([0.1, first.ratio], abs=2e-3)
    segment = axes.collections[0].get_segments()[0]
    assert segment[:, 1].tolist() == pytest.approx([first.ratio_low, first.ratio_high])
    assert axes.get_lines()[0].get_ydata()[0] == 1.0  # no change
    assert "makespan at ϒ / makespan at ϒ = 0\n(axis does not start at zero)" in axes.get_ylabel()
    # By another base, and where one combination has no common seeds.
    other = ratio_figure(results(grows), base=0.25)
    assert "ϒ = 0.25" in other.axes[0].get_ylabel()


def test_a_whisker_is_at_its_point() -> None:
    frame = results(grows, techniques=("static", "ss", "gss", "fac"), variations=[0.0, 0.1, 0.101, 0.9])
    for figure in (ratio_figure(frame), variation_figure(frame), imbalance_figure(frame)):
        for axes in figure.axes:
            lines = [line for line in axes.get_lines() if line.get_marker() in ("o", "s", "D", "^")]
            assert len(lines) == len(axes.collections) == 4
            low, high = axes.get_xlim()
            ticks = axes.get_xticks()
            for line, whiskers in zip(lines, axes.collections, strict=True):
                x = [segment[0, 0] for segment in whiskers.get_segments()]
                np.testing.assert_allclose(x, line.get_xdata())
                assert low < min(x)
                assert max(x) < high
                # A point is nearer to its own variation than to any other.
                assert [int(np.abs(ticks - one).argmin()) for one in x] == list(range(len(ticks)))
                assert max(abs(np.array(x) - ticks)) < 0.3 * (high - low)


def test_there_is_no_ratio_without_an_interval() -> None:
    with pytest.raises(
        InputError, match="4 seeds a combination give no interval, and no ratio is drawn without one; allowed: 5"
    ):
        ratio_figure(results(plain, seeds=range(4)))
    with pytest.raises(InputError, match=r"^1 seed a combination"):
        ratio_figure(results(plain, seeds=[1]))
    with pytest.raises(InputError, match=r"one variation only, 0\.1"):
        ratio_figure(results(plain, variations=[0.1]))
    with pytest.raises(InputError, match="no ratio of mean_imbalance to variation 0"):
        ratio_figure(results(plain).assign(mean_imbalance=0.0), metric="mean_imbalance")


def test_many_techniques_are_rows_of_points() -> None:
    frame = results(lambda bls, als, v, s: (20 + MANY.index(als) + s / 9) * (1 + v * (1 + s / 9)), techniques=MANY)
    for figure, columns in ((variation_figure(frame), 3), (ratio_figure(frame), 2)):
        assert len(figure.axes) == 2 * columns
        assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == MANY
        assert "axis does not start at zero" in figure.get_supxlabel()
        for axes in figure.axes:
            assert len(axes.collections[0].get_segments()) == len(MANY)
    assert figure.axes[3].get_title() == "sjf+easy, ϒ = 0.25"


def costs(job_s: float, sizes: list[int], repeats: int = 6, group: str = "a", begin_s: float = 0.0) -> pd.DataFrame:
    rows = [(n, (begin_s + job_s * n) * (1 + 0.02 * (r - 2.5)), group) for n in sizes for r in range(repeats)]
    return pd.DataFrame(rows, columns=["jobs", "wall_s", "group"])


def test_the_cost_of_jobs_on_logarithmic_axes() -> None:
    frame = pd.concat([costs(0.001, [10, 100, 1000]), costs(0.01, [10, 100, 1000], group="b", begin_s=0.5)])
    axes = cost_figure(frame, title="T").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    a, b = (text.get_text() for text in axes.figure.legends[0].get_texts())
    assert a.startswith("a: ")
    assert " and 1.000 [" in a
    assert b.startswith("b: 0.5000 s and 10.00 [")
    points = next(line for line in axes.get_lines() if len(line.get_xdata()) == 3)
    np.testing.assert_allclose(points.get_xydata(), [[10, 0.01], [100, 0.1], [1000, 1.0]])
    bar = axes.collections[0].get_segments()[2]
    np.testing.assert_allclose(bar, [[1000, 0.95], [1000, 1.05]])
    fitted = next(line for line in axes.get_lines() if line.get_label().startswith("b"))
    x, y = fitted.get_xdata(), fitted.get_ydata()
    assert (x[0], x[-1]) == pytest.approx((10, 1000))
    np.testing.assert_allclose(y, 0.5 + 0.01 * x)


def test_a_slope_without_an_interval_is_not_told() -> None:
    for frame in (
        costs(0.001, [10, 100], repeats=4),
        pd.concat([costs(0.001, [10, 100]), costs(0.001, [10], repeats=1)]),
    ):
        figure = cost_figure(frame)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a"]
        assert "interval" not in figure.get_supxlabel()
    single = cost_figure(costs(0.001, [10]))
    assert [text.get_text() for text in single.legends[0].get_texts()] == ["a"]


def test_costs_that_cannot_be_drawn() -> None:
    for frame, said in (
        (pd.DataFrame({"jobs": [1]}), "no column 'wall_s'"),
        (costs(0.001, [10]).head(0), "no wall time to draw"),
        (costs(0.001, [10]).assign(wall_s=0.0), "not positive"),
    ):
        with pytest.raises(InputError, match=said):
            cost_figure(frame)


def test_comparisons_are_points_beside_a_line() -> None:
    frame = results(grows)
    frame["mean_imbalance"] -= 4.0  # some are negative: no ratio
    comparisons = paired_comparisons(frame, "als", "ss", ["makespan_ns", "mean_imbalance"])
    figure = comparison_figure(comparisons, title="T")
    left, right = figure.axes
    rows = comparisons[comparisons.metric == "makespan_ns"].reset_index(drop=True)
    names = [text.get_text() for text in left.get_yticklabels()]
    assert names[:3] == ["fcfs, ϒ 0.25: static", "fcfs, ϒ 0.25: gss", "fcfs, ϒ 0: static"]
    assert names[6] == "sjf+easy, ϒ 0.25: static"
    assert left.get_xlabel() == "makespan: ratio to ss\n(axis does not start at zero)"
    assert right.get_xlabel() == "mean imbalance: difference\nfrom ss [fraction]"
    dashed = [next(line for line in axes.get_lines() if line.get_linestyle() == "--") for axes in (left, right)]
    assert [list(line.get_xdata()) for line in dashed] == [[1.0, 1.0], [0.0, 0.0]]
    points = [line for line in left.get_lines() if line.get_marker() in ("o", "s", "D") and len(line.get_xdata()) == 1]
    assert [line.get_xdata()[0] for line in points] == pytest.approx(rows.ratio.tolist())
    ends = [one.get_segments()[0][:, 0].tolist() for one in left.collections]
    np.testing.assert_allclose(ends, rows[["ratio_low", "ratio_high"]].to_numpy())


def test_a_point_is_filled_if_there_is_a_change() -> None:
    change = [1.0, -1.0, 0.5, -0.5, 0.1, 0.0]

    def hours(bls: str, als: str, variation: float, seed: int) -> float:
        return 30 + {"ss": 0.0, "gss": change[seed], "static": 3 + change[seed]}[als]

    frame = results(hours, batches=[("fcfs", "none")], variations=[0.0])
    figure = comparison_figure(paired_comparisons(frame, "als", "ss", ["makespan_ns"]))
    points = [line for line in figure.axes[0].get_lines() if line.get_marker() in ("o", "s", "D")]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["static", "gss"]
    assert points[0].get_markerfacecolor() == points[0].get_color()
    assert points[1].get_markerfacecolor() == "white"


def test_comparisons_without_an_interval_are_left_out() -> None:
    frame = results(grows)
    frame = frame[(frame.als != "gss") | (frame.seed < 3)]
    comparisons = paired_comparisons(frame, "als", "ss", ["makespan_ns"])
    figure = comparison_figure(comparisons)
    assert len(figure.axes[0].get_yticklabels()) == 6
    assert figure.get_supxlabel().endswith("left out: 6 with fewer than 5 seeds")
    assert comparisons[comparisons.value == "gss"].difference.map(math.isnan).all()
    with pytest.raises(InputError, match="no comparison with an interval"):
        comparison_figure(comparisons[comparisons.value == "gss"])
    both = pd.concat([comparisons, comparisons.assign(workload="v")])
    with pytest.raises(InputError, match="workload: 2 to draw"):
        comparison_figure(both)
    assert comparison_figure(both, workload="v").axes


def test_the_lines_are_within_their_figures() -> None:
    frame = results(grows)
    comparisons = paired_comparisons(frame, "als", "ss", ["makespan_ns", "utilisation", "mean_imbalance"])
    # Three panels side by side, the last with the longest label.
    slow = frame.assign(mean_bounded_slowdown=frame["makespan_ns"] / 1e9)
    longest = paired_comparisons(slow, "als", "ss", ["makespan_ns", "utilisation", "mean_bounded_slowdown"])
    longest = longest.assign(option="coordination", base="none")
    figures = (
        variation_figure(frame, title="A title of a study"),
        ratio_figure(frame),
        imbalance_figure(frame),
        comparison_figure(comparisons),
        comparison_figure(longest),
        cost_figure(costs(0.0011, [10, 100]), title="T"),
    )
    for figure in figures:
        figure.draw_without_rendering()
        assert within(figure)
