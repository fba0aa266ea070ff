"""Figures of studies: combinations, bars of makespans, lines against the variation, costs and comparisons."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study_frames import H, plain, results, within

from traces.base.errors import InputError
from traces.figures.application.imbalance import imbalance_figure
from traces.figures.study.combinations import Combinations
from traces.figures.study.comparison import comparison_figure
from traces.figures.study.cost import cost_figure
from traces.figures.study.makespans import beside_best, makespans_figure
from traces.figures.study.ratio import ratio_figure
from traces.figures.study.variation import variation_figure
from traces.statistics import mean_interval, paired, paired_comparisons

pytestmark = pytest.mark.whole

MANY = ["static", "fsc:h=1e-6,sigma=0.2", "select:(gss,fac,awf-b)", *(f"tss:first={k}" for k in range(9))]


def test_combinations_of_results() -> None:
    cells = Combinations.of(results(plain), "makespan_ns")
    assert cells.batches == ("fcfs", "sjf+easy")
    assert cells.techniques == ("static", "ss", "gss")
    assert cells.variations == (0.0, 0.1, 0.25)
    assert cells.seeds == (0, 1, 2, 3, 4, 5)
    assert cells.values.shape == (2, 3, 3, 6)
    assert cells.values[1, 2, 0].tolist() == [round(plain("sjf", "gss", 0.0, seed) * H) for seed in range(6)]
    assert cells.means()[:, :, 0].tolist() == [[32 * H, 30 * H, 31 * H], [26 * H, 24 * H, 25 * H]]
    assert cells.how.label == "makespan [h]"
    found = cells.estimate(0, 1, 2)
    mean, low, high = cells.shown_estimates()
    assert (mean[0, 1, 2], low[0, 1, 2], high[0, 1, 2]) == (found.mean / H, found.low / H, found.high / H)
    assert cells.paired((0, 1, 0), (0, 0, 0)).difference == 2 * H
    assert cells.seeds_text() == "means of 6 seeds; 95 % intervals"


def test_unfinished_cells_are_left_out() -> None:
    frame = results(plain)
    failed = (frame.als == "gss") & (frame.seed < 2)
    frame["makespan_ns"] = frame.makespan_ns.astype("Int64")
    frame.loc[failed, "error"] = "killed: out of memory"
    frame.loc[failed, "makespan_ns"] = pd.NA
    cells = Combinations.of(frame, "makespan_ns")
    assert np.isnan(cells.values[:, 2, :, :2]).all()
    assert cells.estimate(0, 2, 0).n == 4
    assert cells.means()[0, 2, 0] == pytest.approx(31.2 * H)
    assert cells.seeds_text() == "means of 4 to 6 seeds; 95 % intervals with 5 or more"


FRAME = results(plain)
COUNTED = FRAME.copy()
COUNTED.insert(6, "tasks_per_core", 4)
TWO = pd.concat([results(plain, workload="a"), results(plain, workload="b")])
COST = "^4 seeds a combination give no interval, and no ratio is drawn without one; allowed: 5"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: makespans_figure(TWO), "workload: 2 to draw in one figure; allowed: one of a, b"),
        (lambda: makespans_figure(TWO, workload="c"), r"unknown workload 'c'; known: "),
        (lambda: makespans_figure(pd.concat([COUNTED, COUNTED.assign(tasks_per_core=8)])),
         "tasks_per_core: 2 values to draw in one figure; allowed: rows of one of 4, 8"),
        (lambda: makespans_figure(pd.concat([FRAME, FRAME])), "twice"),
        (lambda: makespans_figure(FRAME.head(0)), "no makespan_ns to draw"),
        (lambda: makespans_figure(FRAME.assign(error="killed")), "no makespan_ns to draw"),
        (lambda: makespans_figure(FRAME.drop(columns="als")), "no column 'als'"),
        (lambda: makespans_figure(FRAME, variation=0.3), r"unknown variation 0\.3; known: "),
        (lambda: ratio_figure(results(plain, seeds=range(4))), COST),
        (lambda: ratio_figure(results(plain, seeds=[1])), r"^1 seed a combination"),
        (lambda: ratio_figure(results(plain, variations=[0.1])), r"one variation only, 0\.1"),
        (lambda: ratio_figure(FRAME.assign(mean_imbalance=0.0), metric="mean_imbalance"),
         "no ratio of mean_imbalance to variation 0"),
        (lambda: cost_figure(pd.DataFrame({"jobs": [1]})), "no column 'wall_s'"),
        (lambda: cost_figure(costs(0.001, [10]).head(0)), "no wall time to draw"),
        (lambda: cost_figure(costs(0.001, [10]).assign(wall_s=0.0)), "not positive"),
    ],
)  # fmt: skip
def test_impossible_figures_of_a_study_are_refused(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()


def test_one_workload_is_drawn() -> None:
    assert makespans_figure(TWO, workload="b").axes
    assert makespans_figure(COUNTED).axes


def test_bars_are_the_means_and_whiskers_the_intervals() -> None:
    frame = results(plain)
    axes = makespans_figure(frame, variation=0.0, title="T").axes[0]
    bars = [group for group in axes.containers if hasattr(group, "patches")]
    assert [[bar.get_height() for bar in group] for group in bars] == [
        pytest.approx([32, 26]),
        pytest.approx([30, 24]),
        pytest.approx([31, 25]),
    ]
    assert [group.get_label() for group in bars] == ["static", "ss", "gss"]
    assert len({bar.get_hatch() for group in bars for bar in group}) == 3
    expected = mean_interval([plain("fcfs", "static", 0.0, seed) for seed in range(6)])
    whisker = axes.collections[0].get_segments()[0]
    assert whisker[:, 1].tolist() == pytest.approx([expected.low, expected.high])
    assert whisker[0, 0] == pytest.approx(bars[0][0].get_x() + bars[0][0].get_width() / 2)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["fcfs", "sjf+easy"]
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylabel() == "makespan [h]"
    assert axes.figure.get_supxlabel() == "variation ϒ = 0; means of 6 seeds; 95 % intervals"


def test_a_difference_stands_with_its_interval() -> None:
    said = {text.get_text() for text in makespans_figure(results(plain)).axes[0].texts}
    assert "24.00\nlowest" in said
    (worst,) = [text for text in said if text.startswith("32.00")]
    # (32 + s) / (24 + s) − 1 over the seeds' s.
    assert worst.startswith("32.00\n+33")
    assert worst.split("\n")[2].startswith("[3")
    cells = Combinations.of(results(plain), "makespan_ns")
    found = cells.paired((1, 1, 0), (0, 0, 0))
    low = float(beside_best(cells, 0)[0][0].split("[")[1].split(",")[0])
    assert low == pytest.approx(100 * (found.ratio_low - 1), abs=0.1)


def test_of_the_utilisation_the_highest_is_the_best() -> None:
    frame = results(plain).rename(columns={"makespan_ns": "share"}).assign(error="")
    frame["utilisation"] = 0.9 - frame.pop("share") / (1000 * H)
    cells = Combinations.of(frame, "utilisation")
    assert [cells.means()[cells.best(k)][:, k].max() for k in range(3)] == cells.means().max(axis=(0, 1)).tolist()
    over = [text for row in beside_best(cells, 0) for text in row]
    assert over.count("highest") == 1
    assert all(text.startswith("−") for text in over if text != "highest")


def test_many_techniques_are_rows_with_their_names() -> None:
    frame = results(lambda bls, als, v, s: 100 + MANY.index(als) + 20 * (bls == "sjf") + s / 10, techniques=MANY)
    figure = makespans_figure(frame)
    panels = [f"{batch}, ϒ = {variation}" for variation in ("0", "0.1", "0.25") for batch in ("fcfs", "sjf+easy")]
    assert [axes.get_title() for axes in figure.axes] == panels
    figure = makespans_figure(frame, variation=0.0)
    assert [axes.get_title() for axes in figure.axes] == ["fcfs", "sjf+easy"]
    for place, axes in enumerate(figure.axes):
        names = [text.get_text() for text in axes.get_yticklabels()]
        assert names == (MANY if place == 0 else [])
        bars = next(group for group in axes.containers if hasattr(group, "patches"))
        widths = [(100.25 + 20 * place + k) / 24 for k in range(12)]
        assert [bar.get_width() for bar in bars] == pytest.approx(widths)
        assert len(axes.collections[0].get_segments()) == 12
        assert axes.get_xlim()[0] == 0
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first one is at the top
        for text in axes.texts:
            assert text.get_text().endswith("]") or text.get_text() == "4.177  lowest"
    assert figure.get_supxlabel().startswith("makespan [d]\n")
    few = makespans_figure(frame[frame.seed < 3])
    assert not any("%" in text.get_text() for axes in few.axes for text in axes.texts)


def test_nothing_is_cut() -> None:
    frame = results(lambda bls, als, v, s: 100 + MANY.index(als) + s / 10, techniques=MANY)
    eight = frame[frame.als.isin(MANY[:8])]
    for figure in (makespans_figure(frame, variation=0.0), makespans_figure(eight, title="T")):
        figure.draw_without_rendering()
        assert within(figure)
        for text in [text for axes in figure.axes for text in axes.texts]:
            assert text.get_window_extent().x0 >= 0
            assert text.get_window_extent().x1 <= figure.bbox.x1
        texts = [text.get_window_extent() for text in figure.axes[0].texts]
        for at, one in enumerate(texts):
            assert not any(one.overlaps(other) for other in texts[at + 1 :])


def grows(bls: str, als: str, variation: float, seed: int) -> float:
    """Makespans of which the ratio has a spread: each seed grows by its own."""
    return plain(bls, als, 0.0, seed) * (1 + variation * (1 + seed / 10))


def marked(axes: Any) -> list[Any]:
    return [line for line in axes.get_lines() if line.get_marker() in ("o", "s", "D", "^")]


def test_lines_are_the_means_and_whiskers_the_intervals() -> None:
    figure = variation_figure(results(plain), title="T")
    assert [axes.get_title() for axes in figure.axes] == ["fcfs", "sjf+easy"]
    for axes, base in zip(figure.axes, (30, 24), strict=True):
        lines = marked(axes)
        for line, more in zip(lines, (2, 0, 1), strict=True):
            np.testing.assert_allclose(line.get_ydata(), [(base + more) * (1 + v) for v in (0, 0.1, 0.25)])
            np.testing.assert_allclose(line.get_xdata(), (0, 0.1, 0.25), atol=0.0025)
        assert len({line.get_marker() for line in lines}) == len(axes.collections) == 3
    found = mean_interval([plain("fcfs", "static", 0.1, seed) for seed in range(6)])
    segment = figure.axes[0].collections[0].get_segments()[1]
    assert segment[:, 1].tolist() == pytest.approx([found.low, found.high])
    assert segment[0, 0] == pytest.approx(0.1, abs=0.01)
    assert figure.axes[0].get_ylabel() == "makespan [h]\n(axis does not start at zero)"
    assert figure.legends[0].get_title().get_text() == "T"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["static", "ss", "gss"]


def test_ratios_are_paired_by_seed() -> None:
    axes = ratio_figure(results(grows)).axes[0]
    first = paired(*([grows("fcfs", "static", v, s) for s in range(6)] for v in (0.0, 0.1)))
    assert marked(axes)[0].get_xydata()[0].tolist() == pytest.approx([0.1, first.ratio], abs=2e-3)
    segment = axes.collections[0].get_segments()[0]
    assert segment[:, 1].tolist() == pytest.approx([first.ratio_low, first.ratio_high])
    assert axes.get_lines()[0].get_ydata()[0] == 1.0  # no change
    assert "makespan at ϒ / makespan at ϒ = 0\n(axis does not start at zero)" in axes.get_ylabel()
    assert "ϒ = 0.25" in ratio_figure(results(grows), base=0.25).axes[0].get_ylabel()


def test_a_whisker_is_at_its_point() -> None:
    frame = results(grows, techniques=("static", "ss", "gss", "fac"), variations=[0.0, 0.1, 0.101, 0.9])
    for axes in [axes for draw in (ratio_figure, variation_figure, imbalance_figure) for axes in draw(frame).axes]:
        low, high = axes.get_xlim()
        ticks = axes.get_xticks()
        assert len(marked(axes)) == len(axes.collections) == 4
        for line, whiskers in zip(marked(axes), axes.collections, strict=True):
            x = np.array([segment[0, 0] for segment in whiskers.get_segments()])
            np.testing.assert_allclose(x, line.get_xdata())
            assert low < min(x) <= max(x) < high
            # A point is nearer to its own variation than to any other.
            assert [int(np.abs(ticks - one).argmin()) for one in x] == list(range(len(ticks)))
            assert max(abs(x - ticks)) < 0.3 * (high - low)


def costs(job_s: float, sizes: list[int], group: str = "a", begin_s: float = 0.0) -> pd.DataFrame:
    rows = [(n, (begin_s + job_s * n) * (1 + 0.02 * (r - 2.5)), group) for n in sizes for r in range(6)]
    return pd.DataFrame(rows, columns=["jobs", "wall_s", "group"])


def test_the_cost_of_jobs_on_logarithmic_axes() -> None:
    frame = pd.concat([costs(0.001, [10, 100, 1000]), costs(0.01, [10, 100, 1000], "b", 0.5)])
    axes = cost_figure(frame, title="T").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["a", "b"]
    a, b = (text.get_text() for text in axes.texts)
    assert a.startswith("a: fit: ")
    assert " + 1.000 [" in a
    assert b.startswith("b: fit: 0.5000 s + 10.00 [")
    points = next(line for line in axes.get_lines() if len(line.get_xdata()) == 3)
    np.testing.assert_allclose(points.get_xydata(), [[10, 0.01], [100, 0.1], [1000, 1.0]])
    np.testing.assert_allclose(axes.collections[0].get_segments()[2], [[1000, 0.95], [1000, 1.05]])
    x, y = next(line for line in axes.get_lines() if line.get_label().startswith("b")).get_xydata().T
    assert (x[0], x[-1]) == pytest.approx((10, 1000))
    np.testing.assert_allclose(y, 0.5 + 0.01 * x)


def names_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_comparisons_are_points_next_to_a_line() -> None:
    frame = results(grows)
    frame["mean_imbalance"] -= 4.0  # some are negative: no ratio
    comparisons = paired_comparisons(frame, "als", "ss", ["makespan_ns", "mean_imbalance"])
    left, right = comparison_figure(comparisons, title="T").axes
    rows = comparisons[comparisons.metric == "makespan_ns"]
    names = names_of(left)
    assert names[:2] == ["fcfs, ϒ 0.25", "fcfs, ϒ 0"]
    assert names[3] == "sjf+easy, ϒ 0.25"
    assert [text.get_text() for text in left.figure.legends[0].get_texts()] == ["static", "gss"]
    assert left.get_xlabel() == "makespan: ratio to ss\n(axis does not start at zero)"
    assert right.get_xlabel() == "mean imbalance: difference\nfrom ss [fraction]"
    dashed = [next(line for line in axes.get_lines() if line.get_linestyle() == "--") for axes in (left, right)]
    assert [list(line.get_xdata()) for line in dashed] == [[1.0, 1.0], [0.0, 0.0]]
    assert [line.get_xdata()[0] for line in marked(left)] == pytest.approx(rows.ratio.tolist())
    ends = [one.get_segments()[0][:, 0].tolist() for one in left.collections]
    np.testing.assert_allclose(ends, rows[["ratio_low", "ratio_high"]].to_numpy())


def test_a_point_is_filled_if_there_is_a_change() -> None:
    change = [1.0, -1.0, 0.5, -0.5, 0.1, 0.0]
    frame = results(
        lambda bls, als, variation, seed: 30 + {"ss": 0.0, "gss": change[seed], "static": 3 + change[seed]}[als],
        batches=[("fcfs", "none")],
        variations=[0.0],
    )
    (axes,) = comparison_figure(paired_comparisons(frame, "als", "ss", ["makespan_ns"])).axes
    assert names_of(axes) == ["static", "gss"]
    filled, empty = marked(axes)
    assert (filled.get_markerfacecolor(), empty.get_markerfacecolor()) == (filled.get_color(), "white")


def test_comparisons_without_an_interval_are_left_out() -> None:
    frame = results(grows)
    frame = frame[(frame.als != "gss") | (frame.seed < 3)]
    comparisons = paired_comparisons(frame, "als", "ss", ["makespan_ns"])
    figure = comparison_figure(comparisons)
    assert len(figure.axes[0].get_yticklabels()) == 6
    assert figure.get_supxlabel().endswith("omitted: 6 comparisons with fewer than 5 seeds")
    assert comparisons[comparisons.value == "gss"].difference.map(math.isnan).all()
    with pytest.raises(InputError, match="no comparison with an interval"):
        comparison_figure(comparisons[comparisons.value == "gss"])
    both = pd.concat([comparisons, comparisons.assign(workload="v")])
    with pytest.raises(InputError, match="workload: 2 to draw"):
        comparison_figure(both)
    assert comparison_figure(both, workload="v").axes


def test_there_is_no_difference_without_an_interval() -> None:
    for seeds, corner in ((range(4), "4 seeds"), (range(1), "1 seed")):
        figure = makespans_figure(results(plain, seeds=seeds), variation=0.0)
        axes = figure.axes[0]
        said = [text.get_text() for text in axes.texts]
        assert not any("%" in text or "lowest" in text for text in said)
        assert all(len(group.get_segments()) == 0 for group in axes.collections)
        assert figure.get_supxlabel() == f"variation ϒ = 0; {corner}: too few for an interval (5)"
    # In a study where one combination lacks seeds, only that one has none.
    frame = results(plain)
    frame = frame[(frame.als != "gss") | (frame.bls != "fcfs") | (frame.seed < 3)]
    said = [text.get_text() for text in makespans_figure(frame).axes[0].texts]
    assert sum("%" not in text and "lowest" not in text for text in said) == 1
