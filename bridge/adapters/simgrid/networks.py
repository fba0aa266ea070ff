"""The network of a start as SimGrid is to build it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from als.network import topology
from als.network.topologies.dragonfly import Dragonfly
from als.network.topologies.fat_tree import FatTree
from bridge.protocol.messages import NetworkFields
from traces.base.errors import InputError


def engine_settings(network: NetworkFields | None) -> list[str]:
    """SimGrid's options for a network's model; all of its models of flows are one, with other numbers. Its full solver
    is taken: the lazy one overloads links where flows of several links begin at one instant."""
    if network is None or network.kind == "none":
        return []
    numbers = {
        "model": "CM02",
        "optim": "Full",
        "latency-factor": repr(network.latency_factor),
        "bandwidth-factor": repr(network.bandwidth_factor),
        "weight-S": repr(network.weight_bytes),
        "TCP-gamma": repr(network.gamma_bytes),
        "crosstraffic": int(network.crosstraffic),
    }
    return [f"--cfg=network/{name}:{value}" for name, value in numbers.items()]


def network_order(network: NetworkFields | None, core_host: list[int], platform: Path | None) -> dict[str, Any] | None:
    """What ``inside.platform`` builds; None where data are there at once.

    - ``core_host``: the machine's host of each core.
    - ``platform``: a platform file of SimGrid's, whose network takes the place of the topology.

    Raises InputError if SimGrid has no such network.
    """
    if network is None or network.kind == "none":
        return None
    memory = network.memory_bytes_per_s
    order: dict[str, Any] = {
        "core_host": core_host,
        "hosts": network.hosts,
        "bandwidth": network.bandwidth_bytes_per_s,
        "latency": network.latency_ns * 1e-9,
        "memory": None if memory is None else network.bandwidth_factor * memory,
        "fat": network.kind == "hockney",
    }
    if platform is not None:
        if network.kind == "hockney":
            raise InputError(
                f"--network hockney: the links of {platform} are shared; allowed with --platform: cm02, lv08"
            )
        return order | {"zone": "file", "path": str(platform)}
    made = topology(network.topology)
    if isinstance(made, FatTree | Dragonfly) and network.kind == "hockney":
        raise InputError(
            f"--network hockney: SimGrid's links of a {made.name} are shared; allowed with {network.topology}: cm02, lv08"
        )
    if isinstance(made, FatTree):
        down = _numbers(made.down)
        up = _numbers(made.up) or [1] * len(down)
        return order | {"zone": "fat-tree", "numbers": [len(down), down, up, _numbers(made.cables) or [1] * len(down)]}
    if isinstance(made, Dragonfly):
        if made.routing != "simgrid":
            raise InputError(
                f"network.topology: {network.topology}: within a group SimGrid has routes of its own; allowed: routing=simgrid"
            )
        pairs = [(made.groups, made.blue), (made.chassis, made.black), (made.routers, made.green)]
        return order | {"zone": "dragonfly", "numbers": [*pairs, made.nodes]}
    return order | {"zone": made.name}


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split("x")] if text else []
