"""What those who run a simulation, or watch it, may know of its jobs: in columns, and at one moment of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bls.engine import state as b
from bls.engine.state import BatchState
from traces.compiled import Array
from traces.ledger import STATES


class JobColumns(NamedTuple):
    """Jobs in columns, int64 (rows,), a row for each attempt; they change as the simulation goes on.

    Attributes
    ----------
    origin : ndarray
        The row of the workload.
    start_ns, end_ns : ndarray
        -1 of what has not started, or not ended.
    eligible_ns : ndarray
        When it joined the queue; -1 if it has not.
    cancel_ns : ndarray
        When it is withdrawn, if it has not started by then.
    estimate_ns : ndarray
        Run time to plan with.
    attempt : ndarray
        From 0.
    held_cores : ndarray
        How many cores it has or had.
    why, state : ndarray
        Why it has started, and what has become of it: places in ``traces.ledger.WHY`` and ``STATES``.
    """

    origin: Array
    start_ns: Array
    end_ns: Array
    eligible_ns: Array
    cancel_ns: Array
    estimate_ns: Array
    attempt: Array
    held_cores: Array
    why: Array
    state: Array


def columns_of(state: BatchState) -> JobColumns:
    """The columns of an engine's jobs, as they are kept there."""
    return JobColumns(*(getattr(state.jobs, name)[: state.n_rows] for name in JobColumns._fields))


class Counts:
    """The few numbers of a run, valid at any time and in any thread; they do not keep the columns of the run.

    Parameters
    ----------
    state : BatchState
        At its start.
    """

    def __init__(self, state: BatchState) -> None:
        self._state, self._running = state.only_numbers(), state.running.only_numbers()

    @property
    def now_ns(self) -> int:
        """The simulated instant."""
        return self._state.now_ns

    @property
    def ended(self) -> int:
        """How many jobs have ended for good, or were withdrawn."""
        return self._state.n_ended

    @property
    def running(self) -> int:
        """How many jobs run."""
        return self._running.n

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self._state.n_waiting


@dataclass(frozen=True, eq=False)
class Moment:
    """A run between two steps of its engine.

    Attributes
    ----------
    now_ns : int
    waiting : int
        How many jobs wait.
    rows, origin, job_id, start_ns, cores : int64 (r,)
        Of the running jobs, by row: row, row of the workload, number, start, and how many cores they have had.
    lo, hi, holder : int64 (k,)
        The cores [lo, hi) are held by the row ``holder``; none twice.
    down : int64 (d,)
        The hosts that are down, ascending.
    ends : tuple of int
        How many jobs, and attempts, have come to each of ``traces.ledger.STATES``.
    """

    now_ns: int
    waiting: int
    rows: Array
    origin: Array
    job_id: Array
    start_ns: Array
    cores: Array
    lo: Array
    hi: Array
    holder: Array
    down: Array
    ends: tuple[int, ...]


def moment_of(state: BatchState) -> Moment:
    """What there is while the engine does nothing."""
    jobs = state.jobs
    awaiting = state.started[state.n_answered : state.n_started]  # that have only just started
    rows = np.sort(np.concatenate((state.running.key[: state.running.n], awaiting)))
    count = jobs.held_count[rows]
    held = np.arange(count.sum()) + np.repeat(jobs.held_first[rows] - (np.cumsum(count) - count), count)
    lo, hi, holder = state.pool.lo[held], state.pool.hi[held], np.repeat(rows, count)
    if state.settings.releases != b.NO_RELEASES:  # what a job still holds, core by core
        lo = np.flatnonzero(np.isin(state.holder, rows))
        hi, holder = lo + 1, state.holder[lo]
    down = np.zeros(0, np.int64)
    if state.n_down:
        until = state.host_status.down_until_ns.reshape(-1, len(state.host_first) - 1)
        down = np.flatnonzero(until.max(axis=0) > 0)
    ended = jobs.state[: state.n_rows]
    return Moment(
        int(state.now_ns),
        int(state.n_waiting),
        rows,
        jobs.origin[rows],
        jobs.number[rows],
        jobs.start_ns[rows],
        jobs.held_cores[rows],
        lo,
        hi,
        holder,
        down,
        tuple(np.bincount(ended[ended >= 0], minlength=len(STATES)).tolist()),
    )
