"""The machine as a scheduler sees it: hosts, partitions and windows, their resources, and the free resources now.

Constant values are computed once, at first use; others once after each call of the engine.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.engine import state as b
from bls.machine.partitions import Partition, gpu_milli
from bls.machine.platform import Platform
from bls.running_jobs import RunView
from bls.seen.jobs import JobFacts, SeenJob
from traces.base.columns import read_only
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.records.gpus import WHOLE_GPU


class Present:
    """Free resources and running jobs, as the engine left them; each column is computed at first use."""

    def __init__(self, run: RunView, facts: JobFacts, running: Mapping[int, SeenJob]) -> None:
        self._run, self._platform, self._facts, self._running = run, run.platform, facts, running

    @cached_property
    def is_free(self) -> Array:
        """Free cores on hosts that are up: bool (M,), read-only."""
        return read_only(self._run.is_free())

    @cached_property
    def free_by_host(self) -> Array:
        """Number of free cores on each host: int64 (H,), read-only; 0 for a host that is down."""
        return read_only(np.add.reduceat(self.is_free, self._platform.first_core[:-1], dtype=np.int64))

    @cached_property
    def up_again_ns(self) -> Array:
        """Known instants at which hosts that are down will be up again: int64 (H,), read-only; 0 up, ``NEVER`` unknown."""
        return read_only(self._run.up_again_ns())

    @cached_property
    def held(self) -> tuple[Array, Array, Array]:
        """For each running job on each of its hosts: row, host, number of the host's cores that it holds; by (row, host)."""
        host_of, first_core, n_hosts = self._platform.core_host, self._platform.first_core, self._platform.n_hosts
        row, lo, hi = self._run.held(np.fromiter(self._running, np.int64, len(self._running)))
        first = host_of[lo]
        several = host_of[hi - 1] - first + 1  # an interval may span several hosts
        host = intervals_of(first, several)
        row, lo, hi = (np.repeat(column, several) for column in (row, lo, hi))
        cores = np.minimum(hi, first_core[host + 1]) - np.maximum(lo, first_core[host])
        pairs, place = np.unique(row * n_hosts + host, return_inverse=True)
        together = np.zeros(len(pairs), np.int64)
        np.add.at(together, place, cores)
        return pairs // n_hosts, pairs % n_hosts, together

    @cached_property
    def free_resources(self) -> Array:
        """Free resources of each host: int64 (H, R), read-only; memory in KB."""
        left = self._platform.host_resources.copy()
        if self._facts.asks and len(self._running):
            row, host, cores = self.held
            jobs = self._run.jobs
            units = cores // jobs.unit_cores[row]
            np.subtract.at(left, host, units[:, None] * self._facts.per_unit[jobs.origin[row]])
        return read_only(left)

    @cached_property
    def free_licences(self) -> Array:
        """Free licences of the machine: int64 (L,), read-only."""
        left = self._platform.licence_amounts.copy()
        if self._facts.asks and len(self._running):
            rows = np.fromiter(self._running, np.int64, len(self._running))
            left -= self._facts.licences[self._run.jobs.origin[rows]].sum(axis=0)
        return read_only(left)

    @cached_property
    def running(self) -> Counter[tuple[int, int | None, str]]:
        """Numbers of running ``jobs``, of their ``cores``, and of thousandths of ``gpus`` that they hold, by (partition, user);
        None is all users together."""
        found: Counter[tuple[int, int | None, str]] = Counter()
        gpus: Counter[int] = Counter()
        for row, _, milli in zip(*(column.tolist() for column in self.held_gpus), strict=True):
            gpus[row] += milli
        for row, job in self._running.items():
            place = self._facts.partition(job.origin)
            for user in (None, job.user):
                found[place, user, "jobs"] += 1
                found[place, user, "cores"] += job.cores - self._run.released(row)
                found[place, user, "gpus"] += gpus[row]
        return found

    @cached_property
    def held_gpus(self) -> tuple[Array, Array, Array]:
        """For each GPU of each running job, of shares once for each unit: row, GPU, and the held thousandths."""
        if not len(self._run.state.gpus.first):
            return (np.zeros(0, np.int64),) * 3
        from bls.engine.features.gpus.tallies import held_gpus  # few runs have GPUs

        return held_gpus(self._run.state, np.fromiter(self._running, np.int64, len(self._running)))

    @cached_property
    def free_gpus(self) -> Array:
        """Thousandths left of each GPU: int64 (D,), read-only."""
        left, (_, gpu, milli) = np.full(self._platform.n_gpus, WHOLE_GPU), self.held_gpus
        np.subtract.at(left, gpu, milli)
        return read_only(left)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class SeenHost:
    """A host. Its free resources are those at the time of use."""

    number: int  # from 0
    cores: range  # the numbers of its cores
    speed_gflops: float  # of the whole host, in GFLOP/s, shared equally by its cores
    resources: Mapping[str, int]  # besides cores, by all of the platform's names; memory is ``memory``, in KB
    partitions: tuple[str, ...]  # the platform's partitions that have it
    gpus: range  # the numbers of its GPUs
    gpu: str  # their kind; empty if it has no name
    _now: Callable[[], Present]

    @property
    def n_cores(self) -> int:
        """Number of its cores."""
        return len(self.cores)

    @property
    def n_free(self) -> int:
        """Number of its free cores; 0 while it is down."""
        return int(self._now().free_by_host[self.number])

    @property
    def free_cores(self) -> list[int]:
        """The numbers of its free cores, ascending, which a policy may name for a job."""
        free = self._now().is_free[self.cores.start : self.cores.stop]
        return [self.cores.start + core for core in np.flatnonzero(free).tolist()]

    @property
    def free_resources(self) -> Mapping[str, int]:
        """Its free resources, also while it is down."""
        left = self._now().free_resources[self.number].tolist()
        return MappingProxyType(dict(zip(self.resources, left, strict=True)))

    @property
    def free_gpus(self) -> list[int]:
        """Thousandths left of each of its GPUs, also while it is down."""
        left: list[int] = self._now().free_gpus[self.gpus.start : self.gpus.stop].tolist()
        return left

    @property
    def is_down(self) -> bool:
        """Whether it has failed, or is in maintenance."""
        return bool(self._now().up_again_ns[self.number] > 0)

    @property
    def up_again_ns(self) -> int | None:
        """The end of its maintenance; None for a host that is up, or has failed and will be repaired at an unknown instant."""
        until = int(self._now().up_again_ns[self.number])
        return until if 0 < until < b.NEVER else None

    def __repr__(self) -> str:
        return f"<host {self.number}: {self.n_cores} cores>"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class SeenPartition:
    """A partition of the platform; if it names none, there is one called ``all``."""

    # from the platform: ``name``, ``priority`` (jobs of a higher tier come first), ``max_cores``, ``min_cores`` and
    # ``max_time_ns`` per job, and ``max_running_jobs``, ``max_running_cores``, ``max_jobs_per_user`` and
    # ``max_cores_per_user`` at any one time, and the same in GPUs; None is no limit
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
        """Number of its running jobs."""
        return self._now().running[self._place, None, "jobs"]

    @property
    def running_cores(self) -> int:
        """Cores that its running jobs requested, minus released ones."""
        return self._now().running[self._place, None, "cores"]

    @property
    def running_gpus(self) -> int:
        """Thousandths of GPUs that its running jobs hold."""
        return self._now().running[self._place, None, "gpus"]

    def running_of(self, user: int) -> tuple[int, int]:
        """Number of a user's running jobs in it, and the cores that they requested; -1 stands for all unknown users."""
        running = self._now().running
        return running[self._place, user, "jobs"], running[self._place, user, "cores"]

    def allows(self, job: SeenJob) -> bool:
        """Whether its limits on running jobs allow this job to start now."""
        jobs, cores = self.running_of(job.user)
        gpus, of_user = job.gpus, self._now().running[self._place, job.user, "gpus"]
        found = (
            (self.running_jobs + 1, self.limits.max_running_jobs),
            (self.running_cores + job.cores, self.limits.max_running_cores),
            (jobs + 1, self.limits.max_jobs_per_user),
            (cores + job.cores, self.limits.max_cores_per_user),
            (self.running_gpus * (gpus > 0) + gpus, gpu_milli(self.limits.max_running_gpus)),
            (of_user * (gpus > 0) + gpus, gpu_milli(self.limits.max_gpus_per_user)),
        )
        return all(limit is None or number <= limit for number, limit in found)

    def __repr__(self) -> str:
        return f"<partition {self.name}: {self.n_cores} cores>"


@dataclass(frozen=True)
class SeenWindow:
    """An advance reservation or a maintenance, known from the beginning."""

    kind: str  # {"maintenance", "reservation"}
    name: str
    begin_ns: int  # begin
    end_ns: int  # it ends before
    cores: tuple[tuple[int, int], ...]  # half-open intervals of core numbers, ascending and disjoint
    # numbers of a reservation's jobs, as ``17 20-25``, which run inside it only. See ``SeenJob.reservation``.
    jobs: str

    def meets(self, begin_ns: int, end_ns: int) -> bool:
        """Whether it overlaps [begin, end)."""
        return self.begin_ns < end_ns and begin_ns < self.end_ns


def take_lowest(is_free: Array, first_core: Sequence[int], counts: Mapping[int, int]) -> list[int]:
    """The lowest free cores of hosts, by their numbers of cores; ``is_free`` is then False for them."""
    found: list[int] = []
    for host, count in counts.items():
        free = first_core[host] + np.flatnonzero(is_free[first_core[host] : first_core[host + 1]])[:count]
        is_free[free] = False
        found += free.tolist()
    return found


def seen_hosts(platform: Platform, now: Callable[[], Present]) -> tuple[SeenHost, ...]:
    """The hosts, by number."""
    table, names, first_gpu = platform.partition_table, platform.resource_names, platform.first_gpu.tolist()
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
            gpus = range(first_gpu[number], first_gpu[number + 1])
            of_host = (cores, group.speed_gflops, resources, tuple(inside[number]), gpus, group.gpu)
            found.append(SeenHost(number, *of_host, now))
            first += group.cores
    return tuple(found)


def seen_partitions(platform: Platform, now: Callable[[], Present]) -> tuple[SeenPartition, ...]:
    """The partitions, in the platform's order."""
    table = platform.partition_table
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
