"""The free cores of the machine: sorted, disjoint, half-open intervals ``[lo, hi)`` of global core numbers.

An operation costs a step per interval that it meets, not per core, so a machine of 65,536 cores is no slower than one of
256 as long as it is as little fragmented.
"""

from __future__ import annotations

from traces.compiled import Array, compiled

__all__ = ["give_back", "take"]


@compiled()
def take(
    free_lo: Array,
    free_hi: Array,
    n_free: int,
    lo: Array,
    hi: Array,
    first: int,
    n: int,
    spare_lo: Array,
    spare_hi: Array,
) -> int:
    """Take the ``n`` intervals of ``lo, hi`` from ``first`` on (ascending, disjoint) from the free ones.

    Returns
    -------
    int
        The new number of free intervals, or -1 with nothing changed if they are not all free, or not in order.
    """
    out = 0
    k = first
    end = first + n
    for i in range(n_free):
        start = free_lo[i]
        stop = free_hi[i]
        while k < end and lo[k] < stop:
            if lo[k] < start or hi[k] > stop or hi[k] <= lo[k]:
                return -1
            if lo[k] > start:
                spare_lo[out] = start
                spare_hi[out] = lo[k]
                out += 1
            start = hi[k]
            k += 1
        if start < stop:
            spare_lo[out] = start
            spare_hi[out] = stop
            out += 1
    if k < end:
        return -1
    for i in range(out):
        free_lo[i] = spare_lo[i]
        free_hi[i] = spare_hi[i]
    return out


@compiled()
def give_back(
    free_lo: Array,
    free_hi: Array,
    n_free: int,
    lo: Array,
    hi: Array,
    first: int,
    n: int,
    spare_lo: Array,
    spare_hi: Array,
) -> int:
    """Give back ``n`` intervals of ``lo, hi`` from ``first`` on, joining neighbours; returns the new number of free ones."""
    out = 0
    i = 0
    k = first
    end = first + n
    while i < n_free or k < end:
        if k == end or (i < n_free and free_lo[i] < lo[k]):
            a = free_lo[i]
            b = free_hi[i]
            i += 1
        else:
            a = lo[k]
            b = hi[k]
            k += 1
        if out > 0 and spare_hi[out - 1] == a:
            spare_hi[out - 1] = b
        else:
            spare_lo[out] = a
            spare_hi[out] = b
            out += 1
    for i in range(out):
        free_lo[i] = spare_lo[i]
        free_hi[i] = spare_hi[i]
    return out
