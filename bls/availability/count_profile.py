"""Number of free cores over time: a step function in two arrays, for plans in which all cores are alike.

Slice ``k`` lasts from ``ns[k]`` to ``ns[k + 1]``, the last one for ever; ``free[k]`` cores are free in it. Slices ``first`` to
``end`` - 1 are in use, so that time advances by moving ``first``. A change costs one step per slice between its ends.
"""

from traces.compiled import Array, compiled

PROFILE_NEVER = 2**63 - 1  #: the instant that never comes: the end of intervals without an end
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
    if stop != PROFILE_NEVER and (hi == end or ns[hi] != stop):
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
    """The earliest instant at which ``n`` cores are free for ``length``, if it is before ``before``; else PROFILE_NEVER."""
    k = first
    while k < end:
        if free[k] < n:
            k += 1
            continue
        begin = ns[k]
        if begin >= before or begin > _LAST_BEGIN:
            return PROFILE_NEVER
        stop = begin + length
        k += 1
        while k < end and ns[k] < stop and free[k] >= n:
            k += 1
        if k == end or ns[k] >= stop:
            return int(begin)
        # Slice k has too few free cores: the interval must begin after it.
    return PROFILE_NEVER
