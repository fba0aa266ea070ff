"""Files of platforms: a platform as a commented TOML text, and the system files of AccaSim (docs/reference/inputs.md).

Jobs request processors, so a core here stands for the cores of one processor in AccaSim's file (``equivalence``), and no job
uses the remaining cores of a host. The files state no speed: every processor has the given one, by default the speed of the
default platform's cores.

Source: C. Galleguillos et al., "AccaSim: a customizable workload management simulator for job dispatching research in HPC
systems", Cluster Computing 23, 2020, doi:10.1007/s10586-019-02905-5; the system files in its repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from traces.base.errors import InputError, one_of, real, shown, shown_name, whole
from traces.base.given_file import check_keys, parse_json
from traces.base.options import CORE_GFLOPS
from traces.base.plugins import split_parameters

if TYPE_CHECKING:
    from bls.machine.platform import Platform

PROCESSOR_GFLOPS = CORE_GFLOPS.default  #: the default speed of a processor, in GFLOP/s: 3 TFLOP/s for 64 cores
_KEYS = ("groups", "resources", "system_name", "equivalence", "start_time")
_MOST = 2**24


def parse_accasim(text: str, source: str, processor_gflops: float) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """The name of the system; and for each group of hosts, its path in the file and the values of a ``HostGroup``. Raises
    InputError, with ``source`` and the key's path, if it is not JSON, a key is unknown, missing or given twice, or a value is
    not allowed."""
    speed = real("processor_gflops", processor_gflops, 1e-9, 1e9)
    try:
        table = parse_json(text, "")
    except InputError as error:
        raise InputError(f"{source}: {error.text}") from None
    _table(table, f"{source}: the file")
    check_keys(table, _KEYS, f"{source}: ")
    for key in _KEYS[:2]:
        if key not in table:
            raise InputError(f"{source}: {key}: missing")
        _table(table[key], f"{source}: {key}")
    if "start_time" in table:
        real(f"{source}: start_time", table["start_time"], -1e18, 1e18)
    processor = _processor_cores(table.get("equivalence", {}), source)
    groups = table["groups"]
    made = []
    for name, count in table["resources"].items():
        if name not in groups:
            raise one_of("group", name, groups, f"{source}: resources")
        if whole(f"{source}: resources.{shown_name(name)}", count, 0, _MOST) == 0:
            continue
        where = f"{source}: groups.{shown_name(name)}"
        _table(groups[name], where)
        if "core" not in groups[name]:
            raise InputError(f"{where}.core: missing")
        cores = whole(f"{where}.core", groups[name]["core"], 1, _MOST) // processor
        if cores == 0:
            raise InputError(f"{where}.core: {groups[name]['core']} is less than a processor's {processor} cores")
        others = {"memory_kb" if key == "mem" else key: value for key, value in groups[name].items() if key != "core"}
        values = {"count": count, "cores": cores, "speed_gflops": cores * speed, "resources": others}
        made.append((f"groups.{shown_name(name)}", values))
    return table.get("system_name", "cluster"), made


def _processor_cores(equivalence: Any, source: str) -> int:
    _table(equivalence, f"{source}: equivalence")
    for key in equivalence:
        if key != "processor":
            raise one_of("key", key, ["processor"], f"{source}: equivalence")
    processor = equivalence.get("processor", {"core": 1})
    _table(processor, f"{source}: equivalence.processor")
    if list(processor) != ["core"]:
        raise InputError(f"{source}: equivalence.processor: {shown(processor)}; allowed: {{'core': its cores}}")
    return whole(f"{source}: equivalence.processor.core", processor["core"], 1, _MOST)


def _table(value: object, where: str) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{where}: {shown(value)} is not an object; allowed: e.g. {{...}}")


# Descriptions of topologies.
_DRAWN = {
    "full": "every pair of hosts has a link of its own",
    "shared": "every pair of hosts has a link that both directions share",
    "star": "every host has a link to the middle, of half the latency",
    "fat-tree": "of each level, lowest first: nodes below a switch, switches above a node, parallel links",
    "dragonfly": "groups of chassis of routers of nodes; parallel links between groups, chassis, routers",
}


def platform_text(platform: Platform) -> str:
    """The text from which ``bls.machine.platform.parse_platform`` reads an equal platform."""
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
        if group.gpus:
            lines.append(f"gpus = {group.gpus}                     # of one host")
            lines += [f"{name} = {_value(values[name])}" for name in ("gpu", "gpu_memory_gb") if name in values]
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
    # Values in the platform's tables. Their texts are printable, so only two characters need an escape.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(amount)}" for name, amount in value.items()) + " }"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list) else repr(value)
