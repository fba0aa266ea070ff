"""What a run's log says beside its tables: whose jobs they are, and when time 0 is. The log is read again for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bls.workloads import read_workload
from bls.workloads.header import Calendar
from bls.workloads.selection import fit, select
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError

if TYPE_CHECKING:
    import pandas as pd


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
