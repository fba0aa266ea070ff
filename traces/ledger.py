"""The ledger: what happened, in columns. Both levels fill it, every table, trace and figure reads it.

A ledger is frozen: its arrays are read-only, and exporters only look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from traces.base.columns import Columns
from traces.compiled import Array
from traces.lifecycle import Ending, Reason

#: Why a job started when it did; ``JobRecords.why`` holds the place of one.
WHY = tuple(reason.name.lower() for reason in Reason)

#: What became of a job, or of one attempt at it; ``JobRecords.state`` holds the place of one.
STATES = tuple(ending.name.lower() for ending in Ending)

#: Of a column that need not be given.
_BY_DEFAULT: Any = None


@dataclass(frozen=True)
class Machine:
    """The machine as a trace shows it: named hosts of consecutively numbered cores.

    Attributes
    ----------
    name : str
        Name of the cluster.
    host_names : tuple of str
        One per host.
    first_core : ndarray of int64, shape (n_hosts + 1,)
        Host ``h`` has the global cores ``first_core[h]`` up to, not including, ``first_core[h + 1]``.
    numbers : ndarray of int64, shape (n_cores,), optional
        The number of each core within its host, where these are only some of its cores; by default they are all, from 0.
    """

    name: str
    host_names: tuple[str, ...]
    first_core: Array
    numbers: Array | None = None

    @property
    def n_hosts(self) -> int:
        """Number of hosts."""
        return len(self.host_names)

    @property
    def n_cores(self) -> int:
        """Number of cores of the whole machine."""
        return int(self.first_core[-1])

    @property
    def core_names(self) -> list[str]:
        """``<host> core <n>`` of each core, n its number within its host."""
        first = np.asarray(self.first_core, np.int64)
        count = np.diff(first)
        own = np.arange(self.n_cores) - np.repeat(first[:-1], count) if self.numbers is None else self.numbers
        hosts = np.repeat(np.arange(self.n_hosts), count).tolist()
        return [f"{self.host_names[host]} core {core}" for host, core in zip(hosts, own.tolist(), strict=True)]


@dataclass(frozen=True)
class JobRecords(Columns):
    """One row an attempt at a job. Times are ns since the workload's time 0.

    First come the first attempts of all jobs, in workload order; an attempt at a job that was cut and put back into the
    queue is a row behind them, in the order in which they were made. A job that never started has -1 as start and end,
    no cores and no tasks; it was cancelled or rejected.

    Attributes
    ----------
    job_id : ndarray of int64, shape (n,)
        The workload's job number.
    submit_ns, start_ns, end_ns, estimate_ns, deadline_ns : ndarray of int64, shape (n,)
        ``estimate_ns`` is a duration, the others instants.
    cores : ndarray of int64, shape (n,)
        Number of cores the job asked for; it computes on the first so many of its allocation.
    tasks, chunks : ndarray of int64, shape (n,)
        Number of tasks that ran, at least in part, and of chunks assigned; 0 where there was no application level.
    length_gflop : ndarray of float64, shape (n,)
        Sum of the lengths of all the job's tasks, whether they ran or not, or its nominal length where there was no
        application level.
    imbalance, cov : ndarray of float64, shape (n,)
        ``als.engine.metrics``; NaN where there was no application level.
    attempt : ndarray of int64, shape (n,)
        Number of the attempt at this job, from 0; default 0.
    why : ndarray of int8, shape (n,)
        Why it started when it did, a place in :data:`WHY`; default ``head``.
    state : ndarray of int8, shape (n,)
        What became of it, a place in :data:`STATES`; default ``completed``.
    eligible_ns : ndarray of int64, shape (n,)
        Instant at which it could first have started: ``begin_ns``, which is the default, or later if it depended on another
        job; of a later attempt the instant at which the one before was cut; -1 if it was withdrawn before.
    begin_ns : ndarray of int64, shape (n,)
        Instant from which the job may join the queue, and its wait counts: its submit, which is the default, or later.
    held_cores : ndarray of int64, shape (n,)
        Number of cores of its allocation: ``cores``, or more where whole hosts were given. Default: counted.
    left_ns : ndarray of int64, shape (n,)
        Instant at which a job that never started was withdrawn or turned away; -1 of others. Default: at once.
    user : ndarray of int64, shape (n,)
        Number of its user in the workload; -1, the default, if it is not known.
    allocation_first : ndarray of int64, shape (n + 1,)
        Job ``i`` held the intervals ``allocation_first[i]:allocation_first[i + 1]`` of the next two.
    allocation_lo, allocation_hi : ndarray of int64
        Half-open intervals ``[lo, hi)`` of global core numbers, ascending within a job.
    """

    job_id: Array
    submit_ns: Array
    start_ns: Array
    end_ns: Array
    estimate_ns: Array
    deadline_ns: Array
    cores: Array
    tasks: Array
    chunks: Array
    length_gflop: Array
    imbalance: Array
    cov: Array
    attempt: Array = field(default=_BY_DEFAULT, kw_only=True)
    why: Array = field(default=_BY_DEFAULT, kw_only=True)
    state: Array = field(default=_BY_DEFAULT, kw_only=True)
    eligible_ns: Array = field(default=_BY_DEFAULT, kw_only=True)
    begin_ns: Array = field(default=_BY_DEFAULT, kw_only=True)
    held_cores: Array = field(default=_BY_DEFAULT, kw_only=True)
    left_ns: Array = field(default=_BY_DEFAULT, kw_only=True)
    user: Array = field(default=_BY_DEFAULT, kw_only=True)
    allocation_first: Array
    allocation_lo: Array
    allocation_hi: Array

    def __post_init__(self) -> None:
        n = len(self.job_id)
        upto = np.concatenate([[0], np.cumsum(self.allocation_hi - self.allocation_lo)])
        defaults: dict[str, Callable[[], Array]] = {
            "begin_ns": lambda: self.submit_ns,
            "attempt": lambda: np.zeros(n, np.int64),
            "why": lambda: np.zeros(n, np.int8),
            "state": lambda: np.zeros(n, np.int8),
            "eligible_ns": lambda: self.begin_ns,
            "held_cores": lambda: np.diff(upto[self.allocation_first]),
            "left_ns": lambda: np.where(self.started, -1, np.maximum(self.submit_ns, self.eligible_ns)),
            "user": lambda: np.full(n, -1, np.int64),
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default())
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.job_id)

    @property
    def started(self) -> Array:
        """Which rows started at all, bool (n,)."""
        started: Array = self.start_ns >= 0
        return started

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The intervals of one job."""
        first, stop = int(self.allocation_first[row]), int(self.allocation_first[row + 1])
        for k in range(first, stop):
            yield int(self.allocation_lo[k]), int(self.allocation_hi[k])


@dataclass(frozen=True)
class TaskRecords(Columns):
    """One row per task: attempts in the order of ``JobRecords``, and an attempt's tasks in task order.

    A task that was cut ends at its job's end. One that never ran, because its job was cut, has -1 as start, end, core and
    chunk.

    Attributes
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
        Job ``i`` has the rows ``first[i]:first[i + 1]``; task ``k`` of it is row ``first[i] + k``.
    start_ns, end_ns : ndarray of int64, shape (m,)
        Instants since the workload's time 0.
    core : ndarray of int32, shape (m,)
        Global core number.
    chunk : ndarray of int32, shape (m,)
        Number of the chunk within the job, in the order the chunks were assigned, from 0.
    length_gflop : ndarray of float64, shape (m,)
        Work.
    """

    first: Array
    start_ns: Array
    end_ns: Array
    core: Array
    chunk: Array
    length_gflop: Array

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class TransferRecords(Columns):
    """One row per transfer that arrived: attempts in the order of ``JobRecords``, an attempt's transfers in the order of edges.

    A transfer brings what one task made to another that needs it and that runs on another core: along an edge of the job's
    task graph. The cores are those of the two tasks in ``TaskRecords``. Edges are in the order of (source, target).

    Attributes
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
        Job ``i`` has the rows ``first[i]:first[i + 1]``.
    source, target : ndarray of int32, shape (m,)
        Numbers, within the job, of the task that made the data and of the one that needs them.
    bytes : ndarray of float64, shape (m,)
        How much there was to bring.
    sent_ns, arrived_ns : ndarray of int64, shape (m,)
        Instants since the workload's time 0 at which it began and was done.
    """

    first: Array
    source: Array
    target: Array
    bytes: Array
    sent_ns: Array
    arrived_ns: Array

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class PassRecords(Columns):
    """One row per scheduling pass, in the order in which they were made.

    Attributes
    ----------
    now_ns : ndarray of int64, shape (k,)
        Its instant, ns since the workload's time 0.
    waiting, started : ndarray of int64, shape (k,)
        How many jobs waited before it, and how many of them it started.
    """

    now_ns: Array
    waiting: Array
    started: Array

    def __len__(self) -> int:
        return len(self.now_ns)


@dataclass(frozen=True)
class ReleaseRecords(Columns):
    """One row per core that a job released before its end, in the order of ``JobRecords``, then of cores, then of instants.

    The core is part of the job's allocation, or was given to it later (:class:`WidthRecords`), and the job's up to that
    instant; from it on it is free for others, or for the job again.

    Attributes
    ----------
    job : ndarray of int64, shape (k,)
        Row of ``JobRecords``.
    core : ndarray of int64, shape (k,)
        Global core number.
    released_ns : ndarray of int64, shape (k,)
        Instant, ns since the workload's time 0; after the job's start or at it, and before its end.
    """

    job: Array
    core: Array
    released_ns: Array

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class HintRecords(Columns):
    """One row each time a running job is told for how many of its cores another one waits, in the order of
    ``JobRecords``, then of instants.

    Attributes
    ----------
    job : ndarray of int64, shape (k,)
        Row of ``JobRecords`` of the job that is told.
    told_ns : ndarray of int64, shape (k,)
        Instant, ns since the workload's time 0; after the job's start or at it, and not after its end.
    waiting : ndarray of int64, shape (k,)
        Row of the job that waits; -1 where none does any more.
    lack : ndarray of int64, shape (k,)
        How many cores that job lacks, or, if it asks for cores by number, how many of these others hold; 0 without one.
    wanted : ndarray of int64, shape (k,)
        How many of the told job's cores are wanted from then on.
    """

    job: Array
    told_ns: Array
    waiting: Array
    lack: Array
    wanted: Array

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class WidthRecords(Columns):
    """One row each time a running job is given a core, or asked for one, or wishes for another number of them, in the order of
    ``JobRecords``, then of instants, wishes first.

    What it is given is its from then on; what it is asked for, it releases later, or holds to its end.

    Attributes
    ----------
    job : ndarray of int64, shape (k,)
        Row of ``JobRecords``.
    told_ns : ndarray of int64, shape (k,)
        Instant, ns since the workload's time 0; after the job's start or at it, and before its end.
    core : ndarray of int64, shape (k,)
        Global core number; of a wish how many cores it is for.
    change : ndarray of int64, shape (k,)
        1 where it is given the core, -1 where it is asked for it, 0 where it wishes for so many.
    """

    job: Array
    told_ns: Array
    core: Array
    change: Array

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class ScaleRecords(Columns):
    """One row each time the speed of a running job's core was scaled, or of all of them, in the order of ``JobRecords``, then
    of instants.

    Attributes
    ----------
    job : ndarray of int64, shape (k,)
        Row of ``JobRecords``.
    told_ns : ndarray of int64, shape (k,)
        Instant, ns since the workload's time 0, from which on; after the job's start or at it, and before its end.
    core : ndarray of int64, shape (k,)
        Global core number; -1 for all of the job's.
    scale : ndarray of int64, shape (k,)
        Of its own speed, in parts per billion.
    """

    job: Array
    told_ns: Array
    core: Array
    scale: Array

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True)
class PowerRecords(Columns):
    """What the machine draws over time: each row holds from its instant until the next row's.

    Attributes
    ----------
    instant_ns : ndarray of int64, shape (k,)
        Ascending, ns since the workload's time 0.
    power_mw : ndarray of int64, shape (k,)
        What is drawn.
    full_mw : int
        What is drawn if all cores work at full speed.
    limit_mw : ndarray of int64, shape (k,), optional
        The lowest limit in force, -1 where there is none; None where the run has no limits.
    level : ndarray of int64, shape (k,), optional
        The state of running jobs that may be slowed, 0 at full speed; None where there is no level for all.
    """

    instant_ns: Array
    power_mw: Array
    full_mw: int
    limit_mw: Array | None = None
    level: Array | None = None

    def __len__(self) -> int:
        return len(self.instant_ns)


@dataclass(frozen=True)
class Ledger:
    """What one run did: the machine, its jobs and, where they were kept, their tasks, what was sent between them, and the
    passes of the scheduler.

    ``transfers`` is None where there was no network or no task graph, ``passes`` where they were not kept, ``releases`` where
    no job releases cores before its end, ``hints`` where none is told who waits, ``widths`` where no job's width changes,
    ``scales`` where no policy scales speeds, ``power`` where nothing of it is shown. Jobs are
    ``moldable`` where they may start with fewer cores than they ask for. ``cut_because`` has, by row of ``jobs``, why those
    ended whose cores were all lost, or that a policy ended. ``technique`` has, by row of ``jobs``, which of ``techniques``
    gave its tasks to its cores, where that is known. ``window_ns`` are the instants from which and up to which the ledger
    tells, where it is cut out of a longer one: what waits at the end of it has not started in it. ``shows`` is what has rows
    in a trace: ``cores``, and hosts and jobs; ``hosts``, and jobs; or ``lanes``, jobs alone. ``ids`` has, by job number, the
    texts that the log has as ids of jobs. ``computes`` is False where the rows of ``tasks`` show which cores jobs held, not
    tasks.
    """

    machine: Machine
    jobs: JobRecords
    tasks: TaskRecords | None
    transfers: TransferRecords | None = None
    passes: PassRecords | None = None
    releases: ReleaseRecords | None = None
    hints: HintRecords | None = None
    widths: WidthRecords | None = None
    moldable: bool = False
    scales: ScaleRecords | None = None
    power: PowerRecords | None = None
    cut_because: Mapping[int, str] = field(default_factory=dict)
    techniques: tuple[str, ...] = ()
    technique: Array | None = None
    window_ns: tuple[int, int] | None = None
    ids: Mapping[int, str] = field(default_factory=dict)
    shows: str = "cores"
    computes: bool = True
