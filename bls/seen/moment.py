"""What those who watch a simulation may know of it: a few numbers at any time, and all there is at one moment of the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bls.engine.state import BatchState
from bls.running_jobs import RunningJobs
from traces.compiled import Array
from traces.ledger import STATES


class Counts:
    """The few numbers of a run, valid at any time and in any thread; they do not keep the columns of the run.
    ``state``: at its start."""

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
    """A run between two steps of its engine."""

    now_ns: int
    waiting: int  # how many jobs wait
    # int64 (r,): of the running jobs, by row: row, row of the workload, number, start, and how many cores they have had
    rows: Array
    origin: Array
    job_id: Array
    start_ns: Array
    cores: Array
    # int64 (k,): the cores [lo, hi) are held by the row ``holder``; none twice
    lo: Array
    hi: Array
    holder: Array
    down: Array  # int64 (d,): the hosts that are down, ascending
    ends: tuple[int, ...]  # how many jobs, and attempts, have come to each of ``traces.ledger.STATES``


def moment_of(run: RunningJobs) -> Moment:
    """What there is while the engine does nothing."""
    state, jobs = run.state, run.state.jobs
    # With those that have only just started.
    rows = np.sort(np.concatenate((state.running.key[: state.running.n], np.array(run.started(), np.int64))))
    holder, lo, hi = run.held(rows)
    ended = run.column("state")
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
        np.flatnonzero(run.up_again_ns()),
        tuple(np.bincount(ended[ended >= 0], minlength=len(STATES)).tolist()),
    )
