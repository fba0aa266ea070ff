"""More room in the state of the batch engine, for what it has too little room for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bls.engine.cores import Pool, intervals_of
from bls.engine.state import BY_ROW, NEVER, BatchState
from bls.engine.status import BatchStatus
from traces.kernels.state import State, fields_of, parts_of


def grow_pool(state: BatchState) -> None:
    """More room for allocations and for kept reservations, where it is short; reservations are moved together first."""
    needed = state.pool_used + state.free_cores + 2 * state.settings.widest + 2
    if needed > len(state.pool.lo):
        state.pool.grow(pool=max(needed, 2 * len(state.pool.lo)))
    if len(state.kept.lo):
        keep_reservations(state, state.kept)


def keep_reservations(state: BatchState, kept: Pool) -> None:
    """Move kept reservations, which are somewhere in a pool, together into the state's, with room for more."""
    jobs = state.jobs
    rows = np.flatnonzero(jobs.slot_ns < NEVER)
    counts = jobs.plan_count[rows]
    source = intervals_of(jobs.plan_first[rows], counts)
    lo, hi = kept.lo[source], kept.hi[source]
    jobs.plan_first[rows] = np.cumsum(counts) - counts
    state.kept_used = len(lo)
    waits = (jobs.eligible_ns >= 0) & (jobs.start_ns < 0) & (jobs.state < 0)
    needed = len(lo) + int(jobs.cores[waits].sum())
    if needed > len(state.kept.lo):
        state.kept.grow(pool=2 * needed)
    state.kept.lo[: len(lo)], state.kept.hi[: len(lo)] = lo, hi


def grow_rows(state: BatchState) -> None:
    """More room for later attempts."""
    rows = len(state.jobs.number)
    size = rows + rows // 2 + 16
    # Wake-ups are told from arrivals by the number of rows.
    _, wakes = state.arriving.entries()
    wakes[wakes >= rows] += size - rows
    state.jobs.grow(rows=size)
    for heap, room in ((state.expected, size), (state.arriving, 2 * size)):
        if len(heap.ns):
            heap.grow(entries=room)
    rooms = dict.fromkeys(BY_ROW, size) | {"log": 3 * size + 16}
    for part in parts_of(state).values():
        own = [(field.dims or (), getattr(part, name)) for name, field in fields_of(type(part)).items() if field.dtype]
        used = {str(dim) for dims, column in own for dim, long in zip(dims, column.shape, strict=False) if long}
        if part is not state.jobs and (more := rooms.keys() & used):
            part.grow(**{dim: rooms[dim] for dim in more})


def _double(table: State, more: int = 0) -> None:
    # Twice as much room for all that a table has, and ``more``.
    fields = [(name, field.dims[0]) for name, field in fields_of(type(table)).items() if field.dtype and field.dims]
    table.grow(**{str(dim): 2 * len(getattr(table, name)) + more for name, dim in fields})


def grow_wishes(state: BatchState, more: int) -> None:
    """Room for so many more wishes, where there is too little, and for as many again as there are."""
    needed = state.n_wishes + more
    if needed > len(state.wishes.job):
        state.wishes.grow(wishes=needed + len(state.wishes.job))


#: What is done about a status that asks for room.
GROW: dict[int, Callable[[BatchState], None]] = {
    BatchStatus.POOL_FULL: grow_pool,
    BatchStatus.ROWS_FULL: grow_rows,
    BatchStatus.PROFILE_FULL: lambda state: _double(state.cores_profile),
    BatchStatus.DECISIONS_FULL: lambda state: _double(state.decisions),
    BatchStatus.TOLD_FULL: lambda state: _double(state.told, state.settings.max_told),
    BatchStatus.RELEASES_FULL: lambda state: _double(state.releases, len(state.holder)),
    BatchStatus.HOST_LOG_FULL: lambda state: _double(state.host_log, 2 * state.settings.host_log_room),
}
