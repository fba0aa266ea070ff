"""Workloads made like real logs: as like them as two halves of a log are like each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bls.analysis.likeness import halves, likeness
from bls.workloads import read_workload
from bls.workloads.calendar import Calendar
from bls.workloads.generators import generate_like
from bls.workloads.workload import Workload

LOGS = ("HPC2N-2002-2.2-cln", "CEA-Curie-2011-2.1-cln")
MEASURES = ("ks", "kuiper", "wasserstein")


@pytest.fixture(scope="module", params=LOGS)
def source(request: pytest.FixtureRequest, shared: Path) -> Workload:
    return read_workload(shared / "traces" / f"{request.param}.swf.gz")


def by_quantity(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["quantity"]: row for row in rows}


@pytest.mark.parametrize(("n_jobs", "seed"), [(50_000, 1), (200_000, 2), (500_000, 3)])
def test_arrivals_by_hour_and_weekday_are_no_farther_than_halves(source: Workload, n_jobs: int, seed: int) -> None:
    made = by_quantity(likeness(source, generate_like(source, n_jobs, seed=seed)))
    apart = by_quantity(halves(source))
    for quantity in ("hour", "weekday"):
        for measure in MEASURES:
            assert made[quantity][measure] < apart[quantity][measure], (quantity, measure)
    # Jobs are drawn whole.
    for quantity in ("cores", "run time", "work"):
        assert made[quantity]["ks"] < 0.01


def test_the_distances_against_a_count_of_another_kind(source: Workload) -> None:
    made = generate_like(source, 50_000, seed=1)
    shares = []
    for workload in (source, made):
        calendar = Calendar.of(workload)
        dates = [calendar.date(ns) for ns in workload.submit_ns[:: max(1, len(workload) // 20_000)].tolist()]
        shares.append(np.bincount([date.weekday() for date in dates], minlength=7) / len(dates))
    ks = np.abs(np.cumsum(shares[0]) - np.cumsum(shares[1])).max()
    # Of one job in so many: as near as such a sample is.
    assert by_quantity(likeness(source, made))["weekday"]["ks"] == pytest.approx(ks, abs=0.015)


def test_the_papers_method_follows_the_hours_but_not_the_weekdays(source: Workload) -> None:
    made = by_quantity(likeness(source, generate_like(source, 200_000, seed=1, method="accasim")))
    apart = by_quantity(halves(source))
    assert made["hour"]["ks"] < apart["hour"]["ks"]
    assert made["weekday"]["ks"] > 2 * apart["weekday"]["ks"]
    # Why: v_max never sinks below half an hour, and hardly any time between two jobs is longer.
    assert np.mean(np.diff(source.submit_ns) <= 1800 * 10**9) > 0.94
