"""The profile: the number of cores that running jobs and kept reservations leave free over time.

It is a step function in two arrays, for plans in which all cores are alike. Slice ``k`` lasts from ``ns[k]`` to
``ns[k + 1]``, the last one for ever; ``free[k]`` cores are free in it. Slices ``first`` to ``end`` - 1 are in use, so that time
advances by moving ``first``. A change costs one step per slice between its ends.
"""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.cores import Slices
from traces.compiled import Array, compiled

_LAST_BEGIN = 2**62  #: latest begin of a plan, so that begin + length (at most 2**62 - 1) is an instant


@compiled(inner=True)
def profile_move(ns: Array, first: int, end: int, now: int) -> int:
    """Advance the time to ``now``; returns the new ``first``."""
    while first + 1 < end and ns[first + 1] <= now:
        first += 1
    ns[first] = now
    return first


@compiled(inner=True)
def profile_pack(ns: Array, free: Array, first: int, end: int) -> int:
    """Move the slices to the front of the arrays; returns the new ``end`` (``first`` is then 0)."""
    for k in range(first, end):
        ns[k - first], free[k - first] = ns[k], free[k]
    return end - first


@compiled(inner=True)
def profile_at(ns: Array, first: int, end: int, instant: int) -> int:
    """The last slice that begins at or before the instant, which is not before the first slice."""
    lo, hi = first, end
    while hi - lo > 1:
        middle = (lo + hi) >> 1
        if ns[middle] <= instant:
            lo = middle
        else:
            hi = middle
    return lo


@compiled(inner=True)
def _split(ns: Array, free: Array, at: int, end: int, instant: int) -> int:
    """Begin a new slice at the instant, which is in slice ``at``; returns the increase of the number of slices, 0 or 1."""
    if ns[at] == instant:
        return 0
    for k in range(end - 1, at, -1):
        ns[k + 1], free[k + 1] = ns[k], free[k]
    ns[at + 1], free[at + 1] = instant, free[at]
    return 1


@compiled(inner=True)
def _join(ns: Array, free: Array, at: int, end: int) -> int:
    """Join slice ``at`` with an equal slice before it; returns the decrease of the number of slices, 0 or 1."""
    if free[at] != free[at - 1]:
        return 0
    for k in range(at, end - 1):
        ns[k], free[k] = ns[k + 1], free[k + 1]
    return 1


@compiled(inner=True)
def profile_add(ns: Array, free: Array, first: int, end: int, begin: int, stop: int, amount: int) -> int:
    """Add ``amount`` to the free cores of [begin, stop), and join equal neighbours; returns the new ``end``. There must be room
    for two more slices."""
    if begin >= stop:
        return end
    lo = profile_at(ns, first, end, begin)
    more = _split(ns, free, lo, end, begin)
    lo += more
    end += more
    hi = lo
    while hi < end and ns[hi] < stop:
        hi += 1
    if stop != b.NEVER and (hi == end or ns[hi] != stop):
        end += _split(ns, free, hi - 1, end, stop)
    for k in range(lo, hi):
        free[k] += amount
    if hi < end:
        end -= _join(ns, free, hi, end)
    if lo > first:
        end -= _join(ns, free, lo, end)
    return end


@compiled(inner=True)
def profile_earliest(ns: Array, free: Array, first: int, end: int, n: int, length: int, before: int) -> int:
    """The earliest instant at which ``n`` cores are free for ``length``, if it is before ``before``; else ``NEVER``."""
    k = first
    while k < end:
        if free[k] < n:
            k += 1
            continue
        begin = ns[k]
        if begin >= before or begin > _LAST_BEGIN:
            return b.NEVER
        stop = begin + length
        k += 1
        while k < end and ns[k] < stop and free[k] >= n:
            k += 1
        if k == end or ns[k] >= stop:
            return int(begin)
        # Slice k has too few free cores: the interval must begin after it.
    return b.NEVER


@compiled(merged=True)
def move_on(state: b.BatchState) -> None:
    """Bring the profile to the present instant."""
    now = state.now_ns
    if h.is_played(state, h.PROFILE):
        h.call_hook(state.roles[h.MOVE_PROFILE], (state, -1, now, now, 0))
    else:
        profile = state.profile
        profile.first = profile_move(profile.ns, profile.first, profile.end, now)
        if profile.first > 0 and profile.end > profile.ns.size // 2:
            profile.end = profile_pack(profile.ns, profile.free, profile.first, profile.end)
            profile.first = 0


@compiled(merged=True)
def count_cores(profile: Slices, begin: int, stop: int, cores: int) -> None:
    """Add ``cores`` (which may be negative) to the free cores in [begin, stop)."""
    profile.end = profile_add(profile.ns, profile.free, profile.first, profile.end, begin, stop, cores)


@compiled(merged=True)
def earliest_by_counts(state: b.BatchState, n: int, length: int, before: int, is_copied: bool) -> int:
    """The earliest slot for n cores before an instant, in the profile or in its copy; ``NEVER`` if there is none."""
    slices = state.plan if is_copied else state.profile
    return int(profile_earliest(slices.ns, slices.free, slices.first, slices.end, n, length, before))


@compiled(merged=True)
def _hold(state: b.BatchState, role: int, one: int, cores: int, begin: int, stop: int, sign: int) -> None:
    """Take (-1) cores from the profile for [begin, stop), or give them back (1); ``role``: the same if cores differ."""
    if h.is_played(state, h.PROFILE):
        h.call_hook(state.roles[role], (state, one, begin, stop, sign))
    else:
        count_cores(state.profile, begin, stop, sign * cores)


@compiled(merged=True)
def hold_pool(state: b.BatchState, job: int, begin: int, stop: int, sign: int) -> None:
    """Take (-1) a running job's cores from the profile for [begin, stop), or give them back (1)."""
    _hold(state, h.HOLD_POOL, job, state.jobs.held_cores[job], begin, stop, sign)


@compiled(inner=True)
def hold_host(state: b.BatchState, host: int, begin: int, stop: int, sign: int) -> None:
    """Take a host's cores from the profile for [begin, stop), or give them back."""
    _hold(state, h.HOLD_HOST, host, state.host_first[host + 1] - state.host_first[host], begin, stop, sign)


@compiled(inner=True)
def hold_until(state: b.BatchState, job: int, end: int) -> None:
    """Change the expected end of a running job."""
    if state.settings.plans == 1:
        hold_pool(state, job, state.now_ns, state.jobs.expected_end_ns[job], 1)
        hold_pool(state, job, state.now_ns, end, -1)
    state.jobs.expected_end_ns[job] = end


@compiled(merged=True)
def planned_until(state: b.BatchState, job: int, now: int) -> int:
    """The instant until which the profile holds the cores of a running job; ``now`` if it does not."""
    if state.settings.plans == 1:
        return int(max(now, state.jobs.expected_end_ns[job]))
    return b.NEVER if state.settings.profiled == 1 else now


@compiled(inner=True)
def drop_slot(state: b.BatchState, job: int) -> None:
    """Give back the cores of a kept reservation."""
    jobs, slot = state.jobs, state.jobs.slot_ns[job]
    begin, stop = max(slot, state.now_ns), slot + jobs.estimate_ns[job]
    _hold(state, h.HOLD_KEPT, job, jobs.cores[job], begin, stop, 1)
    jobs.slot_ns[job] = b.NEVER
