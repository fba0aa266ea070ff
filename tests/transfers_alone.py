"""The arrival of transfers without any application, by the kernels of :mod:`als.network`."""

import math
from collections.abc import Sequence

import numpy as np

from als.network.flows import ARRIVED, BEYOND, begin_flows, next_event, pop_flow, send, share
from als.network.routes import longest_route
from als.network.state import NONE, FlowState, NetworkState, flow_sizes
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints


def transfer_times(
    network: NetworkState,
    source: Sequence[int],
    target: Sequence[int],
    n_bytes: Sequence[float],
    start_ns: Sequence[int],
) -> Array:
    """Return when each transfer arrives, in ns, not rounded; ``inf`` if that is beyond the last instant."""
    here, there, begins = (np.array(column, np.int64) for column in (source, target, start_ns))
    arrives = begins.astype(np.float64)
    if len(begins) and network.kind != NONE:
        longest, order = int(longest_route(network)), np.argsort(begins, kind="stable")
        flows = FlowState.new(flow_sizes(len(begins), longest))
        _drive(flows, network, longest, order, here, there, np.array(n_bytes, np.float64), begins, arrives)
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
