"""Prices and carbon: by hand, against exact fractions, and what a file of them cannot say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.power import run
from tables import table_rows
from test_power import FALLBACKS, drawn, simulated

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.accounting import PJ_PER_J, drawn_by_jobs
from bls.power.cooling import Pue, parse_pue
from bls.power.options import PowerOptions
from bls.power.signals import read_signals
from traces.base.errors import InputError

PJ_PER_KWH = 3_600_000 * PJ_PER_J

#: kWh in the cases by hand: 3.6 kW for 1,000 s are one.
MACHINE = Platform((HostGroup(1, 2, 2.0, power=HostPower(600, [(1, 1800)])),))


def options(folder: Path, text: str, **more: Any) -> PowerOptions:
    path = folder / "signals.csv"
    path.write_text(text)
    return PowerOptions(signals=path, **more)


def test_the_summary(tmp_path: Path) -> None:
    jobs = Workload.from_jobs([(1, 0, 1000, 2, 1000), (2, 1000, 2000, 1, 2000)])
    power = options(tmp_path, "from,price_per_kwh,g_co2e_per_kwh\n0,0.2,400\n500,0.4,100.5\n1500s,-0.1,0\n")
    said = dict(bridge.simulate(jobs, MACHINE, als="recorded", power=power).summary())
    assert said["carbon"] == "283.8 g CO2e, 275.4 g of it by cores that jobs held"
    assert said["cost"] == "0.33, 0.33 of it by cores that jobs held"


def test_it_is_the_integral_and_to_say_the_same_again_changes_nothing(tmp_path: Path) -> None:
    """Of the machine and of each job, rounded once; beside exact fractions, with whatever fallback."""
    text = "from,price_per_kwh,g_co2e_per_kwh\n0,0.123457,380\n13,99999.999999,0.000001\n40s,-3.5,7\n{more}90,1,2\n"
    for seed in range(4):
        for fallback in FALLBACKS:
            case = drawn(seed, fallback)
            if run(case) is None:
                continue
            plain = simulated(case, tmp_path)
            assert plain.power is not None
            given = plain.power.plan.options
            more = {
                "limits": given.limits,
                "reaction_ns": given.reaction_ns,
                "fallback": fallback,
                "allowed": given.allowed,
            }
            results = [
                simulated(case, tmp_path, power=options(tmp_path, text.format(more=words), **more))
                for words in ("", "41,-3.5,7\n77.5,-3.5,7\n")
            ]
            assert results[0].jobs.equals(results[1].jobs)
            assert dict(results[0].metrics) == dict(results[1].metrics)
            power = results[0].power
            assert power is not None
            assert power.plan.signals is not None
            steps = list(
                zip(power.plan.signals.instant_ns.tolist(), power.plan.signals.values["price_per_kwh"], strict=True)
            )

            def spent(begin: int, end: int, mw: int, steps: list[tuple[int, int]] = steps) -> Fraction:
                total = Fraction(0)
                for k, (since, price) in enumerate(steps):
                    until = steps[k + 1][0] if k + 1 < len(steps) else max(end, since)
                    total += Fraction(mw * max(0, min(end, until) - max(begin, since)) * price, 10**6)
                return total / PJ_PER_KWH

            series = power.series
            ends = [*series.instant_ns.tolist()[1:], series.until_ns]
            parts = zip(series.instant_ns.tolist(), ends, series.power_mw.tolist(), strict=True)
            assert results[0].metrics["cost"] == float(sum((spent(*part) for part in parts), Fraction(0)))
            by_job = [Fraction(0)] * len(results[0].jobs)
            for columns in drawn_by_jobs(results[0].ledger, power.plan.table, "held"):
                for row, *part in zip(*(column.tolist() for column in columns), strict=True):
                    by_job[row] += spent(*part)
            assert results[0].jobs.cost.tolist() == [float(one) for one in by_job]
            assert results[0].metrics["cost_jobs"] == float(sum(by_job, Fraction(0)))


@pytest.mark.parametrize("column", ["price_per_kwh", "g_co2e_per_kwh"])
def test_one_column_is_enough(column: str, tmp_path: Path) -> None:
    jobs = Workload.from_jobs([(1, 0, 1000, 2, 1000)])
    result = bridge.simulate(jobs, MACHINE, als="recorded", power=options(tmp_path, f"{column},from\n2,0\n"))
    here, other = ("cost", "co2e_g") if column == "price_per_kwh" else ("co2e_g", "cost")
    assert result.metrics[here] == 2.0
    assert other not in result.metrics
    assert other not in result.jobs.columns


def test_by_tasks(tmp_path: Path) -> None:
    """A core that waits is cheaper, and what is told apart by tasks adds up."""
    jobs = Workload.from_jobs([(1, 0, 1000, 2, 1000), (2, 100, 700, 2, 1000)])
    text = "from,price_per_kwh\n0,3600\n444.4,7200\n"
    said = {"als": "static", "variation": 0.5, "tasks_per_core": 4}
    held, working = (
        bridge.simulate(jobs, MACHINE, **said, power=options(tmp_path, text, of=of)) for of in ("held", "working")
    )
    assert (working.jobs.cost < held.jobs.cost).all()
    flat = bridge.simulate(jobs, MACHINE, **said, power=options(tmp_path, "from,price_per_kwh\n0,3.6\n", of="working"))
    np.testing.assert_allclose(flat.jobs.cost, flat.jobs.energy_j / 10**6, rtol=1e-15)
    assert flat.jobs.energy_j.equals(working.jobs.energy_j)


@pytest.mark.parametrize(("text", "message"), table_rows(__file__, "files_that_cannot_be_used"))
def test_files_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "signals.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_signals(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


MACHINE_COOLING = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
JOBS = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 110, 10, 2, 10)])


@pytest.mark.parametrize(
    ("pue", "energy_j", "peak_w"),
    [
        # 400 W for 60 s, 300 W for 40 s, 200 W for 10 s, 300 W for 10 s
        ("1.5", 1.5 * 41_000, 600),
        ("0%:2 100%:1", 400 * 60 + 300 * 1.25 * 50 + 200 * 1.5 * 10, 400),
        ("75%:3 100%:1", 400 * 60 + 300 * 3 * 50 + 200 * 3 * 10, 900),
        ("0%:2 50%:1.2", 1.2 * 41_000, 480),
    ],
)
def test_facilities_by_hand(pue: str, energy_j: float, peak_w: float) -> None:
    """Full the machine draws 400 W, idle 200."""
    found = bridge.simulate(JOBS, MACHINE_COOLING, als="recorded", power=PowerOptions(pue=pue)).metrics
    assert found["facility_energy_j"] == energy_j
    assert found["facility_peak_w"] == peak_w
    assert found["facility_mean_pue"] == energy_j / 41_000
    assert found["energy_j"] == 41_000
    assert not any(
        name.startswith("facility") for name in bridge.simulate(JOBS, MACHINE_COOLING, als="recorded").metrics
    )


points = st.lists(
    st.tuples(st.integers(0, 100), st.integers(1000, 5000)), min_size=1, max_size=5, unique_by=lambda p: p[0]
)


@given(points)
def test_as_sums_of_fractions(points: list[tuple[int, int]]) -> None:
    text = " ".join(f"{load}%:{value / 1000:.3f}" for load, value in sorted(points))
    result = bridge.simulate(JOBS, MACHINE_COOLING, als="recorded", power=PowerOptions(pue=text))
    assert result.power is not None
    series, total = result.power.series, Fraction(0)
    ends = [*series.instant_ns.tolist()[1:], series.until_ns]
    for mw, begin, end in zip(series.power_mw.tolist(), series.instant_ns.tolist(), ends, strict=True):
        load = Fraction(mw, 400_000) * 100
        below = max((p for p in points if p[0] <= load), default=min(points))
        above = min((p for p in points if p[0] >= load), default=max(points))
        value = Fraction(below[1], 1000)
        if below[0] < above[0] and below[0] <= load <= above[0]:
            value += Fraction(above[1] - below[1], 1000) * (load - below[0]) / (above[0] - below[0])
        total += mw * (end - begin) * value
    assert result.metrics["facility_energy_j"] == float(total / PJ_PER_J)


def test_as_it_is_written() -> None:
    assert parse_pue("1.25") == Pue((Fraction(0),), (Fraction(5, 4),))
    assert parse_pue(" 0%:2  12.5%:1.5 ") == Pue((Fraction(0), Fraction(1, 8)), (Fraction(2), Fraction(3, 2)))


@pytest.mark.parametrize(
    "text",
    ["", " ", "0.9", "101", "nan", "1,4", "0:2", "0%", "0%:0.5", "0%:", "101%:2", "50%:2 50%:1", "50%:2 10%:1", "²"],
)
def test_facilities_that_cannot_be(text: str) -> None:
    with pytest.raises(
        InputError, match=r"pue.*; allowed: 1 to 100, as 1.4, or such numbers at ascending loads"
    ) as error:
        PowerOptions(pue=text)
    assert "\n" not in str(error.value)
