"""Limits of partitions, and of each user there, on running jobs and their cores."""

from typing import TYPE_CHECKING

import numpy as np

from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.compiled import compiled

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(merged=True)
def room_in_limits(state: BatchState, job: int) -> int:
    """The number of further cores that the limits of its partition allow a job."""
    if state.settings.limited == 0:
        return int(state.host_of.size)
    partitions, p = state.partitions, state.jobs.partition[job]
    of_all = partitions.max_running_cores[p] - partitions.running_cores[p]
    return int(min(of_all, partitions.max_user_cores[p] - state.user_tally[p, state.jobs.user[job], 1]))


@compiled(HOOK)
def is_beyond(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a limit keeps a job from starting."""
    partitions, p, user = state.partitions, state.jobs.partition[job], state.jobs.user[job]
    beyond = (
        partitions.running_jobs[p] >= partitions.max_running_jobs[p]
        or state.user_tally[p, user, 0] >= partitions.max_user_jobs[p]
        or state.jobs.cores[job] > room_in_limits(state, job)
    )
    return 1 if beyond else 0


@compiled(HOOK)
def count(state: BatchState, job: int, _begin: int, cores: int, jobs: int) -> int:
    """Count jobs (``sign``) and cores (``stop``) that now run in a job's partition and for its user."""
    partition, user = state.jobs.partition[job], state.jobs.user[job]
    state.partitions.running_jobs[partition] += jobs
    state.partitions.running_cores[partition] += cores
    state.user_tally[partition, user, 0] += jobs
    state.user_tally[partition, user, 1] += cores
    return 0


def carry_tallies(_old: BatchState, new: BatchState) -> None:
    """Count the running jobs of each user in the next state of a stream."""
    jobs = new.jobs
    runs = np.flatnonzero((jobs.start_ns >= 0) & (jobs.state < 0))
    np.add.at(new.user_tally[..., 0], (jobs.partition[runs], jobs.user[runs]), 1)
    np.add.at(new.user_tally[..., 1], (jobs.partition[runs], jobs.user[runs]), jobs.cores[runs])


def check_tallies(checks: "BatchChecks") -> None:
    """Check the counts of running jobs and cores of partitions and users."""
    state, jobs, rows = checks.state, checks.jobs, checks.held
    found = np.zeros_like(state.user_tally)
    working = checks.working[rows]
    np.add.at(found, (jobs.partition[rows], jobs.user[rows]), np.stack([np.ones_like(rows), working], axis=1))
    kinds, tables = ("running jobs", "their cores"), state.partitions
    for p, u, unit in np.argwhere(found != state.user_tally):
        checks.count(f"{kinds[unit]} of user {u} in partition {p}", state.user_tally[p, u, unit], found[p, u, unit])
    counted, sums = np.stack([tables.running_jobs, tables.running_cores], axis=1), found.sum(axis=1)
    for p, unit in np.argwhere(counted != sums):
        checks.count(f"{kinds[unit]} of partition {p}", counted[p, unit], sums[p, unit])
