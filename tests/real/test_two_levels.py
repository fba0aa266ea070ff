"""Both levels on the jobs of a real log, against the slow reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference import batch, two_level
from scenarios import assert_as_expected

import bridge
from bls.machine.platform import HostGroup, Platform
from traces.checks.ledger import check_ledger

#: As many cores as the logged machine had, so that jobs wait, in two groups of different speed.
PLATFORM = Platform((HostGroup(1, 64, 3000.0), HostGroup(6, 6, 562.5)))
SPEEDS = [46.875] * 64 + [93.75] * 36


@pytest.mark.parametrize(
    ("policy", "technique", "variation"),
    [("fcfs", "static", 0.25), ("sjf", "gss", 0.1), ("edf", "fac", 0.2), ("fcfs", "ss", 0.15)],
)
def test_the_first_300_jobs_of_a_real_log(shared: Path, policy: str, technique: str, variation: float) -> None:
    result = bridge.simulate(
        shared / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz",
        PLATFORM,
        bls=policy,
        als=technique,
        variation=variation,
        seed=7,
        select="first:300",
    )
    check_ledger(result.ledger)
    workload = result.scenario.workload
    columns = (workload.job_id, workload.submit_ns, workload.run_ns, workload.cores, workload.estimate_ns)
    jobs = [batch.Job(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    assert len(jobs) == 300
    expected = two_level.simulate(
        jobs,
        SPEEDS,
        policy=policy,
        technique=technique,
        variation=variation,
        tasks_per_core=1,
        seed=7,
        slack=2.0,
        overhead=0,
    )
    assert_as_expected(result, expected)
    assert sum(job.start > job.submit for job in expected) > 30, "hardly a job had to wait"
