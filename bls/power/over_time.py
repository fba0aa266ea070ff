"""Series over time: power above a limit and the reasons for it, and slowed jobs."""

from collections import defaultdict
from typing import Final, NamedTuple

import numpy as np

from bls.power import accounting as a
from bls.power.limits import joined
from traces.compiled import Array

#: The reasons for power above a limit; the first that applies counts.
REASONS: Final = {
    "ignored": "limits are ignored",
    "reaction": "the limit was not known yet",
    "infeasible": "the machine draws more even without jobs",
    "stopping": "hosts were on their ways off or back",
    "prediction": "jobs drew more than they were thought to",
    "running": "running jobs could not be slowed, or no further",
}


class Excess(NamedTuple):
    """From ``begin_ns`` up to ``end_ns`` the domain ``where`` (empty: the machine) draws ``above_mw`` more than a limit allows,
    for one of ``REASONS``."""

    begin_ns: int
    end_ns: int
    above_mw: int
    reason: str
    where: str = ""


def slowed_over_time(run: a.PowerRun) -> tuple[a.PowerSeries, a.PowerSeries]:
    """The slowest state of any job, and the number of slowed jobs, over time."""
    table, classes, begin_ns, until_ns = run.table, run.classes, run.begin_ns, run.until_ns
    job, lo, _, start, end, scale = a.held_cores(run.ledger)
    # The first state with this speed: a group with fewer states than others repeats its last state.
    group = table.group_of_core(lo)
    speed = table.speed[:, group].T if classes is None else classes.speed[classes.kind[job], :, group]
    state = (speed > scale[:, None]).sum(axis=1)
    slow = state > 0
    job, state, start, end = job[slow], state[slow], start[slow], end[slow]
    every = a.ascending(start, end, np.array([begin_ns]))
    every = every[(every >= begin_ns) & (every < max(until_ns, begin_ns + 1))]
    level = np.zeros(len(every), np.int64)
    for at in range(1, table.n_states):
        some = state >= at
        level[a.covered(every, start[some], end[some]) > 0] = at
    slowed = a.covered(every, *_of_jobs(job, start, end))
    return a.PowerSeries.of_steps(every, level, until_ns), a.PowerSeries.of_steps(every, slowed, until_ns)


def _of_jobs(job: Array, start: Array, end: Array) -> tuple[Array, Array]:
    # Spans of cores as disjoint spans of their jobs.
    spans = defaultdict[int, list[tuple[int, int]]](list)
    for one, begin, stop in zip(job.tolist(), start.tolist(), end.tolist(), strict=True):
        spans[one].append((begin, stop))
    found = np.array([span for some in spans.values() for span in joined(some)], np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
