"""Figures of workloads and of comparisons of two runs."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from bls.analysis.description import Description, describe
from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload, sample_path
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.figures.compare.delay_chain import MOST_JOBS, delay_chain_figure
from traces.figures.compare.start_delays import start_delays_figure
from traces.figures.workload.likeness import PANELS, likeness_figure
from traces.figures.workload.overview import overview_figure

pytestmark = pytest.mark.whole

HOUR = 3600 * 10**9


def starts(deltas: list[float]) -> pd.DataFrame:
    n = np.arange(len(deltas))
    later = [round(delta * HOUR) for delta in deltas]
    return pd.DataFrame({"job_id": n + 10, "start_a_ns": n * HOUR, "start_delta_ns": np.array(later, np.int64)})


def chained(*rows: tuple[float, ...]) -> pd.DataFrame:
    """Rows of job, eligible, start and end in A, and in B; h."""
    names = ("eligible_a_ns", "start_a_ns", "end_a_ns", "eligible_b_ns", "start_b_ns", "end_b_ns")
    frame = pd.DataFrame({"job_id": [int(row[0]) for row in rows], "attempt": 0})
    for place, name in enumerate(names, 1):
        frame[name] = [round(row[place] * HOUR) for row in rows]
    return frame.assign(start_delta_ns=frame["start_b_ns"] - frame["start_a_ns"])


CHAIN = chained((3, 9, 12, 13, 9, 15, 16), (2, 10, 11, 12, 10, 13, 15), (1, 10, 10, 11.5, 10, 10, 13))


def bars(axes: Axes) -> list[list[tuple[float, ...]]]:
    """Row, left end and width of the bars of every kind: waits, runs, overruns."""
    found = [
        [(bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_width()) for bar in one] for one in axes.containers
    ]
    return [[tuple(round(number, 6) for number in bar) for bar in group] for group in found]


def arrows(axes: Any) -> list[tuple[float, float, float, float]]:
    return [(*text.xyann, *text.xy) for text in axes.texts if getattr(text, "arrow_patch", None) is not None]


def test_start_delays() -> None:
    (axes,) = start_delays_figure(starts([0, 2, -3, 1, -1, 0]), title="T").axes
    lines: list[Any] = axes.get_lines()
    assert [np.asarray(line.get_ydata()).tolist() for line in lines] == [[0, 0], [2, 1], [-3, -1], [0, 0]]
    assert [np.asarray(line.get_xdata()).tolist() for line in lines[1:]] == [[1, 3], [2, 4], [0, 5]]
    # Told apart without colours, too: by marker, and by what fills it.
    assert len({line.get_marker() for line in lines[1:]}) == 3
    assert to_hex(lines[2].get_markerfacecolor()) == "#ffffff" != to_hex(lines[1].get_markerfacecolor())
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels == ["later in B: 2", "earlier in B: 2", "same start: 2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("start in A [h]", "start in B − start in A [h]")
    said = ["job 11: +2 h 00 min", "job 12: −3 h 00 min", "two single runs"]
    assert [text.get_text() for text in axes.texts] == said


def test_both_runs_of_a_chain() -> None:
    upper, lower = delay_chain_figure(CHAIN, late="B").axes
    assert [text.get_text() for text in upper.get_yticklabels()] == ["job 1", "job 2", "job 3"]
    assert upper.get_ylim()[0] > upper.get_ylim()[1]  # the first of the chain is at the top
    low = 10 - 0.04 * 6
    waited = (2, pytest.approx(low), pytest.approx(12 - low))
    assert bars(upper) == [[(0, 10, 0), (1, 10, 1), waited], [(0, 10, 1.5), (1, 11, 1), (2, 12, 1)], []]
    waits, ran, over = bars(lower)
    assert waits[:2] == [(0, 10, 0), (1, 10, 3)]
    assert (ran, over) == ([(0, 10, 3), (1, 13, 2), (2, 15, 1)], [(0, 11.5, 1.5), (1, 14, 1)])
    assert all(bar.get_hatch() for bar in lower.containers[2])
    assert upper.get_xlim() == lower.get_xlim() == pytest.approx((low, 16 + 0.02 * (16 - low)))
    # Arrows only where one started as the other ended: in A job 2 did not wait for job 1.
    np.testing.assert_allclose(arrows(upper), [(12, 1.31, 12, 1.69)])
    np.testing.assert_allclose(arrows(lower), [(13, 0.31, 13, 0.69), (15, 1.31, 15, 1.69)])
    assert [text.get_text() for text in lower.texts if text.get_text()] == ["0 s", "+2 h 00 min", "+3 h 00 min"]
    assert (upper.get_title(loc="left"), lower.get_title(loc="left")) == ("run A", "run B (delayed)")
    assert "earlier waits are cut" in lower.get_xlabel()
    upper, lower = delay_chain_figure(CHAIN.iloc[1:], late="A").axes
    assert lower.get_xlabel() == "time [h]"
    assert upper.get_title(loc="left") == "run A (delayed)"
    assert upper.get_title(loc="right") == "two single runs"


def test_of_a_long_chain_the_last_jobs_are_drawn() -> None:
    n = MOST_JOBS + 3
    frame = chained(*((n - k, 0, n - k, n - k + 1, 0, n - k + 2, n - k + 3) for k in range(n)))
    frame.loc[0, "attempt"] = 2
    upper, lower = delay_chain_figure(frame, late="B").axes
    names = [text.get_text() for text in upper.get_yticklabels()]
    assert names == [*(f"job {k}" for k in range(4, n)), f"job {n} attempt 2"]
    assert upper.get_title(loc="right").startswith(f"the last {MOST_JOBS} of {n} jobs; ")
    assert len(arrows(upper)) == len(arrows(lower)) == MOST_JOBS - 1


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: start_delays_figure(starts([])), "no job started in both runs"),
        (lambda: delay_chain_figure(CHAIN.iloc[:0], late="B"), "the chain has no job"),
        (lambda: delay_chain_figure(CHAIN, late="C"), "late: unknown run 'C'"),
    ],
)  # fmt: skip
def test_impossible_figures_are_refused(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()


def table() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for panel, at in (("hour", range(24)), ("weekday", range(7)), ("month", range(1, 13)), ("work", range(2, 12))):
        shares = np.arange(1.0, len(at) + 1) / sum(range(1, len(at) + 1))
        rows += [
            {"panel": panel, "at": float(x), "source": float(a), "generated": float(b)}
            for x, a, b in zip(at, shares, shares[::-1], strict=True)
        ]
    return rows


def test_bars_are_the_source_and_points_the_generated() -> None:
    figure = likeness_figure(table(), names=("log", "like it"), distances={"hour": 0.0123}, title="T")
    assert [axes.get_xlabel() for axes in figure.axes] == list(PANELS.values())
    for axes, n in zip(figure.axes, (24, 7, 12, 10), strict=True):
        shares = 100 * np.arange(1, n + 1) / sum(range(1, n + 1))
        np.testing.assert_allclose(heights(axes), shares)
        (line,) = axes.get_lines()
        assert line.get_ydata() == pytest.approx(shares[::-1])
        assert (axes.get_ylabel(), axes.get_ylim()[0]) == ("jobs [%]", 0)
        assert axes.get_ylim()[1] > shares.max()
    hours, weekdays, months, work = figure.axes
    assert (hours.get_title(loc="right"), weekdays.get_title(loc="right")) == ("KS distance 0.012", "")
    assert marks(weekdays) == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert months.get_xticks().tolist() == list(range(1, 13))
    assert marks(work)[0] == "$10^{2}$"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["log", "like it"]


def heights(axes: Any, which: int = 0) -> list[float]:
    return [bar.get_height() for bar in axes.containers[which]]


def marks(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_bars_are_the_figures(sample: Description, drawn: Any) -> None:
    above = panel(drawn, "Arrivals and offered load, by hour")
    below = drawn.axes[drawn.axes.index(above) + 1]
    assert heights(above) == [one.jobs for one in sample.timeline]
    assert heights(below) == [one.load for one in sample.timeline]
    titles = {axes.get_title(loc="left") for axes in drawn.axes}
    assert not {"By month of the year", "By hour and day of the week"} & titles  # of a day
    year, days_of = every(24, 30 * 86_400, START), every(100, 7000, START)
    assert heights(panel(overview_figure(year), "By month of the year")) == list(year.arrivals.by_month)
    assert heights(panel(drawn, "By hour of the day")) == list(sample.arrivals.by_hour)
    figure = overview_figure(days_of)
    hours = panel(figure, "By hour and day of the week")
    heat, days = figure.axes[figure.axes.index(hours) + 1 :][:2]
    assert heights(hours) == list(days_of.arrivals.by_hour)
    assert np.asarray(heat.images[0].get_array()).tolist() == [*map(list, days_of.arrivals.by_weekday_and_hour)]
    assert [bar.get_width() for bar in days.containers[0]] == list(days_of.arrivals.by_weekday)
    widths, accuracy = panel(drawn, "Widths"), panel(drawn, "Run time / estimate")
    assert [sum(heights(widths, 0)), sum(heights(widths, 1))] == pytest.approx([100, 100])
    assert heights(widths)[0] == pytest.approx(100 * sample.serial / sample.jobs)
    assert marks(widths) == ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
    assert sum(heights(accuracy, 0) + heights(accuracy, 1)) == pytest.approx(100)
    lengths = panel(drawn, "Run times and estimates").get_lines()
    assert [line.get_label() for line in lengths] == ["run time", "estimate"]
    assert lengths[0].get_xdata()[50] == pytest.approx(sample.run_ns.median)
    assert [line.get_ydata()[-1] for line in panel(drawn, "Users").get_lines()] == [100, 100]


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


@pytest.fixture(scope="module")
def drawn(sample: Description) -> Any:
    return overview_figure(sample)


def panel(figure: Any, title: str) -> Any:
    (found,) = [axes for axes in figure.axes if axes.get_title(loc="left") == title]
    return found


def every(n_jobs: int, step_s: int, *header: str) -> Description:
    made = Workload.from_jobs([(k, k * step_s, 600, 2, 900) for k in range(n_jobs)])
    return describe(replace(made, header=header), PLATFORM)


def test_the_title_describes_the_workload(sample: Description, drawn: Any) -> None:
    title, facts = (text.get_text() for text in drawn.axes[0].texts)
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


def test_odd_logs_can_be_drawn() -> None:
    century = [(k, k * 4.6e7, 4e9, 64, None) for k in range(99)]
    header = (START, "; Computer: $x^{ " + "long " * 60)
    for jobs, panels in (([(1, 5, 10, 2, 20)], 9), (century, 12)):
        figure = overview_figure(describe(replace(Workload.from_jobs(jobs), header=header), PLATFORM))
        assert len(figure.axes) == panels
        assert all(axes.get_position().height > 0.01 for axes in figure.axes)


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


def test_an_hour_of_huge_work_does_not_flatten_the_others() -> None:
    jobs = [(k, 3600 * k, 3600, 32, None) for k in range(100)] + [(100, 3600 * 50, 3600 * 1000, 64, None)]
    figure = overview_figure(describe(Workload.from_jobs(jobs), PLATFORM))
    (below,) = [axes for axes in figure.axes if axes.get_ylabel() == "offered load"]
    assert below.get_ylim()[1] < 20
    # A bar of an hour among a hundred is too narrow for its number, which is said above, and the cut is marked.
    assert not below.texts
    assert below.get_title(loc="right").endswith("; cut off: 1 hour, up to 1,000")
    assert [line.get_marker() for line in below.get_lines()].count("^") == 1
