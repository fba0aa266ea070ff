"""Transfers under way between the hosts of one job, advanced from one change to the next.

A transfer between two hosts first pays its route's latency, in which it loads no link, and then shares the links with all
others that do (:mod:`als.network.sharing`); one within a host, or under a model without contention, takes a time that is
known at once. What is left of a transfer is worked out anew only when its rate changes, so that suspending an application
between two changes leaves no mark on it.

Transfers have a clock of their own: ns in float64, counted from where the part begins. Only what the application sees of
them, arrivals, is rounded to a whole ns. Were they ended at whole ns, each end would shift all others that share its
links, and these shifts add up.
"""

from __future__ import annotations

import math

import numpy as np

from als.network import state as n
from als.network.routes import MAX_ROUTE, link_bandwidth, link_latency_ns, route
from als.network.state import NetworkState
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2
from traces.kernels.state import State

__all__ = [
    "ARRIVED",
    "BEYOND",
    "FLYING",
    "INSTANT",
    "FlowState",
    "begin_flows",
    "cancel",
    "expect",
    "new_flow_state",
    "next_event",
    "next_flow_ns",
    "pop_flow",
    "send",
    "set_clock",
]

# What send() answers.
FLYING = 0
ARRIVED = 1  # it takes no time
BEYOND = 2  # it would arrive beyond the last instant

# Entries of FlowState.numbers.
USED = 0  # slots that were ever in use
FREE = 1  # first of the slots that are free again, or -1
EVENTS = 2  # size of the heap
LINKS = 3  # links that were ever in use
MASK = 4  # size of the hash table, less 1
STRIDE = 5  # entries of a slot
DIRTY = 6  # links whose transfers have changed since rates were worked out
STAMP = 7
BASE_NS = 8  # the instant from which the clock counts
NUMBERS = 9

# Entries of FlowState.clock.
NOW = 0  # everything before has been worked out
INSTANT = 1  # the point at which ends are taken one by one; NaN if none are

# Rows of FlowState.flow.
EDGE = 0
PHASE = 1
ENTRIES = 2
MARK = 3
NEXT_FREE = 4
FLOW_ROWS = 5

# Phases.
_FREE = 0
_LATENCY = 1
SHARING = 2
_TIMER = 3

# Rows of FlowState.amount.
LEFT = 0  # bytes
RATE = 1  # bytes per ns
BOUND = 2  # of x, bytes/s
PENALTY = 3
SHARE = 4  # x, bytes/s; work space
END = 5  # when the phase ends
LAST = 6  # as of when LEFT is
AMOUNT_ROWS = 7

# Rows of FlowState.link.
HEAD = 0  # first of its entries, or -1
LINK_MARK = 1
IS_DIRTY = 2
OPEN = 3  # entries of flows whose rate is not found yet; work space
LINK_ROWS = 4

# Rows of FlowState.room.
CAPACITY = 0  # bytes/s
ROOM = 1  # what is left of it; work space
USAGE = 2  # what raising the common level by 1 takes; work space
ROOM_ROWS = 3

#: Weight of a transfer on its way back, where the model has cross-traffic.
CROSS_WEIGHT = 0.05


class FlowState(State):
    """The transfers of one job of E edges; S slots for those under way, each with so many entries as a route has links.

    Attributes
    ----------
    numbers : int64 (NUMBERS,)
    clock : float64 (2,)
        ``NOW`` and ``INSTANT``; ns, as all instants here.
    event_at : float64, event_slot : int64
        Heap of phases' ends by (instant, slot); some are out of date (:func:`next_event` drops them).
    edge_slot : int64 (E,)
        Slot of an edge's transfer, or -1.
    flow : int64 (FLOW_ROWS, S)
    amount : float64 (AMOUNT_ROWS, S)
    entry_link, entry_next, entry_before : int64 (S * STRIDE,)
        Which links a transfer loads; the entries of a link are a list.
    entry_weight : float64 (S * STRIDE,)
    link : int64 (LINK_ROWS, L)
    room : float64 (ROOM_ROWS, L)
    table_key, table_link : int64
        Hash table from a link's key in the machine to its number here.
    dirty, flows, links : int64
        Work lists.
    keys : int64 (MAX_ROUTE,)
        Work space.
    """

    numbers: Ints
    clock: Floats
    event_at: Floats
    event_slot: Ints
    edge_slot: Ints
    flow: Ints2
    amount: Floats2
    entry_link: Ints
    entry_next: Ints
    entry_before: Ints
    entry_weight: Floats
    link: Ints2
    room: Floats2
    table_key: Ints
    table_link: Ints
    dirty: Ints
    flows: Ints
    links: Ints
    keys: Ints


def new_flow_state(n_edges: int, longest_route: int) -> FlowState:
    """Room for the transfers of up to ``n_edges`` edges on routes of up to ``longest_route`` links; memory that is never
    touched costs nothing."""
    entries = n_edges * 2 * longest_route
    table = 1 << max(4, (2 * entries - 1).bit_length()) if entries else 0
    events = 4 * n_edges + 64 if n_edges else 0

    def whole(*shape: int) -> Array:
        return np.empty(shape, np.int64)

    return FlowState(
        numbers=np.zeros(NUMBERS, np.int64),
        clock=np.zeros(2),
        event_at=np.empty(events),
        event_slot=whole(events),
        edge_slot=whole(n_edges),
        flow=whole(FLOW_ROWS, n_edges),
        amount=np.empty((AMOUNT_ROWS, n_edges)),
        entry_link=whole(entries),
        entry_next=whole(entries),
        entry_before=whole(entries),
        entry_weight=np.empty(entries),
        link=whole(LINK_ROWS, entries),
        room=np.empty((ROOM_ROWS, entries)),
        table_key=whole(table),
        table_link=whole(table),
        dirty=whole(entries),
        flows=whole(n_edges),
        links=whole(entries),
        keys=whole(MAX_ROUTE),
    )


@compiled(inner=True)
def begin_flows(flows: FlowState, n_edges: int, longest_route: int, t: int) -> None:
    """At ``t`` no transfer is under way, and none has been, of a job of ``n_edges`` edges."""
    numbers = flows.numbers
    numbers[:] = 0
    numbers[FREE] = -1
    numbers[STRIDE] = 2 * longest_route
    numbers[BASE_NS] = t
    flows.clock[NOW] = 0.0
    flows.clock[INSTANT] = math.nan
    size = 16
    while size < 2 * n_edges * numbers[STRIDE]:
        size *= 2
    numbers[MASK] = size - 1
    flows.table_link[:size] = -1
    flows.edge_slot[:n_edges] = -1


@compiled(inner=True)
def _link_number(flows: FlowState, net: NetworkState, key: int) -> int:
    """The number of the link of this key, a new one if it is not in the table."""
    numbers = flows.numbers
    mask = numbers[MASK]
    place = (key ^ (key >> 17)) * 40503 & mask
    while flows.table_link[place] >= 0:
        if flows.table_key[place] == key:
            return int(flows.table_link[place])
        place = (place + 1) & mask
    number = numbers[LINKS]
    numbers[LINKS] += 1
    flows.table_key[place] = key
    flows.table_link[place] = number
    flows.link[HEAD, number] = -1
    flows.link[LINK_MARK, number] = flows.link[IS_DIRTY, number] = 0
    flows.room[CAPACITY, number] = link_bandwidth(net, key)
    return int(number)


@compiled(inner=True)
def expect(flows: FlowState, slot: int) -> None:
    """Note when a transfer's present phase ends."""
    numbers = flows.numbers
    if numbers[EVENTS] == flows.event_at.size:
        # Full of what is out of date: keep one event for each transfer under way.
        size = 0
        for other in range(numbers[USED]):
            if flows.flow[PHASE, other] != _FREE and other != slot:
                size = heap_push(flows.event_at, flows.event_slot, size, flows.amount[END, other], other)
        numbers[EVENTS] = size
    numbers[EVENTS] = heap_push(flows.event_at, flows.event_slot, numbers[EVENTS], flows.amount[END, slot], slot)


@compiled(inner=True)
def soil(flows: FlowState, link: int) -> None:
    """The transfers over a link have changed."""
    if flows.link[IS_DIRTY, link] == 0:
        flows.link[IS_DIRTY, link] = 1
        flows.dirty[flows.numbers[DIRTY]] = link
        flows.numbers[DIRTY] += 1


@compiled(inner=True)
def _join(flows: FlowState, slot: int) -> None:
    """Let a transfer whose latency is paid share its links from now on."""
    first = slot * flows.numbers[STRIDE]
    flows.flow[PHASE, slot] = SHARING
    flows.amount[LAST, slot] = flows.clock[NOW]
    flows.amount[END, slot] = math.inf
    flows.flow[MARK, slot] = 0
    flows.amount[RATE, slot] = 0.0
    for entry in range(first, first + flows.flow[ENTRIES, slot]):
        link = flows.entry_link[entry]
        after = flows.link[HEAD, link]
        flows.entry_next[entry] = after
        flows.entry_before[entry] = -1
        if after >= 0:
            flows.entry_before[after] = entry
        flows.link[HEAD, link] = entry
        soil(flows, link)


@compiled(inner=True)
def _leave(flows: FlowState, slot: int) -> None:
    """Take a transfer from the lists of its links, whose rates must be found anew."""
    first = slot * flows.numbers[STRIDE]
    for entry in range(first, first + flows.flow[ENTRIES, slot]):
        link, before, after = flows.entry_link[entry], flows.entry_before[entry], flows.entry_next[entry]
        if before >= 0:
            flows.entry_next[before] = after
        else:
            flows.link[HEAD, link] = after
        if after >= 0:
            flows.entry_before[after] = before
        soil(flows, link)


@compiled(inner=True)
def _release(flows: FlowState, slot: int) -> None:
    """Free the place of a transfer that has ended."""
    if flows.flow[PHASE, slot] == SHARING:
        _leave(flows, slot)
    flows.edge_slot[flows.flow[EDGE, slot]] = -1
    flows.flow[PHASE, slot] = _FREE
    flows.flow[NEXT_FREE, slot] = flows.numbers[FREE]
    flows.numbers[FREE] = slot


@compiled(inner=True)
def _add_entries(flows: FlowState, net: NetworkState, slot: int, count: int, weight: float) -> None:
    """Enter the links of the route in ``flows.keys``; a link that the transfer loads already is loaded more."""
    first = slot * flows.numbers[STRIDE]
    for k in range(count):
        link = _link_number(flows, net, flows.keys[k])
        used = flows.flow[ENTRIES, slot]
        at = first
        while at < first + used and flows.entry_link[at] != link:
            at += 1
        if at < first + used:
            flows.entry_weight[at] += weight
        else:
            flows.entry_link[at] = link
            flows.entry_weight[at] = weight
            flows.flow[ENTRIES, slot] = used + 1


@compiled(inner=True)
def send(flows: FlowState, net: NetworkState, edge: int, source: int, target: int, n_bytes: float, t: int) -> int:
    """Begin the transfer of an edge's bytes between hosts of the machine at ``t``.

    Returns
    -------
    int
        ``FLYING``; ``ARRIVED`` if it takes no time; ``BEYOND`` if it would take longer than time lasts.
    """
    numbers, kind = flows.numbers, net.numbers[n.KIND]
    lowest, latency, links = math.inf, 0.0, 0
    if source == target:
        memory = net.amounts[n.MEMORY]
        if memory <= 0.0 or n_bytes == 0.0:
            return ARRIVED
        takes = n_bytes / (memory * net.amounts[n.BANDWIDTH_FACTOR]) * 1e9
    else:
        links = route(net, source, target, flows.keys)
        for k in range(links):
            lowest = min(lowest, link_bandwidth(net, flows.keys[k]))
            latency += link_latency_ns(net, flows.keys[k])
        takes = latency * net.amounts[n.LATENCY_FACTOR] if kind == n.SHARING else latency + n_bytes / lowest * 1e9
    if not takes < MAX_NS - t:
        return BEYOND
    shares = source != target and kind == n.SHARING
    if takes == 0.0 and not shares:
        return ARRIVED
    slot = numbers[FREE]
    if slot >= 0:
        numbers[FREE] = flows.flow[NEXT_FREE, slot]
    else:
        slot = numbers[USED]
        numbers[USED] += 1
    # What happens at t happens after what has happened in the half ns behind it, and was rounded to t.
    flows.clock[NOW] = max(flows.clock[NOW], float(t - numbers[BASE_NS]))
    flows.edge_slot[edge] = slot
    flows.flow[EDGE, slot] = edge
    flows.flow[ENTRIES, slot] = 0
    flows.amount[END, slot] = float(t - numbers[BASE_NS]) + takes
    flows.flow[PHASE, slot] = _TIMER
    if shares:
        flows.amount[LEFT, slot] = n_bytes
        penalty, bound = 1.0, lowest
        if latency > 0.0:
            penalty = latency * 1e-9
            for k in range(links):
                penalty += net.amounts[n.WEIGHT_S] / link_bandwidth(net, flows.keys[k])
            bound = min(bound, net.amounts[n.GAMMA] / (2.0 * latency * 1e-9))
        flows.amount[BOUND, slot] = bound
        flows.amount[PENALTY, slot] = penalty
        _add_entries(flows, net, slot, links, 1.0)
        if net.numbers[n.CROSSTRAFFIC] != 0:
            _add_entries(flows, net, slot, route(net, target, source, flows.keys), CROSS_WEIGHT)
        if takes == 0.0:
            _join(flows, slot)
            return FLYING
        flows.flow[PHASE, slot] = _LATENCY
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
    numbers = flows.numbers
    while numbers[EVENTS] > 0:
        slot = flows.event_slot[0]
        if flows.flow[PHASE, slot] != _FREE and flows.amount[END, slot] == flows.event_at[0]:
            return float(flows.event_at[0])
        numbers[EVENTS] = heap_drop_top(flows.event_at, flows.event_slot, numbers[EVENTS])
    return math.inf


@compiled(inner=True)
def next_flow_ns(flows: FlowState) -> int:
    """The same as an instant of the application, rounded half to even; ``MAX_NS`` if none does before time ends."""
    at = next_event(flows)
    base = flows.numbers[BASE_NS]
    return int(base + int(np.rint(at))) if at < MAX_NS - base else MAX_NS


@compiled(inner=True)
def pop_flow(flows: FlowState) -> int:
    """End the phase that :func:`next_event` has found; returns the edge whose bytes have arrived, or -1."""
    slot = flows.event_slot[0]
    flows.clock[NOW] = max(flows.clock[NOW], flows.event_at[0])
    flows.numbers[EVENTS] = heap_drop_top(flows.event_at, flows.event_slot, flows.numbers[EVENTS])
    if flows.flow[PHASE, slot] == _LATENCY:
        _join(flows, slot)
        return -1
    edge = flows.flow[EDGE, slot]
    _release(flows, slot)
    return int(edge)


@compiled(inner=True)
def set_clock(flows: FlowState, t: int) -> None:
    """It is ``t``, for what is done to transfers next."""
    flows.clock[NOW] = max(flows.clock[NOW], float(t - flows.numbers[BASE_NS]))
