"""Every figure of a run or a study shows all of its table: as many marks as there are rows to show, none upon another."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.container import BarContainer
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from tables import table_rows

import bridge
import traces.figures.drawing.canvas as canvas
from bls import sample_path
from bls.analysis.description import describe
from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from bridge import run_study
from bridge.runs.figures import RUN_FIGURES, FigureView
from bridge.studies.drawing import MEASURES, STUDY_FIGURES, draw_study_figures, read_results
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import parse_study
from bridge.studies.results import compare_study
from traces.figures.drawing.canvas import Figure
from traces.figures.workload.overview import overview_figure

pytestmark = pytest.mark.whole

#: Tables by the name of the figure, and the figures drawn of them.
Drawn = list[tuple[str, pd.DataFrame, Figure]]


def bars(axes: Any, *, lying: bool) -> list[tuple[float, float]]:
    """The bars that are seen: where each stands, and how long it is."""
    found = [bar for container in axes.containers if isinstance(container, BarContainer) for bar in container]
    if lying:
        return [(bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in found if bar.get_width()]
    return [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in found if bar.get_height()]


def points(figure: Figure) -> list[tuple[float, float]]:
    """The markers that are seen in all panels, without the caps of whiskers: by panel and line, x and y."""
    lines = [line for axes in figure.axes for line in axes.get_lines() if line.get_markersize() > 0]
    lines = [line for line in lines if str(line.get_marker()) not in ("None", "", " ", "|", "_")]
    return [(float(x), float(y)) for line in lines for x, y in line.get_xydata() if np.isfinite(y)]


STUDIES = {row["name"]: row for row in table_rows(__file__, "studies")}


@pytest.fixture(scope="module", params=STUDIES)
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """All figures of a study, beside the tables that they are drawn of."""
    text = f"""
        [study]
        seeds = 5
        keep = ["jobs", "decisions"]
        metrics = ["makespan_ns", "mean_wait_ns", "mean_bounded_slowdown", "utilisation", "mean_imbalance"]
        [[workload]]
        file = "sample"
        {'select = "first:12"' if "select" not in STUDIES[request.param]["grid"] else ""}
        [run]
        tasks-per-core = 2
        [grid]
        {STUDIES[request.param]["grid"]}
        {STUDIES[request.param]["more"]}
    """
    folder = tmp_path_factory.mktemp("studies") / request.param
    study = parse_study(text, [Path()], request.param)
    run_study(study, folder, lambda needs: Here())
    compare_study(study, read_results(folder), folder)
    found: Drawn = []

    def noting(name: str, draw: Callable[[Any, str], Figure]) -> Callable[[Any, str], Figure]:
        def noted(frame: pd.DataFrame, title: str) -> Figure:
            figure = draw(frame, title)
            found.append((name, frame, figure))
            return figure

        return noted

    with pytest.MonkeyPatch.context() as patch:
        for name, draw in STUDY_FIGURES.items():
            patch.setitem(STUDY_FIGURES, name, noting(name, draw))
        patch.setattr(canvas, "save_all", lambda figure, paths, width: paths)
        paths = draw_study_figures(folder, formats=["png"])
    assert len(set(paths)) == len(found)
    rows = pd.read_parquet(folder / "comparisons.parquet")
    assert sum(len(frame) for name, frame, _ in found if name == "comparison") == len(rows)
    return found


def _means(metric: str) -> Callable[[pd.DataFrame, Figure], tuple[int, int]]:
    def marks(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
        lying = not figure.axes[-1].get_xlabel()
        seen = sum(len(set(bars(axes, lying=lying))) for axes in figure.axes)
        assert seen == (frame.groupby("cell")[metric].mean() > 0).sum()
        return frame["cell"].nunique(), sum(bool(text.get_text()) for axes in figure.axes for text in axes.texts)

    return marks


def _lines(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    return frame["cell"].nunique(), len(points(figure))


def _ratios(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    return _lines(frame[frame["variation"] > frame["variation"].min()], figure)


def _imbalance(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    # Of one variation it is boxes, whose means are diamonds.
    return (frame["cell"].nunique() if frame["variation"].nunique() > 1 else frame["als"].nunique()), len(
        points(figure)
    )


def _costs(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    return frame.groupby(["group", "jobs"]).ngroups, len(points(figure))


def _comparisons(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    frame = frame[np.isfinite(frame["difference_low"])]  # what nothing random changes has no interval
    for axes, (_, rows) in zip(figure.axes, frame.groupby("metric", sort=False), strict=True):
        lines = [
            line for line in axes.get_lines() if len(line.get_xdata()) == 1 and line.get_marker() not in ("|", "_")
        ]
        kind = "difference" if rows["ratio"].isna().any() else "ratio"
        assert sorted(line.get_xdata()[0] for line in lines) == pytest.approx(sorted(rows[kind]))
        assert len({line.get_ydata()[0] for line in lines}) == len(rows)
        names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert len(set(names)) == len(names) == len(rows)
    return len(frame), len(points(figure))


def _boxes(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == frame["label"].tolist()
    assert [x for x, _ in points(figure)] == pytest.approx(frame["mean"].tolist())
    return frame["label"].nunique(), len(axes.containers)


def _lines_of_decisions(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    assert len(figure.axes[0].get_lines()) == frame["label"].nunique()
    return len(frame), len(points(figure))


def _costs_of_decisions(frame: pd.DataFrame, figure: Figure) -> tuple[int, int]:
    return 2 * frame["label"].nunique(), sum(len(container) for container in figure.axes[0].containers)


#: How many marks there should be, and how many there are, by the figure's name: a new figure says it here, too.
MARKS_OF_STUDIES: Mapping[str, Callable[[pd.DataFrame, Figure], tuple[int, int]]] = {
    **{name: _means(metric) for name, metric in MEASURES.items()},
    "variation": _lines,
    "ratio": _ratios,
    "imbalance": _imbalance,
    "cost": _costs,
    "comparison": _comparisons,
    "slowdown-boxes": _boxes,
    "queue-boxes": _boxes,
    "decisions": _lines_of_decisions,
    "decision-cost": _costs_of_decisions,
}


def test_a_figure_of_a_study_has_as_many_marks_as_rows(drawn: Drawn) -> None:
    assert MARKS_OF_STUDIES.keys() == STUDY_FIGURES.keys()
    for name, frame, figure in drawn:
        wanted, found = MARKS_OF_STUDIES[name](frame, figure)
        assert found == wanted > 0, (name, frame)


def _words(figure: Figure) -> list[Text]:
    """The texts that are seen, once the figure is laid out; without what is cut at the edge of its panel on purpose."""
    figure.draw_without_rendering()
    seen = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    hidden = [text for axes in figure.axes if not axes.get_visible() for text in axes.findobj(Text)]
    return [text for text in seen if text not in hidden]


def _check_words(name: str, figure: Figure) -> None:
    texts = _words(figure)
    width, height = figure.bbox.size
    for text in texts:
        # The plain upsilon is read as a Latin Y.
        assert "Υ" not in text.get_text(), (name, text.get_text())
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            at_ticks = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            boxes = [label.get_window_extent() for label in at_ticks if label in texts]
            for one, other in pairwise(boxes):
                assert not one.overlaps(other), (name, [label.get_text() for label in at_ticks])
            for box in boxes:
                assert box.x0 >= -1, name
                assert box.x1 <= width + 1, (name, [label.get_text() for label in at_ticks])
        for text in (*axes.texts, axes.title):
            if text not in texts or text.get_gid() == "job":
                continue
            box = text.get_window_extent()
            assert min(box.x0, box.y0) >= -1, (name, text.get_text())
            assert box.x1 <= width + 1, (name, text.get_text())
            assert box.y1 <= height + 1, (name, text.get_text())


def test_the_words_of_a_study_are_whole_and_apart(drawn: Drawn) -> None:
    for name, _, figure in drawn:
        _check_words(name, figure)
        if name != "cost":
            title = figure.get_suptitle() or figure.legends[0].get_title().get_text()
            assert title.endswith(("batch policy × technique", "all combinations")) or name == "comparison"


def _rows(run: Any, name: str) -> pd.DataFrame:
    needs = RUN_FIGURES[name].needs
    found: pd.DataFrame = run.power_over_time if needs == "power" else getattr(run, needs)
    return found


@pytest.mark.parametrize("name", RUN_FIGURES)
def test_the_words_of_a_run_are_whole_and_apart(run: Any, name: str) -> None:
    machine = run.ledger.machine
    for jobs in (None, [(1, 9)]):
        view = FigureView(
            np.asarray(machine.first_core), list(machine.host_names), jobs, None, "w: fcfs × gss, Υ = 0.25"
        )
        _check_words(name, RUN_FIGURES[name].draw(_rows(run, name), view))


def test_the_words_of_a_workload_are_whole_and_apart() -> None:
    sample = read_workload(sample_path())
    burst = Workload.from_jobs([(k, 600 * (k // 2), 3600 * (1 + 999 * (k == 300)), 64, 7200) for k in range(900)])
    for workload in (sample, burst):
        figure = overview_figure(describe(workload, Platform()))
        _check_words("overview", figure)


def test_the_meaning_of_white_depends_on_the_omitted_states(run: Any) -> None:
    machine = run.ledger.machine
    for jobs, gantt, heat in (
        (None, "white: idle", "mean share"),
        ([(1, 1000)], "white: idle", "mean share"),
        ([(1, 9)], "white: idle or other jobs", "without other jobs"),
    ):
        view = FigureView(np.asarray(machine.first_core), list(machine.host_names), jobs, None, "title")
        said = RUN_FIGURES["gantt"].draw(run.tasks, view).axes[0].get_title(loc="right")
        assert gantt in said
        assert ("other jobs" in said) == ("other jobs" in gantt)
        for name, rows in (("heat", run.tasks), ("held", run.jobs)):
            said = RUN_FIGURES[name].draw(rows, view).axes[0].get_title(loc="right")
            assert heat in said
            assert ("other jobs" in said) == ("other jobs" in heat)


@pytest.fixture(scope="module")
def run() -> Any:
    power = HostPower(1, [(1, 4), (0.5, 2.2)])
    return bridge.simulate(
        *(sample_path(), Platform((HostGroup(4, 64, 3000.0, power=power),))),
        select="first:40",
        als="gss",
        variation=0.25,
        tasks_per_core=4,
        seed=1,
        limits=[(3600 * 10**9, 8 * 3600 * 10**9, 700)],
        keep_decisions=True,
    )


def _area(axes: Any) -> float:
    (curve,) = [patch for patch in axes.patches if isinstance(patch, StepPatch) and not patch.get_fill()]
    data = curve.get_data()
    return float((data.values * np.diff(data.edges)).sum())


def _shares(figure: Figure) -> float:
    # Of core × time, in the unit of the axis.
    image = figure.axes[0].images[0]
    left, right, bottom, top = image.get_extent()
    share = np.asarray(image.get_array())
    return float(share.mean() * (right - left) * (bottom - top))


def _core_hours(rows: pd.DataFrame, cores: Any = 1) -> float:
    return float(((rows["end_ns"] - rows["start_ns"]) * cores).sum()) / 3600e9


def _busy(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    return _core_hours(rows, rows["held_cores"]), 256 * _area(figure.axes[0])


def _waits(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    # A step a job, the beginning, and the end of the axis.
    return len(rows), {len(axes.get_lines()[0].get_xdata()) - 2 for axes in figure.axes}.pop()


def _classes(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    texts = [text.get_text().split("\n")[1] for text in figure.axes[0].get_xticklabels()]
    return int(rows["imbalance"].notna().sum()), sum(int(text.split()[0]) for text in texts)


def _polygons(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    (collection,) = [one for one in figure.axes[0].collections if isinstance(one, PolyCollection)]
    return len(rows), len(collection.get_paths())


def _chunks(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    counts = rows.groupby("job_id")["task"].size()
    job = rows[rows["job_id"] == counts.idxmax()]
    return _polygons(job.drop_duplicates("chunk"), figure)


def _lengths(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    steps = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    return len(rows), float(steps[0].get_data().values.sum())


def _steps_kw(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    return rows["power_mw"].sum() / 1e6, float(figure.axes[0].patches[0].get_data().values.sum())


def _decisions(rows: pd.DataFrame, figure: Figure) -> tuple[float, float]:
    (line,) = figure.axes[0].get_lines()
    below_ten = rows.loc[rows["waiting"] < 10, "waiting"].unique()
    return len(below_ten), float(np.count_nonzero(line.get_xdata() < 10))


MARKS_OF_RUNS: Mapping[str, Callable[[pd.DataFrame, Figure], tuple[float, float]]] = {
    "utilisation": _busy,
    "waits": _waits,
    "imbalance": _classes,
    "held": lambda rows, figure: (_core_hours(rows, rows["held_cores"]), _shares(figure)),
    "heat": lambda rows, figure: (_core_hours(rows), _shares(figure)),
    "gantt": _polygons,
    "chunks": _chunks,
    "lengths": _lengths,
    "power": _steps_kw,
    "decisions": _decisions,
}


@pytest.mark.parametrize("name", RUN_FIGURES)
def test_a_figure_of_a_run_shows_every_row(run: Any, name: str) -> None:
    machine = run.ledger.machine
    view = FigureView(np.asarray(machine.first_core), list(machine.host_names), None, None, "title")
    rows = _rows(run, name)
    wanted, found = MARKS_OF_RUNS[name](rows, RUN_FIGURES[name].draw(rows, view))
    assert found == pytest.approx(wanted, rel=1e-9)
    assert wanted > 0
