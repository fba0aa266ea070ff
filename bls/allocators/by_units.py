"""Allocators that place a job unit by unit, each unit on the host with the lowest score, ties by number.

What is left on a host counts before the unit takes its part, except for ``tightest``; it is the least during the slot.

- ``pack-gpus``: what is left of the host's GPUs; then its free cores. GPUs with the least left come first.
- ``spread``: the most of both; GPUs do not matter for units without GPUs. GPUs with the most left come first.
- ``tightest``: what would be left of cores, GPUs and every other resource, each in parts per million of the largest host's,
  summed. GPUs with the least left come first.
"""

import numpy as np

from bls.allocators.contract import PLACE, Allocator, HostAmounts, PlacementRequest
from bls.availability.free_cores import free_lowest
from traces.compiled import Array, compiled

_NEVER = 2**63 - 1  #: the score of a host without room
_PACK, _SPREAD, _TIGHTEST = range(3)
_PPM = 10**6


@compiled(inner=True)
def _gpus_of(more: HostAmounts, units: int) -> int:
    """The number of GPUs that one more unit takes of a host with some units of the job."""
    return int(more.gpus_per_host if more.gpus == 0 and units == 0 else more.gpus)


@compiled(inner=True)
def _parts(more: HostAmounts, host: int) -> tuple[int, int]:
    """The numbers of the host's first GPU, and of the next host's."""
    return (0, 0) if more.gpu_first.size == 0 else (more.gpu_first[host], more.gpu_first[host + 1])


@compiled(inner=True)
def _score(
    request: PlacementRequest, cores: Array, amounts: Array, left: Array, most: Array, host: int, units: int
) -> int:
    """The score of a host for one more unit, where ``units`` are already. ``most``: cores and GPUs of the largest hosts."""
    more, unit_cores, rule = request.more, request.unit_cores, request.parameters[0]
    first, stop = _parts(more, host)
    if cores[host] < unit_cores:
        return _NEVER
    n, resources, score = _gpus_of(more, units), more.needs.size, 0
    for r in range(resources):
        rest = amounts[host * resources + r] - more.needs[r]
        if more.needs[r] > 0 and rest < 0:
            return _NEVER
        if rule == _TIGHTEST and more.most[r] > 0:
            score += max(rest, 0) * _PPM // more.most[r]
    able = total = 0
    for gpu in range(first, stop):
        total += left[gpu]
        able += left[gpu] >= more.gpu_milli
    if n > 0 and (able < n or (more.gpu_kinds >> more.gpu_kind[host]) & 1 == 0):
        return _NEVER
    if rule == _PACK:
        return int((total << 31) + cores[host])
    if rule == _SPREAD:
        return int(-((total << 31) * min(n, 1) + cores[host]))
    score += (cores[host] - unit_cores) * _PPM // most[0]
    if most[1] > 0:
        score += (total - n * more.gpu_milli) * _PPM // (1000 * most[1])
    return int(score)


@compiled(inner=True)
def _take_gpus(request: PlacementRequest, left: Array, first: int, stop: int, n: int) -> None:
    """Append n GPUs of a host to the answer, by what is left of them, ties by number."""
    more, sign = request.more, -1 if request.parameters[0] == _SPREAD else 1
    begin = more.n_gpus
    for _ in range(n):
        best = -1
        for gpu in range(first, stop):
            able = left[gpu] >= more.gpu_milli
            for k in range(begin, more.n_gpus):
                able = able and more.out_gpu[k] != gpu
            if able and (best < 0 or sign * left[gpu] < sign * left[best]):
                best = gpu
        more.out_gpu[more.n_gpus] = best
        more.n_gpus += 1
    for k in range(begin, more.n_gpus):
        left[more.out_gpu[k]] -= more.gpu_milli


@compiled(PLACE, makes_arrays=True)
def _place(request: PlacementRequest) -> int:
    more, unit_cores, host_first = request.more, request.unit_cores, request.host_first
    cores, amounts, left = request.host_free.copy(), more.amounts.copy(), more.gpu_left.copy()
    n_hosts, resources = cores.size, more.needs.size
    units, score = np.zeros(n_hosts, np.int64), np.zeros(n_hosts, np.int64)
    more.n_gpus = n_out = 0
    most = np.zeros(2, np.int64)
    for host in range(n_hosts):
        first, stop = _parts(more, host)
        most[0], most[1] = max(most[0], host_first[host + 1] - host_first[host]), max(most[1], stop - first)
    for host in range(n_hosts):
        score[host] = _score(request, cores, amounts, left, most, host, 0)
    for _ in range(request.n_cores // unit_cores):
        best = 0
        for host in range(n_hosts):
            best = host if score[host] < score[best] else best
        if score[best] == _NEVER:
            return 0
        first, stop = _parts(more, best)
        _take_gpus(request, left, first, stop, _gpus_of(more, units[best]))
        cores[best] -= unit_cores
        for r in range(resources):
            amounts[best * resources + r] -= more.needs[r]
        units[best] += 1
        score[best] = _score(request, cores, amounts, left, most, best, units[best])
    for host in range(n_hosts):
        if units[host] > 0:
            lo, hi, here = host_first[host], host_first[host + 1], units[host] * unit_cores
            n_out, _ = free_lowest(request.words, request.starts, lo, hi, here, n_out, request.out_lo, request.out_hi)
    return n_out


PACK_GPUS = Allocator("pack-gpus", _place, by_hosts=True, by_units=True, parameters=(_PACK,))
SPREAD = Allocator("spread", _place, by_hosts=True, by_units=True, parameters=(_SPREAD,))
TIGHTEST = Allocator("tightest", _place, by_hosts=True, by_units=True, parameters=(_TIGHTEST,))
