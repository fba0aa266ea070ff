"""What a facility draws, by the load of its machine: by hand, against sums of fractions, and what cannot be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.accounting import PJ_PER_J
from bls.power.cooling import Pue, parse_pue
from bls.power.options import PowerOptions
from traces.base.errors import InputError

MACHINE = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
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
def test_by_hand(pue: str, energy_j: float, peak_w: float) -> None:
    """Full the machine draws 400 W, idle 200."""
    found = bridge.simulate(JOBS, MACHINE, als="recorded", power=PowerOptions(pue=pue)).metrics
    assert found["facility_energy_j"] == energy_j
    assert found["facility_peak_w"] == peak_w
    assert found["facility_mean_pue"] == energy_j / 41_000
    assert found["energy_j"] == 41_000
    assert not any(name.startswith("facility") for name in bridge.simulate(JOBS, MACHINE, als="recorded").metrics)


points = st.lists(
    st.tuples(st.integers(0, 100), st.integers(1000, 5000)), min_size=1, max_size=5, unique_by=lambda p: p[0]
)


@given(points)
def test_as_sums_of_fractions(points: list[tuple[int, int]]) -> None:
    text = " ".join(f"{load}%:{value / 1000:.3f}" for load, value in sorted(points))
    result = bridge.simulate(JOBS, MACHINE, als="recorded", power=PowerOptions(pue=text))
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
def test_what_cannot_be(text: str) -> None:
    with pytest.raises(
        InputError, match=r"pue.*; allowed: 1 to 100, as 1.4, or such numbers at ascending loads"
    ) as error:
        PowerOptions(pue=text)
    assert "\n" not in str(error.value)
