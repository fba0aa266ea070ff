"""What a run's record and its log say beside its tables: its command line, whose jobs they are, and when time 0 is."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bls.options import DECISIONS, OBSERVE
from bls.workloads import read_workload
from bls.workloads.header import Calendar
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from bridge.options.declared import (
    NO_TRACE,
    OUT,
    TASKS_TABLE,
    TRACE_CORES,
    TRACE_DETAIL,
    TRACE_FORMATS,
    TRACE_WINDOW,
    WORKLOAD,
)
from bridge.scenarios.scenario import Scenario
from bridge.spelling import flag
from traces.base.errors import InputError, PluginError
from traces.base.options import Option, places

if TYPE_CHECKING:
    import pandas as pd

#: What a record has of what was written, and which options ask for it.
_WRITTEN = {"tasks_table": TASKS_TABLE, "keep_decisions": DECISIONS}


def path_word(path: object) -> str:
    """A path as an argument of a command: no option, whatever it begins with."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def command_again(
    arguments: Mapping[str, Any], command: str = "run", options: Mapping[str, Option[Any]] | None = None
) -> str:
    """The command of a run; only what is not by default is said.

    - ``command``: ``run``, or ``replay``.
    - ``options``: the options of that command by their fields' names; default: those of ``run``.

    Returns the command line, as one types it into a shell; empty if the workload is no file, or nobody knows it.
    """
    if not arguments.get("workload"):
        return ""
    words = ["twolevel", command, path_word(arguments["workload"])]
    for name, option in (run_options() if options is None else options).items():
        words += _given(option, _value(arguments, name, option))
    for observer in arguments.get("observe") or ():
        words += [flag(OBSERVE.name), str(observer)]
    words += [flag(option.name) for key, option in _WRITTEN.items() if arguments.get(key)]
    if command == "run":
        words += _traced(arguments)
    if command == "replay" and (formats := arguments.get("trace")):
        words += [flag(TRACE_FORMATS.name), ",".join(formats) if isinstance(formats, list) else TRACE_FORMATS.default]
    return shlex.join([*words, flag(OUT.name), "again"])


def _traced(arguments: Mapping[str, Any]) -> list[str]:
    # A record has the formats, of none an empty list; older ones have whether there is a trace.
    formats = arguments.get("trace")
    if formats in (False, []):
        return [flag(NO_TRACE.name)]
    words = []
    if isinstance(formats, list) and formats != [TRACE_FORMATS.default]:
        words = [flag(TRACE_FORMATS.name), ",".join(formats)]
    for option in (TRACE_DETAIL, TRACE_WINDOW, TRACE_CORES):
        words += _given(option, arguments.get(option.key))
    return words


def run_options() -> dict[str, Option[Any]]:
    """The declared options of ``twolevel run`` by their fields' names."""
    apart = (WORKLOAD, *_WRITTEN.values())
    return {place.option.key: place.option for place in places(Scenario) if place.option not in apart}


def _value(arguments: Mapping[str, Any], name: str, option: Option[Any]) -> Any:
    value = next((arguments[key] for key in (name, option.keyword) if key in arguments), None)
    if option.keyword.endswith("_ns") and not option.is_time and isinstance(value, int):
        return f"{value}ns" if value else None  # a time, of which a bare number is s
    return value


def _given(option: Option[Any], value: Any) -> list[str]:
    if value is None or value == option.default or value == "":
        return []
    if isinstance(value, list):
        return [word for one in value for word in (flag(option.name), str(one))]
    if isinstance(value, bool):
        return [flag(option.name if value else option.off)]
    return [
        flag(option.name),
        f"{value:g}" if isinstance(value, float) and value == float(f"{value:g}") else str(value),
    ]


class LogFacts(NamedTuple):
    """What a log says of its jobs."""

    # whose each row of the table of jobs is, empty where the log does not say it; None if it says it of none
    users: list[str] | None = None
    start_s: float | None = None  # where time 0 is, in seconds since 1970


def facts_of_log(workload: Workload, jobs: pd.DataFrame) -> LogFacts:
    """What a workload says of the rows of a table of its jobs."""
    start = Calendar.of(workload).start
    start_s = None if start is None else start.timestamp()
    if not len(jobs) or (workload.user < 0).all():
        return LogFacts(None, start_s)
    order = np.argsort(workload.job_id)
    place = np.searchsorted(workload.job_id, jobs["job_id"].to_numpy(), sorter=order)
    users = workload.user[order[np.minimum(place, len(order) - 1)]]
    return LogFacts([str(one) if one >= 0 else "" for one in users.tolist()], start_s)


def facts_of_record(record: Mapping[str, Any], jobs: pd.DataFrame, n_cores: int) -> LogFacts:
    """What the log that a record names says of the run's jobs.

    Nothing, if it is no longer there, cannot be read any more, or has other jobs now: a record has no checksum of its log, so
    every number and submit is compared. A workload that a program makes is not made again.
    """
    arguments = record.get("arguments") or {}
    given = str(arguments.get("workload") or "")
    if given != "sample" and not Path(given := str((record.get("workload") or {}).get("source", ""))).is_file():
        return LogFacts()
    try:
        log = fit(
            read_workload(given, cancelled=bool(arguments.get("cancelled"))),
            n_cores,
            arguments.get("oversize", "reject"),
        )
        workload = select(log, arguments.get("select", "all"), preset=bool(arguments.get("preset")))
    except (InputError, PluginError, OSError):
        return LogFacts()
    return facts_of_log(workload, jobs) if _has(workload, jobs) else LogFacts()


def _has(workload: Workload, jobs: pd.DataFrame) -> bool:
    # Whether the table's jobs are all of the workload's, each submitted when the workload says.
    first = jobs.drop_duplicates("job_id").sort_values("job_id")
    order = np.argsort(workload.job_id)
    return np.array_equal(first["job_id"], workload.job_id[order]) and np.array_equal(
        first["submit_ns"], workload.submit_ns[order]
    )
