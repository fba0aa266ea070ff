"""The profile of free cores and other resources over time, for plans that distinguish cores.

It has the slices of ``bls.engine.profile``. The first slice has the set of free cores
(``bls.availability.free_cores``). Each other slice has the changes at its begin: intervals of cores that are given back or
taken, and changed amounts of resources and licences. The cost of an allocation therefore does not depend on the machine's size.
"""

from bls.availability.free_cores import count_hosts, free_give, free_take
from bls.engine import state as b
from bls.engine.cores import CoreProfile, Offer
from bls.engine.features.draws.draws import cores_mw, planned_ns
from bls.engine.features.releases.releases import list_left
from bls.engine.hooks import HOOK, OTHER_AMOUNTS, call_hook
from bls.engine.job_lifecycle import cores_on_host, waiting_from
from bls.engine.profile import profile_at
from bls.engine.status import BatchStatus
from traces.compiled import Array, compiled

#: A change is (lo, hi, amount): the cores [lo, hi) are given back (1) or taken (-1). With this value as hi, amount number lo
#: increases by ``amount``. The change (0, 0, 0) marks the begin or end of a window.
AMOUNT = -1


@compiled(inner=True)
def _split(profile: CoreProfile, instant: int) -> int:
    """Let a slice begin at an instant after the begin of the first slice; returns its place."""
    ns = profile.ns
    lo = profile_at(ns, 0, profile.n_slices, instant)
    if ns[lo] == instant:
        return lo
    for k in range(profile.n_slices - 1, lo, -1):
        ns[k + 1], profile.free[k + 1], profile.first[k + 1] = ns[k], profile.free[k], profile.first[k]
    ns[lo + 1], profile.free[lo + 1], profile.first[lo + 1] = instant, profile.free[lo], -1
    profile.n_slices += 1
    return lo + 1


@compiled(inner=True)
def _join(profile: CoreProfile, k: int) -> None:
    """Join slice k to the previous one if nothing changes between them."""
    if k == 0 or profile.first[k] >= 0:
        return
    used = profile.n_slices - 1
    profile.n_slices = used
    for at in range(k, used):
        profile.ns[at], profile.free[at] = profile.ns[at + 1], profile.free[at + 1]
        profile.first[at] = profile.first[at + 1]


@compiled(inner=True)
def _free_change(profile: CoreProfile, change: int) -> None:
    profile.after[change] = profile.spare
    profile.spare = change
    profile.n_changes -= 1


@compiled(inner=True)
def _add(profile: CoreProfile, k: int, before: int, lo: int, hi: int, amount: int) -> int:
    """Add a change at the begin of slice k after change ``before`` (-1: as the first); returns it."""
    change = profile.spare
    if change >= 0:
        profile.spare = profile.after[change]
    else:
        change = profile.n_ever
        profile.n_ever += 1
    profile.n_changes += 1
    profile.lo[change], profile.hi[change], profile.amount[change] = lo, hi, amount
    if before < 0:
        profile.after[change] = profile.first[k]
        profile.first[k] = change
    else:
        profile.after[change] = profile.after[before]
        profile.after[before] = change
    return int(change)


@compiled(inner=True)
def _cancel(profile: CoreProfile, k: int, before: int, lo: int, hi: int, amount: int) -> int:
    """Remove the opposite change after ``before`` (-1: any), or add this one; returns the place at which the search goes on."""
    after = profile.after
    for _ in range(2):
        last = before
        change = profile.first[k] if before < 0 else after[before]
        while change >= 0:
            if profile.lo[change] == lo and profile.hi[change] == hi and profile.amount[change] == -amount:
                if last < 0:
                    profile.first[k] = after[change]
                else:
                    after[last] = after[change]
                _free_change(profile, change)
                return last
            last, change = change, after[change]
        if before < 0:
            break
        before = -1
    return int(_add(profile, k, before, lo, hi, amount))


@compiled(inner=True)
def apply_changes(state: b.BatchState, offer: Offer, k: int) -> None:
    """Apply the changes at the begin of slice k, returns first: other jobs may take the same cores then."""
    profile = state.cores_profile
    for given in (True, False):
        change = profile.first[k]
        while change >= 0:
            lo, hi, amount = profile.lo[change], profile.hi[change], profile.amount[change]
            if (amount > 0) == given and lo != hi:
                _one_change(state, offer, lo, hi, amount)
            change = profile.after[change]


@compiled(inner=True)
def _one_change(state: b.BatchState, offer: Offer, lo: int, hi: int, amount: int) -> None:
    if hi == AMOUNT:
        offer.amounts[lo] += amount
        return
    if amount > 0:
        free_give(offer.words, state.free_starts, lo, hi)
    else:
        free_take(offer.words, state.free_starts, lo, hi)
    if offer.hosts.size > 0:
        count_hosts(state.host_of, state.host_first, offer.hosts, lo, hi, amount)


@compiled(HOOK)
def move_profile(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Move the profile to the instant ``begin``."""
    profile, ns, used = state.cores_profile, state.cores_profile.ns, state.cores_profile.n_slices
    passed = 0
    while passed + 1 < used and ns[passed + 1] <= now:
        passed += 1
        apply_changes(state, profile.now, passed)
        change = profile.first[passed]
        while change >= 0:
            after = profile.after[change]
            _free_change(profile, change)
            change = after
    if passed > 0:
        for k in range(passed, used):
            ns[k - passed], profile.free[k - passed] = ns[k], profile.free[k]
            profile.first[k - passed] = profile.first[k]
        profile.first[0] = -1
        profile.n_slices = used - passed
    ns[0] = now
    return 0


@compiled(inner=True)
def _slice_from(state: b.BatchState, begin: int) -> int:
    """The slice that begins at an instant; moves the profile if that is now."""
    if begin == state.now_ns and state.cores_profile.ns[0] < begin:
        move_profile(state, -1, begin, begin, 0)
    return int(_split(state.cores_profile, begin))


@compiled(inner=True)
def _change(state: b.BatchState, k: int, before: int, lo: int, hi: int, amount: int, undo: bool) -> int:
    """Change the profile at the begin of slice k; returns the change after which the job's next one belongs."""
    profile = state.cores_profile
    if k == 0:
        _one_change(state, profile.now, lo, hi, amount)
        return -1
    if undo:
        return int(_cancel(profile, k, before, lo, hi, amount))
    return int(_add(profile, k, before, lo, hi, amount))


@compiled(inner=True)
def _change_amounts(
    state: b.BatchState, k: int, before: int, job: int, lo: Array, hi: Array, count: int, sign: int, undo: bool
) -> None:
    """Take (-1) or give back (1) the resources of a job other than cores at slice k, after change ``before``."""
    needs, unit = state.needs, state.jobs.unit_cores[job]
    n_resources, n_licences = state.settings.n_resources, state.settings.n_licences
    for domain in range(state.domains.limit_mw.size):
        amount = sign * cores_mw(state, job, domain, lo, hi, count)
        if amount != 0:
            before = _change(state, k, before, state.power.amount + domain, AMOUNT, amount, undo)
    licences = state.cores_profile.now.amounts.size - n_licences
    for r in range(n_licences):
        if needs[n_resources + r, job] > 0:
            amount = sign * needs[n_resources + r, job]
            before = _change(state, k, before, licences + r, AMOUNT, amount, undo)
    others = 0
    if state.settings.others_per_core > 0:
        others = call_hook(state.roles[OTHER_AMOUNTS], (state, job, 0, 0, 0))
    for i in range(others):
        before = _change(state, k, before, state.others.index[i], AMOUNT, sign * state.others.amount[i], undo)
    if n_resources == 0:
        return
    # A unit is on one host but may span several intervals: count the cores host by host.
    i, core = 0, lo[0]
    while i < count:
        host = state.host_of[core]
        cores, i, core = cores_on_host(state, lo, hi, count, i, core)
        for r in range(n_resources):
            amount = sign * (cores // unit) * needs[r, job]
            if amount != 0:
                before = _change(state, k, before, host * n_resources + r, AMOUNT, amount, undo)


@compiled(inner=True)
def hold_cores(
    state: b.BatchState, job: int, lo: Array, hi: Array, count: int, begin: int, stop: int, sign: int
) -> None:
    """Take (``sign`` -1) a job's cores and other resources for [begin, stop), or give them back (``sign`` 1).

    ``lo, hi`` are the ``count`` intervals of its cores. A negative ``job`` needs cores only. Exactly the taken resources are
    given back, until the same instant; the begin may have passed.
    """
    if begin >= stop:
        return
    profile, settings = state.cores_profile, state.settings
    at = _slice_from(state, begin)
    until = profile.n_slices
    if stop != b.NEVER:
        until = _split(profile, stop)
    cores = 0
    for i in range(count):
        cores += hi[i] - lo[i]
    for k in range(at, until):
        profile.free[k] += sign * cores
    amounts = settings.n_resources + settings.n_licences + settings.others_per_core
    has_amounts = amounts > 0 or settings.powered != b.UNPOWERED
    for end in range(2 if stop != b.NEVER else 1):
        k, amount, before = at, sign, -1
        if end == 1:
            k, amount = until, -sign
        for i in range(count):
            before = _change(state, k, before, lo[i], hi[i], amount, sign > 0)
        if job >= 0 and has_amounts:
            _change_amounts(state, k, before, job, lo, hi, count, amount, sign > 0)
    if stop != b.NEVER:
        _join(profile, until)
    _join(profile, at)


@compiled(inner=True)
def hold_amount(state: b.BatchState, which: int, amount: int, begin: int, stop: int, sign: int) -> None:
    """Take (``sign`` -1) a quantity of an amount for [begin, stop), or give it back (1)."""
    profile, at = state.cores_profile, _slice_from(state, begin)
    _change(state, at, -1, which, AMOUNT, sign * amount, sign > 0)
    if stop != b.NEVER:
        until = _split(profile, stop)
        _change(state, until, -1, which, AMOUNT, -sign * amount, sign > 0)
        _join(profile, until)
    _join(profile, at)


@compiled(HOOK)
def hold_pool_cores(state: b.BatchState, job: int, begin: int, stop: int, sign: int) -> int:
    """Take (-1) the current cores of a running job from the profile for [begin, stop), or give them back (1)."""
    first, count = state.jobs.held_first[job], state.jobs.held_count[job]
    lo, hi = state.pool.lo[first : first + count], state.pool.hi[first : first + count]
    if state.settings.releases != b.NO_RELEASES:
        lo, hi, count = state.releases.left.lo, state.releases.left.hi, list_left(state, job)
    hold_cores(state, job, lo, hi, count, begin, stop, sign)
    return 0


@compiled(HOOK)
def hold_kept_cores(state: b.BatchState, job: int, begin: int, stop: int, sign: int) -> int:
    """The same for the cores of a kept reservation."""
    first, count = state.jobs.plan_first[job], state.jobs.plan_count[job]
    lo, hi = state.kept.lo[first : first + count], state.kept.hi[first : first + count]
    stop += planned_ns(state, job) - state.jobs.estimate_ns[job]  # a power limit may make it longer
    hold_cores(state, job, lo, hi, count, begin, stop, sign)
    return 0


@compiled(HOOK)
def hold_host_cores(state: b.BatchState, host: int, begin: int, stop: int, sign: int) -> int:
    """The same for all cores of a host."""
    lo, hi = state.host_first[host : host + 1], state.host_first[host + 1 : host + 2]
    hold_cores(state, -1, lo, hi, 1, begin, stop, sign)
    return 0


@compiled(inner=True)
def _planned_cores(state: b.BatchState) -> int:
    """The largest number of cores that one pass may reserve."""
    settings, most = state.settings, state.n_waiting
    if settings.max_reservations < most:
        most = min(most, settings.max_reservations * state.partitions.tier.size)
    cores = most * settings.widest
    if state.kept_used + cores <= state.kept.lo.size:
        return int(cores)
    cores, job = 0, waiting_from(state, 0)
    while job >= 0:
        cores += state.jobs.cores[job]
        job = waiting_from(state, state.jobs.rank[job] + 1)
    return int(min(cores, most * settings.widest))


@compiled(HOOK)
def room(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Return 0 if the arrays have room for one pass, else a ``BatchStatus``."""
    settings = state.settings
    # A start, a reservation, an end and a host event each make at most two slices.
    steps = 2 * settings.steps
    more = 2 * state.outages.events.ns.size + 16 + steps
    if settings.plans == 1:
        more += 2 * (state.n_waiting + state.running.n)
    if settings.resizing != b.NO_RESIZE or settings.releases == b.BY_DRAIN:
        more += 2 * state.running.n
    profile = state.cores_profile
    if profile.n_slices + more > profile.ns.size:
        return BatchStatus.PROFILE_FULL
    # There are no more intervals than cores, and each may change all amounts: free cores may be taken, and the cores of
    # jobs that run longer than expected may be held for longer.
    planned = _planned_cores(state) if settings.plans == 1 else 0
    more = state.host_of.size + planned
    if settings.releases != b.NO_RELEASES:
        more += state.host_of.size  # releases split the intervals of running jobs
    if settings.resizing != b.NO_RESIZE or settings.releases == b.BY_DRAIN:
        more += 2 * state.host_of.size  # the cores of running jobs are given back and taken again
    amounts = settings.n_resources + settings.n_licences + settings.others_per_core + state.domains.limit_mw.size
    more = 2 * (more + state.outages.events.ns.size) * (1 + amounts) + steps
    if profile.n_changes + more > profile.lo.size:
        return BatchStatus.PROFILE_FULL
    if state.kept_used + planned > state.kept.lo.size:
        return BatchStatus.POOL_FULL
    return 0
