"""The common part of all checks of the batch engine's state: its jobs, and the description of one with a fault."""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.cores import Pool, intervals_of
from bls.engine.state import BatchState
from traces.checks.faults import Checks
from traces.compiled import Array

#: The columns that an error shows of a job in which something is wrong.
_INSTANTS = ("submit", "begin", "eligible", "start", "promise", "end", "stop", "expected_end", "slot")
_SAID = [*(f"{name}_ns" for name in _INSTANTS), "why", "state", "depends_on"]


class BatchChecks(Checks):
    """Checks of a batch state between two calls of the engine.

    - ``jobs``: the rows that are in use
    - ``left``, ``holds``, ``waits``, bool (rows,): which rows have left, hold cores, or wait
    - ``holder``, int64 (M,): the row that holds each core, -1 none; once it is known that no two do
    - ``held``, ``kept``, int64 (k,): the rows that hold cores, and those that keep a reservation
    """

    def __init__(self, state: BatchState) -> None:
        super().__init__(f"batch engine at {state.now_ns} ns")
        self.declared(state)
        self.state, self.settings, self.jobs = state, state.settings, state.jobs.front(state.n_rows)
        started = self.jobs.start_ns >= 0
        self.left = self.jobs.state >= 0
        self.holds = ~self.left & started
        self.waits = ~self.left & ~started & (self.jobs.eligible_ns >= 0)
        self.held, self.kept = np.flatnonzero(self.holds), np.flatnonzero(self.jobs.slot_ns != b.NEVER)
        self.n_cores, self.n_hosts = len(state.host_of), len(state.host_first) - 1
        self.holder: Array = np.full(self.n_cores, -1)

    def name(self, row: int) -> str:
        """What an error calls the job of a row."""
        attempt = self.jobs.attempt[row]
        return f"job {self.jobs.number[row]}" + (f" attempt {attempt}" if attempt else "")

    def no_job(self, *faults: tuple[Array, str]) -> None:
        """Check rows, each fault with what is said of the first row that has it."""
        for wrong, what in faults:
            for row in np.flatnonzero(wrong)[:1].tolist():
                values = self.jobs.entry(row)
                said = ", ".join(f"{name.removesuffix('_ns')} {values[name]}" for name in _SAID)
                self.fault(f"{self.name(row)} {what}: {said}")

    def are(self, rows: Array) -> Array:
        """Which of all rows are among these."""
        return np.isin(np.arange(self.state.n_rows), rows)

    def numbers_in(self, words: Array, starts: Array, what: str) -> Array:
        """Which numbers are in a tree of bits, once its upper levels are seen to agree with the lowest."""
        for level in range(1, len(starts) - 1):
            below = words[starts[level - 1] : starts[level]] != 0
            above = bits(words[starts[level] : starts[level + 1]])
            if len(bad := np.flatnonzero(above != np.pad(below, (0, len(above) - len(below))))):
                self.fault(f"{what}: level {level} of the tree is wrong of word {bad[0]} below it")
        return bits(words[: starts[1]])

    def in_pool(self, pool: Pool, n: int, rows: Array, first: Array, count: Array, what: str) -> tuple[Array, Array]:
        """The cores that rows have by their intervals in a pool of which ``n`` are used, and of each core the row."""
        wrong = (count < 1) | (first < 0) | (first + count > n)
        self.no_job((self.are(rows) & wrong, what))
        owner, at = np.repeat(rows, count[rows]), intervals_of(first[rows], count[rows])
        lo, hi, last = pool.lo[at], pool.hi[at], self.n_cores
        wrong = (lo < 0) | (hi > last) | (lo >= hi)
        self.none(wrong, lambda k: f"{self.name(owner[k])} has cores [{lo[k]}, {hi[k]}); there are {last}")
        return np.repeat(owner, hi - lo), intervals_of(lo, hi - lo)

    def down_until(self) -> Array:
        """Until when each host is known to be gone, 0 if it is up."""
        status, stops = self.state.host_status, self.state.stops.host
        until: Array = np.zeros(self.n_hosts, np.int64)
        if status.next_outage.size:
            until = status.down_until_ns.reshape(-1, self.n_hosts).max(axis=0)
        return np.maximum(until, stops.until_ns) if stops.state.size else until


def bits(words: Array) -> Array:
    """The bits of words, lowest first."""
    found: Array = ((words[:, None] >> np.arange(32)) & 1).ravel() != 0
    return found
