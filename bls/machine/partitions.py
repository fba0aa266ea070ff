"""Partitions of the machine, and the switches that connect its hosts.

A partition (queue, class) determines the hosts and the resources that jobs of a kind may use at any one time, and their tier in
the order.

Switches form one or several trees, as in Slurm's topology/tree: a leaf switch has hosts, a higher one has switches. Every host
is on exactly one leaf. Hosts are listed tree by tree, so the hosts below a switch are consecutive, and two numbers describe it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from traces.base.columns import Columns, read_only
from traces.base.errors import InputError, one_of, real, shown, whole
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array
from traces.intervals import intervals_text, parse_intervals


def printable_name(key: str, value: object) -> str:
    """``value`` as a name: 1 to 100 printable characters, or an InputError that begins with ``key``."""
    if not isinstance(value, str) or not 1 <= len(value) <= 100 or not value.isprintable():
        raise InputError(f"{key}: {shown(value)} is no name; allowed: 1 to 100 printable characters")
    return value


def host_text(value: object, example: str) -> str:
    """Host numbers in the form ``0-3 8``, or an InputError that begins with ``hosts``."""
    if not isinstance(value, str):
        raise InputError(f"hosts: {shown(value)} is not a text; allowed: e.g. '{example}'")
    return intervals_text(parse_intervals(value, "hosts"))


def existing(kind: str, text: str, n: int, where: str) -> list[tuple[int, int]]:
    """The intervals of hosts or cores (``kind``) that a text names; InputError if one is not among the platform's ``n``."""
    found = parse_intervals(text, where, n)
    if found and found[-1][1] > n:
        raise InputError(f"{where}: {kind} {found[-1][1] - 1}; the platform has the {kind}s 0 to {n - 1}")
    return found


@dataclass(frozen=True)
class Switch:
    """One switch: a leaf, which has hosts, or a higher one, which has switches. Raises InputError if it has neither or both, or
    a value is not allowed; the message begins with its name."""

    name: str  # 1 to 100 printable characters
    hosts: str = ""  # host numbers of a leaf, as ``0-15`` or ``0-3 8``
    switches: tuple[str, ...] = ()  # names of the switches below a higher one

    def __post_init__(self) -> None:
        printable_name("name", self.name)
        object.__setattr__(self, "hosts", host_text(self.hosts, "0-15"))
        below: object = self.switches
        if not isinstance(below, list | tuple) or not all(isinstance(name, str) for name in below):
            raise InputError(f"switches: {shown(below)} is no list of names; allowed: e.g. ['s0', 's1']")
        object.__setattr__(self, "switches", tuple(below))
        if bool(self.hosts) == bool(self.switches):
            raise InputError("hosts: a switch has either hosts or switches")


@dataclass(frozen=True, eq=False)
class SwitchColumns(Columns):
    """The switches as arrays: leaves first, then level by level, within a level by lowest host. Arrays are read-only."""

    names: tuple[str, ...]  # names of the switches
    hosts: Array  # (H,): all hosts, tree by tree; the hosts of a leaf ascend. Without gaps it is 0 … H - 1.
    # (S,): switch ``s`` covers the hosts ``hosts[lo[s]:hi[s]]``
    lo: Array
    hi: Array
    level: Array  # (S,): 0 for a leaf, else one more than the highest level below
    n_leaves: int  # switch ``s`` is a leaf exactly if ``s < n_leaves``

    def __len__(self) -> int:
        return len(self.names)

    def below(self, row: int) -> Array:
        """The hosts that switch ``row`` covers, int64, ascending."""
        return np.sort(self.hosts[self.lo[row] : self.hi[row]])

    @cached_property
    def leaf_of_host(self) -> Array:
        """The leaf switch of each host, int64 (H,), read-only."""
        leaf = np.zeros(len(self.hosts), np.int64)
        for row in range(self.n_leaves):
            leaf[self.hosts[self.lo[row] : self.hi[row]]] = row
        return read_only(leaf)


def topology(switches: Sequence[Switch], n_hosts: int) -> SwitchColumns:
    """The arrays of some switches; empty without switches. Raises InputError if names are used twice or unknown, hosts or
    switches are on two switches, a host is on none, or a switch is above itself. The message begins with the key's path."""
    rows: dict[str, int] = {}
    above: dict[str, str] = {}
    for row, switch in enumerate(switches):
        if switch.name in rows:
            raise InputError(f"switches[{row}].name: {shown(switch.name)} is the name of two switches")
        rows[switch.name] = row
    for row, switch in enumerate(switches):
        for name in switch.switches:
            if name not in rows:
                raise one_of("switch", name, rows, f"switches[{row}].switches")
            if name in above:
                both = f"{shown(above[name])} and {shown(switch.name)}"
                raise InputError(f"switches[{row}].switches: switch {shown(name)} is below two: {both}")
            above[name] = switch.name
    hosts = _hosts_of_leaves(switches, n_hosts)  # of each switch that is done, tree by tree
    level = dict.fromkeys(hosts, 0)
    while len(hosts) < len(rows):
        ready = [s for s in switches if s.name not in hosts and all(name in hosts for name in s.switches)]
        if not ready:
            circle = ", ".join(shown(name) for name in rows if name not in hosts)
            raise InputError(f"switches: some are above themselves, among {circle}")
        for switch in ready:
            below = sorted((hosts[name] for name in switch.switches), key=lambda some: int(some.min()))
            hosts[switch.name] = np.concatenate(below)
            level[switch.name] = 1 + max(level[name] for name in switch.switches)
    lowest = {name: int(some.min()) for name, some in hosts.items()}
    roots = sorted((name for name in hosts if name not in above), key=lambda name: lowest[name])
    every = np.concatenate([np.zeros(0, np.int64), *(hosts[name] for name in roots)])
    place = np.argsort(every)
    order = sorted(hosts, key=lambda name: (level[name], lowest[name]))
    lo = np.array([place[hosts[name][0]] for name in order], np.int64)
    hi = lo + np.array([len(hosts[name]) for name in order], np.int64)
    levels = np.array([level[name] for name in order], np.int64)
    return SwitchColumns(tuple(order), every, lo, hi, levels, int(np.count_nonzero(levels == 0)))


def _hosts_of_leaves(switches: Sequence[Switch], n_hosts: int) -> dict[str, Array]:
    # The hosts of each leaf, ascending: every host is on exactly one.
    found: dict[str, Array] = {}
    leaf = np.full(n_hosts, -1, np.int64)
    for row, switch in enumerate(switches):
        if not switch.hosts:
            continue
        spans = existing("host", switch.hosts, n_hosts, f"switches[{row}].hosts")
        hosts = np.concatenate([np.arange(lo, hi) for lo, hi in spans])
        if (twice := hosts[leaf[hosts] >= 0]).size:
            both = f"{shown(switches[leaf[twice[0]]].name)} and {shown(switch.name)}"
            raise InputError(f"switches: host {twice[0]} is on two leaf switches, {both}")
        leaf[hosts] = row
        found[switch.name] = hosts
    if found and (leaf < 0).any():
        raise InputError(f"switches: host {int(leaf.argmin())} is on no leaf switch; every host is on exactly one")
    return found


NO_LIMIT = MAX_NS  #: entry of a table for no limit
_MAX_PRIORITY = 10**9

BEYOND_LIMITS = "beyond its partition's limits"  #: the reason of rejects that a partition never lets start

# The limits of the running jobs, limits in GPUs, and all limits of a partition.
_RUNNING = ("max_running_jobs", "max_running_cores", "max_jobs_per_user", "max_cores_per_user")
GPU_LIMITS = ("max_gpus", "max_running_gpus", "max_gpus_per_user")
LIMITS = ("max_cores", "min_cores", "max_time_ns", *_RUNNING, *GPU_LIMITS)
_MAX_GPUS = 10**9


def gpu_milli(gpus: float | None) -> int:
    """A limit in GPUs as thousandths; ``NO_LIMIT`` for None."""
    return NO_LIMIT if gpus is None else round(1000 * gpus)


@dataclass(frozen=True)
class Partition:
    """One partition. Raises InputError if a value is out of range; the message begins with its name."""

    name: str  #: 1 to 100 printable characters
    hosts: str = ""  #: host numbers, as ``0-3 8``; all hosts if it is empty. Partitions may share hosts.
    #: the log's partition and queue numbers of jobs that belong here. If both are given, a job must have both; if
    #: neither is, no job belongs here by its numbers.
    swf_partitions: tuple[int, ...] = ()
    swf_queues: tuple[int, ...] = ()
    default: bool = False  #: whether jobs that belong to no partition by their numbers belong to this one
    priority: int = 0  #: tier of the order, -10**9 to 10**9: jobs precede all jobs of lower tiers
    #: limits of a job; ``max_time`` in a file, as ``"24h"``, is the longest estimate
    max_cores: int | None = None
    min_cores: int | None = None
    max_time_ns: int | None = None
    #: largest numbers of running jobs of the partition, and of their cores
    max_running_jobs: int | None = None
    max_running_cores: int | None = None
    #: the same for the jobs of one user in the partition (all unknown users count as one)
    max_jobs_per_user: int | None = None
    max_cores_per_user: int | None = None
    #: numbered GPUs, 0.001 to 10**9 in whole thousandths: of a job, of all running jobs, and of the running jobs of a user.
    #: Requests of GPUs per host count those of one host; running jobs count the GPUs that they hold.
    max_gpus: float | None = None
    max_running_gpus: float | None = None
    max_gpus_per_user: float | None = None

    def __post_init__(self) -> None:
        printable_name("name", self.name)
        object.__setattr__(self, "hosts", host_text(self.hosts, "0-3 8"))
        for key in ("swf_partitions", "swf_queues"):
            value = getattr(self, key)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InputError(f"{key}: {shown(value)} is no list of numbers; allowed: e.g. [1, 2]")
            object.__setattr__(self, key, tuple(whole(key, number, 0, MAX_NS) for number in value))
        if not isinstance(self.default, bool):
            raise InputError(f"default: {shown(self.default)} is neither true nor false")
        whole("priority", self.priority, -_MAX_PRIORITY, _MAX_PRIORITY)
        for key in LIMITS:
            value = getattr(self, key)
            if key in GPU_LIMITS and value is not None:
                if gpu_milli(real(key, value, 0.001, _MAX_GPUS)) / 1000 != value:
                    raise InputError(f"{key}: {shown(value)} is out of range; allowed: whole thousandths")
            elif value is not None:
                whole(key, value, 1, MAX_NS)
        if (self.min_cores or 1) > (self.max_cores or MAX_NS):
            raise InputError(f"min_cores: {self.min_cores} is more than max_cores {self.max_cores}")

    def as_dict(self) -> dict[str, Any]:
        """Values that are not defaults, in the form of the TOML file."""
        values = asdict(self)
        plain = {entry.name: values[entry.name] for entry in fields(self) if values[entry.name] != entry.default}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}
        if "max_time_ns" in plain:
            seconds, left = divmod(plain.pop("max_time_ns"), NS_PER_S)
            plain["max_time"] = f"{seconds}.{left:09d}s" if left else f"{seconds}s"
        return plain


@dataclass(frozen=True, eq=False)
class PartitionTable(Columns):
    """The partitions as arrays, in the platform's order. Arrays are read-only int64."""

    names: tuple[str, ...]  # of the partitions
    # (P,): tiers (higher first), and cores of the hosts
    priority: Array
    n_cores: Array
    # (P,): limits; ``NO_LIMIT`` (2**62) where there is none
    max_running_jobs: Array
    max_running_cores: Array
    max_jobs_per_user: Array
    max_cores_per_user: Array
    # (P,): the same, of GPUs, in thousandths; ``max_gpus`` is the least of the three limits, which no job may exceed
    max_gpus: Array
    max_running_gpus: Array
    max_gpus_per_user: Array
    first: Array  # (P + 1,): partition ``p`` has the intervals ``first[p]:first[p + 1]`` of the next four
    # half-open intervals of cores, and the same of hosts; ascending and disjoint within a partition
    core_lo: Array
    core_hi: Array
    host_lo: Array
    host_hi: Array

    def __len__(self) -> int:
        return len(self.names)

    def hosts(self, row: int, n_hosts: int) -> Array:
        """The hosts of a partition among the platform's: bool, shape (n_hosts,)."""
        found = np.zeros(n_hosts, bool)
        for k in range(int(self.first[row]), int(self.first[row + 1])):
            found[self.host_lo[k] : self.host_hi[k]] = True
        return found


def interval_columns(lists: Sequence[list[tuple[int, int]]]) -> tuple[Array, Array, Array]:
    """Lists of intervals as columns: list k has ``first[k]:first[k + 1]`` of ``lo`` and ``hi``."""
    first = np.cumsum([0] + [len(some) for some in lists]).astype(np.int64)
    pairs = np.array([pair for some in lists for pair in some], dtype=np.int64).reshape(-1, 2)
    return first, pairs[:, 0].copy(), pairs[:, 1].copy()


def partition_table(partitions: Sequence[Partition], first_core: Array) -> PartitionTable:
    """Partitions as arrays; one of all hosts if there are none. Host ``h`` has the cores
    ``first_core[h]:first_core[h + 1]``."""
    partitions, n_hosts = partitions or (Partition("all"),), len(first_core) - 1
    intervals = [parse_intervals(p.hosts, "hosts", n_hosts) or [(0, n_hosts)] for p in partitions]
    first, host_lo, host_hi = interval_columns(intervals)
    core_lo, core_hi = first_core[host_lo], first_core[host_hi]
    limits = {key: np.array([getattr(p, key) or NO_LIMIT for p in partitions], np.int64) for key in _RUNNING}
    of_gpus = np.array([[gpu_milli(getattr(p, key)) for p in partitions] for key in GPU_LIMITS], np.int64)
    limits |= dict(zip(GPU_LIMITS, [of_gpus.min(axis=0), *of_gpus[1:]], strict=True))
    return PartitionTable(
        names=tuple(p.name for p in partitions),
        priority=np.array([p.priority for p in partitions], dtype=np.int64),
        n_cores=np.add.reduceat(core_hi - core_lo, first[:-1]),
        first=first,
        core_lo=core_lo,
        core_hi=core_hi,
        host_lo=host_lo,
        host_hi=host_hi,
        **limits,
    )
