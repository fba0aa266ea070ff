"""How much detail a trace has: the ledger with its tasks, with a row a chunk in their place, or with jobs alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from traces.compiled import Array
from traces.holdings import holdings
from traces.ledger import Ledger, TaskRecords

__all__ = ["DETAILS", "with_detail"]

#: From the least to the most.
DETAILS = ("job", "chunk", "task")


def with_detail(ledger: Ledger, detail: str) -> Ledger:
    """A ledger of which a writer shows so much.

    Parameters
    ----------
    ledger : Ledger
    detail : str
        ``task``: all there is. ``chunk``: chunk k of a job in place of its tasks, as task k, from the start of the first to
        the end of the last; where a chunk's tasks ran on several cores, each core has a row of it, the further ones behind
        all. ``job``: each job on the cores that it held, from when to when it held them. Transfers, which are between tasks,
        are shown with tasks alone.
    """
    tasks = ledger.tasks
    if detail == "task" or tasks is None:
        return ledger
    if detail == "chunk":
        return replace(ledger, tasks=_chunks(ledger, tasks), transfers=None)
    return replace(ledger, tasks=_held(ledger) if ledger.releases is not None else None, transfers=None)


def _chunks(ledger: Ledger, tasks: TaskRecords) -> TaskRecords:
    n_jobs = len(ledger.jobs)
    ran = np.flatnonzero(tasks.start_ns >= 0)
    job = np.searchsorted(tasks.first[1:], ran, side="right")
    chunk, core = tasks.chunk[ran].astype(np.int64), tasks.core[ran].astype(np.int64)
    order = np.lexsort((tasks.start_ns[ran], core, chunk, job))
    job, chunk, core, ran = job[order], chunk[order], core[order], ran[order]
    another = np.ones(len(ran), np.bool_)
    another[1:] = (job[1:] != job[:-1]) | (chunk[1:] != chunk[:-1]) | (core[1:] != core[:-1])
    begin = np.flatnonzero(another)
    whose, number = job[begin], chunk[begin]
    again = np.zeros(len(begin), np.bool_)
    again[1:] = (whose[1:] == whose[:-1]) & (number[1:] == number[:-1])
    # Row k of a job is its chunk k, even where that never ran; behind them come the further cores of chunks.
    most = np.zeros(n_jobs, np.int64)
    np.maximum.at(most, whose, number + 1)
    further = np.bincount(whose[again], minlength=n_jobs)
    known = np.diff(tasks.first) > 0
    first = np.concatenate([[0], np.cumsum(np.maximum(most + further, known))])
    place = first[whose] + number
    nth = np.cumsum(again) - np.concatenate([[0], np.cumsum(further)])[whose] - 1
    place[again] = (first[whose] + most[whose] + nth)[again]
    rows = int(first[-1])

    def column(values: Array, missing: int, kind: type) -> Array:
        out: Array = np.full(rows, missing, kind)
        out[place] = values
        return out

    ends, lengths = tasks.end_ns[ran], tasks.length_gflop[ran]
    total = np.add.reduceat(lengths, begin) if len(begin) else lengths
    last = np.maximum.reduceat(ends, begin) if len(begin) else ends
    return TaskRecords(
        first,
        column(tasks.start_ns[ran][begin], -1, np.int64),
        column(last, -1, np.int64),
        column(core[begin], -1, np.int32),
        column(number, -1, np.int32),
        column(total, 0, np.float64),
    )


def _held(ledger: Ledger) -> TaskRecords:
    # Where jobs gave cores back, or were given some, each core that one held, and when: rows in place of tasks.
    held = holdings(ledger)
    width = held.hi - held.lo
    row = np.repeat(np.repeat(np.arange(len(held)), np.diff(held.first)), width)
    core = np.repeat(held.lo - np.cumsum(width) + width, width) + np.arange(int(width.sum()))
    first = np.searchsorted(held.job[row], np.arange(len(ledger.jobs) + 1))
    nothing = np.zeros(len(row))
    return TaskRecords(
        first, held.start_ns[row], held.end_ns[row], core.astype(np.int32), np.zeros(len(row), np.int32), nothing
    )
