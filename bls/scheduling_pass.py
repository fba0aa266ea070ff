"""One scheduling pass: the queue is walked in order, and each job starts, is given a reservation, or waits.

EASY and conservative backfilling are this one walk with a different depth of reservations. With a depth of 1 the one
reservation is two numbers, its slot (the shadow time) and the cores that are free beside it then (the extra ones); with
more, reservations are entered into the profile of free cores over time, and a job's slot is the earliest instant at which
it fits that profile.

Sources: D. Lifka, "The ANL/IBM SP scheduling system", doi:10.1007/3-540-60153-8_35 (EASY); A. Mu'alem and D. Feitelson,
"Utilization, predictability, workloads, and user runtime estimates", doi:10.1109/71.932708 (conservative, compression).
"""

from __future__ import annotations

from collections.abc import Callable

from bls import batch_state as b
from bls.batch_state import BatchState
from bls.core_offer import earliest_place
from bls.core_profile import hold_cores, move_profile
from bls.count_profile import profile_add, profile_earliest, profile_move, profile_pack
from bls.expected_ends import corrected_end
from bls.job_life import hold_pool
from bls.job_starts import ALLOCATOR_REFUSED, PASSED, SCORE_FAILED, start, start_chosen, suggest, turn_away
from bls.kept_slots import drop_slot, drop_slots
from bls.queue_order import held_back, put_in_order
from bls.rank_queue import queue_next
from traces.compiled import compiled
from traces.event_heap import heap_drop_top, heap_push

__all__ = ["make_pass", "move_on", "prepare"]


#: After every instant at which a slot may begin.
_ALWAYS = 2**62 + 1


@compiled(merged=True)
def move_on(state: BatchState) -> None:
    """Bring the profile to the present instant."""
    counters = state.counters
    now = counters[b.NOW]
    if counters[b.BY_CORES] == 1:
        move_profile(state, state.cores_profile, now)
    else:
        first = profile_move(state.profile_ns, counters[b.FIRST], counters[b.LAST], now)
        if first > 0 and counters[b.LAST] > state.profile_ns.size // 2:
            counters[b.LAST] = profile_pack(state.profile_ns, state.profile_free, first, counters[b.LAST])
            first = 0
        counters[b.FIRST] = first


@compiled(merged=True)
def prepare(state: BatchState) -> None:
    """Bring the profile to the present instant, and find out which running jobs are overdue."""
    counters, jobs = state.counters, state.jobs
    now = counters[b.NOW]
    move_on(state)
    while counters[b.N_EXPECTED] > 0 and state.expected_ns[0] <= now:
        job = state.expected_job[0]
        counters[b.N_EXPECTED] = heap_drop_top(state.expected_ns, state.expected_job, counters[b.N_EXPECTED])
        if jobs[b.START, job] < 0 or jobs[b.STATE, job] >= 0 or jobs[b.OVERDUE, job] == 1:
            continue
        end = corrected_end(state, job, now)
        if end > now:
            if counters[b.KEEP] == 1:
                drop_slots(state)  # a slot may be on the very cores
            hold_pool(state, job, now, end, -1)
            jobs[b.EXPECTED, job] = end
            counters[b.N_EXPECTED] = heap_push(state.expected_ns, state.expected_job, counters[b.N_EXPECTED], end, job)
            counters[b.LOSS] = 1
        else:
            jobs[b.OVERDUE, job] = 1
            counters[b.OVERDUE_CORES] += jobs[b.HELD_CORES, job]
    if counters[b.OVERDUE_CORES] > 0:
        counters[b.LOSS] = 1


@compiled(inner=True)
def _hold_overdue(state: BatchState, sign: int) -> None:
    # Jobs that are overdue are expected to end at the next instant: until then they hold (-1) what they hold.
    counters, jobs = state.counters, state.jobs
    now = counters[b.NOW]
    if counters[b.BY_CORES] == 0:
        counters[b.LAST] = profile_add(
            state.profile_ns,
            state.profile_free,
            counters[b.FIRST],
            counters[b.LAST],
            now,
            now + 1,
            sign * counters[b.OVERDUE_CORES],
        )
        return
    for k in range(counters[b.N_RUNNING]):
        job = state.running_job[k]
        if jobs[b.OVERDUE, job] == 1:
            hold_pool(state, job, now, now + 1, sign)


@compiled(inner=True)
def _earliest(state: BatchState, place: Callable[..., int], job: int, before: int) -> tuple[int, int]:
    # The earliest slot of a job before an instant, and the number of intervals, which are at the end of the pool.
    used = state.counters[b.POOL_USED]
    return earliest_place(state, state.cores_profile, place, job, before, state.pool_lo[used:], state.pool_hi[used:])


@compiled(merged=True)
def _only_the_newcomer(state: BatchState, place: Callable[..., int]) -> int:
    # One job has arrived behind a head that is blocked still, and nothing else has changed: nobody else can start now
    # who could not before. (As time goes on, what fits before the shadow time only gets less.) -1: a whole pass is needed.
    counters, jobs = state.counters, state.jobs
    job, head = counters[b.ARRIVED], counters[b.BLOCKED_HEAD]
    if counters[b.LOSS] == 1:  # a job was expected to end by now, and does not
        return -1
    if head < 0 or counters[b.CHANGED] == 1 or counters[b.OVERDUE_CORES] > 0 or counters[b.LIMITED] == 1:
        return -1
    if jobs[b.RANK, job] < jobs[b.RANK, head]:
        return -1
    if counters[b.DEPTH] == 0:
        return PASSED
    n = jobs[b.CORES, job]
    beyond = counters[b.NOW] + jobs[b.ESTIMATE, job] > counters[b.SHADOW]
    if n > counters[b.FREE_CORES] or (beyond and n > counters[b.EXTRA]):
        return PASSED
    if not start(state, job, suggest(state, place, job), b.BY_BACKFILL):
        return ALLOCATOR_REFUSED
    if beyond:
        counters[b.EXTRA] -= n
    return PASSED


@compiled(merged=True)
def _set_shadow(state: BatchState, n: int) -> None:
    # The one reservation of EASY: when the head's n cores will be free, and how many beside them then.
    counters, ns, free = state.counters, state.profile_ns, state.profile_free
    first, last = counters[b.FIRST], counters[b.LAST]
    k = first
    while k < last and free[k] < n:
        k += 1
    if k == last:
        counters[b.SHADOW], counters[b.EXTRA] = b.NEVER, -1
    elif k == first:
        # Only overdue jobs are in the way: they are expected to end at the next instant, with whatever else ends then.
        counters[b.SHADOW] = counters[b.NOW] + 1
        if k + 1 < last and ns[k + 1] == counters[b.SHADOW]:
            k += 1
        counters[b.EXTRA] = free[k] - n
    else:
        counters[b.SHADOW], counters[b.EXTRA] = ns[k], free[k] - n


@compiled(merged=True)
def _easy(state: BatchState, place: Callable[..., int], n_order: int) -> int:
    # Counts with a depth of 0 or 1, in which the profile holds running jobs only.
    counters, jobs, by_rank = state.counters, state.jobs, state.by_rank
    words, starts = state.queue_words, state.queue_starts
    depth, limited, static = counters[b.DEPTH], counters[b.LIMITED] == 1, counters[b.ORDER] == b.STATIC
    now = counters[b.NOW]
    counters[b.BLOCKED_HEAD] = -1
    blocked, waits = False, False
    free, shadow, extra = counters[b.FREE_CORES], b.NEVER, 0
    position = -1
    while True:
        position = queue_next(words, starts, position + 1) if static else position + 1
        if position < 0 or (not static and position == n_order):
            return PASSED
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
        if n > free:
            blocked = True
            if not waits:
                counters[b.BLOCKED_HEAD] = job
            if depth == 0:
                return PASSED
            _set_shadow(state, n)
            jobs[b.RESERVED, job] = 1
            shadow, extra = counters[b.SHADOW], counters[b.EXTRA]
            if free == 0:
                return PASSED
            continue
        why = b.BY_RESERVATION if jobs[b.RESERVED, job] == 1 else (b.BY_BACKFILL if blocked or waits else b.BY_HEAD)
        if not start(state, job, suggest(state, place, job), why):
            return ALLOCATOR_REFUSED
        free -= n
        if blocked:
            if beyond:
                extra -= n
                counters[b.EXTRA] = extra
            if free == 0:
                return PASSED


@compiled(merged=True)
def _earlier(state: BatchState, n: int, before: int) -> bool:
    # By counts, whether n cores are free at some instant before one: else no slot begins there, whatever its length.
    # Reservations were at their earliest when capacity was last gained: a better one touches what was gained since. (By
    # cores they are not: a job that keeps its slot may have moved to other cores.)
    counters, ns, free = state.counters, state.profile_ns, state.profile_free
    k, last = counters[b.FIRST], counters[b.LAST]
    while k < last and ns[k] < before:
        if free[k] >= n:
            return True
        k += 1
    return False


@compiled(inner=True)
def _planned(state: BatchState, place: Callable[..., int], n_order: int) -> int:
    # Any depth and both granularities, with the profile that tells the slot of each job.
    counters, jobs, by_rank = state.counters, state.jobs, state.by_rank
    words, starts = state.queue_words, state.queue_starts
    depth, static, by_cores = counters[b.DEPTH], counters[b.ORDER] == b.STATIC, counters[b.BY_CORES] == 1
    now, keep = counters[b.NOW], counters[b.KEEP] == 1
    gained, lost = counters[b.GAIN] == 1, counters[b.LOSS] == 1
    n_partitions = state.partitions.shape[0]
    counters[b.BLOCKED_HEAD] = -1
    partitions = state.partitions
    for p in range(n_partitions):
        partitions[p, b.BLOCKED] = partitions[p, b.WAITS] = 0
    n_blocked = 0
    if keep and not lost:
        # A slot that has passed, as while the scheduler was deciding: nothing is as planned.
        position = queue_next(words, starts, 0)
        while position >= 0 and not lost:
            lost = jobs[b.SLOT, by_rank[position]] < now
            position = queue_next(words, starts, position + 1)
    if keep and lost:
        drop_slots(state)
    overdue = counters[b.OVERDUE_CORES] > 0
    # A pass is made at the next kept slot. What overdue jobs hold is planned to come free at the next instant, again and
    # again: that is no reason to wake up at every one.
    awake = now + 1 if overdue else now
    if overdue:
        _hold_overdue(state, -1)
    # A plan that is made anew in every pass is made on a copy, by counts; the cores of one are given back at its end.
    copied = not keep and depth > 0 and not by_cores
    ns, free_then = state.profile_ns, state.profile_free
    first, last = counters[b.FIRST], counters[b.LAST]
    if copied:
        for k in range(first, last):
            state.plan_ns[k - first] = ns[k]
            state.plan_free[k - first] = free_then[k]
        ns, free_then = state.plan_ns, state.plan_free
        first, last = 0, last - first
    hull, moved = counters[b.HULL], 0
    wake, status = b.NEVER, PASSED
    position = -1
    while True:
        position = queue_next(words, starts, position + 1) if static else position + 1
        if position < 0 or (not static and position == n_order):
            break
        job = by_rank[position] if static else state.order[position]
        n, length, p = jobs[b.CORES, job], jobs[b.ESTIMATE, job], jobs[b.PARTITION, job]
        stopped = partitions[p, b.BLOCKED] >= max(depth, 1)  # no more reservations
        kept = jobs[b.SLOT, job]
        if counters[b.LIMITED] == 1 and held_back(state, job):
            if kept != b.NEVER:
                hull = moved = max(hull, kept + length)
                drop_slot(state, job)
            partitions[p, b.WAITS] = 1
            continue
        if depth == 0 and stopped:
            continue
        if (
            kept != b.NEVER
            and kept > now
            and (not gained or (not by_cores and not _earlier(state, n, min(kept, hull))))
        ):
            partitions[p, b.WAITS] = 1
            wake = min(wake, kept if kept > awake else b.NEVER)
            continue
        if kept != b.NEVER:
            drop_slot(state, job)
            if by_cores and not gained:
                # Its time has come: it starts on the cores that its reservation names.
                first_kept, count, used = jobs[b.PLAN_FIRST, job], jobs[b.PLAN_COUNT, job], counters[b.POOL_USED]
                for k in range(count):
                    state.pool_lo[used + k] = state.kept_lo[first_kept + k]
                    state.pool_hi[used + k] = state.kept_hi[first_kept + k]
                if not start(state, job, count, b.BY_RESERVATION):
                    status = ALLOCATOR_REFUSED
                    break
                continue
        before = now + 1 if stopped or depth == 0 else _ALWAYS
        if now <= kept < b.NEVER:
            before = kept + 1  # never later than promised
        slot, count = b.NEVER, 0
        if by_cores:
            slot, count = _earliest(state, place, job, before)
            if slot == b.NEVER and now + 1 < before < _ALWAYS:
                # An allocator that now refuses what it chose before.
                slot, count = _earliest(state, place, job, _ALWAYS)
        else:
            if keep:
                last = counters[b.LAST]
            slot = profile_earliest(ns, free_then, first, last, n, length, before)
        if slot < kept < b.NEVER:
            hull = max(hull, kept + length)
            moved = max(moved, kept + length)
        if slot == now:
            if not by_cores:
                count = suggest(state, place, job)
            why = (
                b.BY_RESERVATION
                if jobs[b.RESERVED, job] == 1
                else (b.BY_BACKFILL if partitions[p, b.WAITS] == 1 else b.BY_HEAD)
            )
            if not start(state, job, count, why):
                status = ALLOCATOR_REFUSED
                break
            if copied:
                last = profile_add(ns, free_then, first, last, now, now + length, -jobs[b.HELD_CORES, job])
            continue
        partitions[p, b.WAITS] = 1
        if stopped:
            continue
        partitions[p, b.BLOCKED] += 1
        if depth == 0:
            n_blocked += 1
            if n_blocked == n_partitions:
                break
            continue
        jobs[b.RESERVED, job] = 1
        if slot == b.NEVER:
            continue
        if by_cores:
            used, at = counters[b.POOL_USED], counters[b.PLAN_USED]
            for i in range(count):
                state.kept_lo[at + i] = state.pool_lo[used + i]
                state.kept_hi[at + i] = state.pool_hi[used + i]
            jobs[b.PLAN_FIRST, job], jobs[b.PLAN_COUNT, job] = at, count
            counters[b.PLAN_USED] = at + count
            lo, hi = state.kept_lo[at : at + count], state.kept_hi[at : at + count]
            hold_cores(state, state.cores_profile, job, lo, hi, count, slot, slot + length, -1)
        elif keep:
            counters[b.LAST] = profile_add(ns, free_then, first, counters[b.LAST], slot, slot + length, -n)
        else:
            last = profile_add(ns, free_then, first, last, slot, slot + length, -n)
        if keep or by_cores:
            jobs[b.SLOT, job] = slot
        if keep:
            wake = min(wake, slot if slot > awake else b.NEVER)
    if by_cores and not keep and depth > 0:
        drop_slots(state)
    if overdue:
        _hold_overdue(state, 1)
    counters[b.WAKE] = wake
    if gained:
        # What those who moved have left may be of use to those who were tried before them, next time.
        counters[b.HULL] = moved
    else:
        counters[b.HULL] = hull
    return status


@compiled(merged=True)
def make_pass(state: BatchState, place: Callable[..., int], score: Callable[..., int]) -> int:
    """Walk the queue once; jobs that start are appended to ``state.started``. Returns ``PASSED``, or what went wrong."""
    counters = state.counters
    if counters[b.PLANS] == 1 or counters[b.BY_CORES] == 1:
        prepare(state)
    status = -1
    if counters[b.ORDER] == b.DECIDED:
        return start_chosen(state, place)
    if counters[b.ORDER] == b.REJECTED:
        turn_away(state)
        return PASSED
    simple = counters[b.BY_CORES] == 0 and counters[b.DEPTH] <= 1
    if simple and counters[b.ORDER] == b.STATIC:
        status = _only_the_newcomer(state, place)
    if status < 0:
        n_order = 0
        if counters[b.ORDER] == b.SCORED:
            n_order = put_in_order(state, score)
            if n_order < 0:
                return SCORE_FAILED
        status = _easy(state, place, n_order) if simple else _planned(state, place, n_order)
    counters[b.GAIN] = counters[b.LOSS] = 0
    counters[b.LAST_PASS] = counters[b.NOW]
    return status
