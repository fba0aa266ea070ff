"""Max-min fair sharing of links: the rate of each transfer while several use the same links.

The shares of all transfers grow with a common level u, each with x = u / penalty, until a link is full or a transfer reaches
its own bound. The transfers of a full link keep their share from then on; the others continue (progressive filling). Link l is
full when Σ a x = its capacity, over the transfers that load it with weights a. When a transfer joins or leaves, only the rates
of transfers connected with it by shared links can change.

Source: Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2; weights, penalties and bounds as in SimGrid's CM02 and
LV08 models, Velho, Schnorr, Casanova and Legrand, "On the validity of flow-level TCP network models for grid and cloud
simulations", ACM TOMACS 23(4), 2013, doi:10.1145/2517448.
"""

import math

from als.network.flows import FlowState, expect
from als.network.state import NetworkState
from traces.compiled import compiled


@compiled(inner=True)
def share(flows: FlowState, net: NetworkState) -> None:
    """Compute the rates of all transfers that may have changed since the last call, at the present clock."""
    for k in range(flows.n_dirty):
        link = flows.dirty[k]
        if flows.link.is_dirty[link] != 0:
            n_flows, n_links = _connected(flows, link)
            if n_flows > 0:
                _fill(flows, n_flows, n_links)
                _go_on(flows, n_flows, net.bandwidth_factor * 1e-9)
    flows.n_dirty = 0


@compiled(inner=True)
def _connected(flows: FlowState, link: int) -> tuple[int, int]:
    """List all transfers and links connected with this link by shared links, in the work lists."""
    flows.stamp += 1
    stamp, stride = flows.stamp, flows.stride
    n_flows, n_links, at = 0, 1, 0
    flows.links[0] = link
    flows.link.mark[link] = stamp
    while at < n_links:
        link = flows.links[at]
        at += 1
        flows.link.is_dirty[link] = 0
        entry = flows.link.head[link]
        while entry >= 0:
            slot = entry // stride
            if flows.flow.mark[slot] != stamp:
                flows.flow.mark[slot] = stamp
                flows.flows[n_flows] = slot
                n_flows += 1
                for other in range(slot * stride, slot * stride + flows.flow.entries[slot]):
                    another = flows.entry_link[other]
                    if flows.link.mark[another] != stamp:
                        flows.link.mark[another] = stamp
                        flows.links[n_links] = another
                        n_links += 1
            entry = flows.entry_next[entry]
    return n_flows, n_links


@compiled(inner=True)
def _fix(flows: FlowState, slot: int, x: float) -> None:
    """Fix the rate of a transfer, and subtract it from the links' capacity."""
    penalty = flows.flow.penalty[slot]
    flows.flow.share[slot] = x
    first = slot * flows.stride
    for entry in range(first, first + flows.flow.entries[slot]):
        link, weight = flows.entry_link[entry], flows.entry_weight[entry]
        flows.link.room[link] -= weight * x
        flows.link.usage[link] -= weight / penalty
        flows.link.open[link] -= 1


@compiled(inner=True)
def _fill(flows: FlowState, n_flows: int, n_links: int) -> None:
    """Fill progressively, over the work lists."""
    stride = flows.stride
    for k in range(n_links):
        link = flows.links[k]
        flows.link.room[link] = flows.link.capacity[link]
        flows.link.usage[link] = 0.0
        flows.link.open[link] = 0
    bounded = math.inf  # the level at which the first transfer reaches its bound
    for k in range(n_flows):
        slot = flows.flows[k]
        penalty = flows.flow.penalty[slot]
        flows.flow.share[slot] = -1.0
        bounded = min(bounded, flows.flow.bound[slot] * penalty)
        for entry in range(slot * stride, slot * stride + flows.flow.entries[slot]):
            link = flows.entry_link[entry]
            flows.link.usage[link] += flows.entry_weight[entry] / penalty
            flows.link.open[link] += 1
    left = n_links
    while True:
        # The first link to be full; links without open entries leave the list.
        level, full, k = math.inf, -1, 0
        while k < left:
            link = flows.links[k]
            if flows.link.open[link] == 0:
                left -= 1
                flows.links[k], flows.links[left] = flows.links[left], link
                continue
            at = max(flows.link.room[link], 0.0) / flows.link.usage[link]
            if at < level:
                level, full = at, link
            k += 1
        if full < 0:
            return
        if bounded <= level:
            reached, bounded = bounded, math.inf
            for k in range(n_flows):
                slot = flows.flows[k]
                if flows.flow.share[slot] < 0.0:
                    own = flows.flow.bound[slot] * flows.flow.penalty[slot]
                    if own <= reached:
                        _fix(flows, slot, flows.flow.bound[slot])
                    else:
                        bounded = min(bounded, own)
            continue
        entry = flows.link.head[full]
        while entry >= 0:
            slot = entry // stride
            if flows.flow.share[slot] < 0.0:
                _fix(flows, slot, level / flows.flow.penalty[slot])
            entry = flows.entry_next[entry]


@compiled(inner=True)
def _go_on(flows: FlowState, n_flows: int, factor: float) -> None:
    """Continue at the new rates, and expect the end of the first transfer; then the transfers are inspected again."""
    now, first, first_at = flows.now, -1, math.inf
    for k in range(n_flows):
        slot = flows.flows[k]
        gone = (now - flows.flow.last_at[slot]) * flows.flow.rate[slot]
        left = max(0.0, flows.flow.left[slot] - gone)
        rate = flows.flow.share[slot] * factor
        flows.flow.left[slot], flows.flow.rate[slot] = left, rate
        flows.flow.last_at[slot] = now
        end = now + left / rate if left > 0.0 else now
        flows.flow.end_at[slot] = end
        if first < 0 or end < first_at:
            first, first_at = slot, end
    expect(flows, first)
