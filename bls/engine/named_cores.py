"""Cores that a policy in Python names for a job: whether the job may have them, in the order in which that is asked.

An allocator is offered what a job may have; a policy that places jobs by itself is told afterwards what was wrong.
Nothing is planned ahead in such a run, so that what is free now stays so, but for windows.
"""

from __future__ import annotations

import numpy as np

from bls.availability.free_cores import free_all
from bls.engine import state as b
from bls.engine.job_lifecycle import cores_on_host
from bls.engine.job_starts import held_back
from bls.engine.planned_time import planned_ns
from bls.engine.state import BatchState
from traces.compiled import Array, compiled


@compiled(inner=True)
def refuse(state: BatchState, why: int, at: int, of: int) -> bool:
    """Note why the cores cannot be the job's."""
    state.refused, state.refused_at, state.refused_of = why, at, of
    return False


@compiled(inner=True)
def _first_core(words: Array, lo: Array, hi: Array, within: bool) -> int:
    """The first named core that is, or is not, among ``words``; -1 if there is none."""
    for k in range(lo.size):
        for core in range(lo[k], hi[k]):
            if (words[core >> 5] & (1 << (core & 31)) != 0) == within:
                return int(core)
    return -1


@compiled(inner=True)
def _cores_do(state: BatchState, job: int, lo: Array, hi: Array) -> bool:
    """Whether all cores are free, on hosts that are up, and of the job's partition, and no window keeps it off them."""
    for k in range(lo.size):
        if not free_all(state.free_words, lo[k], hi[k]):
            return refuse(state, b.TAKEN, _first_core(state.free_words, lo[k : k + 1], hi[k : k + 1], False), -1)
    jobs, windows, masks = state.jobs, state.windows, state.masks
    partition, own, n_partitions = jobs.partition[job], jobs.window[job], state.partitions.tier.size
    begin = state.now_ns
    stop = begin + planned_ns(state, job)
    if state.partitions.masked[partition] == 1:
        core = _first_core(masks[partition], lo, hi, False)
        if core >= 0:
            return refuse(state, b.OUTSIDE, core, -1)
    if own >= 0:
        if begin < windows.begin_ns[own] or stop > windows.end_ns[own]:
            return refuse(state, b.OUT_OF_WINDOW, own, -1)
        core = _first_core(masks[n_partitions + own], lo, hi, False)
        return core < 0 or refuse(state, b.OUT_OF_WINDOW, own, core)
    for w in range(state.windows.begin_ns.size):
        if windows.begin_ns[w] < stop and windows.end_ns[w] > begin:
            core = _first_core(masks[n_partitions + w], lo, hi, True)
            if core >= 0:
                return refuse(state, b.IN_WINDOW, w, core)
    return True


@compiled(inner=True)
def _usable(state: BatchState, job: int, host: int, cores: int) -> int:
    """How many of its cores on a host the job's units can use; -1, with the reason noted, if it cannot be there so."""
    amounts, needs, unit = state.cores_profile.now.amounts, state.needs, state.jobs.unit_cores[job]
    n_resources, whole = state.settings.n_resources, state.settings.whole_hosts == 1
    if whole and cores < state.host_first[host + 1] - state.host_first[host]:
        refuse(state, b.SHARED_HOST, host, cores)
        return -1
    if not whole and cores % unit != 0:
        refuse(state, b.BROKEN_UNIT, host, cores)
        return -1
    units = cores // unit
    for r in range(n_resources):
        if needs[r, job] > 0:
            room = max(amounts[host * n_resources + r], 0) // needs[r, job]
            if room < (1 if whole else units):
                refuse(state, b.NO_RESOURCE, host, r)
                return -1
            units = min(units, room)
    return int(units * unit)


@compiled(inner=True)
def _hosts_do(state: BatchState, job: int, lo: Array, hi: Array) -> bool:
    """Whether the hosts have what the job's units need, and no more of them are named than it needs."""
    n, total, least, spare = state.jobs.cores[job], 0, -1, -1
    k, core = 0, lo[0]
    while k < lo.size:
        host = state.host_of[core]
        cores, k, core = cores_on_host(state, lo, hi, lo.size, k, core)
        usable = _usable(state, job, host, cores)
        if usable < 0:
            return False
        total += usable
        if least < 0 or usable < least:
            least, spare = usable, host
    if total < n:
        return refuse(state, b.TOO_FEW, total, -1)
    if total - least >= n:
        return refuse(state, b.TOO_MANY, spare, -1)
    return True


@compiled(inner=True)
def _licences_do(state: BatchState, job: int) -> bool:
    """Whether there are licences enough."""
    needs, amounts = state.needs, state.cores_profile.now.amounts
    n_resources, n_licences = state.settings.n_resources, state.settings.n_licences
    for r in range(n_licences):
        if amounts[amounts.size - n_licences + r] < needs[n_resources + r, job]:
            return refuse(state, b.NO_LICENCE, r, -1)
    return True


@compiled(inner=True, makes_arrays=True)
def _switches_do(state: BatchState, job: int, lo: Array, hi: Array) -> bool:
    """Whether the cores are on no more leaf switches than the job accepts, or it has waited for that for long enough."""
    jobs, tree = state.jobs, state.placement
    limit, waited = jobs.switch_limit[job], state.now_ns - jobs.eligible_ns[job]
    if limit == 0 or waited >= state.settings.switch_wait_ns:
        return True
    named = np.zeros(state.host_first.size, np.uint8)  # hosts with cores that are named
    for k in range(lo.size):
        named[state.host_of[lo[k]] : state.host_of[hi[k] - 1] + 1] = 1
    leaves, switch = 0, 0
    while switch < tree.switch_level.size and tree.switch_level[switch] == 0:
        for place in range(tree.switch_lo[switch], tree.switch_hi[switch]):
            if named[tree.switch_hosts[place]] == 1:
                leaves += 1
                break
        switch += 1
    return leaves <= limit or refuse(state, b.SWITCHES, leaves, -1)


@compiled(inner=True)
def put_named(state: BatchState, job: int, first: int, stop: int) -> int:
    """Put the cores that are named for a waiting job at the end of the pool, if the job may have them.

    They are the intervals from ``first`` up to ``stop`` of ``chosen_lo, chosen_hi``, at least one, ascending and disjoint. The
    profile of cores, if there is one, is at the present instant. Returns the number of intervals, or -1; then
    ``state.refused`` has the reason.
    """
    lo, hi, used = state.chosen_lo[first:stop], state.chosen_hi[first:stop], state.pool_used
    if held_back(state, job):
        refuse(state, b.HELD_BACK, -1, -1)
        return -1
    if not (_cores_do(state, job, lo, hi) and _hosts_do(state, job, lo, hi)):
        return -1
    if not (_licences_do(state, job) and _switches_do(state, job, lo, hi)):
        return -1
    for k in range(stop - first):  # no more than there are free cores, for which the pool has room
        state.pool.lo[used + k], state.pool.hi[used + k] = lo[k], hi[k]
    return stop - first
