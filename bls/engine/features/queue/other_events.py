"""What happens beside ends and arrivals by themselves: hosts, windows, cancellations, later arrivals, wake-ups."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.heaps import drop_top
from bls.engine.hooks import HOOK, HOST_EVENTS, LIMITS, STOP_HOSTS, call_hook
from bls.engine.job_lifecycle import arrive, send_away
from bls.engine.kept_reservations import drop_slot
from bls.engine.planned_time import planned_ns
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(HOOK)
def next_other(state: BatchState, _job: int, _begin: int, _stop: int, sign: int) -> int:
    """The next instant of something rarer than an end or an arrival; without outages and wake-ups if ``sign`` is 0."""
    t = state.power_at_ns
    if sign != 0:
        t = min(t, state.wake_ns)
        if state.host_events.n > 0:
            t = min(t, state.host_events.ns[0])
    if state.arriving.n > 0:
        t = min(t, state.arriving.ns[0])
    if state.next_boundary < state.boundaries.size:
        t = min(t, state.boundaries[state.next_boundary])
    if state.next_cancel < state.cancel_order.size:
        t = min(t, state.jobs.cancel_ns[state.cancel_order[state.next_cancel]])
    return int(t)


@compiled(inner=True)
def _withdraw(state: BatchState, now: int) -> None:
    """Cancellations: those who wait leave; those who run have been told when they started."""
    jobs, rows = state.jobs, state.cancel_order
    while state.next_cancel < rows.size and jobs.cancel_ns[rows[state.next_cancel]] <= now:
        job = state.by_rank[jobs.rank[rows[state.next_cancel]]]
        state.next_cancel += 1
        if jobs.start_ns[job] >= 0 or jobs.state[job] >= 0:
            continue
        if jobs.slot_ns[job] != b.NEVER:
            state.gained, state.hull_ns = 1, max(state.hull_ns, jobs.slot_ns[job] + planned_ns(state, job))
            drop_slot(state, job)
        state.changed = 1
        send_away(state, job, b.CANCELLED)


@compiled(HOOK)
def others(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """What happens at an instant, ``begin``, between its ends and the arrivals of jobs that come by themselves."""
    jobs = state.jobs
    if state.host_events.n > 0 and state.host_events.ns[0] <= now:
        call_hook(state.hooks[HOST_EVENTS], (state, -1, now, now, 0))
        state.changed = 1
    if state.stops.host.state.size > 0:
        call_hook(state.hooks[STOP_HOSTS], (state, -1, now, now, 0))
    elif state.power_at_ns <= now:
        call_hook(state.hooks[LIMITS], (state, -1, now, now, 0))
    while state.next_boundary < state.boundaries.size and state.boundaries[state.next_boundary] <= now:
        state.next_boundary += 1
        state.changed = 1
    if state.next_cancel < state.cancel_order.size:
        _withdraw(state, now)
    while state.arriving.n > 0 and state.arriving.ns[0] <= now:
        job = state.arriving.key[0]
        drop_top(state.arriving)
        if job >= jobs.number.size:
            job -= jobs.number.size
            if jobs.start_ns[job] < 0 and jobs.state[job] < 0:
                # It accepts more from now on: it may have a better slot than the one that it keeps.
                state.changed = 1
                if jobs.slot_ns[job] != b.NEVER:
                    state.gained, state.hull_ns = 1, b.NEVER
        elif jobs.state[job] < 0:
            state.changed = 1
            arrive(state, job, now)
    if state.wake_ns <= now:
        state.wake_ns = b.NEVER
        state.changed = 1
    return 0
