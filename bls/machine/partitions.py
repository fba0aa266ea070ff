"""Partitions: which hosts jobs of a kind may use, how much at once, and which tier of the order they stand in.

Other names for them are queues and classes. A job belongs to one partition, which is found by what its log says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.machine.switches import printable_name
from traces.base.columns import Columns
from traces.base.errors import InputError, shown, whole
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array
from traces.intervals import intervals_text, parse_intervals

if TYPE_CHECKING:
    from bls.machine.platform import Platform

#: What stands in a table where there is no limit.
NO_LIMIT = MAX_NS

_MAX_PRIORITY = 10**9
_LIMITS = ("max_cores", "max_running_jobs", "max_running_cores", "max_jobs_per_user", "max_cores_per_user")


@dataclass(frozen=True)
class Partition:
    """One partition.

    Parameters
    ----------
    name : str
        1 to 100 printable characters.
    hosts : str
        Host numbers, as ``0-3 8``; all hosts where it is empty. Partitions may share hosts.
    swf_partitions, swf_queues : tuple of int
        The partition and queue numbers of the log whose jobs belong here. Where both are given, a job belongs
        here if both have its numbers; where neither is, no job does so by its numbers.
    default : bool
        Whether jobs that belong to no partition by their numbers belong to this one.
    priority : int
        Tier of the order, -10**9 to 10**9: a job stands before all jobs of lower tiers.
    max_cores, min_cores : int, optional
        Of a job.
    max_time_ns : int, optional
        Longest estimate of a job; ``max_time`` in a file, as ``"24h"``.
    max_running_jobs, max_running_cores : int, optional
        How many jobs of the partition run at once, and on how many cores.
    max_jobs_per_user, max_cores_per_user : int, optional
        The same for the jobs of one user in the partition (those of unknown users are one user's).

    Raises
    ------
    InputError
        If a value is out of range; the message begins with its name.
    """

    name: str
    hosts: str = ""
    swf_partitions: tuple[int, ...] = ()
    swf_queues: tuple[int, ...] = ()
    default: bool = False
    priority: int = 0
    max_cores: int | None = None
    min_cores: int | None = None
    max_time_ns: int | None = None
    max_running_jobs: int | None = None
    max_running_cores: int | None = None
    max_jobs_per_user: int | None = None
    max_cores_per_user: int | None = None

    def __post_init__(self) -> None:
        printable_name("name", self.name)
        if not isinstance(self.hosts, str):
            raise InputError(f"hosts: {shown(self.hosts)} is not a text; allowed: as '0-3 8'")
        object.__setattr__(self, "hosts", intervals_text(parse_intervals(self.hosts, "hosts")))
        for key in ("swf_partitions", "swf_queues"):
            value = getattr(self, key)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InputError(f"{key}: {shown(value)} is no list of numbers; allowed: as [1, 2]")
            object.__setattr__(self, key, tuple(whole(key, number, 0, MAX_NS) for number in value))
        if not isinstance(self.default, bool):
            raise InputError(f"default: {shown(self.default)} is neither true nor false")
        whole("priority", self.priority, -_MAX_PRIORITY, _MAX_PRIORITY)
        for key in (*_LIMITS, "min_cores", "max_time_ns"):
            if getattr(self, key) is not None:
                whole(key, getattr(self, key), 1, MAX_NS)
        if (self.min_cores or 1) > (self.max_cores or MAX_NS):
            raise InputError(f"min_cores: {self.min_cores} is more than max_cores {self.max_cores}")

    def as_dict(self) -> dict[str, Any]:
        """What is not a default, in the form of the TOML file."""
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
    first: Array  # (P + 1,): partition ``p`` has the intervals ``first[p]:first[p + 1]`` of the next four
    # half-open intervals of cores, and the same of hosts; ascending and disjoint within a partition
    core_lo: Array
    core_hi: Array
    host_lo: Array
    host_hi: Array

    def __len__(self) -> int:
        return len(self.names)

    def hosts(self, row: int, n_hosts: int) -> Array:
        """Which of the platform's hosts a partition has: bool, shape (n_hosts,)."""
        found = np.zeros(n_hosts, bool)
        for k in range(int(self.first[row]), int(self.first[row + 1])):
            found[self.host_lo[k] : self.host_hi[k]] = True
        return found


def interval_columns(lists: Sequence[list[tuple[int, int]]]) -> tuple[Array, Array, Array]:
    """Lists of intervals as columns: list k has ``first[k]:first[k + 1]`` of ``lo`` and ``hi``."""
    first = np.cumsum([0] + [len(some) for some in lists]).astype(np.int64)
    pairs = np.array([pair for some in lists for pair in some], dtype=np.int64).reshape(-1, 2)
    return first, pairs[:, 0].copy(), pairs[:, 1].copy()


def partition_table(platform: Platform) -> PartitionTable:
    """The partitions of a platform; one of all hosts where it has none."""
    partitions = platform.partitions or (Partition("all"),)
    intervals = [parse_intervals(p.hosts, "hosts", platform.n_hosts) or [(0, platform.n_hosts)] for p in partitions]
    first, host_lo, host_hi = interval_columns(intervals)
    core_lo, core_hi = platform.first_core[host_lo], platform.first_core[host_hi]
    limits = {key: np.array([getattr(p, key) or NO_LIMIT for p in partitions], np.int64) for key in _LIMITS[1:]}
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
