"""Applications that run and may be reached, in the inline coupling: each is kept as it was at an instant that has passed.

It is kept in columns of its own, within stores that all have in common. What is sure of it happens there, in place:
:func:`enter` lets the application that runs be these columns, :func:`leave` the one room that all others share
(``InlineState.application``). To be run ahead of what is sure, it is copied to that room (:func:`copy_out`), and what becomes
of it there is forgotten. What is not kept is found again from the job, its keys, or is work space.
"""

from __future__ import annotations

import numpy as np

from als.engine import state as app
from als.engine.state import ApplicationState, CoreAmounts, Cores
from als.programs.drawing import show_phases
from als.streams import fill_round_keys
from bls.engine.state import BatchState
from bridge.couplings.inline_kept import PUT_DOWN, SAVED_BYTES, SAVED_FLOATS, SAVED_INTS, SAVED_KINDS, SAVED_SHORTS
from bridge.couplings.inline_kernel import bind
from bridge.couplings.inline_state import WISHES, InlineState, call_hook
from bridge.couplings.inline_widths import show
from traces.compiled import Array, compiled, keep_numbers, put_numbers
from traces.kernels.state import fields_of, first_numbers

__all__ = ["copy_out", "enter", "keep", "leave"]

_whole_memo = app.whole_memo
_NUMBERS = len(first_numbers(ApplicationState))
_CORE_COLUMNS, _AMOUNT_COLUMNS = len(fields_of(Cores)), len(fields_of(CoreAmounts))


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
def _widest(state: BatchState, job: int) -> int:
    """The most cores that a job's application may have at once, or had and has released."""
    return int(max(state.jobs.cores[job], state.jobs.max_cores[state.jobs.origin[job]]))


@compiled(inner=True)
def _find_room(state: BatchState, inline: InlineState, job: int) -> bool:
    """Room for the application that runs, which is the job's, however wide it may be; False if there is none."""
    saved, run = inline.saved, inline.app
    n, records, n_cores = run.lengths.size, run.start_ns.size, _widest(state, job)
    memo = _whole_memo(run.phases, inline.table.rules, n_cores)
    ints = _NUMBERS + run.part_first.size + run.chosen.size + run.wished_ns.size + 2 * records
    ints += (7 + _CORE_COLUMNS) * n_cores + (2 * PUT_DOWN if inline.costs.directs != 0 else 0)
    floats = n + (2 + _AMOUNT_COLUMNS) * n_cores + memo + run.facts.size
    enough = _place(inline, job, SAVED_INTS, saved.ints.size, ints)
    enough = _place(inline, job, SAVED_FLOATS, saved.floats.size, floats) and enough
    enough = _place(inline, job, SAVED_SHORTS, saved.shorts.size, 2 * records) and enough
    enough = _place(inline, job, SAVED_BYTES, saved.bytes.size, n) and enough
    for kind in range(SAVED_KINDS):
        if enough:
            saved.used[kind] += saved.count[kind, job]
        else:
            saved.first[kind, job] = -1
    return enough


@compiled(inner=True)
def _place_cores(cores: Cores, ints: Array, at: int, n: int) -> int:
    """Let the table of cores be in a store, from there on; returns the place behind it."""
    cores.away, at = ints[at : at + n], at + n
    cores.asked_ns, at = ints[at : at + n], at + n
    cores.work_ns, at = ints[at : at + n], at + n
    cores.held_size, at = ints[at : at + n], at + n
    cores.held_first, at = ints[at : at + n], at + n
    cores.held_stop, at = ints[at : at + n], at + n
    cores.held_from_ns, at = ints[at : at + n], at + n
    cores.began_ns, at = ints[at : at + n], at + n
    cores.shift_ns, at = ints[at : at + n], at + n
    cores.released_ns, at = ints[at : at + n], at + n
    cores.for_good, at = ints[at : at + n], at + n
    cores.wanted, at = ints[at : at + n], at + n
    cores.rank, at = ints[at : at + n], at + n
    cores.owes_ns, at = ints[at : at + n], at + n
    cores.scaled, at = ints[at : at + n], at + n
    return at


@compiled(inner=True)
def _place_amounts(amounts: CoreAmounts, floats: Array, at: int, n: int) -> int:
    """Likewise."""
    amounts.held_work, at = floats[at : at + n], at + n
    amounts.done_squares, at = floats[at : at + n], at + n
    amounts.squares, at = floats[at : at + n], at + n
    amounts.ranked, at = floats[at : at + n], at + n
    return at


@compiled(inner=True)
def enter(state: BatchState, inline: InlineState, job: int, keep_tasks: bool) -> None:
    """Let the application that runs be a job's, in place."""
    saved, run, home, table = inline.saved, inline.app, inline.home, inline.table
    origin, n = state.jobs.origin[job], inline.outcomes.n_rows[job]
    place, n_cores, records = inline.program[origin], _widest(state, job), n if keep_tasks else 0
    phases = run.phases
    show_phases(phases, table, place)
    parts = phases.kind.size * table.steps[place] + 1

    ints, at = saved.ints, saved.first[SAVED_INTS, job]
    put_numbers(run, ints, at)
    at += _NUMBERS
    run.part_first, at = ints[at : at + parts], at + parts
    run.chosen, at = ints[at : at + inline.outcomes.chosen.shape[1]], at + inline.outcomes.chosen.shape[1]
    if inline.wishing.size > 0:
        call_hook(inline.hooks[WISHES], (inline, origin, 0))
        run.wished_ns, at = ints[at : at + run.wished_ns.size], at + run.wished_ns.size
    home.core_number, at = ints[at : at + n_cores], at + n_cores
    home.latency_ns, at = ints[at : at + n_cores], at + n_cores
    home.ask_ns, at = ints[at : at + n_cores], at + n_cores
    home.ask_core, at = ints[at : at + n_cores], at + n_cores
    home.finish_ns, at = ints[at : at + n_cores], at + n_cores
    home.busy_ns, at = ints[at : at + n_cores], at + n_cores
    inline.next_ns, at = ints[at : at + n_cores], at + n_cores
    run.cores, at = inline.cores, _place_cores(inline.cores, ints, at, n_cores)
    run.start_ns, at = ints[at : at + records], at + records
    run.end_ns = ints[at : at + records]

    floats, at = saved.floats, saved.first[SAVED_FLOATS, job]
    run.lengths, at = floats[at : at + n], at + n
    home.speed, at = floats[at : at + n_cores], at + n_cores
    inline.base_gflops, at = floats[at : at + n_cores], at + n_cores
    run.amounts, at = inline.amounts, _place_amounts(inline.amounts, floats, at, n_cores)
    run.facts, at = floats[at : at + run.facts.size], at + run.facts.size
    home.memo = floats[at : saved.first[SAVED_FLOATS, job] + saved.count[SAVED_FLOATS, job]]

    at = saved.first[SAVED_SHORTS, job]
    run.core, run.chunk = saved.shorts[at : at + records], saved.shorts[at + records : at + 2 * records]
    at = saved.first[SAVED_BYTES, job]
    run.taken = saved.bytes[at : at + n]
    show(inline, saved.slots[job])
    _fill_keys(state, inline, job)


@compiled(inner=True)
def _fill_keys(state: BatchState, inline: InlineState, job: int) -> None:
    """What the application that runs, which is the job's, draws from, and who its master is."""
    fill_round_keys(inline.app.keys, inline.seed[0], np.uint64(inline.job_id[state.jobs.origin[job]]))
    first = state.jobs.given_first[job] if state.jobs.given_count[job] > 0 else state.jobs.held_first[job]
    inline.master_host = inline.core_host[state.pool.lo[first]]


@compiled(inner=True)
def leave(inline: InlineState, job: int) -> None:
    """Let the application that runs, the job's, be in the room that all share again."""
    work, run, home = inline.application, inline.app, inline.home
    keep_numbers(run, inline.saved.ints, inline.saved.first[SAVED_INTS, job])
    run.cores, run.amounts = work.cores, work.amounts
    run.facts, run.taken = work.facts, work.taken
    home.speed, home.core_number, home.latency_ns = work.speed, work.core_number, work.latency_ns
    home.ask_ns, home.ask_core = work.ask_ns, work.ask_core
    home.finish_ns, home.busy_ns, home.memo = work.finish_ns, work.busy_ns, work.memo
    inline.base_gflops, inline.next_ns = inline.shared_gflops, inline.shared_ns


@compiled(inner=True)
def _move(store: Array, at: int, column: Array, n: int, saving: bool) -> None:
    """Copy the first ``n`` numbers of a column into a store, from there on; or, if not ``saving``, back."""
    for k in range(n):
        if saving:
            store[at + k] = column[k]
        else:
            column[k] = store[at + k]


@compiled(inner=True)
def _move_all(inline: InlineState, job: int, n_cores: int, saving: bool) -> None:
    """Copy the application that runs into a job's columns, of so many cores each, or what is there into it."""
    saved, run, records = inline.saved, inline.app, inline.app.start_ns.size
    slots, ints, at = run.speed.size, saved.ints, saved.first[SAVED_INTS, job]
    if saving:
        keep_numbers(run, ints, at)
    else:
        put_numbers(run, ints, at)
    at += _NUMBERS
    for column in (run.part_first, run.chosen, run.wished_ns):
        _move(ints, at, column, column.size, saving)
        at += column.size
    for column in (
        run.core_number,
        run.latency_ns,
        run.ask_ns,
        run.ask_core,
        run.finish_ns,
        run.busy_ns,
        inline.next_ns,
    ):
        _move(ints, at, column, slots, saving)
        at += n_cores
    cores, amounts = run.cores, run.amounts
    for column in (
        cores.away,
        cores.asked_ns,
        cores.work_ns,
        cores.held_size,
        cores.held_first,
        cores.held_stop,
        cores.held_from_ns,
        cores.began_ns,
        cores.shift_ns,
        cores.released_ns,
        cores.for_good,
        cores.wanted,
        cores.rank,
        cores.owes_ns,
        cores.scaled,
    ):
        _move(ints, at, column, slots, saving)
        at += n_cores
    for column in (run.start_ns, run.end_ns):
        _move(ints, at, column, records, saving)
        at += records
    floats, at = saved.floats, saved.first[SAVED_FLOATS, job]
    _move(floats, at, run.lengths, run.lengths.size, saving)
    at += run.lengths.size
    for column in (run.speed, inline.base_gflops):
        _move(floats, at, column, slots, saving)
        at += n_cores
    for column in (amounts.held_work, amounts.done_squares, amounts.squares, amounts.ranked):
        _move(floats, at, column, slots, saving)
        at += n_cores
    _move(floats, at, run.facts, run.facts.size, saving)
    _move(floats, at + run.facts.size, run.memo, run.memo.size, saving)
    at = saved.first[SAVED_SHORTS, job]
    _move(saved.shorts, at, run.core, records, saving)
    _move(saved.shorts, at + records, run.chunk, records, saving)
    _move(saved.bytes, saved.first[SAVED_BYTES, job], run.taken, run.lengths.size, saving)


@compiled(inner=True)
def keep(state: BatchState, inline: InlineState, job: int) -> bool:
    """Keep the application that runs, which is the job's, at its start; False if there is no room for it."""
    if inline.saved.first[SAVED_INTS, job] < 0 and not _find_room(state, inline, job):
        return False
    inline.saved.slots[job] = inline.app.speed.size
    _move_all(inline, job, _widest(state, job), True)
    return True


@compiled(inner=True)
def copy_out(state: BatchState, inline: InlineState, job: int, keep_tasks: bool) -> None:
    """Let the application that runs be a copy of a job's, in the room that all share."""
    bind(state, inline, job, inline.outcomes.n_rows[job], max(0, inline.outcomes.first[job]), keep_tasks)
    show(inline, inline.saved.slots[job])
    _fill_keys(state, inline, job)
    _move_all(inline, job, _widest(state, job), False)
