"""Rejecting whatever cannot start: nothing ever does."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import for_good, leave_queue
from bls.engine.queue import queue_next
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["turn_away"]


@compiled(HOOK)
def turn_away(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Send all waiting jobs away: they never run."""
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    position = queue_next(state.queue_words, state.queue_starts, 0)
    while position >= 0:
        job = state.by_rank[position]
        leave_queue(state, job)
        if settings[b.LOGS] == 1:
            state.log[sizes[b.N_LOG]] = 4 * job + b.LOG_LEFT
            sizes[b.N_LOG] += 1
        jobs[b.STATE, job], jobs[b.WHY, job] = b.TURNED_AWAY, b.NEVER_STARTED
        jobs[b.CANCEL, job] = clock[b.NOW]
        for_good(state, job, clock[b.NOW])
        position = queue_next(state.queue_words, state.queue_starts, position + 1)
    return 0
