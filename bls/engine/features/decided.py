"""What a policy in Python has decided."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_starts import start, suggest_now
from bls.engine.queue import queue_next
from bls.engine.queue_order import held_back
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled

__all__ = ["start_chosen"]


@compiled(HOOK)
def start_chosen(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """What a Python policy has decided: the jobs it names, in its order."""
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    for k in range(sizes[b.N_CHOSEN]):
        job = state.chosen[k]
        clock[b.DUE_JOB] = job
        if jobs[b.CORES, job] > sizes[b.FREE_CORES] or (settings[b.LIMITED] == 1 and held_back(state, job)):
            return BatchStatus.CHOICE_FAULT
        count = suggest_now(state, job)
        if count == 0 and settings[b.BY_CORES] == 1:
            return BatchStatus.CHOICE_FAULT
        head = queue_next(state.queue_words, state.queue_starts, 0)
        why = b.BY_HEAD if state.by_rank[head] == job else b.BY_BACKFILL
        if not start(state, job, count, why):
            return BatchStatus.ALLOCATOR_FAULT
    sizes[b.N_CHOSEN] = 0
    return BatchStatus.RUNNING
