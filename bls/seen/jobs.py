"""The facts about jobs that a scheduler knows: frequently used values are stored, all others are looked up on demand."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bls.constraints.gpu_requests import GpuRequests
from bls.options import STREAM
from bls.running_jobs import RunView
from traces.base.columns import read_only
from traces.base.errors import PluginError
from traces.compiled import Array


@dataclass(frozen=True)
class GpuRequest:
    """A job's request for numbered GPUs."""

    count: int  # of each unit, or of each host on which the job has cores
    per: str  # {"unit", "host"}
    milli: int  # thousandths of each of these GPUs
    kinds: tuple[str, ...]  # accepted kinds; empty for any


@dataclass(frozen=True)
class JobRequest:
    """A job's request: equal units, each on one host."""

    units: int  # number of units
    unit_cores: int  # cores per unit; the product is ``SeenJob.cores``
    # request per unit for resources of its host besides cores, by all of the platform's names; memory is ``memory``, in KB
    resources: Mapping[str, int]
    licences: Mapping[str, int]  # requested licences, by all of the platform's names
    switches: int  # largest accepted number of leaf switches; 0 for any
    gpus: GpuRequest | None = None  # None: it requests none


class JobWidth(NamedTuple):
    """Allowed and present numbers of cores of a job."""

    least: int  # the request if the width does not change
    most: int  # the same
    cores: int  # cores held now; 0 while it waits
    asked: int  # cores of these that it was asked to return and has not yet returned


class JobFacts:
    """Facts about a run's jobs besides the fields of :class:`SeenJob`, by the row of a job's first attempt.

    It holds the workload, and hides facts that no scheduler knows, such as run times. With ``stream`` it holds the jobs of
    a section, whose numbers in the whole log are ``SeenJob.row``: :meth:`at` finds their rows.
    """

    def __init__(self, run: RunView) -> None:
        self._hold(run, None)

    def go_on(self, run: RunView, numbers: list[int]) -> None:
        """Replace the jobs by those of the next section."""
        for name in ("waits_for", "_window_of"):
            self.__dict__.pop(name, None)
        self._hold(run, numbers)

    def _hold(self, run: RunView, numbers: list[int] | None) -> None:
        self._workload, self._constraints, self.platform = run.workload, run.constraints, run.platform
        #: The number of jobs of the workload (later rows are later attempts), and columns of all jobs.
        self.n_jobs, self.deadlines_ns, self.more_mw = len(run.workload), run.deadline_ns, run.more_mw
        self.gpu_more_mw = run.gpu_more_mw
        asked, names = run.constraints.requests, (run.platform.resource_names, run.platform.licence_names)
        nothing: list[Array] = [np.broadcast_to(np.int64(0), (self.n_jobs, len(each))) for each in names]
        #: Whether a job may have requests besides cores; the resources per unit, int64 (n, R), the licences, (n, L),
        #: and ``KnownJobs.gpus``.
        self.asks = asked is not None
        self.per_unit, self.licences = nothing if asked is None else [asked.per_unit, asked.licences]
        self.gpus = run.constraints.requested_gpus(run.workload.cores)
        self.gpu_requests = None if asked is None else asked.gpus
        self._numbers = numbers  # of the rows, ascending; None: a row is its own number

    def number(self, row: int) -> int:
        """The number of a row, ``SeenJob.row``."""
        return row if self._numbers is None else self._numbers[row]

    def numbers(self, rows: Array) -> Array:
        """The numbers of rows, int64 (n,), read-only."""
        return rows if self._numbers is None else read_only(np.array([self._numbers[row] for row in rows], np.int64))

    def find(self, number: int) -> int:
        """The row of a number; -1 if its job ended in an earlier section."""
        if self._numbers is None:
            return number
        row = bisect_left(self._numbers, number)
        return row if row < len(self._numbers) and self._numbers[row] == number else -1

    def at(self, number: int) -> int:
        """The row of a number. Raises PluginError if its job ended in an earlier section."""
        row = self.find(number)
        if row < 0:
            raise PluginError(f"{STREAM} keeps nothing of a job that has ended but the fields of SeenJob")
        return row

    @cached_property
    def waits_for(self) -> Array:
        """Rows of jobs that join the queue after their submit, because they depend on another job or begin later; ascending."""
        depends, held = self._constraints.dependencies, self._workload.held
        return np.flatnonzero(held if depends is None else held | (depends.depends_on >= 0))

    @cached_property
    def _window_of(self) -> Array:
        windows = self._constraints.windows
        return np.full(len(self._workload), -1) if windows is None else windows.of_jobs(self._workload)

    def columns(self, name: str) -> Array:
        """A column of the workload; not for run times, which no scheduler knows."""
        return np.asarray(getattr(self._workload, name))

    def column(self, name: str, origin: int) -> int:
        """The workload's value for one job at its submit."""
        return int(getattr(self._workload, name)[self.at(origin)])

    def partition(self, origin: int) -> int:
        """Index of the job's partition in the platform."""
        return 0 if self._constraints.partition is None else int(self._constraints.partition[self.at(origin)])

    def reservation(self, origin: int) -> str | None:
        """The name of the reservation in which a job runs."""
        windows, place = self._constraints.windows, int(self._window_of[self.at(origin)])
        return None if windows is None or place < 0 else windows.windows[place].name

    def request(self, origin: int) -> JobRequest:
        """The job's request."""
        row, platform, asked = self.at(origin), self.platform, self._constraints.requests
        unit, switches = (1, 0) if asked is None else (int(asked.unit_cores[row]), int(asked.switches[row]))
        return JobRequest(
            units=int(self._workload.cores[row]) // unit,
            unit_cores=unit,
            resources=MappingProxyType(dict(zip(platform.resource_names, self.per_unit[row].tolist(), strict=True))),
            licences=MappingProxyType(dict(zip(platform.licence_names, self.licences[row].tolist(), strict=True))),
            switches=switches,
            gpus=None if asked is None or asked.gpus is None else self._gpus(asked.gpus, row),
        )

    def _gpus(self, asked: GpuRequests, row: int) -> GpuRequest | None:
        per_unit, per_host, milli, _ = (int(column[row]) for column in asked.columns)
        kinds = asked.accepted(row, self.platform.gpu_kinds)
        found = GpuRequest(per_host or per_unit, "host" if per_host else "unit", milli, kinds)
        return found if found.count else None

    def name(self, origin: int) -> str | None:
        """The job's name in the log."""
        return self._workload.job_name(self.at(origin))

    def extras(self, origin: int) -> Mapping[str, int]:
        """The workload's further columns."""
        row = self.at(origin)
        return MappingProxyType({name: int(column[row]) for name, column in self._workload.extras.items()})

    def dependency(self, origin: int) -> tuple[int | None, int]:
        """Number of the job that must end before, None if there is none; and the think time after that end, ns."""
        depends = self._constraints.dependencies
        if depends is None or depends.depends_on[origin] < 0:
            return None, 0
        return self.column("job_id", int(depends.depends_on[origin])), int(depends.think_ns[origin])


class SeenJob(NamedTuple):
    """The facts about a job that a scheduler knows at one instant; read-only. Properties are looked up at each use.

    - ``job_id``: its number in the workload
    - ``submit_ns``, ``eligible_ns``: submit, and the instant at which it joined the queue; -1 while it waits for another
      job or for its begin
    - ``estimate_ns``: run time used for planning: the requested one, or an estimate by ``Rules.estimates``. For a waiting
      job it is the prediction when it joined the queue. For a running job that has outlasted it, it is corrected; with
      ``application`` it is the promise of its application.
    - ``cores``: requested cores
    - ``user``, ``group``, ``queue``, ``partition``, ``qos``: as in the workload, -1 unknown
    - ``attempt``: number of earlier attempts that were cut
    - ``row``, ``origin``: row of this attempt and of the first one in ``bls.simulator``; with ``stream`` positions in the
      whole log
    - ``facts``: further facts about the run's jobs
    - ``start_ns``: -1 while it waits
    """

    job_id: int
    submit_ns: int
    eligible_ns: int
    estimate_ns: int
    cores: int
    user: int
    group: int
    queue: int
    partition: int
    qos: int
    attempt: int
    row: int
    origin: int
    facts: JobFacts
    start_ns: int

    @property
    def expected_end_ns(self) -> int:
        """The end of a running job by its corrected estimate: later than now, unless it has run for its whole request."""
        return self.start_ns + self.estimate_ns

    @property
    def walltime_ns(self) -> int:
        """The requested run time, after which it is killed if jobs are killed."""
        return self.facts.column("estimate_ns", self.origin)

    @property
    def begin_ns(self) -> int:
        """The instant from which it may join the queue: its submit, or a later one."""
        return max(self.submit_ns, self.facts.column("begin_ns", self.origin))

    @property
    def deadline_ns(self) -> int:
        """The instant submit + slack × requested run time."""
        return int(self.facts.deadlines_ns[self.facts.at(self.origin)])

    @property
    def request(self) -> JobRequest:
        """Its units, their requests on a host, licences and switches."""
        return self.facts.request(self.origin)

    @property
    def gpus(self) -> int:
        """All requested GPUs, in thousandths; of GPUs per host, those of one host."""
        return int(self.facts.gpus[self.facts.at(self.origin)])

    @property
    def partition_name(self) -> str | None:
        """The platform's partition of the job; None if the platform names none. See ``View.partition_of``."""
        partitions = self.facts.platform.partitions
        return partitions[self.facts.partition(self.origin)].name if partitions else None

    @property
    def reservation(self) -> str | None:
        """The advance reservation in which it runs, and only there; None for none."""
        return self.facts.reservation(self.origin)

    @property
    def depends_on(self) -> int | None:
        """Number of the job that must have ended before; None if there is none or dependencies are not kept."""
        return self.facts.dependency(self.origin)[0]

    @property
    def dependency_holds(self) -> bool:
        """Whether it has joined the queue, so that it does not wait for another job or a begin."""
        return self.eligible_ns >= 0

    @property
    def think_ns(self) -> int:
        """Time between the end of the job on which it depends and its joining the queue; 0 for none."""
        return self.facts.dependency(self.origin)[1]

    @property
    def application(self) -> int:
        """The log's number of the program that it runs, -1 unknown."""
        return self.facts.column("application", self.origin)

    @property
    def name(self) -> str | None:
        """Its name in the log, whose number is ``application``; None if it has none."""
        return self.facts.name(self.origin)

    @property
    def memory_kb(self) -> int:
        """Memory per core by the log, in KB, -1 unknown; ``request`` has the memory reserved for it."""
        return self.facts.column("memory_kb", self.origin)

    @property
    def extras(self) -> Mapping[str, int]:
        """The workload's further columns (``Workload.extras``) by name; some may be unknown at its submit."""
        return self.facts.extras(self.origin)

    def __repr__(self) -> str:
        return f"<job {self.job_id}: {self.cores} cores, estimate {self.estimate_ns} ns>"
