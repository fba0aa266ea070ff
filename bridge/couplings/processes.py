"""The couplings ``pool`` and ``process``: applications in processes of their own, at the other end of a socket.

They differ by a number: how many jobs a process serves before another takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from als.bounds import earliest_end_ns
from als.metrics import finish_cov, finish_imbalance
from bls import engine
from bls.batch_state import N_ROWS, ORIGIN, START
from bls.simulator import BatchSimulator
from bridge.couplings.contract import Applications, PeerOptions, Watch, core_gflop
from bridge.fleet import Fleet, Order, Report
from bridge.messages import (
    Recipe,
    Records,
    Start,
    pack_float64,
    unpack_float64,
    unpack_int32,
    unpack_int64,
)
from bridge.scenario import Scenario
from traces.compiled import Array
from traces.errors import InputError, PeerError
from traces.ledger import TaskRecords

__all__ = ["run_pool", "run_process"]

#: Ends between two looks at the clock.
_PAUSE_JOBS = 500


def run_pool(
    scenario: Scenario, simulator: BatchSimulator, *, keep_tasks: bool, watch: Watch, peers: PeerOptions
) -> Applications:
    """Run a scenario with persistent worker processes; a ``bridge.couplings.contract.Coupling``."""
    return _run(_Drive(scenario, simulator, keep_tasks, watch, peers, None))


def run_process(
    scenario: Scenario, simulator: BatchSimulator, *, keep_tasks: bool, watch: Watch, peers: PeerOptions
) -> Applications:
    """Run a scenario with one process per job; a ``bridge.couplings.contract.Coupling``."""
    return _run(_Drive(scenario, simulator, keep_tasks, watch, peers, 1))


def _run(drive: _Drive) -> Applications:
    if not _within_a_loop():
        return _run_loop(drive)
    # Called from within a loop, as in a notebook: ours runs in a thread of its own.
    outcome: Future[Applications] = Future()

    def target() -> None:
        try:
            outcome.set_result(_run_loop(drive))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=target, name="twolevel-bridge")
    thread.start()
    try:
        return outcome.result()
    except BaseException:  # the loop's, or an interrupt of this thread
        drive.interrupt()
        raise
    finally:
        thread.join()


def _within_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_loop(drive: _Drive) -> Applications:
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = drive.begin(loop)
        interrupted = False

        def interrupt() -> None:
            nonlocal interrupted
            if not interrupted:  # once: a second one must not keep the fleet from being closed
                interrupted = True
                task.cancel()

        with _interrupts(loop, interrupt):
            try:
                applications = loop.run_until_complete(task)
            except asyncio.CancelledError:
                if not interrupted:
                    raise
        if interrupted:
            raise KeyboardInterrupt
        return applications


@contextlib.contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop, interrupt: Callable[[], None]) -> Iterator[None]:
    # Interrupts come to the loop as events, and break into nothing that it is doing.
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if main else {}
    heard = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in heard:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number, handler in heard.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


class _Done(NamedTuple):
    """What became of the application of one row."""

    tasks: int
    chunks: int
    length_gflop: float
    imbalance: float
    cov: float
    records: list[tuple[Array, ...]]  # the columns of TaskRecords but the first, in parts


#: Of a row that never started.
_NOTHING = _Done(0, 0, 0.0, np.nan, np.nan, [])


class _Drive:
    """Carries messages between the batch engine and a fleet of applications."""

    def __init__(
        self,
        scenario: Scenario,
        simulator: BatchSimulator,
        keep_tasks: bool,
        watch: Watch,
        peers: PeerOptions,
        jobs_per_worker: int | None,
    ) -> None:
        assert scenario.technique is not None
        self._scenario, self._simulator, self._watch, self._peers = scenario, simulator, watch, peers
        self._keep_tasks = keep_tasks
        self._jobs_per_worker = jobs_per_worker
        self._technique = _technique_name(scenario)
        self._core_gflop = core_gflop(scenario)
        self._core_speed = scenario.platform.core_speed_gflops
        self._done: dict[int, _Done] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Applications] | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> asyncio.Task[Applications]:
        """The task that runs it all, in a loop that does not run yet."""
        self._loop, self._task = loop, loop.create_task(self.run())
        return self._task

    def interrupt(self) -> None:
        """From another thread: stop, and leave nothing behind."""
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def run(self) -> Applications:
        """Open the fleet, run to the end, close the fleet whatever happens."""
        peers = self._peers
        fleet = Fleet(
            peers.how_many(), self._jobs_per_worker, peers.timeout_s, peers.command, peers.socket, self._technique
        )
        done = False
        try:
            await fleet.open(len(self._scenario.workload))
            await self._drive(fleet)
            done = True
        finally:
            await _to_its_end(fleet.close(patient=done))
        rows = [self._done.get(row, _NOTHING) for row in range(int(self._simulator.state.counters[N_ROWS]))]
        return Applications(
            np.array([row.tasks for row in rows], np.int64),
            np.array([row.chunks for row in rows], np.int64),
            np.array([row.length_gflop for row in rows], np.float64),
            np.array([row.imbalance for row in rows], np.float64),
            np.array([row.cov for row in rows], np.float64),
            _task_records(rows) if self._keep_tasks else None,
            {"workers": peers.how_many(), **fleet.cost},
        )

    async def _drive(self, fleet: Fleet) -> None:
        simulator = self._simulator
        while True:
            status = simulator.advance(_PAUSE_JOBS)
            if status == engine.DONE:
                return
            if status == engine.STARTED:
                for row in simulator.started():
                    if self._origin(row) != row:
                        fleet.expect_another()
                    order = self._order(row)
                    fleet.submit(order)
                    # Somebody who does not say that they conserve work has promised nothing but the start.
                    start_ns = order.start.start_ns
                    simulator.promise(row, order.bound_ns if fleet.conserves_work else start_ns)
            elif status == engine.DUE:
                await fleet.arrival()
                self._inject(fleet)
            else:
                await asyncio.sleep(0)
            self._watch(simulator.ended, simulator.now_ns)

    def _inject(self, fleet: Fleet) -> None:
        for row, promised_ns in fleet.promises.items():
            self._simulator.promise(row, promised_ns)
        fleet.promises.clear()
        for row, report in fleet.reports.items():
            self._note(row, report)
        fleet.reports.clear()

    def _order(self, row: int) -> Order:
        workload, model, origin = self._scenario.workload, self._scenario.model, self._origin(row)
        start_ns, stop_ns = self._start_ns(row), self._simulator.stop_ns(row)
        job, cores = int(workload.job_id[origin]), int(workload.cores[origin])
        speed = self._core_speed[self._cores(row)]
        core_gflop = float(self._core_gflop[origin])
        mean = core_gflop / model.tasks_per_core
        total = core_gflop * cores
        recipe = Recipe(
            seed=model.seed,
            job_number=job,
            n=cores * model.tasks_per_core,
            mean_gflop=mean,
            variation=model.variation,
            total_gflop=total,
        )
        start = Start(
            job=row,
            attempt=0,
            start_ns=start_ns,
            core_speed_gflops=pack_float64(speed),
            technique=self._technique,
            overhead_ns=self._scenario.options.overhead_ns,
            records=self._keep_tasks,
            recipe=recipe,
            tasks=None,
            until_ns=None,
            changes=(),
            stop_ns=stop_ns,
        )
        bound_ns = earliest_end_ns(start_ns, total, mean, speed)
        if stop_ns is not None:
            bound_ns = min(bound_ns, stop_ns)
        return Order(start, bound_ns, job, lambda: model.lengths(job, cores, core_gflop))

    def _origin(self, row: int) -> int:
        """The row of the workload that a row is an attempt at."""
        return int(self._simulator.state.jobs[ORIGIN, row])

    def _start_ns(self, row: int) -> int:
        return int(self._simulator.state.jobs[START, row])

    def _cores(self, row: int) -> Array:
        """The global numbers of the cores that a job computes on, in order: of those it holds as many as it asked for."""
        held = [np.arange(lo, hi) for lo, hi in self._simulator.allocation(row)]
        return np.concatenate(held)[: self._scenario.workload.cores[self._origin(row)]]

    def _note(self, row: int, report: Report) -> None:
        outcome, start_ns = report.outcome, self._start_ns(row)
        finish_ns = np.array(unpack_int64(outcome.finish_ns))
        cores = self._cores(row).astype(np.int32)
        self._done[row] = _Done(
            outcome.ran,
            outcome.chunks,
            report.length_gflop,
            finish_imbalance(finish_ns, start_ns),
            finish_cov(finish_ns, start_ns),
            [_columns(part, cores) for part in report.records],
        )
        if not self._simulator.outcome(row, outcome.end_ns, stopped=outcome.stopped):
            # One process has promised, died, and another has broken the promise; the session knows only the latter.
            job, end_ns = int(self._scenario.workload.job_id[self._origin(row)]), outcome.end_ns
            raise PeerError(f"job {job}: its end at {end_ns} ns is before what was promised by an earlier process")


def _columns(part: Records, cores: Array) -> tuple[Array, ...]:
    """Records in the columns of TaskRecords, with global core numbers; a task that never ran has -1 everywhere."""
    start_ns, core, chunk = unpack_int64(part.start_ns), unpack_int32(part.core), unpack_int32(part.chunk)
    never = start_ns < 0
    return (
        start_ns,
        unpack_int64(part.end_ns),
        np.where(never, np.int32(-1), cores[core]),
        np.where(never, np.int32(-1), chunk),
        unpack_float64(part.length_gflop),
    )


def _task_records(rows: list[_Done]) -> TaskRecords:
    first = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([sum(len(part[0]) for part in row.records) for row in rows], out=first[1:])
    none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    parts = [none, *(part for row in rows for part in row.records)]  # it may be that no job ever started
    return TaskRecords(first, *(np.concatenate(columns) for columns in zip(*parts, strict=True)))


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await what must not be left half done, even when cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _technique_name(scenario: Scenario) -> str:
    # What a worker can look the technique up by.
    chosen = scenario.options.als
    if not isinstance(chosen, str):
        raise InputError(
            f"als: technique {chosen.name} is an object of this process; for --coupling pool or process name it, "
            "as FILE.py:NAME or by an entry point"
        )
    file, colon, name = chosen.rpartition(":")
    if colon and file.endswith(".py"):
        from pathlib import Path

        return f"{Path(file).resolve()}:{name}"
    return chosen
