"""Moldable jobs: the first job of the queue that has to wait starts with another number of cores than it asks for.

A moldable job has a least and a most number of cores. As the queue is walked, the first job is looked at that no limit keeps
back and that does not fit, or that is the only one that waits. If it does not fit, and what is free is at least its least,
it takes that, unless by its reservation, where jobs have one, it would end earlier with what it asks for. If it fits, it takes
what is free, up to its most. It is planned with the same work: its estimate and its walltime are so much longer, or
shorter. Once it runs its width stays as it is; another attempt asks for what the first did.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.reached import room_in_limits, scaled
from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.base.time import MAX_NS
from traces.compiled import compiled

__all__ = ["mold"]


@compiled(inner=True)
def _reserved_ns(state: BatchState, job: int) -> int:
    """When a job that does not fit now could start with what it asks for, by what is planned; ``NEVER`` if not in sight."""
    sizes = state.sizes
    for k in range(sizes[b.FIRST], sizes[b.LAST]):
        if state.profile_free[k] >= state.jobs[b.CORES, job]:
            # If only overdue jobs are in the way: they are expected to end at the next instant.
            return int(max(state.profile_ns[k], state.clock[b.NOW] + 1))
    return b.NEVER


@compiled(inner=True)
def _width(state: BatchState, job: int) -> int:
    """With how many cores a job that may have others should start now; what it asks for if that is all the same."""
    jobs, free = state.jobs, state.sizes[b.FREE_CORES]
    asked = jobs[b.CORES, job]
    least, most = jobs[b.MIN_CORES, jobs[b.ORIGIN, job]], jobs[b.MAX_CORES, jobs[b.ORIGIN, job]]
    if least == most:
        return int(asked)
    if asked <= free:
        if state.sizes[b.N_WAITING] > 1:
            return int(asked)
        return int(max(asked, min(most, free, room_in_limits(state, job))))
    if free < least:
        return int(asked)
    if state.settings[b.PLANS] == 1:
        begin, rest = _reserved_ns(state, job), jobs[b.ESTIMATE, job]
        if begin < b.NEVER and state.clock[b.NOW] + scaled(rest, asked, free, max(rest, MAX_NS)) > begin + rest:
            return int(asked)
    return int(free)


@compiled(HOOK)
def mold(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Give a job that waits, and no other before it, the width with which it starts in this pass; returns it."""
    jobs = state.jobs
    asked = jobs[b.CORES, job]
    width = _width(state, job)
    if width != asked:
        jobs[b.WAS_CORES, job] = asked
        for was, column in ((b.WAS_ESTIMATE, b.ESTIMATE), (b.WAS_WALLTIME, b.WALLTIME)):
            jobs[was, job] = jobs[column, job]
            jobs[column, job] = scaled(jobs[column, job], asked, width, max(jobs[column, job], MAX_NS))
        jobs[b.CORES, job] = width
    return width
