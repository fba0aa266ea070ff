"""How a job comes to start: the allocator is asked, its answer is checked and applied, and the job leaves the queue."""

from __future__ import annotations

from collections.abc import Callable

from bls.allocators.contract import PLACE
from bls.engine import state as b
from bls.engine.hooks import BLOCKED, EARLIEST, PLACE_AWAKE, call_hook, publish
from bls.engine.job_lifecycle import hold_pool, leave_queue, log_job, take_cores, tally
from bls.engine.state import BatchState
from traces.compiled import Array, compiled, value_from

_place: Callable[..., Callable[..., int]] = value_from(PLACE)


@compiled(merged=True)
def room_in_limits(state: BatchState, job: int) -> int:
    """How many cores the limits of its partition leave to a job, beside those that are counted already."""
    if state.settings.limited == 0:
        return int(state.host_of.size)
    partitions, p = state.partitions, state.jobs.partition[job]
    of_all = partitions.max_running_cores[p] - partitions.running_cores[p]
    return int(min(of_all, partitions.max_user_cores[p] - state.user_tally[p, state.jobs.user[job], 1]))


@compiled(merged=True)
def held_back(state: BatchState, job: int) -> bool:
    """Whether a feature, or a limit of its partition or of its user there, keeps a job from starting, whatever is free."""
    if publish(state, BLOCKED, job, 0, 0, 0) != 0:
        return True
    if state.settings.limited == 0:
        return False
    partitions, p, user = state.partitions, state.jobs.partition[job], state.jobs.user[job]
    return bool(
        partitions.running_jobs[p] >= partitions.max_running_jobs[p]
        or state.user_tally[p, user, 0] >= partitions.max_user_jobs[p]
        or state.jobs.cores[job] > room_in_limits(state, job)
    )


@compiled(merged=True)
def ask_allocator(state: BatchState, job: int, limit: int, words: Array, hosts: Array) -> int:
    """The allocator's choice of the cores in ``words``, ``hosts`` of each host, on up to ``limit`` switches (0: any).

    It is written behind what is used of the pool; returns the number of intervals.
    """
    jobs, request, place = state.jobs, state.placement, _place(state.functions[b.PLACE_AT])
    wanted, stop = state.wanted_first[jobs.origin[job]], state.wanted_first[jobs.origin[job] + 1]
    request.number, request.n_cores, request.unit_cores = jobs.number[job], jobs.cores[job], jobs.unit_cores[job]
    request.limit, request.words, request.host_free = limit, words, hosts
    request.starts, request.host_first = state.free_starts, state.host_first
    request.wanted_lo, request.wanted_hi = state.wanted_lo[wanted:stop], state.wanted_hi[wanted:stop]
    request.out_lo, request.out_hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    return place(request)


@compiled(merged=True)
def suggest(state: BatchState, job: int) -> int:
    """Where all free cores are alike: the allocator's choice, written into the pool; the number of intervals."""
    return ask_allocator(state, job, 0, state.free_words, state.host_free)


@compiled(merged=True)
def suggest_now(state: BatchState, job: int) -> int:
    """The same, or where cores differ, the allocator's choice of those that the job may have now; 0 if none will do."""
    now = state.now_ns
    if state.n_away > 0:
        return int(call_hook(state.roles[PLACE_AWAKE], (state, job, b.NEVER, 0, 0)))
    if state.settings.by_cores == 0:
        return suggest(state, job)
    call_hook(state.roles[EARLIEST], (state, job, now, now + 1, 0))
    return int(state.n_placed)


@compiled(merged=True)
def why_now(state: BatchState, job: int, others_wait: bool) -> int:
    """Why a job starts: by its reservation, if it ever had one, as the head, or before others that wait."""
    if state.jobs.reserved[job] == 1:
        return b.BY_RESERVATION
    return b.BY_BACKFILL if others_wait else b.BY_HEAD


@compiled(merged=True)
def start(state: BatchState, job: int, count: int, why: int) -> bool:
    """Start a job on the ``count`` intervals at the end of the pool; False if they cannot be its."""
    settings, jobs = state.settings, state.jobs
    now, used = state.now_ns, state.pool_used
    if take_cores(state, job, used, count) < 0:
        state.due_job = job
        return False
    state.pool_used = used + count
    leave_queue(state, job)
    jobs.start_ns[job] = now
    jobs.expected_end_ns[job] = now + jobs.estimate_ns[job] + jobs.boot_wait_ns[job]
    jobs.why[job] = why
    if settings.plans == 1:
        hold_pool(state, job, now, jobs.expected_end_ns[job], -1)
    elif settings.by_cores == 1:
        hold_pool(state, job, now, b.NEVER, -1)  # nobody plans ahead: it is free when the job has ended
    tally(state, job, 1, jobs.cores[job])
    log_job(state, job, b.LOG_STARTED)
    state.started[state.n_started] = job
    state.n_started += 1
    return True
