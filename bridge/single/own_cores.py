"""Common parts of a single loop and a single graph: cores, and one job that runs on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from als.application import ApplicationSimulator
from als.application_faults import lost_error
from als.core_speeds import CoreSpeeds
from als.metrics.loops import LOOP_METRICS, measure
from als.network.state import message_ns
from als.options import CORES, SPEEDS, WORKERS
from als.workers import WorkerKind, WorkerSlots, n_slots, with_devices, worker_kinds
from bridge.options.declared import CORE_SPEED, HOSTS
from bridge.runs.library_versions import versions
from traces.base.errors import InputError, parse_real, shown
from traces.base.options import CORE_GFLOPS, check_fields
from traces.base.process import processor_model
from traces.base.time import MAX_NS
from traces.compiled import Array, own

if TYPE_CHECKING:
    from bridge.single.graph_run import GraphResult
    from bridge.single.loop_run import LoopResult
    from traces.ledger import Ledger, TransferRecords

_INSTANTS = 10_000  #: number of instants of changing speeds that are processed together


def given_speeds(text: str, cores: int | None) -> tuple[float, ...]:
    """The speeds of all cores, GFLOP/s, from ``--core-speed`` and ``--cores``. Raises InputError if they contradict each
    other."""
    try:
        speeds = tuple(parse_real(part.strip()) for part in text.split(","))
    except ValueError:
        raise InputError(f"{CORE_SPEED}: {shown(text)}; allowed: a number, or one for each core, as 2,1,1,1") from None
    for speed in speeds:
        CORE_GFLOPS.check(speed, str(CORE_SPEED))
    if cores is None:
        if len(speeds) == 1:
            raise InputError(f"{CORES}: missing; allowed: {CORES.lowest} to {CORES.highest}")
        return speeds
    CORES.check(cores)
    if len(speeds) not in (1, cores):
        raise InputError(f"{CORE_SPEED}: {len(speeds)} speeds; allowed: one, or one for each of the {cores} cores")
    return speeds * cores if len(speeds) == 1 else speeds


class OwnCores:
    """Cores of a single job, and the cost of a chunk on them: the base of the options of a loop and of a graph."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    als: Any
    core_speed_gflops: tuple[float, ...]
    hosts: int
    overhead_ns: int
    latency_ns: int
    assignment: str
    speeds: tuple[str, ...]
    workers: tuple[str, ...]
    seed: int
    # Object named by ``workers``: the kinds, first those whose drivers compute nothing
    kinds: tuple[WorkerKind, ...]

    def check_cores(self) -> None:
        """Raise InputError if there are too many cores or none, or a value is out of range."""
        kinds = worker_kinds(self.workers, str(WORKERS))
        object.__setattr__(self, "kinds", tuple(sorted(kinds, key=lambda kind: not kind.drivers)))
        if kinds and self.speeds:
            raise InputError(f"{SPEEDS}: not with {WORKERS}, whose chunks do not change")
        CORES.check(self.n_cores)
        for speed in self.core_speed_gflops:
            CORE_GFLOPS.check(speed, str(CORE_SPEED))
        HOSTS.check(self.hosts, highest=len(self.core_speed_gflops))
        check_fields(self)

    def check_weights(self, name: str, only_cores: int | None) -> None:
        """Refuse a technique whose weights are for another number of cores, with an InputError."""
        if only_cores not in (None, self.n_cores):
            raise InputError(f"technique {name}: its weights are for {only_cores} cores, not {self.n_cores}")

    @property
    def n_cores(self) -> int:
        """P, with the slots of devices that no core drives."""
        return len(self.core_speed_gflops) + self._further

    @property
    def _further(self) -> int:
        return n_slots([kind for kind in self.kinds if not kind.drivers])

    def slots(self, *, gflop: Array | None = None) -> tuple[Array, WorkerSlots | None]:
        """The speeds of all slots, float64 (P,), GFLOP/s, and the workers; None: all are cores. ``gflop``: work of each task on
        cores and on each kind."""
        speeds = self.core_speed_gflops
        of_cores = np.array(speeds + speeds[-1:] * self._further, np.float64)
        if not self.kinds:
            return of_cores, None
        kinds = self.kinds if gflop is None else [replace(kind, variation=0.0) for kind in self.kinds]
        return with_devices(kinds, of_cores, gflop=gflop)

    @property
    def first_core(self) -> Array:
        """First core of each host, and P, int64 (hosts + 1,): blocks; if they differ, the first ones are larger by one core.
        Slots of devices that no core drives are on the last host."""
        share, more = divmod(len(self.core_speed_gflops), self.hosts)
        first = np.concatenate([[0], np.cumsum([share + (h < more) for h in range(self.hosts)])]).astype(np.int64)
        first[-1] = self.n_cores
        return first

    @property
    def core_host(self) -> Array:
        """The host of each core, int64 (P,)."""
        return np.repeat(np.arange(self.hosts), np.diff(self.first_core))

    @property
    def host_names(self) -> list[str]:
        """Names for records and traces."""
        return [f"host {h}" for h in range(self.hosts)]

    @property
    def latencies_ns(self) -> Array:
        """Time of a message between each core and the master, int64 (P,)."""
        return own(message_ns(self.core_host, 0, self.latency_ns), np.int64)

    def names(self) -> dict[str, Any]:
        """The options for a record; equal speeds of cores as one number."""
        named = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        equal = len(set(self.core_speed_gflops)) == 1
        speeds = self.core_speed_gflops[0] if equal else list(self.core_speed_gflops)
        als = self.als if isinstance(self.als, str) else self.als.name
        if not self.workers:
            del named["workers"]
        return named | {"als": als, "cores": self.n_cores, "core_speed_gflops": speeds}


def one_job_ledger(name: str, result: LoopResult | GraphResult, transfers: TransferRecords | None = None) -> Ledger:
    """A loop or a graph as the only job of a machine of this name, for trace writers: job 0, which starts at 0."""
    from bridge.runs.stored_trace import ledger_of_job
    from traces.ledger import MachineShape

    options = result.options
    machine = MachineShape(name, tuple(options.host_names), options.first_core)
    return ledger_of_job(
        machine,
        result.tasks,
        result.makespan_ns,
        result.n_chunks,
        result.metrics,
        transfers,
        steps=getattr(options, "steps", 1),
        scheduler=str(options.names()["als"]),
    )


def task_columns(application: ApplicationSimulator, length_gflop: Array) -> dict[str, Array]:
    """The tasks of a finished application, columns ``traces.ledger_tables.TASKS``."""
    state, n = application.state, len(length_gflop)
    columns = {name: getattr(state, name) for name in ("chunk", "core", "start_ns", "end_ns")}
    return {"job_id": np.zeros(n, np.int64), "task": np.arange(n), **columns, "length_gflop": length_gflop}


def measured(application: ApplicationSimulator, gflops: Array, length_gflop: Array, cov: float) -> Array:
    """The values of :data:`als.metrics.loops.LOOP_METRICS` of a finished application on cores of these speeds."""
    values, cores = np.empty(len(LOOP_METRICS)), application.state.cores
    work, costs = float(length_gflop.sum()), (application.scheduling_ns, application.chunks)
    measure(values, 0, cores.finish_ns, cores.busy_ns, gflops, work, cov, *costs)
    return values


def record_head(options: OwnCores, arguments: Mapping[str, Any], makespan_ns: int) -> dict[str, Any]:
    """The beginning of run.json of a loop or a graph."""
    return {
        "arguments": dict(arguments) | options.names(),
        "seed": options.seed,
        "versions": versions(),
        "processor": processor_model(),
        "machine": {"host_names": options.host_names, "first_core": options.first_core.tolist()},
        "makespan_ns": makespan_ns,
    }


def advance_to_end(application: ApplicationSimulator, speeds: CoreSpeeds, base_gflops: Array) -> list[tuple[int, int]]:
    """Simulate an application from 0 to its end under changing core speeds. Returns (core, ns) of cores that returned or
    arrived late. Raises InputError if all cores are lost for good, or come and go too quickly for any task."""
    returned: list[tuple[int, int]] = []
    cores, at = np.arange(len(base_gflops)), 0
    now = base_gflops * speeds.factors(cores, 0)
    for c in np.flatnonzero(now == 0.0).tolist():
        if speeds.for_good(np.array([c]), np.array([0]))[0]:
            application.lose(c)
    while not speeds.steady and at < MAX_NS:
        found = speeds.changes(cores, base_gflops, at, MAX_NS, _INSTANTS)
        for at_ns, c, speed in found.changes:
            if application.advance(at_ns):
                break
            if now[c] == 0.0:
                returned.append((c, at_ns))
            now[c] = speed
            if speed == 0.0 and speeds.for_good(np.array([c]), np.array([at_ns]))[0]:
                application.lose(c)
            else:
                application.set_speed(speed, c)
        if application.advance(found.complete_ns):
            break
        at = found.complete_ns
    application.advance()
    if application.lost:
        raise lost_error(application.state)
    return returned
