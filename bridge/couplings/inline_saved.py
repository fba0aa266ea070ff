"""Applications that run and may be reached, in the inline coupling: each is kept as it was at an instant that has passed.

The one room for an application (``InlineState.application``) is lent to whichever is advanced: it is put there, advanced, and
saved again. What is not saved is found again from the job (its keys, the speeds of its cores at factor 1), or is work space.
"""

from __future__ import annotations

import numpy as np

from als.engine import state as app
from als.streams import fill_round_keys
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_kernel import bind
from bridge.couplings.inline_state import MASTER_HOST, SAVED_BYTES, SAVED_FLOATS, SAVED_INTS, InlineState
from bridge.couplings.inline_widths import show
from traces.compiled import Array, compiled

__all__ = ["restore", "save"]

_whole_memo = app.whole_memo


@compiled(inner=True)
def _move(store: Array, at: int, column: Array, n: int, saving: bool) -> int:
    """Put the first numbers of a column at a place of a store, or take them from there; returns the place behind them."""
    if saving:
        for k in range(n):
            store[at + k] = column[k]
    else:
        for k in range(n):
            column[k] = store[at + k]
    return at + n


@compiled(inner=True)
def _place(inline: InlineState, job: int, kind: int, size: int, count: int) -> bool:
    """Find room for so much of a job in one of the stores, which has a size; False if there is none."""
    saved = inline.saved
    saved.wanted[kind] = count
    if saved.used[kind] + count > size:
        return False
    saved.first[kind, job], saved.count[kind, job] = saved.used[kind], count
    return True


@compiled(inner=True)
def _find_room(state: BatchState, inline: InlineState, job: int) -> bool:
    """Room for the application that runs, which is the job's, however wide it may be; False if there is none."""
    saved, run = inline.saved, inline.app
    n, records = run.lengths.size, run.start_ns.size
    n_cores = max(state.jobs[b.CORES, job], state.jobs[b.MAX_CORES, state.jobs[b.ORIGIN, job]])
    memo = _whole_memo(run.phases, inline.table.rules.rules, n_cores)
    ints = run.counters.size + run.part_first.size + run.chosen.size + run.wished_ns.size + 4 * records
    ints += (7 + run.cores.shape[0]) * n_cores
    floats = n + (1 + run.amounts.shape[0]) * n_cores + memo + run.facts.size
    enough = _place(inline, job, SAVED_INTS, saved.ints.size, ints)
    enough = _place(inline, job, SAVED_FLOATS, saved.floats.size, floats) and enough
    enough = _place(inline, job, SAVED_BYTES, saved.bytes.size, n) and enough
    for kind in range(3):
        if enough:
            saved.used[kind] += saved.count[kind, job]
        else:
            saved.first[kind, job] = -1
    return enough


@compiled(inner=True)
def _move_all(inline: InlineState, job: int, saving: bool) -> None:
    """Save all that the application that runs is, which is the job's, or let it be what was saved."""
    saved, run = inline.saved, inline.app
    n_cores, records, store = run.speed.size, run.start_ns.size, saved.ints
    at = _move(store, saved.first[SAVED_INTS, job], run.counters, run.counters.size, saving)
    at = _move(store, at, run.part_first, run.part_first.size, saving)
    at = _move(store, at, run.chosen, run.chosen.size, saving)
    at = _move(store, at, run.wished_ns, run.wished_ns.size, saving)
    at = _move(store, at, run.core_number, n_cores, saving)
    at = _move(store, at, run.latency_ns, n_cores, saving)
    at = _move(store, at, run.ask_ns, n_cores, saving)
    at = _move(store, at, run.ask_core, n_cores, saving)
    at = _move(store, at, run.finish_ns, n_cores, saving)
    at = _move(store, at, run.busy_ns, n_cores, saving)
    at = _move(store, at, inline.next_ns, n_cores, saving)
    for row in range(run.cores.shape[0]):
        at = _move(store, at, run.cores[row], n_cores, saving)
    at = _move(store, at, run.start_ns, records, saving)
    at = _move(store, at, run.end_ns, records, saving)
    at = _move(store, at, run.core, records, saving)
    at = _move(store, at, run.chunk, records, saving)
    at = _move(saved.floats, saved.first[SAVED_FLOATS, job], run.lengths, run.lengths.size, saving)
    at = _move(saved.floats, at, run.speed, n_cores, saving)
    for row in range(run.amounts.shape[0]):
        at = _move(saved.floats, at, run.amounts[row], n_cores, saving)
    at = _move(saved.floats, at, run.memo, run.memo.size, saving)
    at = _move(saved.floats, at, run.facts, run.facts.size, saving)
    _move(saved.bytes, saved.first[SAVED_BYTES, job], run.taken, run.lengths.size, saving)


@compiled(inner=True)
def save(state: BatchState, inline: InlineState, job: int) -> bool:
    """Save the application that runs, which is the job's; False if there is no room for it."""
    if inline.saved.first[SAVED_INTS, job] < 0 and not _find_room(state, inline, job):
        return False
    inline.saved.slots[job] = inline.app.speed.size
    _move_all(inline, job, True)
    return True


@compiled(inner=True)
def restore(state: BatchState, inline: InlineState, job: int, keep_tasks: bool) -> None:
    """Let the application that runs be a job's, as it was saved."""
    run = inline.app
    bind(state, inline, job, inline.n_rows[job], max(0, inline.first[job]), keep_tasks)
    show(inline, inline.saved.slots[job])
    fill_round_keys(run.keys, inline.seed[0], np.uint64(inline.job_id[state.jobs[b.ORIGIN, job]]))
    _move_all(inline, job, False)
    for c in range(run.speed.size):
        inline.base_gflops[c] = inline.core_speed[run.core_number[c]]
    first = state.jobs[b.GIVEN_FIRST, job] if state.jobs[b.GIVEN_COUNT, job] > 0 else state.jobs[b.HELD_FIRST, job]
    inline.cursor[MASTER_HOST] = inline.core_host[state.pool_lo[first]]
