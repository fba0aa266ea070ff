"""One scheduling pass: the queue is walked in order, and each job starts, is given a reservation, or waits.

No backfilling, EASY and conservative backfilling are walks with a different depth of reservations. With a depth of 1, here, the
one reservation is two numbers, its slot (the shadow time) and the cores that are free beside it then (the extra ones); with
more, and where cores are told apart, it is ``bls.engine.features.plan_ahead``.

Source: D. Lifka, "The ANL/IBM SP scheduling system", doi:10.1007/3-540-60153-8_35 (EASY).
"""

from __future__ import annotations

from bls.availability.count_profile import profile_move, profile_pack
from bls.engine import state as b
from bls.engine.hooks import (
    CHOSEN,
    HOSTS_SLEEP,
    MOLD,
    MOVE_PROFILE,
    ORDER,
    PLACE_AWAKE,
    PLAN,
    POWER_FITS,
    POWER_PLAN,
    TURN_AWAY,
    call_hook,
)
from bls.engine.job_lifecycle import hold_pool
from bls.engine.job_starts import start, suggest
from bls.engine.kept_reservations import drop_slots
from bls.engine.queue import queue_next
from bls.engine.queue_order import held_back
from bls.engine.runtime_prediction import corrected_end
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.compiled import compiled

__all__ = ["make_pass", "move_on", "prepare"]


@compiled(merged=True)
def move_on(state: BatchState) -> None:
    """Bring the profile to the present instant."""
    settings, clock, sizes = state.settings, state.clock, state.sizes
    now = clock[b.NOW]
    if settings[b.BY_CORES] == 1:
        call_hook(state.hooks[MOVE_PROFILE], (state, -1, now, now, 0))
    else:
        first = profile_move(state.profile_ns, sizes[b.FIRST], sizes[b.LAST], now)
        if first > 0 and sizes[b.LAST] > state.profile_ns.size // 2:
            sizes[b.LAST] = profile_pack(state.profile_ns, state.profile_free, first, sizes[b.LAST])
            first = 0
        sizes[b.FIRST] = first


@compiled(merged=True)
def prepare(state: BatchState) -> None:
    """Bring the profile to the present instant, and find out which running jobs are overdue."""
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    now = clock[b.NOW]
    move_on(state)
    while sizes[b.N_EXPECTED] > 0 and state.expected_ns[0] <= now:
        job = state.expected_job[0]
        sizes[b.N_EXPECTED] = heap_drop_top(state.expected_ns, state.expected_job, sizes[b.N_EXPECTED])
        if jobs[b.START, job] < 0 or jobs[b.STATE, job] >= 0 or jobs[b.OVERDUE, job] == 1:
            continue
        if jobs[b.EXPECTED, job] > now:
            continue  # it has promised a later end
        end = corrected_end(state, job, now)
        if end > now:
            if settings[b.KEEP] == 1:
                drop_slots(state)  # a slot may be on the very cores
            hold_pool(state, job, now, end, -1)
            jobs[b.EXPECTED, job] = end
            sizes[b.N_EXPECTED] = heap_push(state.expected_ns, state.expected_job, sizes[b.N_EXPECTED], end, job)
            clock[b.LOSS] = 1
        else:
            jobs[b.OVERDUE, job] = 1
            sizes[b.OVERDUE_CORES] += jobs[b.HELD_CORES, job]
    if sizes[b.OVERDUE_CORES] > 0:
        clock[b.LOSS] = 1


@compiled(merged=True)
def _only_the_newcomer(state: BatchState) -> int:
    """The pass where one job has arrived behind a head that is blocked still, and nothing else has changed; else -1.

    Nobody else can start now who could not before: as time goes on, what fits before the shadow time only gets less.
    """
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    job, head = clock[b.ARRIVED], clock[b.BLOCKED_HEAD]
    # A job was expected to end by now, and does not; or a host is on its way off, and the sooner it is, the sooner it is back.
    if clock[b.LOSS] == 1 or sizes[b.N_AWAY] > 0:
        return -1
    if head < 0 or clock[b.CHANGED] == 1 or sizes[b.OVERDUE_CORES] > 0 or settings[b.LIMITED] == 1:
        return -1
    if jobs[b.RANK, job] < jobs[b.RANK, head]:
        return -1
    if settings[b.DEPTH] == 0:
        return BatchStatus.RUNNING
    n = jobs[b.CORES, job]
    beyond = clock[b.NOW] + jobs[b.ESTIMATE, job] > clock[b.SHADOW]
    if n > sizes[b.FREE_CORES] or (beyond and n > clock[b.EXTRA]):
        return BatchStatus.RUNNING
    if not start(state, job, suggest(state, job), b.BY_BACKFILL):
        return BatchStatus.ALLOCATOR_FAULT
    if beyond:
        clock[b.EXTRA] -= n
    return BatchStatus.RUNNING


@compiled(merged=True)
def _set_shadow(state: BatchState, n: int) -> None:
    """Find the one reservation of EASY: when the head's n cores will be free, and how many beside them then."""
    clock, sizes, ns, free = state.clock, state.sizes, state.profile_ns, state.profile_free
    first, last = sizes[b.FIRST], sizes[b.LAST]
    k = first
    while k < last and free[k] < n:
        k += 1
    if k == last:
        clock[b.SHADOW], clock[b.EXTRA] = b.NEVER, -1
    elif k == first:
        # Only overdue jobs are in the way: they are expected to end at the next instant, with whatever else ends then.
        clock[b.SHADOW] = clock[b.NOW] + 1
        if k + 1 < last and ns[k + 1] == clock[b.SHADOW]:
            k += 1
        clock[b.EXTRA] = free[k] - n
    else:
        clock[b.SHADOW], clock[b.EXTRA] = ns[k], free[k] - n


@compiled(merged=True)
def _easy(state: BatchState, n_order: int) -> int:
    """The pass by counts with a depth of 0 or 1, where the profile holds running jobs only; returns a status."""
    settings, clock, sizes, jobs, by_rank = state.settings, state.clock, state.sizes, state.jobs, state.by_rank
    words, starts = state.queue_words, state.queue_starts
    depth, limited, static = settings[b.DEPTH], settings[b.LIMITED] == 1, settings[b.ORDER] == b.STATIC
    now = clock[b.NOW]
    clock[b.BLOCKED_HEAD] = -1
    blocked, waits = False, False
    free, shadow, extra = sizes[b.FREE_CORES], b.NEVER, 0
    position = -1
    while True:
        position = queue_next(words, starts, position + 1) if static else position + 1
        if position < 0 or (not static and position == n_order):
            return BatchStatus.RUNNING
        job = by_rank[position] if static else state.order[position]
        n = jobs[b.CORES, job]
        if blocked:
            if n > free:
                continue
            beyond = now + jobs[b.ESTIMATE, job] > shadow
            if beyond and n > extra:
                continue
        if limited and held_back(state, job):
            waits = True
            continue
        if settings[b.MOLDS] == 1 and not blocked:
            n = call_hook(state.hooks[MOLD], (state, job, free, 0, 0))
        if settings[b.POWERED] > 0 and call_hook(state.hooks[POWER_FITS], (state, job, 0, 0, 0)) == 0:
            n = free + 1
        if n > free:
            blocked = True
            if not waits:
                clock[b.BLOCKED_HEAD] = job
            if depth == 0:
                return BatchStatus.RUNNING
            _set_shadow(state, n)
            jobs[b.RESERVED, job] = 1
            shadow, extra = clock[b.SHADOW], clock[b.EXTRA]
            if free == 0:
                return BatchStatus.RUNNING
            continue
        why = b.BY_RESERVATION if jobs[b.RESERVED, job] == 1 else (b.BY_BACKFILL if blocked or waits else b.BY_HEAD)
        asleep = sizes[b.N_AWAY] > 0
        count = call_hook(state.hooks[PLACE_AWAKE], (state, job, shadow, extra, 0)) if asleep else suggest(state, job)
        if count < 0:  # it would have to wait for hosts to boot, and then be in the head's way
            continue
        beyond = now + jobs[b.ESTIMATE, job] + jobs[b.BOOT_WAIT, job] > shadow
        if not start(state, job, count, why):
            return BatchStatus.ALLOCATOR_FAULT
        free -= n
        if blocked:
            if beyond:
                extra -= n
                clock[b.EXTRA] = extra
            if free == 0:
                return BatchStatus.RUNNING


@compiled(merged=True)
def make_pass(state: BatchState) -> int:
    """Walk the queue once, appending jobs that start to ``state.started``; returns a ``BatchStatus``."""
    settings, clock = state.settings, state.clock
    if settings[b.PLANS] == 1 or settings[b.BY_CORES] == 1:
        prepare(state)
    if settings[b.SLEEPS] == 1:
        call_hook(state.hooks[HOSTS_SLEEP], (state, -1, clock[b.NOW], 0, 0))
    status = -1
    if settings[b.ORDER] == b.DECIDED:
        return int(call_hook(state.hooks[CHOSEN], (state, -1, 0, 0, 0)))
    if settings[b.ORDER] == b.REJECTED:
        call_hook(state.hooks[TURN_AWAY], (state, -1, 0, 0, 0))
        return BatchStatus.RUNNING
    planner = POWER_PLAN if settings[b.POWERED] > 0 and settings[b.BY_CORES] == 0 and settings[b.DEPTH] == 1 else PLAN
    simple = settings[b.BY_CORES] == 0 and settings[b.DEPTH] <= 1 and planner == PLAN
    if simple and settings[b.ORDER] == b.STATIC:
        status = _only_the_newcomer(state)
    if status < 0:
        n_order = 0
        if settings[b.ORDER] == b.SCORED:
            n_order = call_hook(state.hooks[ORDER], (state, -1, 0, 0, 0))
            if n_order < 0:
                return BatchStatus.SCORE_FAULT
        if simple:
            status = _easy(state, n_order)
        else:
            status = call_hook(state.hooks[planner], (state, -1, n_order, 0, 0))
    clock[b.GAIN] = clock[b.LOSS] = 0
    clock[b.LAST_PASS] = clock[b.NOW]
    return status
