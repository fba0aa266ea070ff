"""Waiting and running jobs as columns, for policies that compute with all jobs at once.

Each column is computed at its first use at an instant: some tens of µs for 10,000 waiting jobs. Columns are read-only, int64
and in the order of ``View.waiting`` and ``View.running``; the i-th job is ``jobs[i]``.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from bls.constraints.gpu_requests import GpuRequests
from bls.running_jobs import RunView
from bls.seen.jobs import JobFacts, SeenJob
from bls.seen.machine import Present
from traces.base.columns import read_only
from traces.compiled import Array


class _Columns:
    """Columns of both waiting and running jobs."""

    #: Columns of the workload, under its names.
    _OF_WORKLOAD: ClassVar = (
        "job_id", "submit_ns", "cores", "user", "group", "queue", "partition", "qos", "application", "memory_kb",
    )  # fmt: skip

    #: Columns of the engine, and their names there.
    _OF_STATE: ClassVar = {
        "eligible_ns": "eligible_ns", "attempt": "attempt", "partition_place": "partition", "unit_cores": "unit_cores",
    }  # fmt: skip

    # int64 (n,): as in the workload; -1 unknown
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
    estimate_ns: Array  # run times used for planning
    eligible_ns: Array  # instants at which they joined the queue
    attempt: Array  # numbers of earlier attempts that were cut
    partition_place: Array  # indices of their partitions in ``View.partitions``
    unit_cores: Array  # cores per unit

    def __init__(self, run: RunView, facts: JobFacts, jobs: Mapping[int, SeenJob]) -> None:
        self._run, self._facts, self._jobs = run, facts, jobs
        self._n = len(jobs)
        # Now, since other jobs wait or run at later instants.
        self._rows = read_only(np.fromiter(jobs, np.int64, self._n))

    def __len__(self) -> int:
        return self._n

    def __getattr__(self, name: str) -> Array:
        if name in self._OF_STATE:
            found = self._kept(self._OF_STATE[name])
        elif name in self._OF_WORKLOAD:
            found = read_only(self._facts.columns(name)[self.origin])
        else:
            raise AttributeError(name)
        self.__dict__[name] = found  # later uses find it here
        return found

    @cached_property
    def rows(self) -> Array:
        """``SeenJob.row`` of each job."""
        return self._facts.numbers(self._rows)

    def _kept(self, column: str) -> Array:
        return read_only(getattr(self._run.jobs, column)[self._rows])

    @cached_property
    def jobs(self) -> tuple[SeenJob, ...]:
        """The jobs themselves, for an answer."""
        return tuple(map(self._jobs.__getitem__, self._rows.tolist()))

    @cached_property
    def origin(self) -> Array:
        """Rows of the jobs in the workload."""
        return self._rows if not len(self._rows) or self._rows.max() < self._facts.n_jobs else self._kept("origin")

    @cached_property
    def walltime_ns(self) -> Array:
        """Requested run times."""
        return read_only(self._facts.columns("estimate_ns")[self.origin])

    @cached_property
    def deadline_ns(self) -> Array:
        """Deadlines (instants)."""
        return read_only(self._facts.deadlines_ns[self.origin])

    @cached_property
    def more_mw(self) -> Array:
        """Estimated power of each job at full speed above idle: its cores × the mean of the machine, and its GPUs of the
        accepted kind that draws least, mW; -1 unknown."""
        each = self._facts.more_mw[self.origin]
        return read_only(np.where(each < 0, -1, each * self.cores + self._facts.gpu_more_mw[self.origin]))

    @cached_property
    def units(self) -> Array:
        """Requested units; ``units * unit_cores`` is ``cores``."""
        return read_only(self.cores // self.unit_cores)

    @cached_property
    def switches(self) -> Array:
        """Largest accepted numbers of leaf switches; 0 for any."""
        limit = self._run.state.switch_limit
        return read_only(limit[self.origin] if len(limit) else np.zeros(self._n, np.int64))

    @cached_property
    def resources(self) -> Array:
        """Requests per unit: int64 (n, R), in the order of ``view.platform.resource_names``; memory in KB."""
        return read_only(self._facts.per_unit[self.origin])

    @cached_property
    def licences(self) -> Array:
        """Requested licences: int64 (n, L), in the order of ``view.platform.licence_names``."""
        return read_only(self._facts.licences[self.origin])

    @cached_property
    def gpu_requests(self) -> GpuRequests | None:
        """Requests for numbered GPUs, in this order; None if no job of the run can request any."""
        asked = self._facts.gpu_requests
        return None if asked is None else asked.take(self.origin)


class WaitingColumns(_Columns):
    """The waiting jobs. ``estimate_ns``: with a predictor, its prediction when the job joined the queue."""

    _OF_STATE: ClassVar = _Columns._OF_STATE | {"estimate_ns": "estimate_ns"}


class RunningColumns(_Columns):
    """The running jobs."""

    def __init__(self, run: RunView, facts: JobFacts, jobs: Mapping[int, SeenJob], now: Callable[[], Present]) -> None:
        super().__init__(run, facts, jobs)
        self._now = now
        # These change while the jobs run.
        places = SeenJob._fields.index("start_ns"), SeenJob._fields.index("estimate_ns")
        self.start_ns, self.estimate_ns = (
            read_only(np.fromiter((job[place] for job in jobs.values()), np.int64, self._n)) for place in places
        )

    @cached_property
    def expected_end_ns(self) -> Array:
        """Expected ends by the present, corrected estimates."""
        return read_only(self.start_ns + self.estimate_ns)

    @cached_property
    def _by_host(self) -> tuple[Array, Array, Array]:
        # CSR: index of each job's first host, the hosts, and the number of cores held on each.
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
        """Number of cores that the job holds on each host: int64 (k,)."""
        return self._by_host[2]

    @cached_property
    def host_units(self) -> Array:
        """Number of its units on each host: int64 (k,); if hosts are not shared, the number for which the cores suffice."""
        return read_only(self.host_cores // np.repeat(self.unit_cores, np.diff(self.host_first)))
