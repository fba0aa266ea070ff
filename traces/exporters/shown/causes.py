"""Why a waiting job started when it did, as far as a ledger tells: whose end gave it cores at that very instant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.holdings import holdings
from traces.ledger import Ledger


class Causes(NamedTuple):
    """One row a pair of jobs: ``cause`` left cores at the instant ``at_ns`` at which ``job`` started on some of them, for
    which it had waited. Rows of ``ledger.jobs``; by ``job``, then by ``cause``."""

    job: Array
    cause: Array
    at_ns: Array


def causes(ledger: Ledger) -> Causes:
    """Who waited for whose cores.

    A job that could start earlier, but did not, started as others left cores that it then took. That is what a trace can
    show; a job may have waited for something else besides, as for its turn. Of one that started on cores that were free
    before, nothing is said.
    """
    jobs, held = ledger.jobs, holdings(ledger)
    count = np.diff(held.first)
    row = np.repeat(np.arange(len(held)), count)
    left = row[held.end_ns[row] > held.start_ns[row]]
    lo, hi = (column[held.end_ns[row] > held.start_ns[row]] for column in (held.lo, held.hi))
    begins = held.start_ns == jobs.start_ns[held.job]
    waited = begins & (jobs.eligible_ns[held.job] < held.start_ns)
    took = row[waited[row]]
    took_lo, took_hi = held.lo[waited[row]], held.hi[waited[row]]
    # What was left at one instant are disjoint intervals: in the order of their lows they are in that of their highs.
    instants, rank = np.unique(held.end_ns[left], return_inverse=True)
    order = np.lexsort((lo, rank))
    left, lo, hi, rank = left[order], lo[order], hi[order], rank.reshape(-1)[order]
    span = ledger.machine.n_cores + 1
    at = np.searchsorted(instants, held.start_ns[took])
    known = at < len(instants)
    known[known] = instants[at[known]] == held.start_ns[took[known]]
    at, took, took_lo, took_hi = at[known], took[known], took_lo[known], took_hi[known]
    first = np.searchsorted(rank * span + hi, at * span + took_lo, side="right")
    stop = np.searchsorted(rank * span + lo, at * span + took_hi, side="left")
    n = np.maximum(stop - first, 0)
    place = np.repeat(first - np.cumsum(n) + n, n) + np.arange(int(n.sum()))
    pairs = np.column_stack([held.job[np.repeat(took, n)], held.job[left[place]]])
    job, cause = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).T
    return Causes(job, cause, jobs.start_ns[job])
