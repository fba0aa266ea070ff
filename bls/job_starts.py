"""How a job comes to start: the allocator is asked, its answer is checked and applied, and the job leaves the queue."""

from __future__ import annotations

from collections.abc import Callable

from bls import batch_state as b
from bls.batch_state import BatchState
from bls.core_offer import earliest_place
from bls.job_life import for_good, hold_pool, leave_queue, take_cores, tally
from bls.queue_order import held_back
from bls.rank_queue import queue_next
from traces.compiled import compiled

__all__ = [
    "turn_away",
    "ALLOCATOR_REFUSED",
    "CHOICE_FAILED",
    "PASSED",
    "SCORE_FAILED",
    "start",
    "start_chosen",
    "start_presets",
    "suggest",
]

# What a pass, or a part of it, returns.
PASSED = 0
ALLOCATOR_REFUSED = 1  # an impossible suggestion, or none where any free cores would do
SCORE_FAILED = 2  # the policy's score of DUE_JOB is no number
CHOICE_FAILED = 3  # a Python policy chose a job that does not fit


@compiled(merged=True)
def suggest(state: BatchState, place: Callable[..., int], job: int) -> int:
    """Where all free cores are alike: the allocator's choice, written into the pool; the number of intervals."""
    counters, jobs = state.counters, state.jobs
    used = counters[b.POOL_USED]
    wanted, stop = state.wanted_first[jobs[b.ORIGIN, job]], state.wanted_first[jobs[b.ORIGIN, job] + 1]
    return place(
        jobs[b.NUMBER, job],
        jobs[b.CORES, job],
        jobs[b.UNIT, job],
        0,
        state.free_words,
        state.free_starts,
        state.host_first,
        state.host_free,
        state.switch_lo,
        state.switch_hi,
        state.wanted_lo[wanted:stop],
        state.wanted_hi[wanted:stop],
        state.parameters,
        state.pool_lo[used:],
        state.pool_hi[used:],
    )


@compiled(merged=True)
def start(state: BatchState, job: int, count: int, why: int) -> bool:
    """Start a job on the ``count`` intervals at the end of the pool; False if they cannot be its."""
    counters, jobs = state.counters, state.jobs
    now, used = counters[b.NOW], counters[b.POOL_USED]
    if take_cores(state, job, used, count) < 0:
        counters[b.DUE_JOB] = job
        return False
    counters[b.POOL_USED] = used + count
    leave_queue(state, job)
    jobs[b.START, job] = now
    jobs[b.EXPECTED, job] = now + jobs[b.ESTIMATE, job]
    jobs[b.WHY, job] = why
    if counters[b.PLANS] == 1:
        hold_pool(state, job, now, jobs[b.EXPECTED, job], -1)
    elif counters[b.BY_CORES] == 1:
        hold_pool(state, job, now, b.NEVER, -1)  # nobody plans ahead: it is free when the job has ended
    if counters[b.LIMITED] == 1:
        tally(state, job, 1)
    if counters[b.LOGS] == 1:
        state.log[counters[b.N_LOG]] = 4 * job + b.LOG_STARTED
        counters[b.N_LOG] += 1
    state.started[counters[b.N_STARTED]] = job
    counters[b.N_STARTED] += 1
    return True


@compiled(inner=True)
def turn_away(state: BatchState) -> None:
    """Send all waiting jobs away: they never run."""
    counters, jobs = state.counters, state.jobs
    position = queue_next(state.queue_words, state.queue_starts, 0)
    while position >= 0:
        job = state.by_rank[position]
        leave_queue(state, job)
        if counters[b.LOGS] == 1:
            state.log[counters[b.N_LOG]] = 4 * job + b.LOG_LEFT
            counters[b.N_LOG] += 1
        jobs[b.STATE, job], jobs[b.WHY, job] = b.TURNED_AWAY, b.NEVER_STARTED
        jobs[b.CANCEL, job] = counters[b.NOW]
        for_good(state, job, counters[b.NOW])
        position = queue_next(state.queue_words, state.queue_starts, position + 1)


@compiled(inner=True)
def start_presets(state: BatchState, place: Callable[..., int]) -> bool:
    """Put the jobs that run from the start on the machine, before any other is thought of; those without room wait.

    False if the allocator's suggestion for one cannot be.
    """
    counters, jobs = state.counters, state.jobs
    for k in range(state.arrivals.size):
        job = state.arrivals[k]
        if jobs[b.SUBMIT, job] > counters[b.NOW]:
            break
        if jobs[b.PRESET, job] == 0 or jobs[b.STATE, job] >= 0:
            continue
        count = 0
        if jobs[b.CORES, job] <= counters[b.FREE_CORES]:
            if counters[b.BY_CORES] == 1:
                used = counters[b.POOL_USED]
                lo, hi = state.pool_lo[used:], state.pool_hi[used:]
                _, count = earliest_place(state, state.cores_profile, place, job, counters[b.NOW] + 1, lo, hi)
            else:
                count = suggest(state, place, job)
        if count != 0 and not start(state, job, count, b.BY_PRESET):
            return False
    counters[b.PRESETS_LEFT] = 0
    return True


@compiled(inner=True)
def start_chosen(state: BatchState, place: Callable[..., int]) -> int:
    """What a Python policy has decided: the jobs it names, in its order."""
    counters, jobs = state.counters, state.jobs
    used = counters[b.POOL_USED]
    for k in range(counters[b.N_CHOSEN]):
        job = state.chosen[k]
        counters[b.DUE_JOB] = job
        if jobs[b.CORES, job] > counters[b.FREE_CORES] or (counters[b.LIMITED] == 1 and held_back(state, job)):
            return CHOICE_FAILED
        if counters[b.BY_CORES] == 1:
            used = counters[b.POOL_USED]
            lo, hi = state.pool_lo[used:], state.pool_hi[used:]
            _, count = earliest_place(state, state.cores_profile, place, job, counters[b.NOW] + 1, lo, hi)
            if count == 0:
                return CHOICE_FAILED
        else:
            count = suggest(state, place, job)
        head = queue_next(state.queue_words, state.queue_starts, 0)
        why = b.BY_HEAD if state.by_rank[head] == job else b.BY_BACKFILL
        if not start(state, job, count, why):
            return ALLOCATOR_REFUSED
    counters[b.N_CHOSEN] = 0
    return PASSED
