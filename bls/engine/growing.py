"""Growth of the batch engine's state, and its continuation in the next state of a stream."""

import numpy as np

from bls.engine.cores import Pool
from bls.engine.features.order import features_of
from bls.engine.state import BY_ROW, NEVER, OF_JOBS, BatchState
from bls.engine.status import BatchStatus
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.kernels.state import State, changing, fields_of, numbers_of, parts_of


def grow_pool(state: BatchState) -> None:
    """Make room for allocations and kept reservations if needed, after compacting the reservations."""
    needed = state.pool_used + state.free_cores + 2 * state.settings.widest + 2
    if needed > len(state.pool.lo):
        state.pool.grow(pool=max(needed, 2 * len(state.pool.lo)))
    if len(state.kept.lo):
        keep_reservations(state, state.kept)


def keep_reservations(state: BatchState, kept: Pool) -> None:
    """Compact the kept reservations of a pool into the state's own pool, with room for more."""
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
    """Make room for later attempts."""
    rows = len(state.jobs.number)
    size = rows + rows // 2 + 16
    state.jobs.grow(rows=size)
    if len(state.expected.ns):
        state.expected.grow(entries=size)
    rooms = dict.fromkeys(BY_ROW, size) | {"log": 3 * size + 16}
    for part in parts_of(state).values():
        own = [(field.dims or (), getattr(part, name)) for name, field in fields_of(type(part)).items() if field.dtype]
        used = {str(dim) for dims, column in own for dim, long in zip(dims, column.shape, strict=False) if long}
        if part is not state.jobs and (more := rooms.keys() & used):
            part.grow(**{dim: rooms[dim] for dim in more})


_NAME_ROWS = ("arrived_job", "due_job", "blocked_head")  #: numbers that name a row

#: Numbers that start again: those of the new state's own rows, and of columns that begin empty.
_BEGIN_AGAIN = ("n_rows", "n_ended", "n_started", "n_answered", "n_chosen", "n_log")


def carry_over(old: BatchState, new: BatchState, rows: Array) -> None:
    """Bring ``new`` to the instant at which ``old`` has stopped, between two events.

    - ``old``: without dependencies, cancellations, windows, drained hosts, predictions, switch limits, and jobs
      that run from the start; no row awaits an answer
    - ``new``: before its first event; its first rows are ``rows``, each without earlier attempts. Its arrays are changed.
    - ``rows``, int64 (k,): all rows of ``old`` that wait, run, or may not join the queue yet, by first attempt
    """
    n, jobs, parts = len(rows), new.jobs, parts_of(new)
    place = np.full(len(old.jobs.number) + 1, -1, np.int64)  # the last one for row -1
    place[rows] = np.arange(n)
    own = {name: getattr(new, name) for name in _BEGIN_AGAIN}
    for at, part in parts_of(old).items():
        numbers_of(parts[at])[:] = numbers_of(part)
    for name, number in own.items():
        setattr(new, name, number)
    features = features_of(new)
    # The sizes of other dimensions depend on the new state's jobs or may have grown.
    for one in changing(old, OF_JOBS.union(*(feature.carried for feature in features))):
        column = getattr(parts[one.at], one.field.name)
        column[one.entries(dict.fromkeys(BY_ROW, slice(n)))] = one.column[one.entries(dict.fromkeys(BY_ROW, rows))]
    jobs.attempt[:n] = old.jobs.attempt[rows]
    # Jobs that have joined the queue come first; the others still have to arrive.
    joined = np.flatnonzero(jobs.eligible_ns[:n] >= 0)
    new.arrivals[:] = np.concatenate([joined, np.setdiff1d(new.arrivals, joined)])
    coming = new.arrivals[len(joined) :]
    coming[:] = coming[np.argsort(jobs.begin_ns[coming], kind="stable")]
    new.next_arrival = len(joined)
    for name in _NAME_ROWS:
        setattr(new, name, int(place[getattr(old, name)]))

    waits = (jobs.eligible_ns[:n] >= 0) & (jobs.start_ns[:n] < 0)
    ranks = jobs.rank[:n][waits]
    for level in range(len(new.queue_starts) - 1):  # as ``add_number`` adds them one by one
        np.bitwise_or.at(new.queue_words, new.queue_starts[level] + (ranks >> 5), 1 << (ranks & 31))
        ranks = np.unique(ranks >> 5)

    for heap, last in ((new.running, old.running), (new.expected, old.expected)):
        instants, keys = last.entries()
        there = place[keys] >= 0  # entries of ended jobs are removed late
        heap.refill(instants[there], place[keys[there]])

    count = jobs.held_count[:n]
    source = intervals_of(jobs.held_first[:n], count)
    jobs.held_first[:n] = np.cumsum(count) - count
    new.pool_used = len(source)
    new.pool.lo[: len(source)], new.pool.hi[: len(source)] = old.pool.lo[source], old.pool.hi[source]
    used = slice(old.profile.first, old.profile.end)
    k = used.stop - used.start
    new.profile.first, new.profile.end = 0, k
    new.profile.ns[:k], new.profile.free[:k] = old.profile.ns[used], old.profile.free[used]
    for feature in features:
        feature.carry(old, new)
    if len(new.kept.lo):
        keep_reservations(new, old.kept)


def _double(table: State, more: int) -> None:
    # Double the room of a table and add some.
    fields = [(name, field.dims[0]) for name, field in fields_of(type(table)).items() if field.dtype and field.dims]
    table.grow(**{str(dim): 2 * len(getattr(table, name)) + more for name, dim in fields})


def make_room(state: BatchState, status: int) -> None:
    """Make the room that a status of ``bls.engine.status.FULL`` requests."""
    if status == BatchStatus.POOL_FULL:
        grow_pool(state)
    elif status == BatchStatus.ROWS_FULL:
        grow_rows(state)
    elif status == BatchStatus.HOST_LOG_FULL:
        _double(state.host_log, 2 * state.settings.host_log_room)
    for feature in features_of(state):
        if status in feature.grow:
            _double(*feature.grow[BatchStatus(status)](state))
