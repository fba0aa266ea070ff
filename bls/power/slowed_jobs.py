"""Which jobs were slowed when, where each is in a state of its own: found from the speeds that they were told."""

from __future__ import annotations

import numpy as np

from bls.power.accounting import PowerSeries, ascending, covered, held_cores
from bls.power.job_power import PowerClasses
from bls.power.table import PowerTable
from traces.compiled import Array
from traces.ledger import Ledger


def slowed_over_time(
    ledger: Ledger, table: PowerTable, classes: PowerClasses | None, begin_ns: int, until_ns: int
) -> tuple[PowerSeries, PowerSeries]:
    """The slowest state that any job is in, over time, and how many jobs are slowed. ``classes``: of the rows of the
    table of jobs, where something is said of what jobs draw. ``begin_ns``, ``until_ns``: from when to when."""
    job, lo, _, start, end, scale = held_cores(ledger)
    # The first state that is so slow: one that a group has once more, as others have more of them, is none of its own.
    group = table.group_of_core(lo)
    speed = table.speed[:, group].T if classes is None else classes.speed[classes.kind[job], :, group]
    state = (speed > scale[:, None]).sum(axis=1)
    slow = state > 0
    job, state, start, end = job[slow], state[slow], start[slow], end[slow]
    every = ascending(start, end, np.array([begin_ns]))
    every = every[(every >= begin_ns) & (every < max(until_ns, begin_ns + 1))]
    level = np.zeros(len(every), np.int64)
    for at in range(1, table.n_states):
        some = state >= at
        level[covered(every, start[some], end[some]) > 0] = at
    first, last = _of_jobs(job, start, end)
    return (
        PowerSeries.of_steps(every, level, until_ns),
        PowerSeries.of_steps(every, covered(every, first, last), until_ns),
    )


def _of_jobs(job: Array, start: Array, end: Array) -> tuple[Array, Array]:
    # Spans of cores as those of their jobs: disjoint ones of each.
    order = np.lexsort((start, job))
    job, start, end = job[order], start[order], end[order]
    firsts, lasts = list[int](), list[int]()
    before = -1
    for one, begin, stop in zip(job.tolist(), start.tolist(), end.tolist(), strict=True):
        if one == before and begin <= lasts[-1]:
            lasts[-1] = max(lasts[-1], stop)
        else:
            firsts.append(begin)
            lasts.append(stop)
        before = one
    return np.array(firsts, np.int64), np.array(lasts, np.int64)
