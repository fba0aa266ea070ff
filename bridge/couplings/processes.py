"""The couplings ``pool`` and ``process``: applications in separate processes, connected by sockets.

The batch level advances until ``DONE``. On ``STARTED`` and ``INTERRUPTED``, every job that has started or receives commands
gets a promise; on ``DUE``, when a promise expires, the outcome of that job.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.engine.features.limits.options import FALLBACK
from bls.engine.features.retries.retries import CAME_AND_WENT
from bls.engine.status import BatchStatus
from bls.options import BLS
from bls.policies.contract import OtherProgram
from bls.running_jobs import RunningJobs
from bridge.couplings import Applications, BatchLevel, check_devices
from bridge.couplings.orders import Orders
from bridge.couplings.reports import Reports
from bridge.protocol.packing import unpack_int64
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution
from bridge.watches import Watch
from bridge.workers.assignment import JobReport
from bridge.workers.interruptible import run_interruptibly
from bridge.workers.outstanding_jobs import OutstandingJobs
from bridge.workers.supervisor import Needs, Supervisor
from traces.base.errors import PeerError

if TYPE_CHECKING:
    from bridge.workers.hosts import HostsRequest

_PAUSE_JOBS = 500  #: ends between two readings of the clock


def run_pool(
    scenario: ReadyScenario, simulator: BatchLevel, *, keep_tasks: bool, watch: Watch, execution: Execution
) -> Applications:
    """Run a scenario with persistent worker processes; a ``bridge.couplings.Coupling``."""
    return _run(_Drive(scenario, simulator, keep_tasks, watch, execution, None))


def run_process(
    scenario: ReadyScenario, simulator: BatchLevel, *, keep_tasks: bool, watch: Watch, execution: Execution
) -> Applications:
    """Run a scenario with one process per job; a ``bridge.couplings.Coupling``."""
    return _run(_Drive(scenario, simulator, keep_tasks, watch, execution, 1))


def _run(drive: _Drive) -> Applications:
    running = None
    with contextlib.suppress(RuntimeError):
        running = asyncio.get_running_loop()
    if running is None:
        return _run_loop(drive)
    # Called from within an event loop, for example in a notebook: use another thread.
    with ThreadPoolExecutor(1, "twolevel-bridge") as thread:
        outcome = thread.submit(_run_loop, drive)
        try:
            return outcome.result()
        except BaseException:  # raised by the loop, which has ended, or an interrupt of this thread
            with contextlib.suppress(RuntimeError):
                drive.interrupt()
            raise


def _run_loop(drive: _Drive) -> Applications:
    return run_interruptibly(drive.run(), drive.interruptible)


class _Drive:
    """Carries messages between the batch engine and the processes of applications."""

    def __init__(
        self,
        scenario: ReadyScenario,
        level: BatchLevel,
        keep_tasks: bool,
        watch: Watch,
        execution: Execution,
        jobs_per_worker: int | None,
    ) -> None:
        assert scenario.technique is not None
        check_devices(scenario, level)
        self._scenario, self._level, self._watch, self._execution = scenario, level, watch, execution
        self._jobs_per_worker = jobs_per_worker
        self._orders = Orders(scenario, level, records=keep_tasks)
        self._reports = Reports(scenario, level, self._orders, keep_tasks=keep_tasks)
        self._suspends = self._injected = 0
        #: Another program that decides: the batch level waits for it.
        self._decider = scenario.policy if isinstance(scenario.policy, OtherProgram) else None
        aside = execution.listen is not None or self._decider is not None
        self._aside = ThreadPoolExecutor(1, "twolevel-batch") if aside else None
        #: Called from another thread: stop and clean up. RuntimeError if the run has ended.
        self.interrupt: Callable[[], object] = lambda: None

    def interruptible(self, interrupt: Callable[[], object]) -> None:
        """Set the function that interrupts the run."""
        self.interrupt = interrupt

    async def run(self) -> Applications:
        """Open the supervisor, run to the end, and always close it."""
        execution, needs = self._execution, self._needs()
        how = (
            execution.how_many(),
            self._jobs_per_worker,
            execution.timeout_s,
            execution.als_command,
            execution.socket,
        )
        supervisor = Supervisor(*how, self._orders.technique, self._orders.program, needs=needs, hosts=self._wanted())
        done = False
        try:
            await supervisor.open(len(self._scenario.workload))
            await self._drive(supervisor.jobs)
            done = True
        finally:
            await _to_its_end(supervisor.close(patient=done))
            if self._aside is not None:
                self._aside.shutdown()
        cost = supervisor.cost
        for name, number in (("suspends", self._suspends), ("resumes", self._suspends), ("injected", self._injected)):
            cost[name] += number
        return self._reports.applications(self._level.rows, {"workers": supervisor.most_workers, **cost})

    def _needs(self) -> Needs:
        power, dealings, scaled_by = self._scenario.power, self._level.dealings, ""
        if dealings.scales:
            scaled_by = f"{BLS:{self._scenario.policy.name}}, which directs speeds"
            if power is not None and power.slows:
                scaled_by = f"{FALLBACK:{power.options.fallback}}"
        return Needs(self._orders.own_releases, dealings.hints, dealings.resizes, dealings.evolves, scaled_by)

    def _wanted(self) -> HostsRequest | None:
        """The request for other hosts, if any."""
        execution = self._execution
        if execution.listen is None:
            return None
        from importlib.metadata import version

        from bridge.workers.credentials import CERTIFICATE_ENDING
        from bridge.workers.hosts import HostsRequest, needed_files

        assert execution.token_file is not None  # checked by Execution
        certificate = execution.certificate or execution.token_file + CERTIFICATE_ENDING
        files = needed_files(self._orders.names())
        return HostsRequest(execution.listen, execution.token_file, certificate, version("twolevel"), files)

    async def _drive(self, jobs: OutstandingJobs) -> None:
        level = self._level
        while True:
            status = await self._advance()
            if status == BatchStatus.DONE:
                return
            self._suspends += status in (BatchStatus.STARTED, BatchStatus.DUE, BatchStatus.INTERRUPTED)
            if status in (BatchStatus.STARTED, BatchStatus.INTERRUPTED):
                started = level.started()
                self._interrupt_jobs(jobs, started)
                for row in started:
                    order = self._orders.order(row)
                    if level.origin(row) == row:
                        jobs.submit(order)
                    else:
                        jobs.submit_again(order)
                    # Without work conservation, only the start is certain.
                    start_ns = order.start.start_ns
                    # Wait at once for outcomes that the batch level uses early, even if the job starts later: it cannot
                    # receive commands before its answer.
                    if level.dealings.awaits_outcomes:
                        start_ns = level.now_ns
                    elif jobs.conserves_work:
                        start_ns = order.bound_ns
                    level.promise(row, start_ns)
                    self._injected += 1
            elif status == BatchStatus.DUE:
                await jobs.arrival()
                self._inject(jobs)
            else:
                await asyncio.sleep(0)
            self._watch(level.ended, level.now_ns)

    def _interrupt_jobs(self, jobs: OutstandingJobs, started: list[int]) -> None:
        """Simulate applications that receive commands again, with all their commands."""
        level = self._level
        for row in level.interrupted():
            self._orders.command(row, level.now_ns)
            if row not in started:  # orders of started jobs have their commands anyway
                level.take_back(row)
                jobs.submit_again(self._orders.order(row))
                self._injected += 1

    async def _advance(self) -> BatchStatus:
        """Run the batch level until it suspends; in a thread if it may wait for others, since this loop answers processes."""
        if self._aside is None:
            return self._level.advance(_PAUSE_JOBS)
        running = asyncio.get_running_loop().run_in_executor(self._aside, self._level.advance, _PAUSE_JOBS)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if self._decider is not None:
                self._decider.break_off()
            await asyncio.wait([running])
            raise

    def _inject(self, jobs: OutstandingJobs) -> None:
        level, running, reports = self._level, self._level.running_jobs, dict(jobs.reports)
        dealings, releasing = level.dealings, running if level.dealings.releases else None
        self._injected += len(jobs.promises) + len(reports)
        for row, promised_ns in jobs.promises.items():
            if not dealings.awaits_outcomes:
                level.promise(row, promised_ns)
        jobs.promises.clear()
        jobs.reports.clear()
        for row, report in reports.items():
            if dealings.directs or dealings.releases:
                self._orders.answered(row, report.outcome.attempt)
            if releasing is not None and not self._report_releases(releasing, jobs, row, report):
                continue
            numbers, end_ns, last = self._orders.numbers(row), report.outcome.end_ns, report.outcome.last_lost
            self._reports.note(row, report)
            if last is None:
                known = level.outcome(row, end_ns, stopped=report.outcome.stopped)
            else:
                assert running is not None  # no other level may lose cores
                known = running.loss(row, end_ns, int(numbers[last]) if last >= 0 else CAME_AND_WENT)
            if not known:
                # A process promised and died, and its successor broke the promise, which its session did not know.
                job = level.job_number(row)
                raise PeerError(f"job {job}: its end at {end_ns} ns is before the promise of an earlier process")

    def _report_releases(self, level: RunningJobs, jobs: OutstandingJobs, row: int, report: JobReport) -> bool:
        """Report a job's releases to the batch level; False if it must be simulated again, for longer."""
        numbers, outcome = self._orders.numbers(row), report.outcome
        assert outcome.released_ns is not None  # checked by the protocol
        released_ns = np.array(unpack_int64(outcome.released_ns))
        if outcome.stopped and level.put_off_stop(row, numbers, released_ns):
            jobs.submit_again(self._orders.order(row))
            return False
        if report.wishes:
            width_request_ns, cores = np.array([(wish.at_ns, wish.cores) for wish in report.wishes], np.int64).T.copy()
            if not level.request_width(row, width_request_ns, cores, outcome.end_ns):
                raise PeerError(f"job {level.job_number(row)}: it requests cores at instants that have passed")
        if not level.release(row, numbers, released_ns, outcome.end_ns):
            raise PeerError(f"job {level.job_number(row)}: it releases cores at instants that have passed")
        return True


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await work that must be completed even when cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
