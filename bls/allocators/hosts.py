"""What several allocators need: a host's usable cores, and taking them host by host."""

from __future__ import annotations

from bls.allocators.contract import PlacementRequest
from bls.availability.free_cores import free_count, free_lowest, free_next
from traces.compiled import compiled


@compiled()
def usable(offered: int, unit_cores: int) -> int:
    """How many of a host's offered cores a job can use: ``offered``, rounded down to a multiple of ``unit_cores``."""
    return offered if unit_cores == 1 else offered // unit_cores * unit_cores


@compiled(inner=True)
def take_in_order(request: PlacementRequest, first: int, stop: int, n_cores: int, n_out: int) -> tuple[int, int]:
    """Append the lowest usable cores of the hosts first … stop-1, host by host, until there are ``n_cores`` more.
    Returns how many intervals there are now, and how many cores are still missing."""
    words, starts, host_first, unit_cores = request.words, request.starts, request.host_first, request.unit_cores
    if unit_cores == 1:  # hosts do not matter
        lo, hi = host_first[first], host_first[stop]
        return free_lowest(words, starts, lo, hi, n_cores, n_out, request.out_lo, request.out_hi)
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
        hi = host_first[host + 1]
        n_out, _ = free_lowest(words, starts, core, hi, here, n_out, request.out_lo, request.out_hi)
        missing -= here
        host += 1
    return n_out, missing
