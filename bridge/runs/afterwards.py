"""Numbers computed from a finished run, in memory or in its folder: costs, the facility's power, and fair start times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bls.fair_start import FinishedRows, check_fair_start, fair_starts
from bls.metrics.batch import unfairness
from bls.metrics.schedule import Schedule
from bls.options import POWER
from bridge.runs.directory import read_record
from bridge.runs.result import WithCosts
from bridge.runs.simulation import batch_simulator
from bridge.runs.stored_trace import ledger_of_results
from bridge.scenarios.conflicts import FAIR_START
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError
from traces.base.options import built, check, places
from traces.compiled import Array
from traces.ledger import JobRecords
from traces.tables import read_jobs, read_power

if TYPE_CHECKING:
    import pandas as pd

    from bls.power.costs import FinishedPower, Pue
    from bls.power.signals import Signals
    from bridge.runs.result import Result


@dataclass(frozen=True)
class Afterwards:
    """The numbers that are computed from a finished run."""

    signals: Signals | None = None  # prices and emissions, for costs; None: no costs
    pue: Pue | None = None  # for the power of the facility
    fair_start: bool = False  # whether fair start times are computed

    @classmethod
    def given(cls, signals: str | Path | None, pue: str | None, fair_start: bool = False) -> Afterwards:
        """Read the options of a command. Raises InputError if one is not valid."""
        from bls.power.costs import parse_pue
        from bls.power.signals import read_signals

        read = None if signals is None else read_signals(signals)
        return cls(read, None if pue is None else parse_pue(pue), fair_start)

    @property
    def needs_power(self) -> bool:
        """Whether the power of the run has to be known."""
        return self.signals is not None or self.pue is not None

    def __bool__(self) -> bool:
        return self.needs_power or self.fair_start

    def check(self, scenario: ReadyScenario) -> None:
        """Raise InputError if some numbers cannot be computed from a run of this scenario."""
        if self.needs_power and scenario.power is None:
            raise InputError(f"costs and power of the facility: the power of the run is not known; add {POWER:held}")
        if self.fair_start:
            check_repeatable(scenario)

    def of(self, run: Result | StoredRun) -> tuple[dict[str, Any], dict[str, Array]]:
        """Compute the metrics, and the columns with a value for each row of the table of jobs."""
        metrics, columns = dict[str, Any](), dict[str, Array]()
        if self.needs_power:
            from bls.power.costs import costs, facility_metrics

            power = run.finished_power
            if self.signals is not None:
                found = costs(power, self.signals)
                metrics, columns = dict(found.metrics), dict(found.jobs)
            if self.pue is not None:
                metrics |= facility_metrics(power, self.pue)
        if self.fair_start:
            metrics |= run.fairness
            columns["fair_start_ns"] = run.fair_start_ns
        return metrics, columns


def check_repeatable(ready: ReadyScenario) -> None:
    """Raise InputError if parts of a run of this scenario cannot be repeated, as fair start times need."""
    check(FAIR_START, ready)
    check_fair_start(ready.policy, ready.options.batch)


def fair_starts_of(ready: ReadyScenario, jobs: JobRecords) -> Array:
    """The fair start time of each row: int64 (rows,). Raises InputError as :func:`check_repeatable`, RuntimeError if the
    scenario is not that of the jobs."""
    check_repeatable(ready)
    rows = FinishedRows(jobs.job_id, jobs.start_ns, jobs.end_ns, jobs.state, jobs.eligible_ns)
    return fair_starts(rows, batch_simulator(ready.for_one_run()))


class StoredRun(WithCosts):
    """A written run; tables are read when used. ``record`` is its ``run.json``. Raises InputError if it is no result."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.record = folder, read_record(folder)

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """Metrics by name, times in ns."""
        metrics = self.record.get("metrics")
        if not isinstance(metrics, dict):
            raise InputError(f"{self.folder / 'run.json'}: has no metrics; allowed: as twolevel run has written it")
        return metrics

    @cached_property
    def stored_jobs(self) -> pd.DataFrame:
        """The table of jobs as ``jobs.parquet`` has it."""
        return read_jobs(self.folder / "jobs.parquet")

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per attempt at a job, with the columns of ``Result.jobs``.

        Raises
        ------
        InputError
            If the table cannot be read.
        """
        from bridge.runs.again import completed, facts_of_record
        from bridge.runs.stored import hosts

        n_cores = int(hosts(self.folder)[0][-1])
        return completed(self.stored_jobs, facts_of_record(self.record, self.stored_jobs, n_cores).users)

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """One row per task.

        Raises
        ------
        InputError
            If the run did not keep them (``--tasks``), or the table cannot be read.
        """
        from traces.ledger_tables import TASKS

        return TASKS.read(self.folder / TASKS.file)

    def story(self, job: int | str) -> str:
        """List the events of one job and their causes, as ``Result.story``."""
        from bridge.runs.story import story_of_results

        return story_of_results(self.folder, str(job))

    def __repr__(self) -> str:
        return f"<run in {self.folder}: {self._arguments.get('bls')} × {self._arguments.get('als')}>"

    @cached_property
    def finished_power(self) -> FinishedPower:
        """The power of its machine and jobs, from its tables."""
        from bls.machine.platform import platform_of
        from bls.metrics.schedule import NO_DOWNTIME
        from bls.power.accounting import PowerRun, PowerSeries
        from bls.power.costs import FinishedPower
        from bls.power.job_power import JobPower, power_classes
        from bls.power.table import power_table
        from traces.base.scale import WHOLE

        path = self.folder / "power.parquet"
        if not path.is_file():
            raise InputError(f"{self.folder} has no power.parquet; simulate again with {POWER:held}")
        frame = read_power(path)
        instant, power = (frame[name].to_numpy(np.int64) for name in ("instant_ns", "power_mw"))
        if not len(instant):
            raise InputError(f"{path}: it has no row; allowed: as twolevel run has written it")
        platform = platform_of(self.record.get("platform"), f"{self.folder / 'run.json'}: platform")
        table, begin_ns = power_table(platform, str(POWER)), int(instant[0])
        until_ns = max(begin_ns, int(self.stored_jobs["end_ns"].max()))

        def run() -> PowerRun:
            of, classes, jobs = self._arguments.get("power", "held"), None, self.stored_jobs
            ledger = ledger_of_results(self.folder, tasks=of == "working")
            if "power" in jobs or "memory_bound" in jobs:
                parts = (jobs.get(name, default) * WHOLE for name, default in (("power", 1.0), ("memory_bound", 0.0)))
                factor, memory = (np.rint(np.broadcast_to(part, len(jobs))).astype(np.int64) for part in parts)
                classes = power_classes(table, JobPower(factor, memory, ()), ledger.jobs.job_id)
            return PowerRun(ledger, table, NO_DOWNTIME, None, of, begin_ns, until_ns, classes)

        return FinishedPower(PowerSeries(instant, power, until_ns), table.full_total_mw, run)

    @cached_property
    def fair_start_ns(self) -> Array:
        """The fair start time of each row of its table of jobs; its batch level is repeated with recorded run times."""
        jobs = ledger_of_results(self.folder, tasks=False).jobs
        try:
            return fair_starts_of(self._ready, jobs)
        except RuntimeError as error:
            allowed = "with the same workload and files, by the same version"
            raise InputError(f"{self.folder}: the run cannot be repeated: {error}; allowed: {allowed}") from None

    @property
    def fairness(self) -> Mapping[str, Any]:
        """The metrics of unfairness."""
        return fairness(ledger_of_results(self.folder, tasks=False).jobs, self.fair_start_ns)

    @property
    def _arguments(self) -> Mapping[str, Any]:
        return self.record.get("arguments") or {}

    @cached_property
    def _ready(self) -> ReadyScenario:
        given = self._arguments
        if not given.get("workload"):
            raise InputError(f"{self.folder}: its record does not name a workload; allowed: a result of twolevel run")
        values = {
            place.path: given[key]
            for place in places(Scenario)
            for key in (place.option.key, place.option.keyword.lower())
            if given.get(key) is not None
        }
        from bridge.scenarios.ready import decided

        scenario = decided(built(Scenario, values))
        log = scenario.log()
        workload, machine = scenario.jobs(log, replayed=not scenario.application.simulated)
        return ReadyScenario.of(workload, machine, scenario, known_jobs=log.job_id)


def fairness(jobs: JobRecords, fair_start_ns: Array, counted: Array | None = None) -> Mapping[str, Any]:
    """The metrics of unfairness of a table of jobs; ``counted``, bool (rows,): rows that count, default: all."""
    columns = {name: getattr(jobs, name) for name in ("submit_ns", "start_ns", "end_ns", "cores", "why", "state")}
    return unfairness(Schedule(**columns, n_cores=1, counted=counted), fair_start_ns)
