"""Where it matters which cores are free: the profile of cores over time, and the earliest slot in it."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.core_profile import hold_cores, move_profile
from bls.engine.hooks import HOOK
from bls.engine.placement_search import earliest_place
from bls.engine.planned_time import planned_ns
from bls.engine.queue import queue_next
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled

__all__ = ["earliest", "hold_host_cores", "hold_kept_cores", "hold_pool_cores", "move", "room"]


@compiled(HOOK)
def hold_pool_cores(state: BatchState, job: int, begin: int, stop: int, sign: int) -> int:
    """Take (-1) a running job's cores from the profile for [begin, stop), or give them back (1)."""
    first, count = state.jobs[b.HELD_FIRST, job], state.jobs[b.HELD_COUNT, job]
    lo, hi = state.pool_lo[first : first + count], state.pool_hi[first : first + count]
    hold_cores(state, state.cores_profile, job, lo, hi, count, begin, stop, sign)
    return 0


@compiled(HOOK)
def hold_kept_cores(state: BatchState, job: int, begin: int, stop: int, sign: int) -> int:
    """The same for the cores that a job's kept reservation names."""
    first, count = state.jobs[b.PLAN_FIRST, job], state.jobs[b.PLAN_COUNT, job]
    lo, hi = state.kept_lo[first : first + count], state.kept_hi[first : first + count]
    stop += planned_ns(state, job) - state.jobs[b.ESTIMATE, job]  # under a limit to power it may be planned for longer
    hold_cores(state, state.cores_profile, job, lo, hi, count, begin, stop, sign)
    return 0


@compiled(HOOK)
def hold_host_cores(state: BatchState, host: int, begin: int, stop: int, sign: int) -> int:
    """The same for all cores of a host."""
    lo, hi = state.host_first[host : host + 1], state.host_first[host + 1 : host + 2]
    hold_cores(state, state.cores_profile, -1, lo, hi, 1, begin, stop, sign)
    return 0


@compiled(HOOK)
def move(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Let time go on to ``begin``."""
    move_profile(state, state.cores_profile, now)
    return 0


@compiled(HOOK)
def earliest(state: BatchState, job: int, _begin: int, before: int, _sign: int) -> int:
    """The earliest slot of a job before an instant, ``stop``; its cores are at the end of the pool, ``PLACED`` intervals."""
    used = state.sizes[b.POOL_USED]
    lo, hi = state.pool_lo[used:], state.pool_hi[used:]
    slot, count = earliest_place(state, state.cores_profile, job, before, lo, hi)
    state.sizes[b.PLACED] = count
    return int(slot)


@compiled(inner=True)
def _planned_cores(state: BatchState) -> int:
    """The most cores that may be reserved in one pass."""
    settings, sizes = state.settings, state.sizes
    most = sizes[b.N_WAITING]
    if settings[b.DEPTH] < most:
        most = min(most, settings[b.DEPTH] * state.partitions.shape[0])
    cores = most * settings[b.WIDEST]
    if sizes[b.PLAN_USED] + cores <= state.kept_lo.size:
        return int(cores)
    cores = 0
    position = queue_next(state.queue_words, state.queue_starts, 0)
    while position >= 0:
        cores += state.jobs[b.CORES, state.by_rank[position]]
        position = queue_next(state.queue_words, state.queue_starts, position + 1)
    return int(min(cores, most * settings[b.WIDEST]))


@compiled(inner=True)
def _overrunning_cores(state: BatchState) -> int:
    """What jobs hold that run, and that until now were expected to have ended by now: the pass takes it for longer."""
    clock, sizes, jobs = state.clock, state.sizes, state.jobs
    if sizes[b.N_EXPECTED] == 0 or state.expected_ns[0] > clock[b.NOW]:
        return 0
    cores = 0
    for k in range(sizes[b.N_EXPECTED]):
        job = state.expected_job[k]
        late = state.expected_ns[k] <= clock[b.NOW] and jobs[b.EXPECTED, job] <= clock[b.NOW]
        if late and jobs[b.START, job] >= 0 and jobs[b.STATE, job] < 0:
            cores += jobs[b.HELD_CORES, job]
    return int(cores)


@compiled(HOOK)
def room(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether the arrays have room for whatever one pass may write, as a ``BatchStatus``."""
    settings, sizes = state.settings, state.sizes
    # A start or a reservation makes two slices at the most; so do an end and what happens to a host.
    steps = 2 * settings[b.POWER_STAIRS]
    more = 2 * state.host_ns.size + 16 + steps
    if settings[b.PLANS] == 1:
        more += 2 * (sizes[b.N_WAITING] + sizes[b.N_RUNNING])
    if settings[b.RESIZE] != b.NO_RESIZE or settings[b.RELEASES] == b.BY_DRAIN:
        more += 2 * sizes[b.N_RUNNING]
    profile = state.cores_profile
    if profile.used[b.SLICES] + more > profile.ns.size:
        return BatchStatus.PROFILE_FULL
    # There are no more intervals than cores, and so many changes of amounts at the most.
    planned = _planned_cores(state) if settings[b.PLANS] == 1 else 0
    more = sizes[b.FREE_CORES] + sizes[b.OVERDUE_CORES] + _overrunning_cores(state) + planned
    if settings[b.RELEASES] != b.NO_RELEASES:
        more += state.host_of.size  # what is left of running jobs lies in more intervals
    if settings[b.RESIZE] != b.NO_RESIZE or settings[b.RELEASES] == b.BY_DRAIN:
        more += 2 * state.host_of.size  # what running jobs hold is given back, and held anew
    more = 2 * more + 2 * state.host_ns.size
    amounts = settings[b.N_RESOURCES] + settings[b.N_LICENCES]
    if settings[b.POWERED] != b.UNPOWERED:
        amounts += 1 + state.domains.limit_mw.size
    more *= 1 + amounts
    more += steps
    if profile.used[b.CHANGES] + more > profile.lo.size:
        return BatchStatus.PROFILE_FULL
    if sizes[b.PLAN_USED] + planned > state.kept_lo.size:
        return BatchStatus.POOL_FULL
    return BatchStatus.RUNNING
