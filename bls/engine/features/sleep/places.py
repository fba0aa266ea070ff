"""Placement with sleeping hosts: on awake hosts if possible, otherwise on as few other hosts as needed.

Booting hosts come before sleeping hosts, then lowest numbers first. The number of hosts follows from the cores that units of
the job can use. If these hosts do not suffice because the job requests more than cores, all hosts are offered.
"""

from bls.availability.free_cores import bits_of, free_all, free_count, lowest_bit
from bls.engine import state as b
from bls.engine.features.core_plan.placement_search import copy_cores, fill_levels
from bls.engine.features.sleep.hosts import late_on
from bls.engine.hooks import EARLIEST, HOOK, call_hook
from bls.engine.job_lifecycle import ask_allocator, suggest, suggest_fitting
from bls.engine.profile import earliest_by_counts
from traces.compiled import Array, compiled


@compiled(inner=True)
def _offer_awake(state: b.BatchState, among: Array) -> int:
    """Offer the awake cores in ``among``; returns their number. The caller fills the upper levels of the set."""
    words, hosts, away, n = state.sleep.offered.words, state.sleep.offered.hosts, state.sleep.away, 0
    for word in range(state.free_starts[1]):
        words[word] = among[word] & ~away[word]
        n += bits_of(words[word])
    for h in range(hosts.size):
        hosts[h] = free_count(words, state.host_first[h], state.host_first[h + 1])
    return n


@compiled(inner=True)
def _usable(state: b.BatchState, job: int, words: Array, host: int) -> int:
    """The number of cores of a host in ``words`` that units of a job can use."""
    lo, hi = state.host_first[host], state.host_first[host + 1]
    if state.settings.whole_hosts == 1 and not free_all(words, lo, hi):
        return 0
    partition, n = state.jobs.partition[job], 0
    if state.partitions.masked[partition] == 0:
        n = free_count(words, lo, hi)
    else:
        for core in range(lo, hi):
            n += (words[core >> 5] & state.masks[partition, core >> 5]) >> (core & 31) & 1
    return int(n - n % state.jobs.unit_cores[job])


@compiled(inner=True)
def _add_hosts(state: b.BatchState, job: int, among: Array, lacking: int) -> None:
    """Offer the cores in ``among`` of as many further hosts as a job needs; of all hosts, if these do not suffice."""
    sleep, words = state.sleep, state.sleep.offered.words
    for asleep in range(2):
        word, core = 0, 0
        while lacking > 0 and word < state.free_starts[1]:
            there = among[word] & (sleep.away[word] & ~sleep.booting[word] if asleep == 1 else sleep.booting[word])
            there &= ~((1 << max(core - (word << 5), 0)) - 1)
            if there == 0:
                word += 1
                continue
            host = state.host_of[(word << 5) + lowest_bit(there)]
            lacking -= _usable(state, job, among, host)
            for core in range(state.host_first[host], state.host_first[host + 1]):
                words[core >> 5] |= among[core >> 5] & (1 << (core & 31))
            if sleep.offered.hosts.size > 0:
                sleep.offered.hosts[host] = free_count(words, state.host_first[host], state.host_first[host + 1])
            core = state.host_first[host + 1]
            word = core >> 5


@compiled(inner=True)
def _place_by_counts(state: b.BatchState, job: int) -> int:
    """Let the allocator choose without telling cores apart; returns the intervals at the end of the pool."""
    offered, lacking = state.sleep.offered, state.jobs.cores[job] - _offer_awake(state, state.free_words)
    if lacking > 0:
        _add_hosts(state, job, state.free_words, lacking)
    fill_levels(offered.words, state.free_starts)
    return ask_allocator(state, job, 0, offered.words, offered.hosts)


@compiled(inner=True)
def _try_now(state: b.BatchState, job: int) -> bool:
    """Whether a job fits now on the offered cores, which replace the free cores of the profile."""
    sleep, now = state.sleep, state.now_ns
    fill_levels(sleep.offered.words, state.free_starts)
    copy_cores(state.cores_profile.now, sleep.offered)
    return bool(call_hook(state.roles[EARLIEST], (state, job, now, now + 1, 0)) == now)


@compiled(inner=True)
def _latest(state: b.BatchState) -> int:
    """The longest time until a sleeping or booting host is up."""
    late = 0
    for host in range(state.sleep.host.state.size):
        late = max(late, late_on(state, host, state.now_ns))
    return late


@compiled(inner=True)
def _place_by_cores(state: b.BatchState, job: int) -> int:
    """Let the allocator choose among cores (during the boot of the slowest host, too); returns the intervals, 0 if none fit."""
    sleep = state.sleep
    copy_cores(sleep.saved, state.cores_profile.now)
    _offer_awake(state, sleep.saved.words)
    found = _try_now(state, job)
    if not found:
        state.late_ns = _latest(state)
        lacking = state.jobs.cores[job]
        for h in range(sleep.host.state.size):
            if sleep.host.state[h] == b.UP:
                lacking -= _usable(state, job, sleep.offered.words, h)
        _add_hosts(state, job, sleep.saved.words, lacking)
        found = _try_now(state, job)
    copy_cores(state.cores_profile.now, sleep.saved)
    if not found:
        found = call_hook(state.roles[EARLIEST], (state, job, state.now_ns, state.now_ns + 1, 0)) == state.now_ns
    state.late_ns = 0
    return int(state.n_placed) if found else 0


@compiled(HOOK)
def place_awake(state: b.BatchState, job: int, shadow: int, extra: int, _sign: int) -> int:
    """Place a job now, at the end of the pool; sets its ``late_ns`` and returns the number of intervals, 0 if none fit.

    -1 if it would run beyond the head's slot ``begin`` with more than the extra cores ``stop``.
    """
    jobs, late = state.jobs, 0
    jobs.late_ns[job] = 0
    if state.sleep.n_away == 0:
        return suggest_fitting(state, job)
    count = _place_by_cores(state, job) if state.settings.by_cores == 1 else _place_by_counts(state, job)
    for k in range(state.pool_used, state.pool_used + count):
        for host in range(state.host_of[state.pool.lo[k]], state.host_of[state.pool.hi[k] - 1] + 1):
            late = max(late, late_on(state, host, state.now_ns))
    if late > 0 and state.now_ns + jobs.estimate_ns[job] + late > shadow and jobs.cores[job] > extra:
        return -1
    jobs.late_ns[job] = late
    return count


@compiled(HOOK)
def slot_awake(state: b.BatchState, job: int, now: int, before: int, is_copied: int) -> int:
    """The earliest slot before ``stop`` of a job that could start now (``begin``) if all hosts were awake."""
    jobs = state.jobs
    if state.sleep.n_away == 0:
        jobs.late_ns[job] = 0
        if state.settings.by_cores == 0:
            state.n_placed = suggest(state, job)
        return now
    count = place_awake(state, job, b.NEVER, 0, 0)
    late = jobs.late_ns[job]
    if state.settings.by_cores == 1:
        slot = now
        if count == 0:
            state.late_ns = _latest(state)
            slot = call_hook(state.roles[EARLIEST], (state, job, now, before, 0))
            state.late_ns = 0
        return int(slot)
    state.n_placed = count
    if late == 0 or state.settings.plans == 0:
        return now
    length = jobs.estimate_ns[job] + late
    slot = earliest_by_counts(state, jobs.cores[job], length, before, is_copied == 1)
    if slot != now:
        jobs.late_ns[job] = 0
    return int(slot)
