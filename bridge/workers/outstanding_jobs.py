"""Outstanding jobs: those that were submitted and not yet reported, and the messages of workers about them.

They go to the worker with the fewest jobs, first those that the batch level needs first.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final

from bridge.encoding import replaced
from bridge.protocol import messages as m
from bridge.protocol.session import LocalProtocolError
from bridge.protocol.task_payload import check_payload
from bridge.workers.assignment import HeldJob, JobReport, Order, Place, Worker
from bridge.workers.connection import Connection
from traces.base.errors import InputError, PeerError

log = logging.getLogger("twolevel.bridge")

RETRIES: Final = 3  # number of times that a job is simulated again after its process died or hung


class OutstandingJobs:
    """The jobs of a run from their submission to their report, and whether the run can continue. ``spawn`` runs a coroutine
    concurrently, and must pass its error to :meth:`fail`. ``conserves_work``: whether the workers conserve work, so that the
    bounds of orders hold; None: the first hello states it."""

    def __init__(self, spawn: Callable[[Coroutine[Any, Any, None]], None], conserves_work: bool | None) -> None:
        self._spawn = spawn
        self._queue: list[tuple[int, int]] = []  # heap of (instant at which it is needed, row)
        self._orders: dict[int, Order] = {}
        self._failures: dict[int, int] = {}
        self._arrived = asyncio.Event()
        self.conserves_work = conserves_work
        self.reports: dict[int, JobReport] = {}  # not taken yet, by row
        self.promises: dict[int, int] = {}  # later ones, not taken yet, by row
        self.expected = 0  # number of jobs still to be reported, submitted or not
        self.failure: Exception | None = None  # why the run cannot continue
        # jobs simulated again, times that a job was suspended and resumed, and changes to cores that were sent
        self.retries = self.suspends = self.injected = 0
        #: Called when there is a job to hand out, and when more jobs are expected.
        self.submitted: Callable[[], None] = lambda: None
        self.expects_more: Callable[[], None] = lambda: None

    def submit(self, order: Order) -> None:
        """Have a job simulated, for the first time or again."""
        self._enqueue(order)
        self.submitted()

    def submit_again(self, order: Order) -> None:
        """Have a job simulated once more than was expected."""
        self.expected += 1
        self.expects_more()
        self.submit(order)

    def _enqueue(self, order: Order) -> None:
        row = order.start.job
        self._orders[row] = order
        heapq.heappush(self._queue, (order.bound_ns, row))

    async def arrival(self) -> None:
        """Wait for a report or a promise; raises :attr:`failure` once it is set."""
        while True:
            if self.failure is not None:
                raise self.failure
            if self.reports or self.promises:
                return
            self._arrived.clear()
            await self._arrived.wait()

    def fail(self, error: Exception) -> None:
        """Stop the run: :meth:`arrival` will raise this error, unless another one was first."""
        self.failure = self.failure or error
        self._arrived.set()

    def learn(self, hello: m.Hello) -> None:
        """Note the first admitted hello, which decides whether bounds of earlier orders hold."""
        if self.conserves_work is None:
            self.conserves_work = hello.conserves_work
            if hello.conserves_work:
                self.promises.update((row, order.bound_ns) for row, order in self._orders.items())
                self._arrived.set()

    # To workers

    def hand_out(self, places: Iterable[Place]) -> None:
        """Give waiting jobs to workers of these places, as long as one has room."""
        while self._queue and not self.failure:
            _, row = self._queue[0]
            order = self._orders[row]
            able = [(place, worker) for place in places if (worker := place.assignment.able(order)) is not None]
            if not able:
                return
            place, worker = min(able, key=lambda one: len(one[1].jobs))
            heapq.heappop(self._queue)
            self._give(place, worker, order)

    def _give(self, place: Place, worker: Worker, order: Order) -> None:
        assert worker.hello is not None
        assert worker.connection is not None
        if not worker.jobs:
            worker.since = asyncio.get_running_loop().time()
        job = place.assignment.give(worker, order)
        self.injected += len(order.start.changes)
        if worker.hello.tasks == "recipe":
            self._start(worker, order, order.start)
        else:
            worker.pouring.append(job)
            if len(worker.pouring) == 1:
                self._spawn(self._pour(worker))

    @staticmethod
    def _start(worker: Worker, order: Order, start: m.SimulateJob) -> Connection:
        connection, hello = worker.connection, worker.hello
        assert connection is not None
        assert hello is not None
        connection.send(start)
        if hello.conserves_work:
            connection.session.book.open_job(start.job).hold(order.bound_ns)
        return connection

    async def _pour(self, worker: Worker) -> None:
        # No faster than the worker reads: a stopped one must not fill this process's memory.
        while worker.pouring and worker.connection is not None and not worker.connection.ended:
            job = worker.pouring[0]
            order, payload = job.order, job.order.payload()
            job.payload, tasks = payload, len(payload.lengths)
            try:
                start = replaced(order.start, recipe=None, tasks=tasks, parts=payload.parts)
                connection = self._start(worker, order, start)
            except LocalProtocolError as error:  # its text names the row
                raise InputError(f"job {order.job_number}: cannot be sent to a simulator: {error}") from None
            for message in payload.messages(order.start.job):
                connection.send(message)
                await connection.drain()
                if connection.ended or not worker.pouring:  # it was given up
                    return
                worker.since = asyncio.get_running_loop().time()
            worker.pouring.pop(0)

    def take_back(self, worker: Worker) -> None:
        """Queue the jobs of a lost worker again, unless they were lost too often."""
        if orders := [job.order for job in worker.jobs.values()]:
            numbers = ", ".join(str(order.job_number) for order in orders)
            log.warning("application process %s %s; simulated again: job %s", worker.name, worker.how, numbers)
        for at, order in enumerate(orders):
            row = order.start.job
            # Only its first job can be to blame; the following ones had not begun.
            if at == 0 and not worker.blameless:
                failures = self._failures[row] = self._failures.get(row, 0) + 1
                if failures > RETRIES:
                    what = f"job {order.job_number}: its application process failed {failures} times"
                    self.fail(PeerError(f"{what}; the last one {worker.how}"))
                    return
            self.retries += 1
            self._enqueue(order.again())

    # From workers

    def take(self, place: Place, worker: Worker, message: Any) -> None:
        """Handle the message of a worker about a job that it holds."""
        row = message.job
        job = worker.jobs[row]
        if isinstance(message, m.Outcome):
            self._finish(place, worker, message)
        elif isinstance(message, m.Records | m.Transfers):
            check_payload(job.payload, message)
            of_kind: list[Any] = job.records if isinstance(message, m.Records) else job.transfers
            of_kind.append(message)
        elif isinstance(message, m.Wish):
            job.wishes.append(message)
        elif isinstance(message, m.Promise):
            self.promises[row] = message.not_before_ns
            self._arrived.set()
        elif isinstance(message, m.Suspended):
            self._go_on(worker, job, message)
        elif isinstance(message, m.Failed):
            kind = InputError if message.blame == "user" else PeerError
            where = "" if place.here else f" on host {place.name}"
            self.fail(kind(f"job {job.order.job_number}: the application simulator{where} reports: {message.reason}"))

    def _go_on(self, worker: Worker, job: HeldJob, message: m.Suspended) -> None:
        # It knew the changes up to this instant; now send the following ones.
        assert worker.connection is not None
        more, stop_ns = job.order.next_changes(message.now_ns), job.order.start.stop_ns
        self.suspends += 1
        self.injected += len(more.changes)
        worker.connection.send(m.Resume(job=message.job, until_ns=more.until_ns, changes=more.changes, stop_ns=stop_ns))

    def _finish(self, place: Place, worker: Worker, outcome: m.Outcome) -> None:
        row = outcome.job
        self.reports[row] = place.assignment.take(worker, row).reported(outcome)
        place.jobs += 1
        del self._orders[row]
        worker.served += 1
        self.expected -= 1
        self.promises.pop(row, None)
        self._arrived.set()
