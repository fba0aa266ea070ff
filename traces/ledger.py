"""The ledger: the records of a run, in columns. Both levels fill it; every table, trace and figure reads it.

A ledger is frozen: its arrays are read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.lifecycle import Ending, Reason
from traces.records.declared import RecordColumn, RecordKind, RecordsOfJobs, column, ranges, table_columns
from traces.records.events import JobEvents, K
from traces.records.gpus import GpuRecords

#: Reasons of starts; ``JobRecords.why`` is an index of these words.
WHY = tuple(reason.name.lower() for reason in Reason)

#: Ends of jobs, or of attempts; ``JobRecords.state`` is an index of these words.
STATES = tuple(ending.name.lower() for ending in Ending)

_JOB_ID = RecordColumn("number of the job")


@dataclass(frozen=True)
class MachineShape:
    """The machine in a trace: named hosts of consecutively numbered cores."""

    name: str  #: name of the cluster
    host_names: tuple[str, ...]  #: one per host
    first_core: Array  #: int64 (n_hosts + 1,): host ``h`` has the cores ``first_core[h]:first_core[h + 1]``
    #: int64 (n_cores,): the number of each core within its host, if the machine is a part of another; None: all, from 0
    numbers: Array | None = None
    #: int64 (n_hosts + 1,): host ``h`` has the GPUs ``first_gpu[h]:first_gpu[h + 1]``; None if no host has any
    first_gpu: Array | None = None
    #: one per host, empty for a host without GPUs or a kind of theirs; () if no host has any
    gpu_kinds: tuple[str, ...] = ()

    @property
    def n_hosts(self) -> int:
        """Number of hosts."""
        return len(self.host_names)

    @property
    def n_cores(self) -> int:
        """Number of cores of the whole machine."""
        return int(self.first_core[-1])

    @property
    def n_gpus(self) -> int:
        """Number of numbered GPUs of the whole machine."""
        return 0 if self.first_gpu is None else int(self.first_gpu[-1])

    def host_of(self, core: Array) -> Array:
        """Return the host of each global core number."""
        return np.searchsorted(self.first_core[1:], core, side="right")

    def host_of_gpu(self, gpu: Array) -> Array:
        """Return the host of each GPU; some host has GPUs."""
        assert self.first_gpu is not None
        return np.searchsorted(self.first_gpu[1:], gpu, side="right")

    @property
    def core_names(self) -> list[str]:
        """Name of each core, ``<host> core <n>``, with its number n within its host."""
        hosts = np.repeat(np.array(self.host_names, object), np.diff(self.first_core)).tolist()
        return [f"{host} core {core}" for host, core in zip(hosts, self.own_numbers.tolist(), strict=True)]

    @property
    def own_numbers(self) -> Array:
        """The number of each core within its host, int64 (n_cores,)."""
        if self.numbers is not None:
            return self.numbers
        first = np.asarray(self.first_core, np.int64)
        return np.arange(self.n_cores) - np.repeat(first[:-1], np.diff(first))


class JobRecords(RecordKind):
    """One row per attempt at a job. Times are ns since the workload's time 0.

    The first attempts of all jobs come first, in workload order; later attempts of jobs that were cut and requeued follow, in
    the order in which they were made. A job that never started has -1 as start and end, no cores and no tasks; it was
    cancelled or rejected.
    """

    name: ClassVar[str] = "jobs"

    job_id: Array = column("number of the job in the workload")
    submit_ns: Array = column("instant of its submit, also in the rows of later attempts", "ns")
    start_ns: Array = column("instant of its start; −1 if it never started", "ns")
    end_ns: Array = column("instant of its end, or of its cut; −1 if it never started", "ns")
    estimate_ns: Array = column("requested run time, a duration", "ns")
    deadline_ns: Array = column("its deadline, the instant submit + slack × estimate", "ns")
    cores: Array = column(
        "number of requested cores; the job computes on no more than this number, the first of its allocation", "cores"
    )
    tasks: Array = column("tasks that ran, at least in part; 0 without an application level")
    chunks: Array = column("chunks assigned; 0 without an application level")
    length_gflop: Array = column(
        "sum of the lengths of all its tasks, in all loops and time steps, whether they ran or not; 0 if it never "
        "started; without an application level the job's length",
        "GFLOP",
        "float64",
    )
    imbalance: Array = column(
        "max(t)/mean(t) − 1, where t are the [finishing times](metrics.md#the-application-level) of its cores; NaN without an "
        "application level",
        "fraction",
        "float64",
    )
    cov: Array = column(
        "coefficient of variation of the same times; NaN without an application level", "fraction", "float64"
    )
    allocation_first: Array = column(
        "job ``i`` held the intervals ``allocation_first[i]:allocation_first[i + 1]`` of the next two",
        shape="(n + 1,)",
        table="",
    )
    allocation_lo: Array = column("first core of an interval; ascending within a job", shape="(intervals,)", table="")
    allocation_hi: Array = column("end of the interval: its last core plus 1", shape="(intervals,)", table="")
    _: KW_ONLY
    attempt: Array = column("number of the attempt at this job, from 0", default=None)
    why: Array = column("reason of its start: head, backfill, reserved, preset or never", dtype="int8", default=None)
    state: Array = column("final state of this attempt, such as completed or killed", dtype="int8", default=None)
    eligible_ns: Array = column(
        "instant from which it could start: its submit, or later if it was [held](batch-constraints.md#held-jobs) or depended "
        "on another job; in a later attempt the end of the previous one; −1 if it was withdrawn before it could start",
        "ns",
        default=None,
    )
    held_cores: Array = column(
        "number of cores held at its start: `cores`, or more if whole hosts are allocated, or another number if it is "
        "[molded](malleable.md); 0 if it never started",
        "cores",
        default=None,
    )
    begin_ns: Array = column(
        "instant from which it may join the queue, and its wait counts: its submit, or later",
        "ns",
        table="",
        default=None,
    )
    left_ns: Array = column(
        "instant at which a job that never started was withdrawn or rejected; −1 of others",
        "ns",
        table="",
        default=None,
    )
    user: Array = column("number of its user; −1 if it is not known", table="", default=None)

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

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table, which has intervals of cores and codes as text."""
        held = "the cores it held at its start: ascending intervals of global core numbers, as `0-63 128-191` or `5`; empty "
        held += "if it never started"
        found: dict[str, RecordColumn] = {}
        for name, one in table_columns(cls.columns()).items():
            found[name] = one._replace(dtype="string") if name in ("why", "state") else one
            if name == "cores":
                found["allocation"] = RecordColumn(held, dtype="string")
        return found

    @property
    def started(self) -> Array:
        """Which rows started, bool (n,)."""
        started: Array = self.start_ns >= 0
        return started

    @property
    def owner(self) -> Array:
        """The row of each interval of cores, int64 (intervals,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.allocation_first))

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """Return the intervals of one job."""
        first, stop = int(self.allocation_first[row]), int(self.allocation_first[row + 1])
        for k in range(first, stop):
            yield int(self.allocation_lo[k]), int(self.allocation_hi[k])

    def of_rows(self, rows: Array) -> JobRecords:
        """Return some of its rows, with their allocations."""
        held, first = ranges(self.allocation_first, rows)
        lo, hi = self.allocation_lo[held], self.allocation_hi[held]
        return self.take(rows, allocation_first=first, allocation_lo=lo, allocation_hi=hi)


class TaskRecords(RecordsOfJobs):
    """One row per task: attempts in the order of ``JobRecords``, and an attempt's tasks in task order.

    A task that was cut ends at its job's end. A task that never ran, because its job was cut, has -1 as start, end, core and
    chunk: it is not in the table.
    """

    name: ClassVar[str] = "tasks"
    missing: ClassVar[str] = "no tasks: they were not kept, or there was no application level"

    start_ns: Array = column("instant at which the core began it, after the overhead of its chunk", "ns")
    end_ns: Array = column("instant at which it ended, or was cut", "ns")
    core: Array = column("global number of the core that computed it", dtype="int32")
    chunk: Array = column("number of its chunk, in the order of assignment within the job, from 0", dtype="int32")
    length_gflop: Array = column("its length", "GFLOP", "float64")

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table."""
        further = {"job_id": _JOB_ID, "task": RecordColumn("number of the task within the job, from 0")}
        own = table_columns(cls.columns())
        return further | {name: own[name] for name in ("chunk", "core", "start_ns", "end_ns", "length_gflop")}

    def table(self, ledger: Ledger) -> dict[str, Array]:
        """Return its table, by column name."""
        job, ran = self.job, self.start_ns >= 0
        number = np.arange(len(self)) - self.first[job]
        columns = {"job_id": ledger.jobs.job_id[job], "task": number}
        columns |= {name: getattr(self, name) for name in self.table_columns() if name not in columns}
        return columns if ran.all() else {name: column[ran] for name, column in columns.items()}


class TransferRecords(RecordsOfJobs):
    """One row per transfer that arrived: attempts in the order of ``JobRecords``, an attempt's transfers in the order of edges.

    A transfer brings data from one task to a task on another core that needs them, along an edge of the job's task graph.
    The cores are those of the two tasks in ``TaskRecords``. Edges are sorted by (source, target).
    """

    name: ClassVar[str] = "transfers"
    missing: ClassVar[str] = "no transfers: there was no network, or no task graph"

    source: Array = column("number of the task within the job that made the data", dtype="int32")
    target: Array = column("number of the task within the job that needs the data", dtype="int32")
    bytes: Array = column("its size, above 0", "bytes", "float64")
    sent_ns: Array = column("begin of the transfer, not before `source` ended", "ns")
    arrived_ns: Array = column("end of the transfer, not after `target` started", "ns")

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table."""
        own = table_columns(cls.columns())
        ends = {"source": own.pop("source"), "target": own.pop("target")}
        cores = {
            "source_core": RecordColumn("global number of the core that computed `source`", dtype="int32"),
            "target_core": RecordColumn("global number of another core, which computed `target`", dtype="int32"),
        }
        return {"job_id": _JOB_ID} | ends | cores | own

    def cores(self, tasks: TaskRecords, rows: Array) -> tuple[Array, Array]:
        """Return the source and target cores of some transfers."""
        first = tasks.first[np.searchsorted(self.first[1:], rows, side="right")]
        return tasks.core[first + self.source[rows]], tasks.core[first + self.target[rows]]

    def table(self, ledger: Ledger) -> dict[str, Array]:
        """Return its table, by column name. Raises InputError if the ledger has no tasks, which have the cores."""
        if ledger.tasks is None:
            raise InputError(f"this result has {TaskRecords.missing}")
        source_core, target_core = self.cores(ledger.tasks, np.arange(len(self)))
        columns = {"job_id": ledger.jobs.job_id[self.job], "source_core": source_core, "target_core": target_core}
        return {name: columns[name] if name in columns else getattr(self, name) for name in self.table_columns()}


class PassRecords(RecordKind):
    """One row per scheduling pass, in the order in which they were made."""

    name: ClassVar[str] = "decisions"

    now_ns: Array = column("its instant", "ns")
    waiting: Array = column("jobs waiting before it")
    started: Array = column("jobs that it started, not counting preset jobs")

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table."""
        wall = RecordColumn("its wall time, which differs from run to run", "ns")
        return super().table_columns() | {"decision_ns": wall}


_energy = partial(column, unit="J", dtype="float64", default=None)


class NodeRecords(RecordKind):
    """One row for every interval with a constant state of a host, by host, then by time."""

    name: ClassVar[str] = "nodes"

    host: Array = column("number of the host")
    begin_ns: Array = column("instant of its begin", "ns")
    end_ns: Array = column("instant of its end", "ns")
    state: Array = column(
        "`down`, `maintenance`, `allocated`, `mixed`, `reserved` or `idle`: [the first that fits](metrics.md#states-of-hosts); "
        "in runs that stop hosts to save [power](power.md), an unused host may also be `out`, `stopping`, `off` or `booting`",
        dtype="string",
    )
    energy_j: Array | None = _energy("total energy of the host in the interval")
    energy_jobs_j: Array | None = _energy("part of it consumed by cores and GPUs that jobs held, in tasks or waiting")
    energy_idle_cores_j: Array | None = _energy("part consumed by cores and GPUs without a job, while the host was up")
    energy_base_j: Array | None = _energy("part consumed by the host besides these, while it was up")
    energy_off_j: Array | None = _energy("part consumed while it was off, shutting down, booting, or down by a failure")


class PowerRecords(RecordKind):
    """The power draw of the machine over time: each row holds from its instant until the next row's."""

    name: ClassVar[str] = "power"

    instant_ns: Array = column("begin of the row's validity; the first is the first submit", "ns")
    power_mw: Array = column("power of the machine", "mW")
    full_mw: int = column("power if all cores work at full speed", "mW", "int", shape="a number", table="")
    limit_mw: Array | None = column("the lowest limit in force, known or not; −1 if there is none", "mW", default=None)
    level: Array | None = column(
        "with `dvfs`, the state of the running jobs that may be slowed: 0 is full speed; [job by job](#slowing-job-by-job) the "
        "slowest state of any job. Also 0 while no such job runs, even above a limit",
        default=None,
    )

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table, which also counts hosts."""
        words = {"up": "in service", "out": "out of service and idle", "stopping": "shutting down", "off": "off"}
        words |= {"booting": "booting", "down": "down by a failure or for maintenance"}
        return super().table_columns() | {f"hosts_{key}": RecordColumn(f"hosts {said}") for key, said in words.items()}


@dataclass(frozen=True)
class Ledger:
    """The records of one run: the machine, its jobs and, if they were kept, their tasks, transfers, and scheduling passes.

    ``transfers`` is None without a network or task graph, ``passes`` if they were not kept, ``power`` if it was not recorded.
    ``kinds`` has the records of events of running jobs: all kinds of the simulator, in the order of traces, with None for a
    kind that the run cannot have. Jobs are ``moldable`` if they may start with fewer cores than they request.
    ``cut_because`` has, by row of ``jobs``, the reasons of ends for jobs that lost all their cores or were ended by a policy.
    ``technique`` has, by row of ``jobs``, the index in ``techniques`` of the scheduler of its tasks, if known. ``window_ns`` is
    the window to which the ledger was cut: jobs that wait at its end have not started. ``shows`` states which rows a trace has:
    ``cores``, with hosts and jobs; ``hosts``, with jobs; or ``lanes``, jobs only. ``ids`` has, by job number, the log's ids of
    jobs. ``gpus`` is None if no host has numbered GPUs. ``computes`` is False if the rows of ``tasks`` show which cores
    jobs held instead of tasks. The tasks of a job are those of ``steps`` loops of the same size, one after another.
    ``scheduler`` is the scheduler of the only job's tasks; traces for viewers have no rows of it.
    """

    machine: MachineShape
    jobs: JobRecords
    tasks: TaskRecords | None
    transfers: TransferRecords | None = None
    passes: PassRecords | None = None
    kinds: Mapping[type[JobEvents], JobEvents | None] = field(default_factory=dict)
    moldable: bool = False
    power: PowerRecords | None = None
    cut_because: Mapping[int, str] = field(default_factory=dict)
    techniques: tuple[str, ...] = ()
    technique: Array | None = None
    window_ns: tuple[int, int] | None = None
    ids: Mapping[int, str] = field(default_factory=dict)
    gpus: GpuRecords | None = None
    shows: str = "cores"
    computes: bool = True
    steps: int = 1
    scheduler: str = ""

    @property
    def events(self) -> tuple[JobEvents, ...]:
        """The recorded events of running jobs, kind by kind."""
        return tuple(one for one in self.kinds.values() if one is not None)

    def of(self, kind: type[K]) -> K | None:
        """Return the recorded events of one kind; None if the run cannot have any."""
        found = self.kinds.get(kind)
        return found if isinstance(found, kind) else None

    def with_events(self, *events: JobEvents) -> Self:
        """Return the ledger with these events, instead of earlier ones of the same kinds."""
        return replace(self, kinds={**self.kinds, **{type(one): one for one in events}})

    @property
    def frees_cores(self) -> bool:
        """Whether its jobs may free cores before their ends."""
        return any(one.frees for one in self.events)
