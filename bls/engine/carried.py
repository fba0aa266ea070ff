"""The state of the batch engine for the next stretch of time: those of its jobs that are left, and those that come.

A simulation whose jobs are too many to be held is a chain of states. Each has the jobs that wait or run as it begins, in
the first rows and in the order that they had, and behind them those that come while it lasts. What is not of jobs (the
clock, free cores, what is free over time) goes on as it is.
"""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.initial_state import intervals_of, kept_reservations
from bls.engine.state import BatchState
from traces.compiled import Array

__all__ = ["carried_over"]

#: Entries of ``clock`` that name a row.
_ROWS_IN_CLOCK = (b.ARRIVED, b.DUE_JOB, b.BLOCKED_HEAD)

#: Entries of ``sizes`` that go on: the others are of a state's own rows and pools, or of features that have none here.
_SIZES_ON = (b.N_WAITING, b.N_RUNNING, b.FREE_CORES, b.OVERDUE_CORES)


def carried_over(old: BatchState, new: BatchState, rows: Array) -> BatchState:
    """``new`` at the instant at which ``old`` has stopped, between two instants at which something happens.

    Parameters
    ----------
    old : BatchState
        Without dependencies, cancellations, windows, outages, predictions, requests, and jobs that run from the start; of
        its rows none awaits an answer.
    new : BatchState
        Before its first event: its first rows are those of ``rows``. Its arrays are written to.
    rows : int64 (k,)
        Ascending: all rows of ``old`` that wait or run, or may not join the queue yet.
    """
    n, jobs, sizes, clock = len(rows), new.jobs, new.sizes, new.clock
    place = np.full(old.jobs.shape[1] + 1, -1, np.int64)  # the last one for row -1
    place[rows] = np.arange(n)
    jobs[b.ELIGIBLE : b.COLUMNS, :n] = old.jobs[b.ELIGIBLE : b.COLUMNS, rows]
    clock[:] = old.clock
    # A job that may not join yet is still to come: those that have joined are before all others.
    joined = np.flatnonzero(jobs[b.ELIGIBLE, :n] >= 0)
    new.arrivals[:] = np.concatenate([joined, np.setdiff1d(new.arrivals, joined)])
    coming = new.arrivals[len(joined) :]
    coming[:] = coming[np.argsort(jobs[b.BEGIN, coming], kind="stable")]
    clock[b.NEXT_ARRIVAL] = len(joined)
    clock[list(_ROWS_IN_CLOCK)] = place[old.clock[list(_ROWS_IN_CLOCK)]]
    sizes[list(_SIZES_ON)] = old.sizes[list(_SIZES_ON)]
    new.free_words[:], new.host_free[:], new.partitions[:] = old.free_words, old.host_free, old.partitions

    waits = (jobs[b.ELIGIBLE, :n] >= 0) & (jobs[b.START, :n] < 0)
    _fill_queue(new, jobs[b.RANK, :n][waits])
    runs = np.flatnonzero(jobs[b.START, :n] >= 0)
    np.add.at(new.user_tally, (jobs[b.PARTITION, runs], jobs[b.USER, runs], 0), 1)
    np.add.at(new.user_tally, (jobs[b.PARTITION, runs], jobs[b.USER, runs], 1), jobs[b.CORES, runs])

    running = int(sizes[b.N_RUNNING])
    new.running_ns[:running] = old.running_ns[:running]
    new.running_job[:running] = place[old.running_job[:running]]  # rows keep their order: it is a heap still
    expected = int(old.sizes[b.N_EXPECTED])
    instants, who = old.expected_ns[:expected], place[old.expected_job[:expected]]
    instants, who = instants[who >= 0], who[who >= 0]  # those of jobs that have ended are not taken out at once
    order = np.lexsort((who, instants))
    sizes[b.N_EXPECTED] = len(order)
    new.expected_ns[: len(order)], new.expected_job[: len(order)] = instants[order], who[order]

    count = jobs[b.HELD_COUNT, :n]
    source = intervals_of(jobs[b.HELD_FIRST, :n], count)
    jobs[b.HELD_FIRST, :n] = np.cumsum(count) - count
    sizes[b.POOL_USED] = len(source)
    new.pool_lo[: len(source)], new.pool_hi[: len(source)] = old.pool_lo[source], old.pool_hi[source]
    first, last = (int(old.sizes[name]) for name in (b.FIRST, b.LAST))
    sizes[b.LAST] = last - first
    new.profile_ns[: last - first] = old.profile_ns[first:last]
    new.profile_free[: last - first] = old.profile_free[first:last]

    if len(new.numbers):
        new.numbers[:, :n] = old.numbers[:, rows]
    new.memory[:] = old.memory
    new = new._replace(cores_profile=old.cores_profile)
    return kept_reservations(new, old.kept_lo, old.kept_hi) if len(new.kept_lo) else new


def _fill_queue(state: BatchState, ranks: Array) -> None:
    # As ``bls.engine.queue`` adds them one by one.
    for level in range(len(state.queue_starts) - 1):
        np.bitwise_or.at(state.queue_words, state.queue_starts[level] + (ranks >> 5), 1 << (ranks & 31))
        ranks = np.unique(ranks >> 5)
