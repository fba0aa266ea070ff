"""The state of the inline coupling: room for one application, saved applications, and the outcome of each job.

Running applications that may receive commands are saved at a past instant, or simulated again with a journal of their commands
(``inline_commands``). Rows are those of the batch state.
"""

from enum import IntEnum

import numpy as np

from als.core_speeds import SpeedState
from als.engine.dag.state import TransferColumns
from als.engine.devices import DeviceSlots
from als.engine.state import ApplicationState
from als.graphs.draw import DrawingRoom
from als.metrics import GRAPH_METRICS
from als.metrics.loops import LOOP_METRICS
from als.programs.table import ProgramTable
from bls.engine.state import BatchState
from bridge.couplings import TaskColumns
from traces.compiled import Array, Hooks, caller, types
from traces.kernels.signatures import Bytes, Floats, Floats2, Ints, Ints2, StateKind, Words
from traces.kernels.slabs import WHOLE
from traces.kernels.state import State, column

# The engines' functions are called through pointers: places in InlineState.engines
ADVANCE, OUTCOME, BEGIN, RUN, RELEASE, STOP_AFTER, LOSS, TAKE_BACK, PROMISE, REQUEST_WIDTH = range(10)

_BATCH, _APPLICATION = StateKind(BatchState), StateKind(ApplicationState)
_FEATURES = "bls.engine.features"
_REPORT = _BATCH, types.int64, types.Column(types.int64, 1), types.Column(types.int64, 1), types.int64
#: The functions, and the field of ``Dealings`` with which they are needed, loaded and compiled ("": always).
ENGINES = (
    ("bls.engine.loop:advance", types.int64(_BATCH, types.int64), ""),
    ("bls.engine.loop:outcome", types.boolean(_BATCH, types.int64, types.int64, types.boolean), ""),
    ("als.engine.loop:begin", types.Signature(None, (_APPLICATION, *[types.int64] * 2, *[types.boolean] * 2)), ""),
    ("als.engine.loop:run_until_stop", types.int64(_APPLICATION, types.int64), ""),
    (f"{_FEATURES}.releases.releases:report_job_releases", types.int64(*_REPORT), "releases"),
    (f"{_FEATURES}.releases.releases:stop_after", types.boolean(*_REPORT[:-1]), "releases"),
    (f"{_FEATURES}.retries.retries:report_loss", types.boolean(_BATCH, types.int64, types.int64, types.int64), "loses"),
    (f"{_FEATURES}.commands.commands:take_back", types.boolean(_BATCH, types.int64), "commanded"),
    ("bls.engine.loop:promise", types.boolean(_BATCH, types.int64, types.int64), "commanded"),
    (f"{_FEATURES}.requests.requests:report_width_requests", types.int64(*_REPORT), "evolves"),
)
# Their callers: ``advance(inline.engines[ADVANCE], arguments)``
advance, outcome, begin, run, release, stop_after, loss, take_back, promise, request_width = (
    caller(signature) for _, signature, _ in ENGINES
)


class InlineStatus(IntEnum):
    """Results of ``bridge.couplings.inline_kernel.drive`` besides the batch engine's statuses; all are negative."""

    LENGTHS_FULL = -1  #: A job has more tasks than there is room to draw.
    LEDGER_FULL = -2  #: The task records must grow.
    APPLICATION_FAULT = -3  #: The application of ``job`` has failed with ``fault_status``.
    ROWS_SHORT = -4  #: There are more attempts than rows.
    LENGTHS_FAULT = -5  #: The tasks of ``job`` cannot be drawn.
    TRANSFERS_FULL = -6  #: The records of transfers must grow.
    JOURNAL_FULL = -9  #: The journal of commands must grow.
    SAVED_FULL = -10  #: Saved applications need more room.
    WIDTH_REQUESTS_FULL = -7  #: The batch level's table of requests for cores must grow.
    RELEASES_FAULT = -8  #: The batch level refuses the releases of ``job``.
    OUTCOME_FAULT = -11  #: The batch level refuses the end or promise of ``job``.


class Running(State, dim="cores"):
    """A running application."""

    commanded_ns: int = 0  # instant of its latest commands, or its start
    stride_ns: int = 0  # duration of a simulation ahead
    steps: int = 0  # steps in place since its latest commands
    master_host: int = 0  # host of its first core
    fastest: float = 0.0  # with graphs: speed of its fastest core at the start, GFLOP/s

    app: ApplicationState = column()  # application
    base_gflops: Floats = column()  # speeds of its cores at factor 1, GFLOP/s
    next_ns: Ints = column()  # next changes of varying speeds


class Sizes(State):
    """The sizes of the dimensions of a ``Running``; 0 for transfers and mappings."""

    # Size
    tasks: int = 0
    bounds: int = 0
    cores: int = 0
    memo: int = 0
    rules: int = 0
    records: int = 0
    edge_bounds: int = 0
    edges: int = 0
    given: int = 0
    hosts: int = 0
    nodes: int = 0
    graph_cores: int = 0
    pools: int = 0
    node_bounds: int = 0
    events: int = 0
    flows: int = 0
    entries: int = 0
    table: int = 0
    width_requests: int = 0
    width_requested: int = 0
    deferred: int = 0


class SavedStates(State, dim="rows"):
    """Running applications that may receive commands, saved at a past instant (``inline_kept``); else empty."""

    used: int = 0  # words in use
    wanted: int = 0  # words for the application that did not fit
    words: Ints = column("words")  # applications, one slab each
    ahead: Ints = column("ahead")  # room for a copy that is simulated ahead
    first: Ints = column(fill=-1)  # first word by row, -1 none
    sizes: Sizes = column()  # work space: sizes of a slab
    flags: Bytes = column("cores")  # work space: cores of a job that others wait for

    def make_room(self, running: Array) -> None:
        """Drop the applications of ended jobs and make room for at least as much again.
        ``running``, int64: the rows of the running jobs."""
        known = running[running < len(self.first)]  # later attempts may have no row yet
        kept = known[self.first[known] >= 0]
        first, at = np.full_like(self.first, -1), 0
        for row in kept[np.argsort(self.first[kept])].tolist():
            begin = int(self.first[row])
            count = int(self.words[begin + WHOLE])
            self.words[at : at + count] = self.words[begin : begin + count]
            first[row], at = at, at + count
        self.first[...], self.used = first, at
        self.grow(words=max(len(self.words), 2 * at + int(self.wanted)), ahead=max(len(self.ahead), int(self.wanted)))


class CommandJournal(State, dim="entries"):
    """The commands of running jobs whose applications are simulated again from their start; else empty."""

    first: Ints = column("rows", fill=-1)  # first entry by row, -1 none
    last: Ints = column("rows", fill=-1)  # last entry by row
    instant: Ints = column()  # instant of the commands
    after: Ints = column()  # next entry of the same row, -1 none
    command_first: Ints = column()  # first command in ``BatchState.commands.log``
    command_stop: Ints = column()  # one past the last command
    core_first: Ints = column()  # first wanted core, a place in ``core``
    core_stop: Ints = column()  # one past the last
    core: Ints = column("wanted")  # core that another job waits for
    flags: Bytes = column("cores")  # work space: cores of a job that others wait for

    def make_room(self, n_cores: int) -> None:
        """Make room for twice as many entries, and for one more job of up to ``n_cores`` cores."""
        self.grow(entries=2 * len(self.instant) + 1, wanted=2 * len(self.core) + n_cores)


class InlineCosts(State):
    """Costs of chunks and data."""

    overhead_ns: int  # per chunk
    latency_ns: int  # per message between two hosts
    master: int  # 1: a master pays the overhead
    releases: int  # 1: applications release cores
    resize_ns: int  # per change of width, for each core
    slowest_gflops: float  # slowest core of the machine, GFLOP/s
    bytes_per_gflop: float  # bytes sent between two hosts while a core computes a GFLOP


class Outcomes(State, dim="rows"):
    """Results of jobs, by row of the batch state."""

    n_rows: Ints = column()  # drawn tasks
    n_tasks: Ints = column()  # tasks that ran
    n_chunks: Ints = column()  # assigned chunks
    length_gflop: Floats = column()  # work of its tasks, GFLOP
    loops: Floats2 = column("rows", len(LOOP_METRICS), fill=np.nan)  # ``LOOP_METRICS``
    chosen: Ints2 = column("rows", "rules")  # selections of each rule
    ahead_chunks: Ints = column()  # chunks simulated for selections
    first: Ints = column(fill=-1)  # first row in the task records (in order of starts), -1 none
    n_transfers: Ints = column()  # transfers between hosts
    transfer_first: Ints = column(fill=-1)  # first row in the transfer records, -1 none
    graph_values: Floats2 = column("graphs", len(GRAPH_METRICS), fill=np.nan)  # ``GRAPH_METRICS``


class InlineState(State):
    """The state of the loop besides the batch state: n jobs, M cores of the machine."""

    ledger_used: int = 0  # task records in use
    transfers_used: int = 0  # transfer records in use
    journal_used: int = 0  # entries of the journal in use
    cores_used: int = 0  # wanted cores of these entries
    job: int = 0  # job whose application was run last
    fault_status: int = 0  # its fault, or 0
    interrupted_at: int = 0  # handled jobs with commands of the latest pass
    applied_upto: int = 0  # jobs that have applied these commands
    core_speed: Floats  # (M,): speed at factor 1, GFLOP/s
    asked: Ints  # (n,): requested cores
    core_gflop: Floats  # (n,): work per requested core, GFLOP
    program: Ints  # (n,): place of the job's program
    table: ProgramTable  # programs
    speeds: SpeedState  # varying speeds
    room: DrawingRoom  # work space for drawing tasks
    own_gflops: Floats  # work space for scaled, varying speeds
    application: ApplicationState  # arrays for one application of the largest size; the loop uses their front
    outcomes: Outcomes = column()  # results of jobs
    tasks: TaskColumns = column()  # by job, in order of starts
    transfers: TransferColumns = column()  # by job, in order of starts
    running: Running  # current application: ``shared``, a saved one, or a copy of it
    device_slots: DeviceSlots  # room for the slots of one application; empty if all workers are cores
    device_works: Floats  # room for the work of its tasks on each kind of workers; empty if it is everywhere the same
    device_on: Ints  # room for the kinds that take part in each of its phases
    gpu_rows: Ints2  # (programs, kinds of GPUs): as in ``ReadyScenario``
    shared: Running  # application in the front of the arrays of ``application``
    seed: Words  # (1,)
    costs: InlineCosts  # costs of chunks and data
    engines: Ints  # (10,): functions of both engines; 0: not needed
    hooks: Ints  # optional features
    journal: CommandJournal = column()  # journal of commands
    saved: SavedStates = column()  # saved applications

    def grow_rows(self, rows: int) -> None:
        """Make room for this number of rows of the batch state."""
        self.outcomes.grow(rows=rows, graphs=rows if self.application.graph.exists else 0)
        if len(self.saved.flags):
            self.saved.grow(rows=rows)
        elif len(self.journal.flags):
            self.journal.grow(rows=rows)


#: ``hook(state, inline, job or cores, instant or flag)``
HOOK = types.int64(_BATCH, StateKind(InlineState), types.int64, types.int64)
call_hook = caller(HOOK)

SPEEDS, VARYING, GRAPHS, START, COME_DUE, INTERRUPT, WIDTH_REQUESTS, DEVICES = range(8)
HOOKS = Hooks(
    "inline coupling",
    HOOK,
    {
        SPEEDS: ("speeds at an instant", "bridge.couplings.inline_speeds:set_speeds"),
        VARYING: ("speeds that change", "bridge.couplings.inline_speeds:run_varying"),
        GRAPHS: ("metrics of graphs, and records of their transfers", "bridge.couplings.inline_graphs:measure"),
        START: ("applications that are saved at their start", "bridge.couplings.inline_commands:start"),
        COME_DUE: ("expiring promises of applications", "bridge.couplings.inline_commands:come_due"),
        INTERRUPT: ("applications that receive commands", "bridge.couplings.inline_commands:interrupt"),
        WIDTH_REQUESTS: ("applications that request cores", "bridge.couplings.inline_commands:bind_width_requests"),
        DEVICES: ("workers that are no cores", "bridge.couplings.inline_commands:bind_devices"),
    },
)
