"""Which cores jobs held from when to when, where some of them were released before a job's end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traces.base.columns import Columns
from traces.compiled import Array
from traces.ledger import JobRecords, Ledger, ReleaseRecords

__all__ = ["Holdings", "held_until_ns", "holdings"]


@dataclass(frozen=True)
class Holdings(Columns):
    """One row for the cores that a job held from its start to one instant: its end, or that of a release.

    Jobs that never started have none, jobs that release nothing have one each; rows are in the order of jobs, and of a job's
    instants.

    Attributes
    ----------
    job : ndarray of int64, shape (k,)
        Row of ``JobRecords``.
    start_ns, end_ns : ndarray of int64, shape (k,)
        Instants.
    cores : ndarray of int64, shape (k,)
        How many cores.
    first : ndarray of int64, shape (k + 1,)
        Row ``i`` has the intervals ``first[i]:first[i + 1]`` of the next two.
    lo, hi : ndarray of int64
        Half-open intervals of global core numbers, ascending within a row.
    """

    job: Array
    start_ns: Array
    end_ns: Array
    cores: Array
    first: Array
    lo: Array
    hi: Array

    def __len__(self) -> int:
        return len(self.job)


def held_until_ns(jobs: JobRecords, releases: ReleaseRecords | None, job: Array, core: Array) -> Array:
    """Until when jobs held cores: int64 (k,), the job's end or, where it released the core, that instant.

    Parameters
    ----------
    jobs : JobRecords
    releases : ReleaseRecords or None
    job, core : int64 (k,)
        Rows of ``jobs``, and a core of each one's allocation.
    """
    until: Array = jobs.end_ns[job]
    if releases is None or not len(releases):
        return until
    n_cores = int(max(core.max(initial=0), releases.core.max())) + 1
    known, asked = releases.job * n_cores + releases.core, job * n_cores + core
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[at] == asked, releases.released_ns[at], until)


def holdings(ledger: Ledger) -> Holdings:
    """What the jobs of a ledger held, and until when."""
    jobs, releases = ledger.jobs, ledger.releases
    count = np.diff(jobs.allocation_first)
    owner = np.repeat(np.arange(len(jobs)), count)
    lo, hi = jobs.allocation_lo, jobs.allocation_hi
    if releases is None or not len(releases):
        rows = np.flatnonzero(jobs.started)
        first = np.concatenate([[0], np.cumsum(count[rows])])
        return Holdings(rows, jobs.start_ns[rows], jobs.end_ns[rows], jobs.held_cores[rows], first, lo, hi)
    # Core by core where a job releases some, and then joined again.
    apart = np.isin(owner, releases.job)
    width = (hi - lo)[apart]
    within = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    core = np.repeat(lo[apart], width) + within
    of_core = np.repeat(owner[apart], width)
    until = held_until_ns(jobs, releases, of_core, core)
    owner = np.concatenate([owner[~apart], of_core])
    until = np.concatenate([jobs.end_ns[owner[: len(owner) - len(core)]], until])
    lo, hi = np.concatenate([lo[~apart], core]), np.concatenate([hi[~apart], core + 1])
    order = np.lexsort((lo, until, owner))
    owner, until, lo, hi = owner[order], until[order], lo[order], hi[order]
    another = np.ones(len(owner), np.bool_)
    another[1:] = (owner[1:] != owner[:-1]) | (until[1:] != until[:-1])
    begins = another.copy()
    begins[1:] |= lo[1:] != hi[:-1]
    at = np.flatnonzero(begins)
    lo, hi = lo[at], np.concatenate([hi[at[1:] - 1], hi[-1:]])
    first_of_row = np.flatnonzero(another[at])
    first = np.concatenate([first_of_row, [len(lo)]])
    rows = owner[at][first_of_row]
    cores = np.add.reduceat(hi - lo, first_of_row)
    return Holdings(rows, jobs.start_ns[rows], until[at][first_of_row], cores, first, lo, hi)
