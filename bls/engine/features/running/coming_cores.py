"""Which cores may come to a running job, or are of use to a waiting one, where windows keep some, or jobs ask for amounts.

A core may be a job's if it is of its partition, and no window that is not its own is in force on it at any time from now until
the job is expected to end, or would be if it started now; a job of a reservation may have cores of that, until its end. One
that comes needs its amounts of what its host has, and so many must be free there. Licences are for the whole job.
"""

from __future__ import annotations

from bls.engine.features.running.reached import usable
from bls.engine.planned_time import planned_ns
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def tells_apart(state: BatchState, job: int) -> bool:
    """Whether a job may have some of the cores only."""
    return bool(state.partitions.masked[state.jobs.partition[job]] == 1 or state.windows.begin_ns.size > 0)


@compiled(inner=True)
def may_have(state: BatchState, job: int, core: int) -> bool:
    """Whether a core may be a job's from now until its end, as far as its partition and windows say."""
    jobs, windows, masks, now = state.jobs, state.windows, state.masks, state.now_ns
    if not usable(state, job, core):
        return False
    own, behind = jobs.window[job], state.partitions.tier.size
    until = now + planned_ns(state, job) if jobs.start_ns[job] < 0 else max(jobs.expected_end_ns[job], now + 1)
    for w in range(state.windows.begin_ns.size):
        covers = (masks[behind + w, core >> 5] >> (core & 31)) & 1 == 1
        if w == own:
            if not covers or windows.begin_ns[w] > now or windows.end_ns[w] < until:
                return False
        elif own < 0 and covers and windows.begin_ns[w] < until and windows.end_ns[w] > now:
            return False
    return True


@compiled(inner=True)
def free_now_for(state: BatchState, job: int) -> int:
    """How many free cores may be a job's."""
    if not tells_apart(state, job):
        return int(state.free_cores)
    n = 0
    for core in range(state.host_of.size):
        n += (state.free_words[core >> 5] >> (core & 31)) & 1 == 1 and may_have(state, job, core)
    return n


@compiled(inner=True)
def may_come(state: BatchState, job: int, core: int, first: int) -> bool:
    """Whether a core, which is free, may come to a running job, beside those that it was told of from ``first`` on.

    Its host must have what the job needs for it, too.
    """
    if not may_have(state, job, core):
        return False
    n, needs, host = state.settings.n_resources, state.needs, state.host_of[core]
    for r in range(n):
        if needs[r, job] == 0:
            continue
        left = state.totals[host * n + r] - needs[r, job]
        for other in range(state.host_first[host], state.host_first[host + 1]):
            holder = state.holder[other]  # of a job that has ended, too
            if holder >= 0 and state.jobs.state[holder] < 0:
                left -= needs[r, holder]
        for k in range(first, state.n_told):
            if state.host_of[state.told.core[k]] == host:
                left -= needs[r, job]
        if left < 0:
            return False
    return True
