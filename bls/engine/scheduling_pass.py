"""One scheduling pass: walk the queue in order; each job starts, gets a reservation, or waits.

No backfilling, EASY and conservative backfilling differ in the depth of reservations. With a depth of 1 (here), two numbers
describe the reservation: its slot (the shadow time) and the extra cores that it leaves free then. Greater depths, and passes
in which cores are distinguished, are in ``bls.engine.features.plans.plan_ahead``.

Source: D. Lifka, "The ANL/IBM SP scheduling system", doi:10.1007/3-540-60153-8_35 (EASY).
"""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.job_lifecycle import drop_plan, held_back, next_in_order, start, suggest, why_now
from bls.engine.profile import hold_pool, move_on
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push
from traces.compiled import compiled


@compiled(inner=True)
def _corrected_end(state: b.BatchState, job: int, now: int) -> int:
    """The corrected end of a job that runs longer than expected: after ``now``, at most its walltime."""
    jobs, steps = state.jobs, state.corrections_ns
    end, last = jobs.expected_end_ns[job], jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job]
    while end <= now and end < last:
        step = steps[min(jobs.corrections[job], steps.size - 1)]
        end = end + step if step < last - end else last
        jobs.corrections[job] += 1
    return int(end)


@compiled(merged=True)
def prepare(state: b.BatchState) -> None:
    """Bring the profile to the present instant and find the overdue jobs."""
    jobs, now = state.jobs, state.now_ns
    move_on(state)
    while state.expected.n > 0 and state.expected.ns[0] <= now:
        job = state.expected.key[0]
        drop_top(state.expected)
        if jobs.start_ns[job] < 0 or jobs.state[job] >= 0 or jobs.overdue[job] == 1:
            continue
        if jobs.expected_end_ns[job] > now:
            continue  # it has promised a later end
        end = _corrected_end(state, job, now)
        if end > now:
            drop_plan(state)
            hold_pool(state, job, now, end, -1)
            jobs.expected_end_ns[job] = end
            push(state.expected, end, job)
            state.lost = 1
        else:
            jobs.overdue[job] = 1
            state.overdue_cores += jobs.held_cores[job]
    if state.overdue_cores > 0:
        state.lost = 1


@compiled(merged=True)
def _only_the_newcomer(state: b.BatchState) -> int:
    """The pass after a single arrival behind a blocked head, if nothing else has changed; else -1."""
    settings, jobs = state.settings, state.jobs
    job, head = state.arrived_job, state.blocked_head
    if head < 0 or state.lost == 1 or state.changed == 1 or state.overdue_cores > 0:
        return -1
    if jobs.rank[job] < jobs.rank[head]:
        return -1
    if settings.max_reservations == 0 or held_back(state, job):
        return BatchStatus.RUNNING
    n = jobs.cores[job]
    beyond = state.now_ns + jobs.estimate_ns[job] > state.shadow_ns
    if n > state.free_cores or (beyond and n > state.extra_cores):
        return BatchStatus.RUNNING
    if not start(state, job, suggest(state, job), b.BY_BACKFILL):
        return BatchStatus.ALLOCATOR_FAULT
    if beyond:
        state.extra_cores -= n
    return BatchStatus.RUNNING


@compiled(merged=True)
def _set_shadow(state: b.BatchState, n: int) -> None:
    """Find the reservation of EASY: the instant at which n cores are free, and the extra cores at that instant."""
    profile = state.profile
    ns, free, last, k = profile.ns, profile.free, profile.end, profile.first
    while k < last and free[k] < n:
        k += 1
    if k == last:
        state.shadow_ns, state.extra_cores = b.NEVER, -1
        return
    # Overdue jobs are expected to end in the next ns, together with other jobs that end then.
    state.shadow_ns = max(ns[k], state.now_ns + 1)
    if k + 1 < last and ns[k + 1] == state.shadow_ns:
        k += 1
    state.extra_cores = free[k] - n


@compiled(merged=True)
def _easy(state: b.BatchState, n_order: int) -> int:
    """A pass with a depth of 0 or 1 and a profile of running jobs that counts cores; returns a status."""
    jobs, depth, now = state.jobs, state.settings.max_reservations, state.now_ns
    state.blocked_head = -1
    free, shadow, extra, blocked, waits, place = state.free_cores, b.NEVER, 0, False, False, -1
    while True:
        place, job = next_in_order(state, place, n_order)
        if job < 0:
            return BatchStatus.RUNNING
        n = jobs.cores[job]
        if blocked:
            if n > free:
                continue
            beyond = now + jobs.estimate_ns[job] > shadow
            if beyond and n > extra:
                continue
        if held_back(state, job):
            waits = True
            continue
        if n > free and depth > 0:
            _set_shadow(state, n)
        if not blocked:
            h.play(state, h.WIDTH, job, 0, state.shadow_ns, 0)
            n = jobs.cores[job]
        if n > free:
            blocked = True
            if not waits:
                state.blocked_head = job
            if depth == 0:
                return BatchStatus.RUNNING
            jobs.reserved[job] = 1
            shadow, extra = state.shadow_ns, state.extra_cores
            if free == 0:
                return BatchStatus.RUNNING
            continue
        if h.is_played(state, h.PLACEMENT):
            count = h.call_hook(state.roles[h.PLACE_NOW], (state, job, shadow, extra, 0))
        else:
            count = suggest(state, job)
        if count < 0:  # it would delay the head
            continue
        beyond = now + jobs.estimate_ns[job] + jobs.late_ns[job] > shadow
        if not start(state, job, count, why_now(state, job, blocked or waits)):
            return BatchStatus.ALLOCATOR_FAULT
        free -= n
        if blocked:
            if beyond:
                extra -= n
                state.extra_cores = extra
            if free == 0:
                return BatchStatus.RUNNING


@compiled(merged=True)
def make_pass(state: b.BatchState) -> int:
    """Walk the queue once and append jobs that start to ``state.started``; returns a ``BatchStatus``."""
    settings = state.settings
    if settings.profiled == 1:
        prepare(state)
    # With an order that changes there is no ``blocked_head``; a feature that places jobs sees every pass.
    known = settings.order == b.STATIC and not h.is_played(state, h.PLACEMENT)
    status = _only_the_newcomer(state) if known else -1
    if status < 0:
        n_order = h.play(state, h.ORDER, -1, 0, 0, 0)
        if n_order < 0:
            return BatchStatus.SCORE_FAULT
        if h.is_played(state, h.PLAN):
            status = h.call_hook(state.roles[h.PLAN], (state, -1, n_order, 0, 0))
        else:
            status = _easy(state, n_order)
    state.gained = state.lost = 0
    state.last_pass_ns = state.now_ns
    return status
