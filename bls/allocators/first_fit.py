"""First fit: the lowest-numbered free cores.

With units of more than one core, a host provides at most its offered cores rounded down to a multiple of ``unit_cores``.
"""

from bls.allocators.contract import Allocator, PlacementRequest, allocator_kernel, take_in_order
from bls.availability.free_cores import free_lowest


@allocator_kernel
def _place(request: PlacementRequest) -> int:
    n_hosts, n_cores = request.host_first.size - 1, request.n_cores
    if request.unit_cores == 1:  # hosts do not matter; take_in_order would be slower
        words, starts, stop = request.words, request.starts, request.host_first[n_hosts]
        n_out, missing = free_lowest(words, starts, 0, stop, n_cores, 0, request.out_lo, request.out_hi)
        return n_out if missing == 0 else 0
    n_out, missing = take_in_order(request, 0, n_hosts, n_cores, 0)
    return n_out if missing == 0 else 0


FIRST_FIT = Allocator("first-fit", _place, countable=True)

LOWEST = Allocator("lowest", _place, countable=True)  #: the same rule under another name
