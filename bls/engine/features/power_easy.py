"""EASY under a limit to power, where all cores are alike: the head's slot is when there are cores enough, and power.

As ``bls.engine.scheduling_pass`` does it with cores alone; what is free then beside the head is cores and power. Of limits
those that are known now count, up to their ends, and of jobs that run the state that they are planned with, until they are
expected to end; so both only grow.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.directed import expect
from bls.engine.features.power import room_in_pass
from bls.engine.hooks import HOOK, MOLD, call_hook
from bls.engine.job_lifecycle import under_way
from bls.engine.job_starts import start, suggest
from bls.engine.planned_time import planned_ns
from bls.engine.power_of_cores import held_mw, least_mw
from bls.engine.queue import queue_next
from bls.engine.queue_order import held_back
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.compiled import compiled

__all__ = ["plan_with_power"]


@compiled(inner=True)
def _ends(state: BatchState) -> int:
    """Put the jobs that run, and those that the pass has started, into a heap by when they are expected to end; returns how
    many."""
    ends, jobs, n = state.power.ends, state.jobs, 0
    soonest = state.now_ns + 1
    for k in range(state.n_running + state.n_started):
        job = under_way(state, k)
        n = heap_push(ends[0], ends[1], n, max(jobs.expected_end_ns[job], soonest), job)
    return n


@compiled(inner=True)
def _set_shadow(state: BatchState, job: int) -> int:
    """Find when the head can start, ``shadow_ns``, and how many cores are free beside it then, ``extra_cores``; returns the mW
    then."""
    power, ends = state.power, state.power.ends
    cores, need, mw = state.free_cores, state.jobs.cores[job], least_mw(state, job)
    left, n = room_in_pass(state), _ends(state)
    limited, k = left != b.NEVER, state.next_power - 1
    stair, stop = (power.first[k], power.first[k + 1]) if limited else (0, 0)
    while n > 0 or stair < stop:
        at = ends[0, 0] if n > 0 else b.NEVER
        if stair < stop:
            at = min(at, power.stairs[0, stair])
        if at == b.NEVER:
            break
        while n > 0 and ends[0, 0] == at:
            cores += state.jobs.held_cores[ends[1, 0]]
            if limited:
                left += held_mw(state, ends[1, 0])
            n = heap_drop_top(ends[0], ends[1], n)
        while stair < stop and power.stairs[0, stair] == at:
            left += power.stairs[1, stair]
            stair += 1
        if cores >= need and left >= mw:
            state.shadow_ns, state.extra_cores = at, cores - need
            return int(left - mw if limited else left)
    state.shadow_ns, state.extra_cores = b.NEVER, -1
    return -1


@compiled(HOOK)
def plan_with_power(state: BatchState, _job: int, n_order: int, _stop: int, _sign: int) -> int:
    """A pass with one reservation, by counts; ``begin`` and what it returns are as of ``bls.engine.features.plan_ahead``."""
    settings, jobs = state.settings, state.jobs
    limited, static, now = settings.limited == 1, settings.order == b.STATIC, state.now_ns
    blocked, waits, extra_mw, position = False, False, 0, -1
    while True:
        position = queue_next(state.queue_words, state.queue_starts, position + 1) if static else position + 1
        if position < 0 or (not static and position == n_order):
            return BatchStatus.RUNNING
        job = state.by_rank[position] if static else state.order[position]
        n, mw, free = jobs.cores[job], least_mw(state, job), state.free_cores
        beyond = blocked and now + planned_ns(state, job) > state.shadow_ns
        fits = n <= free and mw <= room_in_pass(state)
        if blocked and not (fits and (not beyond or (n <= state.extra_cores and mw <= extra_mw))):
            continue
        if limited and held_back(state, job):
            waits = True
            continue
        if settings.molds == 1 and not blocked:
            if not fits:
                extra_mw = _set_shadow(state, job)
            n = call_hook(state.hooks[MOLD], (state, job, 0, state.now_ns if fits else state.shadow_ns, 0))
            mw = least_mw(state, job)
            fits = n <= free and mw <= room_in_pass(state)
        if not fits:
            blocked = True
            extra_mw = _set_shadow(state, job)
            jobs.reserved[job] = 1
            continue
        why = b.BY_RESERVATION if jobs.reserved[job] == 1 else (b.BY_BACKFILL if blocked or waits else b.BY_HEAD)
        if not start(state, job, suggest(state, job), why):
            return BatchStatus.ALLOCATOR_FAULT
        if planned_ns(state, job) != jobs.estimate_ns[job]:
            expect(state, job, now, now + planned_ns(state, job))
        if beyond:
            state.extra_cores -= n
            extra_mw -= mw if extra_mw != b.NEVER else 0
