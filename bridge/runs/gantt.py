"""The Gantt chart of a result folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bridge.runs.directory import read_record
from traces.base.errors import InputError
from traces.compiled import Array
from traces.intervals import parse_intervals
from traces.tables import read_tasks

__all__ = ["draw_results", "hosts"]


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
    from traces.figures.drawing.canvas import figure_format, save
    from traces.figures.run.gantt import core_gantt_figure

    figure_format(output)  # before millions of tasks are read
    job_intervals = None if jobs is None else parse_intervals(jobs, "--jobs")
    core_intervals = None if cores is None else parse_intervals(cores, "--cores")
    first_core, host_names = hosts(folder)
    if not (folder / "tasks.parquet").is_file():
        raise InputError(f"{folder} has no tasks.parquet; simulate again with --tasks to keep one row per task")
    tasks = read_tasks(folder / "tasks.parquet")
    figure = core_gantt_figure(
        tasks, first_core=first_core, host_names=host_names, jobs=job_intervals, cores=core_intervals, title=title
    )
    return save(figure, output)


def hosts(folder: Path) -> tuple[Array, list[str]]:
    """First core of each host, and one beyond the last, and the hosts' names, of a result's run.json.

    Raises
    ------
    InputError
        If there is no such file, or it does not say.
    """
    record = read_record(folder)
    try:
        machine = record["machine"]
        return np.array(machine["first_core"], np.int64), [str(name) for name in machine["host_names"]]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{folder / 'run.json'}: does not say which hosts the machine had") from None
