"""What a policy in Python has decided."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import DOMAIN_FITS, HOOK, call_hook
from bls.engine.job_lifecycle import send_away
from bls.engine.job_starts import start, suggest_now
from bls.engine.named_cores import put_named
from bls.engine.power_of_cores import cores_mw, least_mw, room_mw
from bls.engine.queue import queue_next
from bls.engine.queue_order import held_back
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled

__all__ = ["start_chosen"]


@compiled(inner=True)
def _powered(state: BatchState, job: int, count: int) -> int:
    """The number of intervals at the end of the pool, 0 where it has none yet; -1, noted, if they would draw too much."""
    if count < 0 or state.settings[b.POWERED] == b.UNPOWERED:
        return count
    used, room = state.sizes[b.POOL_USED], room_mw(state)
    more = (
        cores_mw(state, job, state.pool_lo[used:], state.pool_hi[used:], count) if count > 0 else least_mw(state, job)
    )
    if more <= room:
        if count > 0 and state.domains.limit_mw.size > 0:
            fits = call_hook(state.hooks[DOMAIN_FITS], (state, job, 0, count, 0))
            return count if fits == 1 else -1
        return count
    state.clock[b.REFUSED], state.clock[b.REFUSED_AT], state.clock[b.REFUSED_OF] = b.NO_POWER, more, room
    return -1


@compiled(inner=True)
def _put(state: BatchState, k: int, job: int) -> int:
    """The cores of the k-th job chosen, at the end of the pool: those that are named, or the allocator's; the intervals."""
    settings, sizes = state.settings, state.sizes
    if sizes[b.N_NAMED] > 0 and state.chosen_first[k] < state.chosen_first[k + 1]:
        return _powered(state, job, put_named(state, job, state.chosen_first[k], state.chosen_first[k + 1]))
    if state.jobs[b.CORES, job] > sizes[b.FREE_CORES] or (settings[b.LIMITED] == 1 and held_back(state, job)):
        return -1
    count = suggest_now(state, job)
    if count == 0 and settings[b.BY_CORES] == 1:
        count = -1
        _powered(state, job, 0)  # whatever its cores would be
    return _powered(state, job, count)


@compiled(HOOK)
def start_chosen(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """What a Python policy has decided: the jobs that it rejects, then those that it starts, in its order.

    With ``MAY_NOT_FIT`` a job for which it has named no cores, and which cannot start now, waits.
    """
    clock, sizes, waits = state.clock, state.sizes, state.settings[b.MAY_NOT_FIT] == 1
    before = clock[b.DID_NOT_FIT]
    for k in range(sizes[b.N_CHOSEN]):
        job = state.chosen[k]
        if job < 0:
            send_away(state, -1 - job)
            continue
        clock[b.DUE_JOB] = job
        count = _put(state, k, job)
        if count < 0:
            named = sizes[b.N_NAMED] > 0 and state.chosen_first[k] < state.chosen_first[k + 1]
            if named or not waits:
                return BatchStatus.CHOICE_FAULT
            clock[b.REFUSED] = 0
            clock[b.DID_NOT_FIT] += 1
            continue
        head = queue_next(state.queue_words, state.queue_starts, 0)
        why = b.BY_HEAD if state.by_rank[head] == job else b.BY_BACKFILL
        if not start(state, job, count, why):
            return BatchStatus.ALLOCATOR_FAULT
    sizes[b.N_CHOSEN] = sizes[b.N_NAMED] = 0
    if state.decisions.shape[0] > 4 and state.decisions.shape[1] > 0:
        state.decisions[4, sizes[b.N_DECISIONS]] = clock[b.DID_NOT_FIT] - before
    return BatchStatus.RUNNING
