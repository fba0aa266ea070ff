"""Max-min fair sharing of links: how fast each transfer is while several use the same links.

All transfers raise a common level u together, each with x = u / penalty, until a link is full, whose transfers stay as they
are from then on, or a transfer has reached its own bound; the others go on (progressive filling). Link l is full when
Σ a x = its capacity, over the transfers that load it with weights a.

A change, a transfer that joins or leaves, can alter the rates only of transfers that are connected with it by shared
links. :func:`share` finds these and works out no others.

Source: Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2; weights, penalties and bounds as in SimGrid's CM02 and
LV08 models, Velho, Schnorr, Casanova and Legrand, "On the validity of flow-level TCP network models for grid and cloud
simulations", ACM TOMACS 23(4), 2013, doi:10.1145/2517448.
"""

from __future__ import annotations

import math

from als.network import flows as f
from als.network import state as n
from als.network.flows import FlowState, expect
from als.network.state import NetworkState
from traces.compiled import compiled

__all__ = ["share"]


@compiled(inner=True)
def share(flows: FlowState, net: NetworkState) -> None:
    """Work out the rates, as of their clock, of all transfers that changes since the last time can have altered."""
    numbers = flows.numbers
    for k in range(numbers[f.DIRTY]):
        link = flows.dirty[k]
        if flows.link[f.IS_DIRTY, link] != 0:
            n_flows, n_links = _connected(flows, link)
            if n_flows > 0:
                _fill(flows, n_flows, n_links)
                _go_on(flows, n_flows, net.amounts[n.BANDWIDTH_FACTOR] * 1e-9)
    numbers[f.DIRTY] = 0


@compiled(inner=True)
def _connected(flows: FlowState, link: int) -> tuple[int, int]:
    """List all transfers and links that shared links connect with this one, in the work lists."""
    numbers = flows.numbers
    numbers[f.STAMP] += 1
    stamp, stride = numbers[f.STAMP], numbers[f.STRIDE]
    n_flows, n_links, at = 0, 1, 0
    flows.links[0] = link
    flows.link[f.LINK_MARK, link] = stamp
    while at < n_links:
        link = flows.links[at]
        at += 1
        flows.link[f.IS_DIRTY, link] = 0
        entry = flows.link[f.HEAD, link]
        while entry >= 0:
            slot = entry // stride
            if flows.flow[f.MARK, slot] != stamp:
                flows.flow[f.MARK, slot] = stamp
                flows.flows[n_flows] = slot
                n_flows += 1
                for other in range(slot * stride, slot * stride + flows.flow[f.ENTRIES, slot]):
                    another = flows.entry_link[other]
                    if flows.link[f.LINK_MARK, another] != stamp:
                        flows.link[f.LINK_MARK, another] = stamp
                        flows.links[n_links] = another
                        n_links += 1
            entry = flows.entry_next[entry]
    return n_flows, n_links


@compiled(inner=True)
def _fix(flows: FlowState, slot: int, x: float) -> None:
    """Fix the rate of a transfer: what it takes is no longer to be had."""
    penalty = flows.amount[f.PENALTY, slot]
    flows.amount[f.SHARE, slot] = x
    first = slot * flows.numbers[f.STRIDE]
    for entry in range(first, first + flows.flow[f.ENTRIES, slot]):
        link, weight = flows.entry_link[entry], flows.entry_weight[entry]
        flows.room[f.ROOM, link] -= weight * x
        flows.room[f.USAGE, link] -= weight / penalty
        flows.link[f.OPEN, link] -= 1


@compiled(inner=True)
def _fill(flows: FlowState, n_flows: int, n_links: int) -> None:
    """Fill progressively, over the work lists."""
    stride = flows.numbers[f.STRIDE]
    for k in range(n_links):
        link = flows.links[k]
        flows.room[f.ROOM, link] = flows.room[f.CAPACITY, link]
        flows.room[f.USAGE, link] = 0.0
        flows.link[f.OPEN, link] = 0
    bounded = math.inf  # the level at which the first transfer reaches its bound
    for k in range(n_flows):
        slot = flows.flows[k]
        penalty = flows.amount[f.PENALTY, slot]
        flows.amount[f.SHARE, slot] = -1.0
        bounded = min(bounded, flows.amount[f.BOUND, slot] * penalty)
        for entry in range(slot * stride, slot * stride + flows.flow[f.ENTRIES, slot]):
            link = flows.entry_link[entry]
            flows.room[f.USAGE, link] += flows.entry_weight[entry] / penalty
            flows.link[f.OPEN, link] += 1
    left = n_links
    while True:
        # The first link to be full; those with nothing open leave the list.
        level, full, k = math.inf, -1, 0
        while k < left:
            link = flows.links[k]
            if flows.link[f.OPEN, link] == 0:
                left -= 1
                flows.links[k], flows.links[left] = flows.links[left], link
                continue
            at = max(flows.room[f.ROOM, link], 0.0) / flows.room[f.USAGE, link]
            if at < level:
                level, full = at, link
            k += 1
        if full < 0:
            return
        if bounded <= level:
            reached, bounded = bounded, math.inf
            for k in range(n_flows):
                slot = flows.flows[k]
                if flows.amount[f.SHARE, slot] < 0.0:
                    own = flows.amount[f.BOUND, slot] * flows.amount[f.PENALTY, slot]
                    if own <= reached:
                        _fix(flows, slot, flows.amount[f.BOUND, slot])
                    else:
                        bounded = min(bounded, own)
            continue
        entry = flows.link[f.HEAD, full]
        while entry >= 0:
            slot = entry // stride
            if flows.amount[f.SHARE, slot] < 0.0:
                _fix(flows, slot, level / flows.amount[f.PENALTY, slot])
            entry = flows.entry_next[entry]


@compiled(inner=True)
def _go_on(flows: FlowState, n_flows: int, factor: float) -> None:
    """Go on at the new rates; the first transfer to end is expected, and then they are looked at again."""
    now, first, first_at = flows.clock[f.NOW], -1, math.inf
    for k in range(n_flows):
        slot = flows.flows[k]
        gone = (now - flows.amount[f.LAST, slot]) * flows.amount[f.RATE, slot]
        left = max(0.0, flows.amount[f.LEFT, slot] - gone)
        rate = flows.amount[f.SHARE, slot] * factor
        flows.amount[f.LEFT, slot], flows.amount[f.RATE, slot] = left, rate
        flows.amount[f.LAST, slot] = now
        end = now + left / rate if left > 0.0 else now
        flows.amount[f.END, slot] = end
        if first < 0 or end < first_at:
            first, first_at = slot, end
    expect(flows, first)
