"""What the inline coupling keeps beside the batch engine's state: room for one application, and what became of each job."""

from __future__ import annotations

import numpy as np

from als.core_speeds.state import SpeedState
from als.engine import hooks as application_hooks
from als.engine import loop as application
from als.engine.dag import hooks as graph_hooks
from als.engine.dag import state as graphs
from als.engine.dag.metrics import GRAPH_METRICS
from als.engine.metrics import LOOP_METRICS
from als.engine.state import ApplicationState
from als.graphs.contract import MAX_EDGES_PER_JOB
from als.lengths.contract import MAX_TASKS_PER_JOB
from als.network.state import NONE, NetworkState
from als.programs.table import DrawingRoom, Programs, ProgramTable, new_drawing_room
from bls.engine import loop as batch
from bls.engine.features import losses, reached, releases, wishes
from bls.engine.state import BatchState
from bls.estimates import Promised, estimator
from bridge.couplings.contract import core_gflop
from bridge.couplings.inline_kept import Journal, Running, SavedStates
from bridge.scenarios.scenario import Scenario
from traces.compiled import Array, as_value, caller, function_table, own, types
from traces.hooks import Hooks
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, Shorts, StateKind, Words
from traces.kernels.state import State, column

__all__ = [
    "APP_BEGIN",
    "APP_RUN",
    "BATCH_ADVANCE",
    "BATCH_LOSS",
    "BATCH_OUTCOME",
    "BATCH_PROMISE",
    "BATCH_RELEASE",
    "BATCH_STOP_AFTER",
    "BATCH_TAKE_BACK",
    "BATCH_WISH",
    "ENGINES",
    "GRAPHS",
    "HOOK",
    "HOOKS",
    "LOSING",
    "REACHING",
    "RELEASING",
    "REPLAY",
    "SPEEDS",
    "TRANSFERS",
    "VARYING",
    "WISHES",
    "WISHING",
    "Costs",
    "InlineState",
    "Outcomes",
    "TransferColumns",
    "call_hook",
    "forked",
    "grow_rows",
    "grow_transfers",
    "new_inline_state",
    "with_application",
    "with_records",
    "with_room",
]

# Both engines are called through pointers: places in InlineState.engines.
BATCH_ADVANCE, BATCH_OUTCOME, APP_BEGIN, APP_RUN = range(4)

_INSTANTS = types.Column(types.int64, 1)
_BATCH, _APPLICATION = StateKind(BatchState), StateKind(application.ApplicationState)
ENGINES = (
    (batch.advance, types.int64(_BATCH, types.int64)),
    (batch.outcome, types.boolean(_BATCH, types.int64, types.int64, types.boolean)),
    (application.begin, types.Signature(None, (_APPLICATION, types.int64, types.int64, types.boolean, types.boolean))),
    (application.run_until_stop, types.int64(_APPLICATION, types.int64)),
)


# Likewise, and only where cores are released: places in InlineState.releasing.
BATCH_RELEASE, BATCH_STOP_AFTER = range(2)
RELEASING = (
    (releases.tell_releases, types.int64(_BATCH, types.int64, _INSTANTS, _INSTANTS, types.int64)),
    (releases.stop_after, types.boolean(_BATCH, types.int64, _INSTANTS, _INSTANTS)),
)

# Likewise, and only where jobs may lose all their cores: places in InlineState.losing.
BATCH_LOSS = 0
LOSING = ((losses.tell_loss, types.boolean(_BATCH, types.int64, types.int64, types.int64)),)


# And where running jobs are told something: places in InlineState.reaching.
BATCH_TAKE_BACK, BATCH_PROMISE = range(2)
REACHING = (
    (reached.take_back, types.boolean(_BATCH, types.int64)),
    (batch.promise, types.boolean(_BATCH, types.int64, types.int64)),
)


# And where they wish for cores: places in InlineState.wishing.
BATCH_WISH = 0
WISHING = ((wishes.tell_wishes, types.int64(_BATCH, types.int64, _INSTANTS, _INSTANTS, types.int64)),)


class Costs(State):
    """What chunks cost, and data."""

    overhead_ns: int  # of a chunk
    latency_ns: int  # of a message between two hosts
    master: int  # 1 where a master pays the overhead
    releases: int  # 1 where applications release cores that they need no more
    resizes: int  # 1 where their widths change
    directs: int  # 1 where they are directed: their speeds are scaled, or they are ended
    promises: int  # 1 where jobs are planned with the ends that they promise
    resize_ns: int  # of a change of the width, for each core
    slowest_gflops: float  # of the machine's slowest core, GFLOP/s
    bytes_per_gflop: float  # how many bytes a network between two hosts carries while a core computes a GFLOP


class TransferColumns(State, dim="transfers"):
    """The columns of ``traces.ledger.TransferRecords``, job by job, as they started; of size 0 if none are kept."""

    # The column of the same name there
    source: Shorts = column()
    target: Shorts = column()
    bytes: Floats = column()
    sent_ns: Ints = column()
    arrived_ns: Ints = column()


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
    """What the loop needs beside the batch state: n jobs, M cores of the machine."""

    ledger_used: int = 0  # records of tasks
    transfers_used: int = 0  # records of transfers
    journal_used: int = 0  # entries of the journal
    flags_used: int = 0  # and what they say
    fault_job: int = 0  # the job at which the loop had to end
    fault_status: int = 0  # why
    started_ns: int = 0  # of the application that runs
    master_host: int = 0  # likewise
    reached_at: int = 0  # how many of the jobs that are reached have been dealt with
    n_noted: int = 0  # how many of them have heard of it
    told_upto: int = 0  # how many of them have been told what there was to tell
    core_speed: Floats  # (M,): GFLOP/s of each core of the machine at factor 1
    core_host: Ints  # (M,): the host of each core
    job_id: Ints  # (n,): keys of the jobs' streams
    asked: Ints  # (n,): how many cores each job asks for
    core_gflop: Floats  # (n,): length of each job over these
    program: Ints  # (n,): the place of each job's program
    table: ProgramTable  # the programs
    speeds: SpeedState  # how the speeds of cores change
    part_first: Ints  # where the parts of a job begin
    room: DrawingRoom  # work space for drawing tasks
    base_gflops: Floats  # speeds of the cores of the application that runs, at factor 1, GFLOP/s
    next_ns: Ints  # when these change next by themselves
    own_gflops: Floats  # work space, where speeds change and are scaled
    # One application's arrays, as large as the largest job needs; the loop uses the front of each
    application: ApplicationState
    outcomes: Outcomes = column()  # what became of each job
    transfers: TransferColumns = column()  # records of transfers
    lengths: Floats  # the task lengths of the records; of size 0 if no records are kept
    # The application that runs: the front of the arrays of ``application``, or one that is kept of a job, or a copy of it
    app: ApplicationState
    running: Running  # it, with what else is known of it
    shared: Running  # the one that is the front of the arrays of ``application``
    seed: Words  # (1,): of the run
    costs: Costs  # of chunks and data
    engines: Ints  # (4,): both engines' functions
    hooks: Ints  # what only some runs do
    releasing: Ints  # (2,) or (0,): the batch engine's functions for cores that are released, where they are
    losing: Ints  # (1,) or (0,): its function for jobs whose cores are all lost, where they may be
    journal: Journal = column()  # what running jobs were told
    # (1,): where widths change, speed of the fastest core of the application that runs, as it started, GFLOP/s
    fastest: Floats
    saved: SavedStates = column()  # applications that run, each as it was at an instant
    reaching: Ints  # (2,) or (0,): the batch engine's functions for jobs that are reached, where they are
    wishing: Ints  # (1,) or (0,): its function for jobs that wish for cores, where they may
    width_range: Ints2  # (2, n) or (2, 0): where they may, the fewest cores that each job may have, and the most


#: ``hook(inline, job or cores, instant or flag)``
HOOK = types.int64(StateKind(InlineState), types.int64, types.int64)
call_hook = caller(HOOK)

SPEEDS, VARYING, GRAPHS, TRANSFERS, REPLAY, WISHES = range(6)
HOOKS = Hooks(
    "inline coupling",
    HOOK,
    {
        SPEEDS: ("speeds at an instant", "bridge.couplings.inline_speeds:set_speeds"),
        VARYING: ("speeds that change", "bridge.couplings.inline_speeds:run"),
        GRAPHS: ("measures of graphs", "bridge.couplings.inline_graphs:measure"),
        TRANSFERS: ("records of transfers", "bridge.couplings.inline_graphs:note_transfers"),
        REPLAY: ("applications that are told something", "bridge.couplings.inline_journal:replay"),
        WISHES: ("applications that wish for cores", "bridge.couplings.inline_widths:bind_wishes"),
    },
)


def _application_room(
    scenario: Scenario, rows: int, widest: int, memo: int, *, changes: bool, wishes: bool
) -> application.ApplicationState:
    # Room for one application, as large as any needs, and for ``rows`` records of tasks.
    programs, rules = scenario.programs, scenario.options.rules
    assert programs is not None
    resizes = rules.resizing > 0
    room, edges = programs.room(scenario.program, scenario.workload.cores)
    graph = graphs.NO_GRAPH
    if programs.has_graph:
        graph = _graph_room(programs, room, edges, widest, scenario.network, resizes)
    work = application.new_state(
        lengths=np.empty(room),
        part_first=np.zeros(2, np.int64),
        phases=programs.table.phases,
        table=programs.table.rules,
        speed=np.empty(widest),
        core_number=np.zeros(widest, np.int64),
        latency_ns=np.zeros(widest, np.int64),
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
    return work._replace(
        wished_ns=np.empty(programs.most_parts if wishes else 0, np.int64),
        start_ns=np.empty(rows, np.int64),
        end_ns=np.empty(rows, np.int64),
        core=np.empty(rows, np.int32),
        chunk=np.empty(rows, np.int32),
    )


def new_inline_state(
    scenario: Scenario,
    *,
    keep_tasks: bool,
    cuts: bool,
    releasing: bool,
    losing: bool,
    reaching: bool = False,
    directing: bool = False,
) -> InlineState:
    """The inline state of a scenario; ``cuts``: whether a job may be stopped before its end; ``releasing``: whether it may
    release cores; ``losing``: whether it may lose all of them; ``reaching``: whether it is told something; ``directing``:
    whether its speeds are scaled, or it is ended."""
    workload, programs, program, level = scenario.workload, scenario.programs, scenario.program, scenario.options.level
    assert programs is not None
    cores, speeds = workload.cores, scenario.speeds.state
    n = len(cores)
    rules, widths = scenario.options.rules, scenario.circumstances.widths
    resizes = rules.resizing > 0
    wishes = rules.evolves and bool(programs.table.wishes.any())
    most = np.maximum(cores, widths.max_cores) if (resizes or rules.molds) and widths is not None else cores
    widest = int(most.max()) if n else 1
    room, edges = programs.room(program, cores)
    expected = programs.expected_tasks(program, cores)
    # The draws overshoot their sum by half a task or so a job.
    rows = expected + expected // 64 + 2 * n + room if keep_tasks else 0
    work = _application_room(scenario, rows, widest, programs.memo(program, most), changes=cuts, wishes=wishes)
    sends = keep_tasks and edges > 0 and scenario.network.kind != NONE
    wanted = {SPEEDS, VARYING} if speeds.component.size else set()
    wanted |= ({GRAPHS} if programs.has_graph else set()) | ({TRANSFERS} if sends else set())
    promises = isinstance(estimator(rules.estimates), Promised)
    objects = not all(one.by_memo for one in programs.rules.techniques)
    replays = reaching and (objects or (programs.has_graph and scenario.network.kind != NONE))
    saves = reaching and not replays
    wanted |= ({REPLAY} if replays else set()) | ({WISHES} if wishes else set())
    n_rules = len(programs.rules.names) if programs.rules.selects else 0
    shared = _sharing(work, np.zeros(widest), np.zeros(widest, np.int64))
    state = InlineState(
        core_speed=own(scenario.platform.core_speed_gflops, np.float64),
        core_host=np.array(scenario.platform.core_host, np.int64),
        job_id=own(workload.job_id, np.int64),
        asked=own(cores, np.int64),
        core_gflop=own(core_gflop(scenario), np.float64),
        program=own(program, np.int64),
        table=programs.table,
        speeds=speeds,
        part_first=np.zeros(programs.most_parts + 1, np.int64),
        room=_drawing_room(programs, edges, work.keys),
        base_gflops=shared.base_gflops,
        next_ns=shared.next_ns,
        own_gflops=np.zeros(widest),
        application=work,
        outcomes=Outcomes.new({"rows": n, "rules": n_rules, "graphs": n if programs.has_graph else 0}),
        transfers=TransferColumns.new({"transfers": 2 * edges if sends else 0}),
        lengths=np.empty(rows, np.float64),
        app=work,
        running=shared,
        shared=shared,
        seed=np.array([scenario.model.seed], np.uint64),
        costs=Costs(
            scenario.options.overhead_ns,
            level.latency_ns,
            int(level.master),
            int(bool(rules.releases)),
            int(resizes),
            int(directing),
            int(promises),
            level.resize_ns,
            scenario.platform.slowest_gflops,
            scenario.bytes_per_gflop,
        ),
        engines=function_table([as_value(kernel, signature) for kernel, signature in ENGINES]),
        hooks=HOOKS.filled(wanted),
        releasing=function_table([as_value(kernel, signature) for kernel, signature in RELEASING] if releasing else []),
        losing=function_table([as_value(kernel, signature) for kernel, signature in LOSING] if losing else []),
        journal=Journal.new(_sizes(replays, rows=n, entries=n, said=16 * n, cores=widest)),
        fastest=np.zeros(1),
        saved=SavedStates.new(_sizes(saves, rows=n, words=256 * min(n, 64), ahead=256, cores=widest)),
        reaching=function_table([as_value(kernel, signature) for kernel, signature in REACHING] if reaching else []),
        wishing=function_table([as_value(kernel, signature) for kernel, signature in WISHING] if wishes else []),
        width_range=np.stack([widths.min_cores, widths.max_cores])
        if wishes and widths is not None
        else np.zeros((2, 0), np.int64),
    )
    return with_application(state, work)


def _sharing(work: application.ApplicationState, base_gflops: Array, next_ns: Array) -> Running:
    none = np.zeros(0, np.int64)
    return Running(app=work, base_gflops=base_gflops, next_ns=next_ns, put_down_ns=none, put_down=none)


def _sizes(there: bool, **sizes: int) -> dict[str, int]:
    return sizes if there else dict.fromkeys(sizes, 0)


_RECORDS = ("start_ns", "end_ns", "core", "chunk")


def forked(inline: InlineState) -> InlineState:
    """A copy between two instants, at which no application is under way but those that are saved.

    Both share the room in which one application after another is simulated.
    """
    work = inline.application
    work = work._replace(**{name: getattr(work, name).copy() for name in _RECORDS})
    found = with_application(inline.fork()._replace(lengths=inline.lengths.copy()), work)
    found.app.status = inline.app.status
    return found


def _drawing_room(programs: Programs, n_edges: int, keys: Array) -> DrawingRoom:
    return new_drawing_room(n_edges, programs.most_parts, memo=programs.draw_memo, keys=keys)


def _graph_room(
    programs: Programs, n_tasks: int, n_edges: int, widest: int, network: NetworkState, resizes: bool
) -> graphs.GraphState:
    # The work space of one job's graphs, as large as any job needs.
    ends = np.empty(n_edges, np.int64)
    made = graphs.new_graph_state(
        graphs.Edges(np.zeros(0, np.int64), ends, ends, np.empty(n_edges)),
        np.zeros(widest, np.int64),
        np.zeros(widest, np.int64),
        network,
        graph_hooks.table(network),
        n_tasks=n_tasks,
        plan_room=programs.rules.plan_room(n_tasks, n_edges, widest),
    )
    if resizes:
        plans = bool(programs.rules.planners)
        made = made._replace(anew=graphs.anew_room(n_tasks if plans else 0, n_edges if plans else 0, widest))
    return made


def with_application(inline: InlineState, work: application.ApplicationState) -> InlineState:
    """The same with other arrays of an application, or other room for edges."""
    room, graph = inline.room, work.graph
    if graph.exists:
        graph = graph._replace(source=room.source, target=room.target, bytes=room.bytes)
    app = work._replace(table=inline.table.rules, graph=graph, phases=work.phases._replace())
    shared = _sharing(app, inline.shared.base_gflops, inline.shared.next_ns)
    return inline._replace(application=work, app=app, running=shared, shared=shared)


def with_room(inline: InlineState, programs: Programs) -> InlineState:
    """The same with room for twice as many tasks and edges of one job, up to ``MAX_TASKS_PER_JOB``."""
    work = inline.application
    more = min(2 * len(work.lengths), MAX_TASKS_PER_JOB)
    ahead = work.ahead._replace(taken=np.zeros(more, np.uint8)) if len(work.ahead.taken) else work.ahead
    grown = work._replace(lengths=np.empty(more), taken=np.zeros(more, np.uint8), ahead=ahead)
    if not programs.has_graph:
        return with_application(inline, grown)
    edges = min(2 * len(inline.room.source) + 16, MAX_EDGES_PER_JOB)
    graph = _graph_room(programs, more, edges, len(work.speed), work.graph.net, inline.costs.resizes != 0)
    room = _drawing_room(programs, edges, work.keys)
    return with_application(inline._replace(room=room), grown._replace(graph=graph))


def with_records(inline: InlineState) -> InlineState:
    """The same with room for half as many task records again."""
    work = inline.application
    more = len(inline.lengths) // 2 + len(work.lengths)

    def grown(column: Array) -> Array:
        return np.concatenate([column, np.empty(more, column.dtype)])

    work = work._replace(
        start_ns=grown(work.start_ns), end_ns=grown(work.end_ns), core=grown(work.core), chunk=grown(work.chunk)
    )
    return with_application(inline._replace(lengths=grown(inline.lengths)), work)


def grow_rows(inline: InlineState, rows: int) -> None:
    """Have room for so many rows of the batch state."""
    inline.outcomes.grow(rows=rows, graphs=rows if inline.application.graph.exists else 0)
    if len(inline.saved.flags):
        inline.saved.grow(rows=rows)
    elif len(inline.reaching):
        inline.journal.grow(rows=rows)


def grow_transfers(inline: InlineState) -> None:
    """Have room for half as many transfers again, and for those of one more job."""
    n = len(inline.transfers.source)
    inline.transfers.grow(transfers=n + n // 2 + len(inline.room.source))
