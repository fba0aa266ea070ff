"""Moldable jobs: the first job in the queue that no limit blocks may start with another number of cores than it requests.

If the job fits and no other job waits, it takes all free cores, up to its maximum. If it does not fit, it takes the free cores,
at least its minimum, unless its reservation lets it end earlier at the requested width. Estimate and walltime change for equal
work. With reservations of several jobs, it fits if it can start now without delaying those.
"""

from bls.engine import state as b
from bls.engine.cores import Slices
from bls.engine.features.draws.draws import core_mw, planned_ns, planned_with, scaled
from bls.engine.features.limits.limits import room_in_pass
from bls.engine.features.partition_limits.limits import room_in_limits
from bls.engine.hooks import HOOK
from bls.engine.profile import count_cores, drop_slot, earliest_by_counts
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(inner=True)
def _free(state: b.BatchState, job: int) -> int:
    free = state.free_cores
    if state.settings.powered == b.UNPOWERED:
        return int(free)
    left, each = room_in_pass(state), core_mw(state, job, 0)
    return int(min(free, max(0, left) // each)) if each > 0 else int(free if left >= 0 else 0)


@compiled(inner=True)
def _wider(state: b.BatchState, job: int, free: int) -> int:
    """Return the width of a job that fits now, if ``free`` cores are available to it."""
    jobs, asked = state.jobs, state.jobs.cores[job]
    if state.n_waiting > 1:
        return int(asked)
    return int(max(asked, min(state.widths.most[jobs.origin[job]], free, room_in_limits(state, job))))


@compiled(inner=True)
def _narrower(state: b.BatchState, job: int, free: int, begin: int) -> int:
    """Return the width of a job that is planned to start at ``begin``: ``free`` cores now, or the requested ones later."""
    jobs, asked, rest = state.jobs, state.jobs.cores[job], state.jobs.estimate_ns[job]
    if free < state.widths.least[jobs.origin[job]]:
        return int(asked)
    longer = planned_with(state, job, scaled(rest, asked, free, max(rest, MAX_NS)))
    return int(asked if begin < b.NEVER and state.now_ns + longer > begin + planned_ns(state, job) else free)


@compiled(HOOK)
def mold(state: b.BatchState, job: int, _begin: int, reserved: int, _sign: int) -> int:
    """Set the width of the first waiting job; ``stop`` is its reservation with the requested width, if any. Returns 0."""
    asked, free, origin = state.jobs.cores[job], _free(state, job), state.jobs.origin[job]
    if state.widths.least[origin] == state.widths.most[origin]:
        return 0
    begin = reserved if state.settings.plans == 1 else b.NEVER
    width = _wider(state, job, free) if asked <= free else _narrower(state, job, free, begin)
    if width != asked:
        _change(state, job, width)
    return 0


@compiled(inner=True)
def _change(state: b.BatchState, job: int, width: int) -> None:
    """Change the width of a job, and its estimate and walltime accordingly."""
    jobs, widths, asked = state.jobs, state.widths, state.jobs.cores[job]
    widths.was_cores[job] = asked
    for was, now in ((widths.was_estimate_ns, jobs.estimate_ns), (widths.was_walltime_ns, jobs.walltime_ns)):
        was[job] = now[job]
        now[job] = scaled(now[job], asked, width, max(now[job], MAX_NS))
    jobs.cores[job] = width


@compiled(inner=True)
def _widest_now(slices: Slices, now: int, asked: int, length: int) -> int:
    """The largest width below ``asked`` that is free from now until the job would end; may be 0."""
    width, first = asked - 1, slices.first
    for k in range(first, slices.end):
        if width <= 0 or (k > first and slices.ns[k] >= now + scaled(length, asked, width, max(length, MAX_NS))):
            break
        width = min(width, slices.free[k])
    return int(max(0, width))


@compiled(HOOK)
def mold_with_plans(state: b.BatchState, job: int, is_copied: int, _stop: int, _sign: int) -> int:
    """The same as :func:`mold` with several reservations; returns the end of the reservation that the job gives up, or 0."""
    jobs, now = state.jobs, state.now_ns
    asked, length, kept, origin = jobs.cores[job], jobs.estimate_ns[job], jobs.slot_ns[job], jobs.origin[job]
    if state.widths.least[origin] == state.widths.most[origin]:
        return 0
    slot = kept
    if kept != b.NEVER:
        drop_slot(state, job)
    if kept == b.NEVER or state.gained == 1:
        before = b.ALWAYS if kept == b.NEVER else kept + 1
        slot = earliest_by_counts(state, asked, length, before, is_copied == 1)
    if slot == now:
        width = _wider(state, job, state.free_cores)
    else:
        free = _widest_now(state.plan if is_copied == 1 else state.profile, now, asked, length)
        width = _narrower(state, job, free, slot)
    if width != asked:
        _change(state, job, width)
        return int(kept + length if kept != b.NEVER else 0)
    if kept != b.NEVER:
        count_cores(state.profile, max(kept, now), kept + length, -asked)
        jobs.slot_ns[job] = kept
    return 0
