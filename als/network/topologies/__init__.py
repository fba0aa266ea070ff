"""The topologies: those without switches here, the others one per file.

To add one: a file with its kernel, a line in :data:`TOPOLOGIES`, one in each function of ``als.network.routes``, and its name
in ``bls.machine.platform``, which reads platforms.
"""

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from als.network.state import FULL, SHARED, STAR
from traces.base.errors import InputError, begins_at, one_of, shown
from traces.base.plugins import Registry, split_parameters, with_parameters

P = TypeVar("P")


class Topology(Protocol):
    """A frozen dataclass whose fields may be given after its name; its own kernel computes routes from its numbers."""

    @property
    def name(self) -> str:
        """Name in a platform file."""

    @property
    def code(self) -> int:
        """The value of ``NetworkState.topology``."""

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """Return the first ``NetworkState.parameters`` for a machine of ``hosts`` hosts; InputError if impossible."""


@dataclass(frozen=True)
class Direct:
    """A topology without switches and parameters.

    ``full`` has a link from each host to each other host, ``shared`` one for each pair, shared by both directions. ``star`` has
    a link from each host to the middle and one back, each with half the platform's latency, so that a route has all of it (as a
    SimGrid star zone of split-duplex links)."""

    name: str
    code: int = field(metadata={"parameter": False})

    def parameters(self, hosts: int) -> tuple[int, ...]:
        return ()


TOPOLOGIES = Registry[Topology](
    {
        "full": Direct("full", FULL),
        "shared": Direct("shared", SHARED),
        "star": Direct("star", STAR),
        "fat-tree": "als.network.topologies.fat_tree:FatTree",
        "dragonfly": "als.network.topologies.dragonfly:Dragonfly",
    }
)


def topology(spec: str, where: str = "network.topology") -> Topology:
    """The topology with a name in :data:`TOPOLOGIES`, optionally followed by ``:key=value,key=value``. ``where``: the key that
    gave it, for errors. Raises InputError if there is none, or a parameter is invalid."""
    if not isinstance(spec, str):
        raise InputError(f"{where}: {shown(spec)} is not a string; known: {', '.join(TOPOLOGIES)}")
    plain, text = split_parameters(spec)
    if plain not in TOPOLOGIES:
        raise one_of("topology", plain, TOPOLOGIES, where)
    return with_its_parameters(TOPOLOGIES[plain], text, where, "topology")


def with_its_parameters(plug_in: P, text: str, where: str, kind: str) -> P:
    """Apply :func:`traces.base.plugins.with_parameters` if there are any, with errors that begin with ``where``."""
    try:
        return with_parameters(plug_in, text, where, kind) if text else plug_in
    except InputError as error:
        if begins_at(error.text, where):
            raise
        raise InputError(f"{where}: {error.text}") from None
