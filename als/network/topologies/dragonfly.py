"""A dragonfly: groups of chassis of routers of nodes, as in Cray's Cascade; docs/reference/network.md describes links and
routes.

The blue link from group g to group j is at router j of group g, counted through the chassis. A connection of several cables is
one split-duplex link with their total bandwidth. Host h is node h, and there may be fewer hosts than nodes. In SimGrid's
DragonflyZone, after a green link in a chassis other than the first, a route within a group continues as if the link had led to
the first chassis: the next link is not connected with it, or is missing. ``routing=simgrid`` does the same.

Source: Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network", SC 2012, doi:10.1109/SC.2012.39;
SimGrid 3.32 and 4.1.
"""

from dataclasses import dataclass
from typing import ClassVar

from als.network.state import DRAGONFLY
from traces.base.errors import InputError, one_of, whole
from traces.compiled import Array, compiled

# Entries of NetworkState.parameters: groups, chassis per group, routers per chassis, nodes per router; cables of a link; first
# keys of links (smaller ones are links of nodes).
GROUPS, CHASSIS, ROUTERS, NODES, BLUE, BLACK, GREEN, FIRST_GREEN, FIRST_BLACK, FIRST_BLUE, AS_SIMGRID = range(11)

_MAX_NUMBER = 2**24
_MAX_NODES = 2**28
_ROUTINGS = ("minimal", "simgrid")


@compiled(inner=True)
def _to_router(parameters: Array, router: int, target: int, keys: Array, n: int, lost: int) -> int:
    """Append green, then black links from router to target within a group after ``n`` links; ``lost``: as SimGrid does."""
    routers = parameters[ROUTERS]
    chassis = parameters[CHASSIS]
    blade = target % routers
    at = router
    if router % routers != blade:
        keys[n] = parameters[FIRST_GREEN] + router * routers + blade
        n += 1
        at = router - router % routers + blade
        if lost != 0:
            at = router - router % (routers * chassis) + blade
    to = target // routers % chassis
    if at // routers % chassis != to:
        keys[n] = parameters[FIRST_BLACK] + at * chassis + to
        n += 1
    return n


@compiled(inner=True)
def dragonfly_route(parameters: Array, src: int, dst: int, keys: Array) -> int:
    """Write the links of the minimal route from node ``src`` to node ``dst``; return their number, 2 to 7."""
    router = src // parameters[NODES]
    target = dst // parameters[NODES]
    of_group = parameters[ROUTERS] * parameters[CHASSIS]
    group = router // of_group
    to_group = target // of_group
    keys[0] = 2 * src
    n = 1
    if group != to_group:
        n = _to_router(parameters, router, group * of_group + to_group, keys, n, 0)
        keys[n] = parameters[FIRST_BLUE] + group * parameters[GROUPS] + to_group
        n += 1
        router = to_group * of_group + group
    n = _to_router(parameters, router, target, keys, n, parameters[AS_SIMGRID])
    keys[n] = 2 * dst + 1
    return n + 1


@compiled(inner=True)
def dragonfly_cables(parameters: Array, key: int) -> int:
    """Return the number of cables of a link; its bandwidth is this multiple of the platform's."""
    if key >= parameters[FIRST_BLUE]:
        return int(parameters[BLUE])
    if key >= parameters[FIRST_BLACK]:
        return int(parameters[BLACK])
    return int(parameters[GREEN]) if key >= parameters[FIRST_GREEN] else 1


@dataclass(frozen=True)
class Dragonfly:
    """A dragonfly, as SimGrid's ``groups,blue;chassis,black;routers,green;nodes``. Raises InputError for other values."""

    name: ClassVar[str] = "dragonfly"
    code: ClassVar[int] = DRAGONFLY

    # number of groups, chassis per group, routers per chassis, nodes per router; 1 to 2**24, all required. A group must have
    # at least as many routers as there are groups.
    groups: int = 0
    chassis: int = 0
    routers: int = 0
    nodes: int = 0
    # cables of a link between groups, chassis and routers, 1 to 2**24
    blue: int = 1
    black: int = 1
    green: int = 1
    routing: str = "minimal"  # ``minimal``, or ``simgrid``: with SimGrid's defect

    def __post_init__(self) -> None:
        sizes = {key: getattr(self, key) for key in ("groups", "chassis", "routers", "nodes")}
        if any(sizes.values()):
            for key, value in sizes.items():
                whole(f"dragonfly: {key}", value, 1, _MAX_NUMBER)
        for key in ("blue", "black", "green"):
            whole(f"dragonfly: {key}", getattr(self, key), 1, _MAX_NUMBER)
        if self.routing not in _ROUTINGS:
            raise one_of("routing", self.routing, _ROUTINGS, "dragonfly: routing")

    def parameters(self, hosts: int) -> tuple[int, ...]:
        """Return the numbers for the kernel. Raises InputError if a size is missing, or the sizes do not fit the hosts."""
        if not self.groups:
            raise InputError("dragonfly: groups, chassis, routers and nodes are missing; allowed: all four, from 1")
        of_group = self.chassis * self.routers
        routers = self.groups * of_group
        nodes = routers * self.nodes
        shape = f"groups={self.groups},chassis={self.chassis},routers={self.routers},nodes={self.nodes}"
        if hosts > nodes:
            raise InputError(f"dragonfly: {hosts} hosts do not fit on the {nodes} nodes of {shape}")
        if nodes > _MAX_NODES:
            raise InputError(f"dragonfly: {nodes} nodes of {shape} are too many; allowed: up to {_MAX_NODES}")
        if self.groups > of_group:
            raise InputError(
                f"dragonfly: groups={self.groups} have {of_group} routers each, chassis={self.chassis} of "
                f"routers={self.routers}; allowed: a router for each group"
            )
        green = 2 * nodes
        black = green + routers * self.routers
        blue = black + routers * self.chassis
        sizes = (self.groups, self.chassis, self.routers, self.nodes)
        cables = (self.blue, self.black, self.green)
        return (*sizes, *cables, green, black, blue, int(self.routing == "simgrid"))
