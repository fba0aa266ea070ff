"""A pass that plans: reservations of any depth, kept or made anew, by counts or by cores.

Conservative backfilling is it with a depth without bound. Reservations are entered into the profile of what is free over time,
and a job's slot is the earliest instant at which it fits that profile.

Source: A. Mu'alem and D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates",
doi:10.1109/71.932708 (conservative, compression).
"""

from __future__ import annotations

from collections.abc import Callable

from bls.allocators.contract import PLACE
from bls.availability.count_profile import profile_add, profile_earliest
from bls.engine import state as b
from bls.engine.hooks import EARLIEST, HOLD_KEPT, HOOK, call_hook
from bls.engine.job_lifecycle import hold_pool
from bls.engine.job_starts import start, suggest
from bls.engine.kept_reservations import drop_slot, drop_slots
from bls.engine.queue import queue_next
from bls.engine.queue_order import held_back
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled, value_from

__all__ = ["plan"]

_place: Callable[..., Callable[..., int]] = value_from(PLACE)

#: After every instant at which a slot may begin.
_ALWAYS = 2**62 + 1


@compiled(inner=True)
def _hold_overdue(state: BatchState, sign: int) -> None:
    # Jobs that are overdue are expected to end at the next instant: until then they hold (-1) what they hold.
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    now = clock[b.NOW]
    if settings[b.BY_CORES] == 0:
        sizes[b.LAST] = profile_add(
            state.profile_ns,
            state.profile_free,
            sizes[b.FIRST],
            sizes[b.LAST],
            now,
            now + 1,
            sign * sizes[b.OVERDUE_CORES],
        )
        return
    for k in range(sizes[b.N_RUNNING]):
        job = state.running_job[k]
        if jobs[b.OVERDUE, job] == 1:
            hold_pool(state, job, now, now + 1, sign)


@compiled(merged=True)
def _earlier(state: BatchState, n: int, before: int) -> bool:
    # By counts, whether n cores are free at some instant before one: else no slot begins there, whatever its length.
    # Reservations were at their earliest when capacity was last gained: a better one touches what was gained since. (By
    # cores they are not: a job that keeps its slot may have moved to other cores.)
    sizes, ns, free = state.sizes, state.profile_ns, state.profile_free
    k, last = sizes[b.FIRST], sizes[b.LAST]
    while k < last and ns[k] < before:
        if free[k] >= n:
            return True
        k += 1
    return False


@compiled(HOOK)
def plan(state: BatchState, _job: int, n_order: int, _stop: int, _sign: int) -> int:
    """A pass of any depth and both granularities, with the profile that tells the slot of each job.

    ``begin`` is the number of jobs in ``state.order``, where the order is not static.
    """
    place = _place(state.functions[b.PLACE_AT])
    settings, clock, sizes, jobs, by_rank = state.settings, state.clock, state.sizes, state.jobs, state.by_rank
    words, starts = state.queue_words, state.queue_starts
    depth, static, by_cores = settings[b.DEPTH], settings[b.ORDER] == b.STATIC, settings[b.BY_CORES] == 1
    now, keep = clock[b.NOW], settings[b.KEEP] == 1
    gained, lost = clock[b.GAIN] == 1, clock[b.LOSS] == 1
    n_partitions = state.partitions.shape[0]
    clock[b.BLOCKED_HEAD] = -1
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
    overdue = sizes[b.OVERDUE_CORES] > 0
    # A pass is made at the next kept slot. What overdue jobs hold is planned to come free at the next instant, again and
    # again: that is no reason to wake up at every one.
    awake = now + 1 if overdue else now
    if overdue:
        _hold_overdue(state, -1)
    # A plan that is made anew in every pass is made on a copy, by counts; the cores of one are given back at its end.
    copied = not keep and depth > 0 and not by_cores
    ns, free_then = state.profile_ns, state.profile_free
    first, last = sizes[b.FIRST], sizes[b.LAST]
    if copied:
        for k in range(first, last):
            state.plan_ns[k - first] = ns[k]
            state.plan_free[k - first] = free_then[k]
        ns, free_then = state.plan_ns, state.plan_free
        first, last = 0, last - first
    hull, moved = clock[b.HULL], 0
    wake, status = b.NEVER, BatchStatus.RUNNING
    position = -1
    while True:
        position = queue_next(words, starts, position + 1) if static else position + 1
        if position < 0 or (not static and position == n_order):
            break
        job = by_rank[position] if static else state.order[position]
        n, length, p = jobs[b.CORES, job], jobs[b.ESTIMATE, job], jobs[b.PARTITION, job]
        stopped = partitions[p, b.BLOCKED] >= max(depth, 1)  # no more reservations
        kept = jobs[b.SLOT, job]
        if settings[b.LIMITED] == 1 and held_back(state, job):
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
                first_kept, count, used = jobs[b.PLAN_FIRST, job], jobs[b.PLAN_COUNT, job], sizes[b.POOL_USED]
                for k in range(count):
                    state.pool_lo[used + k] = state.kept_lo[first_kept + k]
                    state.pool_hi[used + k] = state.kept_hi[first_kept + k]
                if not start(state, job, count, b.BY_RESERVATION):
                    status = BatchStatus.ALLOCATOR_FAULT
                    break
                continue
        before = now + 1 if stopped or depth == 0 else _ALWAYS
        if now <= kept < b.NEVER:
            before = kept + 1  # never later than promised
        slot, count = b.NEVER, 0
        if by_cores:
            slot = call_hook(state.hooks[EARLIEST], (state, job, now, before, 0))
            count = sizes[b.PLACED]
            if slot == b.NEVER and now + 1 < before < _ALWAYS:
                # An allocator that now refuses what it chose before.
                slot = call_hook(state.hooks[EARLIEST], (state, job, now, _ALWAYS, 0))
                count = sizes[b.PLACED]
        else:
            if keep:
                last = sizes[b.LAST]
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
                status = BatchStatus.ALLOCATOR_FAULT
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
            used, at = sizes[b.POOL_USED], sizes[b.PLAN_USED]
            for i in range(count):
                state.kept_lo[at + i] = state.pool_lo[used + i]
                state.kept_hi[at + i] = state.pool_hi[used + i]
            jobs[b.PLAN_FIRST, job], jobs[b.PLAN_COUNT, job] = at, count
            sizes[b.PLAN_USED] = at + count
            call_hook(state.hooks[HOLD_KEPT], (state, job, slot, slot + length, -1))
        elif keep:
            sizes[b.LAST] = profile_add(ns, free_then, first, sizes[b.LAST], slot, slot + length, -n)
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
    clock[b.WAKE] = wake
    if gained:
        # What those who moved have left may be of use to those who were tried before them, next time.
        clock[b.HULL] = moved
    else:
        clock[b.HULL] = hull
    return status
