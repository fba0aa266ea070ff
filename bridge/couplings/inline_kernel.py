"""The inline coupling: both engines in this process, driven by one compiled loop.

The loop below only carries messages: it lets the batch engine run until jobs have started, runs each job's application
to its end, and injects the outcomes. It holds no rule of either level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from als import engine as application
from als.metrics import finish_cov, finish_imbalance
from als.tasks import draw_lengths, expected_tasks
from bls import batch_state as columns
from bls import engine as batch
from bls.batch_state import BatchState
from traces.compiled import Array, compiled, own

__all__ = [
    "APPLICATION_FAULT",
    "LEDGER_FULL",
    "LENGTHS_FULL",
    "ROWS_SHORT",
    "InlineState",
    "drive",
    "new_inline_state",
    "reorder",
    "with_rows",
]

# What drive() returns beside the batch engine's own words: those below 0.
LENGTHS_FULL = -1  # a job has more tasks than there is room to draw
LEDGER_FULL = -2  # the task records must grow
APPLICATION_FAULT = -3  # see InlineState.cursor
ROWS_SHORT = -4  # there are more attempts than rows

# Entries of InlineState.cursor.
LEDGER_USED = 0
FAULT_JOB = 1
FAULT_STATUS = 2

_batch_advance = batch.advance
_batch_outcome = batch.outcome
_N_STARTED, _ANSWERED, _ENDED = columns.N_STARTED, columns.ANSWERED, columns.ENDED
_STARTED, _PAUSED = batch.STARTED, batch.PAUSED
_CORES, _START, _STOP, _ORIGIN = columns.CORES, columns.START, columns.STOP, columns.ORIGIN
_HELD_FIRST, _HELD_COUNT = columns.HELD_FIRST, columns.HELD_COUNT
_run_until_stop, _begin = application.run_until_stop, application.begin
_end_ns, _total_gflop = application.end_ns, application.total_gflop
_ApplicationState = application.ApplicationState
_FINISHED, _STOPPED, _CHUNKS, _RAN = application.FINISHED, application.STOPPED, application.CHUNKS, application.RAN


class InlineState(NamedTuple):
    """What the loop needs beside the batch state: n jobs, M cores of the machine.

    Attributes
    ----------
    cursor : int64 (3,)
        Rows of the ledger in use; job and status of an application fault.
    core_speed : float64 (M,)
        GFLOP/s of each core of the machine.
    job_id : int64 (n,)
        Keys of the jobs' streams.
    core_gflop : float64 (n,)
        Length of each job over its cores.
    keys : uint64 (20,)
        Work space.
    application
        One application's arrays, as large as the largest job needs; the loop uses the front of each.
    n_rows, n_tasks, n_chunks : int64 (rows,)
        Tasks that were drawn for each row of the batch state, those that ran, and chunks.
    length_gflop, imbalance, cov : float64 (rows,)
        What became of each row's job.
    first : int64 (rows,)
        The job's first row in the task records (rows are in the order in which jobs started), -1 if none.
    """

    cursor: Array
    core_speed: Array
    job_id: Array
    core_gflop: Array
    keys: Array
    application: application.ApplicationState
    n_rows: Array
    n_tasks: Array
    n_chunks: Array
    length_gflop: Array
    imbalance: Array
    cov: Array
    first: Array


@compiled(merged=True)
def _run_application(
    state: BatchState,
    inline: InlineState,
    next_chunk: Callable[..., int],
    job: int,
    seed: np.uint64,
    tasks_per_core: int,
    variation: float,
    overhead_ns: int,
    keep_tasks: bool,
) -> int:
    work, jobs = inline.application, state.jobs
    n_cores, origin = jobs[_CORES, job], jobs[_ORIGIN, job]
    n = draw_lengths(
        work.lengths,
        inline.keys,
        seed,
        inline.job_id[origin],
        n_cores * tasks_per_core,
        inline.core_gflop[origin] / tasks_per_core,
        variation,
        inline.core_gflop[origin] * n_cores,
    )
    if n < 0:
        return LENGTHS_FULL
    row = inline.cursor[LEDGER_USED]
    stop = row + n if keep_tasks else row
    if stop > work.start_ns.size:
        return LEDGER_FULL
    # Of the cores that it holds the job computes on the first ones, as many as it asked for.
    c = 0
    for k in range(jobs[_HELD_FIRST, job], jobs[_HELD_FIRST, job] + jobs[_HELD_COUNT, job]):
        for number in range(state.pool_lo[k], min(state.pool_hi[k], state.pool_lo[k] + n_cores - c)):
            work.speed[c] = inline.core_speed[number]
            work.core_number[c] = number
            c += 1
    app = _ApplicationState(
        work.counters,
        work.lengths[:n],
        work.speed[:n_cores],
        work.core_number[:n_cores],
        work.ask_ns[:n_cores],
        work.ask_core[:n_cores],
        work.finish_ns[:n_cores],
        work.held_first[:n_cores],
        work.held_stop[:n_cores],
        work.held_from_ns[:n_cores],
        work.held_work[:n_cores],
        work.memo,
        work.start_ns[row:stop],
        work.end_ns[row:stop],
        work.core[row:stop],
        work.chunk[row:stop],
    )
    start_ns = jobs[_START, job]
    _begin(app, start_ns, overhead_ns)
    status = _run_until_stop(app, next_chunk, jobs[_STOP, job])
    if status != _FINISHED and status != _STOPPED:
        inline.cursor[FAULT_JOB] = job
        inline.cursor[FAULT_STATUS] = status
        return APPLICATION_FAULT
    inline.cursor[LEDGER_USED] = stop
    inline.first[job] = row if keep_tasks else -1
    inline.n_rows[job] = n
    inline.n_tasks[job] = work.counters[_RAN]
    inline.n_chunks[job] = work.counters[_CHUNKS]
    inline.length_gflop[job] = _total_gflop(app)
    inline.imbalance[job] = finish_imbalance(app.finish_ns, start_ns)
    inline.cov[job] = finish_cov(app.finish_ns, start_ns)
    _batch_outcome(state, job, _end_ns(app), status == _STOPPED)
    return 0


@compiled(borrows=True)
def drive(
    state: BatchState,
    place: Callable[..., int],
    score: Callable[..., int],
    account: Callable[..., int],
    clock: Callable[..., int],
    decide: Callable[..., int],
    inline: InlineState,
    lengths: Array,
    next_chunk: Callable[..., int],
    seed: np.uint64,
    tasks_per_core: int,
    variation: float,
    overhead_ns: int,
    max_ends: int,
) -> int:
    """Run both levels until the end, a pause, a fault, or more room is needed; returns which.

    ``lengths`` (float64) receives the task lengths of the records; of size 0 if no records are kept.
    """
    keep_tasks = lengths.size > 0
    counters = state.counters
    pause_at = counters[_ENDED] + max_ends
    while True:
        while counters[_ANSWERED] < counters[_N_STARTED]:
            job = state.started[counters[_ANSWERED]]
            if job >= inline.n_rows.size:
                return ROWS_SHORT
            need = _run_application(
                state, inline, next_chunk, job, seed, tasks_per_core, variation, overhead_ns, keep_tasks
            )
            if need != 0:
                return need
            if keep_tasks:
                row, drawn = inline.first[job], inline.application.lengths
                for k in range(inline.n_rows[job]):
                    lengths[row + k] = drawn[k]
        status = _batch_advance(state, place, score, account, clock, decide, max_ends)
        if status != _STARTED:
            return status
        if counters[_ENDED] >= pause_at:
            return _PAUSED  # what has started is answered for when it goes on


def new_inline_state(
    cores: Array,
    job_id: Array,
    core_gflop: Array,
    core_speed: Array,
    memo_size: int,
    tasks_per_core: int,
    variation: float,
    *,
    keep_tasks: bool,
) -> tuple[InlineState, Array]:
    """The inline state for these jobs, and the array of the records' task lengths."""
    n = len(cores)
    widest = int(cores.max()) if n else 1
    room = expected_tasks(widest * tasks_per_core, variation)
    expected = int(cores.sum()) * tasks_per_core
    # The draws overshoot their sum by half a task or so a job.
    rows = expected + expected // 64 + 2 * n + room if keep_tasks else 0
    work = application.new_state(
        np.empty(room), np.empty(widest), np.zeros(widest, np.int64), memo_size, keep_tasks=False
    )
    work = work._replace(
        start_ns=np.empty(rows, np.int64),
        end_ns=np.empty(rows, np.int64),
        core=np.empty(rows, np.int32),
        chunk=np.empty(rows, np.int32),
    )
    state = InlineState(
        cursor=np.zeros(3, np.int64),
        core_speed=own(core_speed, np.float64),
        job_id=own(job_id, np.int64),
        core_gflop=own(core_gflop, np.float64),
        keys=np.empty(20, np.uint64),
        application=work,
        n_rows=np.zeros(n, np.int64),
        n_tasks=np.zeros(n, np.int64),
        n_chunks=np.zeros(n, np.int64),
        length_gflop=np.zeros(n),
        imbalance=np.full(n, np.nan),
        cov=np.full(n, np.nan),
        first=np.full(n, -1, np.int64),
    )
    return state, np.empty(rows, np.float64)


def with_rows(inline: InlineState, rows: int) -> InlineState:
    """The same with room for so many rows of the batch state, of which the first ones are as they were."""

    def sized(column: Array, empty: float) -> Array:
        new = np.full(rows, empty, column.dtype)
        kept = min(rows, len(column))
        new[:kept] = column[:kept]
        return new

    return inline._replace(
        n_rows=sized(inline.n_rows, 0),
        n_tasks=sized(inline.n_tasks, 0),
        n_chunks=sized(inline.n_chunks, 0),
        length_gflop=sized(inline.length_gflop, 0.0),
        imbalance=sized(inline.imbalance, np.nan),
        cov=sized(inline.cov, np.nan),
        first=sized(inline.first, -1),
    )


@compiled()
def reorder(source: Array, target: Array, source_first: Array, target_first: Array) -> None:
    """Copy each job's rows from where they are in ``source`` to where they belong in ``target``."""
    for job in range(source_first.size):
        if source_first[job] < 0:
            continue  # it never started
        size = target_first[job + 1] - target_first[job]
        target[target_first[job] : target_first[job + 1]] = source[source_first[job] : source_first[job] + size]
