"""The simulated machine: hosts and their resources, network, partitions and switches, as in a TOML file."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np

from bls.machine.host_power import HostPower
from bls.machine.partitions import (
    GPU_LIMITS,
    Partition,
    PartitionTable,
    Switch,
    SwitchColumns,
    existing,
    partition_table,
    printable_name,
    topology,
)
from bls.machine.platform_files import PROCESSOR_GFLOPS, parse_accasim, platform_text
from bls.options import HOST_CORES, HOST_GFLOPS, HOSTS, TOPOLOGY
from traces.base.columns import html_table, read_only
from traces.base.errors import InputError, one_of, real, shown, whole
from traces.base.given_file import check_keys, list_of_tables, parse_toml, read_text
from traces.base.options import LINK_BANDWIDTH, LINK_LATENCY, MEMORY_BANDWIDTH
from traces.base.plugins import split_parameters
from traces.base.time import given_duration_ns
from traces.compiled import Array
from traces.ledger import MachineShape

#: Largest amount of a resource on one host (256 TB of memory), so that a machine's total is an int64.
MAX_AMOUNT = 2**38
MEMORY = "memory"
MEMORY_UNITS_KB = {"memory_gb": 2**20, "memory_mb": 2**10, "memory_kb": 1}  #: names of memory with their unit in KB
Amounts = tuple[tuple[str, int], ...]  #: (name, amount) pairs in the order of the names
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")  # of GPUs, as vendors and Slurm name them
MAX_GPUS, _MAX_GPU_MEMORY_GB, _MAX_KINDS = 1000, 10**6, 60  # of a host, of a GPU, of a platform
#: Columns of a request file for numbered GPUs: of the job, of each host, of each task; thousandths of each; kinds.
GPU_COLUMNS = ("gpus", "gpus_per_host", "gpus_per_task", "gpu_milli", "gpu_kind")
_OF_GPUS = ("gpu", *GPU_COLUMNS)  # neither resources nor licences, if a host has numbered GPUs
# Columns of a request file that are not amounts.
_TAKEN = ("cores", "job_id", "switches", "unit_cores")


def accepts_kind(kinds: Any, kind: Any) -> Any:
    """Whether accepted kinds, a sum of 1 << k for numbers k in ``Platform.gpu_kinds``, include a kind; integers or arrays."""
    return (kinds >> kind) & 1 == 1


def memory_unit(name: str, where: str) -> int:
    """The unit of ``name``: its KB if it is memory, else 1. Raises InputError for ``memory`` without a unit."""
    if name == MEMORY:
        raise InputError(f"{where}: memory needs a unit; allowed: {', '.join(MEMORY_UNITS_KB)}")
    return MEMORY_UNITS_KB.get(name, 1)


def amounts(key: str, values: object, *, units: bool = True) -> Amounts:
    """Checked amounts, in the order of their names, without zeros. ``key``: their place, for messages. ``values``: as a user
    gives them, with memory in a unit; or a result of this function. ``units``: whether memory is allowed. Raises InputError if
    a name is not allowed or an amount is not an integer from 0 to ``MAX_AMOUNT`` (in KB for memory)."""
    found: dict[str, int] = {}
    if isinstance(values, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in values):
        made = [(str(name), whole(f"{key}.{name}", value, 0, MAX_AMOUNT)) for name, value in values]
        return tuple(sorted((name, value) for name, value in made if value))
    if not isinstance(values, Mapping):
        raise InputError(f"{key}: {shown(values)} is not a table; allowed: names and amounts, as {{ gpu = 4 }}")
    for name, value in values.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _TAKEN:
            raise InputError(
                f"{key}: {shown(name)} is no name of a resource; allowed: up to 40 letters, digits, - and _, "
                f"not {', '.join(_TAKEN)}"
            )
        unit = memory_unit(name, f"{key}.{name}") if units else 1
        if not units and (name == MEMORY or name in MEMORY_UNITS_KB):
            raise InputError(f"{key}.{name}: memory is a host's; allowed: in the resources of [[hosts]]")
        kept = MEMORY if name in MEMORY_UNITS_KB else name
        if kept in found:
            raise InputError(f"{key}.{name}: memory is given twice")
        found[kept] = whole(f"{key}.{name}", value, 0, MAX_AMOUNT // unit) * unit
    return tuple(sorted((name, value) for name, value in found.items() if value))


T = TypeVar("T")

MAX_CORES = 2**24  #: largest number of cores of a platform

#: Topologies of networks in ``als.network.topologies``, which checks their parameters.
TOPOLOGIES = ("full", "shared", "star", "fat-tree", "dragonfly")
_MAX_TOPOLOGY = 500

# Sufficient for any machine; beyond it, work = cores × speed × run time could exceed the range of float64.
_MIN_GFLOPS, _MAX_GFLOPS = 1e-9, 1e15


@dataclass(frozen=True)
class HostGroup:
    """Equal hosts. Raises InputError if a value is out of range; the message begins with its name."""

    count: int  #: number of hosts, from 1
    cores: int  #: cores of each host, from 1
    speed_gflops: float  #: speed of one whole host, 1e-9 to 1e15, shared equally by its cores
    #: resources of each host besides cores, as ``{"memory_gb": 64, "gpu": 4}``: whole amounts under any names, memory
    #: as ``memory_gb``, ``memory_mb`` or ``memory_kb``. Kept as (name, amount) pairs, memory as ``memory`` in KB.
    resources: Amounts = ()
    power: HostPower | None = None  #: power of each host; None: unknown
    gpus: int = 0  #: numbered GPUs of each host, 0 to 1000
    gpu: str = ""  #: their kind, as ``a100``; empty if all GPUs of the machine are equal
    gpu_memory_gb: int | None = None  #: memory of one GPU, 1 to 10**6 GB; None: unknown

    def __post_init__(self) -> None:
        whole("count", self.count, 1, MAX_CORES)
        whole("cores", self.cores, 1, MAX_CORES)
        object.__setattr__(self, "speed_gflops", real("speed_gflops", self.speed_gflops, _MIN_GFLOPS, _MAX_GFLOPS))
        object.__setattr__(self, "resources", amounts("resources", self.resources))
        self._check_gpus()

    def _check_gpus(self) -> None:
        whole("gpus", self.gpus, 0, MAX_GPUS)
        for name in ("gpu", "gpu_memory_gb"):
            if self.gpus == 0 and getattr(self, name):
                raise InputError(
                    f"{name}: {shown(getattr(self, name))}: the hosts have no GPUs; add gpus, their number"
                )
        if self.gpu != "" and not (isinstance(self.gpu, str) and _KIND.fullmatch(self.gpu)):
            raise InputError(f"gpu: {shown(self.gpu)} is no kind of GPU; allowed: up to 40 letters, digits, ., - and _")
        if self.gpus == 0 and self.power is not None and self.power.gpu_states:
            raise InputError("power.gpu_states: the hosts have no GPUs; add gpus, their number")
        if self.gpu_memory_gb is not None:
            whole("gpu_memory_gb", self.gpu_memory_gb, 1, _MAX_GPU_MEMORY_GB)

    def as_dict(self) -> dict[str, Any]:
        """The group in the form of the TOML file."""
        plain: dict[str, Any] = {"count": self.count, "cores": self.cores, "speed_gflops": self.speed_gflops}
        named = {"memory_kb" if name == MEMORY else name: amount for name, amount in self.resources}
        plain |= {"resources": named} if named else {}
        plain |= {name: getattr(self, name) for name in ("gpus", "gpu", "gpu_memory_gb") if getattr(self, name)}
        return plain | ({"power": self.power.as_dict()} if self.power is not None else {})


@dataclass(frozen=True)
class Network:
    """The network between the hosts. Raises InputError if a value is out of range; the message begins with its name."""

    #: a name in ``TOPOLOGIES``, followed by parameters if any, as ``fat-tree:down=4x4,up=1x2,cables=1x1``, which are
    #: checked when routes are made. ``full``: every pair of hosts has its own link.
    topology: str = TOPOLOGY.default
    #: of a link: Gbit/s, 1e-9 to 1e9; and ns, 0 to 10**12
    bandwidth_gbps: float = LINK_BANDWIDTH.default
    latency_ns: int = int(LINK_LATENCY.default)
    #: of transfers within a host, Gbit/s, 1e-9 to 1e9. None: they take no time.
    memory_gbps: float | None = MEMORY_BANDWIDTH.default

    def __post_init__(self) -> None:
        if not isinstance(self.topology, str):
            raise InputError(f"topology: {shown(self.topology)} is not a string; known: {', '.join(TOPOLOGIES)}")
        name, _ = split_parameters(self.topology)
        if name not in TOPOLOGIES:
            raise one_of("topology", name, TOPOLOGIES, "topology")
        if not self.topology.isprintable() or len(self.topology) > _MAX_TOPOLOGY:
            allowed = f"a name and parameters of up to {_MAX_TOPOLOGY} printable characters"
            raise InputError(f"topology: {shown(self.topology)}; allowed: {allowed}")
        object.__setattr__(self, "bandwidth_gbps", LINK_BANDWIDTH.check(self.bandwidth_gbps, "bandwidth_gbps"))
        whole("latency_ns", self.latency_ns, int(LINK_LATENCY.lowest), int(LINK_LATENCY.highest))
        if self.memory_gbps is not None:
            object.__setattr__(self, "memory_gbps", MEMORY_BANDWIDTH.check(self.memory_gbps, "memory_gbps"))

    def as_dict(self) -> dict[str, Any]:
        """The network in the form of the TOML file."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Platform:
    """A cluster. Hosts, and their cores, are numbered from 0 in the order of the groups.

    ``Platform()`` is the default: 4 hosts of 64 cores and 3 TFLOP/s, fully connected, 50 Gbit/s, 500 ns. Raises InputError if a
    value is out of range; the message begins with its name.
    """

    #: at least one group; at most ``MAX_CORES`` (2**24) cores in all
    hosts: tuple[HostGroup, ...] = (HostGroup(count=HOSTS, cores=HOST_CORES, speed_gflops=HOST_GFLOPS),)
    network: Network = field(default_factory=Network)
    name: str = "cluster"  #: name in traces; 1 to 100 printable characters
    #: amounts of the whole machine, as ``{"matlab": 20}``; names must differ from those of resources
    licences: Amounts = ()
    partitions: tuple[Partition, ...] = ()  #: empty: every job may use every host
    switches: tuple[Switch, ...] = ()  #: empty: there is no topology

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if not self.hosts:
            raise InputError("hosts: empty; a platform needs at least one [[hosts]] table")
        if self.n_cores > MAX_CORES:
            raise InputError(f"hosts: {self.n_cores} cores in all are too many; allowed: 1 to {MAX_CORES}")
        printable_name("name", self.name)
        self._check_gpus()
        object.__setattr__(self, "licences", amounts("licences", self.licences, units=False))
        for name, _ in self.licences:
            if name in self.resource_names:
                raise InputError(f"licences.{name}: is a resource of hosts, too; allowed: names that are not")
            if self.n_gpus and name in _OF_GPUS:
                raise InputError(f"licences.{name}: requests of GPUs have this name; allowed: another name")
        object.__setattr__(self, "partitions", tuple(self.partitions))
        object.__setattr__(self, "switches", tuple(self.switches))
        _check_partitions(self.partitions, self.n_hosts, self.n_gpus)
        _ = self.topology  # building it checks it

    def _check_gpus(self) -> None:
        if len(self.gpu_kinds) > _MAX_KINDS:
            raise InputError(f"hosts: {len(self.gpu_kinds)} kinds of GPUs are too many; allowed: up to {_MAX_KINDS}")
        named = [place for place, group in enumerate(self.hosts) if group.gpu]
        for place, group in enumerate(self.hosts if self.n_gpus else ()):
            if named and group.gpus and not group.gpu:
                other = f"those of hosts[{named[0]}] are {shown(self.hosts[named[0]].gpu)}"
                raise InputError(f"hosts[{place}].gpu: missing: {other}, so all GPUs need a kind")
            for name, _ in group.resources:
                if name in _OF_GPUS:
                    both = "requests of numbered GPUs have this name, and the platform has some (gpus)"
                    raise InputError(f"hosts[{place}].resources.{name}: {both}; allowed: another name")

    @cached_property
    def n_hosts(self) -> int:
        """Number of hosts."""
        return sum(group.count for group in self.hosts)

    @cached_property
    def n_cores(self) -> int:
        """Number of cores of all hosts."""
        return sum(group.count * group.cores for group in self.hosts)

    @property
    def n_gpus(self) -> int:
        """Number of numbered GPUs of all hosts."""
        return sum(group.count * group.gpus for group in self.hosts)

    @property
    def first_gpu(self) -> Array:
        """Host ``h`` has the GPUs ``first_gpu[h]:first_gpu[h + 1]``: int64, shape (n_hosts + 1,)."""
        gpus = np.repeat([group.gpus for group in self.hosts], [group.count for group in self.hosts])
        return np.concatenate(([0], np.cumsum(gpus))).astype(np.int64)

    @property
    def gpu_kinds(self) -> tuple[str, ...]:
        """Kinds of the GPUs, sorted; ``""`` if they have no name, and empty without GPUs."""
        return tuple(sorted({group.gpu for group in self.hosts if group.gpus}))

    @property
    def gpu_kind_of_host(self) -> Array:
        """Number in ``gpu_kinds`` of each host's GPUs, 0 for hosts without GPUs: int64, shape (n_hosts,)."""
        kinds = [self.gpu_kinds.index(group.gpu) if group.gpus else 0 for group in self.hosts]
        return np.repeat(np.array(kinds, np.int64), [group.count for group in self.hosts])

    def mean_over_cores(self, of_core: Sequence[int]) -> int:
        """The mean over all cores of what a core of each group of hosts has, rounded half up."""
        total = sum(group.count * group.cores * each for group, each in zip(self.hosts, of_core, strict=True))
        return (2 * total + self.n_cores) // (2 * self.n_cores)

    @cached_property
    def core_speed_gflops(self) -> Array:
        """Speed of every core in GFLOP/s: float64, shape (n_cores,), read-only."""
        speeds = [group.speed_gflops / group.cores for group in self.hosts]
        return read_only(np.repeat(np.array(speeds), [group.count * group.cores for group in self.hosts]))

    @property
    def slowest_gflops(self) -> float:
        """Speed of the slowest core in GFLOP/s."""
        return min(group.speed_gflops / group.cores for group in self.hosts)

    @cached_property
    def first_core(self) -> Array:
        """Host ``h`` has the cores ``first_core[h]:first_core[h + 1]``: int64, shape (n_hosts + 1,), read-only."""
        cores = np.repeat([group.cores for group in self.hosts], [group.count for group in self.hosts])
        return read_only(np.concatenate(([0], np.cumsum(cores))).astype(np.int64))

    @cached_property
    def core_host(self) -> Array:
        """The host of each core: int64, shape (n_cores,), read-only."""
        return read_only(np.repeat(np.arange(self.n_hosts), np.diff(self.first_core)))

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """Names of all resources of hosts besides cores, R of them, sorted; memory is ``memory``."""
        return tuple(sorted({name for group in self.hosts for name, _ in group.resources}))

    @cached_property
    def host_resources(self) -> Array:
        """Resources of every host: int64, shape (n_hosts, R), read-only; memory in KB."""
        groups = [dict(group.resources) for group in self.hosts]
        table = np.array([[one.get(name, 0) for name in self.resource_names] for one in groups], dtype=np.int64)
        shape = (len(groups), len(self.resource_names))
        return read_only(np.repeat(table.reshape(shape), [group.count for group in self.hosts], axis=0))

    @property
    def licence_names(self) -> tuple[str, ...]:
        """Names of the licences, L of them, sorted."""
        return tuple(name for name, _ in self.licences)

    @cached_property
    def licence_amounts(self) -> Array:
        """Number of licences of each name: int64, shape (L,), read-only."""
        return read_only(np.array([amount for _, amount in self.licences], dtype=np.int64))

    @cached_property
    def partition_table(self) -> PartitionTable:
        """The partitions as arrays; one of all hosts if there are none."""
        return partition_table(self.partitions, self.first_core)

    @cached_property
    def topology(self) -> SwitchColumns:
        """The switches as arrays; empty if there are none."""
        return topology(self.switches, self.n_hosts)

    def machine(self) -> MachineShape:
        """The machine as traces show it: hosts are called ``host 0``, ``host 1``, … across the groups."""
        names = tuple(f"host {number}" for number in range(self.n_hosts))
        if not self.n_gpus:
            return MachineShape(self.name, names, self.first_core)
        kinds = tuple(group.gpu for group in self.hosts for _ in range(group.count))
        return MachineShape(self.name, names, self.first_core, first_gpu=self.first_gpu, gpu_kinds=kinds)

    def as_dict(self) -> dict[str, Any]:
        """The platform in plain values, in the form of the TOML file: for records of a run."""
        hosts = [group.as_dict() for group in self.hosts]
        plain: dict[str, Any] = {"name": self.name, "hosts": hosts, "network": self.network.as_dict()}
        others = {
            "licences": dict(self.licences),
            "partitions": [partition.as_dict() for partition in self.partitions],
            "switches": [
                {"name": one.name} | ({"hosts": one.hosts} if one.hosts else {"switches": list(one.switches)})
                for one in self.switches
            ],
        }
        return plain | {key: value for key, value in others.items() if value}

    def digest(self) -> str:
        """16 hexadecimal digits that are equal for equal platforms."""
        text = json.dumps(self.as_dict(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _repr_html_(self) -> str:
        groups = [(f"{one.count} hosts", f"{one.cores} cores, {one.speed_gflops:g} GFLOP/s each") for one in self.hosts]
        size = f"{self.n_cores} on {self.n_hosts} hosts"
        return html_table([("platform", self.name), *groups, ("cores", size), ("topology", str(self.network.topology))])

    def to_toml(self) -> str:
        """A commented TOML text that :func:`parse_platform` reads back to an equal platform."""
        return platform_text(self)


def load_platform(path: str | os.PathLike[str], *, processor_gflops: float = PROCESSOR_GFLOPS) -> Platform:
    """Read a platform from a TOML file, or from one of AccaSim's system files (``bls.machine.platform_files``).

    Parameters
    ----------
    path : path
        AccaSim's file if its name ends in ``.json`` or its text begins with a brace.
    processor_gflops : float
        Speed of a core, GFLOP/s, in AccaSim's files, which state none.

    Raises
    ------
    InputError
        In one line that names the file and the key: the file is missing or is not TOML (JSON), a key is unknown or missing, or
        a value has the wrong type or is out of range.
    """
    source = os.fspath(path)
    named_json = source.lower().endswith(".json")
    text = read_text(path, "platform file", "JSON" if named_json else "TOML")
    if named_json or text.lstrip().startswith("{"):  # a TOML text cannot begin with a brace
        name, groups = parse_accasim(text, source, processor_gflops)
        made = [from_keys(HostGroup, group, f"{source}: {where}.") for where, group in groups]
        return from_keys(Platform, {"name": name, "hosts": made}, f"{source}: ")
    return parse_platform(text, source)


def parse_platform(text: str, source: str = "platform") -> Platform:
    """Read a platform from a TOML text; ``source`` is its name for messages. Raises InputError as :func:`load_platform`."""
    return platform_of(parse_toml(text, source), source)


def platform_of(table: Any, source: str) -> Platform:
    """Build a platform from plain values (:meth:`Platform.as_dict`). Raises InputError as :func:`load_platform`."""
    if not isinstance(table, dict):
        raise InputError(f"{source}: {shown(table)}; allowed: a table")
    check_keys(table, _known_keys(Platform), f"{source}: ")
    network = table.get("network", {})
    if not isinstance(network, dict):
        raise InputError(f"{source}: network: {shown(network)} is not a table; allowed: a [network] table")
    made: dict[str, Any] = {
        "hosts": [_group(group, path) for path, group in list_of_tables(table, "hosts", source)],
        "network": from_keys(Network, network, f"{source}: network."),
        "partitions": [_partition(values, path) for path, values in list_of_tables(table, "partitions", source)],
        "switches": [from_keys(Switch, values, path) for path, values in list_of_tables(table, "switches", source)],
    }
    return from_keys(Platform, table | made, f"{source}: ")


def _group(values: Mapping[str, Any], where: str) -> HostGroup:
    power = values.get("power")
    if power is None:
        return from_keys(HostGroup, values, where)
    if not isinstance(power, dict):
        raise InputError(f"{where}power: {shown(power)} is not a table; allowed: a [hosts.power] table")
    return from_keys(HostGroup, {**values, "power": from_keys(HostPower, power, f"{where}power.")}, where)


def _partition(values: Mapping[str, Any], where: str) -> Partition:
    known = ["max_time" if key == "max_time_ns" else key for key in _known_keys(Partition)]
    check_keys(values, known, where)
    changed = {key: value for key, value in values.items() if key != "max_time"}
    if "max_time" in values:
        changed["max_time_ns"] = given_duration_ns(values["max_time"], f"{where}max_time")
    return from_keys(Partition, changed, where)


def _check_partitions(partitions: tuple[Partition, ...], n_hosts: int, n_gpus: int) -> None:
    names: set[str] = set()
    default = ""
    for row, partition in enumerate(partitions):
        if partition.name in names:
            raise InputError(f"partitions[{row}].name: {shown(partition.name)} is the name of two partitions")
        names.add(partition.name)
        existing("host", partition.hosts, n_hosts, f"partitions[{row}].hosts")
        if partition.default and default:
            both = f"{shown(default)} and {shown(partition.name)}"
            raise InputError(f"partitions[{row}].default: two partitions are the default: {both}")
        default = partition.name if partition.default else default
        for key in GPU_LIMITS if n_gpus == 0 else ():
            if getattr(partition, key) is not None:
                raise InputError(f"partitions[{row}].{key}: the hosts have no numbered GPUs; add gpus to [[hosts]]")


def from_keys(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """``kind(**values)``, for a dataclass; ``where`` is the prefix of a key's name in an error. Raises InputError if a key is
    unknown or missing, or a value is not allowed; the message begins with the key's path."""
    check_keys(values, _known_keys(kind), where)
    for entry in fields(cast(Any, kind)):
        needed = entry.default is MISSING and entry.default_factory is MISSING
        if needed and entry.name not in values:
            raise InputError(f"{where}{entry.name}: missing")
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}{error.text}") from None


def _known_keys(kind: type[Any]) -> list[str]:
    return [entry.name for entry in fields(kind)]


def demand_response() -> Platform:
    """151 hosts of 14 cores with 66 W idle and 240 W at work: 139.5 kW and 507.4 kW in total.

    S. Matsui et al., *Architecture of Job Scheduling Simulator for Demand Response Based Resource Provisioning*, ISGC 2021. The
    paper states neither speeds (here 1 GFLOP/s per core) nor the slower state of its cores (here 0.75 of it at 180 W).
    """
    power = HostPower(idle_w=66, states=[(1, 240), (0.75, 180)])
    return Platform((HostGroup(151, 14, 14.0, power=power),), name="demand response")


#: Platforms by name; ``paper`` is the two-level paper's.
PUBLISHED: Final[dict[str, Callable[[], Platform]]] = {"paper": Platform, "demand-response": demand_response}
