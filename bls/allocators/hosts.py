"""What several allocators need: a host's usable cores, and taking them host by host."""

from __future__ import annotations

from bls.availability.free_cores import free_count, free_lowest, free_next
from traces.compiled import Array, compiled

__all__ = ["take_by_amount", "take_in_order", "usable"]


@compiled()
def usable(offered: int, unit_cores: int) -> int:
    """How many of a host's offered cores a job can use: ``offered``, rounded down to a multiple of ``unit_cores``."""
    return offered if unit_cores == 1 else offered // unit_cores * unit_cores


@compiled(inner=True)
def take_in_order(
    words: Array,
    starts: Array,
    host_first: Array,
    first: int,
    stop: int,
    unit_cores: int,
    n_cores: int,
    n_out: int,
    out_lo: Array,
    out_hi: Array,
) -> tuple[int, int]:
    """Append the lowest usable cores of the hosts first … stop-1, host by host, until there are ``n_cores`` more.

    Returns
    -------
    tuple of int
        How many intervals there are now, and how many cores are still missing.
    """
    if unit_cores == 1:
        return free_lowest(words, starts, host_first[first], host_first[stop], n_cores, n_out, out_lo, out_hi)
    missing = n_cores
    host = first
    while missing > 0 and host < stop:
        core = free_next(words, starts, host_first[host])
        if core < 0:
            break
        while host < stop and host_first[host + 1] <= core:
            host += 1
        if host == stop:
            break
        here = min(missing, usable(free_count(words, core, host_first[host + 1]), unit_cores))
        n_out, _ = free_lowest(words, starts, core, host_first[host + 1], here, n_out, out_lo, out_hi)
        missing -= here
        host += 1
    return n_out, missing


@compiled(inner=True)
def _below(host_free: Array, bound: int, unit_cores: int) -> int:
    # The usable cores of all hosts that offer fewer than `bound`.
    total = 0
    if unit_cores == 1:  # without a division this loop is many times as quick
        for host in range(host_free.size):
            total += host_free[host] if host_free[host] < bound else 0
        return total
    for host in range(host_free.size):
        if host_free[host] < bound:
            total += host_free[host] // unit_cores * unit_cores
    return total


@compiled(inner=True)
def take_by_amount(
    words: Array,
    starts: Array,
    host_first: Array,
    host_free: Array,
    most_first: bool,
    unit_cores: int,
    n_cores: int,
    out_lo: Array,
    out_hi: Array,
) -> int:
    """Fill the intervals with the lowest usable cores of hosts in the order of how many each has, equals by number.

    Parameters
    ----------
    most_first : bool
        Whether the host that has most comes first, and not the one that has fewest.

    Returns
    -------
    int
        The number of intervals; 0 if all the hosts together have not ``n_cores`` usable cores.
    """
    # The hosts are not sorted: the last amount of which hosts are taken is found by halving.
    most = 0
    for host in range(host_free.size):
        most = max(most, host_free[host])
    most //= unit_cores  # in units
    whole = _below(host_free, (most + 1) * unit_cores, unit_cores)
    if whole < n_cores:
        return 0
    # The amounts come one after the other: 1, 2, … units, or `most`, most - 1, … units.
    before = of_before = 0
    last = most
    while last - before > 1:
        middle = (before + last) >> 1
        if most_first:
            of_middle = whole - _below(host_free, (most + 1 - middle) * unit_cores, unit_cores)
        else:
            of_middle = _below(host_free, (middle + 1) * unit_cores, unit_cores)
        if of_middle < n_cores:
            before, of_before = middle, of_middle
        else:
            last = middle
    of_last = n_cores - of_before
    lo = (most + 1 - last if most_first else last) * unit_cores
    hi = lo + unit_cores  # hosts that offer lo … hi-1 give of_last together, those that come before them all
    missing = n_cores
    n_out = 0
    host = 0
    while missing > 0:
        offered = host_free[host]
        here = 0
        if lo <= offered < hi:
            here = min(lo, of_last)
            of_last -= here
        elif (offered >= hi) if most_first else (unit_cores <= offered < lo):
            here = usable(offered, unit_cores)
        if here > 0:
            n_out, _ = free_lowest(words, starts, host_first[host], host_first[host + 1], here, n_out, out_lo, out_hi)
            missing -= here
        host += 1
    return n_out
