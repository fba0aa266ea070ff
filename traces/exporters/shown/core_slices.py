"""The activities of cores in blocks of consecutive slices, and the causes of starts after waiting."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.part import shown_bars
from traces.exporters.shown.rows import BLOCK
from traces.holdings import holdings
from traces.ledger import Ledger
from traces.waits import bar_waits

#: Kinds of slices: a task; a job with unknown tasks; the core's wait for data of its next task.
KINDS = ("task", "job", "wait for data")


class CoreSlices(NamedTuple):
    """Some slices, one column each; a core's slices are in the order of time and do not overlap."""

    # ndarray of int64: core, start and end
    core: Array
    start_ns: Array
    end_ns: Array
    job: Array  # ndarray of int64: row of ``ledger.jobs``
    kind: Array  # ndarray of int64: an index in :data:`KINDS`
    # ndarray of int64: numbers within the job; for a wait those of the task that needs the data. -1 for a job.
    task: Array
    chunk: Array


def core_slices(ledger: Ledger) -> Iterator[CoreSlices]:
    """Yield all slices of a ledger, core by core, in blocks of some :data:`traces.exporters.shown.rows.BLOCK`.

    Besides the ledger it needs 8 bytes per task, and 16 more with transfers. Raises InvariantError if a core does two things
    at once.
    """
    jobs, tasks, transfers = ledger.jobs, ledger.tasks, ledger.transfers
    bars = shown_bars(ledger)
    waits, since = (np.zeros(0, np.int64),) * 2
    if tasks is not None and transfers is not None:
        waits, since = bar_waits(ledger, bars, transfers)
    for lo in range(0, len(bars.job), BLOCK):
        hi = min(lo + BLOCK, len(bars.job))
        core = np.searchsorted(bars.first[1:], np.arange(lo, hi), side="right")
        job, task = bars.job[lo:hi].astype(np.int64), bars.task[lo:hi].astype(np.int64)
        start, end = jobs.start_ns[job], jobs.end_ns[job]
        chunk = np.full(hi - lo, -1, np.int64)
        known = task >= 0
        if tasks is not None and known.any():
            row = tasks.first[job[known]] + task[known]
            start[known], end[known], chunk[known] = tasks.start_ns[row], tasks.end_ns[row], tasks.chunk[row]
        block = CoreSlices(core, start, end, job, np.where(known, 0, 1), task, chunk)
        first, stop = np.searchsorted(waits, [lo, hi]).tolist()
        yield _with_waits(block, waits[first:stop] - lo, since[first:stop]) if first < stop else block


def _with_waits(block: CoreSlices, at: Array, since: Array) -> CoreSlices:
    same = {name: getattr(block, name)[at] for name in ("core", "job", "task", "chunk")}
    kind = np.full(len(at), KINDS.index("wait for data"))
    waits = block._replace(**same, start_ns=since, end_ns=block.start_ns[at], kind=kind)
    return CoreSlices(*(np.insert(column, at, further) for column, further in zip(block, waits, strict=True)))


class Causes(NamedTuple):
    """One row per pair of jobs: ``cause`` released cores at the instant ``at_ns`` at which the waiting ``job`` started on
    some of them. Rows of ``ledger.jobs``; by ``job``, then by ``cause``."""

    job: Array
    cause: Array
    at_ns: Array


def causes(ledger: Ledger) -> Causes:
    """Return the jobs whose release of cores started others.

    A job that could have started earlier started when other jobs released cores that it then took. The job may also have
    waited for something else, such as its turn. Jobs that started on cores that were free before have no row.
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
    # The releases at one instant are disjoint intervals: sorted by their lower ends, they are also sorted by their upper ends.
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
