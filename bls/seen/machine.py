"""The machine as a scheduler sees it: hosts, partitions and windows, what they have, and what of it is free now.

What does not change is found once, when it is first asked for; what does, once after each time that the engine was run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.engine import state as b
from bls.machine.partitions import Partition, partition_table
from bls.machine.platform import Platform
from bls.seen.jobs import JobFacts, SeenJob
from traces.base.columns import read_only
from traces.compiled import Array
from traces.intervals import intervals_of

if TYPE_CHECKING:
    from bls.running_jobs import RunningJobs


class Present:
    """What is free and what runs, as the engine left it; each column is found when it is first asked for. ``running``:
    the jobs that run, by row."""

    def __init__(self, jobs: RunningJobs, facts: JobFacts, running: Mapping[int, SeenJob]) -> None:
        self._jobs, self._state, self._facts, self._running = jobs, jobs.state, facts, running

    @cached_property
    def is_free(self) -> Array:
        """Which cores no job holds, on hosts that are up: bool (M,), read-only."""
        state, n_cores = self._state, len(self._state.host_of)
        words = state.free_words[: state.free_starts[1]].astype("<u4")
        return read_only(np.unpackbits(words.view(np.uint8), bitorder="little")[:n_cores].astype(bool))

    @cached_property
    def free_by_host(self) -> Array:
        """How many cores are free on each host: int64 (H,), read-only; 0 of one that is down."""
        return read_only(np.add.reduceat(self.is_free, self._state.host_first[:-1], dtype=np.int64))

    @cached_property
    def up_again_ns(self) -> Array:
        """When hosts that are down are up again as far as anybody knows: int64 (H,), read-only; 0 up, ``NEVER`` unknown."""
        return read_only(self._jobs.up_again_ns())

    @cached_property
    def held(self) -> tuple[Array, Array, Array]:
        """For each running job on each of its hosts: row, host, how many of the host's cores it holds; by (row, host)."""
        state = self._state
        row, lo, hi = self._jobs.held(np.fromiter(self._running, np.int64, len(self._running)))
        first = state.host_of[lo]
        several = state.host_of[hi - 1] - first + 1  # an interval may be on several hosts
        host = intervals_of(first, several)
        row, lo, hi = (np.repeat(column, several) for column in (row, lo, hi))
        cores = np.minimum(hi, state.host_first[host + 1]) - np.maximum(lo, state.host_first[host])
        n_hosts = len(state.host_first) - 1
        pairs, place = np.unique(row * n_hosts + host, return_inverse=True)
        together = np.zeros(len(pairs), np.int64)
        np.add.at(together, place, cores)
        return pairs // n_hosts, pairs % n_hosts, together

    @cached_property
    def free_resources(self) -> Array:
        """What no job holds of each host's resources: int64 (H, R), read-only; memory in KB."""
        platform = self._facts.platform
        left = platform.host_resources.copy()
        if self._facts.asks and len(self._running):
            row, host, cores = self.held
            units = cores // self._state.jobs.unit_cores[row]
            np.subtract.at(left, host, units[:, None] * self._state.needs[: left.shape[1], row].T)
        return read_only(left)

    @cached_property
    def free_licences(self) -> Array:
        """What no job holds of the machine's licences: int64 (L,), read-only."""
        platform = self._facts.platform
        left = platform.licence_amounts.copy()
        if self._facts.asks and len(self._running):
            rows = np.fromiter(self._running, np.int64, len(self._running))
            left -= self._state.needs[len(platform.resource_names) :, rows].sum(axis=1)
        return read_only(left)

    @cached_property
    def running(self) -> Counter[tuple[int, int | None, bool]]:
        """How many jobs (False) run, on how many cores (True), by (partition, user); None is all users together."""
        found: Counter[tuple[int, int | None, bool]] = Counter()
        for row, job in self._running.items():
            place = self._facts.partition(job.origin)
            for user in (None, job.user):
                found[place, user, False] += 1
                found[place, user, True] += job.cores - int(self._state.jobs.released[row])
        return found


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class SeenHost:
    """A host. What it has stays; what is free of it is as of the present instant, whenever it is asked."""

    number: int  # from 0
    cores: range  # the numbers of its cores
    speed_gflops: float  # of the whole host, in GFLOP/s, shared equally by its cores
    # what it has beside cores, by all names that the platform has; memory is ``memory``, in KB
    resources: Mapping[str, int]
    partitions: tuple[str, ...]  # the platform's partitions that have it
    _now: Callable[[], Present]

    @property
    def n_cores(self) -> int:
        """How many cores it has."""
        return len(self.cores)

    @property
    def n_free(self) -> int:
        """How many of them are free; 0 while it is down."""
        return int(self._now().free_by_host[self.number])

    @property
    def free_cores(self) -> list[int]:
        """The numbers of those, ascending: what a policy may name for a job."""
        first, free = self.cores.start, self._now().is_free[self.cores.start : self.cores.stop]
        found: list[int] = (np.flatnonzero(free) + first).tolist()
        return found

    @property
    def free_resources(self) -> Mapping[str, int]:
        """What no job holds of its resources; of one that is down, too."""
        left = self._now().free_resources[self.number].tolist()
        return MappingProxyType(dict(zip(self.resources, left, strict=True)))

    @property
    def is_down(self) -> bool:
        """Whether it has failed, or is in maintenance."""
        return bool(self._now().up_again_ns[self.number] > 0)

    @property
    def up_again_ns(self) -> int | None:
        """When a host in maintenance is up again; None of one that is up, or has failed: nobody knows until it is repaired."""
        until = int(self._now().up_again_ns[self.number])
        return until if 0 < until < b.NEVER else None

    def __repr__(self) -> str:
        return f"<host {self.number}: {self.n_cores} cores>"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class SeenPartition:
    """A partition of the platform; where it names none, one that is called ``all``."""

    # as the platform has it: ``name``, ``priority`` (jobs of a higher tier stand before), ``max_cores``, ``min_cores``
    # and ``max_time_ns`` of a job, and ``max_running_jobs``, ``max_running_cores``, ``max_jobs_per_user`` and
    # ``max_cores_per_user`` of what may run at once; None is no limit
    limits: Partition
    hosts: tuple[int, ...]  # numbers
    n_cores: int  # of these hosts
    _place: int
    _now: Callable[[], Present]

    @property
    def name(self) -> str:
        """Its name."""
        return self.limits.name

    @property
    def priority(self) -> int:
        """Its tier of the order, the highest first."""
        return self.limits.priority

    @property
    def running_jobs(self) -> int:
        """How many of its jobs run."""
        return self._now().running[self._place, None, False]

    @property
    def running_cores(self) -> int:
        """How many cores these asked for, less what they have released."""
        return self._now().running[self._place, None, True]

    def running_of(self, user: int) -> tuple[int, int]:
        """How many jobs of a user's run in it, and how many cores these asked for; -1 stands for all unknown users."""
        running = self._now().running
        return running[self._place, user, False], running[self._place, user, True]

    def allows(self, job: SeenJob) -> bool:
        """Whether its limits on what runs at once let this job start now, if nothing else does."""
        jobs, cores = self.running_of(job.user)
        found = (
            (self.running_jobs + 1, self.limits.max_running_jobs),
            (self.running_cores + job.cores, self.limits.max_running_cores),
            (jobs + 1, self.limits.max_jobs_per_user),
            (cores + job.cores, self.limits.max_cores_per_user),
        )
        return all(limit is None or number <= limit for number, limit in found)

    def __repr__(self) -> str:
        return f"<partition {self.name}: {self.n_cores} cores>"


@dataclass(frozen=True)
class SeenWindow:
    """An advance reservation or a maintenance, known from the beginning."""

    kind: str  # {"maintenance", "reservation"}
    name: str
    # it lasts up to, not including, its end
    begin_ns: int
    end_ns: int
    cores: tuple[tuple[int, int], ...]  # half-open intervals of core numbers, ascending and disjoint
    # numbers of a reservation's jobs, as ``17 20-25``; these run inside it only. See ``SeenJob.reservation``.
    jobs: str

    def meets(self, begin_ns: int, end_ns: int) -> bool:
        """Whether something in [begin, end) would be met by it."""
        return self.begin_ns < end_ns and begin_ns < self.end_ns


def seen_hosts(platform: Platform, now: Callable[[], Present]) -> tuple[SeenHost, ...]:
    """The hosts, by number."""
    table, names = partition_table(platform), platform.resource_names
    inside: list[list[str]] = [[] for _ in range(platform.n_hosts)]
    for place, partition in enumerate(platform.partitions):
        for host in np.flatnonzero(table.hosts(place, platform.n_hosts)).tolist():
            inside[host].append(partition.name)
    found: list[SeenHost] = []
    first = 0
    for group in platform.hosts:
        has = dict(group.resources)
        resources = MappingProxyType({name: has.get(name, 0) for name in names})
        for _ in range(group.count):
            cores, number = range(first, first + group.cores), len(found)
            found.append(SeenHost(number, cores, group.speed_gflops, resources, tuple(inside[number]), now))
            first += group.cores
    return tuple(found)


def seen_partitions(platform: Platform, now: Callable[[], Present]) -> tuple[SeenPartition, ...]:
    """The partitions, in the platform's order."""
    table = partition_table(platform)
    found = []
    for place, said in enumerate(platform.partitions or (Partition("all"),)):
        hosts = tuple(np.flatnonzero(table.hosts(place, platform.n_hosts)).tolist())
        found.append(SeenPartition(said, hosts, int(table.n_cores[place]), place, now))
    return tuple(found)


def seen_windows(windows: Windows | None) -> tuple[SeenWindow, ...]:
    """The windows, by their begin."""
    if windows is None:
        return ()
    found = []
    for place, window in enumerate(windows.windows):
        first, stop = windows.core_first[place : place + 2].tolist()
        lo, hi = windows.core_lo[first:stop].tolist(), windows.core_hi[first:stop].tolist()
        cores = tuple(zip(lo, hi, strict=True))
        found.append(SeenWindow(window.kind, window.name, window.begin_ns, window.end_ns, cores, window.jobs))
    return tuple(found)
