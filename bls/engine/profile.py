"""The queue, and the profile: the number of cores that running jobs and kept reservations leave free over time.

A job's rank is its unique place in the policy's total order, so the queue is a set of ranks (a tree of
``bls.availability.free_cores``) and needs no comparisons. Adding, removing and finding the next rank cost one step per level,
with a level per factor of 32 (four for a million jobs). A heap would give the head as quickly, but not the following jobs in
order.
"""

from bls.availability.count_profile import profile_add, profile_earliest, profile_move, profile_pack
from bls.availability.free_cores import next_number
from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.cores import Slices
from traces.compiled import compiled


@compiled(merged=True)
def waiting_from(state: b.BatchState, rank: int) -> int:
    """Return the waiting job of the lowest rank from ``rank`` on, or -1."""
    found = next_number(state.queue_words, state.queue_starts, rank)
    return int(state.by_rank[found]) if found >= 0 else -1


@compiled(merged=True)
def next_in_order(state: b.BatchState, place: int, n_order: int) -> tuple[int, int]:
    """Return the next place in the order of ranks, or of ``state.order``, and its job; -1 after the last."""
    if state.settings.order == b.STATIC:
        rank = next_number(state.queue_words, state.queue_starts, place + 1)
        return rank, int(state.by_rank[rank]) if rank >= 0 else -1
    return place + 1, int(state.order[place + 1]) if place + 1 < n_order else -1


@compiled(merged=True)
def move_on(state: b.BatchState) -> None:
    """Bring the profile to the present instant."""
    now = state.now_ns
    if h.is_played(state, h.MOVE_PROFILE):
        h.call_hook(state.roles[h.MOVE_PROFILE], (state, -1, now, now, 0))
    else:
        profile = state.profile
        profile.first = profile_move(profile.ns, profile.first, profile.end, now)
        if profile.first > 0 and profile.end > profile.ns.size // 2:
            profile.end = profile_pack(profile.ns, profile.free, profile.first, profile.end)
            profile.first = 0


@compiled(merged=True)
def count_cores(profile: Slices, begin: int, stop: int, cores: int) -> None:
    """Add ``cores`` (which may be negative) to the free cores in [begin, stop)."""
    profile.end = profile_add(profile.ns, profile.free, profile.first, profile.end, begin, stop, cores)


@compiled(merged=True)
def earliest_by_counts(state: b.BatchState, n: int, length: int, before: int, is_copied: bool) -> int:
    """The earliest slot for n cores before an instant, in the profile or in its copy; ``NEVER`` if there is none."""
    slices = state.plan if is_copied else state.profile
    return int(profile_earliest(slices.ns, slices.free, slices.first, slices.end, n, length, before))


@compiled(merged=True)
def hold_pool(state: b.BatchState, job: int, begin: int, stop: int, sign: int) -> None:
    """Take (-1) a running job's cores from the profile for [begin, stop), or give them back (1)."""
    if h.is_played(state, h.HOLD_POOL):
        h.call_hook(state.roles[h.HOLD_POOL], (state, job, begin, stop, sign))
    else:
        count_cores(state.profile, begin, stop, sign * state.jobs.held_cores[job])


@compiled(inner=True)
def hold_host(state: b.BatchState, host: int, begin: int, stop: int, sign: int) -> None:
    """Take (-1) a host's cores from the profile for [begin, stop), or give them back (1)."""
    if h.is_played(state, h.HOLD_HOST):
        h.call_hook(state.roles[h.HOLD_HOST], (state, host, begin, stop, sign))
    else:
        count_cores(state.profile, begin, stop, sign * (state.host_first[host + 1] - state.host_first[host]))


@compiled(inner=True)
def hold_until(state: b.BatchState, job: int, end: int) -> None:
    """Change the expected end of a running job."""
    if state.settings.plans == 1:
        hold_pool(state, job, state.now_ns, state.jobs.expected_end_ns[job], 1)
        hold_pool(state, job, state.now_ns, end, -1)
    state.jobs.expected_end_ns[job] = end


@compiled(merged=True)
def planned_until(state: b.BatchState, job: int, now: int) -> int:
    """The instant until which the profile holds the cores of a running job; ``now`` if it does not."""
    if state.settings.plans == 1:
        return int(max(now, state.jobs.expected_end_ns[job]))
    return b.NEVER if state.settings.profiled == 1 else now


@compiled(inner=True)
def drop_slot(state: b.BatchState, job: int) -> None:
    """Give back the cores of a kept reservation."""
    jobs, slot = state.jobs, state.jobs.slot_ns[job]
    begin, stop = max(slot, state.now_ns), slot + jobs.estimate_ns[job]
    if h.is_played(state, h.HOLD_KEPT):
        h.call_hook(state.roles[h.HOLD_KEPT], (state, job, begin, stop, 1))
    else:
        count_cores(state.profile, begin, stop, jobs.cores[job])
    jobs.slot_ns[job] = b.NEVER


@compiled(inner=True)
def drop_slots(state: b.BatchState) -> None:
    """Give up all kept reservations."""
    jobs = state.jobs
    job = waiting_from(state, 0)
    while job >= 0:
        if jobs.slot_ns[job] != b.NEVER:
            drop_slot(state, job)
        job = waiting_from(state, jobs.rank[job] + 1)
    state.kept_used = state.hull_ns = 0


@compiled(inner=True)
def drop_plan(state: b.BatchState) -> None:
    """Give up the kept reservations, if any: their cores may be taken now."""
    if state.settings.keeps_reservations == 1:
        drop_slots(state)
