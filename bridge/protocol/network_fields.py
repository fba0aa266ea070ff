"""A network as a start message describes it: the numbers of its model and of the platform's links, and its topology as text."""

import functools
from typing import Final, Literal

from als.network import state as n
from als.network.state import NetworkState, new_network
from als.network.topologies import topology
from bridge.protocol.messages import NetworkFields

_Kind = Literal["none", "hockney", "sharing"]
_KINDS: Final[dict[int, _Kind]] = {n.NONE: "none", n.HOCKNEY: "hockney", n.SHARING: "sharing"}
_CODES: Final = {kind: code for code, kind in _KINDS.items()}


def network_of(state: NetworkState, spec: str) -> NetworkFields:
    """The message fields of a network whose topology is written as ``spec``."""
    return NetworkFields(
        kind=_KINDS[state.kind],
        topology=spec,
        hosts=state.n_hosts,
        bandwidth_bytes_per_s=state.bandwidth,
        latency_ns=state.latency_ns,
        memory_bytes_per_s=state.memory if state.memory > 0.0 else None,
        latency_factor=state.latency_factor,
        bandwidth_factor=state.bandwidth_factor,
        weight_bytes=state.weight_s,
        gamma_bytes=state.gamma,
        crosstraffic=bool(state.crosstraffic),
    )


@functools.lru_cache(maxsize=8)
def state_of(network: NetworkFields) -> NetworkState:
    """The network of a message, bit for bit. Raises InputError for an unknown topology, or a wrong number of hosts."""
    made = topology(network.topology)
    return new_network(
        made.parameters(network.hosts),
        kind=_CODES[network.kind],
        topology=made.code,
        crosstraffic=int(network.crosstraffic),
        n_hosts=network.hosts,
        latency_ns=network.latency_ns,
        bandwidth=network.bandwidth_bytes_per_s,
        latency_factor=network.latency_factor,
        bandwidth_factor=network.bandwidth_factor,
        weight_s=network.weight_bytes,
        gamma=network.gamma_bytes,
        memory=network.memory_bytes_per_s or 0.0,
    )
