"""Drained hosts: no job starts on them (this is not known in advance), but running jobs continue.

Their cores on it count with the host and are not freed at the end of the job; if the host comes back before, the job holds
them again.
"""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import set_free, under_way
from bls.engine.profile import hold_pool, planned_until
from traces.compiled import compiled


@compiled(HOOK)
def move_cores(state: b.BatchState, host: int, now: int, _stop: int, sign: int) -> int:
    """Take the cores of a drained host from its running jobs (``sign`` -1), or give them back when it returns (1)."""
    jobs = state.jobs
    for k in range(state.running.n + state.n_started):  # includes jobs that have just started
        job = under_way(state, k)
        if jobs.start_ns[job] >= 0 and jobs.state[job] < 0:
            _move_of(state, job, host, now, sign)
    return 0


@compiled(inner=True)
def _move_of(state: b.BatchState, job: int, host: int, now: int, sign: int) -> None:
    settings, jobs, holder = state.settings, state.jobs, state.releases.holder
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
    state.releases.released_held[job] -= sign * cores
    hold_pool(state, job, now, until, -1)
    if settings.plans == 1 and until == now and jobs.overdue[job] == 1:
        state.overdue_cores += sign * cores
