"""The jobs that wait, and those that run, as columns: for policies that compute with all of them at once.

Each column is found when it is first asked for, once an instant, in one go: of 10,000 waiting jobs in some tens of µs. Columns
are read-only, int64 and in the order of ``View.waiting`` and ``View.running``; the i-th job is ``jobs[i]``.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from bls.engine.state import BatchState
from bls.seen.jobs import JobFacts, SeenJob
from bls.seen.machine import Present
from traces.base.columns import read_only
from traces.compiled import Array


class _Columns:
    """What jobs that wait and jobs that run have in common. ``walltime_ns``, int64 (n,): the run times that their users
    requested. ``eligible_ns``, ``attempt``, int64 (n,): when they joined the queue, and how many attempts were cut before."""

    #: Columns of the workload, under its names.
    _OF_WORKLOAD: ClassVar = (
        "job_id", "submit_ns", "cores", "user", "group", "queue", "partition", "qos", "application", "memory_kb",
    )  # fmt: skip

    # int64 (n,): as the workload says; -1 unknown
    job_id: Array
    submit_ns: Array
    cores: Array
    user: Array
    group: Array
    queue: Array
    partition: Array
    qos: Array
    application: Array
    memory_kb: Array

    def __init__(self, state: BatchState, facts: JobFacts, jobs: Mapping[int, SeenJob]) -> None:
        self._state, self._facts, self._jobs = state, facts, jobs
        self._n = len(jobs)
        # At once: in an instant the jobs are others.
        self._rows = read_only(np.fromiter(jobs, np.int64, self._n))

    def __len__(self) -> int:
        return self._n

    def __getattr__(self, name: str) -> Array:
        if name not in self._OF_WORKLOAD:
            raise AttributeError(name)
        found = read_only(self._facts.columns(name)[self.origin])
        self.__dict__[name] = found  # where it is found from now on
        return found

    @cached_property
    def rows(self) -> Array:
        """``SeenJob.row`` of each."""
        if not self._facts.streamed:
            return self._rows
        return read_only(np.array([job.row for job in self._jobs.values()], np.int64))

    def _kept(self, column: str) -> Array:
        return read_only(getattr(self._state.jobs, column)[self._rows])

    @cached_property
    def jobs(self) -> tuple[SeenJob, ...]:
        """The jobs themselves, for an answer."""
        return tuple(map(self._jobs.__getitem__, self._rows.tolist()))

    @cached_property
    def origin(self) -> Array:
        """The rows of the workload that is held."""
        return self._rows if not len(self._rows) or self._rows.max() < self._facts.n_jobs else self._kept("origin")

    @cached_property
    def walltime_ns(self) -> Array:
        """The run times that their users requested."""
        return read_only(self._facts.columns("estimate_ns")[self.origin])

    @cached_property
    def deadline_ns(self) -> Array:
        """The instants of their deadlines."""
        return read_only(self._facts.deadlines_ns[self.origin])

    @cached_property
    def more_mw(self) -> Array:
        """What each of them draws at full speed beyond idle cores, as far as the scheduler knows: its cores × the mean over all
        cores of the machine, mW; -1 unknown."""
        each = self._facts.more_mw[self.origin]
        return read_only(np.where(each < 0, -1, each * self.cores))

    @cached_property
    def eligible_ns(self) -> Array:
        """When they joined the queue."""
        return self._kept("eligible_ns")

    @cached_property
    def attempt(self) -> Array:
        """How many attempts were cut before."""
        return self._kept("attempt")

    @cached_property
    def partition_place(self) -> Array:
        """The places of their partitions in ``View.partitions``."""
        return self._kept("partition")

    @cached_property
    def unit_cores(self) -> Array:
        """The cores of a unit."""
        return self._kept("unit_cores")

    @cached_property
    def units(self) -> Array:
        """How many units they ask for; ``units * unit_cores`` is ``cores``."""
        return read_only(self.cores // self.unit_cores)

    @cached_property
    def resources(self) -> Array:
        """What a unit asks for of its host: int64 (n, R), in the order of ``view.platform.resource_names``; memory in KB."""
        return self._needs(0, len(self._facts.platform.resource_names))

    @cached_property
    def licences(self) -> Array:
        """What the jobs ask for of the machine: int64 (n, L), in the order of ``view.platform.licence_names``."""
        first = len(self._facts.platform.resource_names)
        return self._needs(first, first + len(self._facts.platform.licence_names))

    def _needs(self, first: int, stop: int) -> Array:
        if not self._facts.asks:
            return read_only(np.zeros((self._n, stop - first), np.int64))
        return read_only(np.ascontiguousarray(self._state.needs[first:stop][:, self._rows].T))

    @cached_property
    def switches(self) -> Array:
        """The most leaf switches that they accept; 0 for any."""
        return self._kept("switch_limit")


class WaitingColumns(_Columns):
    """The jobs that wait."""

    @cached_property
    def estimate_ns(self) -> Array:
        """The run times that are planned with: of a predictor what it said as they joined the queue."""
        return self._kept("estimate_ns")


class RunningColumns(_Columns):
    """The jobs that run."""

    def __init__(
        self, state: BatchState, facts: JobFacts, jobs: Mapping[int, SeenJob], now: Callable[[], Present]
    ) -> None:
        super().__init__(state, facts, jobs)
        self._now = now
        # These move as the jobs run.
        places = SeenJob._fields.index("start_ns"), SeenJob._fields.index("estimate_ns")
        self.start_ns, self.estimate_ns = (
            read_only(np.fromiter((job[place] for job in jobs.values()), np.int64, self._n)) for place in places
        )

    @cached_property
    def expected_end_ns(self) -> Array:
        """When they will have run for their estimates, as these are corrected by now."""
        return read_only(self.start_ns + self.estimate_ns)

    @cached_property
    def _by_host(self) -> tuple[Array, Array, Array]:
        # CSR: where each job's hosts begin, the hosts, and how many of their cores it holds.
        row, host, cores = self._now().held
        order = np.argsort(self._rows, kind="stable")
        place = order[np.searchsorted(self._rows, row, sorter=order)]
        by_job = np.argsort(place, kind="stable")
        first = np.zeros(self._n + 1, np.int64)
        np.cumsum(np.bincount(place, minlength=self._n), out=first[1:])
        return read_only(first), read_only(host[by_job]), read_only(cores[by_job])

    @property
    def host_first(self) -> Array:
        """Job i is on the hosts ``host[host_first[i]:host_first[i + 1]]``, ascending: int64 (n + 1,)."""
        return self._by_host[0]

    @property
    def host(self) -> Array:
        """Numbers of hosts, job after job: int64 (k,)."""
        return self._by_host[1]

    @property
    def host_cores(self) -> Array:
        """How many cores the job holds there: int64 (k,)."""
        return self._by_host[2]

    @cached_property
    def host_units(self) -> Array:
        """How many of its units are there: int64 (k,); where hosts are not shared, as many as the cores there would do for."""
        return read_only(self.host_cores // np.repeat(self.unit_cores, np.diff(self.host_first)))
