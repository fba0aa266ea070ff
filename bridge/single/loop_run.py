"""A run of a single loop: the application level of one job on its own cores, from task lengths to tables and metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from als.application import ApplicationSimulator
from als.core_speeds import CoreSpeeds, core_speeds
from als.lengths import LengthModel
from als.lengths.draw import drawn, length_cov
from als.metrics.loops import LOOP_METRICS, by_name, finish_cov, finish_imbalance
from als.options import ASSIGNMENT, LATENCY, N_TASKS, OVERHEAD, SPEEDS, STEPS, WORKERS
from als.schedulers import loop_technique
from als.techniques import AnyTechnique
from als.workers import WorkerKind
from bridge.options.declared import HOSTS
from bridge.single.own_cores import OwnCores, advance_to_end, measured, one_job_ledger, task_columns
from traces.base.errors import InputError
from traces.base.options import SEED, holds
from traces.compiled import Array, own

if TYPE_CHECKING:
    from traces.ledger import Ledger


@dataclass(frozen=True)
class LoopOptions(OwnCores):
    """Options of a single loop."""

    als: str | AnyTechnique  # its technique, or the technique's name
    core_speed_gflops: tuple[float, ...]  # speed of each of the P cores, GFLOP/s
    overhead_ns: int = holds(OVERHEAD)  # cost of each chunk
    # time of a message between the master's host, the first, and another host; two messages per chunk
    latency_ns: int = holds(LATENCY)
    # number of hosts among which the cores are divided in blocks; if these differ, the first ones are larger by one core
    hosts: int = holds(HOSTS)
    assignment: str = holds(ASSIGNMENT)  # ``distributed`` or ``master``
    # number of repetitions of the loop, each followed by a barrier; a technique may learn from step to step
    steps: int = holds(STEPS)
    speeds: tuple[str, ...] = holds(SPEEDS)  # changes of the cores' speeds, see ``als.core_speeds``
    workers: tuple[str, ...] = holds(WORKERS)  # workers that are no cores, see ``als.workers``
    seed: int = holds(SEED)  # seed of all random numbers
    # kinds, technique, changing: the objects named by ``workers``, ``als`` and ``speeds``; set here
    kinds: tuple[WorkerKind, ...] = field(init=False, compare=False, repr=False)
    technique: AnyTechnique = field(init=False, compare=False, repr=False)
    changing: CoreSpeeds = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.check_cores()
        found = loop_technique(self.als) if isinstance(self.als, str) else self.als
        self.check_weights(found.name, found.only_cores)
        object.__setattr__(self, "technique", found)
        object.__setattr__(self, "changing", core_speeds(self.speeds, self.n_cores, self.seed))


@dataclass(frozen=True)
class LoopResult:
    """The outcome of a loop."""

    options: LoopOptions
    makespan_ns: int  # instant at which the last core has finished; the loop starts at 0
    n_chunks: int  # number of assigned chunks
    # dict of ndarray, one row per task, columns ``traces.ledger_tables.TASKS``; the tasks of a later step follow those
    # of the one before
    tasks: dict[str, Array]
    # dict of ndarray, one row per chunk in the order of assignment: ``chunk``, ``step``, ``core``, ``first`` (its first
    # task), ``size``, ``request_ns`` (time of the core's request), ``begin_ns``, ``end_ns``. A chunk that was lost with its
    # core has only its finished tasks
    chunks: dict[str, Array]
    # ``start_ns`` and ``end_ns`` of each time step, and the ``imbalance`` and ``cov`` of the cores' finishing times in it
    steps: list[dict[str, float]]
    values: Array  # float64 (K,), by ``als.metrics.loops.LOOP_METRICS``
    chosen: dict[str, int]  # number of times that each technique was chosen, if the loop selects among techniques
    ahead_chunks: int  # chunks that were simulated ahead for the selection

    @property
    def metrics(self) -> dict[str, float]:
        """All values of ``als.metrics.loops.measure``, by name."""
        return by_name(LOOP_METRICS, self.values)

    @property
    def ledger(self) -> Ledger:
        """The loop as the only job of a machine, for trace writers: job 0, which starts at 0."""
        return one_job_ledger("loop", self)


def drawn_tasks(model: LengthModel, seed: int, n_tasks: int | None, mean_gflop: float) -> Array:
    """The lengths of ``n_tasks`` tasks, by default the model's number, GFLOP; their mean is as given, except for rounding.
    Raises InputError if the model has another number of tasks, or neither states one."""
    n = model.count if n_tasks is None else n_tasks
    if n is None:
        raise InputError(f"{N_TASKS}: missing; the number of tasks")
    if model.count not in (None, n):
        raise InputError(f"{N_TASKS}: {n}; allowed: {model.count}, the tasks of lengths {model.name}")
    N_TASKS.check(n)
    total = n * mean_gflop
    while True:
        lengths = drawn(model, seed, 0, n, mean_gflop, total)
        if not model.fills or len(lengths) >= n:
            return lengths[:n]
        total *= 1.5


def simulate_loop(lengths_gflop: Array, options: LoopOptions) -> LoopResult:
    """Run a loop to its end; each time step has tasks of these lengths, GFLOP, > 0. Raises InputError if an option is not
    allowed, or all cores are lost; PluginError if the technique returns an impossible chunk."""
    lengths = own(lengths_gflop, np.float64)
    n, steps = len(lengths), options.steps
    N_TASKS.check(n * steps, f"{STEPS} times the tasks")
    (base, workers), speeds = options.slots(), options.changing
    all_lengths = np.tile(lengths, steps)
    at_start = base * speeds.factors(np.arange(len(base)), 0)
    application = ApplicationSimulator(
        all_lengths,
        at_start,
        options.technique,
        overhead_ns=options.overhead_ns,
        latency_ns=options.latencies_ns,
        master=options.assignment == "master",
        part_tasks=[n] * steps,
        seed=options.seed,
        workers=workers,
        core_host=None if workers is None else options.core_host,
    )
    returned = advance_to_end(application, speeds, base)
    columns = task_columns(application, all_lengths)
    by_step = _steps(columns, options, application)
    values = measured(application, at_start, all_lengths, length_cov(lengths, 0, n))
    starts = np.array([step["start_ns"] for step in by_step], np.int64)
    chunks = _chunk_columns(columns, n, starts, returned)
    _set_times_of_devices(chunks, application)
    return LoopResult(
        options,
        application.end_ns,
        application.chunks,
        columns,
        chunks,
        by_step,
        values,
        application.chosen,
        application.ahead_chunks,
    )


def _steps(tasks: dict[str, Array], options: LoopOptions, application: ApplicationSimulator) -> list[dict[str, float]]:
    # The first request of a step costs only its messages and overhead, so its time is known. With messages it is later
    # than the end of the step before: all cores must be notified that no task is left.
    n_cores, n = options.n_cores, len(tasks["task"]) // options.steps
    cost, devices = 2 * options.latencies_ns + options.overhead_ns, application.state.devices
    found: list[dict[str, float]] = []
    start = end = 0
    for s in range(options.steps):
        part = slice(s * n, (s + 1) * n)
        core, begin, done = (tasks[name][part] for name in ("core", "start_ns", "end_ns"))
        asked = begin - cost[core]
        if options.kinds:
            asked = np.where(devices.asked_ns[part] < 0, asked, devices.asked_ns[part])
            done = np.maximum(done, devices.ended_ns[part])  # transfers follow
        if s:
            start = max(end, int(asked.min()))
        finish = np.full(n_cores, start, np.int64)
        np.maximum.at(finish, core, done)
        end = int(finish.max())
        shape = {"imbalance": finish_imbalance(finish, start), "cov": finish_cov(finish, start)}
        found.append({"start_ns": start, "end_ns": end, **shape})
    return found


def _set_times_of_devices(chunks: dict[str, Array], application: ApplicationSimulator) -> None:
    # A chunk on a device ends with its transfer, and its successor need not wait for that.
    devices = application.state.devices
    if len(devices.asked_ns):
        asked = devices.asked_ns[chunks["first"]]
        chunks["request_ns"] = np.where(asked < 0, chunks["request_ns"], asked)
        chunks["end_ns"] = np.where(asked < 0, chunks["end_ns"], devices.ended_ns[chunks["first"]])


def _chunk_columns(tasks: dict[str, Array], n: int, starts: Array, returned: list[tuple[int, int]]) -> dict[str, Array]:
    # Tasks combined into chunks. A core requests when its last chunk has ended, the step has begun, or it has returned.
    step, chunk = tasks["task"] // n, tasks["chunk"].astype(np.int64)
    order = np.lexsort((tasks["start_ns"], chunk, step))
    fresh = np.concatenate([[True], (np.diff(chunk[order]) != 0) | (np.diff(step[order]) != 0)])
    at = np.flatnonzero(fresh)
    head, last = order[at], order[np.append(at[1:], len(order)) - 1]
    core, begin, end = tasks["core"][head].astype(np.int64), tasks["start_ns"][head], tasks["end_ns"][last]
    request = starts[step[head]]
    by_core = np.lexsort((begin, core))
    before = by_core[:-1][np.diff(core[by_core]) == 0]
    after = by_core[1:][np.diff(core[by_core]) == 0]
    request[after] = np.maximum(request[after], end[before])
    for c in {core_number for core_number, _ in returned}:
        back = np.array([0, *(ns for core_number, ns in returned if core_number == c)], np.int64)
        mine = np.flatnonzero(core == c)
        latest = back[np.searchsorted(back, begin[mine], side="right") - 1]
        request[mine] = np.maximum(request[mine], latest)
    return {
        "chunk": chunk[head],
        "step": step[head],
        "core": core,
        "first": np.minimum.reduceat(tasks["task"][order], at),
        "size": np.diff(np.append(at, len(order))),
        "request_ns": request,
        "begin_ns": begin,
        "end_ns": end,
    }
