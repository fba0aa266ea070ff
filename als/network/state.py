"""The state of a network: all that kernels need to find routes and to time transfers."""

from collections.abc import Sequence
from typing import Any

from traces.compiled import compiled
from traces.kernels.signatures import Ints
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


def message_ns(host: Any, first_host: Any, latency_ns: int) -> Any:
    """Return the time of a message between a core, or several, and the master, one way, ns: 0 on the master's host, which is
    the host of the application's first core; ``latency_ns`` is the time between two hosts."""
    return latency_ns * (host != first_host)


message_ns_in_kernels = compiled(merged=True)(message_ns)
