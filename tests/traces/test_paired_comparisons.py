"""Differences over pairs of runs of one seed, and the table of a study's comparisons."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from pages import ROOT, blocks, section, table
from study_frames import H, plain, results
from tables import table_rows

from traces.base.errors import InputError
from traces.metric_units import Shown, four_digits, interval_text, shown_as
from traces.statistics import comparison_table, mean_interval, option_columns, paired, paired_comparisons


def test_a_comparison_by_hand() -> None:
    base, other = [10, 20, 30, 40, 50], [12, 21, 33, 40, 54]
    found = paired(base, other)
    assert (found.n, found.mean_base, found.mean_other, found.difference) == (5, 30, 32, 2)
    assert found.ratio == pytest.approx(32 / 30)
    assert found.share_greater == 0.9  # four, and a tie
    # Differences 2 1 3 0 4 have the standard deviation √2.5; Hedges' factor of four degrees of freedom is 0.8.
    assert found.effect_size == pytest.approx(0.8 * 2 / math.sqrt(2.5))
    change = mean_interval([2, 1, 3, 0, 4])
    assert (found.difference_low, found.difference_high) == (change.low, change.high)
    assert found.changed is (change.low > 0)
    assert found.ratio_low < found.ratio < found.ratio_high


def test_equal_differences_are_certain_and_have_no_effect_size() -> None:
    found = paired([1, 2, 3, 4, 5], [3, 4, 5, 6, 7])
    assert (found.difference, found.difference_low, found.difference_high) == (2, 2, 2)
    assert math.isnan(found.effect_size)
    assert found.changed
    twice = paired([1.1, 2.3, 3.7, 4.9, 5.3], [2.2, 4.6, 7.4, 9.8, 10.6])
    assert twice.ratio_low == twice.ratio_high == twice.ratio == pytest.approx(2)
    same = paired([0.1 + 0.2] * 6, [0.3] * 6)
    assert (same.difference, same.share_greater, same.changed) == (0, 0.5, False)
    assert math.isnan(same.difference_low)


def test_nothing_is_compared_without_an_interval() -> None:
    found = paired([1, 2, 3, 4, math.nan, 6], [2, 3, 4, 5, 6, math.nan])
    assert (found.n, found.mean_base, found.mean_other) == (4, 2.5, 3.5)
    numbers = (found.difference, found.difference_low, found.ratio, found.ratio_high, found.effect_size)
    assert all(math.isnan(number) for number in (*numbers, found.share_greater))
    assert not found.changed
    with pytest.raises(InputError, match="5 and 4"):
        paired([1, 2, 3, 4, 5], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("base", "other"), [([0.0] * 5, [1, 2, 3, 4, 5]), ([-1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), ([1, 2, 3, 4, 5], [0.0] * 5)]
)
def test_values_that_are_not_positive_have_no_ratio(base: list[float], other: list[float]) -> None:
    found = paired(base, other)
    assert all(math.isnan(one) for one in (found.ratio, found.ratio_low, found.ratio_high))
    assert found.difference_low <= found.difference <= found.difference_high


def test_comparisons_of_a_study() -> None:
    frame = results(plain)
    assert option_columns(frame) == ["bls", "backfill", "als", "variation"]
    found = paired_comparisons(frame, "als", "ss", ["makespan_ns", "utilisation"])
    assert list(found.columns) == [
        *("workload", "bls", "backfill", "variation", "option", "base", "value", "metric", "seeds", "mean_base"),
        *("mean_value", "difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high"),
        *("effect_size", "share_greater", "confidence"),
    ]
    assert len(found) == 2 * 3 * 2 * 2
    assert found["variation"].tolist()[:12:4] == [0.25, 0.0, 0.1]  # the order of the results
    row = found[(found.bls == "sjf") & (found.variation == 0) & (found.value == "static")].iloc[0]
    assert (row.metric, row.seeds, row.mean_base, row.mean_value) == ("makespan_ns", 6, 24 * H, 26 * H)
    assert (row.difference, row.difference_low, row.difference_high) == (2 * H, 2 * H, 2 * H)
    assert row.ratio == pytest.approx(26 / 24)


def mean_of(seeds: list[int]) -> float:
    return float(np.mean([plain("fcfs", "ss", 0.0, seed) for seed in seeds])) * H


def test_runs_are_paired_by_seed() -> None:
    frame = results(plain, batches=[("fcfs", "none")], variations=[0.0], seeds=range(8))
    expected = paired_comparisons(frame, "als", "ss", ["makespan_ns"])
    assert (expected.difference_low == expected.difference_high).all()  # every pair differs by the same
    pd.testing.assert_frame_equal(
        paired_comparisons(frame.iloc[[*range(8), *range(15, 7, -1), *range(16, 24)]], "als", "ss", ["makespan_ns"]),
        expected,
    )
    # A seed that one of them lacks, and one that failed, is no pair.
    frame.loc[(frame.als == "static") & (frame.seed == 3), "error"] = "killed"
    frame.loc[(frame.als == "static") & (frame.seed == 3), "makespan_ns"] = 0
    found = paired_comparisons(frame[(frame.als != "ss") | (frame.seed != 0)], "als", "ss", ["makespan_ns"])
    assert found.seeds.tolist() == [6, 7]
    assert found.difference.tolist() == [2 * H, H]
    assert found.mean_base.tolist() == pytest.approx([mean_of([1, 2, 4, 5, 6, 7]), mean_of([1, 2, 3, 4, 5, 6, 7])])


@pytest.mark.parametrize(
    ("option", "base", "metrics", "message"), table_rows(__file__, "impossible_comparisons_are_refused")
)
def test_impossible_comparisons_are_refused(option: str, base: str, metrics: list[str], message: str) -> None:
    frame = results(plain)
    with pytest.raises(InputError, match=message):
        paired_comparisons(frame, option, base, metrics)
    for table_, words in (
        (pd.concat([frame, frame]), "twice"),
        (frame[frame.als == "ss"], "nothing to compare"),
        (frame.drop(columns="workload"), "no column 'workload'"),
    ):
        with pytest.raises(InputError, match=words):
            paired_comparisons(table_, "als", "ss", ["makespan_ns"])


def test_the_page_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "explanation/statistics.md"
    (block,) = blocks(page, "python")
    exec(block, {})
    shown = capsys.readouterr().out
    assert shown.startswith("Estimate(n=6, mean=44.93")
    assert "share_greater=0.0" in shown
    named = [name for row in table(section(page, "Columns of a comparison")) for name in re.findall(r"`(\w+)`", row[0])]
    found = paired_comparisons(results(plain), "als", "ss", ["makespan_ns"])
    assert named == [
        "workload",
        *(name for name in found.columns if name not in ("workload", "bls", "backfill", "variation")),
    ]


def test_a_number_may_be_given_as_text() -> None:
    frame = results(plain)
    for base in (0.1, "0.1", "0.10", np.float64(0.1)):
        assert set(paired_comparisons(frame, "variation", base, ["makespan_ns"])["value"]) == {0.0, 0.25}


def test_the_table() -> None:
    frame = results(plain, batches=[("fcfs", "none"), ("sjf", "none")], variations=[0.0], techniques=["static", "ss"])
    frame.loc[frame.als == "ss", "makespan_ns"] += (frame.seed - 2) * H // 10
    text = comparison_table(paired_comparisons(frame, "als", "static", ["makespan_ns"]))
    first, heads, *rows = text.splitlines()
    assert first.startswith("makespan [h]: als compared with static, paired by seed, 95 % intervals; workload w;")
    assert heads.split() == ["bls", "als", "seeds", "base", "mean", "mean", "difference", "ratio", "effect", "greater"]
    assert rows[0].startswith("fcfs  ss       6      32.00  30.05  −1.95 [")
    assert rows[0].endswith("  *")
    assert rows[-1] == "*: the interval of the difference excludes 0"
    few = comparison_table(paired_comparisons(frame[frame.seed < 4], "als", "static", ["makespan_ns", "utilisation"]))
    assert "[" not in "".join(few.splitlines()[2:4]).replace("[h]", "").replace("[fraction]", "")
    assert few.splitlines()[-1] == "–: no interval, and no change, with fewer than 5 seeds"
    assert "*" not in few
    with pytest.raises(InputError, match="no comparison"):
        comparison_table(paired_comparisons(frame, "als", "static", ["makespan_ns"]).head(0))


@pytest.mark.parametrize(("numbers", "text"), table_rows(__file__, "numbers_with_intervals"))
def test_numbers_with_intervals(numbers: tuple[float, float, float], text: str) -> None:
    assert interval_text(*numbers) == text


def test_signs_and_units() -> None:
    assert interval_text(1.4, 1.1, 1.7, sign=True) == "+1.40 [1.10, 1.70]"
    assert interval_text(0.0, 0.0, 0.0, sign=True) == "0 [0, 0]"
    assert interval_text(-1.4, -1.7, -1.1, sign=True) == "−1.40 [−1.70, −1.10]"
    assert [four_digits(value) for value in (0.0, 43.0, -0.5, 12345.0)] == ["0", "43.00", "−0.5000", "1.234e+04"]
    assert shown_as("peak_power_w", 4.07e5) == Shown("peak power", "kW", 1e3)
    for metric, value, label in table_rows(__file__, "labels_of_metrics"):
        assert shown_as(metric, value).label == label


def test_a_metric_that_no_run_has_is_compared_as_nothing() -> None:
    frame = results(plain).assign(unfair_share=None)
    found = paired_comparisons(frame, "als", "ss", ["unfair_share"])
    assert (found.seeds == 0).all()
    assert found.mean_base.isna().all()
    assert comparison_table(found).count("–") > 4
