"""Jobs that are slowed one by one under a limit to power: against the slow reference, by hand, and what must hold."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.power import Case, Job, Limit, run
from test_job_power import predicted
from test_power import LIMIT, TWO, Loops, S, asking_for_more, assert_as, drawn, simulated, with_downs

import bridge
from bls import HostGroup, Platform, Workload
from bls.engine.features.power_by_job import _compare
from bls.machine.host_power import HostPower
from bls.power.options import SLOW, PowerOptions, PowerPlan
from bls.simulator import BatchSimulator
from traces.base.errors import InputError

ORDERS = [order for order in SLOW if order != "together"]


def changes_of(found: bridge.Result) -> int:
    return 0 if found.ledger.scales is None else len(found.ledger.scales.job)


def drawn_with(seed: int, order: str, **said: Any) -> Case:
    return replace(drawn(seed, "dvfs", **said), order=order)


@pytest.mark.parametrize("kind", ["by counts", "by cores", "unlike", "downs", "requested", "application", "loops"])
def test_as_the_slow_reference(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unlike jobs save, and lose, each something else; loops are run again whenever their own speed changes."""
    if kind == "by cores":
        monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    if kind == "downs":
        monkeypatch.setattr(BatchSimulator, "checks", 1)
        monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = changes = 0
    for order in ORDERS:
        for seed in range(4 if kind == "loops" else 12):
            case, said = drawn_with(seed, order, easy=kind in ("requested", "application")), dict[str, Any]()
            if kind == "unlike":
                case = predicted(case, seed, ("exact", "last-two")[seed % 2])
            elif kind == "downs":
                case = with_downs(case, seed)
            elif case.easy:
                case, said = replace(asking_for_more(case, seed), promised=kind == "application"), {"estimates": kind}
            elif kind == "loops":
                chance = random.Random(seed)
                said = {
                    "als": chance.choice(("static", "gss", "fac", "awf-c", "af")),
                    "overhead_ns": chance.choice((0, 0, 300_000_000)),
                    "variation": chance.choice((0.0, 0.3)),
                    "tasks_per_core": chance.choice((1, 3, 6)),
                    "seed": seed,
                }
                case = replace(case, end_of=Loops(case, **said).end_of)
            expected = run(case)
            if expected is not None:
                found = simulated(case, tmp_path, **said)
                assert_as(expected, found)
                met, changes = met + 1, changes + changes_of(found)
    assert met > 15
    assert changes > 12


@pytest.mark.parametrize("order", ORDERS)
def test_one_job_or_two_states_and_all_of_them_are_as_one_level(order: str, tmp_path: Path) -> None:
    """With one job at a time, which may be slowed, an order is of no account."""
    machine = replace(TWO, hosts=1)
    chance = random.Random(order)
    jobs = tuple(Job(k * 7 * S, 2, chance.randint(1, 60) * S, True) for k in range(6))
    case = Case(machine, jobs, (*LIMIT, Limit(120 * S, 150 * S, 145_000)), "dvfs")
    together, alone = simulated(case, tmp_path), simulated(replace(case, order=order), tmp_path)
    assert len(alone.scales) > 0
    assert alone.jobs.equals(together.jobs)
    columns = list(together.power_over_time.columns)
    assert alone.power_over_time[columns].equals(together.power_over_time)
    assert alone.power_over_time.jobs_slowed.equals((together.power_over_time.level > 0).astype(np.int64))


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_said_of_jobs_that_are_slowed(order: str, tmp_path: Path) -> None:
    """How many are slowed, and how much the slowest is, as the commands to jobs have it; nobody else is."""
    tried = 0
    for seed in range(12):
        case = drawn_with(seed, order)
        found = simulated(case, tmp_path) if run(case) is not None else None
        if found is None or found.ledger.scales is None:  # nobody may be slowed
            continue
        jobs, scales = found.jobs, found.scales
        states = [float(speed) for speed, _ in case.machine.states]
        for row in found.power_over_time.itertuples():
            now = row.instant_ns
            running = jobs[(jobs.start_ns <= now) & (jobs.end_ns > now)]
            last = scales[scales.job_id.isin(running.job_id) & (scales.told_ns <= now)].groupby("job_id").factor.last()
            state = last.map(states.index)
            assert set(state[state > 0].index) <= set(running[running.allowed == 1].job_id)
            assert (row.jobs_slowed, row.level) == ((state > 0).sum(), max(state, default=0))
            tried += row.jobs_slowed > 0
    assert tried > 4


def test_who_loses_the_least_for_a_watt_by_hand() -> None:
    """Cores of host 0 save 40 W for half their speed, those of host 1 30 W for a quarter of it: per part lost these save more,
    though job 2, of as many cores, saves less. With 20 W to be saved one of them is slowed, until the other ends at 100 s."""
    machine = Platform((
        HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 100), (0.5, 60)])),
        HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 100), (0.75, 70)])),
    ))  # fmt: skip
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 100, 2, 100)])
    ends = {}
    for order in ("fewest", "least-sensitive"):
        power = PowerOptions(limits=[(0, None, 380)], fallback=f"dvfs:slow={order}")
        found = bridge.simulate(jobs, machine, als="recorded", power=power)
        ends[order] = (found.jobs.end_ns / S).round(2).tolist()
    assert ends == {"fewest": [150, 100], "least-sensitive": [100, 125]}


@pytest.mark.parametrize("memory_bound", [0, 0.5, 0.9, 1])
def test_the_state_of_a_job_that_waits_for_memory(memory_bound: float) -> None:
    """From 20 to 80 s both cores are in the last of three states, however little slower the job is in it."""
    machine = Platform((HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.75, 85), (0.5, 70)])),))
    power = PowerOptions(
        limits=[(20 * S, 80 * S, 145)],
        fallback="dvfs:slow=fewest",
        job_power={"job_id": [1], "memory_bound": [memory_bound]},
    )
    found = bridge.simulate(Workload.from_jobs([(1, 0, 100, 2, 100)]), machine, als="recorded", power=power)
    assert found.jobs.end_ns.tolist() == pytest.approx([(160 - 60 / (2 - memory_bound)) * S])
    table = found.power_over_time
    assert (table.instant_ns // S).tolist() == [0, 20, 80]
    assert table.level.tolist() == [0, 2, 0]
    assert table.jobs_slowed.tolist() == [0, 1, 0]


@settings(max_examples=400)
@given(*(st.integers(0, 2**60) | st.integers(0, 12) for _ in range(4)))
def test_fractions_are_compared_exactly(a: int, c: int, other_a: int, other_c: int) -> None:
    def order(a: int, c: int, other_a: int, other_c: int) -> int:
        if c == 0 or other_c == 0:
            return (c == 0) - (other_c == 0)
        one, other = Fraction(a, c), Fraction(other_a, other_c)
        return (one > other) - (one < other)

    assert _compare(a, c, other_a, other_c) == order(a, c, other_a, other_c)
    assert _compare(a, c, a, c) == 0


def test_orders_that_cannot_be() -> None:
    for said in ("dvfs:slow=", "dvfs:slow=all", "dvfs:slow=fewest "):
        with pytest.raises(
            InputError, match=r"allowed: dvfs:slow=together, dvfs:slow=fewest, .*dvfs:slow=least-sensitive$"
        ):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
    for said in ("dvfs:order=fewest", "dvfs:"):
        with pytest.raises(InputError, match="unknown fallback 'dvfs:"):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
