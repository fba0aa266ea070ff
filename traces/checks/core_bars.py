"""Kernels that put what every core did into the order of time: a stable counting sort by core.

A *bar* is a task on its core; of a job without task rows, the whole job on each of its cores (task -1). A task that never
ran (its core is -1) is none, and a job that never started has no core to have one on. Jobs are visited by (start, end, row)
and a job's tasks in task order, so that a core's bars come out in the order of time unless a job's own tasks are not in it.
"""

from __future__ import annotations

from traces.compiled import compiled
from traces.kernels.signatures import Flags, Ints, Shorts

__all__ = ["count_bars", "first_holding_clash", "first_task_outside", "place_bars"]


@compiled()
def count_bars(rows_first: Ints, task_core: Shorts, allocation_first: Ints, lo: Ints, hi: Ints, counts: Ints) -> None:
    """Add the number of bars of each core to ``counts`` (int64, shape (n_cores,)).

    ``rows_first`` (shape (n_jobs + 1,)) says which task rows are a job's; the allocation is
    ``traces.ledger.JobRecords``'s. Cores must be within the machine: nothing is checked here.
    """
    for job in range(len(allocation_first) - 1):
        if rows_first[job + 1] > rows_first[job]:
            for row in range(rows_first[job], rows_first[job + 1]):
                if task_core[row] >= 0:
                    counts[task_core[row]] += 1
        else:
            for k in range(allocation_first[job], allocation_first[job + 1]):
                for core in range(lo[k], hi[k]):
                    counts[core] += 1


@compiled()
def place_bars(
    job_order: Ints,
    job_start: Ints,
    job_end: Ints,
    rows_first: Ints,
    task_core: Shorts,
    task_start: Ints,
    task_end: Ints,
    allocation_first: Ints,
    lo: Ints,
    hi: Ints,
    cursor: Ints,
    bar_job: Shorts,
    bar_task: Shorts,
    last_end: Ints,
    doubtful: Flags,
) -> None:
    """Write each bar's job and task at its core's ``cursor``, which moves on.

    ``last_end`` (int64, shape (n_cores,)) is the end of the core's last bar, to begin with the least int64;
    ``doubtful[core]`` is set where a bar starts before it, or ends before it starts.
    """
    for job in job_order:
        first, stop = rows_first[job], rows_first[job + 1]
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
            for k in range(allocation_first[job], allocation_first[job + 1]):
                for core in range(lo[k], hi[k]):
                    at = cursor[core]
                    cursor[core] = at + 1
                    bar_job[at] = job
                    bar_task[at] = -1
                    if job_start[job] < last_end[core] or job_end[job] < job_start[job]:
                        doubtful[core] = True
                    last_end[core] = job_end[job]


@compiled()
def first_holding_clash(
    job_order: Ints,
    start: Ints,
    end: Ints,
    allocation_first: Ints,
    lo: Ints,
    hi: Ints,
    free_from: Ints,
    holder: Ints,
) -> tuple[int, int]:
    """The first (job row, core) that takes a core before its last holder has left it, or (-1, -1).

    ``job_order`` is by (start, end, row); ``free_from`` and ``holder`` (int64, shape (n_cores,)) are scratch,
    to begin with the least int64 and -1, and name the holder afterwards.
    """
    for job in job_order:
        for k in range(allocation_first[job], allocation_first[job + 1]):
            for core in range(lo[k], hi[k]):
                if start[job] < free_from[core]:
                    return job, core
                free_from[core] = end[job]
                holder[core] = job
    return -1, -1


@compiled()
def first_task_outside(
    rows_first: Ints,
    task_core: Shorts,
    task_start: Ints,
    task_end: Ints,
    job_start: Ints,
    job_end: Ints,
    job_cores: Ints,
    allocation_first: Ints,
    lo: Ints,
    hi: Ints,
    owner: Ints,
) -> tuple[int, int, int]:
    """The first (job row, task, fault) whose task breaks a rule of its job, or (-1, -1, 0).

    Faults: 1 ends before it starts, 2 starts before the job, 3 ends after the job, 4 is on a core that is not among
    the first ``job_cores`` that the job holds. Tasks that never ran break none. ``owner`` (int64, shape (n_cores,)) is
    scratch, to begin with -1.
    """
    for job in range(len(job_start)):
        left = job_cores[job]
        for k in range(allocation_first[job], allocation_first[job + 1]):
            for core in range(lo[k], min(hi[k], lo[k] + left)):
                owner[core] = job
            left = max(0, left - (hi[k] - lo[k]))
        for row in range(rows_first[job], rows_first[job + 1]):
            fault = 0
            if task_core[row] < 0:
                continue
            if task_end[row] < task_start[row]:
                fault = 1
            elif task_start[row] < job_start[job]:
                fault = 2
            elif task_end[row] > job_end[job]:
                fault = 3
            elif owner[task_core[row]] != job:
                fault = 4
            if fault:
                return job, row - rows_first[job], fault
    return -1, -1, 0
