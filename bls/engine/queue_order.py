"""Who of the waiting jobs may not start now."""

from __future__ import annotations

from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["held_back"]


@compiled(inner=True)
def held_back(state: BatchState, job: int) -> bool:
    """Whether a limit of its partition keeps a job from starting, however much is free."""
    jobs, partitions, users = state.jobs, state.partitions, state.user_tally
    p, user, n = jobs.partition[job], jobs.user[job], jobs.cores[job]
    return bool(
        partitions.running_jobs[p] >= partitions.max_running_jobs[p]
        or partitions.running_cores[p] + n > partitions.max_running_cores[p]
        or users[p, user, 0] >= partitions.max_user_jobs[p]
        or users[p, user, 1] + n > partitions.max_user_cores[p]
    )
