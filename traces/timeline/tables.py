"""The contents of a timeline: the tables of a run, and further data of its jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.ledger_tables import RELEASES, TASKS, WIDTHS
from traces.tables import DataFrame, read_jobs, read_power


@dataclass(frozen=True, kw_only=True, eq=False)
class TimelineTables:
    """The tables of a run, as in docs/reference/results.md."""

    jobs: DataFrame  # jobs.parquet
    first_core: Array  # int64 (hosts + 1,): first core of each host, and one beyond the last
    host_names: list[str]  # one per host
    # tasks.parquet: all rows; without it the timeline shows which cores jobs held
    tasks: DataFrame | None = None
    # cores released by jobs before their end, and given to them after their start
    releases: DataFrame | None = None
    widths: DataFrame | None = None
    power: DataFrame | None = None  # power.parquet
    # scheduler of the tasks of jobs, if the table of jobs does not have it (``chosen``, ``application``)
    technique: str = ""
    users: list[str] | None = None  # user of each row of the jobs, empty if unknown
    # why some jobs started later than in another run, from a comparison: ``job_id``, ``attempt``, ``cause``, ``cause_job`` and
    # ``cause_attempt``, as in ``delays.parquet`` for one of its runs
    causes: DataFrame | None = None
    # time 0, in seconds since 1970 (``UnixStartTime`` of a log); None if unknown
    start_s: float | None = None


def folder_tables(folder: Path, record: Mapping[str, Any]) -> TimelineTables:
    """Return the tables of a result of ``twolevel run``.

    - ``record``: the contents of its run.json.

    Raises InputError if there is no table of jobs, a table cannot be read, or the record lacks the machine's hosts.
    """
    machine = record.get("machine") or {}
    first_core, names = machine.get("first_core"), machine.get("host_names")
    if not isinstance(names, list) or not isinstance(first_core, list) or len(first_core) != len(names) + 1:
        raise InputError(f"{folder / 'run.json'}: does not say which hosts the machine had")
    power = folder / "power.parquet"
    arguments = record.get("arguments") or {}
    return TimelineTables(
        jobs=read_jobs(folder / "jobs.parquet"),
        first_core=np.array(first_core, np.int64),
        host_names=[str(name) for name in names],
        tasks=TASKS.read_if_there(folder),
        releases=RELEASES.read_if_there(folder),
        widths=WIDTHS.read_if_there(folder),
        power=read_power(power) if power.is_file() else None,
        technique=str(arguments.get("als") or ""),
    )
