"""The state of a network, all that kernels need to find routes and to time transfers, and that of a job's transfers."""

import math
from collections.abc import Sequence
from typing import Any

from traces.compiled import compiled
from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State, column

MAX_LEVELS = 8  #: largest number of levels of a fat-tree: a route goes up and down through all of them
MAX_ROUTE = 2 * MAX_LEVELS  #: largest number of links of a route
PARAMETERS = 1 + 4 * MAX_LEVELS  #: room for the numbers of a topology's own kernel; the fat-tree has the most

# Kinds of models: data arrive at once; latency and bytes over bandwidth, independent of other transfers; flows share links.
NONE, HOCKNEY, SHARING = range(3)

# Topologies.
FULL, SHARED, STAR, FAT_TREE, DRAGONFLY = range(5)


class NetworkState(State):
    """One network with its model."""

    kind: int = NONE  # kind of its model: NONE, HOCKNEY or SHARING
    topology: int = FULL  # FULL … DRAGONFLY
    crosstraffic: int = 0  # 1: a flow also loads the links of the reverse route
    n_hosts: int = 0  # hosts of the machine
    latency_ns: float = 0.0  # latency of a link of the platform
    bandwidth: float = 0.0  # bandwidth of a link of the platform, bytes/s
    latency_factor: float = 0.0  # factor of a route's latency
    bandwidth_factor: float = 0.0  # share of a flow's bandwidth that carries its bytes
    weight_s: float = 0.0  # bytes; divided by a link's bandwidth: seconds added to a flow's penalty
    gamma: float = 0.0  # limit of the bytes under way: a flow's share is at most gamma over twice its route's latency
    memory: float = 0.0  # bytes/s within a host; 0: no time
    parameters: Ints = column(PARAMETERS)  # the numbers of the topology's own kernel


def new_network(parameters: Sequence[int], **numbers: float) -> NetworkState:
    """Return a network with the numbers of its topology's kernel."""
    network = NetworkState.new({}, **numbers)
    network.parameters[: len(parameters)] = parameters
    return network


NO_NETWORK = new_network(())  #: the network on which all data arrive at once


class Flows(State, dim="flows"):
    """One slot per transfer under way."""

    edge: Ints = column()  # its edge
    phase: Ints = column()  # latency, sharing of links, or a known time
    entries: Ints = column()  # number of links that it loads
    mark: Ints = column()  # the last search that found it; work space
    next_free: Ints = column()  # the next free slot, -1
    left: Floats = column()  # bytes left
    rate: Floats = column()  # bytes per ns
    bound: Floats = column()  # upper limit of its share, bytes/s
    penalty: Floats = column()  # its share is the common level divided by this
    share: Floats = column()  # its share, bytes/s; work space
    end_at: Floats = column()  # end of the phase
    last_at: Floats = column()  # instant for which ``left`` holds


class Links(State, dim="entries"):
    """The links that transfers have loaded so far."""

    head: Ints = column()  # first of its entries, or -1
    mark: Ints = column()  # the last search that found it; work space
    is_dirty: Ints = column()  # 1 if its transfers have changed since rates were computed
    open: Ints = column()  # entries of flows whose rate is not known yet; work space
    capacity: Floats = column()  # bytes/s
    room: Floats = column()  # unused capacity; work space
    usage: Floats = column()  # capacity used per unit of the common level; work space


class FlowState(State):
    """The transfers of one job of E edges; S slots for those under way, each with one entry per link of the longest route."""

    n_used: int = 0  # slots used so far
    free_slot: int = -1  # first free slot among them, or -1
    n_events: int = 0  # size of the heap
    n_links: int = 0  # links used so far
    mask: int = 0  # size of the hash table, less 1
    stride: int = 0  # entries of a slot
    n_dirty: int = 0  # links whose transfers have changed since rates were computed
    stamp: int = 0  # number of the latest search for connected links
    base_ns: int = 0  # origin of the clock
    now: float = 0.0  # everything before is done
    instant: float = math.nan  # instant whose ends are being handled one by one; NaN: none
    # Heap of phases' ends by (instant, slot); some are out of date (``als.network.flows.next_event`` drops them)
    event_at: Floats = column("events")
    event_slot: Ints = column("events")
    edge_slot: Ints = column("flows")  # slot of an edge's transfer, or -1
    # One slot per transfer under way
    flow: Flows = column()
    entry_link: Ints = column("entries")  # the links that a transfer loads, from slot · stride on
    # The entries of a link are a list: the next one, and the one before
    entry_next: Ints = column("entries")
    entry_before: Ints = column("entries")
    entry_weight: Floats = column("entries")  # load of the transfer on the link
    # The links that transfers have loaded so far
    link: Links = column()
    # Hash table from a link's key in the machine to its number here
    table_key: Ints = column("table")
    table_link: Ints = column("table")
    dirty: Ints = column("entries")  # work list: links whose transfers have changed
    flows: Ints = column("flows")  # work list: slots of transfers connected by shared links
    links: Ints = column("entries")  # work list: these links
    keys: Ints = column(MAX_ROUTE)  # work space: the keys of a route


def flow_sizes(n_edges: int, longest_route: int) -> dict[str, int]:
    """Return the sizes, by dimension, for transfers of up to ``n_edges`` edges on routes of up to ``longest_route`` links."""
    entries = n_edges * 2 * longest_route
    table = 1 << max(4, (2 * entries - 1).bit_length()) if entries else 0
    return {"flows": n_edges, "events": 4 * n_edges + 64 if n_edges else 0, "entries": entries, "table": table}


def message_ns(host: Any, first_host: Any, latency_ns: int) -> Any:
    """Return the time of a message between a core, or several, and the master, one way, ns: 0 on the master's host, which is
    the host of the application's first core; ``latency_ns`` is the time between two hosts."""
    return latency_ns * (host != first_host)


message_ns_in_kernels = compiled(merged=True)(message_ns)
