"""Where some hosts sleep: a job is placed on hosts that are awake, if it can be, else on as few of the others as will do.

Those that boot already come before those that sleep; of either the lowest numbers come first. How many it takes is counted by
the cores that units of the job can use; where those will not do, as it asks for more than cores, it may have any.
"""

from bls.availability.free_cores import bits_of, free_all, free_count, lowest_bit
from bls.engine import state as b
from bls.engine.features.planning.placement_search import copy_cores, fill_levels
from bls.engine.features.sleep.hosts import late_on
from bls.engine.hooks import EARLIEST, HOOK, call_hook
from bls.engine.job_lifecycle import ask_allocator
from bls.engine.profile import earliest_by_counts
from bls.engine.state import BatchState
from traces.compiled import Array, compiled


@compiled(inner=True)
def _offer_awake(state: BatchState, among: Array) -> int:
    """Offer the free cores ``among`` that are awake; returns how many there are. The upper levels are still to be made."""
    words, hosts, away, n = state.sleep.offered.words, state.sleep.offered.hosts, state.sleep.away, 0
    for word in range(state.free_starts[1]):
        words[word] = among[word] & ~away[word]
        n += bits_of(words[word])
    for h in range(hosts.size):
        hosts[h] = free_count(words, state.host_first[h], state.host_first[h + 1])
    return n


@compiled(inner=True)
def _usable(state: BatchState, job: int, words: Array, host: int) -> int:
    """How many cores of a host, of those in ``words``, units of a job can use."""
    lo, hi = state.host_first[host], state.host_first[host + 1]
    if state.settings.whole_hosts == 1 and not free_all(words, lo, hi):
        return 0
    partition, n = state.jobs.partition[job], 0
    if state.partitions.masked[partition] == 0:
        n = free_count(words, lo, hi)
    else:
        for core in range(lo, hi):
            n += (words[core >> 5] & state.masks[partition, core >> 5]) >> (core & 31) & 1
    unit = state.jobs.unit_cores[job]
    return int(n - n % unit)


@compiled(inner=True)
def _add_hosts(state: BatchState, job: int, among: Array, lacking: int) -> None:
    """Offer the free cores ``among`` of as many hosts more as have what a job lacks; all of them, if that is never enough."""
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
def _place_by_counts(state: BatchState, job: int) -> int:
    """Where any free cores will do: the allocator's choice, at the end of the pool; the number of intervals."""
    offered, lacking = state.sleep.offered, state.jobs.cores[job] - _offer_awake(state, state.free_words)
    if lacking > 0:
        _add_hosts(state, job, state.free_words, lacking)
    fill_levels(offered.words, state.free_starts)
    return ask_allocator(state, job, 0, offered.words, offered.hosts)


@compiled(inner=True)
def _try_now(state: BatchState, job: int) -> bool:
    """Whether a job fits now on the cores that are offered; they are in the profile in place of those that are free."""
    sleep, now = state.sleep, state.now_ns
    fill_levels(sleep.offered.words, state.free_starts)
    copy_cores(state.cores_profile.now, sleep.offered)
    return bool(call_hook(state.roles[EARLIEST], (state, job, now, now + 1, 0)) == now)


@compiled(inner=True)
def _latest(state: BatchState) -> int:
    """How long it takes at the most until a host that sleeps or boots is up."""
    late = 0
    for host in range(state.sleep.host.state.size):
        late = max(late, late_on(state, host, state.now_ns))
    return late


@compiled(inner=True)
def _place_by_cores(state: BatchState, job: int) -> int:
    """Where cores are told apart: the allocator's choice of those that the job may have now; 0 if none will do.

    On hosts that have to boot it has to fit for as much longer as the slowest of them takes.
    """
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
def place_awake(state: BatchState, job: int, shadow: int, extra: int, _sign: int) -> int:
    """A job's cores for now, at the end of the pool; the number of intervals, 0 if none will do. ``boot_wait_ns`` says how long
    it is to wait for their hosts.

    -1 if it would then run beyond the slot of the head, ``begin``, with more cores than are free beside it then, ``stop``.
    """
    jobs, late = state.jobs, 0
    jobs.boot_wait_ns[job] = 0
    count = _place_by_cores(state, job) if state.settings.by_cores == 1 else _place_by_counts(state, job)
    for k in range(state.pool_used, state.pool_used + count):
        for host in range(state.host_of[state.pool.lo[k]], state.host_of[state.pool.hi[k] - 1] + 1):
            late = max(late, late_on(state, host, state.now_ns))
    if late > 0 and state.now_ns + jobs.estimate_ns[job] + late > shadow and jobs.cores[job] > extra:
        return -1
    jobs.boot_wait_ns[job] = late
    return count


@compiled(HOOK)
def slot_awake(state: BatchState, job: int, now: int, before: int, is_copied: int) -> int:
    """The earliest slot, before an instant, of a job that would start now, ``begin``, were all hosts awake.

    It is now if it fits for as much longer as its hosts take to boot. Its cores are at the end of the pool, in ``n_placed``
    intervals.
    """
    jobs = state.jobs
    count = place_awake(state, job, b.NEVER, 0, 0)
    late = jobs.boot_wait_ns[job]
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
        jobs.boot_wait_ns[job] = 0
    return int(slot)
