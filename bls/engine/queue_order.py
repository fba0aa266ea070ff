"""Who of the waiting jobs may not start now."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["held_back"]


@compiled(inner=True)
def held_back(state: BatchState, job: int) -> bool:
    """Whether a limit of its partition keeps a job from starting, however much is free."""
    jobs, partitions, users = state.jobs, state.partitions, state.user_tally
    p, user, n = jobs.partition[job], jobs.user[job], jobs.cores[job]
    return bool(
        partitions[p, b.RUNNING_JOBS] >= partitions[p, b.MAX_RUNNING]
        or partitions[p, b.RUNNING_CORES] + n > partitions[p, b.MAX_RUNNING_CORES]
        or users[p, user, 0] >= partitions[p, b.MAX_USER_JOBS]
        or users[p, user, 1] + n > partitions[p, b.MAX_USER_CORES]
    )
