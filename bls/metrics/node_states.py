"""The state of every host over time (host, begin, end, state), as in the traces of RM-Replay.

The state is the first that applies: ``down``, during an outage; ``maintenance``, during a maintenance window; ``allocated``, if
jobs hold all its cores; ``mixed``, if they hold some; ``reserved``, if a present reservation has some; else ``idle``.
RM-Replay's traces contain only the changes from idle to down and back; the other names are Slurm's.
"""

from dataclasses import dataclass

import numpy as np

from bls.metrics.schedule import Allocations
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State

#: The names of the numbers in ``HostStates.state``.
HOST_STATES = ("idle", "mixed", "allocated", "down", "maintenance", "reserved")
_IDLE, _MIXED, _ALLOCATED, _DOWN, _MAINTENANCE, _RESERVED = range(6)
_N_KINDS = 4  # kinds of use of a core: by a job, an outage, a maintenance window, a reservation


@dataclass(frozen=True)
class CoreTimes:
    """Cores over time: row ``i`` is the cores [lo, hi) during [begin, end). Rows may overlap."""

    # int64 (k,): global core numbers
    lo: Array
    hi: Array
    # int64 (k,): instants
    begin_ns: Array
    end_ns: Array


def core_windows(lo: Array, hi: Array, begin_ns: Array, end_ns: Array) -> CoreTimes:
    """Windows of the cores [lo, hi); an end of -1 means never."""
    end = np.array(end_ns, np.int64)
    end[end < 0] = np.iinfo(np.int64).max
    return CoreTimes(np.asarray(lo, np.int64), np.asarray(hi, np.int64), np.asarray(begin_ns, np.int64), end)


def host_windows(host_first: Array, host: Array, begin_ns: Array, end_ns: Array) -> CoreTimes:
    """Windows of whole hosts, by number; an end of -1 means never."""
    host = np.asarray(host, np.int64)
    return core_windows(host_first[host], host_first[host + 1], begin_ns, end_ns)


NO_WINDOWS = CoreTimes(*np.zeros((4, 0), np.int64))  #: no windows


@dataclass(frozen=True)
class HostStates:
    """One row per interval in which a host's state stays the same; by host, then by time, without gaps."""

    host: Array  # int64 (k,): host number
    # int64 (k,): half-open; none is empty, and neighbours of one host differ in state
    begin_ns: Array
    end_ns: Array
    state: Array  # int8 (k,): number of :data:`HOST_STATES`

    def __len__(self) -> int:
        return len(self.host)


def host_states(
    *, host_first: Array, start_ns: Array, end_ns: Array, allocations: Allocations, begin_ns: int, until_ns: int,
    outages: CoreTimes = NO_WINDOWS, maintenance: CoreTimes = NO_WINDOWS, reservations: CoreTimes = NO_WINDOWS,
) -> HostStates:  # fmt: skip
    """The states of all hosts during [begin, until).

    All events of one instant count together: a job that begins where another ends leaves the host allocated.

    - ``host_first``, int64 (H + 1,): host ``h`` has the cores ``host_first[h]:host_first[h + 1]``
    - ``start_ns``, ``end_ns``, int64 (n,), ``allocations``: of the attempts; -1 for one that never started
    """
    windows = (outages, maintenance, reservations)
    n_jobs = len(start_ns)
    single = np.arange(sum(len(window.lo) for window in windows), dtype=np.int64) + len(allocations.lo)
    first = np.concatenate((allocations.first[:-1], single))
    stop = np.concatenate((allocations.first[1:], single + 1))
    lo = np.concatenate((allocations.lo, *(window.lo for window in windows)))
    hi = np.concatenate((allocations.hi, *(window.hi for window in windows)))
    kind = np.repeat(np.arange(_N_KINDS), (n_jobs, *(len(window.lo) for window in windows)))
    begin = np.clip(np.concatenate((start_ns, *(window.begin_ns for window in windows))), begin_ns, until_ns)
    end = np.clip(np.concatenate((end_ns, *(window.end_ns for window in windows))), begin_ns, until_ns)

    seen = np.flatnonzero(end > begin)
    time = np.concatenate((begin[seen], end[seen]))
    order = np.argsort(time, kind="stable")
    item, sign = np.concatenate((seen, seen)), np.repeat(np.array((1, -1)), len(seen))
    columns = (time[order], item[order], sign[order], kind, first, stop, lo, hi, host_first)
    events = _Events(*(own(column, np.int64) for column in columns))
    counts = np.zeros(len(host_first), np.int64)
    nowhere = np.zeros((4, 0), np.int64)
    _walk(begin_ns, until_ns, events, counts[1:], nowhere)
    place = np.cumsum(counts)
    rows = np.zeros((4, int(place[-1])), np.int64)
    if place[-1]:
        _walk(begin_ns, until_ns, events, place[:-1].copy(), rows)
    return HostStates(rows[0], rows[1], rows[2], rows[3].astype(np.int8))


class _Events(State):
    # Begins (+1) and ends (-1) of uses, in order of time, and their cores; all int64.
    time: Ints
    item: Ints
    sign: Ints
    kind: Ints
    first: Ints
    stop: Ints
    lo: Ints
    hi: Ints
    host_first: Ints


@compiled()
def _state(cores: int, held: int, down: int, maintenance: int, reserved: int) -> int:
    """The state of a host, by its number of cores and the numbers of cores in each kind of use."""
    if down > 0:
        return _DOWN
    if maintenance > 0:
        return _MAINTENANCE
    if held > 0:
        return _ALLOCATED if held >= cores else _MIXED
    return _RESERVED if reserved > 0 else _IDLE


@compiled(inner=True)
def _put(out: Array, place: Array, h: int, since_ns: int, until_ns: int, state: int) -> None:
    """Count a row of host ``h``, and write it if there are columns; rows without duration are omitted."""
    if until_ns <= since_ns:
        return
    if out.size > 0:
        out[0, place[h]] = h
        out[1, place[h]] = since_ns
        out[2, place[h]] = until_ns
        out[3, place[h]] = state
    place[h] += 1


@compiled(makes_arrays=True)
def _walk(begin_ns: int, until_ns: int, events: _Events, place: Ints, out: Ints2) -> None:
    """Walk through all events. Without columns to fill, ``place[h]`` counts the rows of host h; with columns it is the index of
    its next row."""
    time, item, lo, hi, host_first = events.time, events.item, events.lo, events.hi, events.host_first
    n_hosts = host_first.size - 1
    on_host = np.zeros((n_hosts, _N_KINDS), np.int64)
    state = np.full(n_hosts, _IDLE, np.int64)
    since = np.full(n_hosts, begin_ns, np.int64)
    touched = np.zeros(n_hosts, np.int64)
    is_touched = np.zeros(n_hosts, np.bool_)
    n_touched = 0
    for e in range(time.size + 1):
        if e == time.size or (e > 0 and time[e] != time[e - 1]):
            # All events of one instant have been read: find the states that have changed.
            for k in range(n_touched):
                h = touched[k]
                is_touched[h] = False
                on = on_host[h]
                new = _state(host_first[h + 1] - host_first[h], on[0], on[1], on[2], on[3])
                if new != state[h]:
                    now = time[e - 1]
                    _put(out, place, h, since[h], now, state[h])
                    since[h] = now
                    state[h] = new
            n_touched = 0
        if e == time.size:
            break
        i = item[e]
        for k in range(events.first[i], events.stop[i]):
            a = lo[k]
            h = np.searchsorted(host_first, a, side="right") - 1
            while a < hi[k]:
                b = min(hi[k], host_first[h + 1])
                on_host[h, events.kind[i]] += events.sign[e] * (b - a)
                if not is_touched[h]:
                    is_touched[h] = True
                    touched[n_touched] = h
                    n_touched += 1
                a = b
                h += 1
    for h in range(n_hosts):
        _put(out, place, h, since[h], until_ns, state[h])
