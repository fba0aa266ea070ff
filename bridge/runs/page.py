"""The report page of a run: from its folder, or from a result in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bridge.report import parts as p
from bridge.report.metric_texts import all_metrics, distributions, metric_of
from bridge.report.page import Page
from bridge.runs.again import LogFacts, command_again, facts_of_log, facts_of_record, with_spans
from bridge.runs.directory import read_record
from bridge.runs.figures import (
    RUN_FIGURES,
    FigureView,
    RunFigure,
    figure_table,
    view_of_folder,
    view_of_result,
)
from bridge.runs.stored import run_title
from traces.base.errors import InputError
from traces.ledger_tables import TASKS
from traces.lifecycle import Ending
from traces.tables import read_jobs, read_power, table_rows
from traces.timeline import TimelineTables, timeline_text

if TYPE_CHECKING:
    import pandas as pd

    from bridge.runs.result import Result

#: The metrics at the top of the page.
MAIN_METRICS = (
    *("makespan_ns", "mean_wait_ns", "mean_bounded_slowdown", "computing_utilisation", "utilisation"),
    *("mean_imbalance", "energy_j", "peak_power_w", "tasks"),
)

#: The columns of jobs that are shown at first, in this order: a phone shows the first three. A list offers the others.
_SHOWN = (
    *("job_id", "wait_ns", "run_ns", "cores", "submit_ns", "start_ns", "bounded_slowdown", "state", "why", "name"),
    *("application", "user", "imbalance", "tasks", "energy_j"),
)

_FIGURES = ("utilisation", "waits", "imbalance", "power", "held", "chunks", "lengths")  #: the figures of a page
MOST_TASKS = 1_000_000  #: largest number of tasks that a page shows one by one; they take about 20 MB


class RunParts(NamedTuple):
    """The contents of a run's page."""

    record: Mapping[str, Any]  # as run.json
    jobs: pd.DataFrame
    view: FigureView  # the whole run, for figures
    power: pd.DataFrame | None  # the table of power, if it exists
    log: LogFacts  # facts from the log
    every_task: pd.DataFrame | Path | None  # the table of tasks, if it exists, or its file, if there are too many
    n_tasks: int  # number of its rows

    @property
    def tasks(self) -> pd.DataFrame | None:
        """The tasks to show one by one; None if there are more than :data:`MOST_TASKS`."""
        return None if self.n_tasks > MOST_TASKS or isinstance(self.every_task, Path) else self.every_task


def run_page(folder: Path) -> Page:
    """The page of a result of ``twolevel run``. Raises InputError if the folder is none, or cannot be read."""
    return page_of_run(parts_of_folder(folder))


def parts_of_folder(folder: Path) -> RunParts:
    """The contents of a page from a result folder; errors as :func:`run_page`."""
    record = read_record(folder)
    if record.get("arguments") is None:
        raise InputError(f"{folder / 'run.json'}: is not a record of twolevel run: it has no arguments")
    view, jobs = view_of_folder(folder), read_jobs(folder / "jobs.parquet")
    until_ns = int(jobs["end_ns"].max()) if len(jobs) else None
    view = view._replace(until_ns=until_ns)
    path, tasks = folder / "power.parquet", folder / TASKS.file
    power = read_power(path) if path.is_file() else None
    n_tasks = table_rows(tasks) if tasks.is_file() else 0
    every_task = tasks if n_tasks > MOST_TASKS else TASKS.read_if_there(folder)
    log = facts_of_record(record, jobs, int(view.first_core[-1]))
    return RunParts(record, jobs, view, power, log, every_task, n_tasks)


def parts_of_result(result: Result) -> RunParts:
    """The contents of a page from a result in Python."""
    from bridge.runs.record import account_of_log, run_record

    ledger, scenario = result.ledger, result.scenario
    workload = scenario.workload
    record = run_record(scenario, {}, account_of_log(workload, len(workload)), result.metrics)
    jobs, power = result.stored_jobs, None if result.power is None else result.power_over_time
    tasks, n_tasks = (None, 0) if ledger.tasks is None else (result.tasks, len(ledger.tasks))
    return RunParts(record, jobs, view_of_result(result), power, facts_of_log(workload, jobs), tasks, n_tasks)


def page_of_run(
    parts: RunParts, *, kind: str = "Run", sections: Sequence[p.Section] = (), command: str | None = None
) -> Page:
    """The page of a run; ``sections`` follow the figures, and ``command`` makes the run again."""
    record, jobs = parts.record, with_spans(parts.jobs)
    if parts.log.users is not None:
        jobs = jobs.assign(user=parts.log.users)
    metrics = record.get("metrics") or {}
    title = run_title(record) or Path(str(record["workload"]["source"])).name
    shown = [name for name in _SHOWN if name in jobs.columns]
    several = (name for name in ("application", "state") if name in jobs.columns and jobs[name].nunique() > 1)
    images = _figures(parts)  # first, since figures of many tasks take the most memory
    tables = timeline_of(parts)
    timeline = p.Timeline(timeline_text(tables))
    about = _ABOUT_TIMELINE + " GPUs: select them under rows." * (tables.gpus is not None)
    explorer = p.Explorer("jobs-data", "wait_ns", "cores", next(several, "why"))
    made = [
        p.Section("timeline", "Timeline", [timeline], about, left_out(parts)),
        p.Section("diagram", "Diagram", [explorer], "Any two columns of the jobs; one point per job."),
        *([p.Section("figures", "Figures", [p.Figures(images)])] if images else []),
        *sections,
        *_gpus(parts, jobs),
        p.Section("jobs", "Jobs", [p.Table("jobs-data", "Jobs", jobs, shown, "job_id")], _ABOUT_JOBS),
        p.Section("metrics", "All metrics", _metrics(metrics), "Hover, or press Tab, for definitions."),
        p.Section("again", "What was run", _what(record, command)),
    ]
    known = {name: metrics[name] for name in MAIN_METRICS if metrics.get(name) is not None}
    # Recorded runs have no tasks.
    main = [metric_of(name, value) for name, value in known.items() if name != "tasks" or value]
    return Page(kind, title, _lead(parts, jobs), main, made)


_ABOUT_TIMELINE = "Rows are labelled host · core. Drag or scroll to move and zoom; click a job to see why it started."
_ABOUT_JOBS = "Click a heading to sort. The filter takes words and conditions, e.g. wait>1h cores>=64 state=killed."


def left_out(parts: RunParts) -> str:
    """Explain what the timeline lacks, and how to see a part of it; empty if it is complete."""
    if parts.n_tasks <= MOST_TASKS:
        return ""
    return (
        f"The timeline shows jobs without their tasks: the run has {parts.n_tasks:,} tasks, a page shows up to {MOST_TASKS:,}. "
        "To see a part: twolevel gantt DIR --jobs 1-100 -o part.png, or twolevel trace cut DIR --trace-window 2h..3h -o part."
    )


def timeline_of(parts: RunParts, causes: pd.DataFrame | None = None) -> TimelineTables:
    """The tables of a run's timeline, with the causes that a comparison found for its jobs."""
    arguments = parts.record.get("arguments") or {}
    return TimelineTables(
        jobs=parts.jobs,
        first_core=parts.view.first_core,
        host_names=parts.view.host_names,
        tasks=parts.tasks,
        releases=parts.view.releases,
        widths=parts.view.widths,
        power=parts.power,
        gpus=parts.view.gpus,
        technique=str(arguments.get("als") or ""),
        users=parts.log.users,
        causes=causes,
        start_s=parts.log.start_s,
    )


def _lead(parts: RunParts, jobs: pd.DataFrame) -> list[str]:
    record = parts.record
    metrics, arguments = record.get("metrics") or {}, record.get("arguments") or {}
    cores, hosts = int(parts.view.first_core[-1]), len(parts.view.host_names)
    source = Path(str((record.get("workload") or {}).get("source", ""))).name
    ran = metrics.get("jobs", len(jobs))
    levels = f"batch level {arguments.get('bls')}, application level {arguments.get('als')}"
    first = f"{ran:,} jobs of {source} on {cores:,} cores of {hosts:,} host{'s' * (hosts > 1)}: {levels}."

    def value(name: str) -> str | None:
        return None if metrics.get(name) is None else metric_of(name, metrics[name]).value

    sentences = []
    if makespan := value("makespan_ns"):
        used = metrics.get("utilisation")
        sentences.append(f"Makespan {makespan}" + (f", utilisation {100 * used:.0f} %." if used is not None else "."))
    if mean := value("mean_wait_ns"):
        most = value("max_wait_ns")
        sentences.append(f"Mean wait {mean}" + (f", longest {most}." if most else "."))
    bad = [
        f"{name.capitalize()}: {metrics[f'state_{name}']:,}"
        for name in (ending.name.lower() for ending in Ending if ending not in (Ending.COMPLETED, Ending.REQUEUED))
        if metrics.get(f"state_{name}")
    ]
    if bad:
        sentences.append(f"{', '.join(bad)}.")
    return [first, " ".join(sentences)] if sentences else [first]


def _metrics(metrics: Mapping[str, Any]) -> list[p.PagePart]:
    rows, figures = distributions({name: value for name, value in metrics.items() if _says_anything(value)})
    parts: list[p.PagePart] = [p.AllMetrics(all_metrics(metrics))]
    return [*parts, p.Distributions("Over jobs", rows, figures)] if rows else parts


def _gpus(parts: RunParts, jobs: pd.DataFrame) -> list[p.Section]:
    """The GPUs by kind, if hosts have any."""
    if (held := parts.view.gpus) is None:
        return []
    from bls.metrics.gpus import use_by_kind  # few runs need it
    from traces.figures.drawing.frames import final_rows

    span_ns = (parts.record.get("metrics") or {}).get("utilisation_span_ns") or (0, 0)
    kind = np.repeat([one or "GPU" for one in held.kinds], np.diff(held.first))
    rows = []
    for one in use_by_kind(held, kind, span_ns, final_rows(jobs), jobs["wait_ns"].to_numpy()):
        values = {"gpu_utilisation": one["gpu_utilisation"], "mean_gpu_wait_ns": one["mean_wait_ns"]}
        numbers = (metric_of(*value).value for value in values.items())
        rows.append([one["kind"], f"{one['gpus']:,}", f"{one['jobs']:,}", *numbers])
    return [p.Section("gpus", "GPUs", [p.Facts(rows, ("kind", "GPUs", "jobs", "utilisation", "mean wait"))])]


def _says_anything(value: Any) -> bool:
    # Without an application level its metrics have no distribution.
    return any(map(_says_anything, value.values())) if isinstance(value, Mapping) else value is not None


def _figures(parts: RunParts) -> list[tuple[str, str]]:
    tables = {"jobs": parts.jobs, "power": parts.power, "tasks": parts.every_task}
    found = []
    for kind in (RUN_FIGURES[name] for name in _FIGURES):
        if (table := tables[kind.needs]) is not None:
            with suppress(InputError):  # if there is nothing to draw, e.g. no imbalance without an application level
                found.append(_figure(kind, table, parts.view))
    return found


def _figure(kind: RunFigure, table: pd.DataFrame | Path, view: FigureView) -> tuple[str, str]:
    # A function of its own, so that the columns of millions of tasks are released before the next figure reads its own.
    columns = figure_table(table, kind.columns)
    return p.figure_address(kind.draw(columns, view)), kind.shows.format(n=f"{len(columns):,}")


def _what(record: Mapping[str, Any], command: str | None) -> list[p.PagePart]:
    arguments = record.get("arguments") or {}
    again = command_again(arguments) if command is None else command
    workload = record.get("workload") or {}
    rejects = {name: count for name, count in (workload.get("rejects") or {}).items() if count}
    rows = [
        ("workload", str(workload.get("source", ""))),
        ("rejected lines", ", ".join(f"{name} {count:,}" for name, count in rejects.items()) or "none"),
        ("machine", _machine(record)),
        ("simulated on", str(record.get("processor", ""))),
    ]
    options = [(name, _text(value)) for name, value in arguments.items()]
    command_part = [p.Command("Command that repeats it:", again)] if again else []
    facts = [p.Facts(rows), p.Facts(options, ("option", "value"), "All options"), p.versions_of(record)]
    return [*command_part, *facts]


def _machine(record: Mapping[str, Any]) -> str:
    hosts = (record.get("platform") or {}).get("hosts") or []
    try:
        return " + ".join(f"{one['count']} × {one['cores']} cores of {one['speed_gflops']:g} GFLOP/s" for one in hosts)
    except (KeyError, TypeError, ValueError):
        return ""


def _text(value: Any) -> str:
    if value is None or value in ("", []):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
