"""Jobs that are slowed one by one under a limit to power: against the slow reference, by hand, and what must hold."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
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


@pytest.mark.parametrize("by_cores", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_as_the_slow_reference(order: str, by_cores: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_cores:
        monkeypatch.setattr(PowerPlan, "alike", property(lambda plan: False))
    met = changes = 0
    for seed in range(40):
        case = drawn_with(seed, order)
        expected = run(case)
        if expected is not None:
            found = simulated(case, tmp_path)
            assert_as(expected, found)
            met, changes = met + 1, changes + changes_of(found)
    assert met > 20
    assert changes > 30


@pytest.mark.parametrize("estimates", ["exact", "last-two"])
@pytest.mark.parametrize("order", ORDERS)
def test_unlike_jobs_as_the_slow_reference(order: str, estimates: str, tmp_path: Path) -> None:
    """Jobs save, and lose, each something else; who starts is by what is thought, who is slowed by what is drawn."""
    met = changes = 0
    for seed in range(40):
        case = predicted(drawn_with(seed, order), seed, estimates)
        expected = run(case)
        if expected is not None:
            found = simulated(case, tmp_path)
            assert_as(expected, found)
            met, changes = met + 1, changes + changes_of(found)
    assert met > 20
    assert changes > 20


@pytest.mark.parametrize("order", ["fewest", "latest"])
def test_beside_failures_as_the_slow_reference(order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchSimulator, "checks", 1)
    monkeypatch.setattr(BatchSimulator, "most_ends", 1)
    met = 0
    for seed in range(40):
        case = with_downs(drawn_with(seed, order), seed)
        expected = run(case)
        if expected is not None:
            assert_as(expected, simulated(case, tmp_path))
            met += 1
    assert met > 20


@pytest.mark.parametrize("estimates", ["requested", "application"])
@pytest.mark.parametrize("order", ["fewest", "narrowest", "earliest"])
def test_easy_plans_with_jobs_in_states_of_their_own(order: str, estimates: str, tmp_path: Path) -> None:
    met = 0
    for seed in range(40):
        case = asking_for_more(drawn_with(seed, order, easy=True), seed)
        expected = run(replace(case, promised=estimates == "application"))
        if expected is not None:
            assert_as(expected, simulated(case, tmp_path, estimates=estimates))
            met += 1
    assert met > 20


@pytest.mark.parametrize("order", ["widest", "latest"])
def test_both_levels_as_the_slow_reference(order: str, tmp_path: Path) -> None:
    """Jobs are loops, run again from their start by the reference whenever their own speed changes."""
    met = changes = 0
    for seed in range(16):
        chance, case = random.Random(seed), drawn_with(seed, order)
        said = {
            "als": chance.choice(("static", "gss", "fac", "awf-c", "af")),
            "overhead_ns": chance.choice((0, 0, 300_000_000)),
            "variation": chance.choice((0.0, 0.3)),
            "tasks_per_core": chance.choice((1, 3, 6)),
            "seed": seed,
        }
        expected = run(replace(case, end_of=Loops(case, **said).end_of))
        if expected is not None:
            found = simulated(case, tmp_path, **said)
            assert_as(expected, found)
            met, changes = met + 1, changes + changes_of(found)
    assert met > 8
    assert changes > 15


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
def test_what_holds_at_each_instant(order: str, tmp_path: Path) -> None:
    """What is drawn fits, or all who may be slowed are as slow as can be; no more is left than the last of them would need to
    be one state faster; with ``fewest`` no choice of fewer jobs would have fitted."""
    tried = 0
    for seed in range(40):
        case = drawn_with(seed, order)
        if run(case) is None:
            continue
        found = simulated(case, tmp_path)
        if found.ledger.scales is None:  # nobody may be slowed
            continue
        table, jobs, scales = found.power_over_time, found.jobs, found.scales
        states, idle = [float(speed) for speed, _ in case.machine.states], case.machine.idle
        mw = [watts for _, watts in case.machine.states]
        for row in table.itertuples():
            now = row.instant_ns
            known = [one.power for one in case.limits if one.begin + case.reaction <= now < one.end]
            running = jobs[(jobs.start_ns <= now) & (jobs.end_ns > now)]
            state = {}
            for job in running.job_id.tolist():
                told = scales[(scales.job_id == job) & (scales.told_ns <= now)]
                state[job] = states.index(told.factor.iloc[-1]) if len(told) else 0
            may = set(running[running.allowed == 1].job_id.tolist())
            cores = dict(zip(running.job_id.tolist(), running.cores.tolist(), strict=True))
            full = case.machine.hosts * case.machine.cores * idle
            total = full + sum(n * (mw[state[job]] - idle) for job, n in cores.items())
            assert total == row.power_mw
            slowed = {job for job in state if state[job] > 0}
            assert slowed <= may
            assert row.jobs_slowed == len(slowed)
            assert row.level == max(state.values(), default=0)
            if not known:
                assert not slowed
                continue
            limit = min(known)
            assert total <= limit or all(state[job] == len(mw) - 1 for job in may)
            if slowed and total <= limit:
                steps = [cores[job] * (mw[state[job] - 1] - mw[state[job]]) for job in slowed]
                assert limit - total < max(steps)
                tried += 1
                at_full = full + sum(n * (mw[0] - idle) for n in cores.values())
                if order == "fewest":
                    saves = [cores[job] * (mw[0] - mw[-1]) for job in may]
                    assert all(
                        at_full - sum(some) > limit for size in range(len(slowed)) for some in combinations(saves, size)
                    )
    assert tried > 10


def test_by_hand(tmp_path: Path) -> None:
    """Of 300 W, two of the three jobs of a core each are at half speed: 200 W idle, 50 W a core at full speed, 20 W at half.

    Job 1 is the first by all orders but the widest and the latest; from 20 to 80 s 110 W more than 200 W are drawn by job 3, of
    two cores, and one of the others; with 10 W to be saved one job suffices, if it is the one of two cores.
    """
    jobs = (Job(0, 1, 100 * S, True), Job(5 * S, 1, 100 * S, True), Job(10 * S, 2, 100 * S, True))
    ends = {}
    for order in ORDERS:
        case = Case(TWO, jobs, (Limit(20 * S, 80 * S, 340_000),), "dvfs", order=order)
        result = simulated(case, tmp_path)
        ends[order] = [end // S for end in result.jobs.end_ns.tolist()]
        assert result.power_over_time.jobs_slowed.max() == (1 if ends[order] == [100, 105, 140] else 2)
    late = {job: [100 + 30 * (job == 0), 105 + 30 * (job == 1), 110 + 30 * (job == 2)] for job in range(3)}
    assert ends["fewest"] == ends["widest"] == ends["latest"] == late[2]
    assert ends["narrowest"] == ends["earliest"] == ends["least-sensitive"] == [130, 135, 110]


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


@given(*(st.integers(0, 2**60) for _ in range(4)))
def test_fractions_are_compared_exactly(a: int, c: int, other_a: int, other_c: int) -> None:
    def order(a: int, c: int, other_a: int, other_c: int) -> int:
        if c == 0 or other_c == 0:
            return (c == 0) - (other_c == 0)
        one, other = Fraction(a, c), Fraction(other_a, other_c)
        return (one > other) - (one < other)

    assert _compare(a, c, other_a, other_c) == order(a, c, other_a, other_c)
    assert _compare(a, c, a, c) == 0


@given(*(st.integers(1, 12) for _ in range(4)))
def test_small_fractions_are_compared_exactly(a: int, c: int, other_a: int, other_c: int) -> None:
    one, other = Fraction(a, c), Fraction(other_a, other_c)
    assert _compare(a, c, other_a, other_c) == (one > other) - (one < other)


def test_together_is_the_default(tmp_path: Path) -> None:
    case = drawn(3, "dvfs")
    plain = simulated(case, tmp_path)
    said = simulated(replace(case, order="together"), tmp_path)
    assert said.jobs.equals(plain.jobs)
    assert said.power_over_time.equals(plain.power_over_time)


def test_orders_that_cannot_be() -> None:
    for said in ("dvfs:slow=", "dvfs:slow=all", "dvfs:slow=fewest "):
        with pytest.raises(
            InputError, match=r"allowed: dvfs:slow=together, dvfs:slow=fewest, .*dvfs:slow=least-sensitive$"
        ):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
    for said in ("dvfs:order=fewest", "dvfs:"):
        with pytest.raises(InputError, match="unknown fallback 'dvfs:"):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
