"""The network's inner kernels, as Python can call them."""

from __future__ import annotations

import numpy as np

from als.network import NetworkState, network_model, network_state
from als.network.routes import MAX_ROUTE, link_bandwidth, link_latency_ns, mean_costs, route, route_latency_ns
from traces.compiled import Array, compiled

__all__ = ["call_costs", "call_link", "call_route", "network"]


@compiled()
def _route(net: NetworkState, src: int, dst: int, keys: Array) -> int:
    return route(net, src, dst, keys)


@compiled()
def _route_latency_ns(net: NetworkState, src: int, dst: int, keys: Array) -> float:
    return route_latency_ns(net, src, dst, keys)


@compiled()
def _link(net: NetworkState, key: int) -> tuple[float, float]:
    return link_bandwidth(net, key), link_latency_ns(net, key)


@compiled()
def _mean_costs(net: NetworkState, host_number: Array, n_hosts: int, keys: Array, out: Array) -> None:
    mean_costs(net, host_number, n_hosts, keys, out)


def network(
    topology: str,
    hosts: int,
    model: str = "cm02",
    *,
    bandwidth_gbps: float = 8.0,
    latency_ns: float = 1000.0,
    memory_gbps: float | None = None,
) -> NetworkState:
    """A network of links of 1e9 bytes/s and 1000 ns, unless it is said."""
    return network_state(
        network_model(model),
        topology,
        hosts=hosts,
        bandwidth_gbps=bandwidth_gbps,
        latency_ns=latency_ns,
        memory_gbps=memory_gbps,
    )


def call_route(net: NetworkState, src: int, dst: int) -> list[int]:
    """The keys of a route; what is behind them stays untouched."""
    keys = np.full(MAX_ROUTE + 1, -7, np.int64)
    n = _route(net, src, dst, keys)
    assert 1 <= n <= MAX_ROUTE
    assert (keys[n:] == -7).all()
    latency = sum(call_link(net, key)[1] for key in keys[:n].tolist())
    assert _route_latency_ns(net, src, dst, keys) == latency
    found: list[int] = keys[:n].tolist()
    return found


def call_link(net: NetworkState, key: int) -> tuple[float, float]:
    """Bandwidth in bytes/s and latency in ns of a link."""
    bandwidth, latency = _link(net, key)
    return float(bandwidth), float(latency)


def call_costs(net: NetworkState, hosts: list[int]) -> list[float]:
    """Mean latency in s, mean s per byte, s per byte within a host."""
    out = np.full(3, np.nan)
    _mean_costs(net, np.array(hosts, np.int64), len(hosts), np.zeros(MAX_ROUTE, np.int64), out)
    costs: list[float] = out.tolist()
    return costs
