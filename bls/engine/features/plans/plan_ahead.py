"""A pass with reservations of any depth, kept or rebuilt, by counts or by cores.

Conservative backfilling has an unbounded depth. Reservations are entered into the profile of free cores; a job's slot is
the earliest instant at which it fits that profile.

Source: A. Mu'alem and D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates",
doi:10.1109/71.932708 (conservative, compression).
"""

from bls.engine import state as b
from bls.engine.features.draws.draws import planned_ns
from bls.engine.hooks import EARLIEST, HOLD_KEPT, HOOK, PLACEMENT, SLOT_NOW, WIDTH, call_hook, is_played
from bls.engine.job_lifecycle import held_back, next_in_order, start, suggest, waiting_from, why_now
from bls.engine.profile import count_cores, drop_slot, earliest_by_counts, hold_pool
from bls.engine.status import BatchStatus
from traces.algorithms.copying import copy_first
from traces.compiled import compiled


@compiled(inner=True)
def _drop_slots(state: b.BatchState) -> None:
    """Give up all reservations."""
    jobs = state.jobs
    job = waiting_from(state, 0)
    while job >= 0:
        if jobs.slot_ns[job] != b.NEVER:
            drop_slot(state, job)
        job = waiting_from(state, jobs.rank[job] + 1)
    state.kept_used = state.hull_ns = 0


@compiled(HOOK)
def drop_kept(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Give up the reservations that last from pass to pass."""
    if state.settings.keeps_reservations == 1:
        _drop_slots(state)
    return 0


@compiled(inner=True)
def _hold_overdue(state: b.BatchState, sign: int) -> None:
    """Take (-1) the cores of overdue jobs for the next ns, after which they are expected to end, or give them back (1)."""
    now = state.now_ns
    if state.settings.by_cores == 0:
        count_cores(state.profile, now, now + 1, sign * state.overdue_cores)
        return
    for k in range(state.running.n):
        job = state.running.key[k]
        if state.jobs.overdue[job] == 1:
            hold_pool(state, job, now, now + 1, sign)


@compiled(merged=True)
def _begin(state: b.BatchState, is_copied: bool) -> None:
    """Reset the blocked jobs of the previous pass, drop a plan that cannot be kept, and prepare the profile."""
    partitions = state.partitions
    now, lost = state.now_ns, state.lost == 1
    state.blocked_head = -1
    for p in range(partitions.tier.size):
        partitions.blocked[p] = partitions.waits[p] = 0
    if state.settings.keeps_reservations == 1:
        # If a slot has passed, for example while the scheduler was deciding, the plan is invalid.
        job = waiting_from(state, 0)
        while job >= 0 and not lost:
            lost = state.jobs.slot_ns[job] < now
            job = waiting_from(state, state.jobs.rank[job] + 1)
        if lost:
            _drop_slots(state)
    if state.overdue_cores > 0:
        _hold_overdue(state, -1)
    if is_copied:
        plan, profile = state.plan, state.profile
        plan.end = profile.end - profile.first
        copy_first(plan.ns, profile.ns[profile.first :], plan.end)
        copy_first(plan.free, profile.free[profile.first :], plan.end)


@compiled(merged=True)
def _earlier(state: b.BatchState, n: int, before: int) -> bool:
    """Whether n cores are free at some instant before ``before``: otherwise no slot of any length begins there.

    Does not hold for a profile of cores: a job that keeps its slot may have moved to other cores.
    """
    ns, free = state.profile.ns, state.profile.free
    for k in range(state.profile.first, state.profile.end):
        if ns[k] >= before:
            return False
        if free[k] >= n:
            return True
    return False


@compiled(merged=True)
def _slot(state: b.BatchState, job: int, before: int, is_copied: bool) -> int:
    """The earliest slot of a job before an instant, else ``NEVER``; it must also fit while its start is delayed."""
    now = state.now_ns
    if state.settings.by_cores == 0:
        slot = earliest_by_counts(state, state.jobs.cores[job], state.jobs.estimate_ns[job], before, is_copied)
    else:
        slot = call_hook(state.roles[EARLIEST], (state, job, now, before, 0))
        if slot == b.NEVER and now + 1 < before < b.ALWAYS:
            # The allocator now refuses its previous choice.
            slot = call_hook(state.roles[EARLIEST], (state, job, now, b.ALWAYS, 0))
    if slot == now and is_played(state, PLACEMENT):
        slot = call_hook(state.roles[SLOT_NOW], (state, job, now, before, 1 if is_copied else 0))
    return int(slot)


@compiled(merged=True)
def _start_as_reserved(state: b.BatchState, job: int) -> bool:
    """Start a job on its reserved cores; False if it cannot have them."""
    first, count, used = state.jobs.plan_first[job], state.jobs.plan_count[job], state.pool_used
    copy_first(state.pool.lo[used:], state.kept.lo[first:], count)
    copy_first(state.pool.hi[used:], state.kept.hi[first:], count)
    return start(state, job, count, b.BY_RESERVATION)


@compiled(merged=True)
def _start_now(state: b.BatchState, job: int, is_copied: bool) -> bool:
    """Start a job whose slot is now; False if it cannot have the allocator's cores."""
    jobs, now = state.jobs, state.now_ns
    placed = state.settings.by_cores == 1 or is_played(state, PLACEMENT)
    count = state.n_placed if placed else suggest(state, job)
    others_wait = state.partitions.waits[jobs.partition[job]] == 1
    if not start(state, job, count, why_now(state, job, others_wait)):
        return False
    if is_copied:
        count_cores(state.plan, now, jobs.expected_end_ns[job], -jobs.held_cores[job])
    return True


@compiled(merged=True)
def _reserve(state: b.BatchState, job: int, slot: int, is_copied: bool) -> None:
    jobs, stop = state.jobs, slot + state.jobs.estimate_ns[job]
    if is_copied:
        count_cores(state.plan, slot, stop, -jobs.cores[job])
        return
    if state.settings.by_cores == 1:
        count, used, at = state.n_placed, state.pool_used, state.kept_used
        copy_first(state.kept.lo[at:], state.pool.lo[used:], count)
        copy_first(state.kept.hi[at:], state.pool.hi[used:], count)
        jobs.plan_first[job], jobs.plan_count[job] = at, count
        state.kept_used = at + count
        call_hook(state.roles[HOLD_KEPT], (state, job, slot, stop, -1))
    else:
        count_cores(state.profile, slot, stop, -jobs.cores[job])
    jobs.slot_ns[job] = slot


@compiled(HOOK)
def plan(state: b.BatchState, _job: int, n_order: int, _stop: int, _sign: int) -> int:
    """A pass of any depth; ``begin``: the number of jobs in ``state.order``, if scores order them; a ``BatchStatus``."""
    settings, jobs, partitions = state.settings, state.jobs, state.partitions
    depth, by_cores = settings.max_reservations, settings.by_cores == 1
    now, keep, gained = state.now_ns, settings.keeps_reservations == 1, state.gained == 1
    # A plan rebuilt in every pass is a copy if it counts cores; otherwise its cores are given back at the end.
    is_copied = not keep and depth > 0 and not by_cores
    overdue = state.overdue_cores > 0
    _begin(state, is_copied)
    # The next kept slot triggers a pass. The cores of overdue jobs are always expected in the next ns: that must not trigger a
    # pass every ns.
    awake = now + 1 if overdue else now
    hull, moved, wake = state.hull_ns, 0, b.NEVER
    status, place, n_blocked, blocked = BatchStatus.RUNNING, -1, 0, False
    while True:
        place, job = next_in_order(state, place, n_order)
        if job < 0:
            break
        limited = held_back(state, job)
        if is_played(state, WIDTH) and not blocked and not limited:
            given_up = call_hook(state.roles[WIDTH], (state, job, 1 if is_copied else 0, 0, 0))
            hull, moved = max(hull, given_up), max(moved, given_up)
        length, p, kept = planned_ns(state, job), jobs.partition[job], jobs.slot_ns[job]
        stopped = partitions.blocked[p] >= max(depth, 1)  # no more reservations
        if limited:
            if kept != b.NEVER:
                hull = moved = max(hull, kept + length)
                drop_slot(state, job)
            partitions.waits[p] = 1
            continue
        if depth == 0 and stopped:
            continue
        if now < kept < b.NEVER and (
            not gained or (not by_cores and not _earlier(state, jobs.cores[job], min(kept, hull)))
        ):
            partitions.waits[p], blocked = 1, True
            wake = min(wake, kept if kept > awake else b.NEVER)
            continue
        if kept != b.NEVER:
            drop_slot(state, job)
            if by_cores and not gained:  # its time has come
                if not _start_as_reserved(state, job):
                    status = BatchStatus.ALLOCATOR_FAULT
                    break
                continue
        before = now + 1 if stopped or depth == 0 else b.ALWAYS
        if now <= kept < b.NEVER:
            before = kept + 1  # never later than promised
        slot = _slot(state, job, before, is_copied)
        if slot < kept < b.NEVER:
            hull, moved = max(hull, kept + length), max(moved, kept + length)
        if slot == now:
            if not _start_now(state, job, is_copied):
                status = BatchStatus.ALLOCATOR_FAULT
                break
            continue
        partitions.waits[p], blocked = 1, True
        if stopped:
            continue
        partitions.blocked[p] += 1
        if depth == 0:
            n_blocked += 1
            if n_blocked == partitions.tier.size:
                break
            continue
        jobs.reserved[job] = 1
        if slot != b.NEVER:
            _reserve(state, job, slot, is_copied)
            if keep:
                wake = min(wake, slot if slot > awake else b.NEVER)
    if by_cores and not keep and depth > 0:
        _drop_slots(state)
    if overdue:
        _hold_overdue(state, 1)
    state.wake_ns = wake
    # Jobs that were tried earlier in this pass may use the cores of moved reservations in the next pass.
    state.hull_ns = moved if gained else hull
    return status
