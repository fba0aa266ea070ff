"""What the inline coupling keeps beside the batch engine's state: room for one application, and what became of each job."""

from __future__ import annotations

import numpy as np

from als.core_speeds.state import SpeedState
from als.engine import loop as application
from als.engine.dag import hooks as graph_hooks
from als.engine.dag import state as graphs
from als.engine.dag.metrics import GRAPH_METRICS, transfer_room
from als.engine.metrics import LOOP_METRICS
from als.engine.state import ApplicationState, CoreAmounts, Cores
from als.graphs.contract import MAX_EDGES_PER_JOB
from als.lengths.contract import MAX_TASKS_PER_JOB
from als.network.routes import longest_route
from als.network.state import NONE, NetworkState
from als.programs.table import DrawingRoom, Programs, ProgramTable, new_drawing_room
from bls.engine import loop as batch
from bls.engine.features import losses, reached, releases, wishes
from bls.engine.state import BatchState
from bls.estimates import Promised, estimator
from bridge.couplings.contract import core_gflop
from bridge.couplings.inline_kept import (
    SAVED_INTS,
    Journal,
    PutDown,
    SavedStates,
    new_journal,
    new_put_down,
    new_saved_states,
)
from bridge.scenarios.scenario import Scenario
from traces.compiled import Array, as_value, caller, function_table, own, types
from traces.hooks import Hooks
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, Shorts, StateKind, Words
from traces.kernels.state import State

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
    "TransferColumns",
    "call_hook",
    "forked",
    "new_inline_state",
    "with_application",
    "with_journal",
    "with_records",
    "with_room",
    "with_rows",
    "with_saved",
    "with_transfers",
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
    """What chunks cost, and data.

    Attributes
    ----------
    overhead_ns, latency_ns : int
        Of a chunk; between two hosts.
    master : int
        Whether a master pays the overhead (1 or 0).
    releases, resizes, directs : int
        Whether applications release cores that they need no more, whether their widths change, and whether they are directed:
        their speeds are scaled, or they are ended (1 or 0).
    resize_ns : int
        Of a change of the width, for each core.
    slowest_gflops : float
        Of the machine's slowest core, GFLOP/s.
    bytes_per_gflop : float
        How many bytes a network between two hosts carries while a core computes a GFLOP.
    """

    overhead_ns: int
    latency_ns: int
    master: int
    releases: int
    resizes: int
    directs: int
    resize_ns: int
    slowest_gflops: float
    bytes_per_gflop: float


class TransferColumns(State):
    """The columns of ``traces.ledger.TransferRecords``, of the jobs in the order in which they started; of size 0 if none
    are kept."""

    source: Shorts
    target: Shorts
    bytes: Floats
    sent_ns: Ints
    arrived_ns: Ints


class InlineState(State):
    """What the loop needs beside the batch state: n jobs, M cores of the machine.

    Attributes
    ----------
    core_speed : float64 (M,)
        GFLOP/s of each core of the machine at factor 1.
    core_host : int64 (M,)
    job_id : int64 (n,)
        Keys of the jobs' streams.
    asked : int64 (n,)
        How many cores each job asks for.
    core_gflop : float64 (n,)
        Length of each job over these.
    program : int64 (n,)
        The place of each job's program.
    table : ProgramTable
    speeds : SpeedState
    part_first : int64
        Where the parts of a job begin.
    room : DrawingRoom
    base_gflops : float64, next_ns : int64
        Of the cores of the application that runs: their speeds at factor 1, GFLOP/s, and when they change next by themselves.
    shared_gflops : float64, shared_ns : int64, own_gflops : float64
        The same of whichever is in the room of ``application``; and work space, where speeds change and are scaled.
    application
        One application's arrays, as large as the largest job needs; the loop uses the front of each.
    n_rows, n_tasks, n_chunks : int64 (rows,)
        Tasks that were drawn for each row of the batch state, those that ran, and chunks.
    length_gflop : float64 (rows,)
    loops : float64 (rows, len(LOOP_METRICS))
        What became of each row's job.
    chosen : int64 (rows, R) or (rows, 0)
        How often each rule was chosen.
    ahead_chunks : int64 (rows,)
    first : int64 (rows,)
        The job's first row in the task records (rows are in the order in which jobs started), -1 if none.
    graph_values : float64 (rows, len(GRAPH_METRICS)) or (0, …)
        ``als.engine.dag.metrics.measure_graph`` of jobs that have a graph; no rows where no job can have one.
    transfers : TransferColumns
    lengths : float64
        The task lengths of the records; of size 0 if no records are kept.
    app
        The application that runs: the front of the arrays of ``application``, or of what is saved of a job.
    home
        Of it those columns that have room for more cores than are in use.
    seed : uint64 (1,)
    costs : Costs
    n_transfers, transfer_first : int64 (rows,)
        As ``n_rows`` and ``first``.
    engines : int64 (4,)
        Both engines' functions.
    hooks : int64
        What only some runs do.
    releasing : int64 (2,) or (0,)
        The batch engine's functions for cores that are released, where they are.
    losing : int64 (1,) or (0,)
        The batch engine's function for jobs whose cores are all lost, where they may be.
    journal : Journal
    fastest : float64 (1,)
        Where widths change: the speed of the fastest core of the application that runs, as it started, GFLOP/s.
    saved : SavedStates
    put_down : PutDown
    reaching : int64 (2,) or (0,)
        The batch engine's functions for jobs that are reached, where they are.
    wishing : int64 (1,) or (0,)
        The batch engine's function for jobs that wish for cores, where they may.
    width_range : int64 (2, n) or (2, 0)
        Where they may, the fewest cores that each job may have, and the most.
    cores, amounts : Cores, CoreAmounts
        The tables of cores of an application that is saved, while it runs in place.
    """

    ledger_used: int = 0  # records of tasks
    transfers_used: int = 0  # records of transfers
    journal_used: int = 0  # entries of the journal
    flags_used: int = 0  # and what they say
    fault_job: int = 0
    fault_status: int = 0
    started_ns: int = 0  # of the application that runs
    master_host: int = 0  # likewise
    reached_at: int = 0  # how many of the jobs that are reached have been dealt with
    n_noted: int = 0  # how many of them have heard of it
    told_upto: int = 0  # how many of them have been told what there was to tell
    core_speed: Floats
    core_host: Ints
    job_id: Ints
    asked: Ints
    core_gflop: Floats
    program: Ints
    table: ProgramTable
    speeds: SpeedState
    part_first: Ints
    room: DrawingRoom
    base_gflops: Floats
    next_ns: Ints
    shared_gflops: Floats
    shared_ns: Ints
    own_gflops: Floats
    application: ApplicationState
    n_rows: Ints
    n_tasks: Ints
    n_chunks: Ints
    length_gflop: Floats
    loops: Floats2
    chosen: Ints2
    ahead_chunks: Ints
    first: Ints
    graph_values: Floats2
    transfers: TransferColumns
    lengths: Floats
    app: ApplicationState
    home: ApplicationState
    seed: Words
    costs: Costs
    n_transfers: Ints
    transfer_first: Ints
    engines: Ints
    hooks: Ints
    releasing: Ints
    losing: Ints
    journal: Journal
    fastest: Floats
    saved: SavedStates
    put_down: PutDown
    reaching: Ints
    wishing: Ints
    width_range: Ints2
    cores: Cores
    amounts: CoreAmounts


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
    work = application.new_state(
        np.empty(room),
        np.zeros(2, np.int64),
        programs.table.phases,
        programs.table.rules,
        np.empty(widest),
        np.zeros(widest, np.int64),
        np.zeros(widest, np.int64),
        memo=programs.memo(program, most),
        keep_tasks=False,
        selects=programs.rules.selects,
        changes=cuts or speeds.component.size > 0,
        hints=rules.hints,
        resizes=resizes,
        graph=_graph_room(programs, room, edges, widest, scenario.network, resizes)
        if programs.has_graph
        else graphs.NO_GRAPH,
        wishes=np.zeros(len(programs.table.wishes), np.int64) if wishes else None,
    )
    work = work._replace(
        wished_ns=np.empty(programs.most_parts if wishes else 0, np.int64),
        start_ns=np.empty(rows, np.int64),
        end_ns=np.empty(rows, np.int64),
        core=np.empty(rows, np.int32),
        chunk=np.empty(rows, np.int32),
    )
    sends = keep_tasks and edges > 0 and scenario.network.kind != NONE
    wanted = {SPEEDS, VARYING} if speeds.component.size else set()
    wanted |= ({GRAPHS} if programs.has_graph else set()) | ({TRANSFERS} if sends else set())
    # Where a job is planned with the end that it promises, that is to be known as soon as it is told something.
    promises = isinstance(estimator(rules.estimates), Promised)
    replays = reaching and (promises or programs.has_graph or not all(one.by_memo for one in programs.rules.techniques))
    wanted |= ({REPLAY} if replays else set()) | ({WISHES} if wishes else set())
    shared_gflops, shared_ns = np.zeros(widest), np.zeros(widest, np.int64)
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
        base_gflops=shared_gflops,
        next_ns=shared_ns,
        shared_gflops=shared_gflops,
        shared_ns=shared_ns,
        own_gflops=np.zeros(widest),
        application=work,
        n_rows=np.zeros(0, np.int64),
        n_tasks=np.zeros(0, np.int64),
        n_chunks=np.zeros(0, np.int64),
        length_gflop=np.zeros(0),
        loops=np.zeros((0, len(LOOP_METRICS))),
        chosen=np.zeros((0, len(programs.rules.names) if programs.rules.selects else 0), np.int64),
        ahead_chunks=np.zeros(0, np.int64),
        first=np.zeros(0, np.int64),
        graph_values=np.zeros((0, len(GRAPH_METRICS))),
        transfers=TransferColumns(*transfer_room(2 * edges if sends else 0)),
        lengths=np.empty(rows, np.float64),
        app=work,
        home=work,
        seed=np.array([scenario.model.seed], np.uint64),
        costs=Costs(
            scenario.options.overhead_ns,
            level.latency_ns,
            int(level.master),
            int(bool(rules.releases)),
            int(resizes),
            int(directing),
            level.resize_ns,
            scenario.platform.slowest_gflops,
            scenario.bytes_per_gflop,
        ),
        n_transfers=np.zeros(0, np.int64),
        transfer_first=np.zeros(0, np.int64),
        engines=function_table([as_value(kernel, signature) for kernel, signature in ENGINES]),
        hooks=HOOKS.filled(wanted),
        releasing=function_table([as_value(kernel, signature) for kernel, signature in RELEASING] if releasing else []),
        losing=function_table([as_value(kernel, signature) for kernel, signature in LOSING] if losing else []),
        journal=new_journal(n, widest) if replays else new_journal(0, 0),
        fastest=np.zeros(1),
        saved=new_saved_states(n, widest) if reaching and not replays else new_saved_states(0, 0),
        put_down=new_put_down(),
        reaching=function_table([as_value(kernel, signature) for kernel, signature in REACHING] if reaching else []),
        wishing=function_table([as_value(kernel, signature) for kernel, signature in WISHING] if wishes else []),
        width_range=np.stack([widths.min_cores, widths.max_cores])
        if wishes and widths is not None
        else np.zeros((2, 0), np.int64),
        cores=work.cores._replace(),
        amounts=work.amounts._replace(),
    )
    return with_rows(with_application(state, work), n)


#: What becomes of each row's job, and the room for one job at a time that its records share with those of all.
_OF_ROWS = (
    *("n_rows", "n_tasks", "n_chunks", "length_gflop", "loops", "chosen", "ahead_chunks", "first", "graph_values"),
    *("n_transfers", "transfer_first", "lengths"),
)
_RECORDS = ("start_ns", "end_ns", "core", "chunk")


def forked(inline: InlineState) -> InlineState:
    """A copy between two instants, at which no application is under way but those that are saved.

    Both share the room in which one application after another is simulated.
    """
    work = inline.application
    work = work._replace(**{name: getattr(work, name).copy() for name in _RECORDS})
    parts: dict[str, State] = {
        name: type(part)(*(column.copy() for column in part))
        for name, part in (
            ("journal", inline.journal),
            ("saved", inline.saved),
            ("put_down", inline.put_down),
            ("transfers", inline.transfers),
        )
    }
    rows = {name: getattr(inline, name).copy() for name in _OF_ROWS}
    found = with_application(inline._replace(**parts, **rows), work)
    found.app.status = inline.app.status
    return found


def with_saved(inline: InlineState, running: Array) -> InlineState:
    """The same without what was saved of jobs that do not run any more, and with room for at least as much again.

    Parameters
    ----------
    inline : InlineState
    running : int64
        The rows of the jobs that run.
    """
    saved = inline.saved
    known = running[running < saved.first.shape[1]]  # what has begun as another attempt may have no row yet
    kept = known[saved.first[SAVED_INTS, known] >= 0]
    first = np.full_like(saved.first, -1)
    used = saved.count[:, kept].sum(axis=1)
    stores = []
    for kind, store in enumerate((saved.ints, saved.floats, saved.shorts, saved.bytes)):
        grown = np.empty(max(len(store), 2 * int(used[kind]) + int(saved.wanted[kind])), store.dtype)
        at = 0
        for row in kept.tolist():
            begin, count = int(saved.first[kind, row]), int(saved.count[kind, row])
            grown[at : at + count] = store[begin : begin + count]
            first[kind, row] = at
            at += count
        stores.append(grown)
    ints, floats, shorts, flags = stores
    return inline._replace(
        saved=saved._replace(ints=ints, floats=floats, shorts=shorts, bytes=flags, first=first, used=used)
    )


def with_journal(inline: InlineState) -> InlineState:
    """The same with room for twice as many entries of the journal, and for those of one more job."""
    journal = inline.journal

    def grown(column: Array, more: int) -> Array:
        return np.concatenate([column, np.empty(len(column) + more, column.dtype)])

    return inline._replace(
        journal=journal._replace(
            instant=grown(journal.instant, 1),
            after=grown(journal.after, 1),
            at=grown(journal.at, 1),
            count=grown(journal.count, 1),
            **{name: grown(getattr(journal, name), 3 * len(inline.core_speed)) for name in ("core", "what", "scale")},
        )
    )


def _drawing_room(programs: Programs, n_edges: int, keys: Array) -> DrawingRoom:
    return new_drawing_room(n_edges, programs.most_parts, memo=programs.draw_memo, keys=keys)


def _graph_room(
    programs: Programs, n_tasks: int, n_edges: int, widest: int, network: NetworkState, resizes: bool
) -> graphs.GraphState:
    # The work space of one job's graphs, as large as any job needs.
    none = np.zeros(0, np.int64)
    space = np.zeros(widest, np.int64)
    made = graphs.new_graph_state(
        none,
        np.empty(n_edges, np.int64),
        none,
        np.zeros(0),
        space,
        np.zeros(widest, np.int64),
        network,
        graph_hooks.table(network),
        n_tasks=n_tasks,
        longest_route=int(longest_route(network)),
        plan_room=programs.rules.plan_room(n_tasks, n_edges, widest),
    )
    if resizes:
        plans = bool(programs.rules.planners)
        made = made._replace(**graphs.anew_room(n_tasks if plans else 0, n_edges if plans else 0, widest))
    return made._replace(source=none)


def with_application(inline: InlineState, work: application.ApplicationState) -> InlineState:
    """The same with other arrays of an application, or other room for edges."""
    room, graph = inline.room, work.graph
    if graph.exists:
        graph = graph._replace(source=room.source, target=room.target, bytes=room.bytes)
    return inline._replace(
        application=work,
        app=work._replace(table=inline.table.rules, graph=graph, phases=work.phases._replace()),
        home=work._replace(),
    )


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


def with_transfers(inline: InlineState) -> InlineState:
    """The same with room for half as many transfers again, and for those of one more job."""
    more = len(inline.transfers.source) // 2 + len(inline.room.source)
    grown = (np.concatenate([column, np.empty(more, column.dtype)]) for column in inline.transfers)
    return inline._replace(transfers=TransferColumns(*grown))


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


def with_rows(inline: InlineState, rows: int) -> InlineState:
    """The same with room for so many rows of the batch state, of which the first ones are as they were."""

    def sized(column: Array, empty: float) -> Array:
        new = np.full((rows, *column.shape[1:]), empty, column.dtype)
        kept = min(rows, len(column))
        new[:kept] = column[:kept]
        return new

    graph_values, journal, saved, put = inline.graph_values, inline.journal, inline.saved, inline.put_down
    if len(inline.reaching) and not len(saved.flags):
        journal = journal._replace(first=sized(journal.first, -1), last=sized(journal.last, -1))
    elif len(inline.reaching):
        saved = saved._replace(
            first=np.ascontiguousarray(sized(saved.first.T, -1).T),
            count=np.ascontiguousarray(sized(saved.count.T, 0).T),
            reached_ns=sized(saved.reached_ns, 0),
            stride_ns=sized(saved.stride_ns, 0),
            slots=sized(saved.slots, 0),
            steps=sized(saved.steps, 0),
        )
        put = put._replace(
            count=sized(put.count, 0),
            scale=sized(put.scale, 0),
            since_ns=sized(put.since_ns, 0),
            left_ns=sized(put.left_ns, 0.0),
            farthest_ns=sized(put.farthest_ns, 0.0),
        )
    return inline._replace(
        journal=journal,
        saved=saved,
        put_down=put,
        n_rows=sized(inline.n_rows, 0),
        n_tasks=sized(inline.n_tasks, 0),
        n_chunks=sized(inline.n_chunks, 0),
        length_gflop=sized(inline.length_gflop, 0.0),
        loops=sized(inline.loops, np.nan),
        chosen=sized(inline.chosen, 0),
        ahead_chunks=sized(inline.ahead_chunks, 0),
        first=sized(inline.first, -1),
        graph_values=sized(graph_values, np.nan) if inline.application.graph.exists else graph_values,
        n_transfers=sized(inline.n_transfers, 0),
        transfer_first=sized(inline.transfer_first, -1),
    )
