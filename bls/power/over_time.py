"""Series over time: power above a limit and the reasons for it, and slowed jobs."""

from typing import Final, NamedTuple

import numpy as np

from bls.engine import state as b
from bls.power import accounting as a
from bls.power.domains import Domain
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


class ExcessFacts(NamedTuple):
    """Facts from which the reasons for excesses follow."""

    at: Array  # int64 (n,): all instants at which something changes, ascending, ns
    moving: Array  # bool (n,): whether any host is shutting down or booting from then on
    until_ns: int
    least_mw: int  # power without jobs
    fallback: str  # without its parameters


def excesses_of(
    domain: Domain, series: a.PowerSeries, thought: a.PowerSeries | None, facts: ExcessFacts
) -> list[Excess]:
    """The times at which the power of a domain (``series``) was above its limits, with reasons. ``thought``: the predicted
    power; None if it is the same."""
    at, moving, until_ns, least_mw, fallback = facts
    ends, drawn = np.append(at[1:], until_ns), series.at(at)
    known, limit = (domain.limits.steps(at, b.NEVER, known=known) for known in (True, False))
    planned = None if thought is None else thought.at(at)
    found: list[Excess] = []
    for k in np.flatnonzero(drawn > limit).tolist():
        holds = {
            "ignored": fallback == "none",
            "reaction": known[k] > limit[k],
            "infeasible": limit[k] < least_mw,
            "stopping": moving[k],
            "prediction": planned is not None and planned[k] <= limit[k],
            "running": True,
        }
        reason = next(name for name in REASONS if holds[name])
        one = Excess(int(at[k]), int(ends[k]), int(drawn[k] - limit[k]), reason, domain.name)
        if found and found[-1].end_ns == one.begin_ns and found[-1][2:] == one[2:]:
            found[-1] = found[-1]._replace(end_ns=one.end_ns)
        else:
            found.append(one)
    return found


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
