"""Transfers by themselves: when each arrives, without any application."""

import math

import numpy as np

from als.network.flows import ARRIVED, BEYOND, FlowState, begin_flows, new_flow_state, next_event, pop_flow, send
from als.network.routes import longest_route
from als.network.sharing import share
from als.network.state import NONE, NetworkState
from traces.base.errors import InputError
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Floats, Ints


def transfer_times(
    network: NetworkState,
    source: Array | list[int],
    target: Array | list[int],
    n_bytes: Array | list[float],
    start_ns: Array | list[int],
) -> Array:
    """Return when each of some transfers arrives, in ns, not rounded; ``inf`` if that is beyond the last instant.

    ``source`` and ``target`` are hosts of the machine (equal ones take the memory's time), ``n_bytes`` are finite and
    >= 0 (between two hosts no bytes take the latency), ``start_ns`` >= 0 in any order. Raises InputError if an argument
    is out of range.

    >>> from als.network import network_model, network_state
    >>> net = network_state(network_model("cm02:crosstraffic=no"), "full", hosts=2, bandwidth_gbps=8, latency_ns=0)
    >>> transfer_times(net, [0, 0], [1, 1], [100, 200], [0, 0]).tolist()  # two share 8 Gbit/s, a byte per ns
    [200.0, 300.0]
    """
    begins = own(start_ns, np.int64)
    here, there, amount = own(source, np.int64), own(target, np.int64), own(n_bytes, np.float64)
    n, hosts = len(begins), int(network.n_hosts)
    if begins.ndim != 1 or not here.shape == there.shape == amount.shape == begins.shape:
        raise InputError("transfers: allowed: as many sources, targets, bytes and starts")
    if n and not (min(here.min(), there.min()) >= 0 and max(here.max(), there.max()) < hosts):
        raise InputError(f"transfers: source, target: allowed: hosts 0 to {hosts - 1}")
    if not ((amount >= 0) & np.isfinite(amount)).all() or not ((begins >= 0) & (begins <= MAX_NS)).all():
        raise InputError(f"transfers: allowed: bytes from 0 on, finite, and starts from 0 to {MAX_NS} ns")
    arrives = begins.astype(np.float64)
    if n and network.kind != NONE:
        longest = int(longest_route(network))
        order = np.argsort(begins, kind="stable")
        _drive(new_flow_state(n, longest), network, longest, order, here, there, amount, begins, arrives)
    return arrives


@compiled()
def _drive(
    flows: FlowState,
    net: NetworkState,
    longest: int,
    order: Ints,
    source: Ints,
    target: Ints,
    n_bytes: Floats,
    start_ns: Ints,
    arrives: Floats,
) -> None:
    """Handle starts and ends of phases in their order; at one instant, starts come first."""
    n = len(order)
    begin_flows(flows, n, longest, start_ns[order[0]])
    base = flows.base_ns
    begun = 0
    while True:
        if flows.n_dirty > 0:
            share(flows, net)
        at = next_event(flows)
        if begun < n and float(start_ns[order[begun]] - base) <= at:
            k = order[begun]
            begun += 1
            answer = send(flows, net, k, source[k], target[k], n_bytes[k], start_ns[k])
            if answer == BEYOND:
                arrives[k] = math.inf
            elif answer == ARRIVED:
                arrives[k] = float(start_ns[k])
        elif at == math.inf:
            return
        else:
            k = pop_flow(flows)
            if k >= 0:
                arrives[k] = base + flows.now
