"""The page about a workload: bars as high as the figures, marks where they belong, files of every format."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bls.analysis.description import Description, describe
from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload, sample_path
from bls.workloads.workload import Workload
from traces.figures.workload.overview import overview_figure

PLATFORM = Platform((HostGroup(1, 64, 8.0),), name="sixty-four")
START = "; UnixStartTime: 4102444800"
PARIS = ("; UnixStartTime: 1067040000", "; TimeZoneString: Europe/Paris")  # Saturday, 25 October 2003, 2:00


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def sample() -> Description:
    return describe(read_workload(sample_path()), Platform())


def panel(figure: Any, title: str) -> Any:
    (found,) = [axes for axes in figure.axes if axes.get_title(loc="left") == title]
    return found


def bars(axes: Any, which: int = 0) -> list[float]:
    return [bar.get_height() for bar in axes.containers[which]]


def marks(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def every(n_jobs: int, step_s: int, *header: str) -> Description:
    made = Workload.from_jobs([(k, k * step_s, 600, 2, 900) for k in range(n_jobs)])
    return describe(replace(made, header=header), PLATFORM)


def test_bars_are_the_figures(sample: Description) -> None:
    figure = overview_figure(sample)
    above = panel(figure, "Arrivals and offered load, by hour")
    assert bars(above) == [one.jobs for one in sample.timeline]
    below = figure.axes[figure.axes.index(above) + 1]
    assert bars(below) == [one.load for one in sample.timeline]
    assert "By month of the year" not in {axes.get_title(loc="left") for axes in figure.axes}  # of a day
    year = every(24, 30 * 86_400, START)
    assert bars(panel(overview_figure(year), "By month of the year")) == list(year.arrivals.by_month)
    assert bars(panel(figure, "By hour of the day")) == list(sample.arrivals.by_hour)
    assert "By hour and day of the week" not in {axes.get_title(loc="left") for axes in figure.axes}
    days_of = every(100, 7000, START)
    figure = overview_figure(days_of)
    hours = panel(figure, "By hour and day of the week")
    assert bars(hours) == list(days_of.arrivals.by_hour)
    heat, days = figure.axes[figure.axes.index(hours) + 1 :][:2]
    assert np.asarray(heat.images[0].get_array()).tolist() == [
        list(row) for row in days_of.arrivals.by_weekday_and_hour
    ]
    assert [bar.get_width() for bar in days.containers[0]] == list(days_of.arrivals.by_weekday)
    figure = overview_figure(sample)
    widths = panel(figure, "Widths")
    assert sum(bars(widths, 0)) == pytest.approx(100)
    assert sum(bars(widths, 1)) == pytest.approx(100)
    assert bars(widths)[0] == pytest.approx(100 * sample.serial / sample.jobs)
    assert marks(widths) == ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
    accuracy = panel(figure, "Run time / estimate")
    assert sum(bars(accuracy, 0) + bars(accuracy, 1)) == pytest.approx(100)
    lengths = panel(figure, "Run times and estimates").get_lines()
    assert [line.get_label() for line in lengths] == ["run time", "estimate"]
    assert lengths[0].get_xdata()[50] == pytest.approx(sample.run_ns.median)
    curves = panel(figure, "Users").get_lines()
    assert [line.get_ydata()[-1] for line in curves] == [100, 100]


def test_the_head_says_what_it_is(sample: Description) -> None:
    title, facts = (text.get_text() for text in overview_figure(sample).axes[0].texts)
    assert title == "Synthetic cluster of 4 hosts with 64 cores each  (sample.swf)"
    assert facts.startswith("320 jobs  ·  submitted in 23 h 44 min, 2024-01-01 to 2024-01-01  ·  24 users")
    assert facts.endswith(f"offered load {sample.load:.3f}  ·  cluster: 256 cores")


def test_dates_on_the_time_line() -> None:
    def dates(described: Description) -> list[str]:
        (above,) = [axes for axes in overview_figure(described).axes if axes.get_ylabel().startswith("jobs per")]
        below = above.figure.axes[above.figure.axes.index(above) + 1]
        assert np.allclose(above.get_xlim(), below.get_xlim())
        assert np.allclose(above.get_xticks(), below.get_xticks())
        assert len(marks(below)) <= 13
        return marks(below)

    assert dates(every(30, 3600, *PARIS))[:3] == ["03 h\n25 Oct 2003", "06 h", "09 h"]
    assert dates(every(30, 7 * 86_400, *PARIS)) == ["Nov\n2003", "Dec", "Jan\n2004", *["Feb", "Mar", "Apr", "May"]]


def test_a_log_that_says_little() -> None:
    figure = overview_figure(every(9, 3600))
    said = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"the log names no users", "the log has no status,\nqueue, partition or QOS"} <= said
    assert any(axes.get_xlabel() == "days since time 0 of the log" for axes in figure.axes)
    months = panel(overview_figure(every(9, 14 * 86_400)), "By month of the year")
    assert marks(months) == [f"{k}" for k in range(1, 13)]
    exact = describe(Workload.from_jobs([(k, k, 600, 2, None) for k in range(9)]), PLATFORM)
    figure = overview_figure(exact)
    assert len(panel(figure, "Run times").get_lines()) == 1
    assert "every estimate is the run time:\nthe log seems to have none" in {
        text.get_text() for text in panel(figure, "Run time / estimate").texts
    }


def test_an_hour_of_huge_work_does_not_flatten_the_others() -> None:
    jobs = [(k, 3600 * k, 3600, 32, None) for k in range(100)] + [(100, 3600 * 50, 3600 * 1000, 64, None)]
    figure = overview_figure(describe(Workload.from_jobs(jobs), PLATFORM))
    (below,) = [axes for axes in figure.axes if axes.get_ylabel() == "offered load"]
    assert below.get_ylim()[1] < 20
    # A bar of an hour among a hundred is too narrow for its number, which is said above, and the cut is marked.
    assert not below.texts
    assert below.get_title(loc="right").endswith("; cut off: 1 hour, up to 1,000")
    assert [line.get_marker() for line in below.get_lines()].count("^") == 1


def test_classes_are_shown_in_part() -> None:
    jobs = [
        {"job_id": k, "submit_s": k, "run_s": 1, "cores": 1, "queue": k % 30, "partition": k % 2, "status": k % 2}
        for k in range(300)
    ]
    axes = panel(overview_figure(describe(Workload.from_jobs(jobs), PLATFORM)), "Classes")
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "status", "failed", "completed", "queue", "0", "29 others", "partition", "0", "1",
    ]  # fmt: skip
    assert [axes.containers[k][0].get_width() for k in range(6)] == pytest.approx([50, 50, 100 / 30, 2900 / 30, 50, 50])


@pytest.mark.parametrize(
    "jobs", [[(1, 5, 10, 2, 20)], [(k, k * 4.6e7, 4e9, 64, None) for k in range(99)]], ids=["one job", "a century"]
)
def test_odd_logs_can_be_drawn(jobs: list[Any]) -> None:
    header = (START, "; Computer: $x^{ " + "long " * 60) if len(jobs) % 2 else ()
    figure = overview_figure(describe(replace(Workload.from_jobs(jobs), header=header), PLATFORM))
    assert len(figure.axes) == (12 if jobs[-1][1] - jobs[0][1] > 62 * 86_400 else 9)
    for axes in figure.axes:
        box = axes.get_position()
        assert (round(box.x0, 5), round(box.y0, 5)) == (box.x0, box.y0)
        assert box.height > 0.01
