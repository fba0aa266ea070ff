"""The inline coupling: both engines in this process, driven by one compiled loop.

The loop below only carries messages: it lets the batch engine run until jobs have started, runs each job's application
to its end, and injects the outcomes. It holds no rule of either level.
"""

from __future__ import annotations

import math

import numpy as np

from als.engine import loop as application
from als.engine import state as app
from als.engine.dag import state as graphs
from als.engine.master import message_ns_in_kernels as _message_ns
from als.engine.metrics import measure
from als.engine.status import FINISHED, LOST, STOPPED
from als.lengths.draw import IMPOSSIBLE, NO_ROOM, length_cov
from als.network.state import KIND as NETWORK_KIND
from als.network.state import NONE
from als.programs.table import draw_program
from bls.engine import state as columns
from bls.engine.features import releases
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from bridge.couplings.inline_state import (
    APP_BEGIN,
    APP_RUN,
    BATCH_ADVANCE,
    BATCH_LOSS,
    BATCH_OUTCOME,
    BATCH_RELEASE,
    BATCH_STOP_AFTER,
    ENGINES,
    FAULT_JOB,
    FAULT_STATUS,
    GRAPHS,
    LEDGER_USED,
    LOSING,
    RELEASING,
    REPLAY,
    SPEEDS,
    STARTED_NS,
    TRANSFERS,
    TRANSFERS_USED,
    VARYING,
    InlineState,
    call_hook,
)
from bridge.couplings.inline_status import InlineStatus
from traces.algorithms.copying import copy_first
from traces.compiled import Array, caller, compiled
from traces.kernels.signatures import Ints, Shorts

__all__ = ["drive", "reorder", "run_application"]

_PAUSED = int(BatchStatus.PAUSED)  # a kernel that returns members of two enumerations has no type
_N_STARTED, _ANSWERED, _ENDED = columns.N_STARTED, columns.ANSWERED, columns.ENDED
_CORES, _START, _STOP, _ORIGIN = columns.CORES, columns.START, columns.STOP, columns.ORIGIN
_HELD_FIRST, _HELD_COUNT = columns.HELD_FIRST, columns.HELD_COUNT
_end_ns, _total_gflop = application.end_ns, application.total_gflop
_HOST = graphs.HOST
_CHUNKS, _RAN, _SCHEDULING, _AHEAD_CHUNKS = app.CHUNKS, app.RAN, app.SCHEDULING, app.AHEAD_CHUNKS
_RELEASED_NS = app.RELEASED_NS
_LAST_LOST = app.LAST_LOST
_FULL, _REFUSED = releases.FULL, releases.REFUSED
_whole_memo = app.whole_memo
_batch_advance, _batch_outcome, _begin, _run_until_stop = (caller(signature) for _, signature in ENGINES)
_batch_release, _batch_stop_after = (caller(signature) for _, signature in RELEASING)
(_batch_loss,) = (caller(signature) for _, signature in LOSING)


@compiled(merged=True)
def _take_cores(state: BatchState, inline: InlineState, job: int, n_cores: int) -> int:
    """Give the application the first ``n_cores`` of the cores that its job holds, and their hosts; returns how many hosts."""
    work = inline.application
    graph = work.graph
    has_graph = graph.numbers.size > 0
    c, hosts = 0, 0
    for k in range(state.jobs[_HELD_FIRST, job], state.jobs[_HELD_FIRST, job] + state.jobs[_HELD_COUNT, job]):
        for number in range(state.pool_lo[k], min(state.pool_hi[k], state.pool_lo[k] + n_cores - c)):
            gflops, host = inline.core_speed[number], inline.core_host[number]
            inline.base_gflops[c] = gflops
            work.speed[c] = gflops
            work.core_number[c] = number
            work.latency_ns[c] = _message_ns(host, inline.core_host[work.core_number[0]], inline.costs.latency_ns)
            if has_graph:
                # A job holds its cores in order, and so its hosts.
                if hosts == 0 or graph.host_number[hosts - 1] != host:
                    graph.host_number[hosts] = host
                    hosts += 1
                graph.cores[_HOST, c] = hosts - 1
            c += 1
    return hosts


@compiled(merged=True)
def _stops_later(state: BatchState, inline: InlineState, job: int) -> bool:
    """Whether a job that was cut had released the failing hosts by then, so that it is to be run again, for longer."""
    app = inline.app
    released_ns = app.cores[_RELEASED_NS][: app.core_number.size]
    return bool(_batch_stop_after(inline.releasing[BATCH_STOP_AFTER], (state, job, app.core_number, released_ns)))


@compiled(merged=True)
def _release(state: BatchState, inline: InlineState, job: int) -> int:
    """Tell the batch level what the job that has run releases, and when; returns 0, or an ``InlineStatus``."""
    app = inline.app
    released_ns = app.cores[_RELEASED_NS][: app.core_number.size]
    answer = _batch_release(inline.releasing[BATCH_RELEASE], (state, job, app.core_number, released_ns, _end_ns(app)))
    if answer == _FULL:
        return InlineStatus.RELEASES_FULL
    if answer == _REFUSED:
        inline.cursor[FAULT_JOB] = job
        return InlineStatus.RELEASES_FAULT
    return 0


@compiled(inner=True)
def run_application(state: BatchState, inline: InlineState, job: int, keep_tasks: bool, again: bool) -> int:
    """Run the application of a job that has started to its end, or run it again since its job was told something.

    Returns 0, or why it cannot be (an ``InlineStatus``).
    """
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
        inline.room,
        n_cores,
        inline.core_gflop[origin],
        costs.bytes_per_gflop,
    )
    if n in (NO_ROOM, IMPOSSIBLE):
        inline.cursor[FAULT_JOB] = job
        return InlineStatus.LENGTHS_FULL if n == NO_ROOM else InlineStatus.LENGTHS_FAULT
    row = inline.first[job] if again and keep_tasks else inline.cursor[LEDGER_USED]
    stop = row + n if keep_tasks else row
    if stop > work.start_ns.size:
        return InlineStatus.LEDGER_FULL
    phases = table.phases[table.programs[place, 0] : table.programs[place, 1]]
    parts = phases.shape[0] * table.programs[place, 2]
    sends = keep_tasks and work.graph.net.numbers[NETWORK_KIND] != NONE and inline.room.first[parts] > 0
    if sends and inline.cursor[TRANSFERS_USED] + inline.room.first[parts] > inline.transfers.source.size:
        return InlineStatus.TRANSFERS_FULL
    start_ns = inline.cursor[STARTED_NS] = jobs[_START, job]
    steady = inline.speeds.component.size == 0
    has_graph = work.graph.numbers.size > 0
    hosts = _take_cores(state, inline, job, n_cores)
    if not steady:
        call_hook(inline.hooks[SPEEDS], (inline, n_cores, start_ns))
    app = inline.app
    app.lengths = work.lengths[:n]
    app.part_first = inline.part_first[: parts + 1]
    app.phases = phases
    app.speed, app.core_number = work.speed[:n_cores], work.core_number[:n_cores]
    app.latency_ns = work.latency_ns[:n_cores]
    app.ask_ns, app.ask_core = work.ask_ns[:n_cores], work.ask_core[:n_cores]
    app.finish_ns, app.busy_ns = work.finish_ns[:n_cores], work.busy_ns[:n_cores]
    app.memo = work.memo[: _whole_memo(phases, table.rules.rules, n_cores)]
    app.chosen = inline.chosen[job]
    app.start_ns, app.end_ns = work.start_ns[row:stop], work.end_ns[row:stop]
    app.core, app.chunk = work.core[row:stop], work.chunk[row:stop]
    if has_graph:
        app.graph.edge_first = inline.room.first[: parts + 1]
        app.graph.host_number = work.graph.host_number[:hosts]
    engines = inline.engines
    releasing = inline.releasing.size > 0
    while True:
        _begin(engines[APP_BEGIN], (app, start_ns, costs.overhead_ns, costs.master != 0, releasing))
        if again:
            status = call_hook(inline.hooks[REPLAY], (inline, job, jobs[_STOP, job]))
        elif steady:
            status = _run_until_stop(engines[APP_RUN], (app, jobs[_STOP, job]))
        else:
            status = call_hook(inline.hooks[VARYING], (inline, n_cores, jobs[_STOP, job]))
        if status != FINISHED and status != STOPPED and status != LOST:
            inline.cursor[FAULT_JOB] = job
            inline.cursor[FAULT_STATUS] = status
            return InlineStatus.APPLICATION_FAULT
        if not steady:  # the measures count with the speeds at the start
            call_hook(inline.hooks[SPEEDS], (inline, n_cores, start_ns))
        if not (releasing and status == STOPPED and _stops_later(state, inline, job)):
            break
    if releasing:
        need = _release(state, inline, job)
        if need != 0:
            return int(need)
    if not again:
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
        total if status == FINISHED else math.nan,
        length_cov(work.lengths, 0, n),
        work.counters[_SCHEDULING],
        work.counters[_CHUNKS],
    )
    inline.ahead_chunks[job] = work.counters[_AHEAD_CHUNKS]
    if has_graph:
        call_hook(inline.hooks[GRAPHS], (inline, job, status != FINISHED))
    if sends:
        call_hook(inline.hooks[TRANSFERS], (inline, job, 0))
    if status == LOST:
        last = work.counters[_LAST_LOST]
        core = work.core_number[last] if last >= 0 else last
        _batch_loss(inline.losing[BATCH_LOSS], (state, job, _end_ns(app), core))
    else:
        _batch_outcome(engines[BATCH_OUTCOME], (state, job, _end_ns(app), status == STOPPED))
    return 0


@compiled()
def drive(state: BatchState, inline: InlineState, max_ends: int) -> int:
    """Run both levels until the end, a pause, a fault, or more room is needed; returns which."""
    lengths = inline.lengths
    keep_tasks = lengths.size > 0
    sizes = state.sizes
    pause_at = sizes[_ENDED] + max_ends
    while True:
        while sizes[_ANSWERED] < sizes[_N_STARTED]:
            job = state.started[sizes[_ANSWERED]]
            if job >= inline.n_rows.size:
                return InlineStatus.ROWS_SHORT
            need = run_application(state, inline, job, keep_tasks, False)
            if need != 0:
                return int(need)
            if keep_tasks:
                row, drawn = inline.first[job], inline.application.lengths
                for k in range(inline.n_rows[job]):
                    lengths[row + k] = drawn[k]
        status = _batch_advance(inline.engines[BATCH_ADVANCE], (state, max_ends))
        if status != BatchStatus.STARTED:
            return int(status)
        if sizes[_ENDED] >= pause_at:
            return _PAUSED  # what has started is answered for when it goes on


def reorder(source: Array, target: Array, source_first: Array, target_first: Array) -> None:
    """Copy each job's rows from where they are in ``source`` to where they belong in ``target``; numbers of 4 or 8 bytes."""
    if source.itemsize == 4:
        _reorder_shorts(source.view(np.int32), target.view(np.int32), source_first, target_first)
    else:
        _reorder(source.view(np.int64), target.view(np.int64), source_first, target_first)


@compiled()
def _reorder(source: Ints, target: Ints, source_first: Ints, target_first: Ints) -> None:
    """:func:`_copy_rows` of numbers of 8 bytes."""
    _copy_rows(source, target, source_first, target_first)


@compiled()
def _reorder_shorts(source: Shorts, target: Shorts, source_first: Ints, target_first: Ints) -> None:
    """:func:`_copy_rows` of numbers of 4 bytes."""
    _copy_rows(source, target, source_first, target_first)


@compiled(inner=True)
def _copy_rows(source: Array, target: Array, source_first: Array, target_first: Array) -> None:
    """Copy the rows of each job that has started, from ``source_first`` to ``target_first``."""
    for job in range(source_first.size):
        if source_first[job] < 0:
            continue  # it never started
        size = target_first[job + 1] - target_first[job]
        copy_first(target[target_first[job] :], source[source_first[job] :], size)
