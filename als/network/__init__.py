"""The network between the hosts of a job: transfer times of data, and links shared by transfers.

``none``
    Data arrive at once, and no transfers are recorded.
``hockney``
    latency + bytes / bandwidth, independent of other transfers. Source: Hockney, "The communication challenge for MPP: Intel
    Paragon and Meiko CS-2", Parallel Computing 20(3), 1994, doi:10.1016/S0167-8191(06)80021-9.
``cm02``
    Flows share links, max-min fair. Source: Casanova and Marchal, "A network model for simulation of grid application",
    INRIA RR-4596, 2002; the factors of SimGrid's CM02 are 1.
``lv08``
    As ``cm02`` with factors fitted to a packet simulator. Source: Velho and Legrand, "Accuracy study and improvement of
    network simulation in the SimGrid framework", SIMUTools 2009, doi:10.4108/ICST.SIMUTOOLS2009.5592; as SimGrid's LV08.

To add a model: a line in :data:`MODELS`. Other packages add models under the entry-point group ``twolevel.networks``; a
run can take one from a file, ``network my.py:MY``. A topology is one file in ``als.network.topologies``.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from als.network.state import HOCKNEY, NONE, SHARING, NetworkState, new_network
from als.network.topologies import topology as find_topology
from als.network.topologies import with_its_parameters
from als.options import NETWORK
from als.parameters import Checked, RealNumber
from traces.base.errors import InputError, at, one_of, shown, whole
from traces.base.options import LINK_BANDWIDTH, LINK_LATENCY, MEMORY_BANDWIDTH
from traces.base.plugins import at_its_place, resolve, split_parameters

_MAX_HOSTS = 2**24

BYTES_PER_GBIT = 1.25e8  #: bytes per second on a link of 1 Gbit/s


class NetworkKind(IntEnum):
    """How a kernel computes a model."""

    NONE = NONE
    HOCKNEY = HOCKNEY
    SHARING = SHARING


@dataclass(frozen=True)
class NetworkModel:
    """A model without parameters. Raises InputError if a value is invalid."""

    name: str  #: name in the literature, in lower case
    kind: NetworkKind  #: ``NONE`` or ``HOCKNEY``; only a :class:`SharingModel` has ``SHARING``

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", NetworkKind(self.kind))
        except ValueError:
            raise InputError(f"network {self.name}: kind {shown(self.kind)}; allowed: a NetworkKind") from None
        if (self.kind is NetworkKind.SHARING) is not isinstance(self, SharingModel):
            allowed = "SHARING" if isinstance(self, SharingModel) else "NONE, HOCKNEY"
            raise InputError(f"network {self.name}: kind {self.kind.name}; allowed: {allowed}")


class SharingModel(NetworkModel, Checked):
    """A model in which flows share links, max-min fair; docs/reference/network.md explains each number."""

    noun = "network"
    kind: NetworkKind = NetworkKind.SHARING
    # whether a flow also loads the links of the reverse route, with 0.05 of its rate, as acknowledgements do
    crosstraffic: bool = True
    latency_factor: Annotated[float, RealNumber(0.0, 1e6)] = 1.0  # factor of a route's latency
    # share of a flow's bandwidth that carries its bytes
    bandwidth_factor: Annotated[float, RealNumber(1e-6, 1e6)] = 1.0
    # bytes; the larger its route's latency + the sum of weight_s / bandwidth, the smaller a flow's share
    weight_s: Annotated[float, RealNumber(0.0, 1e18)] = 0.0
    # limit of the bytes under way: a share is at most gamma / (2 latency)
    gamma: Annotated[float, RealNumber(1.0, 1e18)] = 4194304.0

    def __post_init__(self) -> None:
        NetworkModel.__post_init__(self)
        if not isinstance(self.crosstraffic, bool):
            raise InputError(f"network {self.name}: crosstraffic: {shown(self.crosstraffic)}; allowed: True, False")
        Checked.__post_init__(self)


MODELS: dict[str, NetworkModel] = {
    "none": NetworkModel("none", NetworkKind.NONE),
    "hockney": NetworkModel("hockney", NetworkKind.HOCKNEY),
    "cm02": SharingModel("cm02"),
    "lv08": SharingModel("lv08", latency_factor=13.01, bandwidth_factor=0.97, weight_s=20537.0),
}


def network_model(spec: str) -> NetworkModel:
    """Return the network model with this name.

    Parameters
    ----------
    spec : str
        A name in :data:`MODELS`, one that an installed package adds, or ``FILE.py:NAME``, each optionally followed by
        ``:key=value,key=value``, as ``lv08:crosstraffic=no``.

    Raises
    ------
    InputError
        If there is no such model, or a parameter is invalid.
    PluginError
        If it cannot be loaded, or is not a model.
    """
    where = at(str(NETWORK), spec)
    if not isinstance(spec, str):
        raise InputError(f"{where}: {shown(spec)} is not a string; known: {', '.join(MODELS)}")
    if not spec:
        raise one_of("network model", spec, MODELS, where)
    plain, text = split_parameters(spec)
    found = resolve("network model", plain, MODELS, "twolevel.networks", NetworkModel, where)
    return with_its_parameters(found, text, where, "network model")


def network_state(
    model: NetworkModel,
    topology: str,
    *,
    hosts: int,
    bandwidth_gbps: float,
    latency_ns: float,
    memory_gbps: float | None = None,
) -> NetworkState:
    """Return a network as a state for kernels.

    Parameters
    ----------
    model : NetworkModel
    topology : str
        A name in ``als.network.topologies.TOPOLOGIES``, optionally followed by ``:key=value,key=value``.
    hosts : int
        1 to 2**24.
    bandwidth_gbps, latency_ns : float
        Of each link, Gbit/s (1e-9 to 1e9) and ns (0 to 10**12).
    memory_gbps : float, optional
        Bandwidth within a host, Gbit/s, 1e-9 to 1e9; None: no time.

    Raises
    ------
    InputError
        If a value is invalid; the message begins with the platform file's key.
    """
    made = find_topology(topology, "network.topology")
    whole("hosts", hosts, 1, _MAX_HOSTS)
    bandwidth = LINK_BANDWIDTH.check(bandwidth_gbps, "network.bandwidth_gbps")
    latency = LINK_LATENCY.check(latency_ns, "network.latency_ns")
    memory = 0.0 if memory_gbps is None else MEMORY_BANDWIDTH.check(memory_gbps, "network.memory_gbps")
    with at_its_place("network.topology"):
        parameters = made.parameters(hosts)
    numbers = {"latency_ns": latency, "bandwidth": bandwidth * BYTES_PER_GBIT, "memory": memory * BYTES_PER_GBIT}
    if isinstance(model, SharingModel):
        names = ("crosstraffic", "latency_factor", "bandwidth_factor", "weight_s", "gamma")
        numbers |= {name: getattr(model, name) for name in names}
    else:
        numbers |= {"latency_factor": 1.0, "bandwidth_factor": 1.0}
    return new_network(parameters, kind=model.kind, topology=made.code, n_hosts=hosts, **numbers)
