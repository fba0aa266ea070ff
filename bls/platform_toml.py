"""A platform as a commented TOML text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bls.platform import Platform

__all__ = ["platform_text"]


def platform_text(platform: Platform) -> str:
    """The text that ``bls.platform.parse_platform`` reads back to an equal platform."""
    plain = platform.as_dict()
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
    lines += [
        "",
        "[network]",
        f'topology = "{platform.network.topology}"            # every pair of hosts has a link of its own',
        f"bandwidth_gbps = {platform.network.bandwidth_gbps!r}        # of a link, Gbit/s",
        f"latency_ns = {platform.network.latency_ns}             # of a link",
    ]
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
