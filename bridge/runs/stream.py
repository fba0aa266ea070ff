"""A run of the batch level on a log that is never in memory as a whole: it is read, simulated and written piece by piece.

The table of jobs is byte-identical to that of an ordinary run. A job is written once it and all earlier jobs have ended. The
metrics come from the written table, of which one number per job is in memory at a time, and from sums over time that are
kept during the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from als.metrics.loops import LOOP_METRICS, application_metrics
from bls.constraints.job_constraints import JobConstraints
from bls.metrics.batch import OverTime, streamed_metrics
from bls.metrics.schedule import Allocations, Downtime, Schedule
from bls.simulator import BatchSimulator
from bls.stream import LATER, STRETCH_JOBS, ArrivingJobs, Stretch, stretches
from bls.workloads.header import has_begin
from bls.workloads.workload import Workload
from bridge.couplings import nothing_done
from bridge.runs.kernels import prepare_run
from bridge.runs.record import account_of_log
from bridge.runs.simulation import ledger_of
from bridge.runs.stored import IDS
from bridge.scenarios.ready import ReadyScenario
from bridge.watches import Pace, Watch
from traces import tables
from traces.base.process import give_back_memory
from traces.compiled import Array
from traces.intervals import intervals_of
from traces.kernels.units import working_s
from traces.ledger import JobRecords, Ledger, MachineShape
from traces.records.gpus import GpuRecords

if TYPE_CHECKING:
    from bls.metrics.gpus import GpusOverTime


@dataclass(frozen=True)
class Streamed:
    """The outcome of such a run besides its table."""

    metrics: Mapping[str, Any]  # see ``bridge.runs.result.Result``
    decisions: Mapping[str, Any]  # cost of deciding (``bls.simulator.BatchSimulator.decisions``)
    workload: Mapping[str, Any]  # summary of the log
    coupling: Mapping[str, Any]  # cost of the simulation


@dataclass(frozen=True, eq=False)
class _Jobs:
    """Rows of the table of jobs, by the number of their job; job i has ``count[i]`` intervals."""

    columns: dict[str, Array]
    count: Array
    lo: Array
    hi: Array

    def __len__(self) -> int:
        return len(self.count)

    def take(self, rows: Array) -> _Jobs:
        source = intervals_of((np.cumsum(self.count) - self.count)[rows], self.count[rows])
        columns = {name: column[rows] for name, column in self.columns.items()}
        return _Jobs(columns, self.count[rows], self.lo[source], self.hi[source])

    @staticmethod
    def joined(parts: list[_Jobs]) -> _Jobs:
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        held = (np.concatenate([getattr(part, name) for part in parts]) for name in ("count", "lo", "hi"))
        return _Jobs(columns, *held)


class _InOrder:
    """Sorts jobs that end in any order into the order of the workload, and writes them, one row group at a time."""

    def __init__(self, machine: MachineShape, writer: tables.JobsWriter) -> None:
        self._machine, self._writer = machine, writer
        self._waiting: list[_Jobs] = []  # until an earlier job has ended
        self._ready: list[_Jobs] = []
        self._next = 0  # the number of the first job that is not ready
        self._later: list[_Jobs] = []  # later attempts, which follow all jobs

    def add(self, jobs: _Jobs) -> None:
        """Add jobs that have ended."""
        later = jobs.columns["number"] >= LATER
        if later.any():
            self._later.append(jobs.take(np.flatnonzero(later)))
            jobs = jobs.take(np.flatnonzero(~later))
        jobs = _Jobs.joined([*self._waiting, jobs])
        jobs = jobs.take(np.argsort(jobs.columns["number"], kind="stable"))
        n = int(np.argmin(np.append(jobs.columns["number"] == self._next + np.arange(len(jobs)), False)))
        self._next += n
        self._ready.append(jobs.take(np.arange(n)))
        self._waiting = [jobs.take(np.arange(n, len(jobs)))]
        if sum(map(len, self._ready)) >= tables.JOB_GROUP:
            self._write()

    def finish(self) -> None:
        """Write the rest, after every job has ended."""
        assert not len(self._waiting[0])
        if self._later:
            later = _Jobs.joined(self._later)
            self._ready.append(later.take(np.argsort(later.columns["number"])))
        self._write(everything=True)

    def _write(self, *, everything: bool = False) -> None:
        jobs, at = _Jobs.joined(self._ready), 0
        while len(jobs) - at >= tables.JOB_GROUP or (everything and at < len(jobs)):
            stop = min(at + tables.JOB_GROUP, len(jobs))
            group = jobs.take(np.arange(at, stop))
            known = (*tables.JOB_COLUMNS, tables.BEGIN)
            columns = {name: column for name, column in group.columns.items() if name in known}
            first = np.concatenate([[0], np.cumsum(group.count)])
            records = JobRecords(**columns, allocation_first=first, allocation_lo=group.lo, allocation_hi=group.hi)
            further = {name: group.columns[name] for name in (tables.PLANNED, tables.BEGIN) if name in group.columns}
            for name in (tables.NAME, *reversed(GpuRecords.table_columns())):
                if name in group.columns:
                    further = {name: group.columns[name].tolist(), **further}
            self._writer.write(Ledger(self._machine, records, None, None), further)
            at = stop
        self._ready = [jobs.take(np.arange(at, len(jobs)))]


class _Span:
    """Sums over time, from the first submit to the last end of the jobs that start: policies may reject others.

    Stretches are kept while an earlier job may still become the first to start. Time after the latest end known so far
    counts only if a job starts later.
    """

    def __init__(self, machine: MachineShape) -> None:
        self._machine = machine
        self.sums, self._tail = self._nothing(), self._nothing()
        self._waiting: list[tuple[Schedule, int, int, Allocations, Downtime]] = []
        self._begin_ns: int | None = None  # the first submit, once it is known
        self._first: tuple[int, int] | None = None  # the lowest number of a started job, and its submit

    def _nothing(self) -> OverTime:
        return OverTime(self._machine.n_cores, self._machine.first_core)

    def add(self, stretch: Stretch) -> None:
        """Add a stretch; all before it have been added."""
        schedule, allocations = stretch.schedule()
        downtime = stretch.simulator.downtime(stretch.end_ns).within(stretch.begin_ns, stretch.end_ns)
        self._waiting.append((schedule, stretch.begin_ns, stretch.end_ns, allocations, downtime))
        if self._begin_ns is None:
            self._find_begin(stretch, schedule)
        if self._begin_ns is not None:
            for one in self._waiting:
                self._sum_up(*one)
            self._waiting = []

    def _find_begin(self, stretch: Stretch, schedule: Schedule) -> None:
        started, number = schedule.started, stretch.job
        waits = stretch.left()
        waits = waits[~started[waits]]
        if started.any():
            row = int(np.flatnonzero(started)[np.argmin(number[started])])
            found = int(number[row]), int(stretch.simulator.workload.submit_ns[row])
            self._first = found if self._first is None else min(self._first, found)
        if self._first is None:
            if not len(waits):
                self._waiting = []  # every job so far was rejected
        elif not (number[waits] < self._first[0]).any():
            self._begin_ns = self._first[1]

    def _sum_up(
        self, schedule: Schedule, begin_ns: int, end_ns: int, allocations: Allocations, downtime: Downtime
    ) -> None:
        assert self._begin_ns is not None
        begin_ns = max(begin_ns, self._begin_ns)
        until_ns = min(end_ns, int(schedule.end_ns.max(initial=-1)))
        if until_ns > begin_ns:
            self.sums.join(self._tail)
            self._tail = self._nothing()
            self.sums.add(schedule, begin_ns, until_ns, allocations, downtime)
            begin_ns = until_ns
        if end_ns > begin_ns:
            self._tail.add(schedule, begin_ns, end_ns, allocations, downtime)


@dataclass(frozen=True)
class _Written:
    """The schedule in a jobs.parquet, part by part; may be read repeatedly."""

    path: Path
    n_cores: int
    begin: str  # the column of the instants at which waits begin

    def __iter__(self) -> Iterator[Schedule]:
        names = ("submit_ns", "start_ns", "end_ns", "cores", "held_cores", "why", "state", "eligible_ns")
        for columns in tables.job_blocks(self.path, tuple(dict.fromkeys((*names, self.begin)))):
            given = {name: columns[name] for name in names}
            yield Schedule(n_cores=self.n_cores, holdings=None, begin_ns=columns[self.begin], **given)


def _begins(scenario: ReadyScenario, arrivals: ArrivingJobs) -> bool:
    # Whether the table may have the column BEGIN: only if a job joins the queue later than its submit.
    return has_begin(scenario.workload.header) if arrivals.begins is None else arrivals.begins


def _ledger(scenario: ReadyScenario, stretch: Stretch) -> Ledger:
    of_stretch = replace(scenario, workload=stretch.simulator.workload)
    return ledger_of(of_stretch, stretch.simulator, nothing_done(of_stretch, stretch.simulator))


def _ended(scenario: ReadyScenario, stretch: Stretch, ledger: Ledger, begins: bool) -> _Jobs:
    run, rows = stretch.simulator, stretch.ended
    jobs, gpus = ledger.jobs, ledger.gpus
    columns = {name: getattr(jobs, name)[rows] for name in tables.JOB_COLUMNS if name != "allocation"}
    if gpus is not None:
        columns |= {name: np.array(column, object)[rows] for name, column in gpus.columns_of_jobs().items()}
    if begins:
        columns[tables.BEGIN] = jobs.begin_ns[rows]
    if run.workload.names or run.workload.ids:
        names = [run.workload.job_name(row) or "" for row in run.column("origin")[rows].tolist()]
        columns[tables.NAME] = np.array(names, object)
    if run.rules.estimates_differ:
        columns[tables.PLANNED] = run.column("estimate_ns")[rows]
    count = np.diff(jobs.allocation_first)[rows]
    source = intervals_of(jobs.allocation_first[:-1][rows], count)
    columns["number"] = stretch.number[rows]
    return _Jobs(columns, count, jobs.allocation_lo[source], jobs.allocation_hi[source])


def run_stream(
    scenario: ReadyScenario, arrivals: ArrivingJobs, path: Path, watch: Watch, *, stretch_jobs: int = STRETCH_JOBS
) -> Streamed:
    """Run a scenario whose jobs come from ``arrivals``, and write the table of jobs. The ``scenario`` has the first jobs, and
    passed ``bls.stream.check_streamed``; results do not depend on ``stretch_jobs``. Raises TwolevelError."""
    prepare_run(applications=False)
    began = working_s()
    scenario = scenario.for_one_run()
    policy: object = scenario.policy
    with policy if isinstance(policy, AbstractContextManager) else nullcontext():
        over_time, gpus, last = _simulate(scenario, arrivals, path, watch, stretch_jobs)
    decisions, downtime = last.decisions(), last.downtime()
    del last
    give_back_memory()
    cost = {"name": "inline", "simulation_s": working_s() - began}
    no_tasks, unknown = np.zeros(1, np.int64), np.full(1, np.nan)
    written = _Written(path, over_time.n_cores, tables.BEGIN if arrivals.held else "submit_ns")
    nothing = no_tasks, no_tasks, unknown, unknown, np.full((len(LOOP_METRICS), 1), np.nan), 0.0
    metrics = streamed_metrics(written, over_time, downtime)
    if gpus is not None:
        held = (columns["gpus"] > 0 for columns in tables.job_blocks(path, ("gpus",)))
        metrics |= gpus.metrics(metrics["utilisation_span_ns"], zip(written, held, strict=True))
    metrics |= application_metrics(*nothing)
    account = account_of_log(arrivals, arrivals.jobs) | ({IDS: True} if scenario.workload.ids else {})
    return Streamed(metrics, decisions, account, cost)


def _simulate(
    scenario: ReadyScenario, arrivals: ArrivingJobs, path: Path, watch: Watch, stretch_jobs: int
) -> tuple[OverTime, GpusOverTime | None, BatchSimulator]:
    # Returns the sums over time, and the simulator of the last stretch.
    machine = scenario.platform.machine()
    span, gpus = _Span(machine), None
    if scenario.platform.n_gpus:
        from bls.metrics.gpus import GpusOverTime  # few runs need it

        gpus = GpusOverTime(machine)

    def simulator(workload: Workload, constraints: JobConstraints) -> BatchSimulator:
        return replace(scenario, workload=workload, constraints=constraints).batch_simulator()

    outages = scenario.constraints.outages
    with tables.JobsWriter(path) as writer:
        in_order = _InOrder(machine, writer)
        texts: dict[str, dict[int, str]] = {tables.REJECTED_BECAUSE: {}, tables.STARTED_BECAUSE: {}}
        pieces = stretches(arrivals, simulator, jobs=stretch_jobs, outages=outages, watch=watch, pace=Pace().ends)
        for stretch in pieces:
            run, ledger = stretch.simulator, _ledger(scenario, stretch)
            span.add(stretch)
            if gpus is not None:
                gpus.add(ledger, run.downtime(stretch.end_ns), stretch.begin_ns, stretch.end_ns)
            in_order.add(_ended(scenario, stretch, ledger, _begins(scenario, arrivals)))
            for name, said in ((tables.REJECTED_BECAUSE, run.rejections), (tables.STARTED_BECAUSE, run.start_reasons)):
                texts[name] |= {int(stretch.number[row]): because for row, because in said.items()}
            del ledger
            give_back_memory()
        in_order.finish()
    given = {name: said for name, said in texts.items() if said}
    if given or (_begins(scenario, arrivals) and not arrivals.held):
        tables.finish_jobs(path, given, begins=arrivals.held > 0)
    return span.sums, gpus, stretch.simulator
