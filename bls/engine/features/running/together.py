"""Running jobs that are told several kinds of things after a pass: each job hears all of it at once.

In this order: cores that come and go, cores that others wait for, what a policy does to it, and the state that it is in under a
limit to power.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.running.state import Told
from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _once_each(state: BatchState, first: int) -> int:
    """Have each job once in ``reached``, in the order in which they were; of these told_count is 0, of others -1."""
    jobs, told, n = state.jobs, state.told, 0
    for k in range(first, state.n_told):
        jobs.told_count[told.job[k]] = -1
    for k in range(state.n_reached):
        job = state.reached[k]
        if jobs.told_count[job] < 0:
            jobs.told_count[job] = 0
            state.reached[n] = job
            n += 1
    state.n_reached = n
    return n


@compiled(inner=True)
def _copy(told: Told, source: int, target: int) -> None:
    for column in (told.job, told.at_ns, told.core, told.what, told.value, told.wanted):
        column[target] = column[source]


@compiled(inner=True)
def _gather(state: BatchState, first: int) -> None:
    """Put what was written down from ``first`` on in order, job by job as they are reached, then of those who are not."""
    jobs, told, stop = state.jobs, state.told, state.n_told
    reached, size = _once_each(state, first), stop - first
    for k in range(first, stop):
        job = told.job[k]
        if jobs.told_count[job] >= 0:
            jobs.told_count[job] += 1
        _copy(told, k, k + size)
    at = first
    for k in range(reached):
        job = state.reached[k]
        jobs.told_first[job] = at
        at += jobs.told_count[job]
        jobs.told_count[job] = 0
    for k in range(stop, stop + size):
        job, to = told.job[k], at
        if jobs.told_count[job] >= 0:
            to = jobs.told_first[job] + jobs.told_count[job]
            jobs.told_count[job] += 1
        else:
            at += 1
        _copy(told, k, to)
        if told.what[to] == b.GIVEN:
            state.given_at[told.core[to]] = to + 1
    for k in range(first, stop):
        jobs.told_count[told.job[k]] = max(jobs.told_count[told.job[k]], 0)


@compiled(HOOK)
def tell_together(state: BatchState, _job: int, _now: int, _stop: int, _sign: int) -> int:
    """After the others that find out what running jobs are told after a pass: put that in order, job by job."""
    _gather(state, state.first_told)
    return 0
