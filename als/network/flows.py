"""Transfers under way between the hosts of one job, advanced from one change to the next.

A transfer between two hosts first pays its route's latency, in which it loads no link, and then shares the links with all
others that do (:mod:`als.network.sharing`); one within a host, or under a model without contention, takes a time that is
known at once. Their clock is float64 ns from where the part begins, and what is left of a transfer is computed only when its
rate changes: so suspending an application leaves no mark, and only arrivals are rounded to whole ns, without shifting other
ends."""

import math

import numpy as np

from als.network import state as n
from als.network.routes import MAX_ROUTE, link_bandwidth, link_latency_ns, route
from als.network.state import NetworkState
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.base.time import MAX_NS
from traces.compiled import compiled, reset_numbers
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State, column

# What send() answers.
FLYING = 0
ARRIVED = 1  # it takes no time
BEYOND = 2  # it would arrive beyond the last instant

# Phases.
_FREE = 0
_LATENCY = 1
SHARING = 2
_TIMER = 3

#: Weight of a transfer on its way back, where the model has cross-traffic.
CROSS_WEIGHT = 0.05


class Flows(State, dim="flows"):
    """A slot for each transfer under way."""

    edge: Ints = column()  # whose transfer it is
    phase: Ints = column()  # latency, sharing of links, or a time that is known
    entries: Ints = column()  # how many links it loads
    mark: Ints = column()  # the search that found it last; work space
    next_free: Ints = column()  # the next slot that is free, -1
    left: Floats = column()  # bytes that are left
    rate: Floats = column()  # bytes per ns
    bound: Floats = column()  # the most that its share may be, bytes/s
    penalty: Floats = column()  # what a common level is divided by, to give its share
    share: Floats = column()  # its share, bytes/s; work space
    end_at: Floats = column()  # when the phase ends
    last_at: Floats = column()  # as of when ``left`` is


class Links(State, dim="entries"):
    """The links that transfers have loaded so far."""

    head: Ints = column()  # first of its entries, or -1
    mark: Ints = column()  # the search that found it last; work space
    is_dirty: Ints = column()  # 1 where its transfers have changed since rates were worked out
    open: Ints = column()  # entries of flows whose rate is not found yet; work space
    capacity: Floats = column()  # bytes/s
    room: Floats = column()  # what is left of it; work space
    usage: Floats = column()  # what raising the common level by 1 takes; work space


class FlowState(State):
    """The transfers of one job of E edges; S slots for those under way, each with so many entries as a route has links.

    Instants are ns from where the part begins.
    """

    n_used: int = 0  # slots that were ever in use
    free_slot: int = -1  # first of the slots that are free again, or -1
    n_events: int = 0  # size of the heap
    n_links: int = 0  # links that were ever in use
    mask: int = 0  # size of the hash table, less 1
    stride: int = 0  # entries of a slot
    n_dirty: int = 0  # links whose transfers have changed since rates were worked out
    stamp: int = 0  # number of the latest search for what shared links connect
    base_ns: int = 0  # the instant from which the clock counts
    now: float = 0.0  # everything before has been worked out
    instant: float = math.nan  # the point at which ends are taken one by one; NaN if none are
    # Heap of phases' ends by (instant, slot); some are out of date (:func:`next_event` drops them)
    event_at: Floats = column("events")
    event_slot: Ints = column("events")
    edge_slot: Ints = column("flows")  # slot of an edge's transfer, or -1
    # A slot for each transfer under way
    flow: Flows = column()
    entry_link: Ints = column("entries")  # which links a transfer loads, from slot · stride on
    # The entries of a link are a list: the next one, and the one before
    entry_next: Ints = column("entries")
    entry_before: Ints = column("entries")
    entry_weight: Floats = column("entries")  # how much a transfer loads the link
    # The links that transfers have loaded so far
    link: Links = column()
    # Hash table from a link's key in the machine to its number here
    table_key: Ints = column("table")
    table_link: Ints = column("table")
    dirty: Ints = column("entries")  # work list: links whose transfers have changed
    flows: Ints = column("flows")  # work list: slots of transfers that shared links connect
    links: Ints = column("entries")  # work list: these links
    keys: Ints = column(MAX_ROUTE)  # work space: the keys of a route


def flow_sizes(n_edges: int, longest_route: int) -> dict[str, int]:
    """Room for the transfers of up to ``n_edges`` edges on routes of up to ``longest_route`` links, by dimension."""
    entries = n_edges * 2 * longest_route
    table = 1 << max(4, (2 * entries - 1).bit_length()) if entries else 0
    return {"flows": n_edges, "events": 4 * n_edges + 64 if n_edges else 0, "entries": entries, "table": table}


def new_flow_state(n_edges: int, longest_route: int) -> FlowState:
    """A state with such room; memory that is never touched costs nothing."""
    return FlowState.new(flow_sizes(n_edges, longest_route))


@compiled(inner=True)
def begin_flows(flows: FlowState, n_edges: int, longest_route: int, t: int) -> None:
    """At ``t`` no transfer is under way, and none has been, of a job of ``n_edges`` edges."""
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
    """The number of the link of this key, a new one if it is not in the table."""
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
    """Note when a transfer's present phase ends."""
    if flows.n_events == flows.event_at.size:
        # Full of what is out of date: keep one event for each transfer under way.
        size = 0
        for other in range(flows.n_used):
            if flows.flow.phase[other] != _FREE and other != slot:
                size = heap_push(flows.event_at, flows.event_slot, size, flows.flow.end_at[other], other)
        flows.n_events = size
    flows.n_events = heap_push(flows.event_at, flows.event_slot, flows.n_events, flows.flow.end_at[slot], slot)


@compiled(inner=True)
def soil(flows: FlowState, link: int) -> None:
    """The transfers over a link have changed."""
    if flows.link.is_dirty[link] == 0:
        flows.link.is_dirty[link] = 1
        flows.dirty[flows.n_dirty] = link
        flows.n_dirty += 1


@compiled(inner=True)
def _join(flows: FlowState, slot: int) -> None:
    """Let a transfer whose latency is paid share its links from now on."""
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
    """Take a transfer from the lists of its links, whose rates must be found anew."""
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
    """Free the place of a transfer that has ended."""
    if flows.flow.phase[slot] == SHARING:
        _leave(flows, slot)
    flows.edge_slot[flows.flow.edge[slot]] = -1
    flows.flow.phase[slot] = _FREE
    flows.flow.next_free[slot] = flows.free_slot
    flows.free_slot = slot


@compiled(inner=True)
def _add_entries(flows: FlowState, net: NetworkState, slot: int, count: int, weight: float) -> None:
    """Enter the links of the route in ``flows.keys``; a link that the transfer loads already is loaded more."""
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
    """Begin the transfer of an edge's bytes between hosts of the machine at ``t``. Returns int: ``FLYING``; ``ARRIVED``
    if it takes no time; ``BEYOND`` if it would take longer than time lasts."""
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
    # What happens at t happens after what has happened in the half ns behind it, and was rounded to t.
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
    """End the transfer of an edge, if it is under way: nobody waits for it any more."""
    slot = flows.edge_slot[edge]
    if slot >= 0:
        _release(flows, slot)


@compiled(inner=True)
def next_event(flows: FlowState) -> float:
    """When the next phase of a transfer ends, on their clock, if rates are up to date; ``inf`` if none does."""
    while flows.n_events > 0:
        slot = flows.event_slot[0]
        if flows.flow.phase[slot] != _FREE and flows.flow.end_at[slot] == flows.event_at[0]:
            return float(flows.event_at[0])
        flows.n_events = heap_drop_top(flows.event_at, flows.event_slot, flows.n_events)
    return math.inf


@compiled(inner=True)
def next_flow_ns(flows: FlowState) -> int:
    """The same as an instant of the application, rounded half to even; ``MAX_NS`` if none does before time ends."""
    at = next_event(flows)
    base = flows.base_ns
    return int(base + int(np.rint(at))) if at < MAX_NS - base else MAX_NS


@compiled(inner=True)
def pop_flow(flows: FlowState) -> int:
    """End the phase that :func:`next_event` has found; returns the edge whose bytes have arrived, or -1."""
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
def set_clock(flows: FlowState, t: int) -> None:
    """It is ``t``, for what is done to transfers next."""
    flows.now = max(flows.now, float(t - flows.base_ns))
