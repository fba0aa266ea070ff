"""How long a transfer between two hosts takes.

``none``
    Data are there at once, and no transfers are recorded.
``hockney``
    latency + bytes / bandwidth, whoever else sends. Source: Hockney, "The communication challenge for MPP: Intel Paragon and
    Meiko CS-2", Parallel Computing 20(3), 1994, doi:10.1016/S0167-8191(06)80021-9.
``cm02``
    Flows share links, max-min fair. Source: Casanova and Marchal, "A network model for simulation of grid application", INRIA
    RR-4596, 2002; as SimGrid's CM02, whose factors are 1.
``lv08``
    The same with factors that were fitted to a packet simulator. Source: Velho and Legrand, "Accuracy study and improvement of
    network simulation in the SimGrid framework", SIMUTools 2009, doi:10.4108/ICST.SIMUTOOLS2009.5592; as SimGrid's LV08.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from als.network.state import HOCKNEY, NONE, SHARING
from als.options import NETWORK
from traces.base.errors import InputError, at, begins_at, one_of, real, shown
from traces.base.plugins import resolve, split_parameters, with_parameters

_MAX_FACTOR = 1e6
_MAX_BYTES = 1e18


class NetworkKind(IntEnum):
    """What a kernel does with a model."""

    NONE = NONE
    HOCKNEY = HOCKNEY
    SHARING = SHARING


@dataclass(frozen=True)
class NetworkModel:
    """A model without parameters.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case.
    kind : NetworkKind
        ``NONE`` or ``HOCKNEY``; ``SHARING`` is a :class:`SharingModel`'s.

    Raises
    ------
    InputError
        If a value cannot be.
    """

    name: str
    kind: NetworkKind

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", NetworkKind(self.kind))
        except ValueError:
            raise InputError(f"network {self.name}: kind {shown(self.kind)}; allowed: a NetworkKind") from None
        if (self.kind is NetworkKind.SHARING) is not isinstance(self, SharingModel):
            allowed = "SHARING" if isinstance(self, SharingModel) else "NONE, HOCKNEY"
            raise InputError(f"network {self.name}: kind {self.kind.name}; allowed: {allowed}")


@dataclass(frozen=True)
class SharingModel(NetworkModel):
    """A model in which flows share links, max-min fair; what each number does is in docs/reference/network.md."""

    kind: NetworkKind = NetworkKind.SHARING
    # whether a flow loads the links of its way back with 0.05 of its rate, as acknowledgements do
    crosstraffic: bool = True
    latency_factor: float = 1.0  # what the latency of a route is multiplied by, 0 to 1e6
    bandwidth_factor: float = 1.0  # how much of a flow's share of its links carries its bytes, 1e-6 to 1e6
    # bytes, 0 to 1e18; a flow's share is the smaller, the larger its route's latency + the sum of weight_s / bandwidth
    weight_s: float = 0.0
    gamma: float = 4194304.0  # bytes under way at most, 1 to 1e18: a flow's share is at most gamma / (2 latency)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.crosstraffic, bool):
            raise InputError(f"network {self.name}: crosstraffic: {shown(self.crosstraffic)}; allowed: True, False")
        for name, lowest, highest in (
            ("latency_factor", 0.0, _MAX_FACTOR),
            ("bandwidth_factor", 1e-6, _MAX_FACTOR),
            ("weight_s", 0.0, _MAX_BYTES),
            ("gamma", 1.0, _MAX_BYTES),
        ):
            value = real(f"network {self.name}: {name}", getattr(self, name), lowest, highest)
            object.__setattr__(self, name, value)


MODELS: dict[str, NetworkModel] = {
    "none": NetworkModel("none", NetworkKind.NONE),
    "hockney": NetworkModel("hockney", NetworkKind.HOCKNEY),
    "cm02": SharingModel("cm02"),
    "lv08": SharingModel("lv08", latency_factor=13.01, bandwidth_factor=0.97, weight_s=20537.0),
}


def network_model(spec: str, where: str = "") -> NetworkModel:
    """The model of this name.

    Parameters
    ----------
    spec : str
        A name in :data:`MODELS`, one that an installed package adds under ``twolevel.networks``, or ``FILE.py:NAME``, each
        perhaps with ``:key=value,key=value`` behind it, as ``lv08:crosstraffic=no``.
    where : str
        The option it was given in, for the error.

    Raises
    ------
    InputError
        If there is none, or a parameter cannot be.
    PluginError
        If it cannot be loaded, or is no model.
    """
    where = at(where or str(NETWORK), spec)
    if not isinstance(spec, str):
        raise InputError(f"{where}: {shown(spec)} is not a string; known: {', '.join(MODELS)}")
    if not spec:
        raise one_of("network model", spec, MODELS, where)
    plain, text = split_parameters(spec)
    found = resolve("network model", plain, MODELS, "twolevel.networks", NetworkModel, where)
    try:
        return with_parameters(found, text, where, "network model") if text else found
    except InputError as error:
        if begins_at(error.text, where):
            raise
        raise InputError(f"{where}: {error.text}") from None
