"""The Gantt chart of a result folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from als.options import ALS
from bridge.options.declared import KEEP_TASKS
from bridge.runs.directory import read_record
from bridge.runs.job_names import job_words
from bridge.scenarios.scenario import RECORDED
from traces.base.errors import InputError
from traces.base.options import PART_CORES, PART_JOBS
from traces.compiled import Array
from traces.figures.study.combinations import batch_label
from traces.intervals import parse_intervals
from traces.tables import read_numbers


def draw_results(folder: Path, output: Path, jobs: str | None, cores: str | None, title: str | None) -> Path:
    """Draw the tasks of a result into a png, svg or pdf file.

    - ``folder``: a result of ``twolevel run --tasks``.
    - ``jobs``, ``cores``: job numbers and core numbers as ``1542-1546 1600``; None is all.
    - ``title``: shown above the chart; default: the options of the run.

    Raises InputError if the folder is no such result, or nothing is left to draw.
    """
    from traces.figures.drawing.canvas import figure_format, save
    from traces.figures.run.gantt import core_gantt_figure

    figure_format(output)  # before millions of tasks are read
    job_intervals = None if jobs is None else job_words(folder).intervals(jobs, str(PART_JOBS))
    core_intervals = None if cores is None else parse_intervals(cores, str(PART_CORES))
    first_core, host_names = hosts(folder)
    if not (folder / "tasks.parquet").is_file():
        raise InputError(f"{folder} has no tasks.parquet{no_tasks(read_record(folder))}")
    if title is None:
        title = run_title(read_record(folder))
    tasks = read_numbers(folder / "tasks.parquet", ("job_id", "core", "start_ns", "end_ns"))
    figure = core_gantt_figure(
        tasks, first_core=first_core, host_names=host_names, jobs=job_intervals, cores=core_intervals, title=title
    )
    return save(figure, output)


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
    """First core of each host, and one beyond the last, and the hosts' names, from a result's run.json. Raises InputError
    if there is no such file, or it lacks them."""
    record = read_record(folder)
    try:
        first_core = np.array(record["machine"]["first_core"], np.int64)
        names = [str(name) for name in record["machine"]["host_names"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        first_core, names = np.empty(0, np.int64), []
    if not names or first_core.shape != (len(names) + 1,) or first_core[0] or (np.diff(first_core) < 1).any():
        raise InputError(f"{folder / 'run.json'}: lacks the hosts of the machine")
    return first_core, names
