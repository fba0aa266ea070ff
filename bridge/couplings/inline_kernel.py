"""The inline coupling: both engines in this process, driven by one compiled loop.

The loop below only carries messages: it lets the batch engine run until jobs have started, runs each job's application
to its end, and injects the outcomes. It holds no rule of either level.
"""

from __future__ import annotations

import math

import numpy as np

from als.core_speeds.state import SpeedState
from als.engine import loop as application
from als.engine import state as app
from als.engine.dag import hooks as graph_hooks
from als.engine.dag import state as graphs
from als.engine.dag.metrics import GRAPH_METRICS
from als.engine.metrics import LOOP_METRICS, measure
from als.engine.state import ApplicationState
from als.engine.status import FINISHED, STOPPED
from als.graphs.contract import MAX_EDGES_PER_JOB
from als.lengths.contract import MAX_TASKS_PER_JOB
from als.lengths.draw import IMPOSSIBLE, NO_ROOM, length_cov
from als.network.routes import longest_route
from als.network.state import KIND as NETWORK_KIND
from als.network.state import NONE, NetworkState
from als.programs.table import DrawingRoom, Programs, ProgramTable, draw_program, new_drawing_room
from bls.engine import loop as batch
from bls.engine import state as columns
from bls.engine.state import BatchState
from traces.algorithms.copying import copy_first
from traces.compiled import Array, as_value, caller, compiled, function_table, own, types
from traces.hooks import Hooks
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, Shorts, StateKind, Words
from traces.kernels.state import State

__all__ = [
    "APPLICATION_FAULT",
    "LEDGER_FULL",
    "LENGTHS_FULL",
    "ROWS_SHORT",
    "TRANSFERS_FULL",
    "LENGTHS_FAULT",
    "Costs",
    "InlineState",
    "TransferColumns",
    "drive",
    "new_inline_state",
    "reorder",
    "with_room",
    "with_rows",
    "with_transfers",
]

# What drive() returns beside the batch engine's own words: those below 0.
LENGTHS_FULL = -1  # a job has more tasks than there is room to draw
LEDGER_FULL = -2  # the task records must grow
APPLICATION_FAULT = -3  # see InlineState.cursor
ROWS_SHORT = -4  # there are more attempts than rows
LENGTHS_FAULT = -5  # a job's tasks cannot be drawn; see InlineState.cursor
TRANSFERS_FULL = -6  # the records of transfers must grow

# Entries of InlineState.cursor.
LEDGER_USED = 0
FAULT_JOB = 1
FAULT_STATUS = 2
TRANSFERS_USED = 3
STARTED_NS = 4  # of the application that runs

_N_STARTED, _ANSWERED, _ENDED = columns.N_STARTED, columns.ANSWERED, columns.ENDED
_STARTED, _PAUSED = batch.STARTED, batch.PAUSED
_CORES, _START, _STOP, _ORIGIN = columns.CORES, columns.START, columns.STOP, columns.ORIGIN
_HELD_FIRST, _HELD_COUNT = columns.HELD_FIRST, columns.HELD_COUNT
_end_ns, _total_gflop = application.end_ns, application.total_gflop
_HOST = graphs.HOST
_CHUNKS, _RAN, _SCHEDULING, _AHEAD_CHUNKS = app.CHUNKS, app.RAN, app.SCHEDULING, app.AHEAD_CHUNKS
_whole_memo = app.whole_memo
_NAMES = [name for name, _ in LOOP_METRICS]
_COV, _IMBALANCE = _NAMES.index("cov"), _NAMES.index("imbalance")


# Both engines are called through pointers: places in InlineState.engines.
BATCH_ADVANCE, BATCH_OUTCOME, APP_BEGIN, APP_RUN = range(4)

_BATCH, _APPLICATION = StateKind(BatchState), StateKind(application.ApplicationState)
_ENGINES = (
    (batch.advance, types.int64(_BATCH, types.int64)),
    (batch.outcome, types.boolean(_BATCH, types.int64, types.int64, types.boolean)),
    (application.begin, types.Signature(None, (_APPLICATION, types.int64, types.int64, types.boolean))),
    (application.run_until_stop, types.int64(_APPLICATION, types.int64)),
)
_batch_advance, _batch_outcome, _begin, _run_until_stop = (caller(signature) for _, signature in _ENGINES)


class Costs(State):
    """What chunks cost, and data.

    Attributes
    ----------
    overhead_ns, latency_ns : int
        Of a chunk; between two hosts.
    master : int
        Whether a master pays the overhead (1 or 0).
    bytes_per_gflop : float
        How many bytes a network between two hosts carries while a core computes a GFLOP.
    """

    overhead_ns: int
    latency_ns: int
    master: int
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
    cursor : int64 (5,)
        See the names above.
    core_speed : float64 (M,)
        GFLOP/s of each core of the machine at factor 1.
    core_host : int64 (M,)
    job_id : int64 (n,)
        Keys of the jobs' streams.
    core_gflop : float64 (n,)
        Length of each job over its cores.
    program : int64 (n,)
        The place of each job's program.
    table : ProgramTable
    speeds : SpeedState
    part_first : int64
        Where the parts of a job begin.
    edges : DrawingRoom
    base_gflops : float64, next_ns : int64
        Work space of a job's cores.
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
        The application that runs: the front of the arrays of ``application``.
    seed : uint64 (1,)
    costs : Costs
    n_transfers, transfer_first : int64 (rows,)
        As ``n_rows`` and ``first``.
    engines : int64 (4,)
        Both engines' functions.
    hooks : int64
        What only some runs do.
    """

    cursor: Ints
    core_speed: Floats
    core_host: Ints
    job_id: Ints
    core_gflop: Floats
    program: Ints
    table: ProgramTable
    speeds: SpeedState
    part_first: Ints
    edges: DrawingRoom
    base_gflops: Floats
    next_ns: Ints
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
    seed: Words
    costs: Costs
    n_transfers: Ints
    transfer_first: Ints
    engines: Ints
    hooks: Ints


#: ``hook(inline, job or cores, instant or flag)``
HOOK = types.int64(StateKind(InlineState), types.int64, types.int64)
call_hook = caller(HOOK)

SPEEDS, VARYING, GRAPHS, TRANSFERS = range(4)
HOOKS = Hooks(
    "inline coupling",
    HOOK,
    {
        SPEEDS: ("speeds at an instant", "bridge.couplings.inline_speeds:set_speeds"),
        VARYING: ("speeds that change", "bridge.couplings.inline_speeds:run"),
        GRAPHS: ("measures of graphs", "bridge.couplings.inline_graphs:measure"),
        TRANSFERS: ("records of transfers", "bridge.couplings.inline_graphs:note_transfers"),
    },
)


@compiled(inner=True)
def _run_application(state: BatchState, inline: InlineState, job: int, keep_tasks: bool) -> int:
    work, jobs, table, costs = inline.application, state.jobs, inline.table, inline.costs
    n_cores, origin = jobs[_CORES, job], jobs[_ORIGIN, job]
    place = inline.program[origin]
    n = draw_program(
        work.lengths,
        inline.part_first,
        table,
        place,
        inline.seed[0],
        inline.job_id[origin],
        inline.edges,
        n_cores,
        inline.core_gflop[origin],
        costs.bytes_per_gflop,
    )
    if n == NO_ROOM:
        inline.cursor[FAULT_JOB] = job
        return LENGTHS_FULL
    if n == IMPOSSIBLE:
        inline.cursor[FAULT_JOB] = job
        return LENGTHS_FAULT
    row = inline.cursor[LEDGER_USED]
    stop = row + n if keep_tasks else row
    if stop > work.start_ns.size:
        return LEDGER_FULL
    phases = table.phases[table.programs[place, 0] : table.programs[place, 1]]
    parts = phases.shape[0] * table.programs[place, 2]
    sends = keep_tasks and work.graph.net.numbers[NETWORK_KIND] != NONE and inline.edges.first[parts] > 0
    if sends and inline.cursor[TRANSFERS_USED] + inline.edges.first[parts] > inline.transfers.source.size:
        return TRANSFERS_FULL
    start_ns = inline.cursor[STARTED_NS] = jobs[_START, job]
    steady = inline.speeds.component.size == 0
    # Of the cores that it holds the job computes on the first ones, as many as it asked for.
    c, hosts = 0, 0
    graph = work.graph
    has_graph = graph.numbers.size > 0
    for k in range(jobs[_HELD_FIRST, job], jobs[_HELD_FIRST, job] + jobs[_HELD_COUNT, job]):
        for number in range(state.pool_lo[k], min(state.pool_hi[k], state.pool_lo[k] + n_cores - c)):
            gflops = inline.core_speed[number]
            inline.base_gflops[c] = gflops
            work.speed[c] = gflops
            work.core_number[c] = number
            # The master is on the job's first host.
            near = inline.core_host[number] == inline.core_host[work.core_number[0]]
            work.latency_ns[c] = 0 if near else costs.latency_ns
            if has_graph:
                # A job holds its cores in order, and so its hosts.
                host = inline.core_host[number]
                if hosts == 0 or graph.host_number[hosts - 1] != host:
                    graph.host_number[hosts] = host
                    hosts += 1
                graph.cores[_HOST, c] = hosts - 1
            c += 1
    if not steady:
        call_hook(inline.hooks[SPEEDS], (inline, n_cores, start_ns))
    app = inline.app
    app.lengths = work.lengths[:n]
    app.part_first = inline.part_first[: parts + 1]
    app.phases = phases
    app.speed, app.core_number, app.latency_ns = (
        work.speed[:n_cores],
        work.core_number[:n_cores],
        work.latency_ns[:n_cores],
    )
    app.ask_ns, app.ask_core = work.ask_ns[:n_cores], work.ask_core[:n_cores]
    app.finish_ns, app.busy_ns = work.finish_ns[:n_cores], work.busy_ns[:n_cores]
    app.memo = work.memo[: _whole_memo(phases, table.rules.rules, n_cores)]
    app.chosen = inline.chosen[job]
    app.start_ns, app.end_ns = work.start_ns[row:stop], work.end_ns[row:stop]
    app.core, app.chunk = work.core[row:stop], work.chunk[row:stop]
    if has_graph:
        app.graph.edge_first = inline.edges.first[: parts + 1]
        app.graph.host_number = graph.host_number[:hosts]
    engines = inline.engines
    _begin(engines[APP_BEGIN], (app, start_ns, costs.overhead_ns, costs.master != 0))
    if steady:
        status = _run_until_stop(engines[APP_RUN], (app, jobs[_STOP, job]))
    else:
        status = call_hook(inline.hooks[VARYING], (inline, n_cores, jobs[_STOP, job]))
    if status != FINISHED and status != STOPPED:
        inline.cursor[FAULT_JOB] = job
        inline.cursor[FAULT_STATUS] = status
        return APPLICATION_FAULT
    if not steady:  # the measures count with the speeds at the start
        call_hook(inline.hooks[SPEEDS], (inline, n_cores, start_ns))
    inline.cursor[LEDGER_USED] = stop
    inline.first[job] = row if keep_tasks else -1
    inline.n_rows[job] = n
    inline.n_tasks[job] = work.counters[_RAN]
    inline.n_chunks[job] = work.counters[_CHUNKS]
    total = _total_gflop(app)
    inline.length_gflop[job] = total
    measure(
        inline.loops[job],
        start_ns,
        app.finish_ns,
        app.busy_ns,
        app.speed,
        math.nan if status == STOPPED else total,
        length_cov(work.lengths, 0, n),
        work.counters[_SCHEDULING],
        work.counters[_CHUNKS],
    )
    inline.ahead_chunks[job] = work.counters[_AHEAD_CHUNKS]
    if has_graph:
        call_hook(inline.hooks[GRAPHS], (inline, job, status == STOPPED))
    if sends:
        call_hook(inline.hooks[TRANSFERS], (inline, job, 0))
    _batch_outcome(engines[BATCH_OUTCOME], (state, job, _end_ns(app), status == STOPPED))
    return 0


@compiled()
def drive(state: BatchState, inline: InlineState, max_ends: int) -> int:
    """Run both levels until the end, a pause, a fault, or more room is needed; returns which."""
    lengths = inline.lengths
    keep_tasks = lengths.size > 0
    counters = state.counters
    pause_at = counters[_ENDED] + max_ends
    while True:
        while counters[_ANSWERED] < counters[_N_STARTED]:
            job = state.started[counters[_ANSWERED]]
            if job >= inline.n_rows.size:
                return ROWS_SHORT
            need = _run_application(state, inline, job, keep_tasks)
            if need != 0:
                return int(need)
            if keep_tasks:
                row, drawn = inline.first[job], inline.application.lengths
                for k in range(inline.n_rows[job]):
                    lengths[row + k] = drawn[k]
        status = _batch_advance(inline.engines[BATCH_ADVANCE], (state, max_ends))
        if status != _STARTED:
            return int(status)
        if counters[_ENDED] >= pause_at:
            return _PAUSED  # what has started is answered for when it goes on


def new_inline_state(
    cores: Array,
    job_id: Array,
    core_gflop: Array,
    core_speed: Array,
    core_host: Array,
    programs: Programs,
    program: Array,
    speeds: SpeedState,
    network: NetworkState,
    seed: int,
    costs: Costs,
    *,
    keep_tasks: bool,
    cuts: bool,
) -> InlineState:
    """The inline state for these jobs; ``cuts`` says whether one may be stopped before its end."""
    n = len(cores)
    widest = int(cores.max()) if n else 1
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
        memo=programs.memo(program, cores),
        keep_tasks=False,
        selects=programs.rules.selects,
        changes=cuts or speeds.component.size > 0,
        graph=_graph_room(programs, room, edges, widest, network) if programs.has_graph else graphs.NO_GRAPH,
    )
    work = work._replace(
        start_ns=np.empty(rows, np.int64),
        end_ns=np.empty(rows, np.int64),
        core=np.empty(rows, np.int32),
        chunk=np.empty(rows, np.int32),
    )
    sends = keep_tasks and edges > 0 and network.numbers[NETWORK_KIND] != NONE
    rules = len(programs.rules.names) if programs.rules.selects else 0
    wanted = {SPEEDS, VARYING} if speeds.component.size else set()
    wanted |= ({GRAPHS} if programs.has_graph else set()) | ({TRANSFERS} if sends else set())
    room_for_edges = _drawing_room(programs, edges, work.keys)
    state = InlineState(
        cursor=np.zeros(5, np.int64),
        core_speed=own(core_speed, np.float64),
        core_host=np.array(core_host, np.int64),
        job_id=own(job_id, np.int64),
        core_gflop=own(core_gflop, np.float64),
        program=own(program, np.int64),
        table=programs.table,
        speeds=speeds,
        part_first=np.zeros(programs.most_parts + 1, np.int64),
        edges=room_for_edges,
        base_gflops=np.zeros(widest),
        next_ns=np.zeros(widest, np.int64),
        application=work,
        n_rows=np.zeros(n, np.int64),
        n_tasks=np.zeros(n, np.int64),
        n_chunks=np.zeros(n, np.int64),
        length_gflop=np.zeros(n),
        loops=np.full((n, len(LOOP_METRICS)), np.nan),
        chosen=np.zeros((n, rules), np.int64),
        ahead_chunks=np.zeros(n, np.int64),
        first=np.full(n, -1, np.int64),
        graph_values=np.full((n if programs.has_graph else 0, len(GRAPH_METRICS)), np.nan),
        transfers=_transfer_room(2 * edges if sends else 0),
        lengths=np.empty(rows, np.float64),
        app=work,
        seed=np.array([seed], np.uint64),
        costs=costs,
        n_transfers=np.zeros(n, np.int64),
        transfer_first=np.full(n, -1, np.int64),
        engines=function_table([as_value(kernel, signature) for kernel, signature in _ENGINES]),
        hooks=HOOKS.filled(wanted),
    )
    return with_application(state, work)


def _drawing_room(programs: Programs, n_edges: int, keys: Array) -> DrawingRoom:
    return new_drawing_room(n_edges, programs.most_parts, memo=programs.draw_memo, keys=keys)


def _graph_room(
    programs: Programs, n_tasks: int, n_edges: int, widest: int, network: NetworkState
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
    return made._replace(source=none)


def _transfer_room(rows: int) -> TransferColumns:
    return TransferColumns(
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
    )


def with_application(inline: InlineState, work: application.ApplicationState) -> InlineState:
    """The same with other arrays of an application, or other room for edges."""
    edges, graph = inline.edges, work.graph
    if graph.numbers.size:
        graph = graph._replace(source=edges.source, target=edges.target, bytes=edges.bytes)
    return inline._replace(application=work, app=work._replace(table=inline.table.rules, graph=graph))


def with_room(inline: InlineState, programs: Programs) -> InlineState:
    """The same with room for twice as many tasks and edges of one job, up to ``MAX_TASKS_PER_JOB``."""
    work = inline.application
    more = min(2 * len(work.lengths), MAX_TASKS_PER_JOB)
    ahead = work.ahead._replace(taken=np.zeros(more, np.uint8)) if len(work.ahead.taken) else work.ahead
    grown = work._replace(lengths=np.empty(more), taken=np.zeros(more, np.uint8), ahead=ahead)
    if not programs.has_graph:
        return with_application(inline, grown)
    edges = min(2 * len(inline.edges.source) + 16, MAX_EDGES_PER_JOB)
    graph = _graph_room(programs, more, edges, len(work.speed), work.graph.net)
    room = _drawing_room(programs, edges, work.keys)
    return with_application(inline._replace(edges=room), grown._replace(graph=graph))


def with_transfers(inline: InlineState) -> InlineState:
    """The same with room for half as many transfers again, and for those of one more job."""
    more = len(inline.transfers.source) // 2 + len(inline.edges.source)
    grown = (np.concatenate([column, np.empty(more, column.dtype)]) for column in inline.transfers)
    return inline._replace(transfers=TransferColumns(*grown))


def with_rows(inline: InlineState, rows: int) -> InlineState:
    """The same with room for so many rows of the batch state, of which the first ones are as they were."""

    def sized(column: Array, empty: float) -> Array:
        new = np.full((rows, *column.shape[1:]), empty, column.dtype)
        kept = min(rows, len(column))
        new[:kept] = column[:kept]
        return new

    return inline._replace(
        n_rows=sized(inline.n_rows, 0),
        n_tasks=sized(inline.n_tasks, 0),
        n_chunks=sized(inline.n_chunks, 0),
        length_gflop=sized(inline.length_gflop, 0.0),
        loops=sized(inline.loops, np.nan),
        chosen=sized(inline.chosen, 0),
        ahead_chunks=sized(inline.ahead_chunks, 0),
        first=sized(inline.first, -1),
        graph_values=sized(inline.graph_values, np.nan)
        if inline.application.graph.numbers.size
        else inline.graph_values,
        n_transfers=sized(inline.n_transfers, 0),
        transfer_first=sized(inline.transfer_first, -1),
    )


def reorder(source: Array, target: Array, source_first: Array, target_first: Array) -> None:
    """Copy each job's rows from where they are in ``source`` to where they belong in ``target``; numbers of 4 or 8 bytes."""
    if source.itemsize == 4:
        _reorder_shorts(source.view(np.int32), target.view(np.int32), source_first, target_first)
    else:
        _reorder(source.view(np.int64), target.view(np.int64), source_first, target_first)


@compiled()
def _reorder(source: Ints, target: Ints, source_first: Ints, target_first: Ints) -> None:
    _copy_rows(source, target, source_first, target_first)


@compiled()
def _reorder_shorts(source: Shorts, target: Shorts, source_first: Ints, target_first: Ints) -> None:
    _copy_rows(source, target, source_first, target_first)


@compiled(inner=True)
def _copy_rows(source: Array, target: Array, source_first: Array, target_first: Array) -> None:
    for job in range(source_first.size):
        if source_first[job] < 0:
            continue  # it never started
        size = target_first[job + 1] - target_first[job]
        copy_first(target[target_first[job] :], source[source_first[job] :], size)
