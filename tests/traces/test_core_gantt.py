"""The Gantt chart of a table of tasks: which bars, and how jobs are told apart without their colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_frames import S, tasks_of

from traces.base.errors import InputError
from traces.figures.run import gantt_blocks
from traces.figures.run.gantt import core_gantt_figure, gantt_figure
from traces.figures.run.gantt_blocks import job_blocks

HOSTS: dict[str, Any] = {"first_core": np.array([0, 16, 32]), "host_names": ["host 0", "host 1"]}

#: Job 7 on cores 0 to 1 and 4 to 13, job 8 on 2 to 3, job 9 on 10 to 21 later.
ROWS = [
    *((7, core, 0, core, 0, 9 + core % 2, 1.0) for core in (0, 1, *range(4, 14))),
    *((8, core, 0, core, 0, 10, 1.0) for core in (2, 3)),
    *((9, core, 0, core, 10, 40, 1.0) for core in range(10, 22)),
    (9, 99, 0, -1, -1, -1, 1.0),
]
TASKS = tasks_of(ROWS)


def numbers(figure: Any) -> dict[str, tuple[float, float]]:
    return {text.get_text(): text.get_position() for text in figure.axes[0].texts if text.get_gid() == "job"}


def n_bars(figure: Any) -> int:
    return len(figure.axes[0].collections[0].get_paths())


def test_the_bars_are_those_of_the_chosen_tasks() -> None:
    assert n_bars(core_gantt_figure(TASKS, **HOSTS)) == len(ROWS) - 1
    assert n_bars(core_gantt_figure(TASKS, **HOSTS, jobs=[(8, 9)])) == 2
    some = core_gantt_figure(TASKS, **HOSTS, jobs=[(7, 8), (9, 10)], cores=[(8, 12)])
    assert n_bars(some) == 6
    assert some.axes[0].get_ylim() == (4, 0)
    columns = [TASKS[name].to_numpy() for name in ("job_id", "core", "start_ns", "end_ns")]
    same, table = gantt_figure(*columns, **HOSTS), core_gantt_figure(TASKS, **HOSTS)
    for one, other in zip(
        same.axes[0].collections[0].get_paths(), table.axes[0].collections[0].get_paths(), strict=True
    ):
        assert (one.vertices == other.vertices).all()


def test_each_job_has_its_number_where_it_fits() -> None:
    found = numbers(core_gantt_figure(TASKS, **HOSTS))
    assert set(found) == {"7", "8", "9"}
    x, y = found["7"]
    assert 0 < x < 5
    assert 4 < y < 14  # on the larger of its two blocks
    x, y = found["9"]
    assert 10 < x < 25
    assert y == 12.5  # not on the line between the hosts, which is in its middle
    assert all(y % 1 == 0.5 for _, y in found.values())


def test_a_number_that_does_not_fit_is_not_written() -> None:
    long = tasks_of([*ROWS, (123456, 0, 0, 30, 0, 1, 1.0), (123457, 0, 0, 31, 0, 4000, 1.0)])
    assert set(numbers(core_gantt_figure(long, **HOSTS))) == {"123457"}
    assert numbers(core_gantt_figure(TASKS, **HOSTS, jobs=[(7, 8)])) == {}  # one job alone


def test_white_lines_are_around_blocks() -> None:
    edges = core_gantt_figure(TASKS, **HOSTS).axes[0].collections[2:5]
    begins, tops, bottoms = ([tuple(map(tuple, segment)) for segment in one.get_segments()] for one in edges)
    assert begins == [((0, 0), (0, 2)), ((0, 4), (0, 14)), ((0, 2), (0, 4)), ((10, 10), (10, 22))]
    assert tops == [((0, 0), (10, 0)), ((0, 4), (10, 4)), ((0, 2), (10, 2)), ((10, 10), (40, 10))]
    assert bottoms == [((0, 2), (10, 2)), ((0, 14), (10, 14)), ((0, 4), (10, 4)), ((10, 22), (40, 22))]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), min_size=1, max_size=30, unique_by=lambda one: one[1]),
    st.sampled_from([1, 3, 100]),
)
def test_blocks_are_the_runs_of_a_jobs_rows(drawn: list[tuple[int, int]], at_a_time: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gantt_blocks, "_SORTED", at_a_time)
        _blocks_are_the_runs_of_a_jobs_rows(drawn)


def _blocks_are_the_runs_of_a_jobs_rows(drawn: list[tuple[int, int]]) -> None:
    job, row = np.array(drawn).T
    start, end = row * S, (row + 1) * S
    blocks = job_blocks(job, row, start, end, job % 3)
    covered = [
        (number, at)
        for number, low, high in zip(blocks.job_id.tolist(), blocks.low.tolist(), blocks.high.tolist(), strict=True)
        for at in range(low, high)
    ]
    assert sorted(covered) == sorted(drawn)
    for k in range(len(blocks.job_id)):
        mine = row[job == blocks.job_id[k]]
        assert blocks.low[k] - 1 not in mine
        assert blocks.high[k] not in mine
        assert (blocks.start_ns[k], blocks.end_ns[k]) == (mine.min() * S, (mine.max() + 1) * S)
        assert blocks.colour[k] == blocks.job_id[k] % 3
        area = (blocks.high[k] - blocks.low[k]) * (blocks.end_ns[k] - blocks.start_ns[k])
        assert blocks.filled[k] == pytest.approx((blocks.high[k] - blocks.low[k]) * S / area)


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InputError, match="nothing to draw: no such job ran on these cores"):
        core_gantt_figure(TASKS, **HOSTS, jobs=[(1, 2)])
    with pytest.raises(InputError, match=r"^the table of tasks has no column core; "):
        core_gantt_figure(TASKS.drop(columns="core"), **HOSTS)
