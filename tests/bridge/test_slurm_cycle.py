"""The batch policy ``slurm`` against Slurm itself: what a replay starts at an instant, to the nanosecond, the policy does, too.

Slurm is the reference, so that there is no slower one. ``python tests/bridge/slurm_soak.py`` draws many more workloads.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from slurm_here import machine, needs_slurm, replayed
from slurm_soak import KINDS, Case, differing, drawn

from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.selection import select
from bls.workloads.workload import Workload
from bridge import simulate

pytestmark = [pytest.mark.whole, needs_slurm]

STAY = {("hosts", "backfill"), ("cores", "builtin"), ("wide", "backfill"), ("idle", "builtin")}


@pytest.mark.parametrize(
    ("kind", "scheduler"),
    [
        pytest.param(kind, scheduler, marks=[] if (kind, scheduler) in STAY else [pytest.mark.release])
        for kind in KINDS
        for scheduler in ("backfill", "builtin")
    ],
)
def test_starts_are_those_of_slurm_to_the_nanosecond(kind: str, scheduler: str, tmp_path: Path) -> None:
    found = drawn(kind, 11)
    few = Case(found.jobs[: 130 if kind == "bursts" else 30], found.hosts, found.cores, scheduler)
    assert differing(few, tmp_path / "replay").empty


@pytest.mark.parametrize(
    ("kind", "seed", "weight", "favor_small", "small_relative_to_time"),
    [
        ("hosts", 6, 30, True, False),  # many are equal
        ("cores", 7, 1000, True, True),
        pytest.param("cores", 7, 4 * 10**9, False, True, marks=pytest.mark.release),
        pytest.param("cores", 1, 100, True, False, marks=pytest.mark.release),
    ],
)
def test_priorities_by_size_are_those_of_slurm(
    kind: str, seed: int, weight: int, favor_small: bool, small_relative_to_time: bool, tmp_path: Path
) -> None:
    found = drawn(kind, seed)
    few = Case(found.jobs[:100], found.hosts, found.cores, "backfill", weight, favor_small, small_relative_to_time)
    assert differing(few, tmp_path / "replay").empty
    workload, rules = Workload.from_jobs(few.jobs), Rules(kill_at_walltime=True)
    by_size, by_submit = (
        simulate(workload, platform=few.platform, bls=one.policy, als="recorded", rules=rules).jobs.start_ns.to_numpy()
        for one in (few, replace(few, weight_job_size=0))
    )
    assert (by_size != by_submit).sum() > 3


def test_a_job_is_killed_while_the_queue_is_empty(tmp_path: Path) -> None:
    case = drawn("cores", 2023)
    late = tuple(job for job in case.jobs if job[0] >= 38)  # job 41 is, in the minute of a look at the whole queue
    assert differing(Case(late, case.hosts, case.cores, case.scheduler), tmp_path / "late").empty
    few = Case(((1, 0, 5, 1, 60), (2, 31, 500, 1, 60), (3, 105, 50, 1, 60)), 4, 1)
    assert differing(few, tmp_path / "few").empty


def test_jobs_that_wait_at_the_start_of_a_window_are_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rows = [(k, 15 * k, int(rng.integers(60, 900)), int(rng.integers(1, 5))) for k in range(1, 31)]
    log = Workload.from_jobs(
        {"job_id": k, "submit_s": submit, "run_s": run, "cores": n, "estimate_s": run + 60, "wait_s": 300}
        for k, submit, run, n in rows
    )
    # Of the window from 290 s on: those submitted before wait till 315 s at the earliest, and nobody runs.
    jobs = select(log, "window:290+1h", preset=True)
    assert jobs.waiting == 19
    assert not jobs.preset.any()
    s = 10**9
    columns = (jobs.job_id, jobs.submit_ns // s, jobs.run_ns // s, jobs.cores, jobs.estimate_ns // s)
    case = Case(tuple(zip(*(column.tolist() for column in columns), strict=True)), 6, 1)
    assert differing(case, tmp_path / "replay").empty


def test_jobs_that_run_for_too_long_are_killed_when_slurm_looks(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    jobs = [(k, 20 * k, int(rng.integers(90, 400)), int(rng.integers(1, 8)), 60 + 45 * (k % 4)) for k in range(1, 25)]
    case = Case(tuple(jobs), 3, 4)
    assert differing(case, tmp_path / "replay").empty
    ours = simulate(
        Workload.from_jobs(jobs), platform=machine(3, 4), bls="slurm", als="recorded", kill_at_walltime=True
    ).jobs
    killed = ours[ours.state == "killed"]
    assert len(killed) > 5
    # Half a second before a whole minute, or half a minute, after the first submit, which is at 20 s.
    assert ((killed.end_ns - 20_000_000_000) % 30_000_000_000 == 14_500_000_000).all()


def _with_gpus(seed: int) -> tuple[Platform, list[tuple[int, ...]], str]:
    """Hosts with different numbers of GPUs of two kinds, and jobs that request some of each unit, of each host, or none."""
    rng, jobs, at = np.random.default_rng([77, seed]), list[tuple[int, ...]](), 0
    cores, gap = int(rng.choice([4, 8])), int(rng.choice([1, 30, 120]))
    numbers = [2, *rng.choice([0, 2, 4], int(rng.integers(1, 5))).tolist()]
    hosts = [(n, str(rng.choice(["a", "b"])) if n else "") for n in numbers]
    lines = ["job_id,unit_cores,gpus_per_task,gpus_per_host,gpu_kind"]
    while len(jobs) < 30:
        per, n, units = str(rng.choice(["unit", "host", ""])), int(rng.integers(1, 3)), int(rng.integers(1, 5))
        unit, kind = int(rng.integers(1, 3)) if per == "unit" else 1, str(rng.choice(["", "a", "b"])) if per else ""
        has = [number if not per or kind in ("", name) else 0 for number, name in hosts]
        most = [{"unit": number // n, "host": cores * (number >= n), "": cores}[per] for number in has]
        if sum(min(cores // unit, each) for each in most) < units or (kind and not any(has)):
            continue
        at, run = at + int(rng.exponential(gap)), int(rng.integers(1, 900))
        jobs.append((len(jobs) + 1, at, run, units * unit, int(run * rng.uniform(1, 3)) + 60))
        counts = [n if per == one else "" for one in ("unit", "host")]
        lines.append(",".join(map(str, [len(jobs), unit, *counts, kind])))
    groups = (HostGroup(1, cores, 46.875 * cores, gpus=n, gpu=kind) for n, kind in hosts)
    return Platform(tuple(groups)), jobs, "\n".join(lines) + "\n"


@pytest.mark.parametrize("scheduler", ["backfill", "builtin"])
@pytest.mark.parametrize("seed", range(2))
def test_starts_and_places_with_gpus_are_those_of_slurm(seed: int, scheduler: str, tmp_path: Path) -> None:
    platform, jobs, lines = _with_gpus(seed)
    (tmp_path / "asked.csv").write_text(lines)
    asked = {"constraints": ConstraintOptions(requests=str(tmp_path / "asked.csv"))}
    keys = {"SchedulerType": f"sched/{scheduler}", "PriorityType": "priority/basic"}
    slurm = replayed(jobs, platform, tmp_path / "replay", keys=keys, **asked).result.jobs
    how = {"bls": f"slurm:scheduler={scheduler}", "als": "recorded", "rules": Rules(kill_at_walltime=True)}
    ours = simulate(Workload.from_jobs(jobs), platform=platform, **how, **asked).jobs
    names = ["start_ns", "allocation", "gpu_allocation"]
    both = slurm.merge(ours, on="job_id", suffixes=("", "_ours"))
    assert [both[name].tolist() for name in names] == [both[f"{name}_ours"].tolist() for name in names]
