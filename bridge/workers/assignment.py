"""Assignment: which worker holds which jobs, and which one should get the next. No I/O."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from bridge.protocol.message_fields import Change
from bridge.protocol.messages import Hello, Outcome, Records, SimulateJob, Transfers, Wish
from bridge.protocol.task_payload import TaskPayload
from bridge.workers.connection import Connection


@dataclass(frozen=True)
class CoreForecast:
    """What a worker knows of what will happen to a job's cores."""

    changes: tuple[Change, ...] = ()
    until_ns: int | None = None  # the instant up to which these are all; None: for good


def nothing_ahead(now_ns: int) -> CoreForecast:
    """Nothing happens to the cores."""
    return CoreForecast()


@dataclass(frozen=True)
class Order:
    """One job to simulate."""

    start: SimulateJob  # what the worker is sent, with a recipe; ``job`` is the row in the workload
    bound_ns: int  # an instant before which a worker that conserves work cannot end it
    job_number: int  # the workload's number, for messages
    payload: Callable[[], TaskPayload]  # draws the tasks, for a worker that asks for their lengths
    next_changes: Callable[[int], CoreForecast] = nothing_ahead  # what is ahead of the job from an instant on
    losses: int = 0  # how many processes that had this order were lost

    def again(self) -> Order:
        """The next attempt at it, since the process that had it was lost."""
        return replace(self, start=changed(self.start, attempt=self.start.attempt + 1), losses=self.losses + 1)


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
class Worker:
    """One application process."""

    name: str  # its worker id
    since: float  # when it was launched, last heard of, or was given work while it had none, in the loop's time, s
    # hello, connection: None until it has said hello
    hello: Hello | None = None
    connection: Connection | None = None
    # the jobs it holds by row, in the order in which they were given
    orders: dict[int, Order] = field(default_factory=dict)
    payloads: dict[int, TaskPayload] = field(default_factory=dict)  # the tasks of jobs it holds, where they were sent
    # records, transfers, wishes: what it has recorded of jobs it holds, and said that they wish for
    records: dict[int, list[Records]] = field(default_factory=dict)
    transfers: dict[int, list[Transfers]] = field(default_factory=dict)
    wishes: dict[int, list[Wish]] = field(default_factory=dict)
    pouring: list[Order] = field(default_factory=list)  # those whose tasks are still to be sent
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
        """Give a worker no more jobs; those that it holds stay in its ``orders``."""
        if self._holding[len(worker.orders)].pop(worker.name, None) is not None:
            self._busy -= bool(worker.orders)

    def give(self, worker: Worker, order: Order) -> None:
        """A worker holds a job from now on."""
        self._move(worker, worker.orders.__setitem__, order.start.job, order)

    def take(self, worker: Worker, row: int) -> Order:
        """A worker has ended a job."""
        order = worker.orders[row]
        self._move(worker, worker.orders.__delitem__, row)
        return order

    def _move(self, worker: Worker, change: Callable[..., None], *arguments: Any) -> None:
        known = self._holding[len(worker.orders)].pop(worker.name, None) is not None
        before = bool(worker.orders)
        change(*arguments)
        if known:
            self._holding[len(worker.orders)][worker.name] = worker
            self._busy += bool(worker.orders) - before

    def able(self, order: Order) -> Worker | None:
        """The worker that should get this order, the one with the fewest; or None if all have enough. A job that was
        lost before is simulated alone, so that if it is lost again it is clear which one is to blame."""
        if self._holding[0] and self._busy < self._limit:
            return next(iter(self._holding[0].values()))
        if order.losses > 0:
            return None
        for workers in self._holding[1 : self._depth]:
            for worker in workers.values():
                if next(iter(worker.orders.values())).losses == 0:
                    return worker
        return None


def changed(start: SimulateJob, **changes: object) -> SimulateJob:
    """A start with some fields changed."""
    fields: dict[str, Any] = {name: getattr(start, name) for name in start.__struct_fields__}
    return SimulateJob(**(fields | changes))
