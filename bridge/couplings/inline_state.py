"""The inline coupling's state, next to the batch engine's: room for one application, and what became of each job."""

from __future__ import annotations

import numpy as np

from als.core_speeds import SpeedState
from als.engine import hooks as application_hooks
from als.engine import loop as application
from als.engine.dag import state as graphs
from als.engine.state import ApplicationState, new_state
from als.graphs.contract import MAX_EDGES_PER_JOB
from als.graphs.draw import DrawingRoom, new_drawing_room
from als.metrics.graphs import GRAPH_METRICS, TransferColumns
from als.metrics.loops import LOOP_METRICS
from als.network.state import NONE, NetworkState
from als.options import MAX_TASKS_PER_JOB
from als.programs.table import Programs, ProgramTable
from bls.engine import loop as batch
from bls.engine.features.running import losses, reached, releases, wishes
from bls.engine.state import BatchState
from bls.simulator import BatchSimulator
from bridge.couplings.contract import TaskColumns, core_gflop
from bridge.couplings.inline_kept import CommandJournal, Running, SavedStates
from bridge.scenarios.ready import ReadyScenario
from traces.compiled import as_value, caller, function_table, own, types
from traces.hooks import Hooks
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, StateKind, Words
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
    (losses.tell_loss, types.boolean(_BATCH, types.int64, types.int64, types.int64), "loses"),
    (reached.take_back, types.boolean(_BATCH, types.int64), "reaches"),
    (batch.promise, types.boolean(_BATCH, types.int64, types.int64), "reaches"),
    (wishes.tell_wishes, types.int64(_BATCH, types.int64, _INSTANTS, _INSTANTS, types.int64), "evolves"),
)
# What calls each of them: ``advance(inline.engines[ADVANCE], arguments)``
advance, outcome, begin, run, release, stop_after, loss, take_back, promise, wish = (
    caller(signature) for _, signature, _ in ENGINES
)


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
        WISHES: ("applications that request cores", "bridge.couplings.inline_widths:bind_wishes"),
    },
)


def _application_room(
    scenario: ReadyScenario, widest: int, memo: int, *, changes: bool, wishes: bool
) -> ApplicationState:
    # Room for one application, as large as any needs.
    programs, rules = scenario.programs, scenario.options.batch
    assert programs is not None
    resizes = rules.resizing > 0
    room, edges = programs.room(scenario.program, scenario.workload.cores)
    graph = graphs.NO_GRAPH
    if programs.has_graph:
        graph = _graph_room(programs, room, edges, widest, scenario.network, resizes)
    return new_state(
        lengths=np.empty(room),
        part_first=np.zeros(programs.most_parts + 1, np.int64),
        phases=programs.table.phases,
        table=programs.table.rules,
        speed=np.empty(widest),
        memo=memo,
        keep_tasks=False,
        selects=programs.rules.selects,
        hooks=application_hooks.table(
            programs.table.phases,
            selects=programs.rules.selects,
            changes=changes or scenario.speeds.state.component.size > 0,
            hints=rules.hints,
            resizes=resizes,
            wishes=wishes,
        ),
        graph=graph,
        wishes=np.zeros(len(programs.table.wishes), np.int64) if wishes else None,
    )


def new_inline_state(scenario: ReadyScenario, simulator: BatchSimulator, *, keep_tasks: bool) -> InlineState:
    """The inline state of a scenario that this simulator runs."""
    workload, programs, program, level = (
        scenario.workload,
        scenario.programs,
        scenario.program,
        scenario.options.application,
    )
    assert programs is not None
    cores, speeds = workload.cores, scenario.speeds.state
    n = len(cores)
    rules, widths = scenario.options.batch, scenario.constraints.widths
    resizes = rules.resizing > 0
    wishes = rules.evolves and bool(programs.table.wishes.any())
    most = np.maximum(cores, widths.max_cores) if (resizes or rules.molds) and widths is not None else cores
    widest = int(most.max()) if n else 1
    room, edges = programs.room(program, cores)
    expected = programs.expected_tasks(program, cores)
    # The draws overshoot their sum by half a task or so a job.
    rows = expected + expected // 64 + 2 * n + room if keep_tasks else 0
    memo = programs.memo(program, most)
    work = _application_room(scenario, widest, memo, changes=simulator.dealings.cuts, wishes=wishes)
    network, varies = scenario.network.kind != NONE, speeds.component.size > 0
    sends = keep_tasks and edges > 0 and network
    objects = not all(one.by_memo for one in programs.rules.techniques)
    replays = simulator.dealings.reaches and (objects or (programs.has_graph and network))
    saves = simulator.dealings.reaches and not replays
    n_rules = len(programs.rules.names) if programs.rules.selects else 0
    shared = Running.new({"cores": widest, "deferred": 0}, app=work)
    used = {SPEEDS: varies, VARYING: varies, GRAPHS: programs.has_graph}
    used |= {START: saves, COME_DUE: saves, REACH: simulator.dealings.reaches, WISHES: wishes}
    state = InlineState(
        core_speed=own(scenario.platform.core_speed_gflops, np.float64),
        asked=own(cores, np.int64),
        core_gflop=own(core_gflop(scenario), np.float64),
        program=own(program, np.int64),
        table=programs.table,
        speeds=speeds,
        room=new_drawing_room(edges, programs.most_parts, memo=programs.draw_memo, keys=work.keys),
        own_gflops=np.zeros(widest),
        application=work,
        outcomes=Outcomes.new({"rows": n, "rules": n_rules, "graphs": n if programs.has_graph else 0}),
        tasks=TaskColumns.new({"records": rows}),
        transfers=TransferColumns.new({"transfers": 2 * edges if sends else 0}),
        running=shared,
        shared=shared,
        seed=np.array([scenario.model.seed], np.uint64),
        costs=Costs(
            scenario.options.application.overhead_ns,
            level.latency_ns,
            int(level.master),
            int(bool(rules.releases)),
            level.resize_ns,
            scenario.platform.slowest_gflops,
            scenario.bytes_per_gflop,
        ),
        engines=function_table(
            [(not need or getattr(simulator.dealings, need)) and as_value(*one) for *one, need in ENGINES]
        ),
        hooks=HOOKS.filled([slot for slot, there in used.items() if there]),
        journal=CommandJournal.none({"rows": n, "entries": n, "wanted": 16 * n, "cores": widest} if replays else None),
        saved=SavedStates.none(
            {"rows": n, "words": 256 * min(n, 64), "ahead": 256, "cores": widest} if saves else None
        ),
    )
    return with_application(state, work)


def _graph_room(
    programs: Programs, n_tasks: int, n_edges: int, widest: int, network: NetworkState, resizes: bool
) -> graphs.GraphState:
    # The work space of one job's graphs, as large as any job needs.
    ends = np.empty(n_edges, np.int64)
    plans = resizes and bool(programs.rules.planners)
    return graphs.new_graph_state(
        graphs.Edges(np.zeros(0, np.int64), ends, ends, np.empty(n_edges)),
        np.zeros(widest, np.int64),
        np.zeros(widest, np.int64),
        network,
        application_hooks.graph_table(network.kind != NONE),
        n_tasks=n_tasks,
        plan_room=programs.rules.plan_room(n_tasks, n_edges, widest),
        anew=graphs.anew_room(n_tasks if plans else 0, n_edges if plans else 0, widest if resizes else 0),
    )


def with_application(inline: InlineState, work: ApplicationState) -> InlineState:
    """The same with other arrays of an application, or other room for edges."""
    room, graph = inline.room, work.graph
    if graph.exists:
        graph = graph._replace(source=room.source, target=room.target, bytes=room.bytes)
    app = work._replace(table=inline.table.rules, graph=graph, phases=work.phases._replace())
    app.status = inline.shared.app.status
    shared = inline.shared._replace(app=app)
    return inline._replace(application=work, running=shared, shared=shared)


def with_room(inline: InlineState, programs: Programs) -> InlineState:
    """The same with room for twice as many tasks and edges of one job, up to ``MAX_TASKS_PER_JOB``."""
    work = inline.application
    more = min(2 * len(work.lengths), MAX_TASKS_PER_JOB)
    ahead = work.ahead._replace(taken=np.zeros(more, np.uint8)) if len(work.ahead.taken) else work.ahead
    grown = work._replace(lengths=np.empty(more), taken=np.zeros(more, np.uint8), ahead=ahead)
    if not programs.has_graph:
        return with_application(inline, grown)
    edges = min(2 * len(inline.room.source) + 16, MAX_EDGES_PER_JOB)
    graph = _graph_room(programs, more, edges, len(work.speed), work.graph.net, len(work.graph.anew.speed) > 0)
    room = new_drawing_room(edges, programs.most_parts, memo=programs.draw_memo, keys=work.keys)
    return with_application(inline._replace(room=room), grown._replace(graph=graph))
