"""Facts about a run from its record and its log: its command line, further columns of its jobs, and the date of time 0."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bls.engine.features.decisions.options import DECISIONS
from bls.metrics.batch import bounded_slowdown
from bls.options import OBSERVE, SIGNALS
from bls.policies import reads_signals
from bls.workloads import read_workload
from bls.workloads.header import Calendar
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from bridge.options import declared as d
from bridge.scenarios.scenario import Scenario
from bridge.standard_error import flag
from traces.base.errors import InputError, PluginError
from traces.base.options import Option, places
from traces.tables import BEGIN, NAME

if TYPE_CHECKING:
    import pandas as pd

#: Keys of older records that no present option can repeat; without an effect they are not in :func:`read_record`'s arguments.
_RETIRED = ("reaction_ns", "notice_ns", "stretch_walltime")

#: Keys of a record for written files, and the options that request them.
_WRITTEN = {"tasks_table": d.TASKS_TABLE, "keep_decisions": DECISIONS}


def path_word(path: object) -> str:
    """A path as an argument of a command, never read as an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def command_again(
    arguments: Mapping[str, Any], command: str = "run", options: Mapping[str, Option[Any]] | None = None
) -> str:
    """The shell command of a run, with ``options`` of the ``command`` by key. Empty if the workload is not a file, or an
    older run had an option without a successor."""
    if not arguments.get("workload") or any(name in arguments for name in _RETIRED):
        return ""
    words = ["twolevel", command, path_word(arguments["workload"])]
    for name, option in (run_options() if options is None else options).items():
        if option.name != SIGNALS.name or reads_signals(str(arguments.get("bls"))):  # older runs used them for costs
            words += _given(option, _value(arguments, name, option))
    for observer in arguments.get("observe") or ():
        words += [flag(OBSERVE.name), str(observer)]
    words += [flag(option.name) for key, option in _WRITTEN.items() if arguments.get(key)]
    if command == "run":
        words += _traced(arguments)
    if command == "replay" and (formats := arguments.get("trace")):
        written = ",".join(formats) if isinstance(formats, list) else d.TRACE_FORMATS.default
        words += [flag(d.TRACE_FORMATS.name), written]
    return shlex.join([*words, flag(d.OUT.name), "again"])


def _traced(arguments: Mapping[str, Any]) -> list[str]:
    # A record lists the formats; older records state only whether there is a trace.
    formats = arguments.get("trace")
    if formats in (False, []):
        return [flag(d.TRACE_FORMATS.name), d.NO_FORMATS]
    words = []
    if isinstance(formats, list) and formats != [d.TRACE_FORMATS.default]:
        words = [flag(d.TRACE_FORMATS.name), ",".join(formats)]
    for option in (d.TRACE_DETAIL, d.TRACE_WINDOW, d.TRACE_CORES):
        words += _given(option, arguments.get(option.key))
    return words


def run_options() -> dict[str, Option[Any]]:
    """The declared options of ``twolevel run`` by their fields' names."""
    apart = (d.WORKLOAD, *_WRITTEN.values())
    return {place.option.key: place.option for place in places(Scenario) if place.option not in apart}


def _value(arguments: Mapping[str, Any], name: str, option: Option[Any]) -> Any:
    value = next((arguments[key] for key in (name, option.keyword) if key in arguments), None)
    if option.keyword.endswith("_ns") and not option.is_time and isinstance(value, int):
        return f"{value}ns" if value else None  # a bare number would be read as seconds
    return value


def _given(option: Option[Any], value: Any) -> list[str]:
    if value is None or value == option.default or value == "":
        return []
    if isinstance(value, list):
        return [word for one in value for word in (flag(option.name), str(one))]
    if isinstance(value, bool):
        return [flag(option.name if value else option.off)]
    short = isinstance(value, float) and value == float(f"{value:g}")
    return [flag(option.name), f"{value:g}" if short else str(value)]


class LogFacts(NamedTuple):
    """Facts about jobs that only the log states."""

    # the user of each row of the table of jobs, empty if unknown; None if the log names no users
    users: list[str] | None = None
    start_s: float | None = None  # date of time 0, in seconds since 1970


def facts_of_log(workload: Workload, jobs: pd.DataFrame) -> LogFacts:
    """The facts that a workload states about the rows of a table of its jobs."""
    start = Calendar.of(workload).start
    start_s = None if start is None else start.timestamp()
    if not len(jobs) or (workload.user < 0).all():
        return LogFacts(None, start_s)
    order = np.argsort(workload.job_id)
    place = np.searchsorted(workload.job_id, jobs["job_id"].to_numpy(), sorter=order)
    users = workload.user[order[np.minimum(place, len(order) - 1)]]
    return LogFacts([str(one) if one >= 0 else "" for one in users.tolist()], start_s)


def facts_of_record(record: Mapping[str, Any], jobs: pd.DataFrame, n_cores: int) -> LogFacts:
    """The facts that the log named by a record states about the run's jobs; none if the log is missing, or has other jobs now.
    Workloads made by programs are not generated again."""
    arguments = record.get("arguments") or {}
    given = str(arguments.get("workload") or "")
    if given != "sample" and not Path(given := str((record.get("workload") or {}).get("source", ""))).is_file():
        return LogFacts()
    try:
        log = read_workload(given, cancelled=bool(arguments.get("cancelled")))
        fitting = fit(log, n_cores, arguments.get("oversize", "reject"))
        workload = select(fitting, arguments.get("select", "all"), preset=bool(arguments.get("preset")))
    except (InputError, PluginError, OSError):
        return LogFacts()
    return facts_of_log(workload, jobs) if _has(workload, jobs) else LogFacts()


def _has(workload: Workload, jobs: pd.DataFrame) -> bool:
    # Whether the table has all jobs of the workload, with equal submits.
    first, order = jobs.drop_duplicates("job_id").sort_values("job_id"), np.argsort(workload.job_id)
    return all(np.array_equal(first[name], getattr(workload, name)[order]) for name in ("job_id", "submit_ns"))


def with_spans(jobs: pd.DataFrame) -> pd.DataFrame:
    """Add ``wait_ns``, ``run_ns`` and ``bounded_slowdown``, which are NaN for jobs that never started."""
    since = BEGIN if BEGIN in jobs else "submit_ns"
    submit, start, end = (jobs[name] for name in (since, "start_ns", "end_ns"))
    started = start >= 0
    slowdown = start.astype("float64")
    slowdown[:] = bounded_slowdown(submit.to_numpy(), start.to_numpy(), end.to_numpy())
    derived = {"wait_ns": start - submit, "run_ns": end - start, "bounded_slowdown": slowdown}
    return jobs.assign(**{name: column if started.all() else column.where(started) for name, column in derived.items()})


def completed(jobs: pd.DataFrame, users: Sequence[str] | None) -> pd.DataFrame:
    """Add :func:`with_spans`, ``user`` and, if the table has none, ``name``; texts that are empty where the log has none."""
    jobs = with_spans(jobs).assign(user="" if users is None else users)
    return jobs if NAME in jobs else jobs.assign(**{NAME: ""})
