"""The links of a transfer, their bandwidth and latency. Each link has a unique key, an int64; the two directions of a
split-duplex link are two links."""

import math

from als.network import state as net_state
from als.network.state import NetworkState
from als.network.topologies.dragonfly import dragonfly_cables, dragonfly_route
from als.network.topologies.fat_tree import LEVELS, fat_tree_route
from traces.compiled import Array, compiled

ALL_PAIRS = 16  #: with more hosts, mean costs are estimated from fewer than all pairs


@compiled(inner=True)
def route(net: NetworkState, src: int, dst: int, keys: Array) -> int:
    """Write the keys of the links from host ``src`` to another host ``dst`` to ``keys``, int64 (at least MAX_ROUTE,), in the
    order of the route; return their number, 1 to MAX_ROUTE."""
    kind = net.topology
    if kind == net_state.FULL:
        keys[0] = src * net.n_hosts + dst
        return 1
    if kind == net_state.SHARED:
        keys[0] = min(src, dst) * net.n_hosts + max(src, dst)
        return 1
    if kind == net_state.STAR:
        keys[0], keys[1] = 2 * src, 2 * dst + 1
        return 2
    if kind == net_state.FAT_TREE:
        return fat_tree_route(net.parameters, src, dst, keys)
    return dragonfly_route(net.parameters, src, dst, keys)


@compiled()
def longest_route(net: NetworkState) -> int:
    """Return the largest number of links of a route."""
    kind = net.topology
    if kind == net_state.STAR:
        return 2
    if kind == net_state.DRAGONFLY:
        return 7
    return int(2 * net.parameters[LEVELS]) if kind == net_state.FAT_TREE else 1


@compiled(inner=True)
def link_bandwidth(net: NetworkState, key: int) -> float:
    """Bandwidth of a link in bytes/s."""
    cables = dragonfly_cables(net.parameters, key) if net.topology == net_state.DRAGONFLY else 1
    return float(net.bandwidth * cables)


@compiled(inner=True)
def link_latency_ns(net: NetworkState, key: int) -> float:
    """Latency of a link in ns."""
    return float(net.latency_ns * (0.5 if net.topology == net_state.STAR else 1.0))


@compiled(inner=True)
def add_costs(net: NetworkState, src: int, dst: int, keys: Array, out: Array) -> None:
    """Add the costs of one transfer without contention: latency in s, s per byte."""
    n, latency, share = route(net, src, dst, keys), 0.0, math.inf
    for i in range(n):
        latency += link_latency_ns(net, keys[i])
        share = min(share, link_bandwidth(net, keys[i]))
    latency /= 1e9
    if net.kind == net_state.SHARING and latency > 0.0:
        share = min(share, net.gamma / (2.0 * latency))
    out[0] += net.latency_factor * latency
    out[1] += 1.0 / (net.bandwidth_factor * share)


@compiled(inner=True)
def mean_costs(net: NetworkState, host_number: Array, n_hosts: int, keys: Array, out: Array) -> None:
    """Write a scheduler's estimates of a job's transfer costs to ``out``: mean latency of a transfer between two hosts in s,
    its mean s per byte, and s per byte within a host. Means are over all ordered pairs of up to ``ALL_PAIRS`` hosts, whose
    numbers in the machine are ``host_number``; with more hosts, over the pairs (h, h + n_hosts // 2), modulo n_hosts. ``keys``
    is work space."""
    out[0] = out[1] = out[2] = 0.0
    if net.kind == net_state.NONE:
        return
    if net.memory > 0.0:
        out[2] = 1.0 / (net.bandwidth_factor * net.memory)
    pairs = 0
    if n_hosts <= ALL_PAIRS:
        for i in range(n_hosts):
            for j in range(n_hosts):
                if i != j:
                    add_costs(net, host_number[i], host_number[j], keys, out)
                    pairs += 1
    else:
        for i in range(n_hosts):
            add_costs(net, host_number[i], host_number[(i + n_hosts // 2) % n_hosts], keys, out)
            pairs += 1
    if pairs > 0:
        out[0] /= pairs
        out[1] /= pairs
