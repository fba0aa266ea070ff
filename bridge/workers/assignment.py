"""Where application processes are, which of them holds which jobs, and which one should get the next. No I/O."""

from __future__ import annotations

import asyncio
import logging
import math
import resource
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from bridge.encoding import replaced
from bridge.protocol.messages import Change, Hello, Outcome, Records, SimulateJob, Transfers, Wish
from bridge.protocol.task_payload import TaskPayload
from bridge.workers.connection import Connection
from bridge.workers.listener import STRANGERS

log = logging.getLogger("twolevel.bridge")

#: Open files for other things than connections.
_OTHER_FILES: Final = 64


@dataclass(frozen=True)
class CoreForecast:
    """What a worker knows of what will happen to a job's cores."""

    changes: tuple[Change, ...] = ()
    until_ns: int | None = None  # the instant up to which these are all; None: for good


@dataclass(frozen=True)
class Order:
    """One job to simulate."""

    start: SimulateJob  # what the worker is sent, with a recipe; ``job`` is the row in the workload
    bound_ns: int  # an instant before which a worker that conserves work cannot end it
    job_number: int  # the workload's number, for messages
    payload: Callable[[], TaskPayload]  # draws the tasks, for a worker that asks for their lengths
    # what is ahead of the job from an instant on
    next_changes: Callable[[int], CoreForecast] = lambda now_ns: CoreForecast()
    losses: int = 0  # how many processes that had this order were lost

    def again(self) -> Order:
        """The next attempt at it, since the process that had it was lost."""
        return replace(self, start=replaced(self.start, attempt=self.start.attempt + 1), losses=self.losses + 1)


@dataclass(frozen=True)
class JobReport:
    """What a worker reported of one job."""

    outcome: Outcome
    records: list[Records]  # in task order; empty if they were not asked for
    transfers: list[Transfers]  # in the order of edges
    length_gflop: float  # the sum of the task lengths, added in task order
    length_cov: float  # their coefficient of variation. Both are the bridge's own if it has sent the lengths
    wishes: list[Wish] = field(default_factory=list)  # in the order of instants


@dataclass(eq=False)
class HeldJob:
    """A job that a worker holds, and what the worker has reported of it so far."""

    order: Order
    payload: TaskPayload | None = None  # its tasks, where they were sent
    records: list[Records] = field(default_factory=list)
    transfers: list[Transfers] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)

    def reported(self, outcome: Outcome) -> JobReport:
        """Return the whole report, now that the job has ended."""
        total, cov = outcome.length_gflop, math.nan if outcome.length_cov is None else outcome.length_cov
        if self.payload is not None:
            total, cov = self.payload.total_gflop, self.payload.cov
        return JobReport(outcome, self.records, self.transfers, total, cov, self.wishes)


@dataclass(eq=False)
class Worker:
    """One application process."""

    name: str  # its worker id
    since: float  # when it was launched, last heard of, or was given work while it had none, in the loop's time, s
    # hello, connection: None until it has said hello
    hello: Hello | None = None
    connection: Connection | None = None
    # the jobs it holds by row, in the order in which they were given
    jobs: dict[int, HeldJob] = field(default_factory=dict)
    pouring: list[HeldJob] = field(default_factory=list)  # those whose tasks are still to be sent
    served: int = 0  # jobs it has ended
    ended: asyncio.Event = field(default_factory=asyncio.Event)  # set when its process is known to have ended
    how: str = "closed its connection"  # how it came to be of no use, as "was killed by SIGKILL"
    blameless: bool = False  # whether it was taken along by another's end


class Assignment:
    """Connected workers by how many jobs they hold. ``limit``: how many workers may hold a job at once. ``depth``: how
    many jobs one worker may hold."""

    def __init__(self, limit: int, depth: int) -> None:
        self._limit, self._depth = limit, depth
        # The one that has waited longest first.
        self._holding: list[dict[str, Worker]] = [{} for _ in range(depth + 1)]
        self._busy = 0

    def add(self, worker: Worker) -> None:
        """A worker without jobs has connected."""
        self._holding[0][worker.name] = worker

    def drop(self, worker: Worker) -> None:
        """Give a worker no more jobs; those that it holds stay in its ``jobs``."""
        if self._holding[len(worker.jobs)].pop(worker.name, None) is not None:
            self._busy -= bool(worker.jobs)

    def give(self, worker: Worker, order: Order) -> HeldJob:
        """A worker holds a job from now on."""
        job, before = HeldJob(order), len(worker.jobs)
        worker.jobs[order.start.job] = job
        self._moved(worker, before)
        return job

    def take(self, worker: Worker, row: int) -> HeldJob:
        """A worker has ended a job."""
        before = len(worker.jobs)
        job = worker.jobs.pop(row)
        self._moved(worker, before)
        return job

    def _moved(self, worker: Worker, before: int) -> None:
        now = len(worker.jobs)
        if self._holding[before].pop(worker.name, None) is not None:
            self._holding[now][worker.name] = worker
            self._busy += (now > 0) - (before > 0)

    def able(self, order: Order) -> Worker | None:
        """The worker that should get this order, the one with the fewest; or None if all have enough. A job that was
        lost before is simulated alone, so that if it is lost again it is clear which one is to blame."""
        if self._holding[0] and self._busy < self._limit:
            return next(iter(self._holding[0].values()))
        if order.losses > 0:
            return None
        for workers in self._holding[1 : self._depth]:
            for worker in workers.values():
                if next(iter(worker.jobs.values())).order.losses == 0:
                    return worker
        return None


class Processes(Protocol):
    """How application processes of a place come to be, and end: by worker ids."""

    def launch(self, worker: str) -> None:
        """Start a process for a worker id that was not used before."""
        ...

    def greeted(self, worker: str) -> None:
        """It has said hello, or never will."""
        ...

    def kill(self, worker: str) -> None:
        """Kill it, and what it has started, if it is still there."""
        ...


@dataclass(eq=False)
class Place:
    """One host, and the application processes on it."""

    name: str  # of the host
    processes: Processes
    assignment: Assignment  # which of its workers holds which jobs
    workers: int  # how many of them simulate at once
    alive: int  # how many may be there at once
    here: bool = False  # whether it is this host
    names: set[str] = field(default_factory=set)  # the workers that are there, or coming
    stillborn: int = 0  # how many in a row have ended without having been let in
    lost: bool = False  # whether it went before the run was over
    # launched, jobs, retries, messages, bytes_sent, bytes_received: processes that were started, jobs that they have ended,
    # jobs that were lost with one of them and simulated again; what went over all connections of this place that have ended
    launched: int = 0
    jobs: int = 0
    retries: int = 0
    messages: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def count(self, connection: Connection) -> None:
        """Add what went over a connection that has ended."""
        self.messages += connection.messages
        self.bytes_sent += connection.bytes_sent
        self.bytes_received += connection.bytes_received

    def cost(self) -> dict[str, Any]:
        """As ``run.json`` has it."""
        return {
            "host": self.name,
            "workers": self.workers,
            "processes": self.launched,
            "jobs": self.jobs,
            "retries": self.retries,
            "messages": self.messages,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
            "lost": self.lost,
        }


def room_for(processes: int) -> int:
    """How many of so many processes can be connected at once; raises the limit on open files where it may, and says so if
    that is fewer."""
    room, files = _room(processes)
    if room < processes:
        log.warning("%d application processes at once, not %d: only %d files may be open", room, processes, files)
    return room


def is_room(processes: int) -> bool:
    """Whether so many processes can be connected at once; raises the limit on open files where it may."""
    return _room(processes)[0] == processes


def _room(processes: int) -> tuple[int, int]:
    # How many, and how many files may be open.
    others = STRANGERS + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < processes + others:
        soft = min(processes + others, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(max(1, soft - others), processes), soft
