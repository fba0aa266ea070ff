"""Hosts that are drained: jobs that run there go on, and no other starts.

A drained host is gone, as one that has failed is: for what starts and for what is planned. What a running job has of it is
counted with the host, and no longer as held by the job, which computes there all the same: it is not given back when the job
ends. If the host comes back before, the job holds it again.
"""

from __future__ import annotations

from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import hold_pool, planned_until, set_free, under_way
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(HOOK)
def move_cores(state: BatchState, host: int, now: int, _stop: int, sign: int) -> int:
    """Before a host is drained: its running jobs hold its cores no longer (``sign`` -1); when it is back, they do again (1)."""
    jobs = state.jobs
    for k in range(state.running.n + state.n_started):  # the engine has not gone on yet since those have started
        job = under_way(state, k)
        if jobs.start_ns[job] >= 0 and jobs.state[job] < 0:
            _move_of(state, job, host, now, sign)
    return 0


@compiled(inner=True)
def _move_of(state: BatchState, job: int, host: int, now: int, sign: int) -> None:
    """What one job has of a host."""
    settings, jobs, holder = state.settings, state.jobs, state.holder
    first, stop = jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]
    lo, hi = state.host_first[host], state.host_first[host + 1]
    before, after = (job, -1) if sign < 0 else (-1, job)
    cores = 0
    for k in range(first, stop):
        for core in range(max(lo, state.pool.lo[k]), min(hi, state.pool.hi[k])):
            cores += holder[core] == before
    if cores == 0:
        return
    until = planned_until(state, job, now)
    hold_pool(state, job, now, until, 1)
    for k in range(first, stop):
        for core in range(max(lo, state.pool.lo[k]), min(hi, state.pool.hi[k])):
            if holder[core] != before:
                continue
            holder[core] = after
            set_free(state, core, core + 1, -sign)
    state.free_cores -= sign * cores
    jobs.held_cores[job] += sign * cores
    jobs.released_held[job] -= sign * cores
    hold_pool(state, job, now, until, -1)
    if settings.plans == 1 and until == now and jobs.overdue[job] == 1:
        state.overdue_cores += sign * cores
