"""The couplings ``pool`` and ``process``: applications in processes of their own, at the other end of a socket.

They differ by a number: how many jobs a process serves before another takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from als.bounds import earliest_end_ns
from als.core_speeds.state import NEVER, fill_next_ns
from als.lengths import COUNT, LENGTHS
from als.metrics import LOOP_METRICS, measure
from als.program import Loop, Program, absolute_name
from als.program_table import drawn_program
from als.techniques import AnyTechnique
from als.varying import MOST_ALONE
from bls import engine
from bls.batch_state import N_ROWS, ORIGIN, START
from bls.simulator import BatchSimulator
from bridge.couplings.contract import Applications, PeerOptions, Watch, core_gflop
from bridge.fleet import Fleet, Order, Report
from bridge.messages import (
    MAX_CHANGES,
    MAX_PARTS,
    Change,
    Outcome,
    Part,
    Recipe,
    Records,
    Start,
    pack_float64,
    pack_int64,
    unpack_float64,
    unpack_int32,
    unpack_int64,
)
from bridge.roster import Ahead
from bridge.scenario import Scenario
from traces.compiled import Array
from traces.errors import InputError, PeerError
from traces.ledger import TaskRecords
from traces.time import MAX_NS

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


_NAMES = [name for name, _ in LOOP_METRICS]
_IMBALANCE, _COV = _NAMES.index("imbalance"), _NAMES.index("cov")


class _Done(NamedTuple):
    """What became of the application of one row."""

    tasks: int
    chunks: int
    length_gflop: float
    imbalance: float
    cov: float
    loops: Array
    chosen: tuple[int, ...]
    ahead_chunks: int
    records: list[tuple[Array, ...]]  # the columns of TaskRecords but the first, in parts


#: Of a row that never started.
_NOTHING = _Done(0, 0, 0.0, np.nan, np.nan, np.full(len(LOOP_METRICS), np.nan), (), 0, [])


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
        programs = scenario.programs
        assert programs is not None
        self._programs = programs
        self._techniques = [_technique_names(program) for program in scenario.applications]
        self._sure_phases = [_sure_phases(program) for program in scenario.applications]
        self._plain = [_is_plain(program) for program in scenario.applications]
        self._texts = ["" if _is_plain(program) else program.to_json() for program in scenario.applications]
        self._core_host = scenario.platform.core_host
        self._core_gflop = core_gflop(scenario)
        self._core_speed = scenario.platform.core_speed_gflops
        self._done: dict[int, _Done] = {}
        self._numbers: dict[int, Array] = {}  # of the cores that jobs under way compute on
        self._alone: dict[int, int] = {}
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
            peers.how_many(),
            self._jobs_per_worker,
            peers.timeout_s,
            peers.command,
            peers.socket,
            self._techniques[-1][0] or "static",
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
            np.array([row.loops for row in rows], np.float64).reshape(len(rows), len(LOOP_METRICS)),
            self._chosen(rows),
            np.array([row.ahead_chunks for row in rows], np.int64),
            _task_records(rows) if self._keep_tasks else None,
            {"workers": peers.how_many(), **fleet.cost},
        )

    def _chosen(self, rows: list[_Done]) -> Array | None:
        # A worker counts the rules of one program; in the table they stand behind those of the programs before it.
        rules = self._programs.rules
        if not rules.selects:
            return None
        chosen = np.zeros((len(rows), len(rules.names)), np.int64)
        for row, done in enumerate(rows):
            if done.chosen:
                first = self._programs.rule_first(int(self._scenario.program[self._origin(row)]))
                chosen[row, first : first + len(done.chosen)] = done.chosen
        return chosen

    def _check_chosen(self, row: int, outcome: Outcome) -> None:
        if not outcome.chosen:
            return
        origin, rules = self._origin(row), self._programs.rules
        first = self._programs.rule_first(int(self._scenario.program[origin]))
        most = len(rules.names) - first if rules.selects else 0
        if len(outcome.chosen) > most:
            job = int(self._scenario.workload.job_id[origin])
            raise PeerError(f"job {job}: the outcome's chosen has {len(outcome.chosen)} numbers; allowed: up to {most}")

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
        scenario, origin = self._scenario, self._origin(row)
        workload, model, options = scenario.workload, scenario.model, scenario.options
        start_ns, stop_ns = self._start_ns(row), self._simulator.stop_ns(row)
        job, cores, place = int(workload.job_id[origin]), int(workload.cores[origin]), int(scenario.program[origin])
        numbers = self._numbers[row] = self._cores(row)
        base = self._core_speed[numbers]
        core_gflop = float(self._core_gflop[origin])
        program = scenario.applications[place]
        mean, total, n = _work(program, cores, core_gflop)
        recipe = Recipe(
            seed=model.seed,
            job_number=job,
            n=n,
            mean_gflop=mean,
            variation=model.variation,
            total_gflop=total,
            core_gflop=core_gflop,
            program=self._texts[place],
        )
        ahead = self._ahead(row, numbers, base, start_ns)
        latency = options.level.latency_ns
        start = Start(
            job=row,
            attempt=0,
            start_ns=start_ns,
            core_speed_gflops=pack_float64(self._speed(numbers, start_ns)),
            technique=next((name for name in self._techniques[place] if name), "static"),
            parts=None,
            overhead_ns=options.overhead_ns,
            latency_ns=pack_int64(self._latency(numbers, latency)) if latency else None,
            master=options.level.master,
            records=self._keep_tasks,
            recipe=recipe,
            tasks=None,
            until_ns=ahead.until_ns,
            changes=ahead.changes,
            stop_ns=stop_ns,
        )
        surely = total if self._plain[place] else _phases_gflop(program, cores, core_gflop, self._sure_phases[place])
        bound_ns = earliest_end_ns(start_ns, surely, surely / n, base * scenario.speeds.highest_factor)
        if stop_ns is not None:
            bound_ns = min(bound_ns, stop_ns)

        def lengths() -> tuple[Array, tuple[Part, ...] | None]:
            drawn, tasks = drawn_program(self._programs, place, model.seed, job, cores, core_gflop)
            if len(tasks) > MAX_PARTS:
                raise InputError(
                    f"job {job}: {len(tasks)} parts, phases times steps; a simulator that asks for lengths can be told "
                    f"of {MAX_PARTS}; use inline"
                )
            if len(program.phases) * program.steps == 1 and self._techniques[place][0]:
                return drawn, None
            names = self._techniques[place]
            return drawn, tuple(Part(tasks=int(m), technique=names[at % len(names)]) for at, m in enumerate(tasks))

        return Order(
            start, bound_ns, job, lengths, lambda now_ns: self._ahead(row, numbers, base, max(now_ns - 1, start_ns))
        )

    def _ahead(self, row: int, numbers: Array, base: Array, from_ns: int) -> Ahead:
        """What changes after an instant, if a message holds so much: enough for twice the recorded run time, or for as
        long again as the job has lasted."""
        speeds = self._scenario.speeds
        if speeds.steady:
            return Ahead()
        if len(numbers) > MAX_CHANGES:
            raise InputError(
                f"--speeds: a job of {len(numbers)} cores; a message holds {MAX_CHANGES} changes; use inline"
            )
        run_ns = int(self._scenario.workload.run_ns[self._origin(row)])
        horizon_ns = min(from_ns + max(2 * run_ns, from_ns - self._start_ns(row)), MAX_NS)
        found = speeds.changes(numbers, base, from_ns, horizon_ns, MAX_CHANGES // len(numbers))
        changes = tuple(Change(at_ns=at_ns, core=core, speed_gflops=gflops) for at_ns, core, gflops in found.changes)
        # Where nobody is there, and nobody comes in all that time, nobody will: as als.varying has it.
        if found.changes or self._speed(numbers, from_ns).any():
            self._alone.pop(row, None)
        elif found.complete_ns < horizon_ns:
            self._alone[row] = self._alone.get(row, 0) + MAX_CHANGES // len(numbers)
            if self._alone[row] >= MOST_ALONE:
                return Ahead()
        next_ns = np.empty(len(numbers), np.int64)
        fill_next_ns(speeds.state, numbers, found.complete_ns, next_ns)
        return Ahead(changes, None if next_ns.min() == NEVER else found.complete_ns + 1)

    def _speed(self, numbers: Array, now_ns: int) -> Array:
        """GFLOP/s of cores at an instant."""
        base: Array = self._core_speed[numbers]
        speeds = self._scenario.speeds
        return base if speeds.steady else base * speeds.factors(numbers, now_ns)

    def _latency(self, numbers: Array, latency_ns: int) -> Array:
        """Of each core's messages: none on the job's first host, where the master is."""
        return np.where(self._core_host[numbers] == self._core_host[numbers[0]], 0, latency_ns)

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
        numbers = self._numbers.pop(row)
        self._check_chosen(row, outcome)
        loops = np.empty(len(LOOP_METRICS))
        measure(
            loops,
            start_ns,
            np.array(unpack_int64(outcome.finish_ns)),
            np.array(unpack_int64(outcome.busy_ns)),
            self._speed(numbers, start_ns),
            np.nan if outcome.stopped else report.length_gflop,
            report.length_cov,
            outcome.scheduling_ns,
            outcome.chunks,
        )
        self._done[row] = _Done(
            outcome.ran,
            outcome.chunks,
            report.length_gflop,
            float(loops[_IMBALANCE]),
            float(loops[_COV]),
            loops,
            outcome.chosen,
            outcome.ahead_chunks,
            [_columns(part, numbers.astype(np.int32)) for part in report.records],
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


def _is_plain(program: Program) -> bool:
    """Whether a recipe says it all: one loop of normal lengths, so many tasks a core."""
    loop = program.phases[0]
    once = len(program.phases) == program.steps == 1
    return once and isinstance(loop, Loop) and not loop.lengths and loop.tasks is None


def _work(program: Program, cores: int, core_gflop: float) -> tuple[float, float, int]:
    """Mean task length, all the work (both GFLOP) and the number of tasks of a job that are expected."""
    if _is_plain(program):
        loop = program.loops[0]
        tasks_per_core = loop.tasks_per_core or 1
        return core_gflop / tasks_per_core, core_gflop * cores, cores * tasks_per_core
    n = program.n_tasks(cores)
    total = _phases_gflop(program, cores, core_gflop, range(len(program.phases)))
    return total / n, total, n


def _phases_gflop(program: Program, cores: int, core_gflop: float, phases: Iterable[int]) -> float:
    """The work of some of a job's phases in all of its steps, GFLOP."""
    shares = program.shares
    return sum(core_gflop * shares[at] * (cores if isinstance(program.phases[at], Loop) else 1) for at in phases)


def _sure_phases(program: Program) -> list[int]:
    """The phases whose tasks have no less work together than their share; the lengths of a file need not."""
    equal = LENGTHS["equal"].lengths(0.0).next_length
    sure = []
    for at, phase in enumerate(program.phases):
        model = phase.found_lengths() if isinstance(phase, Loop) else None
        if model is None or model.mode != COUNT or model.next_length is equal:
            sure.append(at)
    return sure


def _technique_names(program: Program) -> list[str | None]:
    """What a worker can look each phase's technique up by; None for a serial part."""
    return [_technique_name(phase.technique) if isinstance(phase, Loop) else None for phase in program.phases]


def _technique_name(chosen: str | AnyTechnique) -> str:
    if not isinstance(chosen, str):
        raise InputError(
            f"als: technique {chosen.name} is an object of this process; for --coupling pool or process name it, "
            "as FILE.py:NAME or by an entry point"
        )
    return absolute_name(chosen)
