"""Allocators that place a job unit by unit, each unit on the host with the lowest score, ties by number.

What is left on a host counts before the unit takes its part, except for ``tightest``; it is the least during the slot.

- ``pack-gpus``: what is left of the host's GPUs; then its free cores. GPUs with the least left come first.
- ``spread``: the most of both; GPUs do not matter for units without GPUs. GPUs with the most left come first.
- ``tightest``: what would be left of cores, GPUs and every other resource, each in parts per million of the largest host's,
  summed. GPUs with the least left come first.
- ``fgd``: how much the fragmentation of the host's GPUs grows. A single GPU, or a share, is the one with which it grows least;
  of several, which are whole, the lowest ones are taken.

Fragmentation is the sum, over all jobs of the workload, of the parts left of a host's GPUs that one more unit of the job could
not use.

Source: Q. Weng et al., "Beware of fragmentation: scheduling GPU-sharing workloads with fragmentation gradient descent",
USENIX ATC 2023.
"""

import math
from dataclasses import dataclass

import numpy as np

from bls.allocators.contract import PLACE, Allocator, HostAmounts, PlacementRequest, accepts
from bls.availability.free_cores import free_lowest
from traces.base.errors import whole
from traces.compiled import Array, compiled

_NEVER = 2**63 - 1  #: the score of a host without room
_PACK, _SPREAD, _TIGHTEST, _FGD = range(4)
_PPM = 10**6
_SIGNS = (1, -1, 1, 0)  #: by rule: GPUs with the least left first, or the most; or the lowest ones


@compiled(inner=True)
def _gpus_of(more: HostAmounts, units: int) -> int:
    """The number of GPUs that one more unit takes of a host with some units of the job."""
    return int(more.gpus_per_host if more.gpus == 0 and units == 0 else more.gpus)


@compiled(inner=True)
def _parts(more: HostAmounts, host: int) -> tuple[int, int]:
    """The numbers of the host's first GPU, and of the next host's."""
    return (0, 0) if more.gpu_first.size == 0 else (more.gpu_first[host], more.gpu_first[host + 1])


@compiled(inner=True)
def _fragments(request: PlacementRequest, cores: Array, amounts: Array, left: Array, host: int, units: int) -> int:
    """The sum over all jobs of the thousandths of ``left``, of a host's GPUs, that one more unit of the job could not use.
    ``units``: units of the request that the host has taken before."""
    more, resources, total, found = request.more, request.more.needs.size, left.sum(), 0
    classes, free = more.classes, cores[host] - units * request.unit_cores
    for c in range(classes.shape[0]):
        n, milli = classes[c, 2] + classes[c, 3], classes[c, 4]
        fits = n > 0 and free >= classes[c, 1] and accepts(classes[c, 5], more.gpu_kind[host])
        for r in range(resources):
            room = amounts[host * resources + r] - units * more.needs[r]
            fits = fits and max(room, 0) >= classes[c, 6 + r]
        able = useless = 0
        for gpu in range(left.size):
            able += left[gpu] >= milli
            useless += left[gpu] if left[gpu] < milli else 0
        found += classes[c, 0] * (useless if fits and able >= n else total)
    return int(found)


@compiled(inner=True, makes_arrays=True)
def _growth(request: PlacementRequest, cores: Array, amounts: Array, left: Array, host: int, n: int) -> tuple[int, int]:
    """The least score of a unit on a host that has room for it, and the GPU from which on it takes the lowest n that can."""
    more, bounds = request.more, request.parameters[1:]
    first, stop = _parts(more, host)
    before, jobs = _fragments(request, cores, amounts, left[first:stop], host, 0), more.classes[:, 0].sum()
    best, best_gpu = _NEVER, first
    for gpu in range(first, max(stop, first + 1)):
        if n == 1 and (left[gpu] < more.gpu_milli or (gpu > first and left[gpu] == left[gpu - 1])):
            continue
        after, missing = left[first:stop].copy(), n
        for k in range(gpu - first, after.size):
            if missing > 0 and after[k] >= more.gpu_milli:
                after[k] -= more.gpu_milli
                missing -= 1
        score = _fragments(request, cores, amounts, after, host, 1) - before
        if bounds.size > 0:  # the number of bounds that the mean over the jobs exceeds
            score = (score * _PPM > jobs * bounds).sum()
        if score < best:
            best, best_gpu = score, gpu
        if n != 1:
            break
    return best, best_gpu


@compiled(inner=True)
def _put(row: Array, k: int, value: int) -> bool:
    """Write an entry of the memo; returns whether it had this value."""
    same, row[k] = row[k] == value, value
    return bool(same)


@compiled(inner=True)
def _known_growth(request: PlacementRequest, cores: Array, amounts: Array, left: Array, host: int, n: int) -> int:
    """The same score, from the memo if it was computed for this unit and what is left of the host: most are as before."""
    more, resources = request.more, request.more.needs.size
    if more.classes.shape[0] == 0:
        return 0
    (first, stop), unit = _parts(more, host), 2 * more.own_class + min(n, 1)
    row = more.memo[(unit * cores.size + host) % more.memo.shape[0]]
    same = _put(row, 1, unit)
    same = _put(row, 2, cores[host]) and same
    for r in range(resources):
        same = _put(row, 3 + r, amounts[host * resources + r]) and same
    for k in range(stop - first):
        same = _put(row, 3 + resources + k, left[first + k]) and same
    if not same:
        row[0] = _growth(request, cores, amounts, left, host, n)[0]
    return int(row[0])


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
    if n > 0 and (able < n or not accepts(more.gpu_kinds, more.gpu_kind[host])):
        return _NEVER
    if rule == _FGD:
        return _known_growth(request, cores, amounts, left, host, n)
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
    more, sign = request.more, _SIGNS[request.parameters[0]]
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
        n = _gpus_of(more, units[best])
        if request.parameters[0] == _FGD and n > 0:
            first = _growth(request, cores, amounts, left, best, n)[1]
        _take_gpus(request, left, first, stop, n)
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


@dataclass(frozen=True)
class FragmentationDescent:
    """``fgd``; the change of fragmentation, the mean over the jobs, may be rounded as in the authors' simulator."""

    name: str = "fgd"
    #: The score is ⌊scores · σ(-Δ / 1000)⌋, σ the logistic function, Δ the change in thousandths; 0: Δ itself.
    scores: int = 0

    def allocator(self) -> Allocator:
        """The allocator. Raises InputError if ``scores`` is out of range."""
        if self.scores != 0:
            whole("allocator fgd: scores", self.scores, 2, 1000)
        # Each score is reached by changes up to a bound, here in millionths of a thousandth.
        bounds = [int(1000 * _PPM * math.log((self.scores - k) / k) // 1) for k in range(self.scores - 1, 0, -1)]
        rule = (_FGD, *bounds)
        return Allocator("fgd", _place, by_hosts=True, by_units=True, by_classes=True, parameters=rule, options=self)


FGD = FragmentationDescent().allocator()
