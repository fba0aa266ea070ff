"""Which job waits for which: SWF's preceding jobs and think times as arrays.

A job that names a preceding job becomes eligible at max(submit, end of that job + think time).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.workloads.workload import Workload
from traces.base.columns import Columns
from traces.base.errors import InputError
from traces.compiled import Array

__all__ = ["Dependencies", "dependencies"]

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Dependencies(Columns):
    """The dependencies of a workload's jobs, by row. Arrays are read-only int64.

    Attributes
    ----------
    depends_on : ndarray, shape (n,)
        Row of the preceding job, -1 for none.
    think_ns : ndarray, shape (n,)
        Time from that job's end to the submit; 0 where there is none.
    child_first : ndarray, shape (n + 1,)
        The jobs that depend on row ``r`` are ``child_row[child_first[r]:child_first[r + 1]]``.
    child_row : ndarray, shape (m,)
        Rows, ascending within a parent.
    missing : int
        How many jobs name a preceding job that is not in the workload. They do not wait.
    """

    depends_on: Array
    think_ns: Array
    child_first: Array
    child_row: Array
    missing: int

    def __len__(self) -> int:
        """How many jobs depend on another."""
        return len(self.child_row)


def dependencies(workload: Workload) -> Dependencies:
    """The dependencies that a workload's ``preceding`` and ``think_ns`` say.

    A preset job runs already, so that it waits for nothing.

    Raises
    ------
    InputError
        If jobs wait for each other in a circle; the message names them.
    """
    n = len(workload)
    asked = (workload.preceding >= 0) & (workload.preset == 0)
    by_number = np.argsort(workload.job_id)
    numbers = workload.job_id[by_number]
    place = np.minimum(np.searchsorted(numbers, workload.preceding), n - 1)
    found = asked & (numbers[place] == workload.preceding)
    depends_on = np.where(found, by_number[place], -1)
    _refuse_circles(workload, depends_on)
    child_first = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(depends_on[found], minlength=n), out=child_first[1:])
    rows = np.flatnonzero(found)
    return Dependencies(
        depends_on=depends_on.astype(np.int64),
        think_ns=np.where(found, workload.think_ns, 0).astype(np.int64),
        child_first=child_first,
        child_row=rows[np.argsort(depends_on[rows], kind="stable")].astype(np.int64),
        missing=int(np.count_nonzero(asked & ~found)),
    )


def _refuse_circles(workload: Workload, depends_on: Array) -> None:
    # Every row's ancestor of 2**k generations, until they are more than there are jobs: who still has one is in a
    # circle or waits for one. Row n is the ancestor of those that have none.
    n = len(depends_on)
    ancestor = np.append(np.where(depends_on < 0, n, depends_on), n)
    generations = 1
    while generations <= n:
        ancestor = ancestor[ancestor]
        generations *= 2
    endless = np.flatnonzero(ancestor[:n] < n)
    if not len(endless):
        return
    row = first = int(ancestor[endless].min())  # so many generations up, all are in circles
    circle = [first]
    while (row := int(depends_on[row])) != first:
        circle.append(row)
    circle.reverse()  # each is waited for by the next
    names = [str(workload.job_id[row]) for row in (*circle[:_SHOWN], circle[0])]
    if len(circle) > _SHOWN:
        names.insert(_SHOWN, f"… ({len(circle) - _SHOWN} more)")
    raise InputError(f"{workload.source}: jobs wait for each other: {' before '.join(names)}")
