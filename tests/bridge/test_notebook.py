"""The Python API in a notebook: figures of a result, times as Timedelta, objects that show themselves."""

from inspect import signature
from typing import Any

import pandas as pd
import pytest
from tables import table_text

import als
import bls
import bridge
import traces
from bridge.runs.figures import RUN_FIGURES, Plots
from bridge.studies.drawing import OF_RESULTS, STUDY_FIGURES, FigureData, StudyPlots
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import parse_study
from traces.base.errors import InputError

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def result() -> bridge.Result:
    machine = {"platform": "demand-response", "power": True}
    return bridge.simulate("sample", als="gss", variation=0.25, select="first:20", keep_decisions=True, **machine)


def test_every_figure_of_a_run_is_a_method() -> None:
    methods = {name: signature(getattr(Plots, name)).parameters for name in dir(Plots) if not name.startswith("_")}
    assert set(methods) == set(RUN_FIGURES)
    for parameters in methods.values():
        assert list(parameters)[-2:] == ["title", "ax"]


def test_jobs_and_cores_are_chosen(result: bridge.Result) -> None:
    number = int(result.jobs.job_id[3])
    one, every = result.plot.gantt(jobs=str(number), cores="0-255"), result.plot.gantt()
    assert one._repr_png_() != every._repr_png_()
    assert "what was run" in said(result.plot.gantt(title="what was run"))
    with pytest.raises(InputError, match=r"^jobs: '999999': there is no such job"):
        result.plot.gantt(jobs="999999")
    with pytest.raises(InputError, match=r"^jobs: "):
        result.plot.waits(jobs="x")
    with pytest.raises(InputError):
        bridge.simulate("sample", select="first:5", keep_tasks=False).plot.gantt()
    with pytest.raises(AttributeError, match=r"^unknown figure 'gant'; known: gantt, "):
        result.plot.gant()


def test_times_as_timedelta(result: bridge.Result) -> None:
    times = traces.timedeltas(result.jobs)
    assert list(times) == [name.removesuffix("_ns") for name in result.jobs]
    assert (times.start.dt.total_seconds() * 1e9 == result.jobs.start_ns).all()
    assert {str(times[name].dtype) for name in ("submit", "start", "end", "estimate")} == {"timedelta64[ns]"}
    metrics = traces.timedeltas(result.metrics)
    assert metrics["makespan"] == pd.Timedelta(result.metrics["makespan_ns"], unit="ns")
    assert metrics["utilisation"] == result.metrics["utilisation"]
    assert not [name for name in metrics if name.endswith("_ns")]
    frame = pd.DataFrame({"fair_start_ns": [-1, 5], "n": [-1, 5]})
    assert traces.timedeltas(frame).fair_start.isna().tolist() == [True, False]
    assert traces.timedeltas(frame).n.tolist() == [-1, 5]
    with pytest.raises(InputError, match=r"^timedeltas: 3; allowed: a table, or metrics"):
        traces.timedeltas(3)


def test_objects_show_themselves(result: bridge.Result) -> None:
    for shown, words in (
        (result, "fcfs × gss"),
        (result.scenario.workload, "20"),
        (bls.read_workload("sample"), "320"),
        (bls.Platform(), "256 on 4 hosts"),
    ):
        table: str = shown._repr_html_()  # type: ignore[attr-defined]
        assert table.startswith("<table>")
        assert words in table


def test_every_figure_of_a_study_is_a_method() -> None:
    methods = {name: signature(getattr(StudyPlots, name)).parameters for name in dir(StudyPlots) if name[0] != "_"}
    assert set(methods) == {name.replace("-", "_") for name in STUDY_FIGURES}
    assert {tuple(parameters) for parameters in methods.values()} == {("self", "part", "title", "ax")}


STUDY = table_text(__file__, "study")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> bridge.Report:
    folder = tmp_path_factory.mktemp("study")
    return bridge.run_study(parse_study(STUDY, [folder], "two"), folder / "out", lambda needs: Here())


def said(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]


def test_the_part_of_a_study_is_chosen(report: bridge.Report) -> None:
    part = "select=first:16"
    message = (
        r"^makespan: there is one figure for each of 2 parts; allowed: part= one of select=first:8, select=first:16$"
    )
    with pytest.raises(InputError, match=message):
        report.plot.makespan()
    with pytest.raises(InputError, match=r"^part=: unknown part 'fw'; known: select=first:"):
        report.plot.makespan(part="fw")
    assert "what was run" in said(report.plot.makespan(part=part, title="what was run"))
    assert any("select first:16: batch policy × technique" in text for text in said(report.plot.makespan(part=part)))
    assert len(report.results) == report.total == 8
    with pytest.raises(InputError, match="was not made by run_study"):
        _ = bridge.Report(1, 1, 0, ()).results


def test_a_report_shows_itself_and_parts_of_one_name(report: bridge.Report) -> None:
    with pytest.raises(InputError, match=r"each of 2 parts; allowed: part= one of same, same-2$"):
        StudyPlots(lambda name: [FigureData("same", "", report.results)] * 2).makespan()
    table = report._repr_html_()
    assert table.startswith("<table>")
    assert ">8<" in table
    assert str(report.folder) in table
    failed = bridge.Report(2, 1, 1, ("cell 0 (a), seed 0: <bad>",))._repr_html_()
    assert "&lt;bad&gt;" in failed


def test_rows_of_a_grid_show_and_draw_themselves() -> None:
    jobs = bls.select(bls.read_workload("sample"), "first:8")
    grid = bridge.Grid(("fcfs", "sjf"), ("static", "gss"), (0.0, 0.25), bridge.Scenario(), seeds=(0, 1, 2, 3, 4))
    rows = bridge.run_grid(jobs, bls.Platform(), grid, workers=1)
    assert isinstance(rows, list)
    assert rows.frame.to_dict("records")[3]["makespan_ns"] == rows[3]["makespan_ns"]
    assert "<table" in rows._repr_html_()
    for name in OF_RESULTS:
        assert getattr(rows.plot, name.replace("-", "_"))().axes
    assert rows.plot.makespan()._repr_png_().startswith(b"\x89PNG")
    assert any("batch policy × technique" in text for text in said(rows.plot.makespan()))
    with pytest.raises(InputError, match=r"^cost: the results lack the data for it$"):
        rows.plot.cost()


@pytest.mark.parametrize("package", [bls, als, bridge, traces])
def test_completion_shows_what_has_a_docstring(package: Any) -> None:
    for public in (getattr(package, name) for name in dir(package)):
        if isinstance(public, type):
            for name in (one for one in vars(public) if not one.startswith("_")):
                value = vars(public)[name]
                if callable(value) or isinstance(value, property):
                    assert value.__doc__, f"{public.__name__}.{name}"
