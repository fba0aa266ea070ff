"""Rejecting whatever cannot start: nothing ever does."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import for_good, leave_queue, log_job
from bls.engine.queue import queue_next
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["turn_away"]


@compiled(HOOK)
def turn_away(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Send all waiting jobs away: they never run."""
    clock, jobs = state.clock, state.jobs
    position = queue_next(state.queue_words, state.queue_starts, 0)
    while position >= 0:
        job = state.by_rank[position]
        leave_queue(state, job)
        log_job(state, job, b.LOG_LEFT)
        jobs[b.STATE, job], jobs[b.WHY, job] = b.TURNED_AWAY, b.NEVER_STARTED
        jobs[b.CANCEL, job] = clock[b.NOW]
        for_good(state, job, clock[b.NOW])
        position = queue_next(state.queue_words, state.queue_starts, position + 1)
    return 0
