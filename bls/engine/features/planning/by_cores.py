"""Where it matters which cores are free: the profile of cores over time, and the earliest slot in it."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.core_profile import hold_cores
from bls.engine.features.running.releases import list_left
from bls.engine.hooks import HOOK
from bls.engine.planned_time import planned_ns
from bls.engine.queue import waiting_from
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def hold_pool_cores(state: BatchState, job: int, begin: int, stop: int, sign: int) -> int:
    """Take (-1) the cores that a running job still holds from the profile for [begin, stop), or give them back (1)."""
    first, count = state.jobs.held_first[job], state.jobs.held_count[job]
    lo, hi = state.pool.lo[first : first + count], state.pool.hi[first : first + count]
    if state.settings.releases != b.NO_RELEASES:
        lo, hi, count = state.left.lo, state.left.hi, list_left(state, job)
    hold_cores(state, job, lo, hi, count, begin, stop, sign)
    return 0


@compiled(HOOK)
def hold_kept_cores(state: BatchState, job: int, begin: int, stop: int, sign: int) -> int:
    """The same for the cores that a job's kept reservation names."""
    first, count = state.jobs.plan_first[job], state.jobs.plan_count[job]
    lo, hi = state.kept.lo[first : first + count], state.kept.hi[first : first + count]
    stop += planned_ns(state, job) - state.jobs.estimate_ns[job]  # under a limit to power it may be planned for longer
    hold_cores(state, job, lo, hi, count, begin, stop, sign)
    return 0


@compiled(HOOK)
def hold_host_cores(state: BatchState, host: int, begin: int, stop: int, sign: int) -> int:
    """The same for all cores of a host."""
    lo, hi = state.host_first[host : host + 1], state.host_first[host + 1 : host + 2]
    hold_cores(state, -1, lo, hi, 1, begin, stop, sign)
    return 0


@compiled(inner=True)
def _planned_cores(state: BatchState) -> int:
    """The most cores that may be reserved in one pass."""
    settings = state.settings
    most = state.n_waiting
    if settings.max_reservations < most:
        most = min(most, settings.max_reservations * state.partitions.tier.size)
    cores = most * settings.widest
    if state.kept_used + cores <= state.kept.lo.size:
        return int(cores)
    cores, job = 0, waiting_from(state, 0)
    while job >= 0:
        cores += state.jobs.cores[job]
        job = waiting_from(state, state.jobs.rank[job] + 1)
    return int(min(cores, most * settings.widest))


@compiled(HOOK)
def room(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Before a pass: 0 if the arrays have room for whatever it may write, else a ``BatchStatus``."""
    settings = state.settings
    # A start or a reservation makes two slices at the most; so do an end and what happens to a host.
    steps = 2 * settings.power_stairs
    more = 2 * state.host_events.ns.size + 16 + steps
    if settings.plans == 1:
        more += 2 * (state.n_waiting + state.running.n)
    if settings.resizing != b.NO_RESIZE or settings.releases == b.BY_DRAIN:
        more += 2 * state.running.n
    profile = state.cores_profile
    if profile.n_slices + more > profile.ns.size:
        return BatchStatus.PROFILE_FULL
    # There are no more intervals than cores, and so many changes of amounts at the most: free cores may be taken, and those of
    # jobs that run longer than expected be held for longer.
    planned = _planned_cores(state) if settings.plans == 1 else 0
    more = state.host_of.size + planned
    if settings.releases != b.NO_RELEASES:
        more += state.host_of.size  # what is left of running jobs lies in more intervals
    if settings.resizing != b.NO_RESIZE or settings.releases == b.BY_DRAIN:
        more += 2 * state.host_of.size  # what running jobs hold is given back, and held anew
    amounts = settings.n_resources + settings.n_licences + state.domains.limit_mw.size
    more = 2 * (more + state.host_events.ns.size) * (1 + amounts) + steps
    if profile.n_changes + more > profile.lo.size:
        return BatchStatus.PROFILE_FULL
    if state.kept_used + planned > state.kept.lo.size:
        return BatchStatus.POOL_FULL
    return 0
