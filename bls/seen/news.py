"""Events since a policy's last decision, for policies that keep their own records.

Events of jobs are taken from the engine's log, in order. Hosts, released cores and expected ends are compared with the last
reported state. So a host that failed and was repaired between two decisions is not reported.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from bls.engine.jobs import Jobs
from bls.engine.state import NEVER
from bls.running_jobs import RunView
from bls.seen.jobs import SeenJob
from traces.compiled import Array
from traces.intervals import joined_numbers
from traces.ledger import STATES


class JobSubmitted(NamedTuple):
    """A new job: it waits, or, if its ``eligible_ns`` is -1, it is held until another job has ended or until its begin."""

    job: SeenJob


class JobEligible(NamedTuple):
    """A held job waits from now on."""

    job: SeenJob


class JobStarted(NamedTuple):
    """A job has started, on these half-open intervals of cores; ``job.expected_end_ns`` is its promise, if there is one.
    ``gpus`` are its numbered GPUs, ascending; of a share once for each unit."""

    job: SeenJob
    cores: tuple[tuple[int, int], ...]
    gpus: tuple[int, ...] = ()


class JobExpected(NamedTuple):
    """A running job has another expected end than last reported: ``job.expected_end_ns``."""

    job: SeenJob


class CoresReleased(NamedTuple):
    """A running job has released these cores."""

    job: SeenJob
    cores: tuple[tuple[int, int], ...]


class CoresGiven(NamedTuple):
    """A running job has been given these cores."""

    job: SeenJob
    cores: tuple[tuple[int, int], ...]


class JobEnded(NamedTuple):
    """A job has left, ``how`` by ``traces.ledger.STATES``: it ended, or was cancelled or rejected before its start."""

    job: SeenJob
    end_ns: int
    how: str


class HostChanged(NamedTuple):
    """A host is down, or up again; ``up_again_ns`` is None if unknown."""

    host: int
    is_down: bool
    up_again_ns: int | None


AnyNews: TypeAlias = (
    JobSubmitted | JobEligible | JobStarted | JobExpected | CoresReleased | CoresGiven | JobEnded | HostChanged
)


class News:
    """Events of a view, kept until they are read. ``seen`` returns the job of a row. ``waits_for``, int64: rows of jobs
    that depend on another job or begin after their submit, ascending. ``submit_ns``: submits of all first attempts, by row."""

    def __init__(self, seen: Callable[[int], SeenJob], waits_for: Array, submit_ns: Array) -> None:
        self._seen, self._waits_for, self._submit_ns = seen, waits_for, submit_ns
        self._kept: list[AnyNews] = []
        self._held: dict[int, SeenJob] = {}  # submitted, and waiting for another job or for a begin
        self._came = 0  # number of initially held jobs that have been submitted
        self._left: dict[int, set[int]] = {}  # if cores can be released: remaining cores of running jobs
        self._down: dict[int, int | None] = {}

    def arrived(self, job: SeenJob) -> None:
        """A job has joined the queue."""
        was_held = self._held.pop(job.row, None) is not None
        self._kept.append(JobEligible(job) if was_held else JobSubmitted(job))

    def started(self, job: SeenJob, cores: tuple[tuple[int, int], ...], gpus: tuple[int, ...], releases: bool) -> None:
        """A job has started."""
        self._kept.append(JobStarted(job, cores, gpus))
        if releases:
            self._left[job.row] = {core for lo, hi in cores for core in range(lo, hi)}

    def expected(self, job: SeenJob) -> None:
        """A running job has another expected end."""
        self._kept.append(JobExpected(job))

    def left(self, job: SeenJob, jobs: Jobs) -> None:
        """A job has ended, or has left the queue."""
        self._left.pop(job.row, None)
        end_ns = jobs.end_ns.item(job.row) if job.start_ns >= 0 else jobs.cancel_ns.item(job.row)
        self._kept.append(JobEnded(job, end_ns, STATES[jobs.state.item(job.row)]))

    def take(self, run: RunView, running: Mapping[int, SeenJob]) -> list[AnyNews]:
        """All kept events, and further ones found by comparison; clears them."""
        found = [*self._held_since(run), *self._kept, *self._released(run, running), *self._hosts(run)]
        self._kept = []
        return found

    def _held_since(self, run: RunView) -> Iterator[AnyNews]:
        # Held jobs are not queued, so the engine logs neither their submit nor their withdrawal.
        rows, jobs = self._waits_for, run.jobs
        while self._came < len(rows) and self._submit_ns[rows[self._came]] <= run.now_ns:
            row = int(rows[self._came])
            self._came += 1
            if jobs.eligible_ns.item(row) < 0:
                self._held[row] = job = self._seen(row)
                yield JobSubmitted(job)
        withdrawn = [row for row in self._held if jobs.state.item(row) >= 0]
        for row in withdrawn:
            self.left(self._held.pop(row), jobs)

    def _released(self, run: RunView, running: Mapping[int, SeenJob]) -> Iterator[AnyNews]:
        if not self._left:
            return
        rows = np.fromiter(self._left, np.int64, len(self._left))
        had = np.fromiter(map(len, self._left.values()), np.int64, len(rows))
        changed = run.jobs.held_cores[rows] != had
        # If widths change, as many cores may have come as have gone.
        for row in rows[changed | run.dealings.resizes].tolist():
            had_then, has = self._left[row], {core for lo, hi in run.holding(row) for core in range(lo, hi)}
            self._left[row] = has
            if gone := sorted(had_then - has):
                yield CoresReleased(running[row], tuple(joined_numbers(gone)))
            if came := sorted(has - had_then):
                yield CoresGiven(running[row], tuple(joined_numbers(came)))

    def _hosts(self, run: RunView) -> Iterator[AnyNews]:
        if not run.has_outages:
            return
        until = run.up_again_ns()
        down = {host: int(until[host]) if until[host] < NEVER else None for host in np.flatnonzero(until).tolist()}
        for number in sorted(down.keys() | self._down.keys()):
            if number not in down:
                yield HostChanged(number, False, None)
            elif number not in self._down or self._down[number] != down[number]:
                yield HostChanged(number, True, down[number])
        self._down = down
