"""Best fit and worst fit: hosts by the number of their usable cores, fewest first or most first, equals by number.

Usable cores are the offered cores, rounded down to a multiple of ``unit_cores``. Each host provides its lowest cores, as many
as are usable or still missing. AccaSim's "best fit" is the former.
"""

from bls.allocators.contract import Allocator, PlacementRequest, allocator_kernel, usable
from bls.availability.free_cores import free_lowest
from traces.compiled import Array, compiled


@compiled(inner=True)
def _below(host_free: Array, bound: int, unit_cores: int) -> int:
    """The usable cores of all hosts that offer fewer than `bound`."""
    total = 0
    if unit_cores == 1:  # without a division this loop is many times faster
        for host in range(host_free.size):
            total += host_free[host] if host_free[host] < bound else 0
        return total
    for host in range(host_free.size):
        if host_free[host] < bound:
            total += host_free[host] // unit_cores * unit_cores
    return total


@allocator_kernel
def _place(request: PlacementRequest) -> int:
    host_first, host_free = request.host_first, request.host_free
    n_cores, unit_cores, most_first = request.n_cores, request.unit_cores, request.parameters[0] == 1
    # The hosts are not sorted: the amount of the last host that is needed is found by bisection.
    most = 0
    for host in range(host_free.size):
        most = max(most, host_free[host])
    most //= unit_cores  # in units
    whole = _below(host_free, (most + 1) * unit_cores, unit_cores)
    if whole < n_cores:
        return 0
    # The amounts in order: 1, 2, … units, or `most`, most - 1, … units.
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
    hi = lo + unit_cores  # hosts that offer lo … hi-1 provide of_last together; hosts before them provide all of theirs
    missing, n_out, host = n_cores, 0, 0
    while missing > 0:
        offered, here = host_free[host], 0
        if lo <= offered < hi:
            here = min(lo, of_last)
            of_last -= here
        elif (offered >= hi) if most_first else (unit_cores <= offered < lo):
            here = usable(offered, unit_cores)
        if here > 0:
            n_out, _ = free_lowest(
                request.words, request.starts, host_first[host], host_first[host + 1], here, n_out,
                request.out_lo, request.out_hi,
            )  # fmt: skip
            missing -= here
        host += 1
    return n_out


BEST_FIT = Allocator("best-fit", _place, countable=True, by_hosts=True, parameters=(0,))
WORST_FIT = Allocator("worst-fit", _place, countable=True, by_hosts=True, parameters=(1,))
