"""Contiguous: the lowest run of ``n_cores`` consecutive free cores.

A run may continue from the last core of a host to the first of the next. With units of more than one core, it must give a
multiple of ``unit_cores`` on each host.
"""

from bls.allocators.contract import Allocator, PlacementRequest, allocator_kernel
from bls.availability.free_cores import free_run, free_stop
from traces.compiled import compiled


@compiled(inner=True)
def _whole_units(request: PlacementRequest, core: int, stop: int) -> int:
    """The lowest begin >= core of a run of n_cores cores up to `stop` with whole units on each host; -1 if there is none."""
    host_first, n_cores, unit_cores = request.host_first, request.n_cores, request.unit_cores
    host = 0
    while core + n_cores <= stop:
        while host_first[host + 1] <= core:
            host += 1
        end = host_first[host + 1]
        if core + n_cores <= end:
            return core
        core += (end - core) % unit_cores
        if core == end:
            continue
        if core + n_cores > stop:
            return -1
        # The cores on the last host are whole units if those on all hosts before it are.
        split = host + 1
        while host_first[split + 1] < core + n_cores and (host_first[split + 1] - end) % unit_cores == 0:
            split += 1
        if host_first[split + 1] >= core + n_cores:
            return core
        core = end
    return -1


@allocator_kernel
def _place(request: PlacementRequest) -> int:
    words, starts, n_cores = request.words, request.starts, request.n_cores
    core = free_run(words, starts, 0, n_cores)
    while core >= 0 and request.unit_cores > 1:
        stop = free_stop(words, core, request.host_first[request.host_first.size - 1])
        begin = _whole_units(request, core, stop)
        if begin >= 0:
            core = begin
            break
        core = free_run(words, starts, stop, n_cores)
    if core < 0:
        return 0
    request.out_lo[0], request.out_hi[0] = core, core + n_cores
    return 1


CONTIGUOUS = Allocator("contiguous", _place)
