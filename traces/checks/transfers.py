"""Invariants of transfers: each brings data between two tasks on different cores, after one and before the other."""

import numpy as np

from traces.checks.core_bars import TaskTimes
from traces.checks.jobs import InvariantError
from traces.compiled import compiled
from traces.kernels.signatures import Floats, Ints, Shorts
from traces.ledger import JobRecords, TaskRecords, TransferRecords

_FAULTS = {
    1: "leads to or from a task that does not exist; the job has {n_tasks} tasks",
    2: "leads to or from a task that never ran",
    3: "is between two tasks of one core, {source_core}",
    4: "begins at {sent} ns, before its data were made: the producer ends at {produced} ns",
    5: "arrives at {arrived} ns, before it began at {sent} ns",
    6: "arrives at {arrived} ns, after its consumer began at {consumed} ns",
    7: "brings {bytes} bytes",
    8: "does not follow the one before it, {before_source} -> {before_target}",
}


@compiled()
def first_transfer_fault(
    transfers_first: Ints, source: Shorts, target: Shorts, size: Floats, sent: Ints, arrived: Ints, tasks: TaskTimes
) -> tuple[int, int, int]:
    """Return the first (job row, transfer row, fault) that breaks a rule, or (-1, -1, 0); faults as in this module's table."""
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


def check_transfers(jobs: JobRecords, tasks: TaskRecords | None, transfers: TransferRecords) -> None:
    """Check the transfers of a run whose tasks have been checked.

    The rules: its two tasks exist, ran, and on different cores; it began at or after its producer's end, arrived no earlier
    than it began, and its consumer started at or after its arrival; its bytes are finite and not negative; a job's transfers
    are in the order of (source, target) without duplicates. Raises InvariantError for the first transfer that breaks one.
    """
    if tasks is None:
        if len(transfers):
            raise InvariantError("transfers: there are some, but the tasks between which they are were not kept")
        return
    columns = (transfers.source, transfers.target, transfers.bytes, transfers.sent_ns, transfers.arrived_ns)
    if not transfers.divides(len(jobs)):
        raise InvariantError(f"transfers: the bounds do not divide the rows among the {len(jobs)} jobs")
    job, row, fault = first_transfer_fault(transfers.first, *columns, TaskTimes.of(tasks))
    if not fault:
        return
    source, target = int(transfers.source[row]), int(transfers.target[row])
    found = {"n_tasks": int(tasks.first[job + 1] - tasks.first[job])}
    if fault > 1:
        producer, consumer = tasks.first[job] + source, tasks.first[job] + target
        found |= {
            "source_core": tasks.core[producer],
            "produced": tasks.end_ns[producer],
            "consumed": tasks.start_ns[consumer],
            "sent": transfers.sent_ns[row],
            "arrived": transfers.arrived_ns[row],
            "bytes": transfers.bytes[row],
            "before_source": transfers.source[row - 1],
            "before_target": transfers.target[row - 1],
        }
    raise InvariantError(f"job {jobs.job_id[job]}, transfer {source} -> {target} {_FAULTS[fault].format(**found)}")
