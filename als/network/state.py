"""The state of a network: all that kernels need to find routes and to time transfers."""

from collections.abc import Sequence
from typing import Any

from traces.compiled import compiled
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column

#: The most levels of switches that a fat-tree may have: a route goes up and down through all of them.
MAX_LEVELS = 8

#: The most links of a route.
MAX_ROUTE = 2 * MAX_LEVELS

#: Room for what a topology's own kernel reads; the fat-tree's numbers are the most.
PARAMETERS = 1 + 4 * MAX_LEVELS

# Kinds of models.
NONE = 0  # data are there at once
HOCKNEY = 1  # latency and bytes over bandwidth, whoever else sends
SHARING = 2  # flows share links

# Topologies.
FULL = 0
SHARED = 1
STAR = 2
FAT_TREE = 3
DRAGONFLY = 4


class NetworkState(State):
    """One network with its model."""

    kind: int = NONE  # of its model: NONE, HOCKNEY or SHARING
    topology: int = FULL  # FULL … DRAGONFLY
    crosstraffic: int = 0  # 1 where a flow loads the links of its way back, too
    n_hosts: int = 0  # of the machine
    latency_ns: float = 0.0  # of the platform
    bandwidth: float = 0.0  # of the platform, bytes/s
    latency_factor: float = 0.0  # what a route's latency is multiplied by
    bandwidth_factor: float = 0.0  # how much of a flow's share of its links carries its bytes
    weight_s: float = 0.0  # bytes; over a link's bandwidth, seconds that it adds to a flow's penalty
    gamma: float = 0.0  # bytes under way at most: a flow's share is at most gamma over twice its route's latency
    memory: float = 0.0  # bytes/s within a host; 0: no time
    parameters: Ints = column(PARAMETERS)  # what the topology's own kernel knows to read


def new_network(parameters: Sequence[int], **numbers: float) -> NetworkState:
    """A network, with what its topology's kernel reads."""
    network = NetworkState.new({}, **numbers)
    network.parameters[: len(parameters)] = parameters
    return network


#: Where data are at once wherever they are needed.
NO_NETWORK = new_network(())


def message_ns(host: Any, first_host: Any, latency_ns: int) -> Any:
    """Time of a message between a core, or several, and the master, one way, ns: 0 on the host of the master. The master is
    on the host of the application's first core; ``latency_ns`` is the time between two hosts."""
    return latency_ns * (host != first_host)


message_ns_in_kernels = compiled(merged=True)(message_ns)
