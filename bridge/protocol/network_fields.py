"""A network as a start tells it: every number of its model and of the platform's links, and the topology as it is written."""

from __future__ import annotations

import functools
from typing import Final, Literal

import numpy as np

from als.network import state as n
from als.network import topology
from als.network.state import NetworkState
from bridge.protocol.messages import Network

__all__ = ["network_of", "state_of"]

_KINDS: Final[dict[int, Literal["none", "hockney", "sharing"]]] = {
    n.NONE: "none",
    n.HOCKNEY: "hockney",
    n.SHARING: "sharing",
}
_CODES: Final = {kind: code for code, kind in _KINDS.items()}


def network_of(state: NetworkState, spec: str) -> Network:
    """A network as messages have it, whose topology is written as ``spec``."""
    numbers, amounts = state
    memory = float(amounts[n.MEMORY])
    return Network(
        kind=_KINDS[int(numbers[n.KIND])],
        topology=spec,
        hosts=int(numbers[n.N_HOSTS]),
        bandwidth_bytes_per_s=float(amounts[n.BANDWIDTH]),
        latency_ns=float(amounts[n.LATENCY_NS]),
        memory_bytes_per_s=memory if memory > 0.0 else None,
        latency_factor=float(amounts[n.LATENCY_FACTOR]),
        bandwidth_factor=float(amounts[n.BANDWIDTH_FACTOR]),
        weight_bytes=float(amounts[n.WEIGHT_S]),
        gamma_bytes=float(amounts[n.GAMMA]),
        crosstraffic=bool(numbers[n.CROSSTRAFFIC]),
    )


@functools.lru_cache(maxsize=8)
def state_of(network: Network) -> NetworkState:
    """The network of a message, bit for bit.

    Raises
    ------
    InputError
        If there is no such topology, or it cannot have so many hosts.
    """
    made = topology(network.topology)
    parameters = made.parameters(network.hosts)
    numbers, amounts = np.zeros(n.NUMBERS, np.int64), np.zeros(n.AMOUNTS)
    numbers[n.KIND] = _CODES[network.kind]
    numbers[n.TOPOLOGY] = made.code
    numbers[n.CROSSTRAFFIC] = network.crosstraffic
    numbers[n.N_HOSTS] = network.hosts
    numbers[n.PARAMETERS : n.PARAMETERS + len(parameters)] = parameters
    amounts[n.LATENCY_NS] = network.latency_ns
    amounts[n.BANDWIDTH] = network.bandwidth_bytes_per_s
    amounts[n.LATENCY_FACTOR] = network.latency_factor
    amounts[n.BANDWIDTH_FACTOR] = network.bandwidth_factor
    amounts[n.WEIGHT_S] = network.weight_bytes
    amounts[n.GAMMA] = network.gamma_bytes
    amounts[n.MEMORY] = network.memory_bytes_per_s or 0.0
    return NetworkState(numbers, amounts)
