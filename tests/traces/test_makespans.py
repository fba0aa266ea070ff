"""Bars of makespans, and the combinations of a study that all its figures draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from study_frames import H, plain, results, within

from traces.base.errors import InputError
from traces.figures.study.combinations import FEW, STYLES, Combinations, batch_label
from traces.figures.study.makespans import beside_best, makespans_figure
from traces.statistics import mean_interval

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
    mean, low, high = cells.estimates()
    assert (mean[0, 1, 2], low[0, 1, 2], high[0, 1, 2]) == (found.mean, found.low, found.high)
    assert cells.paired((0, 1, 0), (0, 0, 0)).difference == 2 * H
    assert cells.seeds_text() == "means of 6 seeds; 95 % intervals"


def test_what_did_not_finish_is_left_out() -> None:
    frame = results(plain)
    failed = (frame.als == "gss") & (frame.seed < 2)
    frame["makespan_ns"] = frame.makespan_ns.astype("Int64")
    frame.loc[failed, "error"] = "killed: out of memory"
    frame.loc[failed, "makespan_ns"] = pd.NA
    cells = Combinations.of(frame, "makespan_ns")
    assert np.isnan(cells.values[:, 2, :, :2]).all()
    assert cells.estimate(0, 2, 0).n == 4
    assert cells.means()[0, 2, 0] == pytest.approx(31.2 * H)
    assert cells.seeds_text() == "means of 4 to 6 seeds; 95 % intervals where there are 5 or more"


def test_one_workload_and_four_options_are_drawn() -> None:
    frame = pd.concat([results(plain, workload="a"), results(plain, workload="b")])
    with pytest.raises(InputError, match="workload: 2 to draw in one figure; allowed: one of a, b"):
        makespans_figure(frame)
    assert makespans_figure(frame, workload="b").axes
    with pytest.raises(InputError, match=r"unknown workload 'c'; known: "):
        makespans_figure(frame, workload="c")
    frame = results(plain)
    frame.insert(6, "tasks_per_core", 4)
    assert makespans_figure(frame).axes
    with pytest.raises(
        InputError, match="tasks_per_core: 2 values to draw in one figure; allowed: rows of one of 4, 8"
    ):
        makespans_figure(pd.concat([frame, frame.assign(tasks_per_core=8)]))
    with pytest.raises(InputError, match="twice"):
        makespans_figure(pd.concat([frame, frame]))
    with pytest.raises(InputError, match="no makespan_ns to draw"):
        makespans_figure(frame.head(0))
    with pytest.raises(InputError, match="no makespan_ns to draw"):
        makespans_figure(frame.assign(error="killed"))
    with pytest.raises(InputError, match="no column 'als'"):
        makespans_figure(frame.drop(columns="als"))
    with pytest.raises(InputError, match=r"unknown variation 0\.3; known: "):
        makespans_figure(frame, variation=0.3)


def test_styles_are_told_apart_without_colour() -> None:
    assert len(STYLES) == FEW
    for told in ("colour", "hatch", "marker", "dash"):
        assert len({getattr(one, told) for one in STYLES}) == FEW
    assert batch_label("sjf", "none") == "sjf"
    assert batch_label("sjf", "easy") == "sjf+easy"


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


def test_every_variation_has_a_panel() -> None:
    frame = results(plain)
    cells = Combinations.of(frame, "makespan_ns")
    figure = makespans_figure(frame)
    assert [axes.get_title() for axes in figure.axes] == ["ϒ = 0", "ϒ = 0.1", "ϒ = 0.25"]
    assert figure.get_supxlabel() == "means of 6 seeds; 95 % intervals"
    for k, axes in enumerate(figure.axes):
        bars = [group for group in axes.containers if hasattr(group, "patches")]
        heights = np.array([[bar.get_height() for bar in group] for group in bars])
        assert heights == pytest.approx(cells.means()[:, :, k].T / H)
        assert axes.get_ylim() == figure.axes[0].get_ylim()


def test_of_the_utilisation_the_highest_is_the_best() -> None:
    frame = results(plain).rename(columns={"makespan_ns": "share"}).assign(error="")
    frame["utilisation"] = 0.9 - frame.pop("share") / (1000 * H)
    cells = Combinations.of(frame, "utilisation")
    assert [cells.means()[cells.best(k)][:, k].max() for k in range(3)] == cells.means().max(axis=(0, 1)).tolist()
    over = [text for row in beside_best(cells, 0) for text in row]
    assert over.count("highest") == 1
    assert all(text.startswith("−") for text in over if text != "highest")


def test_where_jobs_are_only_replayed_neither_variation_nor_seed_is_spoken_of() -> None:
    frame = results(lambda bls, als, v, s: 30 + (bls == "sjf"), techniques=["recorded"])
    figure = makespans_figure(frame)
    assert len(figure.axes) == 1
    assert figure.get_supxlabel() == ""
    frame.insert(6, "failures", "mtbf:1d,mttr:1h")
    assert makespans_figure(frame).get_supxlabel() == "means of 6 seeds; 95 % intervals"


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
