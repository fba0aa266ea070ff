"""How many jobs wait and how many cores are busy, over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traces.compiled import Array
from traces.ledger import JobRecords

__all__ = ["LoadSeries", "load_series"]


@dataclass(frozen=True)
class LoadSeries:
    """A step function of time: each row holds from its instant until the next row's; before the first, all is 0.

    Attributes
    ----------
    instant_ns : ndarray of int64, shape (k,)
        Strictly increasing instants, ns since the workload's time 0.
    queue_length : ndarray of int64, shape (k,)
        Jobs that wait for their start: submitted, no longer waiting for another job's end, and not yet started, after
        everything that happens at the instant. One that was cut and is to be tried again waits again. Jobs that never
        start do not count.
    busy_cores : ndarray of int64, shape (k,)
        Cores allocated to jobs, after everything that happens at the instant.
    """

    instant_ns: Array
    queue_length: Array
    busy_cores: Array

    def __len__(self) -> int:
        return len(self.instant_ns)


def load_series(jobs: JobRecords) -> LoadSeries:
    """Queue length and busy cores wherever one of them changes.

    Parameters
    ----------
    jobs : JobRecords
        Attempts at jobs in any order.

    Returns
    -------
    LoadSeries
        One row per instant at which the state after it differs from the state before it.
    """
    started = jobs.started
    n = int(np.count_nonzero(started))
    held = jobs.held_cores[started]
    instants = np.concatenate([jobs.eligible_ns[started], jobs.start_ns[started], jobs.end_ns[started]])
    queue_steps = np.repeat(np.array([1, -1, 0], np.int64), n)
    busy_steps = np.concatenate([np.zeros(n, np.int64), held, -held])
    order = np.argsort(instants, kind="stable")
    instants = instants[order]
    queue, busy = np.cumsum(queue_steps[order]), np.cumsum(busy_steps[order])
    last_of_instant = np.ones(3 * n, bool)
    last_of_instant[:-1] = instants[1:] != instants[:-1]
    instants, queue, busy = instants[last_of_instant], queue[last_of_instant], busy[last_of_instant]
    changed = (np.diff(queue, prepend=0) != 0) | (np.diff(busy, prepend=0) != 0)
    return LoadSeries(instants[changed], queue[changed], busy[changed])
