"""Application processes and their jobs: which process holds which, and which one gets the next. No I/O."""

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
from bridge.workers.connection import TRAFFIC, Connection
from bridge.workers.listener import STRANGERS

log = logging.getLogger("twolevel.bridge")

_OTHER_FILES: Final = 64  # open files reserved for other purposes than connections


@dataclass(frozen=True)
class CoreForecast:
    """The known future of a job's cores."""

    changes: tuple[Change, ...] = ()
    until_ns: int | None = None  # the instant up to which this is complete; None: for good


@dataclass(frozen=True)
class Order:
    """One job to simulate."""

    start: SimulateJob  # the message to the worker, with a recipe; ``job`` is the row in the workload
    bound_ns: int  # lower bound of the job's end in a worker that conserves work
    job_number: int  # the workload's number, for messages
    payload: Callable[[], TaskPayload]  # generates the tasks, for a worker that requests their lengths
    # the future of the job's cores from an instant on
    next_changes: Callable[[int], CoreForecast] = lambda now_ns: CoreForecast()
    losses: int = 0  # number of processes that were lost with this order

    def again(self) -> Order:
        """The next attempt, after the process that had the order was lost."""
        return replace(self, start=replaced(self.start, attempt=self.start.attempt + 1), losses=self.losses + 1)


@dataclass(frozen=True)
class JobReport:
    """Everything that a worker reported of one job."""

    outcome: Outcome
    records: list[Records]  # in task order; empty if not requested
    transfers: list[Transfers]  # in the order of edges
    length_gflop: float  # the sum of the task lengths, added in task order
    length_cov: float  # their coefficient of variation. If the bridge has sent the lengths, both are its own values
    wishes: list[Wish] = field(default_factory=list)  # in the order of instants


@dataclass(eq=False)
class HeldJob:
    """A job that a worker holds, and the worker's reports so far."""

    order: Order
    payload: TaskPayload | None = None  # its tasks, if they were sent
    records: list[Records] = field(default_factory=list)
    transfers: list[Transfers] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)

    def reported(self, outcome: Outcome) -> JobReport:
        """Return the complete report at the end of the job."""
        total, cov = outcome.length_gflop, math.nan if outcome.length_cov is None else outcome.length_cov
        if self.payload is not None:
            total, cov = self.payload.total_gflop, self.payload.cov
        return JobReport(outcome, self.records, self.transfers, total, cov, self.wishes)


@dataclass(eq=False)
class Worker:
    """One application process."""

    name: str  # its worker id
    since: float  # time of its launch, its last message, or its first job after being idle, in the loop's time, s
    hello: Hello | None = None  # as its connection: None until its hello
    connection: Connection | None = None
    jobs: dict[int, HeldJob] = field(default_factory=dict)  # by row, in the order in which they were given
    pouring: list[HeldJob] = field(default_factory=list)  # jobs whose tasks are still to be sent
    served: int = 0  # number of finished jobs
    ended: asyncio.Event = field(default_factory=asyncio.Event)  # set when its process is known to have ended
    how: str = "closed its connection"  # the reason why it is unusable, such as "was killed by SIGKILL"
    blameless: bool = False  # whether it ended because of another process


class Assignment:
    """Connected workers by number of held jobs: at most ``limit`` may hold jobs at once, and each at most ``depth``."""

    def __init__(self, limit: int, depth: int) -> None:
        self._limit, self._depth = limit, depth
        # The one that has been idle longest comes first.
        self._holding: list[dict[str, Worker]] = [{} for _ in range(depth + 1)]
        self._busy = 0

    def add(self, worker: Worker) -> None:
        """Add a connected worker without jobs."""
        self._holding[0][worker.name] = worker

    def drop(self, worker: Worker) -> None:
        """Give a worker no more jobs; the jobs that it holds stay in its ``jobs``."""
        if self._holding[len(worker.jobs)].pop(worker.name, None) is not None:
            self._busy -= bool(worker.jobs)

    def give(self, worker: Worker, order: Order) -> HeldJob:
        """Give an order to a worker."""
        job = worker.jobs[order.start.job] = HeldJob(order)
        self._moved(worker, len(worker.jobs) - 1)
        return job

    def take(self, worker: Worker, row: int) -> HeldJob:
        """Take a finished job from a worker."""
        job = worker.jobs.pop(row)
        self._moved(worker, len(worker.jobs) + 1)
        return job

    def _moved(self, worker: Worker, before: int) -> None:
        now = len(worker.jobs)
        if self._holding[before].pop(worker.name, None) is not None:
            self._holding[now][worker.name] = worker
            self._busy += (now > 0) - (before > 0)

    def able(self, order: Order) -> Worker | None:
        """The worker for this order: the one with the fewest jobs; None if all are full. A job that was lost before is
        simulated alone, so that a second loss shows which job is to blame."""
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
    """The launcher of application processes on one host; processes are named by worker ids."""

    def launch(self, worker: str) -> None:
        """Start a process for a new worker id."""

    def greeted(self, worker: str) -> None:
        """Note that a worker has sent its hello, or never will."""

    def kill(self, worker: str) -> None:
        """Kill a worker and the processes that it started, if it still exists."""


@dataclass(eq=False)
class Place:
    """One host and its application processes."""

    name: str  # of the host
    processes: Processes
    assignment: Assignment  # the jobs of its workers
    workers: int  # number of workers that simulate at once
    alive: int  # number of processes that may exist at once
    here: bool = False  # whether it is this host
    names: set[str] = field(default_factory=set)  # the workers that exist or are starting
    stillborn: int = 0  # number of consecutive processes that ended before they were admitted
    lost: bool = False  # whether it was lost before the end of the run
    launched: int = 0
    jobs: int = 0  # finished here
    retries: int = 0  # jobs lost with a process and simulated again
    messages: int = 0  # traffic of all ended connections of this place
    bytes_sent: int = 0
    bytes_received: int = 0

    def cost(self) -> dict[str, Any]:
        """Costs for ``run.json``."""
        counted = {name: getattr(self, name) for name in ("jobs", "retries", *TRAFFIC, "lost")}
        return {"host": self.name, "workers": self.workers, "processes": self.launched, **counted}


def room_for(processes: int) -> int:
    """The possible number of connections for ``processes`` processes; logs a warning if it is lower."""
    room, files = possible_processes(processes)
    if room < processes:
        log.warning("%d application processes at once, not %d: only %d files may be open", room, processes, files)
    return room


def possible_processes(wanted: int) -> tuple[int, int]:
    """Number of processes, up to ``wanted``, that can be connected, and the limit on open files, raised if allowed."""
    others = STRANGERS + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted + others:
        soft = min(wanted + others, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(max(1, soft - others), wanted), soft
