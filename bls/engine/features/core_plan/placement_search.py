"""The earliest slot of a job in the profile of cores, and the cores that its allocator is offered.

The allocator is offered the cores that are free during the whole slot, without cores outside the job's partition and cores of
other windows that overlap the slot. It is asked about the present instant and about each slice at which resources are given
back or a window begins or ends: cores become free at no other instant.
"""

from bls.availability.free_cores import free_count, free_take
from bls.engine import state as b
from bls.engine.cores import CoreProfile, Offer
from bls.engine.features.core_plan.core_profile import AMOUNT, apply_changes
from bls.engine.features.draws.draws import MACHINE, cores_mw, least_mw, planned_ns
from bls.engine.hooks import CHOOSE_PARTS, HOOK, HOST_ROOM, OFFER, PLACE_UNITS, call_hook, is_played
from bls.engine.job_lifecycle import ask_allocator
from traces.algorithms.copying import copy_first
from traces.compiled import Array, compiled


@compiled(inner=True)
def fill_levels(words: Array, starts: Array) -> None:
    """Compute the upper levels of a tree from its leaves: a bit for each non-empty word below."""
    for level in range(1, starts.size - 1):
        for word in range(starts[level], starts[level + 1]):
            first = starts[level - 1] + ((word - starts[level]) << 5)
            bits = 0
            for below in range(first, min(first + 32, starts[level])):
                if words[below] != 0:
                    bits |= 1 << (below - first)
            words[word] = bits


@compiled(inner=True)
def _takes(profile: CoreProfile, k: int, until: int, takes: bool) -> bool:
    """Whether anything is taken when one of the slices k … until - 1 begins; or else, whether anything is given back, or a
    window begins or ends."""
    for at in range(k, until):
        change = profile.first[at]
        while change >= 0:
            if (profile.amount[change] < 0) == takes:
                return True
            change = profile.after[change]
    return False


@compiled(inner=True)
def _meets(state: b.BatchState, job: int, begin: int, stop: int, window: int) -> bool:
    """Whether a window blocks its cores for a job; its own window does not, nor any for jobs that run from the start."""
    if state.jobs.window[job] >= 0:
        return False
    if state.jobs.preset[job] == 1 and state.presets_left > 0:
        return False
    return bool(state.windows.begin_ns[window] < stop and state.windows.end_ns[window] > begin)


@compiled(inner=True)
def copy_cores(target: Offer, source: Offer) -> None:
    """Copy the cores of an offer."""
    copy_first(target.words, source.words, source.words.size)
    copy_first(target.hosts, source.hosts, source.hosts.size)


@compiled(inner=True)
def _withhold(state: b.BatchState, lo: int, hi: int) -> None:
    if state.offered.hosts.size > 0:
        host, core = state.host_of[lo], lo
        while core < hi:
            stop = min(hi, state.host_first[host + 1])
            state.offered.hosts[host] -= free_count(state.offered.words, core, stop)
            core = stop
            host += 1
    free_take(state.offered.words, state.free_starts, lo, hi)


@compiled(inner=True)
def _offer_cores(state: b.BatchState, free: Offer, job: int, at: int, until: int, stop: int) -> None:
    """Offer the cores for a job that begins with slice ``at``, whose free cores are ``free``."""
    profile, masks, offered, hosts = state.cores_profile, state.masks, state.offered.words, state.offered.hosts
    own, partition, n_partitions = state.jobs.window[job], state.jobs.partition[job], state.partitions.tier.size
    n_leaves, masked = state.free_starts[1], state.partitions.masked[partition] == 1 or own >= 0
    copy_cores(state.offered, free)
    if state.partitions.masked[partition] == 1:
        for word in range(n_leaves):
            offered[word] &= masks[partition, word]
    if own >= 0:
        for word in range(n_leaves):
            offered[word] &= masks[n_partitions + own, word]
    for w in range(state.windows.begin_ns.size):
        if _meets(state, job, profile.ns[at], stop, w):
            masked = True
            for word in range(n_leaves):
                offered[word] &= ~masks[n_partitions + w, word]
    if masked:
        fill_levels(offered, state.free_starts)
        for host in range(hosts.size):
            hosts[host] = free_count(offered, state.host_first[host], state.host_first[host + 1])
    for k in range(at + 1, until):
        change = profile.first[k]
        while change >= 0:
            if profile.amount[change] < 0 and profile.hi[change] != AMOUNT:
                _withhold(state, profile.lo[change], profile.hi[change])
            change = profile.after[change]


@compiled(inner=True)
def _offer_wanted(state: b.BatchState, job: int) -> None:
    """Offer only the requested cores to a job that requests cores by number."""
    origin, core = state.jobs.origin[job], 0
    first, stop = state.wanted_first[origin], state.wanted_first[origin + 1]
    if first == stop:
        return
    for k in range(first, stop + 1):
        until = state.wanted_lo[k] if k < stop else state.host_of.size
        if core < until:
            _withhold(state, core, until)
        if k < stop:
            core = state.wanted_hi[k]


@compiled(inner=True)
def _offer_amounts(state: b.BatchState, free: Offer, at: int, until: int) -> None:
    """Offer the least of every amount in the slices ``at`` … ``until`` - 1; ``free`` has those of the first."""
    profile, offered, here = state.cores_profile, state.offered.amounts, state.passing_amounts
    for a in range(offered.size):
        offered[a] = here[a] = free.amounts[a]
    for k in range(at + 1, until):
        change = profile.first[k]
        while change >= 0:
            if profile.hi[change] == AMOUNT:
                here[profile.lo[change]] += profile.amount[change]
            change = profile.after[change]
        change = profile.first[k]
        while change >= 0:
            if profile.hi[change] == AMOUNT:
                a = profile.lo[change]
                offered[a] = min(offered[a], here[a])
            change = profile.after[change]


@compiled(inner=True)
def keep_first(state: b.BatchState, lo: int, hi: int, cores: int, keep: int) -> None:
    """Keep only the first ``keep`` of the ``cores`` offered in [lo, hi)."""
    offered, core = state.offered.words, lo
    if cores <= keep:
        return
    while keep > 0:
        keep -= offered[core >> 5] >> (core & 31) & 1
        core += 1
    free_take(offered, state.free_starts, core, hi)


@compiled(inner=True)
def _trim(state: b.BatchState, job: int) -> bool:
    """Limit the offered cores of each host to the units that its other resources allow; False if too few remain."""
    hosts, needs, amounts, unit = state.offered.hosts, state.needs, state.offered.amounts, state.jobs.unit_cores[job]
    n_resources, n_licences = state.settings.n_resources, state.settings.n_licences
    for r in range(n_licences):
        if amounts[amounts.size - n_licences + r] < needs[n_resources + r, job]:
            return False
    parts = state.settings.others_per_core > 0
    if n_resources == 0 and not parts:
        return True
    total = 0
    for host in range(hosts.size):
        lo, hi, cores = state.host_first[host], state.host_first[host + 1], hosts[host]
        if cores == 0:
            continue
        units = cores // unit
        room = units
        for r in range(n_resources):
            if needs[r, job] > 0:
                room = min(room, max(amounts[host * n_resources + r], 0) // needs[r, job])
        if parts:
            room = call_hook(state.roles[HOST_ROOM], (state, job, host, room, 0))
        usable = room * unit if room < units else cores
        if state.settings.by_units == 1:  # its allocator reads the resources itself
            total += room * unit
            continue
        if state.settings.whole_hosts == 0:
            keep_first(state, lo, hi, cores, usable)
        elif cores < hi - lo or room == 0:
            # The whole host or nothing; offered_hosts has the number of usable cores.
            usable = room = 0
            keep_first(state, lo, hi, cores, 0)
        total += room * unit
        hosts[host] = usable
    return bool(total >= state.jobs.cores[job])


@compiled(inner=True)
def _ask(state: b.BatchState, job: int, limit: int) -> int:
    """Let the allocator choose among the offered cores, then choose parts of their hosts; returns the number of intervals."""
    if state.settings.by_units == 1:
        return int(call_hook(state.roles[PLACE_UNITS], (state, job, limit, 0, 0)))
    count = ask_allocator(state, job, limit, state.offered.words, state.offered.hosts)
    if count > 0 and state.settings.others_per_core > 0:
        call_hook(state.roles[CHOOSE_PARTS], (state, job, 0, count, 0))
    return count


@compiled(HOOK)
def earliest_place(state: b.BatchState, job: int, _begin: int, before: int, _sign: int) -> int:
    """The earliest slot of a job before ``stop``, else ``NEVER``; its cores are ``n_placed`` intervals after the used pool."""
    jobs, settings, windows, profile = state.jobs, state.settings, state.windows, state.cores_profile
    ns, free, used = profile.ns, profile.free, profile.n_slices
    n, length, own = jobs.cores[job], planned_ns(state, job), jobs.window[job]
    powered = settings.powered != b.UNPOWERED
    others = powered  # whether it needs more than cores
    for r in range(settings.n_resources + settings.n_licences):
        others = others or state.needs[r, job] > 0
    parts = settings.others_per_core > 0 and call_hook(state.roles[HOST_ROOM], (state, job, -1, 1, 0)) == 0
    others = others or parts or settings.by_units == 1
    kept_off = own >= 0 or state.partitions.masked[jobs.partition[job]] == 1
    at, ahead, applied, tried, limits = 0, 0, 0, False, state.switch_limit
    limit = limits[jobs.origin[job]] if limits.size > 0 else 0
    while at < used and ns[at] < before:
        begin = ns[at]
        stop = begin + length
        # A slot begins after the last slice with too few cores.
        ahead = max(ahead, at)
        while ahead < used and (ahead == at or ns[ahead] < stop) and free[ahead] >= n:
            ahead += 1
        if ahead < used and (ahead == at or ns[ahead] < stop):
            at, tried = ahead + 1, False
            continue
        if limit > 0 and begin - jobs.eligible_ns[job] >= settings.switch_wait_ns:
            limit, tried = 0, False  # it has waited long enough for few switches
        if own >= 0 and (begin < windows.begin_ns[own] or stop > windows.end_ns[own]):
            at, tried = at + 1, False
            continue
        # Without newly free cores the job fits no better than in the previous slice, unless other resources change
        # the cores that may be used.
        if tried and not others and not _takes(profile, at, at + 1, False):
            at += 1
            continue
        if at > 0 and applied == 0:
            copy_cores(state.later, profile.now)
            copy_first(state.later.amounts, profile.now.amounts, profile.now.amounts.size)
        while applied < at:
            applied += 1
            apply_changes(state, state.later, applied)
        free_here = state.later if at > 0 else profile.now
        less = kept_off or others or _takes(profile, at + 1, ahead, True)
        for w in range(state.windows.begin_ns.size):
            less = less or _meets(state, job, begin, stop, w)
        count = 0
        if not less:
            count = ask_allocator(state, job, limit, free_here.words, free_here.hosts)
        else:
            _offer_cores(state, free_here, job, at, ahead, stop)
            enough = True
            if others:
                _offer_wanted(state, job)
                _offer_amounts(state, free_here, at, ahead)
                enough = _trim(state, job)
            if powered and least_mw(state, job) > state.offered.amounts[state.power.amount]:
                enough = False  # on any cores
            if enough:
                count = _ask(state, job, limit)
        if count > 0 and is_played(state, OFFER):
            fits = call_hook(state.roles[OFFER], (state, job, 0, count, 0))
            if fits < 1:
                count = 0
            if fits == 0:
                count = _ask(state, job, limit)
        if count > 0 and powered:
            lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
            if cores_mw(state, job, MACHINE, lo, hi, count) > state.offered.amounts[state.power.amount]:
                count = 0
        if count != 0:
            state.n_placed = count
            return int(begin)
        at, tried = at + 1, True
    state.n_placed = 0
    return b.NEVER
