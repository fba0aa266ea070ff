"""Events besides ends and plain arrivals: windows, cancellations, dependent arrivals, wake-ups."""

from bls.engine import state as b
from bls.engine.features.draws.draws import planned_ns
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import arrive, send_away
from bls.engine.profile import drop_slot
from traces.algorithms.event_heap import drop_top
from traces.compiled import compiled


@compiled(HOOK)
def next_other(state: b.BatchState, _job: int, _begin: int, _stop: int, sign: int) -> int:
    """The next instant of a dependent arrival, a cancellation, a window, or (unless ``sign`` is 0) a wake-up."""
    events, t = state.other_events, state.wake_ns if sign != 0 else b.NEVER
    if events.arriving.n > 0:
        t = min(t, events.arriving.ns[0])
    if events.next_boundary < state.boundaries.size:
        t = min(t, state.boundaries[events.next_boundary])
    if events.next_cancel < events.cancels.size:
        t = min(t, state.jobs.cancel_ns[events.cancels[events.next_cancel]])
    return int(t)


@compiled(inner=True)
def _withdraw(state: b.BatchState, now: int) -> None:
    """Cancel waiting jobs; running jobs have had their ``stop_ns`` since their start."""
    jobs, events, rows = state.jobs, state.other_events, state.other_events.cancels
    while events.next_cancel < rows.size and jobs.cancel_ns[rows[events.next_cancel]] <= now:
        job = state.by_rank[jobs.rank[rows[events.next_cancel]]]
        events.next_cancel += 1
        if jobs.start_ns[job] >= 0 or jobs.state[job] >= 0:
            continue
        if jobs.slot_ns[job] != b.NEVER:
            state.gained, state.hull_ns = 1, max(state.hull_ns, jobs.slot_ns[job] + planned_ns(state, job))
            drop_slot(state, job)
        state.changed = 1
        send_away(state, job, b.CANCELLED)


@compiled(HOOK)
def others(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Handle windows, cancellations, dependent arrivals and wake-ups of the instant ``begin``."""
    jobs, events, boundaries = state.jobs, state.other_events, state.boundaries
    while events.next_boundary < boundaries.size and boundaries[events.next_boundary] <= now:
        events.next_boundary += 1
        state.changed = 1
    if events.next_cancel < events.cancels.size:
        _withdraw(state, now)
    while events.arriving.n > 0 and events.arriving.ns[0] <= now:
        job = events.arriving.key[0]
        drop_top(events.arriving)
        if job >= b.WAKE_UP_KEY:
            job -= b.WAKE_UP_KEY
            if jobs.start_ns[job] < 0 and jobs.state[job] < 0:
                # It accepts more switches from now on and may find an earlier slot.
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
