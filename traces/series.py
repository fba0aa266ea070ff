"""The numbers of waiting jobs, busy cores and computing cores over time: of the whole machine, and of each host."""

from dataclasses import dataclass

import numpy as np

from traces.compiled import Array, State, compiled
from traces.holdings import holdings
from traces.kernels.signatures import Floats, Ints
from traces.ledger import WHY, Ledger

_NEVER = WHY.index("never")


@dataclass(frozen=True)
class LoadSeries:
    """A step function of time: each row holds from its instant until the next row's; before the first, everything is 0."""

    instant_ns: Array  # int64 (k,), strictly increasing instants, ns since the workload's time 0
    # int64 (k,), waiting jobs: submitted, no longer waiting for another job's end, and not started yet, after all events of the
    # instant. A job that was cut and requeued waits again. Jobs that never start do not count, except those that wait at the
    # end of a ledger that was cut out of a longer one
    queue_length: Array
    busy_cores: Array  # int64 (k,), cores allocated to jobs, after all events of the instant

    def __len__(self) -> int:
        return len(self.instant_ns)


def load_series(ledger: Ledger) -> LoadSeries:
    """Return queue length and busy cores wherever one of them changes. ``ledger``: attempts at jobs in any order. One row per
    instant at which the state changes."""
    jobs, held = ledger.jobs, holdings(ledger)
    started = jobs.started
    until = jobs.start_ns
    if ledger.window_ns is not None:
        # Rejected jobs leave at once; jobs that have neither started nor left by then wait on, beyond the window.
        waits = ~started & (jobs.left_ns == ledger.window_ns[1]) & (jobs.eligible_ns >= 0) & (jobs.why != _NEVER)
        started, until = started | waits, np.where(waits, ledger.window_ns[1], until)
    n, k = int(np.count_nonzero(started)), len(held)
    instants = np.concatenate([jobs.eligible_ns[started], until[started], held.start_ns, held.end_ns])
    queue_steps = np.repeat(np.array([1, -1, 0], np.int64), [n, n, 2 * k])
    busy_steps = np.concatenate([np.zeros(2 * n, np.int64), held.cores, -held.cores])
    order = np.argsort(instants, kind="stable")
    instants = instants[order]
    queue, busy = np.cumsum(queue_steps[order]), np.cumsum(busy_steps[order])
    last_of_instant = np.ones(len(instants), bool)
    last_of_instant[:-1] = instants[1:] != instants[:-1]
    instants, queue, busy = instants[last_of_instant], queue[last_of_instant], busy[last_of_instant]
    changed = (np.diff(queue, prepend=0) != 0) | (np.diff(busy, prepend=0) != 0)
    return LoadSeries(instants[changed], queue[changed], busy[changed])


@compiled(inner=True)
def _interval_of(edges: Ints, instant: int) -> int:
    """Return the index of the last edge that is not after the instant; -1 if there is none."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if edges[middle] <= instant:
            low = middle + 1
        else:
            high = middle
    return low - 1


@compiled()
def _add_overlaps(edges: Ints, start: Ints, end: Ints, steps: Ints, part_ns: Floats) -> None:
    """Add each task's overlap with the intervals between edges.

    An interval covered by a task is counted in ``steps``, whose running sum is the number of such tasks; for the intervals in
    which it starts or ends, ``part_ns`` gets the time in it.
    """
    for k in range(len(start)):
        if start[k] < 0 or end[k] <= start[k]:
            continue
        first, last = _interval_of(edges, start[k]), _interval_of(edges, end[k])
        if first == last:
            if first >= 0:
                part_ns[first] += end[k] - start[k]
            continue
        if first >= 0:
            part_ns[first] += edges[first + 1] - start[k]
        part_ns[last] += end[k] - edges[last]
        steps[first + 1] += 1
        steps[last] -= 1


def computing_cores(ledger: Ledger, load: LoadSeries) -> Array | None:
    """Return the mean number of cores inside tasks, until the number of busy cores changes next.

    - ``load``: of this ledger.

    Returns ndarray of int64, or None without tasks: one per row of ``load``, in thousandths of a core. Rows between two
    changes of the busy cores have the same value; it is 0 from the last change on.
    """
    tasks = ledger.tasks
    if tasks is None or not ledger.computes:
        return None
    changes = np.diff(load.busy_cores, prepend=0) != 0
    edges = np.ascontiguousarray(load.instant_ns[changes], np.int64)
    steps, part_ns = np.zeros(len(edges), np.int64), np.zeros(len(edges))
    start, end = (np.ascontiguousarray(column, np.int64) for column in (tasks.start_ns, tasks.end_ns))
    if len(edges):
        _add_overlaps(edges, start, end, steps, part_ns)
    milli = np.zeros(1 + len(edges), np.int64)  # the first is for rows before any core is busy
    if len(edges) > 1:
        milli[1:-1] = np.rint(1000 * (np.cumsum(steps)[:-1] + part_ns[:-1] / np.diff(edges)))
    return np.asarray(milli[np.cumsum(changes)])


class HostSeries(State):
    """Cores of each host that are allocated to jobs: step functions of time, 0 before their first row."""

    # first, stop: int64 (n_hosts,), host ``h`` has the rows ``first[h]:stop[h]``
    first: Ints
    stop: Ints
    instant_ns: Ints  # ndarray of int64, strictly increasing instants of each host, ns since the workload's time 0
    # ndarray of int64, cores of the host allocated to jobs, after all events of the instant; different from the row before
    busy_cores: Ints


@compiled()
def _host_changes(
    instant: Ints, order: Ints, held: Ints, lo: Ints, hi: Ints, host: Ints, first_core: Ints, series: HostSeries
) -> None:
    """Fill in all columns of ``series`` except ``first``; initially ``stop`` equals ``first``.

    For n jobs ``instant`` has the ends, then the starts; ``held``, ``lo`` and ``hi`` are their allocations, and ``host`` is
    the host of the first core of each interval.
    """
    n = len(held) - 1
    first, stop, at, busy = series.first, series.stop, series.instant_ns, series.busy_cores
    for event in order:
        job, sign = event % n, 1 if event >= n else -1
        for k in range(held[job], held[job + 1]):
            h = host[k]
            while h < len(first) and first_core[h] < hi[k]:
                change = sign * (min(hi[k], first_core[h + 1]) - max(lo[k], first_core[h]))
                last = stop[h] - 1
                now = change + (busy[last] if last >= first[h] else 0)
                if last < first[h] or at[last] < instant[event]:
                    last += 1
                    at[last] = instant[event]
                busy[last] = now
                stop[h] = last + 1
                h += 1
    # Changes at one instant that cancel out give no row.
    for h in range(len(first)):
        kept, before = first[h], 0
        for k in range(first[h], stop[h]):
            if busy[k] != before:
                at[kept], busy[kept] = at[k], busy[k]
                before = busy[k]
                kept += 1
        stop[h] = kept


def host_series(ledger: Ledger) -> HostSeries:
    """Return the busy cores of each host wherever they change. ``ledger``: attempts at jobs in any order."""
    machine, cores_held = ledger.machine, holdings(ledger)
    first_core = np.ascontiguousarray(machine.first_core, np.int64)
    lo, hi = (np.ascontiguousarray(column, np.int64) for column in (cores_held.lo, cores_held.hi))
    host, last_host = (np.searchsorted(first_core, core, side="right") - 1 for core in (lo, hi - 1))
    # At most two rows per interval on each host that it reaches.
    rows = np.bincount(host, minlength=machine.n_hosts + 1) - np.bincount(last_host + 1, minlength=machine.n_hosts + 1)
    first = np.concatenate([[0], 2 * np.cumsum(np.cumsum(rows[:-1]))])
    series = HostSeries(first[:-1], first[:-1].copy(), *np.empty((2, first[-1]), np.int64))
    instant = np.concatenate([cores_held.end_ns, cores_held.start_ns])
    held = np.ascontiguousarray(cores_held.first, np.int64)
    _host_changes(instant, np.argsort(instant, kind="stable"), held, lo, hi, host, first_core, series)
    return series
