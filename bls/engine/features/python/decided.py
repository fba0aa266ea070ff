"""Decisions of a policy in Python: jobs to start, with or without their cores; trial placements while it decides.

An allocator is offered only cores that the job may have. A policy may name any cores; it receives the reason if the job
cannot have them. These runs plan nothing ahead except windows. A trial (``bls.seen.trial``) places jobs in the same way on
copies of the columns of free cores and running jobs, and restores the columns of jobs.
"""

import numpy as np

from bls.availability.free_cores import free_all
from bls.engine import state as b
from bls.engine.features.draws.draws import MACHINE, cores_mw, fits_within, least_mw, planned_ns, room_mw
from bls.engine.hooks import CHOOSE_PARTS, HOOK, HOST_ROOM, MOVE_PROFILE, PARTS, call_hook, is_played
from bls.engine.job_lifecycle import cores_on_host, held_back, send_away, start, suggest_now, take_cores, waiting_from
from bls.engine.profile import hold_pool
from bls.engine.signatures import DECIDE
from bls.engine.status import BatchStatus
from traces.algorithms.copying import copy_first
from traces.compiled import Array, compiled, value_from

_decide = value_from(DECIDE)


@compiled(HOOK)
def decide_in_python(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Let the policy decide once before a pass; returns 0 or a ``BatchStatus``."""
    if state.n_chosen >= 0:
        return 0
    decide = _decide(state.functions[b.DECIDE_AT])
    return 0 if decide(now) == 0 else BatchStatus.DECIDE_FAILED


@compiled(inner=True)
def _powered(state: b.BatchState, job: int, count: int) -> int:
    """Return ``count``, the intervals at the end of the pool (0: not placed yet), or -1 if they would draw too much power."""
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    for domain in range(state.domains.limit_mw.size if count >= 0 else 0):
        room, more = room_mw(state, domain), least_mw(state, job)  # on any cores
        fits = domain != MACHINE or more <= room
        if count > 0:
            more = cores_mw(state, job, domain, lo, hi, count)
            fits = fits_within(state, job, domain, lo, hi, count, room)
        if not fits:
            state.choice.refused_where = domain
            refuse(state, b.NO_POWER, more, room)
            return -1
    return count


@compiled(inner=True)
def _put(state: b.BatchState, k: int, job: int, named: bool) -> int:
    """Put the named cores of the k-th chosen job, or the allocator's, at the end of the pool; returns the intervals."""
    if named:
        return _powered(state, job, put_named(state, job, state.choice.first[k], state.choice.first[k + 1]))
    if state.jobs.cores[job] > state.free_cores or held_back(state, job):
        return -1
    count = suggest_now(state, job)
    if count == 0 and state.settings.by_cores == 1:
        _powered(state, job, 0)
        count = -1
    return _powered(state, job, count)


@compiled(HOOK)
def start_chosen(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Reject and start the jobs that a Python policy has chosen, in its order; if ``may_not_fit`` says so, some may wait."""
    waits, before = state.choice.may_not_fit == 1, state.choice.did_not_fit
    for k in range(state.n_chosen):
        job = state.choice.rows[k]
        if job < 0:
            send_away(state, -1 - job, b.TURNED_AWAY)
            continue
        state.due_job = job
        named = state.choice.n_named > 0 and state.choice.first[k] < state.choice.first[k + 1]
        count = _put(state, k, job, named)
        if count < 0:
            if named or not waits:
                return BatchStatus.CHOICE_FAULT
            state.choice.refused = 0
            state.choice.did_not_fit += 1
            continue
        why = b.BY_HEAD if waiting_from(state, 0) == job else b.BY_BACKFILL
        if not start(state, job, count, why):
            return BatchStatus.ALLOCATOR_FAULT
    state.n_chosen = state.choice.n_named = 0
    if waits and state.decisions.passes.at_ns.size > 0:
        state.decisions.passes.unplaced[state.decisions.n_passes] = state.choice.did_not_fit - before
    return BatchStatus.RUNNING


@compiled(inner=True)
def refuse(state: b.BatchState, why: int, at: int, of: int) -> bool:
    """Record why the job cannot have the cores; returns False."""
    state.choice.refused, state.choice.refused_at, state.choice.refused_of = why, at, of
    return False


@compiled(inner=True)
def _first_core(words: Array, lo: Array, hi: Array, within: bool) -> int:
    """The first core of the intervals that is (or is not) in ``words``; -1 if there is none."""
    for k in range(lo.size):
        for core in range(lo[k], hi[k]):
            if (words[core >> 5] & (1 << (core & 31)) != 0) == within:
                return int(core)
    return -1


@compiled(inner=True)
def _cores_do(state: b.BatchState, job: int, lo: Array, hi: Array) -> bool:
    """Whether all cores are free and in the job's partition, and no window blocks them."""
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
def _usable(state: b.BatchState, job: int, host: int, cores: int) -> int:
    """The number of cores on a host that the job's units can use; -1, with the reason, if they are not allowed."""
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
    if is_played(state, PARTS):
        room = call_hook(state.roles[HOST_ROOM], (state, job, host, units, 0))
        if room < (1 if whole else units):
            refuse(state, b.NO_PARTS, host, room)
            return -1
        state.offered.hosts[host], units = room * unit, room  # as they are offered to allocators
    return int(units * unit)


@compiled(inner=True)
def _hosts_do(state: b.BatchState, job: int, lo: Array, hi: Array) -> bool:
    """Whether the hosts have the resources for the job's units, and the job needs all of these hosts."""
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
def _licences_do(state: b.BatchState, job: int) -> bool:
    needs, amounts = state.needs, state.cores_profile.now.amounts
    n_resources, n_licences = state.settings.n_resources, state.settings.n_licences
    for r in range(n_licences):
        if amounts[amounts.size - n_licences + r] < needs[n_resources + r, job]:
            return refuse(state, b.NO_LICENCE, r, -1)
    return True


@compiled(inner=True, makes_arrays=True)
def _switches_do(state: b.BatchState, job: int, lo: Array, hi: Array) -> bool:
    """Whether the cores are on few enough leaf switches, or the job has waited long enough for that."""
    jobs, tree, limits = state.jobs, state.placement, state.switch_limit
    limit = limits[jobs.origin[job]] if limits.size > 0 else 0
    waited = state.now_ns - jobs.eligible_ns[job]
    if limit == 0 or waited >= state.settings.switch_wait_ns:
        return True
    named = np.zeros(state.host_first.size, np.uint8)  # hosts with named cores
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
def put_named(state: b.BatchState, job: int, first: int, stop: int) -> int:
    """Put the named cores of a waiting job at the end of the pool, if the job may have them.

    They are the intervals ``first`` to ``stop`` of ``chosen_lo, chosen_hi``: at least one, ascending and disjoint. A profile
    of cores must be at the present instant. Returns the number of intervals, or -1 with the reason in ``state.choice.refused``.
    """
    lo, hi, used = state.choice.lo[first:stop], state.choice.hi[first:stop], state.pool_used
    if held_back(state, job):
        refuse(state, b.HELD_BACK, -1, -1)
        return -1
    if is_played(state, PARTS):
        copy_first(state.offered.amounts, state.cores_profile.now.amounts, state.offered.amounts.size)
    if not (_cores_do(state, job, lo, hi) and _hosts_do(state, job, lo, hi)):
        return -1
    if not (_licences_do(state, job) and _switches_do(state, job, lo, hi)):
        return -1
    for k in range(stop - first):  # the pool has room for all free cores
        state.pool.lo[used + k], state.pool.hi[used + k] = lo[k], hi[k]
    if is_played(state, PARTS):
        call_hook(state.roles[CHOOSE_PARTS], (state, job, 0, stop - first, 0))
    return stop - first


@compiled()
def begin_trial(state: b.BatchState) -> int:
    """Bring the copied profile to the present instant."""
    if state.settings.by_cores == 1:
        now = state.now_ns
        call_hook(state.roles[MOVE_PROFILE], (state, -1, now, now, 0))
    return 0


@compiled(inner=True)
def _take(state: b.BatchState, job: int, count: int) -> int:
    """Allocate the ``count`` intervals at the end of the pool on the copies; returns ``count``, 0 if they are not allowed."""
    jobs, settings = state.jobs, state.settings
    first, held, cores = jobs.held_first[job], jobs.held_count[job], jobs.held_cores[job]
    if take_cores(state, job, state.pool_used, count) < 0:
        return 0
    if settings.by_cores == 1:
        hold_pool(state, job, state.now_ns, b.NEVER, -1)
    jobs.held_first[job], jobs.held_count[job], jobs.held_cores[job] = first, held, cores
    return count


@compiled()
def try_allocator(state: b.BatchState, job: int) -> int:
    """Place a waiting job by the allocator; returns its intervals at the end of the pool, 0 if it does not fit."""
    if state.jobs.cores[job] > state.free_cores:
        return 0
    if held_back(state, job):
        return 0
    return _take(state, job, suggest_now(state, job))


@compiled()
def try_named(state: b.BatchState, job: int, count: int) -> int:
    """Place a waiting job on the first ``count`` intervals of ``chosen_lo, chosen_hi``; 0 if they are not allowed."""
    return _take(state, job, put_named(state, job, 0, count))
