"""What is drawn and used: exact whatever the size, counted again by hand, and where nothing draws anything."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.energy import used_pj
from test_power import POWERS, SHARES

import bridge
from bls import HostGroup, Platform, Surroundings, Workload
from bls.machine.host_power import HostPower
from bls.power.accounting import PJ_PER_J, Energy
from bls.power.host_accounts import HostIntervals
from bls.power.options import PowerOptions
from bls.power.table import MOST_MW, power_table
from traces.base.errors import InputError
from traces.base.time import MAX_NS

S = 10**9
PIECES = st.lists(st.tuples(st.integers(-MOST_MW, MOST_MW), st.integers(0, MAX_NS), st.integers(0, 3)), max_size=40)


@settings(max_examples=300)
@given(PIECES)
def test_energies_are_those_of_whole_numbers(pieces: list[tuple[int, int, int]]) -> None:
    """Of anything that a machine may draw, more or less, for as long as there is time."""
    power, lasts, place = (np.array([one[k] for one in pieces], np.int64) for k in range(3))
    each = Energy.of(power, lasts)
    assert each.pj_each() == [mw * ns for mw, ns, _ in pieces]
    # What belongs together is never more than the machine's at any time.
    power //= max(1, len(pieces))
    expected = [0] * 4
    for mw, (_, ns, row) in zip(power.tolist(), pieces, strict=True):
        expected[row] += mw * ns
    assert Energy.of(power, lasts).by(place, 4).pj_each() == expected


def test_a_machine_of_30_mw() -> None:
    """One job has all of it for 0.9 s: 29.9 MW · 0.9 s; 9.2 GmW · 1 s is already beyond int64 in pJ."""
    machine = Platform((HostGroup(1000, 100, 1.0, power=HostPower(100, [(1, 299)])),))
    jobs = Workload.from_jobs([{"job_id": 1, "submit_s": 0, "run_s": 100, "cores": 100_000}])
    result = bridge.simulate(jobs, machine, als="recorded", power=PowerOptions())
    assert result.jobs.energy_j.tolist() == [29_900_000 * 100]
    assert result.metrics["energy_idle_j"] == 0
    assert Energy.of(np.array([29_900_000_000]), np.array([9 * S // 10])).joules().tolist() == [26_910_000.0]


def test_a_machine_that_draws_too_much() -> None:
    power = HostPower(0, [(1, 10**9)])
    with pytest.raises(InputError, match=r"--power: the platform's hosts draw up to 1.6e\+16 W; allowed: 1.153e\+15 W"):
        power_table(Platform((HostGroup(16_000, 1000, 1.0, power=power),)), "--power")
    boots = HostPower(0, [(1, 1)], boot=("1s", 10**9))
    with pytest.raises(InputError, match=r"draw up to 1.6e\+15 W"):
        power_table(Platform((HostGroup(1_600_000, 1, 1.0, power=boots),)), "--power")
    assert power_table(Platform((HostGroup(1000, 1000, 1.0, power=power),)), "--power").full_total_mw == 10**18


IDLE = HostPower(50, [(1, 100), (0.5, 70)], off_w=10)
TWO = Platform((HostGroup(2, 2, 2.0, power=IDLE),))
WITHDRAWN = [{"job_id": 1, "submit_s": 0, "run_s": 10, "cores": 4, "cancel_s": 60}]
ALWAYS = [(0, 200 * S, 210)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PowerOptions(), {"bls": "reject"}),
        (PowerOptions(limits=ALWAYS, fallback="dvfs"), {"bls": "reject"}),
        (PowerOptions(limits=ALWAYS, fallback="hold"), {}),
        (PowerOptions(limits=ALWAYS, fallback="dvfs", allowed="none"), {}),
        (PowerOptions(limits=[(0, 200 * S, 20)], fallback="stop:off"), {}),
        (PowerOptions(limits=[(0, 200 * S, 200)], fallback="stop:idle"), {}),
    ],
)
def test_no_job_starts(options: PowerOptions, said: dict[str, Any]) -> None:
    """None is allowed to, or it does not fit and is withdrawn: nothing is drawn but what the idle machine takes."""
    jobs = Workload.from_jobs(WITHDRAWN if not said else [{"job_id": 1, "submit_s": 0, "run_s": 10, "cores": 4}])
    result = bridge.simulate(jobs, TWO, **{"als": "recorded", "power": options} | said)
    assert (result.jobs.start_ns < 0).all()
    assert result.power is not None
    assert result.power.series.peak_mw == 200_000
    assert result.jobs.energy_j.tolist() == [0]
    assert len(result.power_over_time) > 0
    assert result.metrics["energy_j"] == 0  # no job ends, so that nothing takes any time
    assert used_pj(result) == ([0], 0)


def drawn(seed: int) -> tuple[Workload, Platform, dict[str, Any]]:
    """Hosts of one to three kinds, jobs, and limits with whatever fallback."""
    chance = random.Random(seed)
    groups = []
    for _ in range(chance.randint(1, 3)):
        idle = chance.choice((20, 50.125))
        states = [(1, 100), (0.75, 85.5), (0.5, 70)][: chance.randint(1, 3)]
        power = HostPower(
            *(idle, states, chance.choice((0, 30.001))),
            off_w=chance.choice((0, 7)),
            shutdown=("3s", 40),
            boot=("7s", 90),
        )
        groups.append(HostGroup(chance.randint(1, 3), chance.randint(1, 3), 4.0, power=power))
    platform, submit, jobs = Platform(tuple(groups)), 0, []
    for number in range(1, chance.randint(2, 14)):
        submit += chance.choice((0, 0, 3, 7, 20))
        jobs.append((number, submit, chance.randint(1, 60), chance.randint(1, platform.n_cores), 60))
    full = power_table(platform, "").full_total_mw // 1000
    limits = [
        (begin * S, (begin + chance.randint(5, 90)) * S, full * chance.randint(50, 100) // 100) for begin in (10, 70)
    ]
    fallback = chance.choice(("none", "hold", "submit:state=1", "dvfs", "dvfs", "stop:idle", "stop:off"))
    if fallback == "submit:state=1" and power_table(platform, "").n_states == 1:
        fallback = "dvfs"
    around = Surroundings(failures="mtbf:100s,mttr:5s") if not fallback.startswith("stop") else Surroundings()
    return (
        Workload.from_jobs(jobs),
        platform,
        {
            "power": PowerOptions(limits=limits, fallback=fallback),
            "surroundings": around,
            "allocator": chance.choice(("first-fit", "best-fit")),
            "seed": seed,
        },
    )


def test_as_counted_core_by_core() -> None:
    """Jobs, hosts and machine, to the pJ; of hosts of several kinds, with every depth of reservations."""
    scaled = stopped = failed = learned = 0
    for seed in range(24):
        workload, platform, options = drawn(seed)
        if seed % 2:
            chance, numbers = random.Random(~seed), workload.job_id.tolist()
            given = {
                "job_id": numbers,
                "power": [chance.choice(POWERS) for _ in numbers],
                "memory_bound": [chance.choice(SHARES) for _ in numbers],
            }
            workload = replace(workload, user=workload.job_id % 2)
            options["power"] = replace(
                options["power"], job_power=given, estimates=("exact", "last-two")[seed // 2 % 2]
            )
        backfill = ("none", "easy", "2", "conservative")[seed // 2 % 4]
        result = bridge.simulate(workload, platform, als="recorded", backfill=backfill, **options)
        jobs, total = used_pj(result)
        power, nodes = result.power, result.nodes
        assert power is not None
        assert (power.accounts.jobs.pj_each(), power.series.energy_pj()) == (jobs, total)
        assert result.metrics["energy_j"] == total / PJ_PER_J
        hosts = power.host_energies(HostIntervals(*(nodes[one].to_numpy() for one in ("host", "begin_ns", "end_ns"))))
        assert (hosts.jobs.total_pj(), hosts.total.total_pj()) == (sum(jobs), total)
        scaled += 0 if result.ledger.scales is None else len(result.scales)
        stopped += 0 if result.notes.host_states is None else len(result.notes.host_states[0])
        failed += len(result.notes.downtime.host)
        learned += int((result.jobs.predicted_power != 1).sum()) if "predicted_power" in result.jobs else 0
    assert min(scaled, stopped, failed, learned) > 5
