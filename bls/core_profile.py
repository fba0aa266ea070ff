"""Which cores will be free when, and how much of everything else: the profile for plans in which cores differ.

It has the slices of ``bls.count_profile``, and for each of them the set of free cores, a bit a core, and the amounts of other
resources that are left on each host and of the machine's licences. A job fits from an instant on if its allocator places it
on the cores that are free in every slice that it touches, less those that are not for it: cores outside its partition, and
those of a window that it would meet and that is not its own.

Slices are not joined when they come to be equal: to compare them would cost more than to keep them until time has passed.
"""

from __future__ import annotations

from collections.abc import Callable

from bls import batch_state as b
from bls.batch_state import BatchState, CoreProfile
from traces.compiled import Array, compiled

__all__ = ["copy_profile", "hold_cores", "move_profile", "place_at", "split_slices"]


@compiled(inner=True)
def _bits(word: int) -> int:
    # How many of the lower 32 bits are set.
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) & 0xFFFFFFFF) >> 24


@compiled(inner=True)
def _mask(word: int, lo: int, hi: int) -> int:
    # The bits of word number ``word`` that are for cores of [lo, hi).
    begin = max(lo - 32 * word, 0)
    stop = min(hi - 32 * word, 32)
    return ((1 << (stop - begin)) - 1) << begin


@compiled(inner=True)
def _copy_slice(source: CoreProfile, k: int, target: CoreProfile, at: int) -> None:
    target.ns[at] = source.ns[k]
    target.free[at] = source.free[k]
    for word in range(source.words.shape[1]):
        target.words[at, word] = source.words[k, word]
    for a in range(source.amounts.shape[1]):
        target.amounts[at, a] = source.amounts[k, a]


@compiled(inner=True)
def split_slices(profile: CoreProfile, instant: int) -> int:
    """Let a slice begin at ``instant``, which is not before the first slice; returns its place."""
    ns = profile.ns
    lo, hi = 0, profile.used[0]
    while hi - lo > 1:
        middle = (lo + hi) >> 1
        if ns[middle] <= instant:
            lo = middle
        else:
            hi = middle
    if ns[lo] == instant:
        return lo
    for k in range(profile.used[0] - 1, lo - 1, -1):
        _copy_slice(profile, k, profile, k + 1)
    ns[lo + 1] = instant
    profile.used[0] += 1
    return lo + 1


@compiled(inner=True)
def move_profile(profile: CoreProfile, now: int) -> None:
    """Let time go on to ``now``."""
    ns = profile.ns
    passed, used = 0, profile.used[0]
    while passed + 1 < used and ns[passed + 1] <= now:
        passed += 1
    if passed > 0:
        for k in range(passed, used):
            _copy_slice(profile, k, profile, k - passed)
        profile.used[0] = used - passed
    ns[0] = now


@compiled(inner=True)
def copy_profile(source: CoreProfile, target: CoreProfile) -> None:
    """Make ``target`` equal to ``source``."""
    target.used[0] = source.used[0]
    for k in range(source.used[0]):
        _copy_slice(source, k, target, k)


@compiled(inner=True)
def hold_cores(
    state: BatchState,
    profile: CoreProfile,
    job: int,
    lo: Array,
    hi: Array,
    count: int,
    begin: int,
    stop: int,
    sign: int,
) -> None:
    """Take (``sign`` -1) a job's cores, and what it needs beside them, for [begin, stop), or give them back (``sign`` 1).

    ``lo, hi`` are the ``count`` intervals of its cores. A negative ``job`` needs nothing beside them.
    """
    if begin >= stop:
        return
    at = split_slices(profile, begin)
    until = profile.used[0]
    if stop != b.NEVER:
        until = split_slices(profile, stop)
    words, amounts = profile.words, profile.amounts
    n_resources, n_licences = state.counters[b.N_RESOURCES], state.counters[b.N_LICENCES]
    licences = amounts.shape[1] - n_licences
    for i in range(count):
        for word in range(lo[i] >> 5, ((hi[i] - 1) >> 5) + 1):
            bits = _mask(word, lo[i], hi[i])
            for k in range(at, until):
                if sign > 0:
                    words[k, word] |= bits
                else:
                    words[k, word] &= ~bits
        for k in range(at, until):
            profile.free[k] += sign * (hi[i] - lo[i])
    if job < 0 or n_resources + n_licences == 0:
        return
    needs, unit = state.needs, state.jobs[b.UNIT, job]
    for r in range(n_licences):
        for k in range(at, until):
            amounts[k, licences + r] += sign * needs[n_resources + r, job]
    if n_resources == 0:
        return
    # A unit is on one host, but may lie in several intervals: the cores are counted host by host.
    i = 0
    core = lo[0]
    while i < count:
        host = state.host_of[core]
        cores = 0
        while i < count and core < state.host_first[host + 1]:
            stop_core = min(hi[i], state.host_first[host + 1])
            cores += stop_core - core
            core = stop_core
            if core == hi[i]:
                i += 1
                if i < count:
                    core = lo[i]
        for r in range(n_resources):
            for k in range(at, until):
                amounts[k, host * n_resources + r] += sign * (cores // unit) * needs[r, job]


@compiled(inner=True)
def _offer(state: BatchState, profile: CoreProfile, job: int, at: int) -> bool:
    # What the job could have of each host from slice ``at`` on; False if that is not enough.
    jobs, windows, needs, masks = state.jobs, state.windows, state.needs, state.masks
    offered, amounts, hosts = state.offered_words, state.offered_amounts, state.offered_hosts
    ns, words, used = profile.ns, profile.words, profile.used[0]
    n, own, unit = jobs[b.CORES, job], jobs[b.WINDOW, job], jobs[b.UNIT, job]
    begin = ns[at]
    stop = begin + jobs[b.ESTIMATE, job]
    n_resources, n_licences = state.counters[b.N_RESOURCES], state.counters[b.N_LICENCES]
    n_partitions, n_words = state.partitions.shape[0], words.shape[1]
    if own >= 0 and (begin < windows[b.WINDOW_BEGIN, own] or stop > windows[b.WINDOW_END, own]):
        return False
    until = at + 1
    while until < used and ns[until] < stop:
        until += 1
    for k in range(at, until):
        if profile.free[k] < n:
            return False
    for word in range(n_words):
        cores = masks[jobs[b.PARTITION, job], word]
        if own >= 0:
            cores &= masks[n_partitions + own, word]
        for k in range(at, until):
            cores &= words[k, word]
        offered[word] = cores
    for a in range(amounts.size):
        least = profile.amounts[at, a]
        for k in range(at + 1, until):
            least = min(least, profile.amounts[k, a])
        amounts[a] = least
    # Windows do not keep off what runs there from the start.
    if own < 0 and (jobs[b.PRESET, job] == 0 or state.counters[b.PRESETS_LEFT] == 0):
        for w in range(state.counters[b.N_WINDOWS]):
            if windows[b.WINDOW_BEGIN, w] < stop and windows[b.WINDOW_END, w] > begin:
                for word in range(n_words):
                    offered[word] &= ~masks[n_partitions + w, word]
    for r in range(n_licences):
        if amounts[amounts.size - n_licences + r] < needs[n_resources + r, job]:
            return False
    # Host by host: how many units there is room for, and no more cores than for those.
    total = 0
    for host in range(state.host_first.size - 1):
        lo, hi = state.host_first[host], state.host_first[host + 1]
        cores = 0
        for word in range(lo >> 5, ((hi - 1) >> 5) + 1):
            cores += _bits(offered[word] & _mask(word, lo, hi))
        units = cores // unit
        room = units
        for r in range(n_resources):
            if needs[r, job] > 0:
                room = min(room, max(amounts[host * n_resources + r], 0) // needs[r, job])
        usable = room * unit if room < units else cores
        total += room * unit
        if state.counters[b.WHOLE_HOSTS] == 1:
            # All of the host or nothing; how many of its cores are of use is said by offered_hosts.
            if cores < hi - lo or room == 0:
                total -= room * unit
                usable = 0
                for word in range(lo >> 5, ((hi - 1) >> 5) + 1):
                    offered[word] &= ~_mask(word, lo, hi)
        else:
            # The highest cores that no unit has a use for are left out.
            extra = cores - usable
            core = hi - 1
            while extra > 0:
                if offered[core >> 5] & (1 << (core & 31)) != 0:
                    offered[core >> 5] &= ~(1 << (core & 31))
                    extra -= 1
                core -= 1
        hosts[host] = usable
    if total < n:
        return False
    # The upper levels of the tree: a bit for each word below that is not empty.
    starts = state.free_starts
    for level in range(1, starts.size - 1):
        for word in range(starts[level], starts[level + 1]):
            offered[word] = 0
        for below in range(starts[level - 1], starts[level]):
            if offered[below] != 0:
                place = below - starts[level - 1]
                offered[starts[level] + (place >> 5)] |= 1 << (place & 31)
    return True


@compiled(inner=True)
def place_at(
    state: BatchState,
    profile: CoreProfile,
    place: Callable[..., int],
    job: int,
    at: int,
    out_lo: Array,
    out_hi: Array,
) -> int:
    """Place a job from the beginning of slice ``at`` on, if it fits there: the number of intervals, or 0."""
    if not _offer(state, profile, job, at):
        return 0
    jobs, wanted_first = state.jobs, state.wanted_first
    limit = jobs[b.LIMIT, job]
    if limit > 0 and profile.ns[at] - jobs[b.ELIGIBLE, job] >= state.counters[b.SWITCH_WAIT]:
        limit = 0
    wanted, stop = wanted_first[jobs[b.ORIGIN, job]], wanted_first[jobs[b.ORIGIN, job] + 1]
    return place(
        jobs[b.NUMBER, job],
        jobs[b.CORES, job],
        jobs[b.UNIT, job],
        limit,
        state.offered_words,
        state.free_starts,
        state.host_first,
        state.offered_hosts,
        state.switch_lo,
        state.switch_hi,
        state.wanted_lo[wanted:stop],
        state.wanted_hi[wanted:stop],
        state.parameters,
        out_lo,
        out_hi,
    )
