"""Random: cores drawn from the free cores; each set of ``n_cores`` is equally likely.

Units are drawn. The offered cores of each host, ascending, form groups of ``unit_cores``, without the remainder; the groups of
all hosts, ascending, are numbered 0 … m-1. Of these u = n_cores / unit_cores are drawn by Floyd's algorithm: for j = m-u, …,
m-1, take the number drawn from 0 … j, or j itself if that number has been taken already. The job can be placed if m >= u.

The k-th number drawn (k = 1 … u) is (x >> 1) mod (j + 1), where x is the k-th output of splitmix64 from the state
mix(mix(seed) xor number): x = mix(state + k · 0x9E3779B97F4A7C15), modulo 2**64, with splitmix64's

    mix(z): z = (z xor z >> 30) · 0xBF58476D1CE4E5B9;  z = (z xor z >> 27) · 0x94D049BB133111EB;  z xor z >> 31

So the cores of a job depend on the seed, its number and the offered cores, not on earlier placements.

The only parameter is the run's seed. Numbers below 0 count modulo 2**63.

Sources: R. W. Floyd and J. Bentley, CACM 30(9), 1987, doi:10.1145/30401.315746; G. L. Steele, D. Lea and C. H. Flood,
OOPSLA 2014, doi:10.1145/2660193.2660195.
"""

from typing import Any

import numpy as np

from bls.allocators.contract import PLACE, Allocator, PlacementRequest
from bls.availability.free_cores import bits_of, free_count, lowest_bit
from traces.compiled import Array, compiled

# Products and sums modulo 2**64 are computed in 32-bit halves without overflow, of which numpy would warn without the JIT.
_U27, _U30, _U31, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_U1, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_POSITIVE = 2**63 - 1


@compiled(inner=True)
def _sum(a: Any, b: Any) -> Any:
    low = (a & _LOW) + (b & _LOW)
    return np.uint64(((((a >> _U32) + (b >> _U32) + (low >> _U32)) & _LOW) << _U32) | (low & _LOW))


@compiled(inner=True)
def _product(a: Any, b: Any) -> Any:
    low = (a & _LOW) * (b & _LOW)
    high = (((a >> _U32) * (b & _LOW)) & _LOW) + (((a & _LOW) * (b >> _U32)) & _LOW) + (low >> _U32)
    return np.uint64(((high & _LOW) << _U32) | (low & _LOW))


@compiled(inner=True)
def _mix(z: Any) -> Any:
    """The function ``mix`` of splitmix64."""
    z = _product(z ^ (z >> _U30), _FIRST)
    z = _product(z ^ (z >> _U27), _SECOND)
    return z ^ (z >> _U31)


@compiled(inner=True, makes_arrays=True)
def _draw(seed: int, number: int, n: int, of: int) -> Array:
    """The n numbers drawn from 0 … of-1, as a set of bits."""
    drawn = np.zeros((of + 31) >> 5, np.int64)
    state = _mix(_mix(np.uint64(seed & _POSITIVE)) ^ np.uint64(number & _POSITIVE))
    for j in range(of - n, of):
        state = _sum(state, _STEP)
        k = int(_mix(state) >> _U1) % (j + 1)
        if (drawn[k >> 5] >> (k & 31)) & 1 != 0:
            k = j
        drawn[k >> 5] |= 1 << (k & 31)
    return drawn


@compiled(inner=True)
def _cores_of_units(request: PlacementRequest, units: Array, drawn: Array) -> int:
    """Write the cores of the drawn units as intervals; returns their number. Host h has the units units[h] … units[h+1]-1."""
    words, begins, unit_cores = request.words, request.host_first, request.unit_cores
    out_lo, out_hi = request.out_lo, request.out_hi
    n_out, end, host, word = 0, -1, -1, 0
    rest = 0  # the cores of this word that have not been passed
    passed = 0  # number of offered cores of the host that have been passed
    for group in range(drawn.size):
        bits = drawn[group]
        while bits != 0:
            unit = (group << 5) + lowest_bit(bits)
            bits &= bits - 1
            while host < 0 or unit >= units[host + 1]:
                host += 1
                word = begins[host] >> 5
                rest = words[word] & ~((1 << (begins[host] & 31)) - 1)
                passed = 0
            first = (unit - units[host]) * unit_cores
            for place in range(first, first + unit_cores):
                here = bits_of(rest)
                while place >= passed + here:
                    passed += here
                    word += 1
                    rest = words[word]
                    here = bits_of(rest)
                for _ in range(place - passed):
                    rest &= rest - 1
                core = (word << 5) + lowest_bit(rest)
                rest &= rest - 1
                passed = place + 1
                if core == end:
                    out_hi[n_out - 1] = core + 1
                else:
                    out_lo[n_out], out_hi[n_out] = core, core + 1
                    n_out += 1
                end = core + 1
    return n_out


@compiled(PLACE, makes_arrays=True)
def _place(request: PlacementRequest) -> int:
    words, host_first, unit_cores = request.words, request.host_first, request.unit_cores
    # If units are single cores, hosts do not matter: the machine counts as one host.
    n_hosts = 1 if unit_cores == 1 else host_first.size - 1
    units = np.zeros(n_hosts + 1, np.int64)
    for host in range(n_hosts):
        stop = host_first[host_first.size - 1] if unit_cores == 1 else host_first[host + 1]
        units[host + 1] = units[host] + free_count(words, host_first[host], stop) // unit_cores
    if units[n_hosts] * unit_cores < request.n_cores:
        return 0
    drawn = _draw(request.parameters[0], request.number, request.n_cores // unit_cores, units[n_hosts])
    return _cores_of_units(request, units, drawn)


RANDOM = Allocator("random", _place, countable=True, asks=("seed",))
