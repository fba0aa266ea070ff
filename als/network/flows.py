"""Transfers under way between the hosts of one job, simulated from one change to the next, and max-min fair sharing of links.

A transfer between two hosts first takes its route's latency, during which it loads no link. Then it shares the links with all
other transfers (:func:`share`). The time of a transfer within a host, or under a model without contention, is known when it
begins. Clocks are float64 ns since the beginning of the part. The bytes left of a transfer are computed only when its rate
changes, so suspending an application has no effect. Only arrivals are rounded to whole ns.

The shares of all transfers grow with a common level u, each with x = u / penalty, until a link is full or a transfer reaches
its own bound. The transfers of a full link keep their share from then on; the others continue (progressive filling). Link l is
full when Σ a x = its capacity, over the transfers that load it with weights a. When a transfer joins or leaves, only the rates
of transfers connected with it by shared links can change.

Source: Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2; weights, penalties and bounds as in SimGrid's CM02 and
LV08 models, Velho, Schnorr, Casanova and Legrand, "On the validity of flow-level TCP network models for grid and cloud
simulations", ACM TOMACS 23(4), 2013, doi:10.1145/2517448.
"""

import math

import numpy as np

from als.network import state as n
from als.network.routes import link_bandwidth, link_latency_ns, route
from als.network.state import FlowState, NetworkState
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.base.time import MAX_NS
from traces.compiled import compiled, reset_numbers

# Results of send(); ARRIVED: it takes no time; BEYOND: it would arrive after the last instant.
FLYING, ARRIVED, BEYOND = range(3)

# Phases.
_FREE, _LATENCY, SHARING, _TIMER = range(4)

CROSS_WEIGHT = 0.05  #: weight of a transfer on its reverse route, if the model has cross-traffic


@compiled(inner=True)
def begin_flows(flows: FlowState, n_edges: int, longest_route: int, t: int) -> None:
    """Reset the state at ``t`` for a job of ``n_edges`` edges, without transfers."""
    reset_numbers(flows)
    flows.stride = 2 * longest_route
    flows.base_ns = t
    size = 16
    while size < 2 * n_edges * flows.stride:
        size *= 2
    flows.mask = size - 1
    flows.table_link[:size] = -1
    flows.edge_slot[:n_edges] = -1


@compiled(inner=True)
def _link_number(flows: FlowState, net: NetworkState, key: int) -> int:
    """Return the number of the link with this key; add the link if it is new."""
    mask = flows.mask
    place = (key ^ (key >> 17)) * 40503 & mask
    while flows.table_link[place] >= 0:
        if flows.table_key[place] == key:
            return int(flows.table_link[place])
        place = (place + 1) & mask
    number = flows.n_links
    flows.n_links += 1
    flows.table_key[place] = key
    flows.table_link[place] = number
    flows.link.head[number] = -1
    flows.link.mark[number] = flows.link.is_dirty[number] = 0
    flows.link.capacity[number] = link_bandwidth(net, key)
    return int(number)


@compiled(inner=True)
def expect(flows: FlowState, slot: int) -> None:
    """Add the end of a transfer's present phase to the heap."""
    if flows.n_events == flows.event_at.size:
        # The heap is full of outdated events: keep one event for each transfer under way.
        size = 0
        for other in range(flows.n_used):
            if flows.flow.phase[other] != _FREE and other != slot:
                size = heap_push(flows.event_at, flows.event_slot, size, flows.flow.end_at[other], other)
        flows.n_events = size
    flows.n_events = heap_push(flows.event_at, flows.event_slot, flows.n_events, flows.flow.end_at[slot], slot)


@compiled(inner=True)
def soil(flows: FlowState, link: int) -> None:
    """Note that the transfers over a link have changed."""
    if flows.link.is_dirty[link] == 0:
        flows.link.is_dirty[link] = 1
        flows.dirty[flows.n_dirty] = link
        flows.n_dirty += 1


@compiled(inner=True)
def _join(flows: FlowState, slot: int) -> None:
    """Let a transfer share its links from now on, after its latency."""
    first = slot * flows.stride
    flows.flow.phase[slot] = SHARING
    flows.flow.last_at[slot] = flows.now
    flows.flow.end_at[slot] = math.inf
    flows.flow.mark[slot] = 0
    flows.flow.rate[slot] = 0.0
    for entry in range(first, first + flows.flow.entries[slot]):
        link = flows.entry_link[entry]
        after = flows.link.head[link]
        flows.entry_next[entry] = after
        flows.entry_before[entry] = -1
        if after >= 0:
            flows.entry_before[after] = entry
        flows.link.head[link] = entry
        soil(flows, link)


@compiled(inner=True)
def _leave(flows: FlowState, slot: int) -> None:
    """Remove a transfer from the lists of its links, whose rates must be computed again."""
    first = slot * flows.stride
    for entry in range(first, first + flows.flow.entries[slot]):
        link, before, after = flows.entry_link[entry], flows.entry_before[entry], flows.entry_next[entry]
        if before >= 0:
            flows.entry_next[before] = after
        else:
            flows.link.head[link] = after
        if after >= 0:
            flows.entry_before[after] = before
        soil(flows, link)


@compiled(inner=True)
def _release(flows: FlowState, slot: int) -> None:
    if flows.flow.phase[slot] == SHARING:
        _leave(flows, slot)
    flows.edge_slot[flows.flow.edge[slot]] = -1
    flows.flow.phase[slot] = _FREE
    flows.flow.next_free[slot] = flows.free_slot
    flows.free_slot = slot


@compiled(inner=True)
def _add_entries(flows: FlowState, net: NetworkState, slot: int, count: int, weight: float) -> None:
    """Enter the links of the route in ``flows.keys``; a link that the transfer already loads gets more load."""
    first = slot * flows.stride
    for k in range(count):
        link = _link_number(flows, net, flows.keys[k])
        used = flows.flow.entries[slot]
        at = first
        while at < first + used and flows.entry_link[at] != link:
            at += 1
        if at < first + used:
            flows.entry_weight[at] += weight
        else:
            flows.entry_link[at] = link
            flows.entry_weight[at] = weight
            flows.flow.entries[slot] = used + 1


@compiled(inner=True)
def send(flows: FlowState, net: NetworkState, edge: int, source: int, target: int, n_bytes: float, t: int) -> int:
    """Begin the transfer of an edge's bytes between hosts of the machine at ``t``. Returns ``FLYING``; ``ARRIVED`` if it takes
    no time; ``BEYOND`` if it would end after the last instant."""
    kind = net.kind
    lowest, latency, links = math.inf, 0.0, 0
    if source == target:
        memory = net.memory
        if memory <= 0.0 or n_bytes == 0.0:
            return ARRIVED
        takes = n_bytes / (memory * net.bandwidth_factor) * 1e9
    else:
        links = route(net, source, target, flows.keys)
        for k in range(links):
            lowest = min(lowest, link_bandwidth(net, flows.keys[k]))
            latency += link_latency_ns(net, flows.keys[k])
        takes = latency * net.latency_factor if kind == n.SHARING else latency + n_bytes / lowest * 1e9
    if not takes < MAX_NS - t:
        return BEYOND
    shares = source != target and kind == n.SHARING
    if takes == 0.0 and not shares:
        return ARRIVED
    slot = flows.free_slot
    if slot >= 0:
        flows.free_slot = flows.flow.next_free[slot]
    else:
        slot = flows.n_used
        flows.n_used += 1
    # An event at t comes after all events of the half ns after t, which were rounded to t.
    flows.now = max(flows.now, float(t - flows.base_ns))
    flows.edge_slot[edge] = slot
    flows.flow.edge[slot] = edge
    flows.flow.entries[slot] = 0
    flows.flow.end_at[slot] = float(t - flows.base_ns) + takes
    flows.flow.phase[slot] = _TIMER
    if shares:
        flows.flow.left[slot] = n_bytes
        penalty, bound = 1.0, lowest
        if latency > 0.0:
            penalty = latency * 1e-9
            for k in range(links):
                penalty += net.weight_s / link_bandwidth(net, flows.keys[k])
            bound = min(bound, net.gamma / (2.0 * latency * 1e-9))
        flows.flow.bound[slot] = bound
        flows.flow.penalty[slot] = penalty
        _add_entries(flows, net, slot, links, 1.0)
        if net.crosstraffic != 0:
            _add_entries(flows, net, slot, route(net, target, source, flows.keys), CROSS_WEIGHT)
        if takes == 0.0:
            _join(flows, slot)
            return FLYING
        flows.flow.phase[slot] = _LATENCY
    expect(flows, slot)
    return FLYING


@compiled(inner=True)
def cancel(flows: FlowState, edge: int) -> None:
    """End the transfer of an edge that is no longer needed, if it is under way."""
    slot = flows.edge_slot[edge]
    if slot >= 0:
        _release(flows, slot)


@compiled(inner=True)
def next_event(flows: FlowState) -> float:
    """Return the end of the next phase of a transfer, on the clock of the part, if rates are up to date; else ``inf``."""
    while flows.n_events > 0:
        slot = flows.event_slot[0]
        if flows.flow.phase[slot] != _FREE and flows.flow.end_at[slot] == flows.event_at[0]:
            return float(flows.event_at[0])
        flows.n_events = heap_drop_top(flows.event_at, flows.event_slot, flows.n_events)
    return math.inf


@compiled(inner=True)
def next_flow_ns(flows: FlowState) -> int:
    """Return the same as an instant of the application, rounded half to even; ``MAX_NS`` if none does."""
    at = next_event(flows)
    base = flows.base_ns
    return int(base + int(np.rint(at))) if at < MAX_NS - base else MAX_NS


@compiled(inner=True)
def pop_flow(flows: FlowState) -> int:
    """End the phase that :func:`next_event` has found; return the edge whose bytes have arrived, or -1."""
    slot = flows.event_slot[0]
    flows.now = max(flows.now, flows.event_at[0])
    flows.n_events = heap_drop_top(flows.event_at, flows.event_slot, flows.n_events)
    if flows.flow.phase[slot] == _LATENCY:
        _join(flows, slot)
        return -1
    edge = flows.flow.edge[slot]
    _release(flows, slot)
    return int(edge)


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
