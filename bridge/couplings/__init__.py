"""The couplings: how applications are run, and their contract. All give the same result; only cost differs.

To add one: a file here, a line in :data:`COUPLINGS`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from als.metrics.loops import LOOP_METRICS
from bls.engine.status import BatchStatus
from bls.running_jobs import Dealings
from bls.simulator import BatchSimulator
from bridge.options.declared import COUPLING, LISTEN, TOKEN_FILE
from bridge.scenarios.conflicts import PROCESSES
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution
from bridge.watches import RunWatch, Watch
from traces.base.errors import at, one_of
from traces.base.options import check
from traces.compiled import Array
from traces.kernels.signatures import Floats, Ints, Shorts
from traces.kernels.state import State, column
from traces.ledger import TaskRecords, TransferRecords

__all__ = ["COUPLINGS", "Applications", "BatchLevel", "Coupling", "RunWatch", "Watch", "check_execution", "coupling"]

#: Name → module and function; imported when chosen, since each brings its own machinery.
COUPLINGS: dict[str, tuple[str, str]] = {
    "inline": ("bridge.couplings.inline", "run_inline"),
    "pool": ("bridge.couplings.processes", "run_pool"),
    "process": ("bridge.couplings.processes", "run_process"),
}


class BatchLevel(Protocol):
    """What the bridge needs of a batch level: jobs by row, and what becomes of them.

    ``bls.simulator.BatchSimulator`` says what its attributes and methods mean. A level is driven as the module
    ``bridge.couplings.processes`` says. One that is a ``bls.running_jobs.RunningJobs`` may also send running jobs commands;
    any other only starts and ends them.
    """

    deadline_ns: Array  # of the workload's jobs

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
    def started(self) -> list[int]: ...
    def reached(self) -> list[int]: ...
    def origin(self, row: int) -> int: ...
    def job_number(self, row: int) -> int: ...
    def start_ns(self, row: int) -> int: ...
    def stop_ns(self, row: int) -> int | None: ...
    def allocation(self, row: int) -> Iterator[tuple[int, int]]: ...
    def promise(self, row: int, not_before_ns: int) -> bool: ...
    def take_back(self, row: int) -> bool: ...
    def outcome(self, row: int, end_ns: int, stopped: bool = False) -> bool: ...


class TaskColumns(State, dim="records"):
    """The columns of ``traces.ledger.TaskRecords``, job by job; of size 0 if none are kept."""

    # The column of the same name there
    start_ns: Ints = column()
    end_ns: Ints = column()
    core: Shorts = column()
    chunk: Shorts = column()
    length_gflop: Floats = column()


@dataclass(frozen=True)
class Applications:
    """What became of the applications, by the rows of the simulator; the columns of ``traces.ledger.JobRecords``."""

    # int64 (rows,)
    tasks: Array
    chunks: Array
    length_gflop: Array  # float64 (rows,)
    # float64 (rows, len(LOOP_METRICS)): ``als.metrics.loops.measure``; NaN where there was no application level
    loops: Array
    chosen: Array | None  # int64 (rows, rules) or None: how often each rule was chosen; None where nothing was
    ahead_chunks: Array  # int64 (rows,): chunks that were simulated to choose
    records: TaskRecords | None  # None where task records were not kept, or there was no application level
    # float64 (rows, len(GRAPH_METRICS)) or None: ``als.metrics.graphs.measure_graph``, NaN of jobs that have no
    # graph; None where none can have one
    graphs: Array | None = None
    transfers: TransferRecords | None = None  # None where task records were not kept, or there was no network
    # what the coupling cost, for run.json: numbers by name; and of ``hosts``, where others may join, a list of such
    cost: dict[str, Any] = field(default_factory=dict)

    def metric(self, name: str) -> Array:
        """One of ``loops`` by its name: float64 (rows,)."""
        return self.loops[:, [known for known, _ in LOOP_METRICS].index(name)].copy()


class Coupling(Protocol):
    """Runs both levels of a scenario to the end.

    ``simulator`` is at its start and is driven to ``DONE``; ``keep_tasks`` says whether task records are wanted;
    ``watch`` is called now and then; ``execution`` matters to couplings with processes. Raises
    ``traces.base.errors.TwolevelError``.
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


def nothing_done(scenario: ReadyScenario, level: BatchLevel) -> Applications:
    """The columns where there is no application level: no tasks, nominal lengths, no balance."""
    length = (core_gflop(scenario) * scenario.workload.cores)[level.column("origin")]
    length[level.column("start_ns") < 0] = 0.0
    tasks, chunks, ahead_chunks = np.zeros((3, level.rows), np.int64)
    loops = np.full((level.rows, len(LOOP_METRICS)), np.nan)
    return Applications(tasks, chunks, length, loops, None, ahead_chunks, None)


def core_gflop(scenario: ReadyScenario) -> Array:
    """Length of each job over its cores, float64 (n,): the slowest core it may get × its recorded run time."""
    return np.asarray(scenario.platform.slowest_gflops * (scenario.workload.run_ns / 1e9))


def coupling(name: str) -> Coupling:
    """The coupling of this name. Raises InputError if there is none; the message lists the known ones, nearest first."""
    if name not in COUPLINGS:
        raise one_of("coupling", name, COUPLINGS, at(str(COUPLING), name))
    module, function = COUPLINGS[name]
    return cast(Coupling, getattr(import_module(module), function))


def check_execution(execution: Execution) -> None:
    """See that there is such a coupling, and that other hosts can join where they may. Raises InputError if not."""
    coupling(execution.coupling)
    check(PROCESSES, execution)
    listen, token_file = execution.listen, execution.token_file
    if listen is None or token_file is None:
        return
    from bridge.workers.address import tls_address
    from bridge.workers.credentials import read_token

    tls_address(listen, at(str(LISTEN), listen))
    read_token(token_file, at(str(TOKEN_FILE), token_file))
