"""What cores did, in blocks of slices that follow one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.detail import shown_bars
from traces.exporters.shown.rows import BLOCK
from traces.ledger import Ledger
from traces.waits import bar_waits

#: What a slice is: a task; a job, of which no tasks are known; or the core's wait for what its next task needs.
KINDS = ("task", "job", "wait for data")


class CoreSlices(NamedTuple):
    """Some slices, one column each; a core's are in the order of time, and never lie over one another."""

    # ndarray of int64: where, and from when to when
    core: Array
    start_ns: Array
    end_ns: Array
    job: Array  # ndarray of int64: row of ``ledger.jobs``
    kind: Array  # ndarray of int64: a place in :data:`KINDS`
    # ndarray of int64: numbers within the job; of a wait those of the task that is waited for. -1 of a job.
    task: Array
    chunk: Array


def core_slices(ledger: Ledger) -> Iterator[CoreSlices]:
    """All slices of a ledger, core by core, in blocks of some :data:`traces.exporters.shown.rows.BLOCK`.

    Beside the ledger 8 bytes a task are held, and with transfers 16 more.

    Raises
    ------
    InvariantError
        If a core does two things at once.
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
    waits = block._replace(
        **{name: getattr(block, name)[at] for name in ("core", "job", "task", "chunk")},
        start_ns=since,
        end_ns=block.start_ns[at],
        kind=np.full(len(at), 2, np.int64),
    )
    return CoreSlices(*(np.insert(column, at, further) for column, further in zip(block, waits, strict=True)))
