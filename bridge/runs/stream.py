"""A run of the batch level alone on a log that is never held: read, simulated and written as simulated time goes on.

The table of jobs is, byte for byte, that of a run which holds them. A job that has ended is written when all before it have
ended, too. The metrics come from the written table, of which one number a job is held at a time, and from what was summed up
over time meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from als.engine.metrics import LOOP_METRICS, application_metrics
from bls.constraints.job_constraints import JobConstraints
from bls.engine.initial_state import intervals_of
from bls.metrics.batch import OverTime, streamed_metrics
from bls.metrics.schedule import Schedule
from bls.simulator import BatchSimulator
from bls.stream import STRETCH_JOBS, Arrivals, Stretch, stretches
from bls.workloads.header import has_begin
from bls.workloads.workload import Workload
from bridge.couplings import Watch
from bridge.couplings.contract import Pace, nothing_done
from bridge.runs.kernels import prepare_run
from bridge.runs.simulation import batch_simulator, ledger_of
from bridge.scenarios.scenario import Scenario
from traces.base.memory import give_back_memory
from traces.compiled import Array
from traces.kernels.progress import working_s
from traces.ledger import JobRecords, Ledger, Machine
from traces.tables import BEGIN, JOB_COLUMNS, JOB_GROUP, PLANNED, JobsWriter, job_blocks

__all__ = ["Streamed", "run_stream"]


@dataclass(frozen=True)
class Streamed:
    """What there is to tell of such a run beside its table.

    Attributes
    ----------
    metrics : mapping
        As of ``bridge.runs.result.Result``.
    decisions : mapping
        What deciding has cost (``bls.simulator.BatchSimulator.decisions``).
    workload : mapping
        The account of the log.
    coupling : mapping
        What the simulation took.
    """

    metrics: Mapping[str, Any]
    decisions: Mapping[str, Any]
    workload: Mapping[str, Any]
    coupling: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Jobs:
    """Rows of the table of jobs, by the number of their job; job i held ``count[i]`` of the intervals."""

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
        return _Jobs(
            columns, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("count", "lo", "hi"))
        )


class _InOrder:
    """Puts jobs that end in any order in that of the workload, and writes them, a row group at a time."""

    def __init__(self, machine: Machine, writer: JobsWriter) -> None:
        self._machine, self._writer = machine, writer
        self._waiting: list[_Jobs] = []  # for an earlier job that has not ended
        self._ready: list[_Jobs] = []
        self._next = 0  # the number of the first job that is not ready

    def add(self, jobs: _Jobs) -> None:
        """Jobs that have ended."""
        jobs = _Jobs.joined([*self._waiting, jobs])
        jobs = jobs.take(np.argsort(jobs.columns["number"], kind="stable"))
        n = int(np.argmin(np.append(jobs.columns["number"] == self._next + np.arange(len(jobs)), False)))
        self._next += n
        self._ready.append(jobs.take(np.arange(n)))
        self._waiting = [jobs.take(np.arange(n, len(jobs)))]
        if sum(map(len, self._ready)) >= JOB_GROUP:
            self._write()

    def finish(self) -> None:
        """Every job has ended."""
        assert not len(self._waiting[0])
        self._write(everything=True)

    def _write(self, *, everything: bool = False) -> None:
        jobs, at = _Jobs.joined(self._ready), 0
        while len(jobs) - at >= JOB_GROUP or (everything and at < len(jobs)):
            stop = min(at + JOB_GROUP, len(jobs))
            group = jobs.take(np.arange(at, stop))
            columns = {name: column for name, column in group.columns.items() if name in (*JOB_COLUMNS, BEGIN)}
            first = np.concatenate([[0], np.cumsum(group.count)])
            records = JobRecords(**columns, allocation_first=first, allocation_lo=group.lo, allocation_hi=group.hi)
            further = {name: group.columns[name] for name in (BEGIN, PLANNED) if name in group.columns}
            self._writer.write(Ledger(self._machine, records, None, None), further)
            at = stop
        self._ready = [jobs.take(np.arange(at, len(jobs)))]


@dataclass(frozen=True)
class _Written:
    """The schedule in a jobs.parquet, part by part, as often as it is asked for."""

    path: Path
    n_cores: int

    def __iter__(self) -> Iterator[Schedule]:
        names = ("submit_ns", "start_ns", "end_ns", "cores", "held_cores", "why", "state", "eligible_ns")
        for columns in job_blocks(self.path, names):
            # Nothing depends on another job or is tried again here: who joins the queue has just come to be able to.
            yield Schedule.of(n_cores=self.n_cores, holdings=None, begin_ns=columns["eligible_ns"], **columns)


def _ended(scenario: Scenario, stretch: Stretch) -> _Jobs:
    run, rows = stretch.simulator, stretch.ended
    of_stretch = replace(scenario, workload=run.workload)
    jobs = ledger_of(of_stretch, run, nothing_done(of_stretch, run)).jobs
    columns = {name: getattr(jobs, name)[rows] for name in JOB_COLUMNS if name != "allocation"}
    if has_begin(scenario.workload.header):
        columns[BEGIN] = jobs.begin_ns[rows]
    if run.estimates_differ:
        columns[PLANNED] = run.columns().estimate_ns[rows]
    count = np.diff(jobs.allocation_first)[rows]
    source = intervals_of(jobs.allocation_first[:-1][rows], count)
    columns["number"] = stretch.number[rows]
    return _Jobs(columns, count, jobs.allocation_lo[source], jobs.allocation_hi[source])


def run_stream(
    scenario: Scenario, arrivals: Arrivals, path: Path, watch: Watch, *, stretch_jobs: int = STRETCH_JOBS
) -> Streamed:
    """Run a scenario whose jobs come from ``arrivals``, and write the table of jobs.

    Parameters
    ----------
    scenario : Scenario
        Of the first of its jobs, which last their recorded run times; checked by ``bls.stream.check_streamed``.
    arrivals : Arrivals
        All of its jobs.
    path : Path
        Of the table.
    watch : Watch
        Notified of the progress.
    stretch_jobs : int
        So many jobs come in a stretch of time at least; the results do not depend on it.

    Raises
    ------
    TwolevelError
        If the log or a plug-in cannot be used.
    """
    prepare_run(applications=False)
    began = working_s()
    over_time, decisions = _simulate(scenario, arrivals, path, watch, stretch_jobs)
    give_back_memory()
    cost = {"name": "inline", "simulation_s": working_s() - began}
    no_tasks, unknown = np.zeros(1, np.int64), np.full(1, np.nan)
    metrics = streamed_metrics(_Written(path, over_time.n_cores), over_time) | application_metrics(
        no_tasks, no_tasks, unknown, unknown, np.full((len(LOOP_METRICS), 1), np.nan), 0.0
    )
    account = {
        "source": arrivals.source,
        "lines": arrivals.n_lines,
        "rejects": dict(arrivals.rejects),
        "reordered": 0,
        "clamped": arrivals.clamped,
        "jobs": arrivals.jobs,
    }
    return Streamed(metrics, decisions, account, cost)


def _simulate(
    scenario: Scenario, arrivals: Arrivals, path: Path, watch: Watch, stretch_jobs: int
) -> tuple[OverTime, Mapping[str, Any]]:
    # Returns what was summed up over time, and what deciding has cost.
    machine = scenario.platform.machine()
    over_time = OverTime(machine.n_cores, machine.first_core)

    def simulator(workload: Workload, around: JobConstraints) -> BatchSimulator:
        return batch_simulator(replace(scenario, workload=workload, circumstances=around))

    with JobsWriter(path) as writer:
        in_order = _InOrder(machine, writer)
        for stretch in stretches(arrivals, simulator, jobs=stretch_jobs, watch=watch, pace=Pace().ends):
            schedule, allocations = stretch.schedule()
            over_time.add(schedule, stretch.begin_ns, stretch.end_ns, allocations)
            in_order.add(_ended(scenario, stretch))
            give_back_memory()
        in_order.finish()
    return over_time, stretch.simulator.decisions()
