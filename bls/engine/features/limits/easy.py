"""EASY, or no backfilling, under a power limit, with identical cores.

The head's slot is the first instant with enough cores and enough power; otherwise this is ``bls.engine.scheduling_pass``.
Besides the extra cores there is extra power. Known limits count until their ends, and running jobs in their planned power
states until their expected ends, so that cores and power only increase.
"""

from bls.engine import state as b
from bls.engine.features.draws.draws import MACHINE, held_mw, least_mw, planned_ns
from bls.engine.features.expected_ends import expect
from bls.engine.features.limits.limits import room_in_pass
from bls.engine.hooks import HOOK, WIDTH, call_hook, is_played
from bls.engine.job_lifecycle import held_back, next_in_order, start, suggest, under_way, why_now
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push
from traces.compiled import compiled


@compiled(inner=True)
def _set_shadow(state: b.BatchState, job: int) -> int:
    """Set ``shadow_ns``, the slot of the head, and ``extra_cores``; returns the extra power, mW."""
    power, ends = state.power, state.power.ends
    cores, need, mw = state.free_cores, state.jobs.cores[job], least_mw(state, job)
    left = room_in_pass(state)
    ends.n = 0
    for k in range(state.running.n + state.n_started):
        running = under_way(state, k)
        push(ends, max(state.jobs.expected_end_ns[running], state.now_ns + 1), running)
    limited, k = left != b.NEVER, state.power.next - 1
    stair, stop = (power.first[0, k], power.first[0, k + 1]) if limited else (0, 0)
    while ends.n > 0 or stair < stop:
        at = ends.ns[0] if ends.n > 0 else b.NEVER
        if stair < stop:
            at = min(at, power.stairs[0, stair])
        if at == b.NEVER:
            break
        while ends.n > 0 and ends.ns[0] == at:
            cores += state.jobs.held_cores[ends.key[0]]
            if limited:
                left += held_mw(state, ends.key[0], MACHINE)
            drop_top(ends)
        while stair < stop and power.stairs[0, stair] == at:
            left += power.stairs[1, stair]
            stair += 1
        if cores >= need and left >= mw:
            state.shadow_ns, state.extra_cores = at, cores - need
            return int(left - mw if limited else left)
    state.shadow_ns, state.extra_cores = b.NEVER, -1
    return -1


@compiled(HOOK)
def plan_with_power(state: b.BatchState, _job: int, n_order: int, _stop: int, _sign: int) -> int:
    """A pass with at most one reservation; see ``bls.engine.features.plans.plan_ahead.plan``."""
    settings, jobs = state.settings, state.jobs
    now, blocked, waits, extra_mw, place = state.now_ns, False, False, 0, -1
    state.blocked_head = -1
    while True:
        place, job = next_in_order(state, place, n_order)
        if job < 0:
            return BatchStatus.RUNNING
        n, mw, free = jobs.cores[job], least_mw(state, job), state.free_cores
        beyond = blocked and now + planned_ns(state, job) > state.shadow_ns
        fits = n <= free and mw <= room_in_pass(state)
        if blocked and not (fits and (not beyond or (n <= state.extra_cores and mw <= extra_mw))):
            continue
        if held_back(state, job):
            waits = True
            continue
        if is_played(state, WIDTH) and not blocked:
            if not fits and settings.max_reservations > 0:
                extra_mw = _set_shadow(state, job)
            call_hook(state.roles[WIDTH], (state, job, 0, state.shadow_ns, 0))
            n = jobs.cores[job]
            mw = least_mw(state, job)
            fits = n <= free and mw <= room_in_pass(state)
        if not fits:
            if settings.max_reservations == 0:
                state.blocked_head = -1 if waits else job
                return BatchStatus.RUNNING
            blocked = True
            extra_mw = _set_shadow(state, job)
            jobs.reserved[job] = 1
            continue
        if not start(state, job, suggest(state, job), why_now(state, job, blocked or waits)):
            return BatchStatus.ALLOCATOR_FAULT
        if settings.plans == 1 and planned_ns(state, job) != jobs.estimate_ns[job]:
            expect(state, job, now + planned_ns(state, job))
        if beyond:
            state.extra_cores -= n
            extra_mw -= mw if extra_mw != b.NEVER else 0
