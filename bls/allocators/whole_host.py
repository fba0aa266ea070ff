"""Whole hosts (exclusive): no host is shared.

Completely free hosts are taken by number until together they have ``n_cores`` cores; the job holds all their cores. A host
counts for as many cores as its other resources allow, rounded down to a multiple of ``unit_cores``.
"""

from bls.allocators.contract import Allocator, PlacementRequest, allocator_kernel, usable
from bls.availability.free_cores import free_all


@allocator_kernel
def _place(request: PlacementRequest) -> int:
    host_first, out_lo, out_hi = request.host_first, request.out_lo, request.out_hi
    n_out, missing = 0, request.n_cores
    for host in range(host_first.size - 1):
        lo, hi = host_first[host], host_first[host + 1]
        counts = usable(min(request.host_free[host], hi - lo), request.unit_cores)
        if counts == 0 or not free_all(request.words, lo, hi):
            continue
        if n_out > 0 and out_hi[n_out - 1] == lo:
            out_hi[n_out - 1] = hi
        else:
            out_lo[n_out], out_hi[n_out] = lo, hi
            n_out += 1
        missing -= counts
        if missing <= 0:
            return n_out
    return 0


WHOLE_HOST = Allocator("whole-host", _place, by_hosts=True, whole_hosts=True)
