"""Dependencies between jobs: SWF's preceding jobs and think times as arrays.

A job with a preceding job becomes eligible at max(submit, end of that job + think time). With several of them, the last end
counts.
"""

from dataclasses import dataclass

import numpy as np

from bls.workloads.workload import Workload
from traces.base.columns import Columns
from traces.base.errors import InputError
from traces.compiled import Array

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Dependencies(Columns):
    """The dependencies of a workload's jobs, by row. Arrays are read-only int64."""

    depends_on: Array  # (n,): row of the preceding job (if there are several, the first in the workload); -1 for none
    think_ns: Array  # (n,): time from that job's end to the submit; 0 for none
    waits_for: Array  # (n,): number of jobs for which each job waits
    child_first: Array  # (n + 1,): ``child_row[child_first[r]:child_first[r + 1]]`` depend on row ``r``
    child_row: Array  # (m,): rows, ascending within a parent
    missing: int  # number of jobs with a preceding job outside the workload; they do not wait for it

    def __len__(self) -> int:
        """Number of jobs that depend on another."""
        return int(np.count_nonzero(self.waits_for))

    @property
    def several(self) -> bool:
        """Whether a job waits for several others."""
        return len(self.waits_for) > 0 and int(self.waits_for.max()) > 1


def dependencies(workload: Workload) -> Dependencies:
    """The dependencies in a workload's ``preceding``, ``also_preceding`` and ``think_ns``. A preset job is running, so it has
    none. Raises InputError, which names the jobs, if dependencies are circular."""
    n = len(workload)
    by_number = np.argsort(workload.job_id)
    child, named = _links(workload)
    numbers = workload.job_id[by_number]
    place = np.minimum(np.searchsorted(numbers, named), n - 1)
    found = numbers[place] == named
    missing = len(np.unique(child[~found]))
    child, parent = child[found], by_number[place[found]]
    waits_for = np.bincount(child, minlength=n)
    depends_on = np.full(n, -1)
    depends_on[child[::-1]] = parent[::-1]  # the first of several
    child_first = np.append(0, np.cumsum(np.bincount(parent, minlength=n)))
    child_row = child[np.lexsort((child, parent))]
    _refuse_circles(workload, child, parent)
    return Dependencies(
        depends_on=depends_on.astype(np.int64),
        think_ns=np.where(waits_for > 0, workload.think_ns, 0).astype(np.int64),
        waits_for=waits_for.astype(np.int64),
        child_first=child_first,
        child_row=child_row.astype(np.int64),
        missing=missing,
    )


def _links(workload: Workload) -> tuple[Array, Array]:
    """Rows of waiting jobs, once for each job that they name, and the numbers of the named jobs."""
    rows = np.flatnonzero((workload.preceding >= 0) & (workload.preset == 0))
    named = workload.preceding[rows]
    if not workload.also_preceding:
        return rows, named
    row_of = dict(zip(workload.job_id.tolist(), range(len(workload)), strict=True))
    first = dict(zip(rows.tolist(), named.tolist(), strict=True))
    further = [
        (row_of[job], other)
        for job, others in workload.also_preceding.items()
        if row_of.get(job) in first
        for other in dict.fromkeys(others)
        if other != first[row_of[job]]
    ]
    more = np.array(further, np.int64).reshape(-1, 2)
    order = np.argsort(np.concatenate([rows, more[:, 0]]), kind="stable")
    return np.concatenate([rows, more[:, 0]])[order], np.concatenate([named, more[:, 1]])[order]


def _refuse_circles(workload: Workload, child: Array, parent: Array) -> None:
    if np.all(parent < child):
        return  # each job waits for earlier rows only
    circle = _circle(len(workload), child, parent)
    if not circle:
        return
    if len(circle) == 1:
        raise InputError(f"{workload.source}: job {workload.job_id[circle[0]]} names itself as its preceding job")
    names = [str(workload.job_id[row]) for row in (*circle[:_SHOWN], circle[0])]
    if len(circle) > _SHOWN:
        names.insert(_SHOWN, f"… ({len(circle) - _SHOWN} more)")
    raise InputError(f"{workload.source}: jobs wait for each other: {' before '.join(names)}")


def _circle(n: int, child: Array, parent: Array) -> list[int]:
    """Rows of a circle, each before the row that waits for it; empty if there is none."""
    waits: list[int] = np.bincount(child, minlength=n).tolist()
    children: dict[int, list[int]] = {}
    for one, other in zip(child.tolist(), parent.tolist(), strict=True):
        children.setdefault(other, []).append(one)
    free = [row for row in range(n) if not waits[row]]
    while free:
        for one in children.get(free.pop(), ()):
            waits[one] -= 1
            if not waits[one]:
                free.append(one)
    # Rows that still wait are in a circle or depend on one: following their dependencies leads into it.
    before = {one: other for one, other in zip(child.tolist(), parent.tolist(), strict=True) if waits[other]}
    row = next((row for row in range(n) if waits[row]), -1)
    if row < 0:
        return []
    for _ in range(n):
        row = before[row]
    first, circle = row, [row]
    while (row := before[row]) != first:
        circle.append(row)
    circle.reverse()
    at = circle.index(min(circle))
    return circle[at:] + circle[:at]
