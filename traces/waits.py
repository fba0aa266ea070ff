"""Waiting for data: a core was free for its next task, but data from other cores had not arrived."""

import numpy as np

from traces.checks.core_bars import CoreBars, TaskTimes
from traces.checks.ledger import core_bars
from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints, Shorts
from traces.ledger import Ledger, TransferRecords


@compiled()
def latest_transfers(
    transfers_first: Ints,
    target: Shorts,
    sent: Ints,
    arrived: Ints,
    rows_first: Ints,
    latest_sent: Ints,
    latest_arrived: Ints,
) -> None:
    """Raise each task row's ``latest_sent`` and ``latest_arrived`` (int64, initially -1) to those of its transfers."""
    for job in range(len(transfers_first) - 1):
        for k in range(transfers_first[job], transfers_first[job + 1]):
            row = rows_first[job] + target[k]
            latest_sent[row] = max(latest_sent[row], sent[k])
            latest_arrived[row] = max(latest_arrived[row], arrived[k])


@compiled()
def wait_bars(
    bars: CoreBars,
    job_start: Ints,
    tasks: TaskTimes,
    latest_sent: Ints,
    latest_arrived: Ints,
    wait_bar: Ints,
    wait_from: Ints,
) -> int:
    """Write the bars that a core waited for (ascending), and since when (ns); return their number.

    A core waited for a task that started at the instant at which the last of its data arrived. It waited from the end of its
    previous task in that job, or from the job's start, but not before the last of the transfers began: until then it did not
    wait for the network. The latest instants are those of :func:`latest_transfers`; ``wait_bar`` and ``wait_from`` (int64)
    have room for every bar.
    """
    bar_first, bar_job, bar_task = bars.first, bars.job, bars.task
    rows_first, task_start, task_end = tasks.first, tasks.start, tasks.end
    found = 0
    for core in range(len(bar_first) - 1):
        for bar in range(bar_first[core], bar_first[core + 1]):
            job, task = bar_job[bar], bar_task[bar]
            if task < 0:
                continue
            row = rows_first[job] + task
            if latest_arrived[row] < 0 or latest_arrived[row] != task_start[row]:
                continue
            free = job_start[job]
            if bar > bar_first[core] and bar_job[bar - 1] == job:
                free = task_end[rows_first[job] + bar_task[bar - 1]]
            since = max(free, latest_sent[row])
            if since < task_start[row]:
                wait_bar[found] = bar
                wait_from[found] = since
                found += 1
    return found


def bar_waits(ledger: Ledger, bars: CoreBars, transfers: TransferRecords) -> tuple[Array, Array]:
    """Return the bars of a checked ledger that their cores waited for, as ascending places in ``bars``, and since when
    (ns): int64 (k,). The wait ends where the bar begins."""
    tasks = ledger.tasks
    none = np.zeros(0, np.int64)
    if tasks is None or len(transfers) == 0:
        return none, none
    sent, arrived = np.full(len(tasks), -1, np.int64), np.full(len(tasks), -1, np.int64)
    given = (transfers.first, transfers.target, transfers.sent_ns, transfers.arrived_ns, tasks.first)
    latest_transfers(*given, sent, arrived)
    bar, since = np.empty(len(bars.job), np.int64), np.empty(len(bars.job), np.int64)
    found = wait_bars(bars, ledger.jobs.start_ns, TaskTimes.of(tasks), sent, arrived, bar, since)
    return bar[:found].copy(), since[:found].copy()


def waits(ledger: Ledger) -> tuple[Array, Array, Array, Array]:
    """Return when cores waited for data, for a checked ledger; empty without transfers.

    Returns ``job`` and ``task``, int32 (k,), the job's row and the number in it of the task that the core waited for, by
    core, then by time; and ``from_ns`` and ``to_ns``, int64 (k,): ``to_ns`` is the task's start, and ``from_ns`` is
    earlier. Raises InvariantError if a core does two things at once, or a task row does not exist.
    """
    if ledger.tasks is None or ledger.transfers is None:
        none = np.zeros(0, np.int64)
        return none.astype(np.int32), none.astype(np.int32), none, none
    bars = core_bars(ledger)
    bar, since = bar_waits(ledger, bars, ledger.transfers)
    job, task = bars.job[bar], bars.task[bar]
    return job, task, since, ledger.tasks.start_ns[ledger.tasks.first[job] + task]


def graph_waits(
    core: Array, start_ns: Array, end_ns: Array, target: Array, sent_ns: Array, arrived_ns: Array
) -> tuple[Array, Array]:
    """Return the tasks that cores waited for, by core, then by time, and since when (ns): int64 (k,). The job begins at 0.

    - ``core``, ``start_ns``, ``end_ns``: int (n,), core and times of each task; core -1 if it did not run.
    - ``target``, ``sent_ns``, ``arrived_ns``: int (m,), for each transfer its receiving task, and its times.
    """
    n = len(core)
    order = np.lexsort((end_ns, start_ns, core))
    order = order[core[order] >= 0]
    cores = np.asarray(core, np.int64)[order]
    first = np.searchsorted(cores, np.arange(int(cores[-1]) + 2 if len(cores) else 1))
    bounds = np.array([0, n], np.int64)
    times = [np.array(column, np.int64) for column in (start_ns, end_ns)]
    tasks = TaskTimes(bounds, *times, np.array(core, np.int32), np.zeros(n, np.int32))
    latest = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    to, sent, arrived = np.array(target, np.int32), np.array(sent_ns, np.int64), np.array(arrived_ns, np.int64)
    latest_transfers(np.array([0, len(to)], np.int64), to, sent, arrived, bounds, *latest)
    bar, since = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    bars = CoreBars(first, np.zeros(len(order), np.int32), order.astype(np.int32))
    found = wait_bars(bars, np.zeros(1, np.int64), tasks, *latest, bar, since)
    return order[bar[:found]], since[:found].copy()
