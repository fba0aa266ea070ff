"""Facts about a stored run, from its record and its table of jobs: its title, its hosts, and the names of its jobs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from als.options import ALS
from bls.workloads.job_words import JobWords
from bridge.options.declared import KEEP_TASKS
from bridge.runs.directory import read_record
from bridge.scenarios.scenario import RECORDED
from traces.base.errors import InputError
from traces.compiled import Array
from traces.tables import NAME, job_names

IDS = "ids"  #: key in a record's workload: the names in the table of jobs are ids of single jobs


def job_words(folder: Path) -> JobWords:
    """The reader of the words that name jobs of a result. Raises InputError if its table of jobs cannot be read."""
    numbers, names = job_names(folder / "jobs.parquet")
    return JobWords.of(numbers, names) if len(numbers) else JobWords()


def ids_of(record: Mapping[str, Any], jobs: Any) -> dict[int, str]:
    """Ids of the jobs of a result by job number; empty where its log has only numbers."""
    workload = record.get("workload")
    if not isinstance(workload, Mapping) or not workload.get(IDS) or NAME not in jobs:
        return {}
    return {int(number): str(name) for number, name in zip(jobs["job_id"], jobs[NAME], strict=True) if name}


def no_tasks(record: Mapping[str, Any]) -> str:
    """The end of the error that there are no records of tasks: how to get them."""
    arguments = record.get("arguments")
    if isinstance(arguments, Mapping) and arguments.get("als") == RECORDED:
        return (
            f": with {ALS:recorded} there are no tasks; `twolevel figures --only held` shows when cores were held, and a "
            f"technique as {ALS}, with {KEEP_TASKS}, keeps one row per task"
        )
    return f"; simulate again with {KEEP_TASKS} to keep one row per task"


def slurm_title(release: str) -> str:
    """The name of a Slurm release, such as ``22.05.8``, in titles; the product's own policy is called ``slurm``."""
    return f"Slurm {'.'.join(release.split('.')[:2])}"


def run_title(record: Mapping[str, Any]) -> str:
    """The options of a run in one line: ``sample: fcfs × gss, Υ = 0.25``; with limits, the fallback, too."""
    from traces.figures.study.combinations import batch_label  # not needed to write a run

    arguments = record.get("arguments")
    if not isinstance(arguments, Mapping):
        return ""
    batch = batch_label(str(arguments["bls"]), str(arguments.get("backfill", "none"))) if "bls" in arguments else ""
    if isinstance(replayed := record.get("replay"), Mapping) and "release" in replayed:
        batch = slurm_title(str(replayed["release"]))
    levels = " × ".join(word for word in (batch, str(arguments.get("als") or "")) if word)
    varied = f"Υ = {arguments['variation']}" if arguments.get("variation") else ""
    limited = f"fallback {arguments.get('fallback')}" if arguments.get("limits") else ""
    said = ", ".join(word for word in (levels, varied, limited) if word)
    workload = Path(str(arguments["workload"])).name if arguments.get("workload") else ""
    return f"{workload}: {said}" if workload and said else workload or said


def hosts(folder: Path) -> tuple[Array, list[str]]:
    """First core of each host, and one beyond the last, and the hosts' names. Raises InputError if run.json lacks them."""
    record = read_record(folder)
    try:
        first_core = np.array(record["machine"]["first_core"], np.int64)
        names = [str(name) for name in record["machine"]["host_names"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        first_core, names = np.empty(0, np.int64), []
    if not names or first_core.shape != (len(names) + 1,) or first_core[0] or (np.diff(first_core) < 1).any():
        raise InputError(f"{folder / 'run.json'}: lacks the hosts of the machine")
    return first_core, names
