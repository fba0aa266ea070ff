"""The machine that is simulated: groups of equal hosts and their network, as a TOML file gives them."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from bls.given_file import read_given
from traces.compiled import Array
from traces.errors import InputError, one_of, shown
from traces.ledger import Machine
from traces.ranges import real, whole

__all__ = ["MAX_CORES", "TOPOLOGIES", "HostGroup", "Network", "Platform", "load_platform", "parse_platform"]

T = TypeVar("T")

#: The most cores a platform may have.
MAX_CORES = 2**24

TOPOLOGIES = ("full",)

_MAX_GBPS = 1e9
_MAX_LATENCY_NS = 10**12
# Wide enough for any machine; beyond it, work = cores × speed × run time would leave float64.
_MIN_GFLOPS, _MAX_GFLOPS = 1e-9, 1e15


@dataclass(frozen=True)
class HostGroup:
    """Equal hosts.

    Parameters
    ----------
    count : int
        Number of hosts, from 1.
    cores : int
        Cores of each host, from 1.
    speed_gflops : float
        Speed of one whole host in GFLOP/s, 1e-9 to 1e15, shared equally by its cores.

    Raises
    ------
    InputError
        If a value is out of range; the message begins with its name.
    """

    count: int
    cores: int
    speed_gflops: float

    def __post_init__(self) -> None:
        whole("count", self.count, 1, MAX_CORES)
        whole("cores", self.cores, 1, MAX_CORES)
        object.__setattr__(self, "speed_gflops", real("speed_gflops", self.speed_gflops, _MIN_GFLOPS, _MAX_GFLOPS))


@dataclass(frozen=True)
class Network:
    """What connects the hosts.

    Parameters
    ----------
    topology : str
        ``full``: every pair of hosts has a link of its own.
    bandwidth_gbps : float
        Of a link, in Gbit/s; 1e-9 to 1e9.
    latency_ns : int
        Of a link, in ns; 0 to 10**12.

    Raises
    ------
    InputError
        If a value is out of range; the message begins with its name.
    """

    topology: str = "full"
    bandwidth_gbps: float = 50.0
    latency_ns: int = 500

    def __post_init__(self) -> None:
        if not isinstance(self.topology, str):
            raise InputError(f"topology: {shown(self.topology)} is not a string; known: {', '.join(TOPOLOGIES)}")
        if self.topology not in TOPOLOGIES:
            raise one_of("topology", self.topology, TOPOLOGIES, "topology")
        object.__setattr__(self, "bandwidth_gbps", real("bandwidth_gbps", self.bandwidth_gbps, 1e-9, _MAX_GBPS))
        whole("latency_ns", self.latency_ns, 0, _MAX_LATENCY_NS)


@dataclass(frozen=True)
class Platform:
    """A cluster. Hosts, and their cores, are numbered from 0 in the order of the groups.

    ``Platform()`` is the default: 4 hosts of 64 cores and 3 TFLOP/s, fully connected, 50 Gbit/s, 500 ns.

    Parameters
    ----------
    hosts : tuple of HostGroup
        At least one; at most ``MAX_CORES`` (2**24) cores in all.
    network : Network
        Between the hosts.
    name : str
        Of the cluster, as traces show it; 1 to 100 printable characters.

    Raises
    ------
    InputError
        If a value is out of range; the message begins with its name.
    """

    hosts: tuple[HostGroup, ...] = (HostGroup(count=4, cores=64, speed_gflops=3000.0),)
    network: Network = field(default_factory=Network)
    name: str = "cluster"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if not self.hosts:
            raise InputError("hosts: empty; a platform needs at least one [[hosts]] table")
        if self.n_cores > MAX_CORES:
            raise InputError(f"hosts: {self.n_cores} cores in all are too many; allowed: 1 to {MAX_CORES}")
        if not isinstance(self.name, str) or not 1 <= len(self.name) <= 100 or not self.name.isprintable():
            raise InputError(f"name: {shown(self.name)} is no name; allowed: 1 to 100 printable characters")

    @cached_property
    def n_hosts(self) -> int:
        """Number of hosts."""
        return sum(group.count for group in self.hosts)

    @cached_property
    def n_cores(self) -> int:
        """Number of cores of all hosts."""
        return sum(group.count * group.cores for group in self.hosts)

    @cached_property
    def core_speed_gflops(self) -> Array:
        """Speed of every core in GFLOP/s: float64, shape (n_cores,), read-only."""
        speeds = [group.speed_gflops / group.cores for group in self.hosts]
        found = np.repeat(np.array(speeds), [group.count * group.cores for group in self.hosts])
        found.flags.writeable = False
        return found

    @property
    def slowest_gflops(self) -> float:
        """Speed of the slowest core in GFLOP/s."""
        return min(group.speed_gflops / group.cores for group in self.hosts)

    def machine(self) -> Machine:
        """The machine as traces show it: hosts are called ``host 0``, ``host 1``, … across the groups."""
        cores = np.repeat([group.cores for group in self.hosts], [group.count for group in self.hosts])
        first_core = np.concatenate(([0], np.cumsum(cores))).astype(np.int64)
        first_core.flags.writeable = False
        return Machine(self.name, tuple(f"host {number}" for number in range(self.n_hosts)), first_core)

    def as_dict(self) -> dict[str, Any]:
        """The platform in plain values, in the form of the TOML file: for records of a run."""
        hosts = [asdict(group) for group in self.hosts]
        return {"name": self.name, "hosts": hosts, "network": asdict(self.network)}

    def digest(self) -> str:
        """16 hexadecimal digits that are equal for equal platforms."""
        text = json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_toml(self) -> str:
        """A commented TOML text that :func:`parse_platform` reads back to an equal platform."""
        name = self.name.replace("\\", "\\\\").replace('"', '\\"')
        lines = [
            f"# {self.n_hosts} host{'s' * (self.n_hosts != 1)}, {self.n_cores} cores.",
            f'name = "{name}"             # of the cluster, as traces show it',
        ]
        for group in self.hosts:
            lines += [
                "",
                "[[hosts]]                    # one such table for each group of equal hosts",
                f"count = {group.count}",
                f"cores = {group.cores}                   # of one host",
                f"speed_gflops = {group.speed_gflops!r}        # of one host: "
                f"{group.speed_gflops / group.cores:.6g} GFLOP/s a core",
            ]
        lines += [
            "",
            "[network]",
            f'topology = "{self.network.topology}"            # every pair of hosts has a link of its own',
            f"bandwidth_gbps = {self.network.bandwidth_gbps!r}        # of a link, Gbit/s",
            f"latency_ns = {self.network.latency_ns}             # of a link",
        ]
        return "\n".join(lines) + "\n"


def load_platform(path: str | os.PathLike[str]) -> Platform:
    """Read a platform from a TOML file.

    Raises
    ------
    InputError
        One line that names the file and the key: the file is missing or no TOML, a key is unknown or missing,
        or a value is of the wrong type or out of range.
    """
    source = os.fspath(path)
    data = read_given(path, "platform file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not valid TOML: byte {error.start} is not UTF-8") from None
    return parse_platform(text, source)


def parse_platform(text: str, source: str = "platform") -> Platform:
    """Read a platform from a TOML text; ``source`` is its name for messages.

    ``hosts`` is needed, with all of its keys; the network and the name have :class:`Platform`'s defaults.

    Raises
    ------
    InputError
        As :func:`load_platform`.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: not valid TOML: {' '.join(str(error).split())}") from None
    except (RecursionError, ValueError) as error:  # nested too deeply; a number too long to convert
        raise InputError(f"{source}: not usable TOML: {' '.join(str(error).split())}") from None
    _check_keys(table, Platform, f"{source}: ")
    groups = table.get("hosts", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise InputError(f"{source}: hosts: {shown(groups)} is no list of tables; allowed: [[hosts]] tables")
    network = table.get("network", {})
    if not isinstance(network, dict):
        raise InputError(f"{source}: network: {shown(network)} is not a table; allowed: a [network] table")
    made: dict[str, Any] = {
        "hosts": [_make(HostGroup, group, f"{source}: hosts[{row}].") for row, group in enumerate(groups)],
        "network": _make(Network, network, f"{source}: network."),
    }
    return _make(Platform, table | made, f"{source}: ")


def _make(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """``kind(**values)`` with the key's path in every error; ``where`` is what stands before a key's name."""
    _check_keys(values, kind, where)
    for key in _known_keys(HostGroup) if kind is HostGroup else ():
        if key not in values:
            raise InputError(f"{where}{key}: missing")
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _known_keys(kind: type[Any]) -> list[str]:
    return [entry.name for entry in fields(kind)]


def _check_keys(values: Mapping[str, Any], kind: type[Any], where: str) -> None:
    known = _known_keys(kind)
    for key in values:
        if key not in known:
            shown_key = key if key.isprintable() and len(key) <= 60 else shown(key)
            raise one_of("key", key, known, f"{where}{shown_key}")
