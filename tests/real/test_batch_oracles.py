"""The batch engine against schedules on which several simulators agree, job by job: FCFS and SJF with a blocking head, EASY.

The logs are normalised (run time at most the request, submits from 0), so that nothing is left to interpret.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import bridge
from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload
from traces.checks.ledger import check_ledger

#: Mean waits in seconds, as those who made the schedules published them.
MEAN_WAITS = {
    ("hpc2n", "fcfs"): 15842.880,
    ("hpc2n", "sjf"): 8329.302,
    ("kth", "fcfs"): 353949.932,
    ("kth", "sjf"): 13339.322,
}
PROCESSORS = {"hpc2n": 240, "kth": 100}


@pytest.mark.parametrize("schedule", ["fcfs", "sjf", "easy"])
@pytest.mark.parametrize("log", PROCESSORS)
def test_every_job_starts_and_ends_where_others_say(shared: Path, log: str, schedule: str) -> None:
    folder = shared / "oracles" / "batch"
    with gzip.open(folder / f"n-{log}-{schedule}.csv.gz", "rt") as file:
        assert file.readline().strip() == "job_id,submit,start,end,procs"
        theirs = np.loadtxt(file, dtype=np.int64, delimiter=",")
    theirs = theirs[np.argsort(theirs[:, 0])]
    n_cores = PROCESSORS[log]
    policy, backfill = ("fcfs", "easy") if schedule == "easy" else (schedule, "none")
    platform = Platform((HostGroup(1, n_cores, float(n_cores)),))
    result = bridge.simulate(
        read_workload(folder / f"n-{log}.swf.gz"), platform, bls=policy, als="recorded", backfill=backfill
    )
    check_ledger(result.ledger)
    jobs = result.ledger.jobs
    ours = np.column_stack([jobs.job_id, jobs.submit_ns, jobs.start_ns, jobs.end_ns, jobs.cores])
    ours = ours[np.argsort(jobs.job_id)]
    ours[:, 1:4] //= 10**9
    assert len(ours) > 28_000
    differ = np.flatnonzero((ours != theirs).any(axis=1))
    assert len(differ) == 0, f"{len(differ)} jobs differ, the first is {ours[differ[0]]}, not {theirs[differ[0]]}"
    if (log, schedule) in MEAN_WAITS:
        assert result.metrics["mean_wait_ns"] / 1e9 == pytest.approx(MEAN_WAITS[log, schedule], abs=0.0005)
