"""The couplings, which run the applications, and their contract. All give the same results; only their cost differs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from als.metrics.loops import LOOP_METRICS
from als.options import SPEEDS
from bls.engine.status import BatchStatus
from bls.running_jobs import Dealings, RunningJobs
from bls.simulator import BatchSimulator
from bridge.options.declared import COUPLING, TOKEN_FILE
from bridge.scenarios.conflicts import PROCESSES
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution
from bridge.watches import Watch
from traces.base.errors import InputError, at, one_of
from traces.base.options import check
from traces.base.plugins import Registry
from traces.compiled import Array
from traces.kernels.signatures import Floats, Ints, Shorts
from traces.kernels.state import State, column
from traces.ledger import TaskRecords, TransferRecords


class BatchLevel(Protocol):
    """The part of a batch level that the bridge uses; jobs are named by row.

    ``bls.simulator.BatchSimulator`` describes the attributes and methods, and ``bridge.couplings.processes`` the order of
    calls. Its ``running_jobs`` may also send commands to running jobs; levels without them only start and end jobs.
    """

    @property
    def running_jobs(self) -> RunningJobs | None: ...

    @property
    def deadline_ns(self) -> Array: ...  # by job of the workload
    @property
    def now_ns(self) -> int: ...
    @property
    def ended(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def dealings(self) -> Dealings: ...
    def advance(self, max_ends: int) -> BatchStatus: ...
    def column(self, name: str) -> Array: ...  # of ``bls.engine.jobs.Jobs``, all rows
    def allocations(self) -> tuple[Array, Array, Array]: ...
    def records(self) -> dict[str, Any]: ...  # further columns of the ledger, by its names
    def started(self) -> list[int]: ...
    def interrupted(self) -> list[int]: ...
    def origin(self, row: int) -> int: ...
    def job_number(self, row: int) -> int: ...
    def start_ns(self, row: int) -> int: ...
    def stop_ns(self, row: int) -> int | None: ...
    def allocation(self, row: int) -> Iterator[tuple[int, int]]: ...
    def promise(self, row: int, not_before_ns: int) -> bool: ...
    def take_back(self, row: int) -> bool: ...
    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool: ...


class TaskColumns(State, dim="records"):
    """The columns of ``traces.ledger.TaskRecords``, job by job; empty without records."""

    # As there
    start_ns: Ints = column()
    end_ns: Ints = column()
    core: Shorts = column()
    chunk: Shorts = column()
    length_gflop: Floats = column()


@dataclass(frozen=True)
class Applications:
    """The results of the applications, by row of the simulator; columns of ``traces.ledger.JobRecords``."""

    # int64 (rows,)
    tasks: Array
    chunks: Array
    length_gflop: Array  # float64 (rows,)
    # float64 (rows, len(LOOP_METRICS)): ``als.metrics.loops.measure``; NaN without an application level
    loops: Array
    chosen: Array | None  # int64 (rows, rules) or None: how often each rule was selected; None without selections
    ahead_chunks: Array  # int64 (rows,): chunks that were simulated for selections
    records: TaskRecords | None  # None if records were not kept, or without an application level
    # float64 (rows, len(GRAPH_METRICS)): ``als.metrics.graphs.measure_graph``, NaN for jobs without graphs; None if no job
    # can have one
    graphs: Array | None = None
    transfers: TransferRecords | None = None  # None if records were not kept, or without a network
    # the cost of the coupling, for run.json: numbers by name, and a list of such for ``hosts`` if other hosts may join
    cost: dict[str, Any] = field(default_factory=dict)

    def metric(self, name: str) -> Array:
        """One of ``loops`` by its name: float64 (rows,)."""
        return self.loops[:, [known for known, _ in LOOP_METRICS].index(name)].copy()


class Coupling(Protocol):
    """Runs both levels of a scenario to the end.

    ``simulator`` is at its start and is run to ``DONE``; a coupling with processes also accepts another :class:`BatchLevel`.
    ``keep_tasks``: whether to keep task records. ``watch`` is called at intervals. ``execution`` concerns couplings with
    processes only. Raises ``traces.base.errors.TwolevelError``.
    """

    def __call__(
        self,
        scenario: ReadyScenario,
        simulator: BatchSimulator,
        *,
        keep_tasks: bool,
        watch: Watch,
        execution: Execution,
    ) -> Applications: ...


COUPLINGS = Registry[Coupling](
    {
        "inline": "bridge.couplings.inline:run_inline",
        "pool": "bridge.couplings.processes:run_pool",
        "process": "bridge.couplings.processes:run_process",
    }
)


def nothing_done(scenario: ReadyScenario, level: BatchLevel) -> Applications:
    """The columns of a run without an application level: no tasks, nominal lengths, no balance."""
    length = (core_gflop(scenario) * scenario.workload.cores)[level.column("origin")]
    length[level.column("start_ns") < 0] = 0.0
    tasks, chunks, ahead_chunks = np.zeros((3, level.rows), np.int64)
    loops = np.full((level.rows, len(LOOP_METRICS)), np.nan)
    return Applications(tasks, chunks, length, loops, None, ahead_chunks, None)


def core_gflop(scenario: ReadyScenario) -> Array:
    """Work of each job per core, float64 (n,), GFLOP: the slowest core of the platform × its recorded run time."""
    return np.asarray(scenario.platform.slowest_gflops * (scenario.workload.run_ns / 1e9))


def check_devices(scenario: ReadyScenario, level: BatchLevel) -> None:
    """Raise InputError if workers that are no cores would have to change while they run."""
    kind = next((kind for program in scenario.applications for kind in program.workers), None)
    if kind is None:
        return
    if level.running_jobs is None and (scenario.gpu_rows >= 0).any():
        raise InputError(f"workers: {kind.name}: no count, and a replay does not know the GPUs of jobs; allowed: count")
    for changes, what in (
        (not scenario.speeds.steady, str(SPEEDS)),
        (level.dealings.commanded, "commands to running jobs: hints, other widths, scaled speeds"),
        (level.dealings.molds, "other widths than requested"),
    ):
        if changes:
            raise InputError(f"workers: {kind.name}: not with {what}; allowed: cores that keep their speeds and jobs")


def coupling(name: str) -> Coupling:
    """The coupling of this name. Raises InputError if there is none, with the known names, nearest first."""
    if not isinstance(name, str) or name not in COUPLINGS:
        raise one_of("coupling", name, COUPLINGS, at(str(COUPLING), name))
    return COUPLINGS[name]


def check_execution(execution: Execution) -> None:
    """Raise InputError if the coupling is unknown, or other hosts cannot join as configured."""
    coupling(execution.coupling)
    check(PROCESSES, execution)
    if execution.token_file is not None:
        from bridge.workers.credentials import read_token

        read_token(execution.token_file, at(str(TOKEN_FILE), execution.token_file))
