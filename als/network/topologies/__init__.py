"""The topologies: those without switches here, the others one a file.

To add one: a file with its kernel, a line in :data:`TOPOLOGIES`, one in each function of ``als.network.routes``, and
its name in ``bls.machine.platform``, which reads platforms."""

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from als.network.state import FULL, SHARED, STAR
from als.network.topologies.dragonfly import Dragonfly
from als.network.topologies.fat_tree import FatTree
from traces.base.errors import InputError, begins_at, one_of, shown
from traces.base.plugins import split_parameters, with_parameters

P = TypeVar("P")


class Topology(Protocol):
    """A frozen dataclass whose fields are written behind its name; a kernel of its own finds routes by its numbers."""

    @property
    def name(self) -> str:
        """As a platform names it."""
        ...

    @property
    def code(self) -> int:
        """What ``NetworkState.topology`` is."""
        ...

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """What ``NetworkState.parameters`` begins with, for a machine of so many hosts; InputError if it cannot have them."""
        ...


@dataclass(frozen=True)
class Direct:
    """A topology without switches and parameters.

    ``full`` has a link from each host to each other one, ``shared`` one for each pair, which both directions share.
    ``star`` has a link from each host to the middle and one back, each of half the platform's latency, so that a route
    has all of it (as a SimGrid star zone of split-duplex links)."""

    name: str
    code: int = field(metadata={"parameter": False})

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """None."""
        return ()


TOPOLOGIES: dict[str, Topology] = {
    "full": Direct("full", FULL),
    "shared": Direct("shared", SHARED),
    "star": Direct("star", STAR),
    "fat-tree": FatTree(),
    "dragonfly": Dragonfly(),
}


def topology(spec: str, where: str = "network.topology") -> Topology:
    """The topology of this name, with its parameters. ``spec``: a name in :data:`TOPOLOGIES`, perhaps with
    ``:key=value,key=value`` behind it. ``where``: the key it was given in, for the error. Raises InputError if there is none,
    or a parameter cannot be."""
    if not isinstance(spec, str):
        raise InputError(f"{where}: {shown(spec)} is not a string; known: {', '.join(TOPOLOGIES)}")
    plain, text = split_parameters(spec)
    if plain not in TOPOLOGIES:
        raise one_of("topology", plain, TOPOLOGIES, where)
    return with_its_parameters(TOPOLOGIES[plain], text, where, "topology")


def with_its_parameters(plug_in: P, text: str, where: str, kind: str) -> P:
    """As :func:`traces.base.plugins.with_parameters`, where there are any, with errors that begin with ``where``."""
    try:
        return with_parameters(plug_in, text, where, kind) if text else plug_in
    except InputError as error:
        if begins_at(error.text, where):
            raise
        raise InputError(f"{where}: {error.text}") from None
