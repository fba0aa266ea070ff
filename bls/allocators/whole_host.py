"""Whole hosts (exclusive): no host is shared.

Hosts all of whose cores are offered are taken by number until together they have ``n_cores`` cores; the job holds all the
cores of all of them, the last one's too. A host counts for its cores, or for as many as its other resources allow,
rounded down to a multiple of ``unit_cores``; one that counts for none is passed over.
"""

from bls.allocators.contract import Allocator, PlacementRequest, allocator_kernel, usable
from bls.availability.free_cores import free_all


@allocator_kernel
def _place(request: PlacementRequest) -> int:
    host_first, out_lo, out_hi = request.host_first, request.out_lo, request.out_hi
    n_out = 0
    missing = request.n_cores
    for host in range(host_first.size - 1):
        lo = host_first[host]
        hi = host_first[host + 1]
        counts = usable(min(request.host_free[host], hi - lo), request.unit_cores)
        if counts == 0 or not free_all(request.words, lo, hi):
            continue
        if n_out > 0 and out_hi[n_out - 1] == lo:
            out_hi[n_out - 1] = hi
        else:
            out_lo[n_out] = lo
            out_hi[n_out] = hi
            n_out += 1
        missing -= counts
        if missing <= 0:
            return n_out
    return 0


WHOLE_HOST = Allocator("whole-host", _place, by_hosts=True, whole_hosts=True)
