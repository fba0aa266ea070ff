"""The inline coupling's state, next to the batch engine's: room for one application, and what became of each job.

What is kept of running applications that may receive commands is either their states at a past instant, or a journal of the
commands, from which they are simulated again (``inline_kept``). Rows are those of the batch state.
"""

from enum import IntEnum

import numpy as np

from als.core_speeds import SpeedState
from als.engine import loop as application
from als.engine.state import ApplicationState
from als.graphs.draw import DrawingRoom
from als.metrics.graphs import GRAPH_METRICS, TransferColumns
from als.metrics.loops import LOOP_METRICS
from als.programs.table import ProgramTable
from bls.engine import loop as batch
from bls.engine.features.running import reached, releases
from bls.engine.state import BatchState
from bridge.couplings import TaskColumns
from traces.compiled import Array, Hooks, caller, types
from traces.kernels.signatures import Bytes, Floats, Floats2, Ints, Ints2, StateKind, Words
from traces.kernels.slabs import WHOLE
from traces.kernels.state import State, column

# The engines' functions are called through pointers: places in InlineState.engines
ADVANCE, OUTCOME, BEGIN, RUN, RELEASE, STOP_AFTER, LOSS, TAKE_BACK, PROMISE, WISH = range(10)

_INSTANTS = types.Column(types.int64, 1)
_BATCH, _APPLICATION = StateKind(BatchState), StateKind(ApplicationState)
#: The functions, and which of its ``dealings`` a batch simulator has if they are needed: they are compiled only then.
ENGINES = (
    (batch.advance, types.int64(_BATCH, types.int64), ""),
    (batch.outcome, types.boolean(_BATCH, types.int64, types.int64, types.boolean), ""),
    (application.begin, types.Signature(None, (_APPLICATION, *[types.int64] * 2, *[types.boolean] * 2)), ""),
    (application.run_until_stop, types.int64(_APPLICATION, types.int64), ""),
    (releases.tell_releases, types.int64(_BATCH, types.int64, _INSTANTS, _INSTANTS, types.int64), "releases"),
    (releases.stop_after, types.boolean(_BATCH, types.int64, _INSTANTS, _INSTANTS), "releases"),
    (releases.tell_loss, types.boolean(_BATCH, types.int64, types.int64, types.int64), "loses"),
    (reached.take_back, types.boolean(_BATCH, types.int64), "reaches"),
    (batch.promise, types.boolean(_BATCH, types.int64, types.int64), "reaches"),
    (releases.tell_wishes, types.int64(_BATCH, types.int64, _INSTANTS, _INSTANTS, types.int64), "evolves"),
)
# What calls each of them: ``advance(inline.engines[ADVANCE], arguments)``
advance, outcome, begin, run, release, stop_after, loss, take_back, promise, wish = (
    caller(signature) for _, signature, _ in ENGINES
)


class InlineStatus(IntEnum):
    """What ``bridge.couplings.inline_kernel.drive`` returns besides the batch engine's statuses; all are below 0."""

    LENGTHS_FULL = -1  #: A job has more tasks than there is room to draw.
    LEDGER_FULL = -2  #: The task records must grow.
    APPLICATION_FAULT = -3  #: An application has failed: ``job`` and ``fault_status`` say which, and how.
    ROWS_SHORT = -4  #: There are more attempts than rows.
    LENGTHS_FAULT = -5  #: The tasks of ``job`` cannot be drawn.
    TRANSFERS_FULL = -6  #: The records of transfers must grow.
    JOURNAL_FULL = -9  #: The journal of commands must grow.
    SAVED_FULL = -10  #: What is kept of running applications needs more room.
    WISHES_FULL = -7  #: The batch level's table of requests for cores must grow.
    RELEASES_FAULT = -8  #: The batch level refuses what ``job`` releases.
    OUTCOME_FAULT = -11  #: The batch level refuses how ``job`` ends, or what it promises.


#: The most scales that are deferred for a job.
MOST_DEFERRED = 64


class Running(State, dim="cores"):
    """An application that runs, and what the inline coupling knows of it.

    Scales of all its cores may be deferred (``inline_deferred``).
    """

    commanded_ns: int = 0  # the instant of its latest commands, or its start
    stride_ns: int = 0  # how far it is simulated ahead
    steps: int = 0  # how often it has gone on by itself, as far as was sure, since its latest commands
    master_host: int = 0  # host of its first core
    fastest: float = 0.0  # where there are graphs, speed of its fastest core as it started, GFLOP/s

    n_deferred: int = 0  # how many scales are deferred
    scale: int = 0  # the last of them; if there is none, that of all cores, ppb; 0 if none may be deferred
    since_ns: int = 0  # the instant from which on
    left_ns: float = 0.0  # for how long from there on, at scale 1, nothing shows of the job at the least
    farthest_ns: float = 0.0  # for how long, at scale 1, a chunk may still take at the most

    app: ApplicationState = column()  # the application
    base_gflops: Floats = column()  # the speeds of its cores at factor 1, GFLOP/s
    next_ns: Ints = column()  # when they change next by themselves
    # The scales that are deferred, and their instants
    deferred_ns: Ints = column("deferred")
    deferred: Ints = column("deferred")


class Sizes(State):
    """How long the dimensions of a ``Running`` are; those of transfers and of mappings are 0."""

    # The size of the dimension of this name
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
    wishes: int = 0
    wished: int = 0
    deferred: int = 0


class SavedStates(State, dim="rows"):
    """Applications that run and may receive commands, each as it was at an instant that has passed (``inline_kept``).

    Of size 0 where there are no commands, or applications cannot be kept.
    """

    used: int = 0  # how many words are in use
    wanted: int = 0  # how many the application needs that there was no room for
    words: Ints = column("words")  # the applications, each a slab
    ahead: Ints = column("ahead")  # room for a copy of one that is simulated ahead
    first: Ints = column(fill=-1)  # where a row's begins, -1 nowhere
    sizes: Sizes = column()  # work space: of a slab
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait
    factor: Floats = column(MOST_DEFERRED)  # work space

    def make_room(self, running: Array) -> None:
        """Leave out what was kept of jobs that do not run any more, and have room for at least as much again.
        ``running``, int64: the rows of the jobs that run."""
        known = running[running < len(self.first)]  # what has begun as another attempt may have no row yet
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
    """The commands that running jobs received: an application is simulated again from its start, with all of them.

    Of size 0 where there are no commands, or the states of applications are kept.
    """

    first: Ints = column("rows", fill=-1)  # the first entry of each row, -1 none
    last: Ints = column("rows", fill=-1)  # its last entry
    instant: Ints = column()  # when the commands were received
    after: Ints = column()  # the next entry of the same row, -1 none
    told_first: Ints = column()  # the first of the commands in ``BatchState.told``
    told_stop: Ints = column()  # one past the last
    core_first: Ints = column()  # where the cores begin for which others wait from then on
    core_stop: Ints = column()  # where they end
    core: Ints = column("wanted")  # a core for which others wait
    flags: Bytes = column("cores")  # work space: for which of a job's cores others wait

    def make_room(self, n_cores: int) -> None:
        """Have room for twice as many entries, and for those of one more job, of up to ``n_cores`` cores."""
        self.grow(entries=2 * len(self.instant) + 1, wanted=2 * len(self.core) + n_cores)


class Costs(State):
    """What chunks cost, and data."""

    overhead_ns: int  # of a chunk
    latency_ns: int  # of a message between two hosts
    master: int  # 1 where a master pays the overhead
    releases: int  # 1 where applications release cores that they need no more
    resize_ns: int  # of a change of the width, for each core
    slowest_gflops: float  # of the machine's slowest core, GFLOP/s
    bytes_per_gflop: float  # how many bytes a network between two hosts carries while a core computes a GFLOP


class Outcomes(State, dim="rows"):
    """What became of the job of each row of the batch state."""

    n_rows: Ints = column()  # tasks that were drawn
    n_tasks: Ints = column()  # tasks that ran
    n_chunks: Ints = column()  # chunks that it was given
    length_gflop: Floats = column()  # work of its tasks, GFLOP
    loops: Floats2 = column("rows", len(LOOP_METRICS), fill=np.nan)  # its ``LOOP_METRICS``
    chosen: Ints2 = column("rows", "rules")  # how often each rule was chosen
    ahead_chunks: Ints = column()  # chunks that were simulated to choose rules
    # Its first row in the task records, which are in the order in which jobs started; -1 none
    first: Ints = column(fill=-1)
    n_transfers: Ints = column()  # transfers between hosts
    transfer_first: Ints = column(fill=-1)  # its first row in the records of transfers, -1 none
    # Its ``GRAPH_METRICS``, where jobs may have graphs
    graph_values: Floats2 = column("graphs", len(GRAPH_METRICS), fill=np.nan)


class InlineState(State):
    """What the loop needs in addition to the batch state: n jobs, M cores of the machine."""

    ledger_used: int = 0  # records of tasks
    transfers_used: int = 0  # records of transfers
    journal_used: int = 0  # entries of the journal
    cores_used: int = 0  # cores for which others wait, by these
    job: int = 0  # the job whose application was run last
    fault_status: int = 0  # how it ended, if that is a fault
    reached_at: int = 0  # how many of the jobs that receive commands after a pass have been dealt with
    applied_upto: int = 0  # how many of them have applied their commands
    core_speed: Floats  # (M,): GFLOP/s of each core of the machine at factor 1
    asked: Ints  # (n,): how many cores each job asks for
    core_gflop: Floats  # (n,): length of each job over these
    program: Ints  # (n,): the place of each job's program
    table: ProgramTable  # the programs
    speeds: SpeedState  # how the speeds of cores change
    room: DrawingRoom  # work space for drawing tasks
    own_gflops: Floats  # work space, where speeds change and are scaled
    # One application's arrays, as large as the largest job needs; the loop uses the front of each
    application: ApplicationState
    outcomes: Outcomes = column()  # what became of each job
    # Records, by jobs as they started
    tasks: TaskColumns = column()
    transfers: TransferColumns = column()
    # The application that runs: the front of the arrays of ``application``, or one that is kept of a job, or a copy of it
    running: Running
    shared: Running  # the one that is the front of the arrays of ``application``
    seed: Words  # (1,): of the run
    costs: Costs  # of chunks and data
    # (10,): both engines' functions; 0 where a run does not need one
    engines: Ints
    hooks: Ints  # what only some runs do
    journal: CommandJournal = column()  # the commands that running jobs received
    saved: SavedStates = column()  # applications that run, each as it was at an instant

    def grow_rows(self, rows: int) -> None:
        """Have room for this number of rows of the batch state."""
        self.outcomes.grow(rows=rows, graphs=rows if self.application.graph.exists else 0)
        if len(self.saved.flags):
            self.saved.grow(rows=rows)
        elif len(self.journal.flags):
            self.journal.grow(rows=rows)


#: ``hook(state, inline, job or cores, instant or flag)``
HOOK = types.int64(_BATCH, StateKind(InlineState), types.int64, types.int64)
call_hook = caller(HOOK)

SPEEDS, VARYING, GRAPHS, START, COME_DUE, REACH, WISHES = range(7)
HOOKS = Hooks(
    "inline coupling",
    HOOK,
    {
        SPEEDS: ("speeds at an instant", "bridge.couplings.inline_commands:set_speeds"),
        VARYING: ("speeds that change", "bridge.couplings.inline_commands:run_varying"),
        GRAPHS: ("measures of graphs, and records of their transfers", "bridge.couplings.inline_graphs:measure"),
        START: ("applications that are kept as they start", "bridge.couplings.inline_reaching:start"),
        COME_DUE: ("promises of applications that come due", "bridge.couplings.inline_reaching:come_due"),
        REACH: ("applications that receive commands", "bridge.couplings.inline_reaching:reach"),
        WISHES: ("applications that request cores", "bridge.couplings.inline_commands:bind_wishes"),
    },
)
