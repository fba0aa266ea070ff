"""Thousandths of GPUs that running jobs hold, for limits of partitions and their users, and for accounts of policies.

A job counts those that it requests before it starts (of GPUs per host those of one host), and then those that it holds on hosts
that it has not left.
"""

from typing import TYPE_CHECKING

import numpy as np

from bls.engine import state as b
from bls.engine.hooks import HOOK, OTHER_AMOUNTS, play
from traces.compiled import compiled

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(HOOK)
def is_beyond(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a limit of GPUs keeps a job that requests some from starting."""
    gpus, jobs, origin, p = state.gpus, state.jobs, state.jobs.origin[job], state.jobs.partition[job]
    requested = gpus.per_unit[origin] * (jobs.cores[job] // jobs.unit_cores[job]) + gpus.per_host[origin]
    if requested == 0 or gpus.most_running.size == 0:
        return 0
    left = min(gpus.most_running[p] - gpus.running[p], gpus.most_of_user[p] - gpus.of_user[p, jobs.user[job]])
    return 1 if requested * gpus.milli[origin] > left else 0


@compiled(HOOK)
def count_held(state: b.BatchState, job: int, _begin: int, _stop: int, sign: int) -> int:
    """Count the GPUs of a job that starts (``sign`` 1), may have left some of its hosts (0), or ends (-1)."""
    gpus, others, p = state.gpus, state.others, state.jobs.partition[job]
    before, held = 0 if sign > 0 else gpus.held[job], 0  # a trial may have counted a job that starts
    for k in range(play(state, OTHER_AMOUNTS, job, 0, 0, 0) if sign >= 0 else 0):
        held += others.amount[k]
    gpus.held[job] = held
    gpus.running[p] += held - before
    gpus.of_user[p, state.jobs.user[job]] += held - before
    if state.scores.held_gpus >= 0:
        state.scores.numbers[state.scores.held_gpus, job] = held
    return 0


def carry_tallies(_old: b.BatchState, new: b.BatchState) -> None:
    """Count the GPUs of the running jobs of each user in the next state of a stream."""
    gpus, jobs = new.gpus, new.jobs
    runs = np.flatnonzero((jobs.start_ns >= 0) & (jobs.state < 0))
    np.add.at(gpus.of_user, (jobs.partition[runs], jobs.user[runs]), gpus.held[runs])


def check_tallies(checks: "BatchChecks") -> None:
    """Check the counted GPUs of partitions and users."""
    state, jobs, gpus, rows = checks.state, checks.jobs, checks.state.gpus, checks.held
    on_hosts = np.unique(checks.owner * checks.n_hosts + state.host_of[checks.held_cores])
    found = np.zeros_like(gpus.of_user)
    for row in rows.tolist():
        has = gpus.lists.gpu[gpus.first[row] :][: gpus.count[row]]
        there = np.isin(row * checks.n_hosts + gpus.host[has], on_hosts) | (state.settings.releases == b.BY_DRAIN)
        held = int(np.count_nonzero(there) * gpus.milli[jobs.origin[row]])
        found[jobs.partition[row], jobs.user[row]] += held
        checks.count(f"thousandths of GPUs of job {jobs.number[row]}", gpus.held[row], held)
    checks.counts(lambda p: f"thousandths of GPUs in partition {p}", gpus.running, found.sum(axis=1))
    for p, user in np.argwhere(gpus.of_user != found):
        checks.count(f"thousandths of GPUs of user {user} in partition {p}", gpus.of_user[p, user], found[p, user])
