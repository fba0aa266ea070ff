"""A job's machine as a SimGrid platform: hosts that send data, in SimGrid's own zones, and a host without network for each
core, as each may have another profile of speeds. SimGrid 4 has other names for some functions: both versions are supported."""

import re
from typing import Any

import simgrid


class PlatformFault(ValueError):
    """A platform file cannot be used; the message names it."""


def build(engine: Any, network: dict[str, Any] | None, speed: list[float], flop: float) -> tuple[list[Any], list[Any]]:
    """Build the platform of a job; ``network`` is from ``bridge.adapters.simgrid.peer``, ``flop`` are SimGrid's flops per
    GFLOP. Returns, for each core, the host that sends and receives, and the one that computes. Raises PlatformFault if a
    platform file cannot be read, or has too few hosts."""
    if network is not None and network["zone"] == "file":
        try:
            engine.load_platform(network["path"])
        except RuntimeError as error:
            raise PlatformFault(f"{network['path']}: {error}") from None
        root, sealed = engine.netzone_root, True
        found = sorted(engine.all_hosts, key=lambda host: _natural(host.name))
        if len(found) <= max(network["core_host"]):
            allowed = f"at least as many as the machine, {network['hosts']}"
            raise PlatformFault(f"{network['path']} has {len(found)} hosts; allowed: {allowed}")
        ends = [found[host] for host in network["core_host"]]
    else:
        root, sealed = engine.netzone_root or simgrid.NetZone.create_full_zone("machine"), False
        ends = [] if network is None else _machine(root, network)
    zone = _zone(root, "empty", "cores")
    cores = [_sealed(_host(zone, f"core-{c}", gflops * flop)) for c, gflops in enumerate(speed)]
    zone.seal()
    if not sealed:
        root.seal()
    return ends, cores


def _machine(root: Any, network: dict[str, Any]) -> list[Any]:
    """The hosts of the cores, in one of the project's networks."""
    used = sorted(set(network["core_host"]))
    is_cluster = network["zone"] in ("fat-tree", "dragonfly")
    found = _cluster(root, network) if is_cluster else _pairs(root, network, used)
    return [found[host] for host in network["core_host"]]


def _cluster(root: Any, network: dict[str, Any]) -> dict[int, Any]:
    """All hosts of a fat-tree or a dragonfly."""
    hosts: dict[int, Any] = {}
    bandwidth, latency = network["bandwidth"], network["latency"]
    policy = simgrid.Link.SharingPolicy.SPLITDUPLEX
    fat_tree, numbers = network["zone"] == "fat-tree", network["numbers"]

    def one(zone: Any, _coordinates: list[int], number: int) -> Any:
        hosts[number] = _sealed(_host(zone, f"host-{number}", 1e9))
        return hosts[number] if hasattr(root, "add_host") else (hosts[number].netpoint, None)

    if hasattr(root, "add_netzone_full"):
        make = root.add_netzone_fatTree if fat_tree else root.add_netzone_dragonfly
        zone = make("net", *numbers, bandwidth, latency, policy)
        zone.set_host_cb(one)
    else:
        make = simgrid.NetZone.create_fatTree_zone if fat_tree else simgrid.NetZone.create_dragonfly_zone
        parameters = (simgrid.FatTreeParams if fat_tree else simgrid.DragonflyParams)(*numbers)
        zone = make("net", root, parameters, simgrid.ClusterCallbacks(one, None, None), bandwidth, latency, policy)
    zone.seal()
    return hosts


def _pairs(root: Any, network: dict[str, Any], used: list[int]) -> dict[int, Any]:
    """The hosts that the job uses, with a route between each two of them."""
    zone = _zone(root, "full", "net")
    hosts = {host: _sealed(_host(zone, f"host-{host}", 1e9)) for host in used}
    kind = network["zone"]
    if kind == "star":
        up = {host: _link(zone, f"up-{host}", network, 0.5) for host in used}
        down = {host: _link(zone, f"down-{host}", network, 0.5) for host in used}
    for place, a in enumerate(used):
        for b in used[place + 1 :]:
            if kind == "star":
                there, back = [up[a], down[b]], [up[b], down[a]]
            else:
                there = [_link(zone, f"{a}-{b}", network)]
                back = there if kind == "shared" else [_link(zone, f"{b}-{a}", network)]
            _route(zone, hosts[a], hosts[b], there)
            _route(zone, hosts[b], hosts[a], back)
    zone.seal()
    return hosts


def _link(zone: Any, name: str, network: dict[str, Any], part: float = 1.0) -> Any:
    link = (zone.add_link if hasattr(zone, "add_link") else zone.create_link)(name, network["bandwidth"])
    link.set_latency(network["latency"] * part)
    if network["fat"]:
        link.set_sharing_policy(simgrid.Link.SharingPolicy.FATPIPE, None)
    return _sealed(link)


def _route(zone: Any, source: Any, target: Any, links: list[Any]) -> None:
    on_the_way = [simgrid.LinkInRoute(link) for link in links]
    if hasattr(zone, "add_host"):
        zone.add_route(source, target, on_the_way, False)
    else:
        zone.add_route(source.netpoint, target.netpoint, None, None, on_the_way, False)


def _zone(root: Any, kind: str, name: str) -> Any:
    if hasattr(root, "add_netzone_full"):
        return getattr(root, f"add_netzone_{kind}")(name)
    zone = getattr(simgrid.NetZone, f"create_{kind}_zone")(name)
    zone.set_parent(root)
    return zone


def _host(zone: Any, name: str, flops: float) -> Any:
    return (zone.add_host if hasattr(zone, "add_host") else zone.create_host)(name, flops)


def _sealed(made: Any) -> Any:
    made.seal()
    return made


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts host-2 before host-10."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d+)", name)]
