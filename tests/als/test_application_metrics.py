"""The metrics of a loop: by hand, and by exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, section, table

from als.engine.dag.metrics import GRAPH_METRICS
from als.engine.metrics import LOOP_METRICS, application_metrics, finish_cov, finish_imbalance, loop_metrics, measure

NAMES = [name for name, _ in LOOP_METRICS]


def measured(
    finish: list[int],
    busy: list[int],
    speed: list[float] | None = None,
    *,
    start: int = 0,
    work: float = 1.0,
    length_cov: float = 0.25,
    scheduling: int = 0,
    chunks: int = 1,
) -> dict[str, float]:
    values = np.empty(len(LOOP_METRICS))
    speeds = np.ones(len(finish)) if speed is None else np.array(speed)
    columns = (np.array(finish, np.int64), np.array(busy, np.int64), speeds)
    measure(values, start, *columns, work, length_cov, scheduling, chunks)
    return loop_metrics(values)


def test_all_metrics_by_hand() -> None:
    # Four cores from 10 s on. t = 2, 4, 6 and 8 s, the mean 5 s, σ² = 5 s², the sample's 20/3 s².
    # They spent 2, 3, 6 and 7 s in tasks, in all 18 s, and 1 s in scheduling; 24 GFLOP at 1, 1, 2 and 2 GFLOP/s.
    found = measured(
        [12 * 10**9, 14 * 10**9, 16 * 10**9, 18 * 10**9],
        [2 * 10**9, 3 * 10**9, 6 * 10**9, 7 * 10**9],
        [1.0, 1.0, 2.0, 2.0],
        start=10 * 10**9,
        work=24.0,
        length_cov=0.125,
        scheduling=10**9,
        chunks=9,
    )
    by_hand = {
        "cov": math.sqrt(5) / 5,
        "cov_sample": math.sqrt(20 / 3) / 5,
        "imbalance": 8 / 5 - 1,
        "load_balance": 5 / 8,
        "percent_imbalance": (8 - 5) / 8 * 4 / 3,
        "max_minus_mean_ns": 3e9,
        "sakellariou_l_ns": 7e9 - 18e9 / 4,
        "sakellariou_lr": 1 - 18 / (4 * 7),
        "efficiency": 24 / (8 * 6),
        "scheduling_ns": 1e9,
        "scheduling_share": 1 / (4 * 8),
        "rounds": 9.0,
        "length_cov": 0.125,
        "computing_ns": 18e9,
    }
    assert list(found) == list(by_hand) == NAMES
    assert found == pytest.approx(by_hand, rel=1e-14)


def test_what_there_is_no_number_for() -> None:
    assert all(math.isnan(value) for value in measured([7, 7], [0, 0], start=7).values())
    assert math.isnan(finish_imbalance(np.full(7, 3, np.int64), 3))
    assert math.isnan(finish_cov(np.full(7, 3, np.int64), 3))
    only_scheduling = measured([9, 7], [0, 0], start=7, scheduling=2)
    assert math.isnan(only_scheduling.pop("sakellariou_lr"))
    assert not any(math.isnan(value) for value in only_scheduling.values())
    assert math.isnan(measured([9, 7], [1, 0], [0.0, 0.0])["efficiency"])


@settings(max_examples=200)
@given(
    start=st.integers(0, 2**60),
    cores=st.lists(st.tuples(st.integers(0, 2**61), st.integers(0, 10**6)), min_size=1, max_size=20).filter(
        lambda cores: any(time for time, _ in cores)
    ),
    scheduling=st.integers(0, 2**61),
    work=st.floats(1e-3, 1e12),
)
def test_all_metrics_as_exact_arithmetic_has_them(
    start: int, cores: list[tuple[int, int]], scheduling: int, work: float
) -> None:
    times = [time for time, _ in cores]
    busy = [time * share // 10**6 for time, share in cores]
    n = len(cores)
    found = measured([start + time for time in times], busy, start=start, work=work, scheduling=scheduling)
    mean, most = Fraction(sum(times), n), max(times)
    finish = np.array([start + time for time in times], np.int64)
    assert found["cov"] == finish_cov(finish, start)
    assert found["imbalance"] == finish_imbalance(finish, start)
    spread = sum((time - mean) ** 2 for time in times) / n
    assert found["cov"] == pytest.approx(math.sqrt(spread) / float(mean), rel=1e-12, abs=1e-14)
    exact = {
        "imbalance": most / mean - 1,
        "load_balance": mean / most,
        "percent_imbalance": (most - mean) / most * n / (n - 1) if n > 1 else 0,
        "max_minus_mean_ns": most - mean,
        "sakellariou_l_ns": max(busy) - Fraction(sum(busy), n),
        "efficiency": Fraction(work) * 10**9 / (most * n),
        "scheduling_share": Fraction(scheduling, n * most),
    }
    if n > 1:
        squares = sum((time - mean) ** 2 for time in times) / (n - 1)
        assert found["cov_sample"] == pytest.approx(math.sqrt(squares) / float(mean), rel=1e-12, abs=1e-14)
    if max(busy):
        exact["sakellariou_lr"] = 1 - Fraction(sum(busy), n * max(busy))
    exact["computing_ns"] = Fraction(sum(busy))
    for name, value in exact.items():
        # Differences of large times are as good as float64 has the times.
        near = 1e-15 * n * most if name.endswith("_ns") else 1e-14
        assert found[name] == pytest.approx(float(value), rel=1e-12, abs=near), name
        assert found[name] >= 0, name


def test_the_page_defines_every_metric() -> None:
    text = section(ROOT / "docs" / "reference/metrics.md", "The application level")
    for rest, unit, metrics in (
        (text, "fraction", LOOP_METRICS),
        (text[text.index("### Graphs") :], "ratio", GRAPH_METRICS),
    ):
        rows = table(rest[rest.index("| what |") :])
        assert [(row[1].strip("`"), row[2].replace(unit, "1")) for row in rows] == list(metrics)


def test_the_distribution_over_jobs() -> None:
    k = len(LOOP_METRICS)
    nothing = np.full(k, math.nan)
    jobs = [np.arange(k) + 10.0 * j for j in (3, 0, 4, 1, 2)]
    jobs[0][NAMES.index("cov_sample")] = math.nan  # a job of one core
    loops = np.array([jobs[0], nothing, *jobs[1:], nothing]).T
    zeros, none = np.zeros(7, np.int64), np.full(7, math.nan)
    distribution = application_metrics(zeros, zeros, none, none, loops, 0.0)["distribution"]
    assert list(distribution) == NAMES
    for at, name in enumerate(NAMES):
        if name == "cov_sample":
            expected = {"mean": 17.5, "median": 15.0, "p10": 3.0, "p90": 34.0, "max": 40.0}
        else:
            expected = {"mean": 20.0, "median": 20.0, "p10": 4.0, "p90": 36.0, "max": 40.0}
        shifted = {key: value + at for key, value in expected.items()}
        assert distribution[name] == pytest.approx(shifted, rel=1e-14), name
    empty = application_metrics(zeros, zeros, none, none, np.full((k, 7), math.nan), 0.0)["distribution"]
    assert empty["cov"] == dict.fromkeys(("mean", "median", "p10", "p90", "max"))
    assert empty.keys() == distribution.keys()


def test_totals_leave_out_jobs_without_an_application_level() -> None:
    some = np.array([0.5, math.nan, 0.0])
    loops = np.full((len(LOOP_METRICS), 3), math.nan)
    loops[NAMES.index("computing_ns")] = [30.0, math.nan, 15.0]
    figures = application_metrics(np.array([3, 0, 4]), np.array([2, 0, 4]), some, 2 * some, loops, 60.0, detail=False)
    assert figures == {
        "tasks": 7,
        "chunks": 6,
        "mean_imbalance": 0.25,
        "max_imbalance": 0.5,
        "mean_cov": 0.5,
        "max_cov": 1.0,
        "computing_utilisation": 0.75,
    }
    none, nothing = np.full(1, math.nan), np.full((len(LOOP_METRICS), 1), math.nan)
    figures = application_metrics(np.zeros(1, np.int64), np.zeros(1, np.int64), none, none, nothing, 60.0)
    assert figures["computing_utilisation"] is None
    assert figures["mean_imbalance"] is None
    assert figures["max_cov"] is None
