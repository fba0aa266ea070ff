"""What holds for every policy with every kind of backfilling and every allocator: one that is new is tested by its line."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import bridge
from bls.allocators import ALLOCATORS
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, DecidingPolicy
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger
from traces.ledger import STATES, WHY

pytestmark = pytest.mark.whole

BACKFILL = {
    "none": Rules(),
    "easy": Rules("easy"),
    "2": Rules("2"),
    "keep": Rules("conservative", "keep"),
    "rebuild": Rules("conservative", "rebuild"),
}

POWER = HostPower(5, [(1, 20)])
PLATFORMS = (
    Platform((HostGroup(1, 4, 4.0, power=POWER),)),
    Platform((HostGroup(2, 3, 3.0, power=POWER), HostGroup(1, 2, 2.0, power=POWER))),
    Platform((HostGroup(4, 2, 2.0, power=POWER),)),
)


def case(seed: int) -> tuple[Workload, Platform, dict[int, str]]:
    """Jobs in bursts, with estimates that are exact, too long or too short; and cores for who asks for them by number."""
    rng = random.Random(seed)
    platform = rng.choice(PLATFORMS)
    rows, requested, t = [], {}, 0
    for number in rng.sample(range(1, 1000), rng.randint(4, 16)):
        t += rng.choice((0, 0, 1, 2, 6))
        run, cores = rng.randint(1, 9), rng.randint(1, platform.n_cores if rng.random() < 0.4 else 2)
        estimate = rng.choice((run, run, rng.randint(1, 9), 3 * run))
        rows.append({"job_id": number, "submit_s": t, "run_s": run, "cores": cores, "estimate_s": estimate})
        rows[-1] |= {"user": rng.randint(0, 2), "queue": rng.randint(0, 1)}
        requested[number] = " ".join(map(str, sorted(rng.sample(range(platform.n_cores), cores))))
    return Workload.from_jobs(rows), platform, requested


def simulated(policy: str, rules: Rules, allocator: str, seed: int) -> bridge.Result:
    workload, platform, requested = case(seed)
    options: dict[str, Any] = {"requested": requested} if allocator == "given" else {}
    return bridge.simulate(
        workload, platform, bls=policy, als="recorded", allocator=allocator, rules=rules, seed=seed, **options
    )


def records(result: bridge.Result) -> dict[str, list[Any]]:
    jobs = result.ledger.jobs
    names = ("job_id", "start_ns", "end_ns", "why", "state", "attempt", "eligible_ns", "held_cores")
    columns = {name: getattr(jobs, name).tolist() for name in names}
    return columns | {"cores": [list(jobs.allocation(row)) for row in range(len(jobs))]}


def check(result: bridge.Result, allocator: str, backfill: str) -> None:
    check_ledger(result.ledger)
    jobs, workload = result.ledger.jobs, result.scenario.workload
    assert jobs.job_id.tolist() == workload.job_id.tolist(), "every job is there once"
    assert (jobs.end_ns - jobs.start_ns).tolist() == workload.run_ns.tolist()
    assert (jobs.eligible_ns == workload.submit_ns).all()
    assert (jobs.start_ns >= jobs.eligible_ns).all()
    assert {STATES[state] for state in jobs.state.tolist()} == {"completed"}
    allowed = {"head"} if backfill == "none" else {"head", "backfill", "reserved"}
    assert {WHY[why] for why in jobs.why.tolist()} <= allowed
    held = [{core for lo, hi in jobs.allocation(row) for core in range(lo, hi)} for row in range(len(jobs))]
    whole = ALLOCATORS[allocator].whole_hosts
    for row, cores in enumerate(held):
        assert len(cores) >= workload.cores[row] if whole else len(cores) == workload.cores[row]
        assert jobs.held_cores[row] == len(cores)
    for instant in np.unique(jobs.start_ns).tolist():
        there = [held[row] for row in np.flatnonzero((jobs.start_ns <= instant) & (instant < jobs.end_ns)).tolist()]
        assert len(set().union(*there)) == sum(map(len, there)), "no core has two jobs"
    if allocator == "given":
        assert [" ".join(map(str, sorted(cores))) for cores in held] == [
            case_of(result)[n] for n in jobs.job_id.tolist()
        ]


def case_of(result: bridge.Result) -> dict[int, str]:
    requested = result.scenario.requested
    assert requested is not None
    return dict(requested)


@pytest.mark.parametrize("backfill", BACKFILL)
@pytest.mark.parametrize(
    "policy", [name for name, one in POLICIES.items() if name != "reject" and not isinstance(one, DecidingPolicy)]
)
def test_all_jobs_run_once_and_the_records_are_sound(policy: str, backfill: str) -> None:
    """With every allocator, on cases of their own; and the same again gives the same."""
    for place, allocator in enumerate(ALLOCATORS):
        seed = 100 * place + len(policy)
        result = simulated(policy, BACKFILL[backfill], allocator, seed)
        check(result, allocator, backfill)
        assert records(simulated(policy, BACKFILL[backfill], allocator, seed)) == records(result)


@pytest.mark.parametrize("policy", [name for name, one in POLICIES.items() if isinstance(one, DecidingPolicy)])
def test_so_they_do_where_the_policy_decides(policy: str) -> None:
    """It backfills, and places, by itself."""
    for seed in range(4):
        result = simulated(policy, Rules(), "first-fit", seed)
        check(result, "first-fit", "by the policy")
        assert records(simulated(policy, Rules(), "first-fit", seed)) == records(result)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_backfilling_backfills(allocator: str) -> None:
    """In enough of the cases, so that the others say something."""
    whys = {
        name: [why for seed in range(12) for why in simulated("fcfs", rules, allocator, seed).ledger.jobs.why.tolist()]
        for name, rules in BACKFILL.items()
    }
    for name, found in whys.items():
        assert (WHY.index("backfill") in found) == (name != "none")
        assert (WHY.index("reserved") in found) == (name != "none")
