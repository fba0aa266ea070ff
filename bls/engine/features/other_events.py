"""What happens beside ends and arrivals by themselves: hosts, windows, cancellations, later arrivals, wake-ups."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK, HOST_EVENTS, LIMITS, STOP_HOSTS, call_hook
from bls.engine.job_lifecycle import arrive, for_good, leave_queue, log_job
from bls.engine.kept_reservations import drop_slot
from bls.engine.planned_time import planned_ns
from bls.engine.queue import queue_next
from bls.engine.state import BatchState
from traces.algorithms.event_heap import heap_drop_top
from traces.compiled import compiled

__all__ = ["next_other", "others"]


@compiled(HOOK)
def next_other(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """The next instant at which something rarer than an end or an arrival happens."""
    clock, sizes = state.clock, state.sizes
    t = min(clock[b.WAKE], clock[b.POWER_AT])
    if sizes[b.N_ARRIVING] > 0:
        t = min(t, state.arriving_ns[0])
    if sizes[b.N_HOST_EVENTS] > 0:
        t = min(t, state.host_ns[0])
    if clock[b.NEXT_BOUNDARY] < state.boundaries.size:
        t = min(t, state.boundaries[clock[b.NEXT_BOUNDARY]])
    if clock[b.NEXT_CANCEL] < state.cancel_order.size:
        t = min(t, state.jobs[b.CANCEL, state.cancel_order[clock[b.NEXT_CANCEL]]])
    return int(t)


@compiled(inner=True)
def _withdraw(state: BatchState, now: int) -> None:
    """Cancellations: those who wait leave; those who run have been told when they started."""
    clock, jobs, rows = state.clock, state.jobs, state.cancel_order
    while clock[b.NEXT_CANCEL] < rows.size and jobs[b.CANCEL, rows[clock[b.NEXT_CANCEL]]] <= now:
        job = state.by_rank[jobs[b.RANK, rows[clock[b.NEXT_CANCEL]]]]
        clock[b.NEXT_CANCEL] += 1
        if jobs[b.START, job] >= 0 or jobs[b.STATE, job] >= 0:
            continue
        if queue_next(state.queue_words, state.queue_starts, jobs[b.RANK, job]) == jobs[b.RANK, job]:
            leave_queue(state, job)
            log_job(state, job, b.LOG_LEFT)
            if jobs[b.SLOT, job] != b.NEVER:
                clock[b.HULL] = max(clock[b.HULL], jobs[b.SLOT, job] + planned_ns(state, job))
                clock[b.GAIN] = 1
                drop_slot(state, job)
        clock[b.CHANGED] = 1
        jobs[b.STATE, job] = b.CANCELLED
        jobs[b.WHY, job] = b.NEVER_STARTED
        for_good(state, job, now)


@compiled(HOOK)
def others(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """What happens at an instant, ``begin``, between its ends and the arrivals of jobs that come by themselves."""
    clock, sizes, jobs = state.clock, state.sizes, state.jobs
    if sizes[b.N_HOST_EVENTS] > 0 and state.host_ns[0] <= now:
        call_hook(state.hooks[HOST_EVENTS], (state, -1, now, now, 0))
        clock[b.CHANGED] = 1
    if state.stops.host.size > 0:
        call_hook(state.hooks[STOP_HOSTS], (state, -1, now, now, 0))
    elif clock[b.POWER_AT] <= now:
        call_hook(state.hooks[LIMITS], (state, -1, now, now, 0))
    while clock[b.NEXT_BOUNDARY] < state.boundaries.size and state.boundaries[clock[b.NEXT_BOUNDARY]] <= now:
        clock[b.NEXT_BOUNDARY] += 1
        clock[b.CHANGED] = 1
    if clock[b.NEXT_CANCEL] < state.cancel_order.size:
        _withdraw(state, now)
    while sizes[b.N_ARRIVING] > 0 and state.arriving_ns[0] <= now:
        job = state.arriving_job[0]
        sizes[b.N_ARRIVING] = heap_drop_top(state.arriving_ns, state.arriving_job, sizes[b.N_ARRIVING])
        if job >= jobs.shape[1]:
            job -= jobs.shape[1]
            if jobs[b.START, job] < 0 and jobs[b.STATE, job] < 0:
                # It accepts more from now on: it may have a better slot than the one that it keeps.
                clock[b.CHANGED] = 1
                if jobs[b.SLOT, job] != b.NEVER:
                    clock[b.HULL] = b.NEVER
                    clock[b.GAIN] = 1
        elif jobs[b.STATE, job] < 0:
            clock[b.CHANGED] = 1
            arrive(state, job, now)
    if clock[b.WAKE] <= now:
        clock[b.WAKE] = b.NEVER
        clock[b.CHANGED] = 1
    return 0
