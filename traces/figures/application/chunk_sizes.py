"""The sizes of the chunks of a loop."""

from collections.abc import Sequence

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.figures.application.loop import CHUNK_COLOURS
from traces.figures.drawing import canvas
from traces.figures.drawing.bars import rectangles
from traces.figures.drawing.frames import arrays, counted_values
from traces.figures.drawing.panels import counted, remark
from traces.tables import DataFrame


def draw_chunks(axes: canvas.Axes, sizes: Sequence[int]) -> None:
    """Draw one bar per chunk, in alternating shades, and a line above them."""
    colours = np.array([canvas.rgb(colour) for colour in CHUNK_COLOURS])
    height = np.asarray(sizes, np.float64)
    upto = np.cumsum(height)
    x0, zero = upto - height, np.zeros(len(height))
    rectangles(axes, x0, upto, zero, height, facecolors=colours[np.arange(len(height)) % 2], edgecolors="none")
    axes.step(np.append(x0, upto[-1]), np.append(height, height[-1]), where="post", color="#33557f", lw=0.8)


def chunks_figure(tasks: DataFrame, *, job_id: int | None = None, title: str = "") -> canvas.Figure:
    """Draw the sizes of one job's chunks in the order of assignment.

    The first collection has the bars; their width and height are the number of tasks. Tasks that never ran are not in the
    table, so chunks of a job that was cut may look too small. The last of several attempts is drawn.

    - ``tasks``: one row per task, with ``job_id``, ``task``, ``chunk`` and ``start_ns`` of tasks.parquet, in its order.
    - ``job_id``: the job; None is the job with the most tasks (ties: the smallest number).

    Raises InputError if a column is missing, or no task of the job ran.
    """
    job, task, chunk, start_ns = arrays(tasks, ("job_id", "task", "chunk", "start_ns"), "tasks")
    ran = start_ns >= 0
    if not ran.all():
        job, task, chunk = job[ran], task[ran], chunk[ran]
    numbers, _, counts = counted_values(job)
    if len(numbers) == 0:
        raise InputError("nothing to draw: no task ran")
    number = int(numbers[np.argmax(counts)]) if job_id is None else job_id
    mine = job == number
    if not mine.any():
        raise InputError(f"nothing to draw: no task of job {shown(number)} ran")
    sizes = _last_sizes(task[mine], chunk[mine])
    label = f"job {number}" + (" (most tasks)" if job_id is None and len(numbers) > 1 else "")
    with canvas.drawing(7.2, 3.2, title, 80) as figure:
        axes = figure.add_subplot()
        draw_chunks(axes, sizes.tolist())
        axes.set(xlim=(0, int(sizes.sum())), ylim=(0, 1.08 * int(sizes.max())))
        axes.locator_params(axis="y", integer=True)
        axes.grid(axis="y")
        axes.set(xlabel="tasks assigned", ylabel="tasks of a chunk")
        axes.set_title(label, loc="left")
        said = f"{counted(int(sizes.sum()), 'task')} in {counted(len(sizes), 'chunk')} of at most {int(sizes.max()):,}"
        remark(axes, said)
    return figure


def _last_sizes(task: Array, chunk: Array) -> Array:
    # Tasks of an attempt are in the order of their numbers, which restart with each attempt.
    if len(np.unique(task)) < len(task):
        begin = np.flatnonzero(np.diff(task) <= 0)[-1] + 1
        chunk = chunk[begin:]
    sizes = np.bincount(np.asarray(chunk, np.int64))
    return np.asarray(sizes[sizes > 0], np.int64)
