"""Topology-aware: few leaf switches, as Slurm's topology/tree plug-in chooses them.

docs/reference/batch-allocators.md ("Allocators") defines the three steps: the switch, the leaf switches below it, and their
hosts. Usable cores are the offered cores of a host, rounded down to a multiple of ``unit_cores``. The whole machine counts
as a switch above all others; without switches it is the only leaf. Step 2 uses the smallest possible number of leaf switches
below the switch of step 1.

Source: Slurm's Topology Guide, https://slurm.schedmd.com/topology.html ("best fit" of the lowest-level switch that can
satisfy the request; within it the leaf switches by best fit).
"""

import numpy as np

from bls.allocators.contract import PLACE, Allocator, PlacementRequest, take_in_order, usable
from traces.algorithms.sorting import sort_first
from traces.compiled import Array, compiled


@compiled(inner=True, makes_arrays=True)
def _by_amount(leaf_lo: Array, leaf_hi: Array, sums: Array, lo: int, hi: int) -> tuple[Array, Array]:
    """The leaf switches at places lo … hi-1, most usable cores first, ties by number; and their usable cores."""
    n_leaves = leaf_lo.size
    keys = np.empty(n_leaves, np.int64)
    n = 0
    for leaf in range(n_leaves):
        if leaf_lo[leaf] >= lo and leaf_hi[leaf] <= hi:
            keys[n] = (sums[leaf_lo[leaf]] - sums[leaf_hi[leaf]]) * n_leaves + leaf
            n += 1
    sort_first(keys, n)
    order, amount = np.empty(n, np.int64), np.empty(n, np.int64)
    for k in range(n):
        order[k], amount[k] = keys[k] % n_leaves, -(keys[k] // n_leaves)
    return order, amount


@compiled(inner=True, makes_arrays=True)
def _within(leaf_lo: Array, leaf_hi: Array, sums: Array, lo: int, hi: int, n_cores: int, limit: int) -> bool:
    _, amount = _by_amount(leaf_lo, leaf_hi, sums, lo, hi)
    total = 0
    for k in range(min(limit, amount.size)):
        total += amount[k]
    return total >= n_cores


@compiled(inner=True, makes_arrays=True)
def _switch(request: PlacementRequest, leaf_lo: Array, leaf_hi: Array, sums: Array) -> tuple[int, int]:
    """Step 1: the places of the switch's hosts; (0, 0) if no switch is suitable."""
    switch_lo, switch_hi, level = request.switch_lo, request.switch_hi, request.switch_level
    n_cores, limit = request.n_cores, request.limit
    stop = 0
    while stop < switch_lo.size:
        first = stop
        while stop < switch_lo.size and level[stop] == level[first]:
            stop += 1
        found, fewest = -1, 0
        for switch in range(first, stop):
            lo, hi = switch_lo[switch], switch_hi[switch]
            amount = sums[hi] - sums[lo]
            if amount < n_cores or (found >= 0 and amount >= fewest):
                continue
            if limit == 0 or _within(leaf_lo, leaf_hi, sums, lo, hi, n_cores, limit):
                found, fewest = switch, amount
        if found >= 0:
            return switch_lo[found], switch_hi[found]
    n_hosts = sums.size - 1
    if sums[n_hosts] < n_cores or (limit > 0 and not _within(leaf_lo, leaf_hi, sums, 0, n_hosts, n_cores, limit)):
        return 0, 0
    return 0, n_hosts


@compiled(inner=True, makes_arrays=True)
def _shares(leaf_lo: Array, leaf_hi: Array, sums: Array, lo: int, hi: int, n_cores: int) -> Array:
    """Step 2: the number of cores that each leaf switch provides."""
    share = np.zeros(leaf_lo.size, np.int64)
    order, amount = _by_amount(leaf_lo, leaf_hi, sums, lo, hi)
    missing, k = n_cores, 0
    while missing > 0:
        best = k
        for other in range(k + 1, order.size):
            if amount[other] < missing:
                break
            if amount[other] < amount[best]:  # the first of equals stays
                best = other
        share[order[best]] = min(missing, amount[best])
        missing -= share[order[best]]
        k += 1
    return share


@compiled(PLACE, makes_arrays=True)
def _place(request: PlacementRequest) -> int:
    host_free, hosts, unit_cores = request.host_free, request.switch_hosts, request.unit_cores
    n_hosts, n_leaves = host_free.size, 0
    while n_leaves < request.switch_level.size and request.switch_level[n_leaves] == 0:
        n_leaves += 1
    leaf_of = np.zeros(n_hosts, np.int64)
    sums = np.zeros(n_hosts + 1, np.int64)  # usable cores of the hosts at the places before each
    if n_leaves > 0:
        leaf_lo, leaf_hi = request.switch_lo[:n_leaves], request.switch_hi[:n_leaves]
        for leaf in range(n_leaves):
            for place in range(leaf_lo[leaf], leaf_hi[leaf]):
                leaf_of[hosts[place]] = leaf
        for place in range(n_hosts):
            sums[place + 1] = sums[place] + usable(host_free[hosts[place]], unit_cores)
    else:
        leaf_lo, leaf_hi = np.zeros(1, np.int64), np.full(1, n_hosts, np.int64)
        for host in range(n_hosts):
            sums[host + 1] = sums[host] + usable(host_free[host], unit_cores)
    lo, hi = _switch(request, leaf_lo, leaf_hi, sums)
    if lo == hi:
        return 0
    share = _shares(leaf_lo, leaf_hi, sums, lo, hi, request.n_cores)
    n_out, host = 0, 0
    while host < n_hosts:  # hosts on one leaf together provide the cores taken from it
        first = host
        while host < n_hosts and leaf_of[host] == leaf_of[first]:
            host += 1
        if share[leaf_of[first]] > 0:
            n_out, share[leaf_of[first]] = take_in_order(request, first, host, share[leaf_of[first]], n_out)
    return n_out


TOPOLOGY = Allocator("topology", _place, countable=True, by_hosts=True)
