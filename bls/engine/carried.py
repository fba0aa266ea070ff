"""The state of the batch engine for the next stretch of time: those of its jobs that are left, and those that come.

A simulation whose jobs are too many to be held is a chain of states. Each has the jobs that wait or run as it begins, in
the first rows and in the order that they had, and behind them those that come while it lasts. What is not of jobs (the
clock, free cores, what is free over time) goes on as it is.
"""

from __future__ import annotations

import numpy as np

from bls.engine.cores import intervals_of
from bls.engine.growing import keep_reservations
from bls.engine.jobs import BECOMES
from bls.engine.state import BatchState
from traces.compiled import Array
from traces.kernels.signatures import Number
from traces.kernels.state import fields_of

#: Numbers that name a row.
_NAME_ROWS = ("arrived_job", "due_job", "blocked_head")

#: Numbers that are of the new state's own rows and pools, or of features that have none here, do not go on: all that count, but
#: these, and some.
_COUNTED, _OWN_NUMBERS = ("n_waiting", "n_down"), ("presets_left", "pool_used", "kept_used")

#: Columns of what is given that may have changed since.
_CHANGED = ("attempt", "walltime_ns")


def carry_over(old: BatchState, new: BatchState, rows: Array) -> None:
    """Bring ``new`` to the instant at which ``old`` has stopped, between two instants at which something happens.

    Parameters
    ----------
    old : BatchState
        Without dependencies, cancellations, windows, drained hosts, predictions, limits to switches, and jobs that run from
        the start; none of its rows awaits an answer.
    new : BatchState
        Before its first event: its first rows are those of ``rows``, each without earlier attempts. Its arrays are written to.
    rows : int64 (k,)
        All rows of ``old`` that wait or run, or may not join the queue yet, in the order of their first attempts.
    """
    n, jobs = len(rows), new.jobs
    place = np.full(len(old.jobs.number) + 1, -1, np.int64)  # the last one for row -1
    place[rows] = np.arange(n)
    for name in (*BECOMES, *_CHANGED):
        getattr(jobs, name)[:n] = getattr(old.jobs, name)[rows]
    for name, field in fields_of(BatchState).items():
        counts = name.startswith("n_") and name not in _COUNTED
        if isinstance(field.kind, Number) and not counts and name not in _OWN_NUMBERS:
            setattr(new, name, getattr(old, name))
    # A job that may not join yet is still to come: those that have joined are before all others.
    joined = np.flatnonzero(jobs.eligible_ns[:n] >= 0)
    new.arrivals[:] = np.concatenate([joined, np.setdiff1d(new.arrivals, joined)])
    coming = new.arrivals[len(joined) :]
    coming[:] = coming[np.argsort(jobs.begin_ns[coming], kind="stable")]
    new.next_arrival = len(joined)
    for name in _NAME_ROWS:
        setattr(new, name, int(place[getattr(old, name)]))
    for name in ("free_words", "host_free"):
        getattr(new, name)[:] = getattr(old, name)
    new.host_events.refill(*old.host_events.entries())
    for table, before in ((new.partitions, old.partitions), (new.host_status, old.host_status)):
        for column, values in zip(table, before, strict=True):
            column[:] = values

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
    k = new.profile.end = used.stop - used.start
    new.profile.ns[:k], new.profile.free[:k] = old.profile.ns[used], old.profile.free[used]
    if len(new.numbers):
        new.numbers[:, :n] = old.numbers[:, rows]
    new.memory[:] = old.memory
    new.cores_profile = old.cores_profile
    if len(new.kept.lo):
        keep_reservations(new, old.kept)
