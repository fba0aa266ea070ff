"""Orders of the queue by what jobs draw."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor
from typing import Any

import pytest

import bridge
from bls import HostGroup, Platform, Rules, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from traces.base.errors import InputError

#: Two cores of 100 W and six of 25.5 W: 44.125 W on the mean.
MACHINE = Platform(
    (
        HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),
        HostGroup(2, 3, 3.0, power=HostPower(5.5, [(1, 25.5)])),
    )
)
NAMES = ("least-power", "most-power", "least-energy")


def drawn(seed: int) -> tuple[Workload, list[Fraction]]:
    """Jobs of a user each that all wait for the first one, and what they draw."""
    chance = random.Random(seed)
    rows = [(1, 0, 10, 8, 10)]
    rows += [(k, 1, run := chance.randint(1, 9), chance.randint(1, 8), chance.choice((run, 10))) for k in range(2, 14)]
    names = ("job_id", "submit_s", "run_s", "cores", "estimate_s")
    jobs = [dict(zip(names, row, strict=True)) | {"user": row[0]} for row in rows]
    return Workload.from_jobs(jobs), [Fraction(chance.choice((0, 2, 5, 9, 13)), 10) for _ in rows]


def core_w(power: Fraction) -> Fraction:
    high, low = 50_000 + floor(50_000 * power + Fraction(1, 2)), 5500 + floor(20_000 * power + Fraction(1, 2))
    return Fraction(floor(Fraction(2 * high + 6 * low, 8) + Fraction(1, 2)), 1000)


def order(result: bridge.Result) -> list[int]:
    jobs = result.jobs.sort_values(["start_ns"], kind="stable")
    return [int(number) for number in jobs.job_id]


def started_in_order(result: bridge.Result, keys: list[Any]) -> None:
    starts = result.jobs.start_ns.tolist()
    rows = sorted(range(1, len(starts)), key=lambda row: (keys[row], row))
    assert [starts[row] for row in rows] == sorted(starts[row] for row in rows)


def keys_of(name: str, workload: Workload, powers: list[Fraction]) -> list[Fraction]:
    watts = [int(n) * core_w(power) for n, power in zip(workload.cores, powers, strict=True)]
    if name == "least-energy":
        return [int(r) * w for r, w in zip(workload.estimate_ns, watts, strict=True)]
    return [-w for w in watts] if name == "most-power" else watts


@pytest.mark.parametrize("name", NAMES)
def test_as_defined(name: str) -> None:
    others = 0
    for seed in range(6):
        workload, powers = drawn(seed)
        said = PowerOptions(job_power={"job_id": workload.job_id, "power": [float(power) for power in powers]})
        found = bridge.simulate(workload, MACHINE, bls=name, als="recorded", power=said)
        started_in_order(found, keys_of(name, workload, powers))
        plain = bridge.simulate(workload, MACHINE, bls=name, als="recorded")
        started_in_order(plain, keys_of(name, workload, [Fraction(1)] * len(powers)))
        others += order(plain) != order(found)
        score = {"least-power": "-power_w", "most-power": "power_w", "least-energy": "-energy_j"}[name]
        scored = bridge.simulate(workload, MACHINE, bls=f"expr:{score}", als="recorded", power=said)
        assert scored.jobs.start_ns.tolist() == found.jobs.start_ns.tolist()
        waited = bridge.simulate(workload, MACHINE, bls=f"expr:{score} + 0*w", als="recorded", power=said)
        assert waited.jobs.start_ns.tolist() == found.jobs.start_ns.tolist()
    assert others > 2


def test_energy_by_predicted_run_times() -> None:
    """Two jobs of user 1 have run 2 of 100 s; then one of theirs with as many cores precedes another one of 50 s."""
    plain = {"cores": 8, "user": 1}
    jobs = [
        {"job_id": 1, "submit_s": 0, "run_s": 2, "estimate_s": 100, **plain},
        {"job_id": 2, "submit_s": 0, "run_s": 2, "estimate_s": 100, **plain},
        {"job_id": 3, "submit_s": 5, "run_s": 20, "estimate_s": 20, "cores": 8, "user": 2},
        {"job_id": 4, "submit_s": 6, "run_s": 9, "estimate_s": 50, "cores": 8, "user": 3},
        {"job_id": 5, "submit_s": 7, "run_s": 2, "estimate_s": 100, **plain},
    ]
    for estimates, expected in (("requested", [1, 2, 3, 4, 5]), ("last-two", [1, 2, 3, 5, 4])):
        rules = Rules(estimates=estimates)
        found = bridge.simulate(Workload.from_jobs(jobs), MACHINE, bls="least-energy", als="recorded", rules=rules)
        assert order(found) == expected


@pytest.mark.parametrize("bls", [*NAMES, "expr:-power_w", "expr:w + energy_j"])
def test_a_platform_that_does_not_say_it(bls: str) -> None:
    for machine in (Platform(), Platform((*MACHINE.hosts, HostGroup(1, 2, 2.0)))):
        with pytest.raises(
            InputError, match="the platform does not say what its hosts draw; allowed: one whose"
        ) as caught:
            bridge.simulate(Workload.from_jobs([(1, 0, 1, 1, 1)]), machine, bls=bls, als="recorded")
        assert "\n" not in str(caught.value)
