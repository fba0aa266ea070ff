"""The ledger: what happened, in columns. Both levels fill it, every table, trace and figure reads it.

A ledger is frozen: its arrays are read-only, and exporters only look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from traces.compiled import Array

__all__ = ["JobRecords", "Ledger", "Machine", "TaskRecords"]


@dataclass(frozen=True)
class Machine:
    """The machine as a trace shows it: named hosts of consecutively numbered cores.

    Attributes
    ----------
    name : str
        Name of the cluster.
    host_names : tuple of str
        One per host.
    first_core : ndarray of int64, shape (n_hosts + 1,)
        Host ``h`` has the global cores ``first_core[h]`` up to, not including, ``first_core[h + 1]``.
    """

    name: str
    host_names: tuple[str, ...]
    first_core: Array

    @property
    def n_hosts(self) -> int:
        """Number of hosts."""
        return len(self.host_names)

    @property
    def n_cores(self) -> int:
        """Number of cores of the whole machine."""
        return int(self.first_core[-1])


def _freeze(record: object) -> None:
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


@dataclass(frozen=True)
class JobRecords:
    """One row a job, in workload order. Times are ns since the workload's time 0.

    Attributes
    ----------
    job_id : ndarray of int64, shape (n,)
        The workload's job number.
    submit_ns, start_ns, end_ns, estimate_ns, deadline_ns : ndarray of int64, shape (n,)
        ``estimate_ns`` is a duration, the others instants.
    cores : ndarray of int64, shape (n,)
        Number of cores the job held.
    tasks, chunks : ndarray of int64, shape (n,)
        Number of tasks computed and of chunks assigned; 0 where there was no application level.
    length_gflop : ndarray of float64, shape (n,)
        Sum of the job's task lengths, or its nominal length where there was no application level.
    imbalance, cov : ndarray of float64, shape (n,)
        ``als.metrics``; NaN where there was no application level.
    allocation_first : ndarray of int64, shape (n + 1,)
        Job ``i`` held the intervals ``allocation_first[i]:allocation_first[i + 1]`` of the next two.
    allocation_lo, allocation_hi : ndarray of int64
        Half-open intervals ``[lo, hi)`` of global core numbers, ascending within a job.
    """

    job_id: Array
    submit_ns: Array
    start_ns: Array
    end_ns: Array
    estimate_ns: Array
    deadline_ns: Array
    cores: Array
    tasks: Array
    chunks: Array
    length_gflop: Array
    imbalance: Array
    cov: Array
    allocation_first: Array
    allocation_lo: Array
    allocation_hi: Array

    def __post_init__(self) -> None:
        _freeze(self)

    def __len__(self) -> int:
        return len(self.job_id)

    def allocation(self, row: int) -> Iterator[tuple[int, int]]:
        """The intervals of one job."""
        first, stop = int(self.allocation_first[row]), int(self.allocation_first[row + 1])
        for k in range(first, stop):
            yield int(self.allocation_lo[k]), int(self.allocation_hi[k])


@dataclass(frozen=True)
class TaskRecords:
    """One row a task: jobs in workload order, and a job's tasks in task order.

    Attributes
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
        Job ``i`` has the rows ``first[i]:first[i + 1]``; task ``k`` of it is row ``first[i] + k``.
    start_ns, end_ns : ndarray of int64, shape (m,)
        Instants since the workload's time 0.
    core : ndarray of int32, shape (m,)
        Global core number.
    chunk : ndarray of int32, shape (m,)
        Number of the chunk within the job, in the order the chunks were assigned, from 0.
    length_gflop : ndarray of float64, shape (m,)
        Work.
    """

    first: Array
    start_ns: Array
    end_ns: Array
    core: Array
    chunk: Array
    length_gflop: Array

    def __post_init__(self) -> None:
        _freeze(self)

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class Ledger:
    """What one run did: the machine, its jobs and, where they were kept, their tasks."""

    machine: Machine
    jobs: JobRecords
    tasks: TaskRecords | None
