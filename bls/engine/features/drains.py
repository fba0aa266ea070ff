"""Hosts that are drained: jobs that run there go on, and no other starts.

A drained host is gone, as one that has failed is: for what starts and for what is planned. What a running job has of it is
counted with the host, and no longer as held by the job, which computes there all the same: it is not given back when the job
ends. If the host comes back before, the job holds it again.
"""

from __future__ import annotations

from bls.availability.free_cores import count_hosts, free_give, free_take
from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import count_cores, hold_pool, under_way
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["move_cores"]


@compiled(HOOK)
def move_cores(state: BatchState, host: int, now: int, _stop: int, sign: int) -> int:
    """Before a host is drained: its running jobs hold its cores no longer (``sign`` -1); when it is back, they do again (1)."""
    for k in range(state.n_running + state.n_started):  # the engine has not gone on yet since those have started
        _move_of(state, under_way(state, k), host, now, sign)
    return 0


@compiled(inner=True)
def _move_of(state: BatchState, job: int, host: int, now: int, sign: int) -> None:
    """What one job has of a host."""
    settings, jobs, holder = state.settings, state.jobs, state.holder
    if jobs.start_ns[job] < 0 or jobs.state[job] >= 0:
        return
    first, stop = jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]
    lo, hi = state.host_first[host], state.host_first[host + 1]
    before, after = (job, -1) if sign < 0 else (-1, job)
    cores = 0
    for k in range(first, stop):
        for core in range(max(lo, state.pool.lo[k]), min(hi, state.pool.hi[k])):
            cores += holder[core] == before
    if cores == 0:
        return
    thought = jobs.expected_end_ns[job]
    planned = settings.plans == 1 and thought > now
    by_cores = settings.by_cores == 1 and (planned or settings.plans == 0)
    until = thought if planned else b.NEVER
    if by_cores:
        hold_pool(state, job, now, until, 1)
    for k in range(first, stop):
        for core in range(max(lo, state.pool.lo[k]), min(hi, state.pool.hi[k])):
            if holder[core] != before:
                continue
            holder[core] = after
            if sign < 0:
                free_give(state.free_words, state.free_starts, core, core + 1)
            else:
                free_take(state.free_words, state.free_starts, core, core + 1)
            if settings.by_hosts == 1:
                count_hosts(state.host_of, state.host_first, state.host_free, core, core + 1, -sign)
    state.free_cores -= sign * cores
    jobs.held_cores[job] += sign * cores
    jobs.released_held[job] -= sign * cores
    if by_cores:
        hold_pool(state, job, now, until, -1)
    elif planned:
        count_cores(state, now, until, -sign * cores)
    elif settings.plans == 1 and jobs.overdue[job] == 1:
        state.overdue_cores += sign * cores
