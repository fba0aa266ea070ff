"""The report page of a run: from its folder, or from a result in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bridge.report import parts as p
from bridge.report.metric_texts import all_metrics, chosen_metrics, distributions, metric_of
from bridge.report.page import Page
from bridge.runs.again import LogFacts, command_again, facts_of_log, facts_of_record, with_spans
from bridge.runs.directory import read_record
from bridge.runs.figures import RUN_FIGURES, FigureView, RunFigure, figure_table
from bridge.runs.stored import hosts, run_title
from traces.base.errors import InputError
from traces.compiled import Array
from traces.ledger_tables import RELEASES, TASKS, WIDTHS
from traces.lifecycle import Ending
from traces.tables import read_jobs, read_power, read_power_domains, table_rows
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
    first_core: Array  # int64 (hosts + 1,), first core of each host, and one beyond the last
    host_names: list[str]
    # tasks, releases, widths, power, domains: the other tables of the run, as far as they exist. No ``tasks`` if there are
    # more than :data:`MOST_TASKS`
    tasks: pd.DataFrame | None = None
    releases: pd.DataFrame | None = None
    widths: pd.DataFrame | None = None
    power: pd.DataFrame | None = None
    domains: pd.DataFrame | None = None
    log: LogFacts = LogFacts()  # facts from the log
    # the table of tasks, or its file, if there are too many: it is used for figures only
    many_tasks: pd.DataFrame | Path | None = None
    n_many: int = 0  # number of its rows


def run_page(folder: Path) -> Page:
    """The page of a result of ``twolevel run``. Raises InputError if the folder is none, or cannot be read."""
    return page_of_run(parts_of_folder(folder))


def parts_of_folder(folder: Path) -> RunParts:
    """The contents of a page from a result folder; errors as :func:`run_page`."""
    record = read_record(folder)
    if record.get("arguments") is None:
        raise InputError(f"{folder / 'run.json'}: is not a record of twolevel run: it has no arguments")
    first_core, host_names = hosts(folder)
    power, tasks = folder / "power.parquet", folder / TASKS.file
    jobs = read_jobs(folder / "jobs.parquet")
    n_tasks = table_rows(tasks) if tasks.is_file() else 0
    many = n_tasks > MOST_TASKS
    return RunParts(
        record,
        jobs,
        first_core,
        host_names,
        None if many else TASKS.read_if_there(folder),
        RELEASES.read_if_there(folder),
        WIDTHS.read_if_there(folder),
        read_power(power) if power.is_file() else None,
        read_power_domains(folder / "power_domains.parquet"),
        facts_of_record(record, jobs, int(first_core[-1])),
        tasks if many else None,
        n_tasks if many else 0,
    )


def parts_of_result(result: Result) -> RunParts:
    """The contents of a page from a result in Python."""
    from bridge.runs.record import run_record

    ledger, scenario = result.ledger, result.scenario
    workload = scenario.workload
    account = {"source": str(workload.source), "lines": workload.n_lines, "rejects": dict(workload.rejects)}
    record = run_record(scenario, {}, account | {"jobs": len(workload)}, result.metrics)
    n_tasks = 0 if ledger.tasks is None else len(ledger.tasks)
    many = n_tasks > MOST_TASKS
    return RunParts(
        record,
        result.stored_jobs,
        ledger.machine.first_core,
        list(ledger.machine.host_names),
        None if ledger.tasks is None or many else result.tasks,
        None if ledger.releases is None else result.releases,
        None if ledger.widths is None else result.widths,
        None if result.power is None else result.power_over_time,
        None if result.power is None or not result.power.plan.domains else result.power_of_domains,
        facts_of_log(workload, result.stored_jobs),
        result.tasks if many else None,
        n_tasks if many else 0,
    )


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
    colour = next(
        (name for name in ("application", "state", "why") if name in jobs.columns and jobs[name].nunique() > 1), "why"
    )
    images = _figures(parts)  # first, since figures of many tasks take the most memory
    made = [
        p.Section(
            "timeline", "Timeline", [p.Timeline(timeline_text(timeline_of(parts)))], _ABOUT_TIMELINE, left_out(parts)
        ),
        p.Section(
            "diagram",
            "Diagram",
            [p.Explorer("jobs-data", "wait_ns", "cores", colour)],
            "Any two columns of the jobs; one point per job.",
        ),
    ]
    if images:
        made.append(p.Section("figures", "Figures", [p.Figures(images)]))
    made += sections
    made += [
        p.Section("jobs", "Jobs", [p.Table("jobs-data", "Jobs", jobs, shown, "job_id")], _ABOUT_JOBS),
        p.Section("metrics", "All metrics", _metrics(metrics), "Hover, or press Tab, for definitions."),
        p.Section("again", "What was run", _what(record, command)),
    ]
    return Page(kind, title, _lead(parts, jobs), chosen_metrics(metrics, MAIN_METRICS), made)


_ABOUT_TIMELINE = (
    "Activity of each core over time. Drag or scroll to move and zoom; click a job to see why it started then."
)
_ABOUT_JOBS = "Click a heading to sort. The filter takes words and conditions, e.g. wait>1h cores>=64 state=killed."


def left_out(parts: RunParts) -> str:
    """Explain what the timeline lacks, and how to see a part of it; empty if it is complete."""
    if not parts.n_many:
        return ""
    return (
        f"The timeline shows jobs without their tasks: the run has {parts.n_many:,} tasks, a page shows up to {MOST_TASKS:,}. "
        "To see a part: twolevel gantt DIR --jobs 1-100 -o part.png, or twolevel trace cut DIR --trace-window 2h..3h -o part."
    )


def timeline_of(parts: RunParts, causes: pd.DataFrame | None = None) -> TimelineTables:
    """The tables of a run's timeline, with the causes that a comparison found for its jobs."""
    arguments = parts.record.get("arguments") or {}
    return TimelineTables(
        jobs=parts.jobs,
        first_core=parts.first_core,
        host_names=parts.host_names,
        tasks=parts.tasks,
        releases=parts.releases,
        widths=parts.widths,
        power=parts.power,
        technique=str(arguments.get("als") or ""),
        users=parts.log.users,
        causes=causes,
        start_s=parts.log.start_s,
    )


def _lead(parts: RunParts, jobs: pd.DataFrame) -> list[str]:
    record = parts.record
    metrics, arguments = record.get("metrics") or {}, record.get("arguments") or {}
    cores, hosts = int(parts.first_core[-1]), len(parts.host_names)
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


def _says_anything(value: Any) -> bool:
    # Without an application level its metrics have no distribution.
    if not isinstance(value, Mapping):
        return value is not None
    return any(map(_says_anything, value.values()))


def _figures(parts: RunParts) -> list[tuple[str, str]]:
    until_ns = int(parts.jobs["end_ns"].max()) if len(parts.jobs) else None
    changes = (parts.releases, parts.widths)
    view = FigureView(parts.first_core, parts.host_names, None, None, "", *changes, until_ns, parts.domains)
    tasks = parts.many_tasks if parts.tasks is None else parts.tasks
    tables = {"jobs": parts.jobs, "power": parts.power, "tasks": tasks}
    found = []
    for name in _FIGURES:
        kind = RUN_FIGURES[name]
        table = tables[kind.needs]
        if table is None:
            continue
        with suppress(InputError):  # if there is nothing to draw, e.g. no imbalance without an application level
            found.append(_figure(kind, table, view))
    return found


def _figure(kind: RunFigure, table: pd.DataFrame | Path, view: FigureView) -> tuple[str, str]:
    # A function of its own, so that the columns of millions of tasks are released before the next figure reads its own.
    columns = figure_table(table, kind.columns)
    return p.figure_address(kind.draw(columns, view)), kind.shows.format(n=f"{len(columns):,}")


def _what(record: Mapping[str, Any], command: str | None) -> list[p.PagePart]:
    arguments = record.get("arguments") or {}
    again = command_again(arguments) if command is None else command
    parts: list[p.PagePart] = [p.Command("Command that repeats it:", again)] if again else []
    workload = record.get("workload") or {}
    rejects = {name: count for name, count in (workload.get("rejects") or {}).items() if count}
    rows = [
        ("workload", str(workload.get("source", ""))),
        ("rejected lines", ", ".join(f"{name} {count:,}" for name, count in rejects.items()) or "none"),
        ("machine", _machine(record)),
        ("simulated on", str(record.get("processor", ""))),
    ]
    parts.append(p.Facts(rows))
    parts.append(
        p.Facts([(name, _text(value)) for name, value in arguments.items()], ("option", "value"), "All options")
    )
    versions = record.get("versions") or {}
    parts.append(
        p.Facts([(str(name), str(value)) for name, value in versions.items()], ("library", "version"), "Versions")
    )
    return parts


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
