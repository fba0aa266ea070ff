"""The state of the batch engine for the next stretch of time: those of its jobs that are left, and those that come.

A simulation whose jobs are too many to be held is a chain of states. Each has the jobs that wait or run as it begins, in
the first rows and in the order that they had, and behind them those that come while it lasts. What is not of jobs (the
clock, free cores, what is free over time) goes on as it is.
"""

from __future__ import annotations

import numpy as np

from bls.engine.cores import intervals_of
from bls.engine.growing import keep_reservations
from bls.engine.state import BY_ROW, OF_JOBS, BatchState
from traces.compiled import Array
from traces.kernels.state import changing, numbers_of, parts_of

#: Numbers that name a row.
_NAME_ROWS = ("arrived_job", "due_job", "blocked_head")

#: Numbers that do not go on: those of the new state's own rows, and of columns that begin again.
_BEGIN_AGAIN = ("n_rows", "n_predicted", "n_ended", "n_started", "n_answered", "n_chosen", "n_log")

#: Dimensions of columns that do not go on as they are, as their sizes are those of the new state's jobs, or may have grown.
_OTHER_SIZES = OF_JOBS | {"users", "core_slices", "changes"}


def carry_over(old: BatchState, new: BatchState, rows: Array) -> None:
    """Bring ``new`` to the instant at which ``old`` has stopped, between two instants at which something happens.

    - ``old``: without dependencies, cancellations, windows, drained hosts, predictions, limits to switches, and jobs
      that run from the start; none of its rows awaits an answer
    - ``new``: before its first event: its first rows are those of ``rows``, each without earlier attempts. Its arrays
      are written to.
    - ``rows``, int64 (k,): all rows of ``old`` that wait or run, or may not join the queue yet, in the order of their
      first attempts
    """
    n, jobs, parts = len(rows), new.jobs, parts_of(new)
    place = np.full(len(old.jobs.number) + 1, -1, np.int64)  # the last one for row -1
    place[rows] = np.arange(n)
    own = {name: getattr(new, name) for name in _BEGIN_AGAIN}
    for at, part in parts_of(old).items():
        numbers_of(parts[at])[:] = numbers_of(part)
    for name, number in own.items():
        setattr(new, name, number)
    for one in changing(old, _OTHER_SIZES):
        column = getattr(parts[one.at], one.field.name)
        column[one.entries(dict.fromkeys(BY_ROW, slice(n)))] = one.column[one.entries(dict.fromkeys(BY_ROW, rows))]
    jobs.attempt[:n] = old.jobs.attempt[rows]
    # A job that may not join yet is still to come: those that have joined are before all others.
    joined = np.flatnonzero(jobs.eligible_ns[:n] >= 0)
    new.arrivals[:] = np.concatenate([joined, np.setdiff1d(new.arrivals, joined)])
    coming = new.arrivals[len(joined) :]
    coming[:] = coming[np.argsort(jobs.begin_ns[coming], kind="stable")]
    new.next_arrival = len(joined)
    for name in _NAME_ROWS:
        setattr(new, name, int(place[getattr(old, name)]))

    waits = (jobs.eligible_ns[:n] >= 0) & (jobs.start_ns[:n] < 0)
    ranks = jobs.rank[:n][waits]
    for level in range(len(new.queue_starts) - 1):  # as ``bls.engine.queue`` adds them one by one
        np.bitwise_or.at(new.queue_words, new.queue_starts[level] + (ranks >> 5), 1 << (ranks & 31))
        ranks = np.unique(ranks >> 5)
    runs = np.flatnonzero(jobs.start_ns[:n] >= 0)
    np.add.at(new.user_tally[..., 0], (jobs.partition[runs], jobs.user[runs]), 1)
    np.add.at(new.user_tally[..., 1], (jobs.partition[runs], jobs.user[runs]), jobs.cores[runs])

    for heap, last in ((new.running, old.running), (new.expected, old.expected)):
        instants, keys = last.entries()
        there = place[keys] >= 0  # those of jobs that have ended are not taken out at once
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
    new.cores_profile = old.cores_profile
    if len(new.kept.lo):
        keep_reservations(new, old.kept)
