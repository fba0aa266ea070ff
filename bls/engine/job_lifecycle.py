"""The queue, and the life of a job: arrival, placement by the allocator, start, and end.

A job's rank is its unique place in the policy's total order, so the queue is a set of ranks (a tree of
``bls.availability.free_cores``) and needs no comparisons. Adding, removing and finding the next rank cost one step per level,
with a level per factor of 32 (four for a million jobs). A heap would give the head as quickly, but not the following jobs in
order.
"""

from collections.abc import Callable

from bls.allocators.contract import PLACE
from bls.availability.free_cores import (
    add_number,
    count_hosts,
    free_all,
    free_give,
    free_take,
    next_number,
    remove_number,
)
from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.profile import hold_pool
from traces.algorithms.event_heap import push
from traces.compiled import Array, compiled, value_from

_place: Callable[..., Callable[..., int]] = value_from(PLACE)


@compiled(merged=True)
def waiting_from(state: b.BatchState, rank: int) -> int:
    """Return the waiting job of the lowest rank from ``rank`` on, or -1."""
    found = next_number(state.queue_words, state.queue_starts, rank)
    return int(state.by_rank[found]) if found >= 0 else -1


@compiled(merged=True)
def next_in_order(state: b.BatchState, place: int, n_order: int) -> tuple[int, int]:
    """Return the next place in the order of ranks, or of ``state.order``, and its job; -1 after the last."""
    if state.settings.order == b.STATIC:
        rank = next_number(state.queue_words, state.queue_starts, place + 1)
        return rank, int(state.by_rank[rank]) if rank >= 0 else -1
    return place + 1, int(state.order[place + 1]) if place + 1 < n_order else -1


@compiled(merged=True)
def drop_plan(state: b.BatchState) -> None:
    """Give up the kept reservations, if any: their cores may be taken now."""
    h.play(state, h.DROP_PLAN, -1, 0, 0, 0)


@compiled(merged=True)
def set_free(state: b.BatchState, lo: int, hi: int, sign: int) -> None:
    """Mark the cores [lo, hi) as free (1) or not free (-1)."""
    if sign > 0:
        free_give(state.free_words, state.free_starts, lo, hi)
    else:
        free_take(state.free_words, state.free_starts, lo, hi)
    if state.settings.by_hosts == 1:
        count_hosts(state.host_of, state.host_first, state.host_free, lo, hi, sign)


@compiled(inner=True)
def set_host_free(state: b.BatchState, host: int, sign: int) -> None:
    """Mark all cores of a host as free (1) or not free (-1)."""
    lo, hi = state.host_first[host], state.host_first[host + 1]
    set_free(state, lo, hi, sign)
    state.free_cores += sign * (hi - lo)


@compiled(inner=True)
def cores_on_host(state: b.BatchState, lo: Array, hi: Array, stop: int, k: int, core: int) -> tuple[int, int, int]:
    """Count a host's cores from ``core`` in interval ``k`` up to interval ``stop``; returns also the next interval and core."""
    host_end, cores = state.host_first[state.host_of[core] + 1], 0
    while k < stop and core < host_end:
        cores += min(hi[k], host_end) - core
        core = min(hi[k], host_end)
        if core == hi[k]:
            k += 1
            core = lo[k] if k < stop else host_end
    return cores, k, core


@compiled(merged=True)
def take_cores(state: b.BatchState, job: int, first: int, count: int) -> int:
    """Allocate ``count`` intervals of the pool to a job; returns the number of cores, -1 if not free or no match."""
    lo, hi, settings = state.pool.lo, state.pool.hi, state.settings
    words, n = state.free_words, state.jobs.cores[job]
    if count < 1 or count > lo.size - first:
        return -1
    together, before = 0, 0
    for k in range(first, first + count):
        if lo[k] < before or hi[k] <= lo[k] or hi[k] > state.host_of.size or not free_all(words, lo[k], hi[k]):
            return -1
        before = hi[k]
        together += hi[k] - lo[k]
    if together != n and not (settings.whole_hosts == 1 and together > n):
        return -1
    unit = state.jobs.unit_cores[job]
    if unit > 1 and settings.whole_hosts == 0:
        k, core = first, lo[first]
        while k < first + count:
            cores, k, core = cores_on_host(state, lo, hi, first + count, k, core)
            if cores % unit != 0:
                return -1
    for k in range(first, first + count):
        set_free(state, lo[k], hi[k], -1)
    state.free_cores -= together
    state.jobs.held_first[job] = first
    state.jobs.held_count[job] = count
    state.jobs.held_cores[job] = together
    h.publish(state, h.TAKEN, job, state.now_ns, n, 1)
    return together


@compiled(merged=True)
def under_way(state: b.BatchState, k: int) -> int:
    """The k-th of the running jobs, followed by the jobs that this pass has started."""
    return int(state.running.key[k] if k < state.running.n else state.started[k - state.running.n])


@compiled(merged=True)
def is_open(state: b.BatchState, job: int) -> bool:
    """Whether a job runs and its end is not known yet."""
    return bool(state.jobs.start_ns[job] >= 0 and state.jobs.end_ns[job] < 0)


@compiled(merged=True)
def answer(state: b.BatchState, job: int, instant: int) -> None:
    """Schedule the next event of a job that has started: its end, or the expiry of its promise."""
    push(state.running, instant, job)
    state.n_answered += 1


@compiled(merged=True)
def set_stop(state: b.BatchState, job: int, walltime_end: int) -> None:
    """Set the latest end of a job that starts, and its cause; at equal instants walltime, then user, then features."""
    jobs = state.jobs
    stop, reason = walltime_end, b.KILLED
    if jobs.cancel_ns[job] < stop:
        stop, reason = jobs.cancel_ns[job], b.CANCELLED
    jobs.stop_ns[job] = stop
    jobs.stop_state[job] = reason
    h.publish(state, h.STOP_SET, job, 0, stop, 0)


@compiled(merged=True)
def log_job(state: b.BatchState, job: int, what: int) -> None:
    """Log that a job has arrived, started or left, if there is a log."""
    if state.settings.logs == 1:
        state.log[state.n_log] = 4 * job + what
        state.n_log += 1


@compiled(inner=True)
def log_host(state: b.BatchState, instant: int, host: int, what: int) -> int:
    """Log the new state of a host; returns the place in the log."""
    k, log = state.n_host_log, state.host_log
    log.at_ns[k], log.host[k], log.state[k] = instant, host, what
    state.n_host_log = k + 1
    return int(k)


@compiled(merged=True)
def arrive(state: b.BatchState, job: int, now: int) -> None:
    """Let a job join the queue."""
    state.jobs.eligible_ns[job] = now
    h.publish(state, h.ARRIVED, job, now, now, 0)
    add_number(state.queue_words, state.queue_starts, state.jobs.rank[job])
    state.n_waiting += 1
    state.arrived_job = job
    log_job(state, job, b.LOG_ARRIVED)


@compiled(merged=True)
def leave_queue(state: b.BatchState, job: int) -> None:
    """Take a job out of the queue."""
    remove_number(state.queue_words, state.queue_starts, state.jobs.rank[job])
    state.n_waiting -= 1


@compiled(inner=True)
def send_away(state: b.BatchState, job: int, ending: int) -> None:
    """End a job that never runs; ``ending`` is its final state."""
    jobs, now = state.jobs, state.now_ns
    if jobs.eligible_ns[job] >= 0:
        leave_queue(state, job)
        log_job(state, job, b.LOG_LEFT)
    jobs.state[job], jobs.why[job] = ending, b.NEVER_STARTED
    jobs.cancel_ns[job] = min(jobs.cancel_ns[job], now)
    state.n_ended += 1
    h.publish(state, h.ENDED, job, now, now, 0)


@compiled(merged=True)
def tried_again(state: b.BatchState, job: int) -> int:
    """``RUNNING`` if a job that ends now gets another attempt, 0 if not, or the status with which the engine stops instead."""
    return h.play(state, h.MAY_RETRY, job, 0, 0, 0) if state.jobs.cut[job] == b.BY_OTHERS else 0


@compiled(merged=True)
def end_job(state: b.BatchState, job: int, now: int, again: bool) -> None:
    """End a running job: free its cores and call the subscribers; ``again``: whether it gets another attempt."""
    jobs, settings = state.jobs, state.settings
    first, working = jobs.held_first[job], jobs.cores[job]
    if h.is_played(state, h.GIVE_BACK):
        working = h.call_hook(state.roles[h.GIVE_BACK], (state, job, 0, 0, 0))
    else:
        for k in range(first, first + jobs.held_count[job]):
            set_free(state, state.pool.lo[k], state.pool.hi[k], 1)
    state.free_cores += jobs.held_cores[job]
    state.changed = 1
    if settings.plans == 1:
        thought = jobs.expected_end_ns[job]
        if thought > now:
            hold_pool(state, job, now, thought, 1)
            state.gained, state.hull_ns = 1, max(state.hull_ns, thought)
        elif jobs.overdue[job] == 1:
            jobs.overdue[job] = 0
            state.overdue_cores -= jobs.held_cores[job]
            thought = state.last_pass_ns + 1
        if thought < now:
            state.lost = 1
    elif settings.profiled == 1:
        hold_pool(state, job, now, b.NEVER, 1)
    h.publish(state, h.FREED, job, now, -working, -1)
    log_job(state, job, b.LOG_LEFT)
    if again:
        jobs.state[job] = b.REQUEUED
        h.call_hook(state.roles[h.RETRY], (state, job, now, now, 0))
    else:
        jobs.state[job] = jobs.stop_state[job] if jobs.cut[job] != b.BY_ITSELF else b.COMPLETED
        state.n_ended += 1
        h.publish(state, h.ENDED, job, now, now, 0)


@compiled(merged=True)
def held_back(state: b.BatchState, job: int) -> bool:
    """Whether a feature keeps a job from starting, whichever cores are free."""
    return h.publish(state, h.BLOCKED, job, 0, 0, 0) != 0


@compiled(merged=True)
def ask_allocator(state: b.BatchState, job: int, limit: int, words: Array, hosts: Array) -> int:
    """Let the allocator choose cores on up to ``limit`` switches (0: any); returns the number of intervals."""
    jobs, request, place = state.jobs, state.placement, _place(state.functions[b.PLACE_AT])
    wanted, stop = state.wanted_first[jobs.origin[job]], state.wanted_first[jobs.origin[job] + 1]
    request.number, request.n_cores, request.unit_cores = jobs.number[job], jobs.cores[job], jobs.unit_cores[job]
    request.limit, request.words, request.host_free = limit, words, hosts
    request.starts, request.host_first = state.free_starts, state.host_first
    request.wanted_lo, request.wanted_hi = state.wanted_lo[wanted:stop], state.wanted_hi[wanted:stop]
    request.out_lo, request.out_hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    return place(request)


@compiled(merged=True)
def suggest(state: b.BatchState, job: int) -> int:
    """Let the allocator choose among all free cores; returns the number of intervals."""
    return ask_allocator(state, job, 0, state.free_words, state.host_free)


@compiled(merged=True)
def suggest_fitting(state: b.BatchState, job: int) -> int:
    """Let the allocator choose among the free cores that the job may use; returns the number of intervals, 0 if none fit."""
    if not h.is_played(state, h.PROFILE):
        return suggest(state, job)
    h.call_hook(state.roles[h.EARLIEST], (state, job, state.now_ns, state.now_ns + 1, 0))
    return int(state.n_placed)


@compiled(merged=True)
def suggest_now(state: b.BatchState, job: int) -> int:
    """Place a job now; returns the number of intervals, 0 if none fit."""
    if h.is_played(state, h.PLACEMENT):
        return int(h.call_hook(state.roles[h.PLACE_NOW], (state, job, b.NEVER, 0, 0)))
    return suggest_fitting(state, job)


@compiled(merged=True)
def why_now(state: b.BatchState, job: int, others_wait: bool) -> int:
    """The reason of a start: the job's reservation if it ever had one, the head of the queue, or backfilling."""
    if state.jobs.reserved[job] == 1:
        return b.BY_RESERVATION
    return b.BY_BACKFILL if others_wait else b.BY_HEAD


@compiled(merged=True)
def start(state: b.BatchState, job: int, count: int, why: int) -> bool:
    """Start a job on the ``count`` intervals at the end of the pool; False if it cannot have them."""
    settings, jobs = state.settings, state.jobs
    now, used = state.now_ns, state.pool_used
    if take_cores(state, job, used, count) < 0:
        state.due_job = job
        return False
    state.pool_used = used + count
    leave_queue(state, job)
    jobs.start_ns[job] = now
    jobs.expected_end_ns[job] = now + jobs.estimate_ns[job] + jobs.late_ns[job]
    jobs.why[job] = why
    if settings.profiled == 1:  # without plans, its cores are free only after its end
        hold_pool(state, job, now, jobs.expected_end_ns[job] if settings.plans == 1 else b.NEVER, -1)
    log_job(state, job, b.LOG_STARTED)
    state.started[state.n_started] = job
    state.n_started += 1
    return True
