"""Thousandths of GPUs that running jobs hold, for limits of partitions and their users, and for accounts of policies.

A job counts those that it requests before it starts (of GPUs per host those of one host), and then those that it holds on hosts
that it has not left.
"""

from typing import TYPE_CHECKING

import numpy as np

from bls.engine import state as b
from bls.engine.features.gpus.state import requested_parts
from bls.engine.hooks import HOOK, OTHER_AMOUNTS, play
from traces.compiled import Array, compiled
from traces.intervals import intervals_of

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(HOOK)
def is_beyond(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a limit of GPUs keeps a job that requests some from starting."""
    gpus, jobs, origin, p = state.gpus, state.jobs, state.jobs.origin[job], state.jobs.partition[job]
    requested = requested_parts(gpus, origin, jobs.cores[job] // jobs.unit_cores[job], 1)
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


def held_gpus(state: b.BatchState, rows: Array) -> tuple[Array, Array, Array]:
    """GPUs that running jobs hold on hosts that they have not left: their rows, the GPUs (of shares one for each unit), and the
    thousandths of each; int64 (k,)."""
    gpus, n_hosts = state.gpus, len(state.host_first) - 1
    count = gpus.count[rows]
    row, gpu = np.repeat(rows, count), gpus.lists.gpu[intervals_of(gpus.first[rows], count)]
    if state.settings.releases in (b.BY_CORE, b.BY_HOST):
        there = np.isin(row * n_hosts + gpus.host[gpu], state.releases.holder * n_hosts + state.host_of)
        row, gpu = row[there], gpu[there]
    return row, gpu, gpus.milli[state.jobs.origin[row]]


def carry_tallies(_old: b.BatchState, new: b.BatchState) -> None:
    """Count the GPUs of the running jobs of each user in the next state of a stream."""
    gpus, jobs = new.gpus, new.jobs
    runs = np.flatnonzero((jobs.start_ns >= 0) & (jobs.state < 0))
    np.add.at(gpus.of_user, (jobs.partition[runs], jobs.user[runs]), gpus.held[runs])


def check_tallies(checks: "BatchChecks") -> None:
    """Check the counted GPUs of partitions and users."""
    state, jobs, gpus = checks.state, checks.jobs, checks.state.gpus
    row, _, milli = held_gpus(state, checks.held)
    of_jobs, found = np.zeros(state.n_rows, np.int64), np.zeros_like(gpus.of_user)
    np.add.at(of_jobs, row, milli)
    np.add.at(found, (jobs.partition[row], jobs.user[row]), milli)
    counted = np.where(checks.holds, gpus.held[: state.n_rows], 0)
    checks.counts(lambda row: f"thousandths of GPUs of {checks.name(row)}", counted, of_jobs)
    checks.counts(lambda p: f"thousandths of GPUs in partition {p}", gpus.running, found.sum(axis=1))
    checks.counts(lambda place: f"thousandths of GPUs of a user, {place}", gpus.of_user.ravel(), found.ravel())
