"""The detail of a trace: which rows it has, and what is shown on cores."""

from dataclasses import replace

import numpy as np

from traces.checks.core_bars import CoreBars
from traces.checks.ledger import core_bars
from traces.compiled import Array
from traces.holdings import holdings
from traces.intervals import intervals_of
from traces.ledger import Ledger, MachineShape, TaskRecords

DETAILS = ("lane", "host", "job", "chunk", "task")  #: from the least to the most

#: Viewers open traces with this number of cores, or of hosts; some need an open file for each row. On larger machines, only
#: cores and hosts that are used have rows.
MOST_CORES, MOST_HOSTS = 4096, 1000


def automatic_detail(machine: MachineShape) -> str:
    """Return the most detail that a viewer can open: ``task``; with many cores ``host``; with many hosts, too, ``lane``."""
    if machine.n_cores <= MOST_CORES:
        return "task"
    return "host" if machine.n_hosts <= MOST_HOSTS else "lane"


def _used_cores(ledger: Ledger) -> Array:
    held = holdings(ledger)
    steps = np.zeros(ledger.machine.n_cores + 1, np.int64)
    np.add.at(steps, held.lo, 1)
    np.add.at(steps, held.hi, -1)
    return np.flatnonzero(np.cumsum(steps)[:-1] > 0)


def shown_bars(ledger: Ledger) -> CoreBars:
    """Return the bars of cores in a trace: none if it shows no cores. Raises InvariantError, InputError as
    :func:`traces.checks.ledger.core_bars`."""
    if ledger.shows == "cores":
        return core_bars(ledger)
    nothing = np.zeros(0, np.int32)
    return CoreBars(np.zeros(ledger.machine.n_cores + 1, np.int64), nothing, nothing)


def shown_cores(ledger: Ledger, *, used: bool = False) -> Array:
    """Return the cores that have rows, int64: all, those that a job ever held (``used``, or on large machines), or none."""
    if ledger.shows != "cores":
        return np.zeros(0, np.int64)
    n = ledger.machine.n_cores
    return _used_cores(ledger) if used or n > MOST_CORES else np.arange(n)


def shown_hosts(ledger: Ledger) -> Array:
    """Return the hosts that have rows, int64: all, those with cores that a job ever held (on large machines), or none."""
    machine = ledger.machine
    if ledger.shows == "lanes":
        return np.zeros(0, np.int64)
    if machine.n_cores <= MOST_CORES:
        return np.arange(machine.n_hosts)
    return np.unique(machine.host_of(_used_cores(ledger)))


def with_detail(ledger: Ledger, detail: str) -> Ledger:
    """Return the ledger that a writer shows in this detail.

    - ``detail``: ``lane``: jobs on lanes, without rows of hosts or cores. ``host``: also the number of busy cores of each
      host. The others have rows of cores, too. ``task``: everything. ``chunk``: chunk k of a job instead of its tasks, as
      task k, from the start of the first to the end of the last task; if a chunk's tasks ran on several cores, each core
      has a row, the further ones after all chunks. ``job``: each job on its cores while it held them. Transfers, which are
      between tasks, are shown with tasks only.
    """
    tasks = ledger.tasks
    if detail in ("lane", "host"):
        return replace(ledger, tasks=None, transfers=None, shows=f"{detail}s")
    if detail == "task" or tasks is None:
        return ledger
    if detail == "chunk":
        return replace(ledger, tasks=_chunks(ledger, tasks), transfers=None)
    held = _held(ledger) if ledger.releases is not None else None
    return replace(ledger, tasks=held, transfers=None, computes=False)


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
    # Row k of a job is its chunk k, even if it never ran; the further cores of chunks follow.
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
    # If jobs released or got cores: a row for each core that a job held instead of tasks.
    held = holdings(ledger)
    width = held.hi - held.lo
    row = np.repeat(np.repeat(np.arange(len(held)), np.diff(held.first)), width)
    core = intervals_of(held.lo, width)
    first = np.searchsorted(held.job[row], np.arange(len(ledger.jobs) + 1))
    chunk, nothing = np.zeros(len(row), np.int32), np.zeros(len(row))
    return TaskRecords(first, held.start_ns[row], held.end_ns[row], core.astype(np.int32), chunk, nothing)
