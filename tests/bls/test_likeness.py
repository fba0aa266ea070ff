"""Distances between workloads: worked out by hand, and against slow definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bls.analysis.likeness import (
    CYCLES,
    QUANTITIES,
    _line,
    _round,
    distributions,
    gflop,
    halves,
    likeness,
    likeness_table,
)
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.figures.workload.likeness import PANELS

DAY_S = 86_400
MONDAY = 1_704_067_200  # 1 January 2024, 00:00 UTC


def log(jobs: list[tuple[int, int, int]], *header: str, **columns: Any) -> Workload:
    """Jobs of (submit in s, cores, run time in s), from a Monday on."""
    rows: list[Any] = [
        {"job_id": k, "submit_s": submit, "run_s": run, "cores": cores} for k, (submit, cores, run) in enumerate(jobs)
    ]
    made = Workload.from_jobs(rows)
    return made.take(np.arange(len(made)), header=(f"; UnixStartTime: {MONDAY}", *header), **columns)


def row(rows: list[dict[str, Any]], quantity: str) -> dict[str, Any]:
    return next(one for one in rows if one["quantity"] == quantity)


SHARES = st.lists(st.integers(0, 50), min_size=7, max_size=7).filter(any)


@given(SHARES, SHARES, st.integers(0, 6))
def test_what_goes_round(first: list[int], second: list[int], turn: int) -> None:
    a, b = (np.array(counts) / sum(counts) for counts in (first, second))
    ks, kuiper, wasserstein = _round(a, b)
    assert ks == pytest.approx(np.abs(np.cumsum(a) - np.cumsum(b)).max())
    # The least over all places where the circle may be cut, of which each is a line.
    lines = [np.abs(np.cumsum(np.roll(a, k)) - np.cumsum(np.roll(b, k))).sum() for k in range(7)]
    assert wasserstein == pytest.approx(min(lines), abs=1e-12)
    turned = _round(np.roll(a, turn), np.roll(b, turn))
    assert turned[1:] == pytest.approx((kuiper, wasserstein), abs=1e-12)
    assert ks <= kuiper + 1e-12
    assert kuiper <= 2 * ks + 1e-12
    evening, midnight = np.eye(24)[[23, 0]]
    assert _round(evening, midnight) == (1.0, 1.0, 1.0), "from the last hour to the first is one step"


SAMPLE = st.lists(st.integers(-20, 20), min_size=1, max_size=12)


@given(SAMPLE, SAMPLE)
def test_samples_on_a_line(first: list[int], second: list[int]) -> None:
    a, b = np.sort(np.array(first, float)), np.sort(np.array(second, float))
    ks, kuiper, wasserstein = _line(a, b)
    assert math.isnan(kuiper)
    assert ks == pytest.approx(max(abs(np.mean(a <= x) - np.mean(b <= x)) for x in (*first, *second)))
    # Quantile by quantile, of samples repeated until they are of one length.
    moved = np.abs(np.repeat(a, len(b)) - np.repeat(b, len(a))).mean()
    assert wasserstein == pytest.approx(moved, abs=1e-12)


def test_halves_are_alternate_weeks() -> None:
    week = 7 * DAY_S
    # Even weeks have jobs of 1 core at 9:00 on Mondays, odd ones of 5 cores at 10:00 on Tuesdays. Weeks of the calendar
    # are counted from a Monday on, whatever the log begins with.
    jobs = [
        (k * week + (k % 2) * (DAY_S + 3600) + 9 * 3600 + at, 1 + 4 * (k % 2), 60) for k in range(6) for at in (0, 5)
    ]
    found = halves(log(jobs))
    assert row(found, "hour")["wasserstein"] == pytest.approx(1.0)
    assert row(found, "weekday")["wasserstein"] == pytest.approx(1.0)
    assert row(found, "cores")["ks"] == 1.0
    # Only the 5 s between jobs of one week count.
    assert row(found, "interarrival")["ks"] == 0.0
    # A week ends with its Sunday.
    ends = [(k * week + (6 - 6 * (k % 2)) * DAY_S + at, 1 + 4 * (k % 2), 60) for k in range(6) for at in (0, 5)]
    assert row(halves(log(ends)), "cores")["ks"] == 1.0
    later = log([(t + 3 * DAY_S, cores, run) for t, cores, run in jobs])
    shifted = later.take(np.arange(len(later)), header=(f"; UnixStartTime: {MONDAY - 3 * DAY_S}",))
    assert [one["ks"] for one in halves(shifted)] == [one["ks"] for one in found]


def test_the_table_has_both() -> None:
    source = log([(k * 9999, 1 + k % 5, 1 + k % 11) for k in range(300)])
    made = log([(k * 8888, 2 + k % 5, 1 + k % 11) for k in range(300)])
    assert {(one["ks"], one["wasserstein"]) for one in likeness(source, source)} == {(0.0, 0.0)}
    table = likeness_table(source, made)
    for one, apart, half in zip(table, likeness(source, made), halves(source), strict=True):
        for name in ("ks", "wasserstein"):
            assert one[name] == apart[name]
            assert one[f"{name}_halves"] == half[name]
    assert set(table[0]) == {
        "quantity",
        "unit",
        *(f"{m}{h}" for m in ("ks", "kuiper", "wasserstein") for h in ("", "_halves")),
    }


def test_work_is_counted_by_the_speeds_of_the_header() -> None:
    jobs = [(0, 4, 10), (5, 8, 20)]
    plain = log(jobs)
    assert gflop(plain).tolist() == [40.0, 160.0]
    assert gflop(plain, 2.5).tolist() == [100.0, 400.0]
    said = log(jobs, "; CoreGflops: 3.0", "; GpuGflops: 100.0")
    assert gflop(said, 2.5).tolist() == [120.0, 480.0]
    cards = {"gpu": np.array([0, 2]), "unit_cores": np.array([1, 4])}
    assert gflop(log(jobs, "; CoreGflops: 3.0", "; GpuGflops: 100.0", extras=cards)).tolist() == [120.0, 8480.0]
    for odd in ("nan", "-1", "fast", "inf"):
        assert gflop(log(jobs, f"; CoreGflops: {odd}")).tolist() == [40.0, 160.0]
    # The source's own speed, else what the generated workload says of it.
    made = log([(0, 4, 5), (5, 8, 10)], "; CoreGflops: 6.0", "; SourceCoreGflops: 3.0")
    assert row(likeness(plain, made), "work")["ks"] == 0.0
    assert row(likeness(said, made), "work")["ks"] == 0.0
    assert row(likeness(log(jobs, "; CoreGflops: 4.0"), made), "work")["ks"] == 0.5


def test_distributions_are_shares() -> None:
    source = log([(k * 9999, 1 + k % 5, 1 + k % 11) for k in range(300)])
    made = log([(k * 8888, 2 + k % 5, 1 + k % 11) for k in range(200)])
    table = distributions(source, made)
    assert [one["panel"] for one in table[:24]] == ["hour"] * 24
    for panel in PANELS:
        rows = [one for one in table if one["panel"] == panel]
        for name in ("source", "generated"):
            assert sum(one[name] for one in rows) == pytest.approx(1.0)
        assert len(rows) == CYCLES.get(panel, 36)
    assert [one["at"] for one in table if one["panel"] == "month"] == list(range(1, 13))
    work = [one["at"] for one in table if one["panel"] == "work"]
    assert 0.0 < work[0] < work[-1] < math.log10(6 * 11)
    alike = distributions(log([(0, 1, 5), (9, 1, 5)]), log([(0, 1, 5), (9, 1, 5)]))
    assert sum(one["source"] for one in alike if one["panel"] == "work") == 1.0


def test_what_cannot_be_compared() -> None:
    one, two = log([(5, 1, 1)]), log([(5, 1, 1), (9, 1, 1)])
    for pair in ((one, two), (two, one)):
        with pytest.raises(InputError, match=r"^jobs: a single job has no distributions; allowed: at least 2 jobs"):
            likeness(*pair)
    with pytest.raises(InputError, match=r"^jobs: too short to be halved; allowed: jobs in an even and in an odd week"):
        halves(two)
    table = likeness_table(two, two)
    assert [one["ks"] for one in table] == [0.0] * len(QUANTITIES)
    assert all(math.isnan(one["ks_halves"]) for one in table)
