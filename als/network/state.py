"""The state of a network: all that kernels need to find routes and to time transfers, in two short arrays."""

from __future__ import annotations

import numpy as np

from traces.kernels.signatures import Floats, Ints
from traces.kernels.state import State

__all__ = ["MAX_LEVELS", "MAX_ROUTE", "NO_NETWORK", "NetworkState"]

#: The most levels of switches that a fat-tree may have: a route goes up and down through all of them.
MAX_LEVELS = 8

#: The most links of a route.
MAX_ROUTE = 2 * MAX_LEVELS

# Entries of NetworkState.numbers.
KIND = 0
TOPOLOGY = 1
CROSSTRAFFIC = 2  # whether a flow loads the links of its way back, too
N_HOSTS = 3  # hosts of the machine
PARAMETERS = 4  # from here on: what the topology's own kernel knows to read
NUMBERS = PARAMETERS + 1 + 4 * MAX_LEVELS  # the fat-tree's are the most

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

# Entries of NetworkState.amounts.
LATENCY_NS = 0  # of the platform
BANDWIDTH = 1  # of the platform, bytes/s
LATENCY_FACTOR = 2  # what a route's latency is multiplied by
BANDWIDTH_FACTOR = 3  # how much of a flow's share of its links carries its bytes
WEIGHT_S = 4  # bytes; over a link's bandwidth, seconds that it adds to a flow's penalty
GAMMA = 5  # bytes under way at most: a flow's share is at most gamma over twice its route's latency
MEMORY = 6  # bytes/s within a host; 0: no time
AMOUNTS = 7


class NetworkState(State):
    """One network with its model.

    Attributes
    ----------
    numbers : int64 (NUMBERS,)
        See the names above.
    amounts : float64 (AMOUNTS,)
        See the names above.
    """

    numbers: Ints
    amounts: Floats


#: Where data are at once wherever they are needed.
NO_NETWORK = NetworkState(np.zeros(NUMBERS, np.int64), np.zeros(AMOUNTS))
