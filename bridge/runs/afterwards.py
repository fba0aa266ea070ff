"""Numbers computed from a finished run, in memory or in its folder: costs, power of the facility, fairness, idle GPUs.

Commands read the table of them for their help, so this module loads what computes them only when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bls.metrics.quantity import Quantity
from bls.options import FAIR_START, GPU_FRAGMENTATION, POWER, SIGNALS
from bls.power.features.pue.feature import FACILITY, WithFacility
from traces.base.errors import InputError
from traces.base.options import built, check, named, places

if TYPE_CHECKING:
    import pandas as pd

    from bls.constraints.resource_requests import Requests
    from bls.metrics.quantity import Computed
    from bls.metrics.schedule import Downtime, Schedule
    from bls.power.costs import EnergyCosts, FinishedPower
    from bls.power.signals import Signals
    from bridge.runs.gpu_hosts import GpuHosts
    from bridge.runs.result import Result
    from bridge.scenarios.ready import ReadyScenario
    from traces.compiled import Array
    from traces.ledger import JobRecords, Ledger


def _costs(run: Result | StoredRun, signals: Signals) -> Computed:
    from bls.power.costs import costs

    return costs(run.finished_power, signals)


def _fairness(run: Result | StoredRun, _: bool) -> Computed:
    return run.fairness, {"fair_start_ns": run.fair_start_ns}


def _fragmentation(run: Result | StoredRun, _: bool) -> Computed:
    return {"gpu_fragmentation": run.gpu_fragmentation}, {}


_SIGNALS = "Compute costs and emissions of energy from this CSV file: from,price_per_kwh,g_co2e_per_kwh"
_FOR_COSTS = replace(SIGNALS, help=_SIGNALS)

#: The quantities by the names of their options, in the order of their metrics.
QUANTITIES: Final[Mapping[str, Quantity]] = {
    one.option.name: one
    for one in (
        Quantity(
            _FOR_COSTS,
            "power",
            "bls.power.costs:COST_METRICS",
            "bls.power.signals:read_signals",
            _costs,
            rows="bls.power.words:cost_rows",
            compared="bls.power.words:COMPARED_COSTS",
        ),
        FACILITY,
        Quantity(FAIR_START, "repetition", "bls.metrics.batch:UNFAIRNESS", "builtins:bool", _fairness),
        Quantity(GPU_FRAGMENTATION, "gpus", "bls.metrics.gpus:FRAGMENTATION", "builtins:bool", _fragmentation),
    )
}

#: The options of those that need the power of a run, for commands.
OF_POWER: Final = tuple(one.option for one in QUANTITIES.values() if one.needs == "power")


@dataclass(frozen=True)
class Afterwards:
    """The numbers that are to be computed from a finished run."""

    asked: Mapping[str, Any]  # by the name of a quantity, what its computation takes

    @classmethod
    def given(cls, values: Mapping[str, Any]) -> Afterwards:
        """Read the values of options, by their names or keys; None and False ask for nothing. Raises InputError."""
        asked = {key.replace("_", "-"): value for key, value in values.items() if value not in (None, False)}
        return cls({name: named(one.reader)(asked[name]) for name, one in QUANTITIES.items() if name in asked})

    def check(self, scenario: ReadyScenario) -> None:
        """Raise InputError if some numbers cannot be computed from a run of this scenario."""
        needed = {QUANTITIES[name].needs for name in self.asked}
        if "power" in needed and scenario.power is None:
            raise InputError(f"costs and power of the facility: the power of the run is not known; add {POWER:held}")
        if "repetition" in needed:
            check_repeatable(scenario)
        if "gpus" in needed:
            requested_gpus(scenario)

    def of(self, run: Result | StoredRun) -> tuple[dict[str, Any], dict[str, Array]]:
        """Compute the metrics, and the columns with a value for each row of the table of jobs."""
        metrics: dict[str, Any] = {}
        columns: dict[str, Array] = {}
        for name, value in self.asked.items():
            found = QUANTITIES[name].compute(run, value)
            metrics.update(found[0])
            columns.update(found[1])
        return metrics, columns


def computed_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The quantities whose metrics are known, as (name, text)."""
    functions = (named(one.rows) for one in QUANTITIES.values() if one.rows)
    return [row for rows in functions for row in rows(metrics)]


class WithCosts(WithFacility):
    """A finished run whose costs, and whose facility's power, can be computed from its power."""

    def __init_subclass__(cls) -> None:
        # The documentation of a class has its own methods only.
        for base in WithCosts.__mro__[:-1]:
            for name, method in vars(base).items():
                if isfunction(method) and not name.startswith("_") and getattr(cls, name) is method:
                    setattr(cls, name, method)

    def costs(self, signals: str | Path) -> EnergyCosts:
        """Compute costs and emissions (docs/reference/power.md#prices-and-carbon).

        Parameters
        ----------
        signals : str or Path
            A CSV file of prices and emissions over time.

        Returns
        -------
        EnergyCosts
            ``metrics``, a dict, and ``jobs``, an array for each column, with a value for each row of the table of jobs.

        Raises
        ------
        InputError
            If the file cannot be used, or the power of the run is not known.
        """
        from bls.power.costs import costs
        from bls.power.signals import read_signals

        return costs(self.finished_power, read_signals(signals))


def check_repeatable(ready: ReadyScenario) -> None:
    """Raise InputError if parts of a run of this scenario cannot be repeated, as fair start times need."""
    from bls.conflicts import REPEATED as conflicts
    from bls.fair_start import check_fair_start

    check(conflicts, ready)
    check_fair_start(ready.policy, ready.options.batch)


def fair_starts_of(ready: ReadyScenario, jobs: JobRecords) -> Array:
    """The fair start time of each row: int64 (rows,). Raises InputError as :func:`check_repeatable`, RuntimeError if the
    scenario is not that of the jobs."""
    from bls.fair_start import FinishedRows, fair_starts

    check_repeatable(ready)
    rows = FinishedRows(jobs.job_id, jobs.start_ns, jobs.end_ns, jobs.state, jobs.eligible_ns)
    return fair_starts(rows, ready.for_one_run().batch_simulator())


class StoredRun(WithCosts):
    """A written run; tables are read when used. ``record`` is its ``run.json``. Raises InputError if it is no result."""

    def __init__(self, folder: Path) -> None:
        from bridge.runs.directory import read_record

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
        from traces.tables import read_jobs

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
        import numpy as np

        from bls.machine.platform import platform_of
        from bls.metrics.schedule import NO_DOWNTIME
        from bls.power.accounting import PowerRun, PowerSeries
        from bls.power.costs import FinishedPower
        from bls.power.job_power import JobPower, power_classes
        from bls.power.table import power_table
        from traces.base.scale import WHOLE
        from traces.tables import read_power

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
            ledger = replace(self._ledger(tasks=of == "working"), machine=platform.machine())
            defaults = {"power": 1.0, "memory_bound": 0.0, "gpu_share": 0.0}
            if any(name in jobs for name in defaults):
                parts = (jobs.get(name, default) * WHOLE for name, default in defaults.items())
                factor, memory, on_gpus = (np.rint(np.broadcast_to(part, len(jobs))).astype(np.int64) for part in parts)
                classes = power_classes(table, JobPower(factor, memory, on_gpus, ()), ledger.jobs.job_id)
            return PowerRun(ledger, table, NO_DOWNTIME, None, of, begin_ns, until_ns, classes)

        return FinishedPower(PowerSeries(instant, power, until_ns), table.full_total_mw, run)

    @cached_property
    def fair_start_ns(self) -> Array:
        """The fair start time of each row of its table of jobs; its batch level is repeated with recorded run times."""
        jobs = self._ledger(tasks=False).jobs
        try:
            return fair_starts_of(self._ready, jobs)
        except RuntimeError as error:
            allowed = "with the same workload and files, by the same version"
            raise InputError(f"{self.folder}: the run cannot be repeated: {error}; allowed: {allowed}") from None

    @property
    def fairness(self) -> Mapping[str, Any]:
        """The metrics of unfairness."""
        return fairness(self._ledger(tasks=False).jobs, self.fair_start_ns)

    @cached_property
    def gpu_fragmentation(self) -> float:
        """The part of idle GPUs that a random job cannot use; the workload and the files of requests are read again."""
        ledger = self._ledger(tasks=False)
        ready = self._unchanged(ledger)
        return gpu_fragmentation_of(ready, ledger, _downtime(ready, ledger))

    @property
    def gpu_hosts(self) -> GpuHosts:
        """The hosts of a run with GPUs; without requests if the workload or its files have changed."""
        from bls.machine.platform import platform_of
        from bridge.runs.gpu_hosts import GpuHosts

        ledger = self._ledger(tasks=False)
        try:
            ready = self._unchanged(ledger)
            return GpuHosts.of(ready, ledger, _downtime(ready, ledger))
        except InputError:
            platform = platform_of(self.record.get("platform"), f"{self.folder / 'run.json'}: platform")
            return GpuHosts(ledger, platform, None, ledger.jobs.job_id)

    def _unchanged(self, ledger: Ledger) -> ReadyScenario:
        ready = self._ready
        same = ready.platform.as_dict() == self.record.get("platform")
        if not same or not {*ledger.jobs.job_id.tolist()} <= {*ready.workload.job_id.tolist()}:
            changed = "the workload has other jobs than the run" if same else "the platform has changed"
            raise InputError(f"{self.folder}: gpu_fragmentation: {changed}; allowed: the files of the run")
        return ready

    def _ledger(self, *, tasks: bool) -> Ledger:
        from bridge.runs.stored_trace import ledger_of_results

        return ledger_of_results(self.folder, tasks=tasks)

    @property
    def _arguments(self) -> Mapping[str, Any]:
        return self.record.get("arguments") or {}

    @cached_property
    def _ready(self) -> ReadyScenario:
        from bridge.scenarios.ready import ReadyScenario, decided
        from bridge.scenarios.scenario import Scenario

        given = self._arguments
        if not given.get("workload"):
            raise InputError(f"{self.folder}: its record does not name a workload; allowed: a result of twolevel run")
        values = {
            place.path: given[key]
            for place in places(Scenario)
            for key in (place.option.key, place.option.keyword.lower())
            if given.get(key) is not None
        }
        scenario = decided(built(Scenario, values))
        log = scenario.log()
        workload, machine = scenario.jobs(log, replayed=not scenario.application.simulated)
        return ReadyScenario.of(workload, machine, scenario, known_jobs=log.job_id)


def fairness(jobs: JobRecords, fair_start_ns: Array, counted: Array | None = None) -> Mapping[str, Any]:
    """The metrics of unfairness of a table of jobs; ``counted``, bool (rows,): rows that count, default: all."""
    from bls.metrics.batch import unfairness

    return unfairness(_schedule(jobs, counted), fair_start_ns)


def _schedule(jobs: JobRecords, counted: Array | None) -> Schedule:
    from bls.metrics.schedule import Schedule

    columns = {name: getattr(jobs, name) for name in ("submit_ns", "start_ns", "end_ns", "cores", "why", "state")}
    return Schedule(**columns, n_cores=1, counted=counted)


def requested_gpus(ready: ReadyScenario) -> Requests:
    """The requests of jobs that can request numbered GPUs. Raises InputError if none can."""
    requests = ready.constraints.requests
    if requests is None or requests.gpus is None:
        raise InputError("gpu_fragmentation: no job of this run can request numbered GPUs")
    return requests


def _downtime(ready: ReadyScenario, ledger: Ledger) -> Downtime:
    # Up to the last end, of a run whose workload and files were read again.
    until_ns, outages = int(ledger.jobs.end_ns.max()), ready.constraints.outages
    while outages is not None and outages.known_until_ns <= until_ns:
        outages = outages.extend()
    ready = replace(ready, constraints=replace(ready.constraints, outages=outages))
    return ready.for_one_run().batch_simulator().downtime(until_ns)


def gpu_fragmentation_of(ready: ReadyScenario, ledger: Ledger, downtime: Downtime) -> float:
    """The fragmentation of GPUs of a finished run of a scenario. Raises InputError as :func:`requested_gpus`."""
    requests = requested_gpus(ready)
    from bls.metrics.gpus import gpu_fragmentation  # few runs need it

    rows, uncounted = ready.workload.rows_of(ledger.jobs.job_id), ready.workload.uncounted
    schedule = _schedule(ledger.jobs, None if uncounted is None else ~uncounted[rows])
    return gpu_fragmentation(ledger, schedule, downtime, ready.platform, requests, rows)
