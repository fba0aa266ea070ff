"""Tables of metrics of studies and runs, for papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bridge.runs.afterwards import StoredRun
from bridge.runs.directory import read_record
from bridge.runs.result import Result
from bridge.scenarios.scenario import Execution
from bridge.studies.grid import GridRows
from bridge.studies.run_study import Report
from bridge.studies.study_record import RECORD as STUDY
from bridge.studies.unit import flat_metrics
from traces.base.errors import InputError, Mention, one_of, parse_list
from traces.statistics.metric_table import metric_table
from traces.tables import rows_frame

if TYPE_CHECKING:
    import pandas as pd

#: Arguments that do not distinguish runs: where results were written, and what was kept.
_NOT_OPTIONS = {
    *("seed", "out", "workload", "tasks_table", "keep_tasks", "trace", "trace_detail", "trace_window", "trace_cores"),
    *("nodes", "keep_decisions", "observe", "check", "same_as", *(one.name for one in fields(Execution))),
}


def table(
    results: Result | GridRows | Report | StoredRun | pd.DataFrame | str | Path | Sequence[Any],
    metrics: str | Sequence[str] = (),
    *,
    format: str = "md",
) -> str:
    """Make a table of metrics: one row per combination of options, means over seeds with 95 % confidence intervals.

    Parameters
    ----------
    results : Result, GridRows, Report, StoredRun, DataFrame, str, Path or sequence
        One study (the result of ``sweep`` or ``study``, its rows, or its folder), or one or several runs (results, or their
        folders); runs that differ only in their seed share a row.
    metrics : str or sequence of str
        Names of metrics (docs/reference/metrics.md), in a text separated by commas; ``_ns`` at the end may be omitted. Default:
        makespan, mean wait, mean bounded slowdown and utilisation.
    format : {"md", "csv", "latex"}

    Returns
    -------
    str

    Raises
    ------
    InputError
        If a metric is unknown, or the results cannot be read.
    """
    wanted = list(metrics)
    if isinstance(metrics, str):
        wanted = parse_list(metrics, str(Mention("metrics", "metrics")))
    several: Any = results if isinstance(results, list | tuple) and not isinstance(results, GridRows) else [results]
    return metric_table(_frame(several), wanted, format=format)


def _frame(results: Sequence[Any]) -> pd.DataFrame:
    if len(results) == 1:
        one: Any = results[0]
        if isinstance(one, GridRows):
            return one.frame
        if isinstance(one, Report):
            return one.results
        if isinstance(one, str | Path):
            if (Path(one) / STUDY).is_file():
                from bridge.studies.page import state_of

                return state_of(Path(one)).results
            read_record(Path(one), what="run, study or grid")  # so that the error names all of them
        if hasattr(one, "columns"):
            return cast("pd.DataFrame", one)
    return _of_runs([StoredRun(Path(one)) if isinstance(one, str | Path) else one for one in results])


def _of_runs(runs: Sequence[Any]) -> pd.DataFrame:
    # Rows as those of a study: the options that differ, or, if two runs have the same options and seed, their folders.
    if not runs:
        raise InputError("no results; a table needs one")
    known = []
    for run in runs:
        if not isinstance(run, StoredRun | Result):
            raise one_of("result", type(run).__name__, ("a folder", "Result", "StoredRun", "GridRows", "Report"))
        known.append(run.record.get("arguments") or {} if isinstance(run, StoredRun) else run.scenario.options.names())
    # Records of other versions may lack options.
    names = [name for name in known[0] if name not in _NOT_OPTIONS and all(name in one for one in known)]
    differing = [name for name in names if len({_compared(one[name]) for one in known}) > 1]
    places = [{name: _text(one.get(name)) for name in differing} for one in known]
    workloads = [_workload(run) for run in runs]
    seeds = [one.get("seed", 0) for one in known]
    if len({(repr(place), log, seed) for place, log, seed in zip(places, workloads, seeds, strict=True)}) < len(runs):
        folders = [str(getattr(run, "folder", f"run {number}")) for number, run in enumerate(runs, 1)]
        if twice := [folder for folder in folders if folders.count(folder) > 1]:
            raise InputError(f"{twice[0]} is given twice; allowed: each result once")
        places = [{"run": folder, **place} for folder, place in zip(folders, places, strict=True)]
    rows = [
        {"workload": log, **place, "seed": seed, "error": "", **flat_metrics(run.metrics)}
        for run, log, place, seed in zip(runs, workloads, places, seeds, strict=True)
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return rows_frame([{name: row.get(name) for name in columns} for row in rows])


def _compared(value: object) -> str:
    # Tuples of options are lists in a record.
    return repr(list(value) if isinstance(value, tuple) else value)


def _workload(run: StoredRun | Result) -> str:
    if isinstance(run, Result):
        return Path(run.scenario.workload.source).name
    return Path(str((run.record.get("workload") or {}).get("source", ""))).name


def _text(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return "" if value is None else " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
