"""Running jobs that are told several kinds of things after a pass: each job hears all of it at once.

In this order: cores that come and go, cores that others wait for, what a policy does to it, and the state that it is in under a
limit to power.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK, call_hook
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["tell_together"]


@compiled(inner=True)
def _once_each(state: BatchState, first: int) -> int:
    """Have each job once in ``reached``, in the order in which they were; of these TOLD_COUNT is 0, of others -1."""
    jobs, told, sizes, n = state.jobs, state.told, state.sizes, 0
    for k in range(first, sizes[b.N_TOLD]):
        jobs[b.TOLD_COUNT, told[b.TOLD_JOB, k]] = -1
    for k in range(sizes[b.N_REACHED]):
        job = state.reached[k]
        if jobs[b.TOLD_COUNT, job] < 0:
            jobs[b.TOLD_COUNT, job] = 0
            state.reached[n] = job
            n += 1
    sizes[b.N_REACHED] = n
    return n


@compiled(inner=True)
def _gather(state: BatchState, first: int) -> None:
    """Put what was written down from ``first`` on in order, job by job as they are reached, then of those who are not."""
    jobs, told, stop = state.jobs, state.told, state.sizes[b.N_TOLD]
    reached, size = _once_each(state, first), stop - first
    for k in range(first, stop):
        job = told[b.TOLD_JOB, k]
        if jobs[b.TOLD_COUNT, job] >= 0:
            jobs[b.TOLD_COUNT, job] += 1
        for row in range(b.TOLD_ROWS):
            told[row, k + size] = told[row, k]
    at = first
    for k in range(reached):
        job = state.reached[k]
        jobs[b.TOLD_FIRST, job] = at
        at += jobs[b.TOLD_COUNT, job]
        jobs[b.TOLD_COUNT, job] = 0
    for k in range(stop, stop + size):
        job, to = told[b.TOLD_JOB, k], at
        if jobs[b.TOLD_COUNT, job] >= 0:
            to = jobs[b.TOLD_FIRST, job] + jobs[b.TOLD_COUNT, job]
            jobs[b.TOLD_COUNT, job] += 1
        else:
            at += 1
        for row in range(b.TOLD_ROWS):
            told[row, to] = told[row, k]
        if told[b.TOLD_WHAT, to] == b.GIVEN:
            state.given_at[told[b.TOLD_CORE, to]] = to + 1
    for k in range(first, stop):
        jobs[b.TOLD_COUNT, told[b.TOLD_JOB, k]] = max(jobs[b.TOLD_COUNT, told[b.TOLD_JOB, k]], 0)


@compiled(HOOK)
def tell_together(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """After a pass: who is to be told something is in ``state.reached``; returns 0, or a status."""
    first = state.sizes[b.N_TOLD]
    for part in range(b.AFTER_WIDTHS, b.AFTER_LEVELS + 1):
        slot = state.settings[part]
        if slot != 0:
            status = call_hook(state.hooks[slot], (state, -1, now, 0, 0))
            if status != 0:
                return int(status)
    _gather(state, first)
    return 0
