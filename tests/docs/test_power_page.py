"""The page of power says what runs and comparisons write."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import ROOT, section, table

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.excesses import REASONS
from bls.power.metric_names import SLEEP_METRICS
from bls.power.options import FALLBACKS, PowerOptions
from bridge.compare.power_indexes import METRICS, index_rows, indexes_of
from tools.studies.demand_response_jobs import experiment_1
from traces.base.time import format_ns
from traces.metric_units import shown_as
from traces.tables import POWER_COLUMNS

PAGE = ROOT / "docs" / "reference/power.md"
S = 10**9


def names(text: str) -> list[str]:
    return re.findall(r"`([\w:=]+)`", text)


@pytest.fixture(scope="module")
def runs() -> list[bridge.Result]:
    """Without and with a fallback."""
    machine = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])
    found = []
    for fallback in ("none", "dvfs"):
        power = PowerOptions(limits=[(20 * S, 80 * S, 300)], fallback=fallback)
        found.append(bridge.simulate(jobs, machine, als="recorded", power=power))
    return found


def test_the_table_over_time(runs: list[bridge.Result]) -> None:
    rows = table(section(PAGE, "What the results say"))
    *named, slowed = [name for row in rows for name in names(row[0])]
    assert named == list(POWER_COLUMNS) == list(runs[1].power_over_time.columns)
    assert slowed == "jobs_slowed"  # in few runs: tests/bls/test_power.py


def test_the_metrics(runs: list[bridge.Result]) -> None:
    text = section(PAGE, "What the results say")
    rows = table(text[text.index("| metric |") :])
    power = runs[1].power
    assert power is not None
    assert [name for row in rows for name in names(row[0])] == list(power.metrics)
    for said, unit, _ in rows:
        for name in names(said):
            assert unit == ("ns" if name.endswith("_ns") else shown_as(name, 1.0).unit)
    record = set(power.record()) - set(power.metrics)
    (said,) = (part for part in text.split("\n\n") if part.startswith("`run.json` has them"))
    assert record == set(names(said)) & record
    assert set(names(said)) - record == {"power"}


def test_the_indexes(runs: list[bridge.Result]) -> None:
    rows = [row[0] for row in table(section(PAGE, "What limits cost and save"))]
    records = [one.power.record() for one in runs if one.power is not None]
    found = indexes_of(
        *((runs[0].jobs, runs[1].jobs), (np.arange(3), np.arange(3))),
        (records[0], records[1]),
        (runs[0].power_over_time, runs[1].power_over_time),
    )
    metrics = {name: [one.metrics.get(name, 1.0) for one in runs] for name in METRICS}  # as if there were signals
    shown = [name for name, _ in index_rows(found, metrics)]
    assert ", ".join(rows).split(", ") == shown


def test_the_fallbacks_and_reasons() -> None:
    text = section(PAGE, "Fallbacks")
    assert [names(row[0])[0] for row in table(text)] == [
        "submit:state=1" if name == "submit" else name for name in FALLBACKS
    ]
    rows = table(text[text.index("| reason |") :])
    assert [names(row[0])[0] for row in rows] == list(REASONS)


def test_the_first_experiment_of_the_demand_response_page() -> None:
    rows = table(section(ROOT / "docs" / "explanation/demand-response.md", "Experiment 1: the limit is kept"))
    assert len(rows) == 6
    for fallback, *shown in rows:
        power = PowerOptions(limits=[(0, 86_400 * S, 407_000)], fallback=fallback.strip("`"))
        found = bridge.simulate(experiment_1(0), "demand-response", als="recorded", power=power).metrics
        above = format_ns(found["above_limit_ns"]) if found["above_limit_ns"] else "never"
        peaks = [f"{found[name] / 1000:.1f}" for name in ("peak_limited_w", "peak_power_w")]
        assert shown == [*peaks, above, format_ns(round(found["mean_wait_ns"])), f"{found['energy_j'] / 1e9:.2f}"]


def test_the_metrics_of_sleep() -> None:
    text = section(PAGE, "Sleep")
    assert [name for row in table(text)[:5] for name in names(row[0])] == list(SLEEP_METRICS)
