"""The profile: the number of cores that running jobs and kept reservations leave free over time."""

from bls.availability.count_profile import profile_add, profile_earliest, profile_move, profile_pack
from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.cores import Slices
from traces.compiled import compiled


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
