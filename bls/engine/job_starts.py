"""How a job comes to start: the allocator is asked, its answer is checked and applied, and the job leaves the queue."""

from __future__ import annotations

from collections.abc import Callable

from bls.allocators.contract import PLACE
from bls.engine import state as b
from bls.engine.hooks import EARLIEST, PLACE_AWAKE, call_hook
from bls.engine.job_lifecycle import hold_pool, leave_queue, log_job, take_cores, tally
from bls.engine.state import BatchState
from traces.compiled import Array, compiled, value_from

__all__ = ["ask_allocator", "start", "suggest", "suggest_now"]

_place: Callable[..., Callable[..., int]] = value_from(PLACE)


@compiled(merged=True)
def ask_allocator(
    state: BatchState, job: int, limit: int, words: Array, hosts: Array, out_lo: Array, out_hi: Array
) -> int:
    """The allocator's choice of the cores in ``words``, ``hosts`` of each host, on up to ``limit`` switches (0: any).

    Written into ``out_lo, out_hi``; returns the number of intervals.
    """
    jobs, request, place = state.jobs, state.placement, _place(state.functions[b.PLACE_AT])
    wanted, stop = state.wanted_first[jobs[b.ORIGIN, job]], state.wanted_first[jobs[b.ORIGIN, job] + 1]
    request.number, request.n_cores, request.unit_cores = jobs[b.NUMBER, job], jobs[b.CORES, job], jobs[b.UNIT, job]
    request.limit, request.words, request.host_free = limit, words, hosts
    request.starts, request.host_first = state.free_starts, state.host_first
    request.wanted_lo, request.wanted_hi = state.wanted_lo[wanted:stop], state.wanted_hi[wanted:stop]
    request.out_lo, request.out_hi = out_lo, out_hi
    return place(request)


@compiled(merged=True)
def suggest(state: BatchState, job: int) -> int:
    """Where all free cores are alike: the allocator's choice, written into the pool; the number of intervals."""
    used = state.sizes[b.POOL_USED]
    return ask_allocator(state, job, 0, state.free_words, state.host_free, state.pool_lo[used:], state.pool_hi[used:])


@compiled(merged=True)
def suggest_now(state: BatchState, job: int) -> int:
    """The same, or where cores differ, the allocator's choice of those that the job may have now; 0 if none will do."""
    now = state.clock[b.NOW]
    if state.sizes[b.N_AWAY] > 0:
        return int(call_hook(state.hooks[PLACE_AWAKE], (state, job, b.NEVER, 0, 0)))
    if state.settings[b.BY_CORES] == 0:
        return suggest(state, job)
    call_hook(state.hooks[EARLIEST], (state, job, now, now + 1, 0))
    return int(state.sizes[b.PLACED])


@compiled(merged=True)
def start(state: BatchState, job: int, count: int, why: int) -> bool:
    """Start a job on the ``count`` intervals at the end of the pool; False if they cannot be its."""
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    now, used = clock[b.NOW], sizes[b.POOL_USED]
    if take_cores(state, job, used, count) < 0:
        clock[b.DUE_JOB] = job
        return False
    sizes[b.POOL_USED] = used + count
    leave_queue(state, job)
    jobs[b.START, job] = now
    jobs[b.EXPECTED, job] = now + jobs[b.ESTIMATE, job] + jobs[b.BOOT_WAIT, job]
    jobs[b.WHY, job] = why
    if settings[b.PLANS] == 1:
        hold_pool(state, job, now, jobs[b.EXPECTED, job], -1)
    elif settings[b.BY_CORES] == 1:
        hold_pool(state, job, now, b.NEVER, -1)  # nobody plans ahead: it is free when the job has ended
    if settings[b.LIMITED] == 1:
        tally(state, job, jobs[b.CORES, job], 1)
    log_job(state, job, b.LOG_STARTED)
    state.started[sizes[b.N_STARTED]] = job
    sizes[b.N_STARTED] += 1
    return True
