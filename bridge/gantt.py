"""The Gantt chart of a result folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bridge.results_directory import read_record
from traces.errors import InputError
from traces.figures.gantt import draw_gantt, select_bars
from traces.intervals import parse_intervals
from traces.tables import read_tasks

__all__ = ["draw_results"]


def draw_results(folder: Path, output: Path, jobs: str | None, cores: str | None, title: str) -> Path:
    """Draw the tasks of a result into a png, svg or pdf file.

    Parameters
    ----------
    folder : Path
        A result of ``twolevel run --tasks``.
    output : Path
        The file.
    jobs, cores : str or None
        Job numbers and core numbers as ``1542-1546 1600``; None is all.
    title : str
        Shown above the chart.

    Raises
    ------
    InputError
        If the folder is no such result, or nothing is left to draw.
    """
    from traces.figures.canvas import figure_format

    figure_format(output)  # before millions of tasks are read
    job_intervals = None if jobs is None else parse_intervals(jobs, "--jobs")
    core_intervals = None if cores is None else parse_intervals(cores, "--cores")
    first_core, host_names = _hosts(folder)
    if not (folder / "tasks.parquet").is_file():
        raise InputError(f"{folder} has no tasks.parquet; simulate again with --tasks to keep a row a task")
    tasks = read_tasks(folder / "tasks.parquet")
    columns = [tasks[name].to_numpy() for name in ("job_id", "core", "start_ns", "end_ns")]
    bars = select_bars(*columns, jobs=job_intervals, cores=core_intervals)
    return draw_gantt(
        *bars, first_core=first_core, host_names=host_names, path=output, title=title, cores=core_intervals
    )


def _hosts(folder: Path) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[str]]:
    # First core of each host, and one beyond the last; and the hosts' names.
    record = read_record(folder)
    try:
        machine = record["machine"]
        return np.array(machine["first_core"], np.int64), [str(name) for name in machine["host_names"]]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{folder / 'run.json'}: does not say which hosts the machine had") from None
