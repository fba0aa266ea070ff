"""A platform as a commented TOML text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from traces.base.plugins import split_parameters

if TYPE_CHECKING:
    from bls.machine.platform import Platform

# What a topology is.
_DRAWN = {
    "full": "every pair of hosts has a link of its own",
    "shared": "every pair of hosts has a link that both directions share",
    "star": "every host has a link to the middle, of half the latency",
    "fat-tree": "of each level, lowest first: nodes below a switch, switches above a node, parallel links",
    "dragonfly": "groups of chassis of routers of nodes; parallel links between groups, chassis, routers",
}


def platform_text(platform: Platform) -> str:
    """The text that ``bls.machine.platform.parse_platform`` reads back to an equal platform."""
    plain, network = platform.as_dict(), platform.network
    lines = [
        f"# {platform.n_hosts} host{'s' * (platform.n_hosts != 1)}, {platform.n_cores} cores.",
        f"name = {_value(platform.name)}             # of the cluster, as traces show it",
    ]
    for group, values in zip(platform.hosts, plain["hosts"], strict=True):
        lines += [
            "",
            "[[hosts]]                    # one such table for each group of equal hosts",
            f"count = {group.count}",
            f"cores = {group.cores}                   # of one host",
            f"speed_gflops = {group.speed_gflops!r}        # of one host: "
            f"{group.speed_gflops / group.cores:.6g} GFLOP/s a core",
        ]
        if "resources" in values:
            lines.append(f"resources = {_value(values['resources'])}   # of one host")
        if "power" in values:
            lines += ["[hosts.power]                # what one host draws, W"]
            lines += [f"{name} = {_value(value)}" for name, value in values["power"].items()]
    lines += [
        "",
        "[network]",
        f"topology = {_value(network.topology)}            # {_DRAWN[split_parameters(network.topology)[0]]}",
        f"bandwidth_gbps = {network.bandwidth_gbps!r}        # of a link, Gbit/s",
        f"latency_ns = {network.latency_ns}             # of a {'route' if network.topology == 'star' else 'link'}",
    ]
    if network.memory_gbps is not None:
        lines.append(f"memory_gbps = {network.memory_gbps!r}           # of transfers within a host, Gbit/s")
    if "licences" in plain:
        lines += ["", "[licences]                   # of the whole machine"]
        lines += [f"{name} = {amount}" for name, amount in plain["licences"].items()]
    for key in ("partitions", "switches"):
        for table in plain.get(key, ()):
            lines += ["", f"[[{key}]]", *(f"{name} = {_value(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    # What the platform's tables hold. Their texts are printable, so that two characters need an escape.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(amount)}" for name, amount in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return repr(value)
