"""Kernels of the checks: they find the first fault, and sort the bars of every core by time (a stable counting sort by core).

A *bar* is a task on its core; for a job without task rows, the whole job on each of its cores (task -1). A task that never
ran (core -1) has no bar, nor has a job that never started. Jobs are visited by (start, end, row) and a job's tasks in task
order, so a core's bars are in the order of time unless a job's own tasks are not.
"""

from __future__ import annotations

import numpy as np

from traces.compiled import State, compiled
from traces.holdings import Holdings
from traces.kernels.signatures import Flags, Floats, Ints, Shorts
from traces.ledger import TaskRecords


class CoreBars(State):
    """The bars of each core, in the order of time, without overlaps."""

    first: Ints  # (n_cores + 1,): core ``c`` has the bars ``first[c]:first[c + 1]``
    job: Shorts  # ndarray of int32, shape (k,): row of the job in ``ledger.jobs``
    # ndarray of int32, shape (k,): number of the task within the job; -1 for the whole job, if it has no task rows
    task: Shorts


class TaskTimes(State):
    """Times and core of each task: columns of ``traces.ledger.TaskRecords``."""

    first: Ints
    start: Ints
    end: Ints
    core: Shorts
    chunk: Shorts

    @classmethod
    def of(cls, tasks: TaskRecords) -> TaskTimes:
        """The times of a ledger's tasks."""
        times = (np.ascontiguousarray(column, np.int64) for column in (tasks.first, tasks.start_ns, tasks.end_ns))
        return cls(*times, *(np.ascontiguousarray(column, np.int32) for column in (tasks.core, tasks.chunk)))


@compiled()
def count_bars(jobs: Holdings, tasks: TaskTimes, counts: Ints) -> None:
    """Add the number of bars of each core to ``counts`` (int64, shape (n_cores,)).

    Cores must be within the machine; this is not checked here.
    """
    first, lo, hi = jobs.first, jobs.lo, jobs.hi
    rows_first, task_core = tasks.first, tasks.core
    for job in range(len(first) - 1):
        if rows_first[job + 1] > rows_first[job]:
            for row in range(rows_first[job], rows_first[job + 1]):
                if task_core[row] >= 0:
                    counts[task_core[row]] += 1
        else:
            for k in range(first[job], first[job + 1]):
                for core in range(lo[k], hi[k]):
                    counts[core] += 1


@compiled()
def place_bars(
    job_order: Ints, jobs: Holdings, tasks: TaskTimes, cursor: Ints, bars: CoreBars, last_end: Ints, doubtful: Flags
) -> None:
    """Write each bar's job and task at its core's ``cursor``, which advances.

    ``last_end`` (int64, shape (n_cores,)) is the end of the core's last bar, initially the least int64;
    ``doubtful[core]`` is set if a bar starts before it, or ends before it starts.
    """
    lo, hi, bar_job, bar_task = jobs.lo, jobs.hi, bars.job, bars.task
    task_core, task_start, task_end = tasks.core, tasks.start, tasks.end
    for job in job_order:
        first, stop = tasks.first[job], tasks.first[job + 1]
        for row in range(first, stop):
            core = task_core[row]
            if core < 0:
                continue
            at = cursor[core]
            cursor[core] = at + 1
            bar_job[at] = job
            bar_task[at] = row - first
            if task_start[row] < last_end[core] or task_end[row] < task_start[row]:
                doubtful[core] = True
            last_end[core] = task_end[row]
        if first == stop:
            start, end = jobs.start_ns[job], jobs.end_ns[job]
            for k in range(jobs.first[job], jobs.first[job + 1]):
                for core in range(lo[k], hi[k]):
                    at = cursor[core]
                    cursor[core] = at + 1
                    bar_job[at] = job
                    bar_task[at] = -1
                    if start < last_end[core] or end < start:
                        doubtful[core] = True
                    last_end[core] = end


@compiled()
def first_holding_clash(job_order: Ints, jobs: Holdings, free_from: Ints, holder: Ints) -> tuple[int, int]:
    """Return the first (job row, core) that takes a core before its last holder has left it, or (-1, -1).

    ``job_order`` is by (start, end, row); ``free_from`` and ``holder`` (int64, shape (n_cores,)) are work space, initially
    the least int64 and -1; afterwards they name the holder.
    """
    start, end, lo, hi = jobs.start_ns, jobs.end_ns, jobs.lo, jobs.hi
    for job in job_order:
        for k in range(jobs.first[job], jobs.first[job + 1]):
            for core in range(lo[k], hi[k]):
                if start[job] < free_from[core]:
                    return job, core
                free_from[core] = end[job]
                holder[core] = job
    return -1, -1


@compiled()
def first_task_outside(jobs: Holdings, tasks: TaskTimes, job_cores: Ints, owner: Ints) -> tuple[int, int, int]:
    """Return the first (job row, task, fault) whose task breaks a rule of its job, or (-1, -1, 0).

    Faults: 1 ends before it starts, 2 starts before the job, 3 ends after the job, 4 is on a core that is not among the first
    ``job_cores`` of the job. Tasks that never ran have no faults. ``owner`` (int64, shape (n_cores,)) is work space,
    initially -1.
    """
    lo, hi = jobs.lo, jobs.hi
    task_core, task_start, task_end = tasks.core, tasks.start, tasks.end
    for job in range(len(jobs.start_ns)):
        left = job_cores[job]
        for k in range(jobs.first[job], jobs.first[job + 1]):
            for core in range(lo[k], min(hi[k], lo[k] + left)):
                owner[core] = job
            left = max(0, left - (hi[k] - lo[k]))
        first, start, end = tasks.first[job], jobs.start_ns[job], jobs.end_ns[job]
        for row in range(first, tasks.first[job + 1]):
            fault = 0
            if task_core[row] < 0:
                continue
            if task_end[row] < task_start[row]:
                fault = 1
            elif task_start[row] < start:
                fault = 2
            elif task_end[row] > end:
                fault = 3
            elif owner[task_core[row]] != job:
                fault = 4
            if fault:
                return job, row - first, fault
    return -1, -1, 0


@compiled()
def first_transfer_fault(
    transfers_first: Ints, source: Shorts, target: Shorts, size: Floats, sent: Ints, arrived: Ints, tasks: TaskTimes
) -> tuple[int, int, int]:
    """Return the first (job row, transfer row, fault) that breaks a rule, or (-1, -1, 0).

    The faults are those of ``traces.checks.ledger``."""
    rows_first, task_core, task_start, task_end = tasks.first, tasks.core, tasks.start, tasks.end
    for job in range(len(transfers_first) - 1):
        first_task = rows_first[job]
        n_tasks = rows_first[job + 1] - first_task
        for row in range(transfers_first[job], transfers_first[job + 1]):
            a, b = source[row], target[row]
            if not (0 <= a < n_tasks and 0 <= b < n_tasks):
                return job, row, 1
            producer, consumer = first_task + a, first_task + b
            fault = 0
            if task_core[producer] < 0 or task_core[consumer] < 0:
                fault = 2
            elif task_core[producer] == task_core[consumer]:
                fault = 3
            elif sent[row] < task_end[producer]:
                fault = 4
            elif arrived[row] < sent[row]:
                fault = 5
            elif task_start[consumer] < arrived[row]:
                fault = 6
            elif not 0.0 <= size[row] < np.inf:
                fault = 7
            elif row > transfers_first[job] and (
                a < source[row - 1] or (a == source[row - 1] and b <= target[row - 1])
            ):
                fault = 8
            if fault:
                return job, row, fault
    return -1, -1, 0
