"""The machine and its queue over time: step functions of a schedule, made in one sweep over its events.

A row of a step function is valid from its instant until that of the next row. Events of one instant are combined: a job that
waits or runs for no time does not appear.
"""

from dataclasses import dataclass

import numpy as np

from bls.availability.free_cores import add_number, new_tree, next_number, remove_number
from bls.metrics.schedule import NO_DOWNTIME, Allocations, Downtime, Schedule
from bls.workloads.columns import distinct
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State


@dataclass(frozen=True)
class Occupancy:
    """The numbers of waiting jobs and of held cores over time. Before the first row, all are 0."""

    instant_ns: Array  # int64 (k,): strictly increasing
    queue_length: Array  # int64 (k,): rows eligible and not yet started
    queued_cores: Array  # int64 (k,): cores that these rows request in total
    smallest_waiting: Array  # int64 (k,): the smallest request of these rows; 0 if none waits
    busy_cores: Array  # int64 (k,): cores held
    down_cores: Array  # int64 (k,): cores of hosts that are down


def lasting_ns(instant_ns: Array, begin_ns: int, end_ns: int) -> Array:
    """The time for which each row of a step function is valid within [begin, end): int64 (k,), 0 for a row outside."""
    inside = np.clip(instant_ns, begin_ns, end_ns)
    return np.diff(inside, append=np.int64(end_ns))


def occupancy(
    schedule: Schedule, downtime: Downtime = NO_DOWNTIME, span_ns: tuple[int, int] | None = None
) -> Occupancy:  # fmt: skip
    """The queue and the held cores of a schedule over time. Every attempt waits from the instant at which it became eligible
    until it starts, or leaves the queue at a known time. ``span_ns``: the span of downtime, by default the schedule's."""
    started = schedule.started
    gone = np.where(started, schedule.start_ns, schedule.left_ns)
    waits = np.flatnonzero((schedule.eligible_ns >= 0) & (gone > schedule.eligible_ns))
    holds = schedule.held
    runs = np.flatnonzero(holds.end_ns > holds.start_ns)
    down = downtime.within(*(span_ns or schedule.span_ns))

    asked, held = schedule.cores[waits], holds.cores[runs]
    # Begins and ends of waits, of runs, and of downtime.
    running = holds.start_ns[runs], holds.end_ns[runs]
    time = np.concatenate((schedule.eligible_ns[waits], gone[waits], *running, down.down_ns, down.up_ns))
    # Waiting jobs by size: the smallest size that waits is the next rank of a queue of sizes.
    size, rank = distinct(asked)
    words, starts = new_tree(len(size))
    columns = np.zeros((6, len(time)), np.int64)  # rows that are not written to take no memory
    given = (time, np.argsort(time, kind="stable"), asked, held, down.cores, rank, size)
    time, order, asked, held, down_cores, rank, size = (own(column, np.int64) for column in given)
    waiting = np.zeros(len(size), np.int64)
    rows = _sweep(time, order, asked, held, down_cores, rank, size, waiting, words, starts, columns)
    return Occupancy(*columns[:, :rows])


@compiled()
def _sweep(
    time: Ints, order: Ints, asked: Ints, held: Ints, down_cores: Ints, rank: Ints, size: Ints, waiting: Ints, words: Ints,
    starts: Ints, out: Ints2,
) -> int:  # fmt: skip
    """Fill the columns of ``Occupancy`` from the left, and return the number of rows; events are handled in ``order`` of time.
    Opposite events of one instant cancel each other, in any order."""
    n_waits, n_runs = asked.size, held.size
    length = queued = busy = down = 0
    row = -1
    for k in range(order.size):
        event = order[k]
        now = time[event]
        if row < 0 or now != out[0, row]:
            row += 1
            out[0, row] = now
        if event < 2 * n_waits:
            sign, job = (1, event) if event < n_waits else (-1, event - n_waits)
            length += sign
            queued += sign * asked[job]
            waiting[rank[job]] += sign
            if waiting[rank[job]] > 0:
                add_number(words, starts, rank[job])
            else:
                remove_number(words, starts, rank[job])
        elif event < 2 * n_waits + n_runs:
            busy += held[event - 2 * n_waits]
        elif event < 2 * (n_waits + n_runs):
            busy -= held[event - 2 * n_waits - n_runs]
        else:
            host = event - 2 * (n_waits + n_runs)
            down += down_cores[host] if host < down_cores.size else -down_cores[host - down_cores.size]
        if k + 1 == order.size or time[order[k + 1]] != now:
            out[1, row] = length
            out[2, row] = queued
            if length > 0:
                out[3, row] = size[next_number(words, starts, 0)]
            out[4, row] = busy
            out[5, row] = down
    return row + 1


@dataclass(frozen=True)
class FreeBlocks:
    """The maximal blocks of consecutive free cores over time; the first row is the begin of the span."""

    instant_ns: Array  # int64 (k,): strictly increasing
    cores: Array  # int64 (k,): Σ f, the number of free cores: neither held nor on a host that is down
    blocks: Array  # int64 (k,): number of blocks of these
    squares: Array  # int64 (k,): Σ f² over the blocks, f = cores of a block

    @property
    def fragmentation(self) -> Array:
        """1 - Σ f² / (Σ f)² of each row, float64; NaN if no core is free."""
        total = self.cores.astype(np.float64)
        total[total == 0] = np.nan
        return np.asarray(1.0 - self.squares / (total * total))


def free_blocks(
    schedule: Schedule, allocations: Allocations, host_first: Array, downtime: Downtime = NO_DOWNTIME,
    span_ns: tuple[int, int] | None = None,
) -> FreeBlocks:  # fmt: skip
    """The free blocks of a schedule over its span. A block may span several hosts: only the numbers of the
    cores count. ``allocations``: of its rows; unused if it has ``holdings``. ``host_first``, int64 (H + 1,): the first core
    of each host. ``span_ns``: the span of downtime, by default the schedule's. Raises ValueError if a core is held twice at
    one instant, or while its host is down."""
    begin, end = schedule.span_ns
    down = downtime.within(*(span_ns or (begin, end)))
    held, holdings = schedule.held, schedule.holdings
    running = held.end_ns > held.start_ns
    runs = held.row[running]
    if holdings is not None:
        allocations, runs = Allocations(holdings.first, holdings.lo, holdings.hi), np.flatnonzero(running)
    lo = np.concatenate((allocations.lo, host_first[down.host]))
    hi = np.concatenate((allocations.hi, host_first[down.host + 1]))
    own_rows = np.arange(len(allocations.lo), len(lo))
    first = np.concatenate((allocations.first[runs], own_rows))
    stop = np.concatenate((allocations.first[runs + 1], own_rows + 1))
    taken = np.concatenate((held.start_ns[running], down.down_ns))
    given = np.concatenate((held.end_ns[running], down.up_ns))
    out = np.zeros((4, 1 + 2 * len(taken)), np.int64)  # rows that are not written to take no memory
    orders = (np.argsort(instants, kind="stable") for instants in (taken, given))
    events = _Events(*(own(column, np.int64) for column in (taken, given, *orders, first, stop, lo, hi)))
    words, starts = new_tree(schedule.n_cores)
    free_end, free_begin = np.zeros(schedule.n_cores, np.int64), np.full(schedule.n_cores + 1, -1, np.int64)
    rows = _blocks(begin, schedule.n_cores, events, words, starts, free_end, free_begin, out)
    if rows == 0:
        raise ValueError("a core is held twice at one instant, or while its host is down")
    return FreeBlocks(*out[:, :rows])


class _Events(State):
    # Instants at which cores are taken and given back, the orders of both, and the cores; all int64.
    taken: Ints
    given: Ints
    by_taken: Ints
    by_given: Ints
    first: Ints
    stop: Ints
    lo: Ints
    hi: Ints


@compiled(inner=True)
def _note_row(out: Array, row: int, now: int, cores: int, blocks: int, squares: int) -> None:
    out[0, row], out[1, row], out[2, row], out[3, row] = now, cores, blocks, squares


@compiled()
def _blocks(
    begin_ns: int, n_cores: int, events: _Events, words: Ints, starts: Ints, free_end: Ints, free_begin: Ints,
    out: Ints2,
) -> int:  # fmt: skip
    """Fill ``out`` from the left, and return the number of rows; 0 if a core is held twice."""
    # A free block [a, b): free_end[a] = b, free_begin[b] = a, and a is in a queue of begins. The queue finds the next
    # rank above; begins are wanted below, so core a has the rank n_cores - 1 - a. At an instant cores are given back
    # before any are taken.
    taken, given, by_taken, by_given = events.taken, events.given, events.by_taken, events.by_given
    lo, hi, last = events.lo, events.hi, n_cores - 1
    free_end[0] = n_cores
    free_begin[n_cores] = 0
    add_number(words, starts, last)
    cores, blocks, squares, row = n_cores, 1, n_cores * n_cores, 0
    _note_row(out, 0, begin_ns, cores, blocks, squares)
    t = g = 0
    n = taken.size
    while g < n:
        giving = t == n or given[by_given[g]] <= taken[by_taken[t]]
        i = by_given[g] if giving else by_taken[t]
        now = given[i] if giving else taken[i]
        for k in range(events.first[i], events.stop[i]):
            a, b = lo[k], hi[k]
            if giving:
                left = free_begin[a]
                if left >= 0:
                    squares -= (a - left) * (a - left)
                    blocks -= 1
                    free_begin[a] = -1
                else:
                    left = a
                    add_number(words, starts, last - a)
                right = b
                if b < n_cores and free_end[b] > 0:
                    right = free_end[b]
                    squares -= (right - b) * (right - b)
                    blocks -= 1
                    free_end[b] = 0
                    remove_number(words, starts, last - b)
                free_end[left] = right
                free_begin[right] = left
                squares += (right - left) * (right - left)
                blocks += 1
                cores += b - a
            else:
                at = next_number(words, starts, last - a)
                if at < 0:
                    return 0
                left = last - at
                right = free_end[left]
                if right < b:
                    return 0
                squares -= (right - left) * (right - left)
                blocks -= 1
                if left < a:
                    free_end[left] = a
                    free_begin[a] = left
                    squares += (a - left) * (a - left)
                    blocks += 1
                else:
                    free_end[left] = 0
                    remove_number(words, starts, at)
                free_begin[right] = -1
                if b < right:
                    free_end[b] = right
                    free_begin[right] = b
                    add_number(words, starts, last - b)
                    squares += (right - b) * (right - b)
                    blocks += 1
                cores -= b - a
        if giving:
            g += 1
        else:
            t += 1
        if now != out[0, row]:
            row += 1
        _note_row(out, row, now, cores, blocks, squares)
    return row + 1
