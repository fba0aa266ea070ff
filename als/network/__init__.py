"""The network between the hosts of a job: how long data take, and which links they share.

To add a model: a line in :data:`MODELS`. Outside packages add theirs under the entry-point group ``twolevel.networks``; a
single run can take one from a file, ``network my.py:MY``. A topology is one file in ``als.network.topologies``.
"""

from __future__ import annotations

from als.network.models import MODELS, NetworkKind, NetworkModel, SharingModel, network_model
from als.network.state import NetworkState, new_network
from als.network.topologies import TOPOLOGIES, Topology, topology
from traces.base.errors import InputError, whole
from traces.base.options import LINK_BANDWIDTH, LINK_LATENCY, MEMORY_BANDWIDTH

__all__ = [
    "BYTES_PER_GBIT",
    "MODELS",
    "TOPOLOGIES",
    "NetworkKind",
    "NetworkModel",
    "NetworkState",
    "SharingModel",
    "Topology",
    "network_model",
    "network_state",
    "topology",
]

_MAX_HOSTS = 2**24

#: Bytes that a link of 1 Gbit/s carries in a second.
BYTES_PER_GBIT = 1.25e8


def network_state(
    model: NetworkModel,
    topology: str,
    *,
    hosts: int,
    bandwidth_gbps: float,
    latency_ns: float,
    memory_gbps: float | None = None,
) -> NetworkState:
    """A network as kernels take it.

    Parameters
    ----------
    model : NetworkModel
        From :func:`network_model`.
    topology : str
        A name in :data:`TOPOLOGIES`, perhaps with ``:key=value,key=value`` behind it.
    hosts : int
        Of the machine, 1 to 2**24.
    bandwidth_gbps, latency_ns : float
        Of each link, Gbit/s (1e-9 to 1e9) and ns (0 to 10**12).
    memory_gbps : float or None
        What data take within a host, Gbit/s, 1e-9 to 1e9; None: no time.

    Raises
    ------
    InputError
        If a value cannot be; the message begins with the platform file's key.
    """
    made = _topology(topology, "network.topology")
    whole("hosts", hosts, 1, _MAX_HOSTS)
    bandwidth = LINK_BANDWIDTH.check(bandwidth_gbps, "network.bandwidth_gbps")
    latency = LINK_LATENCY.check(latency_ns, "network.latency_ns")
    memory = 0.0 if memory_gbps is None else MEMORY_BANDWIDTH.check(memory_gbps, "network.memory_gbps")
    try:
        parameters = made.parameters(hosts)
    except InputError as error:
        raise InputError(f"network.topology: {error.text}") from None
    shares = {"latency_factor": 1.0, "bandwidth_factor": 1.0}
    if isinstance(model, SharingModel):
        shares = {
            name: getattr(model, name)
            for name in ("crosstraffic", "latency_factor", "bandwidth_factor", "weight_s", "gamma")
        }
    return new_network(
        parameters,
        kind=model.kind,
        topology=made.code,
        n_hosts=hosts,
        latency_ns=latency,
        bandwidth=bandwidth * BYTES_PER_GBIT,
        memory=memory * BYTES_PER_GBIT,
        **shares,
    )


_topology = topology  # which a parameter is called, too
