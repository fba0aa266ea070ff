"""The result of a run: tables, metrics and a trace over one frozen ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import getdoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from als.lengths import takes_variation
from als.metrics import GRAPH_METRICS
from als.metrics.loops import LOOP_METRICS, application_metrics, distributions
from bls.constraints.job_constraints import unaware_of
from bls.engine.features.directions.records import ScaleRecords
from bls.engine.features.domains.records import power_of_parts
from bls.engine.features.hints.records import HintRecords
from bls.engine.features.releases.records import ReleaseRecords
from bls.engine.features.widths.records import WidthRecords
from bls.metrics.batch import main_metrics, schedule_metrics
from bls.metrics.schedule import Allocations, Downtime, Schedule
from bls.options import POWER
from bls.workloads.job_words import JobWords
from bridge.options.declared import TRACE_DETAIL, TRACE_FORMATS
from bridge.runs.afterwards import WithCosts, fair_starts_of, fairness, gpu_fragmentation_of
from bridge.scenarios.ready import ReadyScenario
from traces import tables
from traces.base.columns import html_table
from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.compiled import Array
from traces.holdings import holdings
from traces.ledger import STATES, Ledger, TaskRecords, TransferRecords
from traces.ledger_tables import LedgerTable

if TYPE_CHECKING:
    import pandas as pd

    from bls.power.costs import FinishedPower
    from bls.power.report import PowerReport
    from bridge.report.page import Page
    from bridge.runs.figures import Plots
    from traces.records.events import JobEvents


@dataclass(frozen=True, eq=False)
class BatchNotes:
    """Observations of the batch level besides the ledger."""

    decisions: Mapping[str, Any]  # cost of deciding (``bls.simulator.BatchSimulator.decisions``)
    decision_columns: Mapping[str, Any]  # one row per scheduling pass, if kept
    observations: list[dict[str, Any]]  # what observers noted
    downtime: Downtime  # when hosts were down, up to the last end
    missing_dependencies: int  # jobs whose preceding job is not simulated; they do not wait for it
    # int64 (rows,) or None: the run times used for planning, as known when each job arrived; None for the requested ones
    planned_ns: Array | None = None
    rejections: Mapping[int, str] = field(default_factory=dict)  # reasons for rejections by a deciding policy, by row
    start_reasons: Mapping[int, str] = field(default_factory=dict)  # its reasons for starts, where stated, by row
    # the log's name of each row's job, empty where unknown; None if the log has no names
    names: Sequence[str] | None = None
    # State changes of hosts that are stopped to save power: (instants, hosts, states); None if none can be
    host_states: tuple[Array, Array, Array] | None = None
    # int64 (rows,) or None: predicted power of jobs (``bls.simulator.BatchSimulator.predicted_power``)
    predicted_power: Array | None = None
    # Columns of the table of jobs that features of the batch engine have filled, by name
    feature_columns: Mapping[str, Array] = field(default_factory=dict)
    predicted: int | None = None  # number of rows planned with a predicted run time; None without prediction

    def further_columns(self, rows: int) -> dict[str, Any]:
        """Columns of the table of jobs besides the usual ones; it has ``rows`` rows."""
        further: dict[str, Any] = {tables.NAME: self.names, tables.PLANNED: self.planned_ns}
        for name, said in ((tables.REJECTED_BECAUSE, self.rejections), (tables.STARTED_BECAUSE, self.start_reasons)):
            if said:
                further[name] = [said.get(row, "") for row in range(rows)]
        return {name: column for name, column in further.items() if column is not None}


@dataclass(frozen=True, eq=False)
class ApplicationNotes:
    """Observations of the application level besides the ledger."""

    # float64 (rows, len(LOOP_METRICS)): ``als.metrics.loops.measure`` of each row; NaN without an application level
    loops: Array
    # (tuple of str, int64 (rows, rules)) or None: the names of all rules, and how often each was chosen; None without a
    # selection
    chosen: tuple[tuple[str, ...], Array] | None
    ahead_chunks: Array  # int64 (rows,): chunks that were simulated to choose
    # (tuple of str, int64 (rows,)) or None: the names of the applications of a map, and the index of each row's; None
    # without a map
    programs: tuple[tuple[str, ...], Array] | None
    # float64 (rows, len(GRAPH_METRICS)) or None: ``als.metrics.graphs.measure_graph`` of each row, NaN for a row without a
    # graph; None if no row can have one
    graphs: Array | None = None

    @property
    def further_columns(self) -> dict[str, Any]:
        """Further columns of the table of jobs."""
        usual = ("cov", "imbalance", "rounds")  # columns that every table of jobs has, the last one as chunks
        further: dict[str, Any] = {name: self.loops[:, place] for place, (name, _) in enumerate(LOOP_METRICS)}
        further = {name: column for name, column in further.items() if name not in usual}
        if self.graphs is not None:
            further |= {name: self.graphs[:, place] for place, (name, _) in enumerate(GRAPH_METRICS)}
        if self.programs is not None:
            names, place_of = self.programs
            further["application"] = [names[place] for place in place_of]
        if self.chosen is not None:
            rules, counts = self.chosen
            further["chosen"] = [_chosen(rules, row) for row in counts]
            further["ahead_chunks"] = self.ahead_chunks
        return further

    @property
    def times_chosen(self) -> dict[str, int]:
        """Number of times that each technique was chosen, over all rows; empty without a selection."""
        return {} if self.chosen is None else _by_name(self.chosen[0], self.chosen[1].sum(axis=0))


def _by_name(rules: tuple[str, ...], counts: Array) -> dict[str, int]:
    found = Counter[str]()
    for k in np.flatnonzero(counts).tolist():
        found[rules[k]] += int(counts[k])  # two phases may choose among the same names
    return dict(found)


def _chosen(rules: tuple[str, ...], counts: Array) -> str:
    # "gss", or with several techniques "gss 3 fac 1".
    by_name = _by_name(rules, counts)
    return next(iter(by_name), "") if len(by_name) <= 1 else " ".join(f"{name} {n}" for name, n in by_name.items())


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def summary_rows(
    scenario: ReadyScenario, metrics: Mapping[str, Any], n_cores: int, times_chosen: Mapping[str, int]
) -> list[tuple[str, str]]:
    """The main figures of a run: (name, text)."""
    options = scenario.options.names()
    # A policy that places jobs itself ignores backfilling and the allocator.
    placed = "allocator" not in unaware_of(scenario.policy)
    ends = [f"{name} {metrics['state_' + name]}" for name in STATES if metrics["state_" + name]]

    def text(name: str, form: str) -> str:
        return "–" if metrics[name] is None else format(metrics[name], form)

    def span(name: str) -> str:
        return "–" if metrics[name] is None else format_ns(metrics[name])

    return [
        ("batch × application", f"{options['bls']} × {options['als']}"),
        *([("backfilling, allocator", f"{options['backfill']}, {options['allocator']}")] if placed else []),
        _drawn(scenario),
        *_level(scenario),
        ("jobs on cores", f"{metrics['jobs']} on {n_cores}"),
        *([] if ends == [f"completed {metrics['jobs']}"] else [("ends", ", ".join(ends))]),
        *([("tasks, chunks", f"{metrics['tasks']}, {metrics['chunks']}")] if metrics["tasks"] else []),
        ("makespan", span("makespan_ns")),
        ("mean wait", span("mean_wait_ns")),
        ("mean response", span("mean_response_ns")),
        ("mean bounded slowdown", text("mean_bounded_slowdown", ".4g")),
        *([("computing utilisation", text("computing_utilisation", ".4f"))] if metrics["tasks"] else []),
        ("utilisation", text("utilisation", ".4f")),
        ("mean imbalance", text("mean_imbalance", ".4f")),
        *([("chosen", _counted(times_chosen))] if times_chosen else []),
    ]


def _policy_rows(totals: Mapping[str, Any]) -> list[tuple[str, str]]:
    # Totals of a policy in Python (``totals()``); true values show the name alone, false ones "not" before it.
    named = [(name.replace("_", " "), value) for name, value in totals.items()]
    words = ["not " * (not value) + name if isinstance(value, bool) else f"{name} {value}" for name, value in named]
    return [("the policy's totals", ", ".join(words))] if words else []


def _bridge_rows(coupling: Mapping[str, Any]) -> list[tuple[str, str]]:
    # Traffic over the bridge, if applications ran in their own processes.
    if "processes" not in coupling:
        return []
    sent_mb = (coupling["bytes_sent"] + coupling["bytes_received"]) / 1e6
    went = f"{coupling['injected']} injected events, {coupling['messages']} messages, {sent_mb:.3g} MB"
    hosts = coupling.get("hosts", [])
    words = [f"{one['host']} {one['jobs']}" + " (lost)" * one["lost"] for one in hosts]
    return [
        *([("hosts", f"{len(hosts)}; jobs: {', '.join(words)}")] if hosts else []),
        ("processes", f"{coupling['processes']}, up to {coupling['workers']} at once"),
        ("bridge", f"{coupling['suspends']} suspends, {coupling['resumes']} resumes, {went}"),
    ]


def _drawn(scenario: ReadyScenario) -> tuple[str, str]:
    options = scenario.options
    level = options.application
    if scenario.technique is None or (level.map is None and not takes_variation(level.lengths)):
        return "seed", str(options.seed)
    return "variation, seed", f"{level.variation:g}, {options.seed}"


def _level(scenario: ReadyScenario) -> list[tuple[str, str]]:
    # Options of the application level that have an effect.
    level = scenario.options.application
    rows: list[tuple[str, str]] = []
    if scenario.technique is None:
        return rows
    if level.lengths:
        rows.append(("task lengths", level.lengths))
    if level.map is not None:
        rows.append(("applications", f"{level.map.source}: {_counted(level.map.counts(scenario.application))}"))
    asks = scenario.programs is not None and scenario.programs.asks
    if asks and (level.overhead_ns or level.latency_ns or level.master):
        costs = [f"overhead {level.overhead_ns} ns", f"latency {level.latency_ns} ns"]
        rows.append(("costs", ", ".join(costs + ["a master"] * level.master)))
    if level.speeds:
        rows.append(("core speeds", ", ".join(level.speeds)))
    if scenario.sends:
        network = scenario.platform.network
        rows.append(("network", f"{level.network}, {network.topology}"))
    return rows


def _table(kind: type[TaskRecords | TransferRecords | JobEvents]) -> cached_property[pd.DataFrame]:
    # A table of a result, as an attribute.
    def made(result: Result) -> pd.DataFrame:
        return LedgerTable(kind).frame(result.ledger)

    about = (getdoc(kind) or "").partition("\n\n")[0]
    made.__doc__ = f"{about}\n\nRaises\n------\nInputError\n    If this result has {kind.missing}."
    return cached_property(made)


@dataclass(frozen=True, eq=False)
class Result(WithCosts):
    """The result of one run. A notebook displays it."""

    scenario: ReadyScenario
    ledger: Ledger  # jobs, tasks and events, with their times
    coupling: Mapping[str, Any]  # the coupling's name and its cost
    notes: BatchNotes
    application_notes: ApplicationNotes

    @property
    def further_columns(self) -> dict[str, Any]:
        """Columns of the table of jobs besides the usual ones."""
        rows, because = len(self.ledger.jobs), self.ledger.cut_because
        further: dict[str, Any] = self.notes.further_columns(rows)
        if self.scenario.workload.held.any():
            further[tables.BEGIN] = self.ledger.jobs.begin_ns
        if because:
            further[tables.CUT_BECAUSE] = [because.get(row, "") for row in range(rows)]
        if self.power is not None:
            further |= self.power.job_columns
        if self.scenario.technique is not None:
            further |= self.application_notes.further_columns
        return further

    @cached_property
    def power(self) -> PowerReport | None:
        """Power and energy (``bls.power.report.PowerReport``); None without a power model."""
        plan, jobs = self.scenario.power, self.ledger.jobs
        if plan is None:
            return None
        from bls.power.accounting import HostPassages  # not needed by most runs
        from bls.power.report import PowerReport

        notes, begin_ns = self.notes, int(jobs.submit_ns.min())
        stopped = None if notes.host_states is None else HostPassages(*notes.host_states)
        until_ns = max(begin_ns, int(jobs.end_ns.max()))
        found = notes.predicted_power, notes.feature_columns
        return PowerReport(self.ledger, plan, notes.downtime, stopped, begin_ns, until_ns, *found)

    @property
    def finished_power(self) -> FinishedPower:
        """The power of the machine and its jobs, from which costs are computed. Raises InputError if it is not known."""
        if self.power is None:
            raise InputError(f"the power of this run is not known; simulate it with {POWER:held}")
        return self.power.finished

    @cached_property
    def fair_start_ns(self) -> Array:
        """The fair start time of each row of ``jobs`` (``bls.fair_start``): int64 (rows,), -1 for rows without one. The batch
        level is simulated again.

        Raises
        ------
        InputError
            If parts of the run cannot be repeated.
        """
        return fair_starts_of(self.scenario, self.ledger.jobs)

    @cached_property
    def fairness(self) -> Mapping[str, Any]:
        """``mean_unfairness_ns``, ``max_unfairness_ns`` and ``unfair_share``, from ``fair_start_ns``."""
        return MappingProxyType(fairness(self.ledger.jobs, self.fair_start_ns, self._counted))

    @cached_property
    def gpu_fragmentation(self) -> float:
        """The part of idle GPUs that a random job of the workload cannot use (``bls.metrics.gpus.gpu_fragmentation``), 0 to 1.

        Raises
        ------
        InputError
            If no job can request GPUs.
        """
        return gpu_fragmentation_of(self.scenario, self.ledger, self.notes.downtime)

    @cached_property
    def gpus_by_kind(self) -> pd.DataFrame:
        """One row per kind of numbered GPUs: their number, utilisation, jobs and mean wait (``bls.metrics.gpus.by_kind``)."""
        from bls.metrics.gpus import by_kind  # few runs need it

        return tables.rows_frame(by_kind(self.ledger, self._schedule(), self.scenario.platform))

    @cached_property
    def power_over_time(self) -> pd.DataFrame:
        """One row per change of the machine's power draw, limit, power level, or number of hosts in service.

        Raises
        ------
        InputError
            Without a power model.
        """
        if self.power is None:
            raise InputError(f"this result has no power data: the run was made without {POWER:held}")
        return tables.rows_frame(self.power.columns)

    power_of_domains = cached_property(power_of_parts)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row for every interval in which a host's state stays the same, with the energy used, J, if power is known
        (``bridge.runs.record``)."""
        from bridge.runs.record import node_columns

        return tables.rows_frame(node_columns(self))

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per attempt at a job, in workload order: the columns of ``jobs.parquet``, then ``wait_ns``, ``run_ns``,
        ``bounded_slowdown``, ``user`` and ``name`` (texts, empty if the log has none)."""
        from bridge.runs.again import completed, facts_of_log

        return completed(self.stored_jobs, facts_of_log(self.scenario.workload, self.stored_jobs).users)

    @cached_property
    def stored_jobs(self) -> pd.DataFrame:
        """The table of jobs as ``jobs.parquet`` has it."""
        return tables.jobs_frame(self.ledger, self.further_columns)

    tasks = _table(TaskRecords)

    @property
    def plot(self) -> Plots:
        """Figures of the run: ``result.plot.gantt()``."""
        from bridge.runs.figures import Plots

        return Plots(self)

    def report(self) -> Page:
        """The report page (docs/reference/report.md): ``save(path)`` writes it, and a notebook shows it."""
        from bridge.runs.page import page_of_run, parts_of_result

        return page_of_run(parts_of_result(self))

    transfers = _table(TransferRecords)
    releases = _table(ReleaseRecords)
    hints = _table(HintRecords)
    widths = _table(WidthRecords)
    scales = _table(ScaleRecords)

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """Batch and application metrics by name (``bls.metrics.batch``, ``als.metrics.loops``); times in ns, shares 0 to 1."""
        jobs, machine = self.ledger.jobs, self.ledger.machine
        batch = schedule_metrics(
            self._schedule(),
            allocations=Allocations(jobs.allocation_first, jobs.allocation_lo, jobs.allocation_hi),
            host_first=machine.first_core,
            downtime=self.notes.downtime,
        )
        if self.ledger.gpus is not None:
            from bls.metrics.gpus import gpu_metrics  # few runs need it

            batch |= gpu_metrics(self.ledger, self._schedule(), self.notes.downtime)
        found = batch | self._application_metrics(batch["makespan_ns"])
        if self.power is not None:
            found |= self.power.metrics
        if self.application_notes.graphs is not None:
            graphs, counted = self.application_notes.graphs, self._counted
            found["graphs"] = distributions(GRAPH_METRICS, (graphs if counted is None else graphs[counted]).T)
        return MappingProxyType(found)

    @cached_property
    def main_metrics(self) -> Mapping[str, Any]:
        """The metrics that are quick to compute: they need no integration over time."""
        batch = main_metrics(self._schedule())
        return MappingProxyType(batch | self._application_metrics(batch["makespan_ns"], detail=False))

    @property
    def predicted_share(self) -> float | None:
        """The share of rows planned with a predicted run time; None if the estimator does not predict from history."""
        return None if self.notes.predicted is None else self.notes.predicted / len(self.ledger.jobs)

    def _schedule(self) -> Schedule:
        # Not cached: it has a dozen columns, and its derived values are cached.
        jobs = self.ledger.jobs
        instants = ("submit_ns", "start_ns", "end_ns", "eligible_ns", "begin_ns", "left_ns")
        names = (*instants, "cores", "held_cores", "why", "state")
        columns: dict[str, Any] = {name: getattr(jobs, name) for name in names}
        held = holdings(self.ledger) if self.ledger.frees_cores else None
        return Schedule(**columns, n_cores=self.ledger.machine.n_cores, holdings=held, counted=self._counted)

    @property
    def _counted(self) -> Array | None:
        # The rows that the metrics count; None: all.
        workload = self.scenario.workload
        if workload.uncounted is None:
            return None
        return np.asarray(~workload.uncounted[workload.rows_of(self.ledger.jobs.job_id)])

    def _application_metrics(self, makespan_ns: int, *, detail: bool = True) -> dict[str, Any]:
        jobs, loops, counted = self.ledger.jobs, self.application_notes.loops.T, self._counted
        capacity_ns = float(self.ledger.machine.n_cores * makespan_ns)
        tasks, chunks, imbalance, cov = jobs.tasks, jobs.chunks, jobs.imbalance, jobs.cov
        if counted is not None:
            tasks, chunks, imbalance, cov = (one[counted] for one in (tasks, chunks, imbalance, cov))
            loops = loops[:, counted]
        return application_metrics(tasks, chunks, imbalance, cov, loops, capacity_ns, detail=detail)

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """One row per scheduling pass; empty unless ``Rules.keep_decisions``."""
        return tables.rows_frame(self.notes.decision_columns)

    @cached_property
    def observations(self) -> pd.DataFrame:
        """Notes of the observers, one row per note."""
        return tables.rows_frame(self.notes.observations or {"observer": [], "now_ns": np.empty(0, np.int64)})

    def story(self, job: int | str) -> str:
        """List the events of one job and their causes.

        Parameters
        ----------
        job : int or str
            Its number, or another word that names it (``bls.workloads.job_words``), such as ``"900_2"``.

        Returns
        -------
        str
            One line per event.

        Raises
        ------
        InputError
            If there is no such job; the message lists the existing ones.
        """
        from bridge.runs.gpu_hosts import GpuHosts
        from bridge.runs.story import job_story

        if isinstance(job, str):
            job = JobWords.of(self.ledger.jobs.job_id, self.notes.names).one(job, "job")
        passes = self.notes.decision_columns if len(self.decisions) else None
        ledger = self.ledger
        hosts = None if ledger.gpus is None else GpuHosts.of(self.scenario, ledger, self.notes.downtime)
        return job_story(self.stored_jobs, job, ledger.machine.n_cores, passes, ledger.events, hosts=hosts)

    @property
    def traced(self) -> Ledger:
        """The ledger with data for traces: the techniques, and the machine's power draw."""
        ledger = self.ledger
        if self.power is not None:
            ledger = replace(ledger, power=self.power.records())
        if self.scenario.technique is None:
            return ledger
        from bridge.runs.tracing import technique_labels

        als = str(self.scenario.options.names()["als"])
        names, which = technique_labels(als, self.further_columns, len(ledger.jobs))
        return replace(ledger, techniques=names, technique=which)

    def write_trace(
        self,
        path: str | Path,
        format: str = TRACE_FORMATS.default,
        *,
        detail: str = TRACE_DETAIL.default,
        window: str | None = None,
        cores: str | None = None,
        jobs: str | None = None,
    ) -> Path:
        """Write a trace into the folder ``path`` (made if missing).

        Parameters
        ----------
        path : str or Path
        format : str
            The name of a trace writer: ``otf2``, ``perfetto``, ``chrome``, ``paje``, ``csv``, ``text``, or a custom one.
        detail : str
            The finest rows: ``lane`` (jobs only), ``host`` (jobs and hosts), or ``job``, ``chunk`` or ``task`` (also
            cores, with jobs, chunks or tasks). Default ``auto``: ``task``, or on more than 4,096 cores, in formats for viewers,
            ``host`` or ``lane``.
        window, cores, jobs : str, optional
            Only a part of the run, such as ``2h..3h``, ``0-63``, ``40-60``.

        Returns
        -------
        Path
            The file that a viewer opens.

        Raises
        ------
        InputError
            If an argument is not allowed, that part is empty, or there is a trace already.
        """
        from bridge.runs.tracing import TraceRequest, part_of

        part = part_of(window, cores, jobs, JobWords.of(self.ledger.jobs.job_id, self.notes.names))
        return TraceRequest((format,), TRACE_DETAIL.check(detail, "detail"), part).write(self.traced, Path(path))[0]

    def summary(self) -> list[tuple[str, str]]:
        """The main figures of the run: (name, text)."""
        chosen = self.application_notes.times_chosen
        rows = summary_rows(self.scenario, self.metrics, self.ledger.machine.n_cores, chosen)
        if words := self.scenario.workload.window_text:
            rows.append(("window", words.removeprefix("window: ").partition(", as the log")[0].partition(";")[0]))
        if self.predicted_share is not None:
            estimates = self.scenario.options.names()["estimates"]
            share = f"{100 * self.predicted_share:.3g} % of jobs, by {estimates}; the others are planned with their requests"
            rows.append(("predicted run times", share))
        rows += _policy_rows(self.notes.decisions.get("policy", {}))
        return rows + ([] if self.power is None else self.power.summary()) + _bridge_rows(self.coupling)

    def __repr__(self) -> str:
        return "<twolevel result: " + ", ".join(f"{name} {value}" for name, value in self.summary()) + ">"

    def _repr_html_(self) -> str:
        return html_table(self.summary())
