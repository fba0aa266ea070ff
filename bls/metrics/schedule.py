"""The input of the batch metrics: a schedule, its allocations and the downtime, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from traces.compiled import Array, compiled, own
from traces.holdings import Holdings
from traces.kernels.signatures import Ints
from traces.ledger import STATES, WHY

_PRESET, _NEVER = WHY.index("preset"), WHY.index("never")
_CANCELLED, _REQUEUED = STATES.index("cancelled"), STATES.index("requeued")


class HeldCores(NamedTuple):
    """The cores that rows of a schedule held over time; int64 (k,) each. A row that released cores has several entries."""

    row: Array
    start_ns: Array
    end_ns: Array
    cores: Array


_BY_DEFAULT: Any = None  #: filled in by :class:`Schedule`


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One row per attempt of a job to run; times in ns.

    By default a row held the requested cores and was eligible at its submit; a row that started was the head and
    completed; a row that did not start was cancelled at an unknown time. Raises ValueError if the columns differ in length.

    ``started`` rows count in spans, utilisation and core-hours. Those that ``ran``, the final rows of the counted
    jobs, count in the number of jobs and throughput. Those that are ``measured``, without preset jobs, count in statistics of
    waits, responses and slowdowns. Rows that never started count by state and why, and in the queue until ``left_ns``.
    """

    # int64 (n,): instants; start and end are -1 for a row that never started. The submit of a later attempt is that of the job.
    submit_ns: Array
    start_ns: Array
    end_ns: Array
    cores: Array  # int64 (n,): requested cores
    n_cores: int  # M, the cores of the machine
    held_cores: Array = _BY_DEFAULT  # int64 (n,): cores held; more than requested if hosts are not shared
    # int64 (n,): numbers of :data:`WHY` and :data:`STATES`
    why: Array = _BY_DEFAULT
    state: Array = _BY_DEFAULT
    # int64 (n,): instant at which the row joined the queue; -1 if it was cancelled before
    eligible_ns: Array = _BY_DEFAULT
    # int64 (n,): instant from which the job's wait counts: its submit, or the later instant from which it may join the queue
    begin_ns: Array = _BY_DEFAULT
    # int64 (n,): instant at which a row that never started left the queue; -1 if it is unknown
    left_ns: Array = _BY_DEFAULT
    # the cores that the rows held over time, if any were released before the end; else None
    holdings: Holdings | None = None
    # bool (n,) or None: rows of the jobs that are counted: the span, all numbers of jobs and rows, waits and core-hours
    # are theirs. All rows fill the machine and the queue within the span. None: all are counted.
    counted: Array | None = None

    def __post_init__(self) -> None:
        n, never = len(self), np.asarray(self.start_ns) < 0
        defaults = {
            "held_cores": self.cores,
            "why": np.where(never, _NEVER, 0),
            "state": np.where(never, _CANCELLED, 0),
            "eligible_ns": self.submit_ns,
            "begin_ns": self.submit_ns,
            "left_ns": np.full(n, -1, np.int64),
        }
        for name in ("submit_ns", "start_ns", "end_ns", "cores", *defaults):
            given = getattr(self, name)
            column = np.asarray(defaults[name] if given is None else given).astype(np.int64, copy=False)
            if column.shape != (n,):
                raise ValueError(f"{name} has the shape {column.shape}, submit_ns ({n},)")
            object.__setattr__(self, name, column)
        if self.counted is not None and np.shape(self.counted) != (n,):
            raise ValueError(f"counted has the shape {np.shape(self.counted)}, submit_ns ({n},)")

    def __len__(self) -> int:
        return len(self.submit_ns)

    @property
    def started(self) -> Array:
        """Bool (n,): rows that held cores."""
        return np.asarray(self.start_ns >= 0)

    @cached_property
    def held(self) -> HeldCores:
        """The cores that were held over time."""
        if self.holdings is not None:
            return HeldCores(self.holdings.job, self.holdings.start_ns, self.holdings.end_ns, self.holdings.cores)
        rows = np.flatnonzero(self.started)
        return HeldCores(rows, self.start_ns[rows], self.end_ns[rows], self.held_cores[rows])

    def of_counted(self, rows: Array) -> Array:
        """Bool (n,): the counted rows among ``rows``, bool (n,)."""
        return rows if self.counted is None else rows & self.counted

    @property
    def ran(self) -> Array:
        """Bool (n,): the final rows of the counted jobs that ran."""
        return np.asarray(self.of_counted(self.started) & (self.state != _REQUEUED))

    @property
    def measured(self) -> Array:
        """Bool (n,): the rows of :attr:`ran` that the simulation started."""
        return np.asarray(self.ran & (self.why != _PRESET))

    @cached_property
    def times(self) -> tuple[Array, Array, Array]:
        """The instants from which waits count, start and end of the measured rows."""
        measured = self.measured
        return self.begin_ns[measured], self.start_ns[measured], self.end_ns[measured]

    @property
    def span_ns(self) -> tuple[int, int]:
        """[min submit, max end) of the counted rows that started; (0, 0) if none did."""
        started = self.of_counted(self.started)
        if not started.any():
            return 0, 0
        return int(self.submit_ns[started].min()), int(self.end_ns[started].max())


@dataclass(frozen=True)
class Allocations:
    """The cores that each row held: row ``i`` held the half-open intervals ``first[i]:first[i + 1]`` of ``lo``, ``hi``."""

    first: Array  # int64 (n + 1,)
    # int64: global core numbers, disjoint within a row
    lo: Array
    hi: Array


@dataclass(frozen=True)
class Downtime:
    """Times at which hosts were down or in maintenance; int64 (k,) each."""

    host: Array  # host number
    cores: Array  # cores of that host
    # instants, half-open; ``up_ns`` -1: never again. Intervals of one host may overlap: it is down once.
    down_ns: Array
    up_ns: Array

    def within(self, begin_ns: int, end_ns: int) -> Downtime:
        """The part in [begin, end): ascending by host and instant, disjoint, none empty."""
        up = np.where(self.up_ns < 0, end_ns, self.up_ns)
        down, up = np.clip(self.down_ns, begin_ns, end_ns), np.clip(up, begin_ns, end_ns)
        order = np.lexsort((down, self.host))
        order = order[up[order] > down[order]]
        host, cores, down, up = (own(column[order], np.int64) for column in (self.host, self.cores, down, up))
        n = _join(host, cores, down, up)
        return Downtime(host[:n], cores[:n], down[:n], up[:n])


NO_DOWNTIME = Downtime(*np.zeros((4, 0), np.int64))  #: every host is up at every instant


@compiled()
def _join(host: Ints, cores: Ints, down: Ints, up: Ints) -> int:
    """Join neighbours of one host that touch or overlap, in place; returns the number that remains."""
    n = 0
    for i in range(host.size):
        if n > 0 and host[n - 1] == host[i] and down[i] <= up[n - 1]:
            up[n - 1] = max(up[n - 1], up[i])
        else:
            host[n], cores[n], down[n], up[n] = host[i], cores[i], down[i], up[i]
            n += 1
    return n
