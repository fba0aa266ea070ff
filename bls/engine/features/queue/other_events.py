"""Events besides ends and plain arrivals: jobs that run from the start, windows, cancellations, dependencies, wake-ups."""

from bls.engine import state as b
from bls.engine.features.power.draws import planned_ns
from bls.engine.hooks import HOOK, INSTANT, publish
from bls.engine.job_lifecycle import arrive, send_away, start, suggest_now
from bls.engine.profile import drop_slot
from bls.engine.scheduling_pass import prepare
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(HOOK)
def next_other(state: b.BatchState, _job: int, _begin: int, _stop: int, sign: int) -> int:
    """The next instant of a dependent arrival, a cancellation, a window, or (unless ``sign`` is 0) a wake-up."""
    t = state.wake_ns if sign != 0 else b.NEVER
    if state.arriving.n > 0:
        t = min(t, state.arriving.ns[0])
    if state.next_boundary < state.boundaries.size:
        t = min(t, state.boundaries[state.next_boundary])
    if state.next_cancel < state.cancel_order.size:
        t = min(t, state.jobs.cancel_ns[state.cancel_order[state.next_cancel]])
    return int(t)


@compiled(inner=True)
def _withdraw(state: b.BatchState, now: int) -> None:
    """Cancel waiting jobs; running jobs have had their ``stop_ns`` since their start."""
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
def others(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Handle windows, cancellations, dependent arrivals and wake-ups of the instant ``begin``."""
    jobs = state.jobs
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


@compiled(HOOK)
def let_children_come(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Let the jobs that depend on an ended job arrive."""
    jobs, origin = state.jobs, state.jobs.origin[job]
    for k in range(state.child_first[origin], state.child_first[origin + 1]):
        child = state.child_row[k]
        if jobs.why[child] == b.NEVER_STARTED and jobs.state[child] == b.CANCELLED:
            continue  # cancelled before it could arrive
        if state.unmet.size > 0:
            state.unmet[child] -= 1
            if state.unmet[child] > 0:
                continue  # it depends on further jobs
            jobs.depends_on[child] = origin  # the last to end
        think = min(jobs.think_ns[child], MAX_NS - now)
        push(state.arriving, max(jobs.begin_ns[child], now + think), child)
    return 0


@compiled(HOOK)
def wait_for_switches(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Schedule a pass at the instant from which a job that joins the queue accepts more switches."""
    wait = state.settings.switch_wait_ns
    if state.jobs.switch_limit[job] > 0 and 0 < wait < b.NEVER - now:
        push(state.arriving, now + wait, state.jobs.number.size + job)
    return 0


@compiled(HOOK)
def start_presets(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Start the jobs that run from the beginning; jobs without room wait. Returns 0 or a ``BatchStatus``."""
    jobs, settings = state.jobs, state.settings
    if state.presets_left == 0:
        return 0
    if settings.profiled == 1:
        prepare(state)
    for k in range(state.arrivals.size):
        job = state.arrivals[k]
        if jobs.begin_ns[job] > state.now_ns:
            break
        if jobs.preset[job] == 0 or jobs.state[job] >= 0:
            continue
        count = suggest_now(state, job) if jobs.cores[job] <= state.free_cores else 0
        if count != 0 and not start(state, job, count, b.BY_PRESET):
            return BatchStatus.ALLOCATOR_FAULT
    state.presets_left = 0
    state.changed = 1
    if settings.releases == b.BY_DRAIN:
        publish(state, INSTANT, -1, state.now_ns, state.now_ns, 0)  # drain hosts now
    return 0
