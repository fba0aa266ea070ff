"""Where some hosts sleep: a job is placed on hosts that are awake, if it can be, else on as few of the others as will do.

Those that boot already come before those that sleep; of either the lowest numbers come first. How many it takes is counted by
the cores that units of the job can use; where those will not do, as it asks for more than cores, it may have any.
"""

from __future__ import annotations

from bls.availability.bitset import bits_of, lowest_bit
from bls.availability.count_profile import profile_earliest
from bls.availability.free_cores import free_all, free_count
from bls.engine import state as b
from bls.engine.features.sleep import late_on
from bls.engine.hooks import EARLIEST, HOOK, call_hook
from bls.engine.job_starts import ask_allocator
from bls.engine.state import BatchState
from traces.compiled import Array, compiled

__all__ = ["place_awake", "slot_awake"]


@compiled(inner=True)
def _raise(state: BatchState, words: Array) -> None:
    """Have the upper levels of a set of cores say what its leaves do."""
    starts = state.free_starts
    for level in range(1, starts.size - 1):
        below = starts[level - 1]
        for word in range(starts[level], starts[level + 1]):
            words[word] = 0
        for child in range(starts[level] - below):
            if words[below + child] != 0:
                words[starts[level] + (child >> 5)] |= 1 << (child & 31)


@compiled(inner=True)
def _awake(state: BatchState, among: Array) -> int:
    """Offer the free cores ``among`` that are awake; returns how many there are. The upper levels are still to be made."""
    words, away, n = state.sleep.words, state.sleep.away, 0
    for word in range(state.free_starts[1]):
        words[word] = among[word] & ~away[word]
        n += bits_of(words[word])
    return n


@compiled(inner=True)
def _usable(state: BatchState, job: int, words: Array, host: int) -> int:
    """How many cores of a host, of those in ``words``, units of a job can use."""
    lo, hi = state.host_first[host], state.host_first[host + 1]
    if state.settings[b.WHOLE_HOSTS] == 1 and not free_all(words, lo, hi):
        return 0
    partition, n = state.jobs[b.PARTITION, job], 0
    if state.partitions[partition, b.MASKED] == 0:
        n = free_count(words, lo, hi)
    else:
        for core in range(lo, hi):
            n += (words[core >> 5] & state.masks[partition, core >> 5]) >> (core & 31) & 1
    unit = state.jobs[b.UNIT, job]
    return int(n - n % unit)


@compiled(inner=True)
def _add_hosts(state: BatchState, job: int, among: Array, lacking: int) -> None:
    """Offer the free cores ``among`` of as many hosts more as have what a job lacks; all of them, if that is never enough."""
    sleep, words = state.sleep, state.sleep.words
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
            if sleep.hosts.size > 0:
                sleep.hosts[host] = free_count(words, state.host_first[host], state.host_first[host + 1])
            core = state.host_first[host + 1]
            word = core >> 5


@compiled(inner=True)
def _hosts_awake(state: BatchState) -> None:
    """How many cores of each host are offered, where the allocator asks, while none but hosts that are awake are."""
    hosts = state.sleep.hosts
    for h in range(hosts.size):
        hosts[h] = free_count(state.sleep.words, state.host_first[h], state.host_first[h + 1])


@compiled(inner=True)
def _place_by_counts(state: BatchState, job: int) -> int:
    """Where any free cores will do: the allocator's choice, at the end of the pool; the number of intervals."""
    words, used = state.sleep.words, state.sizes[b.POOL_USED]
    lacking = state.jobs[b.CORES, job] - _awake(state, state.free_words)
    _hosts_awake(state)
    if lacking > 0:
        _add_hosts(state, job, state.free_words, lacking)
    _raise(state, words)
    return ask_allocator(state, job, 0, words, state.sleep.hosts, state.pool_lo[used:], state.pool_hi[used:])


@compiled(inner=True)
def _copy(source: Array, target: Array) -> None:
    """Copy one array into another of its size."""
    for k in range(source.size):
        target[k] = source[k]


@compiled(inner=True)
def _try_now(state: BatchState, job: int) -> bool:
    """Whether a job fits now on the cores that are offered; they are in the profile in place of those that are free."""
    sleep, profile, now = state.sleep, state.cores_profile, state.clock[b.NOW]
    _raise(state, sleep.words)
    _copy(sleep.words, profile.words)
    _copy(sleep.hosts, profile.hosts)
    return bool(call_hook(state.hooks[EARLIEST], (state, job, now, now + 1, 0)) == now)


@compiled(inner=True)
def _latest(state: BatchState) -> int:
    """How long it takes at the most until a host that sleeps or boots is up."""
    late = 0
    for host in range(state.sleep.host.shape[1]):
        late = max(late, late_on(state, host, state.clock[b.NOW]))
    return late


@compiled(inner=True)
def _place_by_cores(state: BatchState, job: int) -> int:
    """Where cores are told apart: the allocator's choice of those that the job may have now; 0 if none will do.

    On hosts that have to boot it has to fit for as much longer as the slowest of them takes.
    """
    sleep, profile, clock = state.sleep, state.cores_profile, state.clock
    _copy(profile.words, sleep.saved_words)
    _copy(profile.hosts, sleep.saved_hosts)
    _awake(state, sleep.saved_words)
    if sleep.hosts.size > 0:
        _hosts_awake(state)
    found = _try_now(state, job)
    if not found:
        clock[b.LATE] = _latest(state)
        lacking = state.jobs[b.CORES, job]
        for h in range(sleep.host.shape[1]):
            if sleep.host[b.SLEEP_STATE, h] == b.UP:
                lacking -= _usable(state, job, sleep.words, h)
        _add_hosts(state, job, sleep.saved_words, lacking)
        found = _try_now(state, job)
    _copy(sleep.saved_words, profile.words)
    _copy(sleep.saved_hosts, profile.hosts)
    if not found:
        found = call_hook(state.hooks[EARLIEST], (state, job, clock[b.NOW], clock[b.NOW] + 1, 0)) == clock[b.NOW]
    clock[b.LATE] = 0
    return int(state.sizes[b.PLACED]) if found else 0


@compiled(inner=True)
def _late(state: BatchState, count: int) -> int:
    """For how long a job waits for the hosts of ``count`` intervals at the end of the pool."""
    used, n_hosts, late = state.sizes[b.POOL_USED], state.host_first.size - 1, 0
    for k in range(used, used + count):
        host = state.host_of[state.pool_lo[k]]
        while host < n_hosts and state.host_first[host] < state.pool_hi[k]:
            late = max(late, late_on(state, host, state.clock[b.NOW]))
            host += 1
    return late


@compiled(HOOK)
def place_awake(state: BatchState, job: int, shadow: int, extra: int, _sign: int) -> int:
    """A job's cores for now, at the end of the pool; the number of intervals, 0 if none will do. ``BOOT_WAIT`` says how long
    it is to wait for their hosts.

    -1 if it would then run beyond the slot of the head, ``begin``, with more cores than are free beside it then, ``stop``.
    """
    jobs = state.jobs
    by_cores = state.settings[b.BY_CORES] == 1
    jobs[b.BOOT_WAIT, job] = 0
    count = _place_by_cores(state, job) if by_cores else _place_by_counts(state, job)
    late = _late(state, count)
    if late > 0 and state.clock[b.NOW] + jobs[b.ESTIMATE, job] + late > shadow and jobs[b.CORES, job] > extra:
        return -1
    jobs[b.BOOT_WAIT, job] = late
    return count


@compiled(HOOK)
def slot_awake(state: BatchState, job: int, now: int, before: int, is_copied: int) -> int:
    """The earliest slot, before an instant, of a job that would start now, ``begin``, were all hosts awake.

    It is now if it fits for as much longer as its hosts take to boot. Its cores are at the end of the pool, in ``PLACED``
    intervals.
    """
    jobs, sizes, clock = state.jobs, state.sizes, state.clock
    count = place_awake(state, job, b.NEVER, 0, 0)
    late = jobs[b.BOOT_WAIT, job]
    if state.settings[b.BY_CORES] == 1:
        slot = now
        if count == 0:
            clock[b.LATE] = _latest(state)
            slot = call_hook(state.hooks[EARLIEST], (state, job, now, before, 0))
            clock[b.LATE] = 0
        return int(slot)
    sizes[b.PLACED] = count
    if late == 0 or state.settings[b.PLANS] == 0:
        return now
    length = jobs[b.ESTIMATE, job] + late
    if is_copied == 1:
        slot = profile_earliest(
            state.plan_ns, state.plan_free, 0, sizes[b.PLAN_SLICES], jobs[b.CORES, job], length, before
        )
    else:
        first, last = sizes[b.FIRST], sizes[b.LAST]
        slot = profile_earliest(state.profile_ns, state.profile_free, first, last, jobs[b.CORES, job], length, before)
    if slot != now:
        jobs[b.BOOT_WAIT, job] = 0
    return int(slot)
