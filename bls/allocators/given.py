"""Exactly the cores that the job requests, when all of them are free (two-level paper, section 4.2).

A job that requests no cores by number cannot be placed. Nor can a job whose requested cores on some host are not a multiple of
``unit_cores``.
"""

from bls.allocators.contract import Allocator, PlacementRequest, allocator_kernel
from bls.availability.free_cores import free_all
from traces.compiled import compiled


@compiled(inner=True)
def _whole_units(request: PlacementRequest) -> bool:
    """Whether each host's share of the requested cores is a multiple of unit_cores."""
    host_first, wanted_lo, wanted_hi = request.host_first, request.wanted_lo, request.wanted_hi
    k = 0
    for host in range(host_first.size - 1):
        share = 0
        while k < wanted_lo.size and wanted_lo[k] < host_first[host + 1]:
            share += min(wanted_hi[k], host_first[host + 1]) - max(wanted_lo[k], host_first[host])
            if wanted_hi[k] > host_first[host + 1]:
                break
            k += 1
        if share % request.unit_cores != 0:
            return False
    return True


@allocator_kernel
def _place(request: PlacementRequest) -> int:
    wanted_lo, wanted_hi = request.wanted_lo, request.wanted_hi
    for k in range(wanted_lo.size):
        if not free_all(request.words, wanted_lo[k], wanted_hi[k]):
            return 0
        request.out_lo[k], request.out_hi[k] = wanted_lo[k], wanted_hi[k]
    if request.unit_cores > 1 and not _whole_units(request):
        return 0
    return int(wanted_lo.size)


GIVEN = Allocator("given", _place)
