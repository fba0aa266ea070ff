"""The Python API in a notebook: figures of a result, times as Timedelta, objects that show themselves."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pandas as pd
import pytest

import bls
import bridge
import traces
from bridge.runs.figures import RUN_FIGURES
from bridge.runs.plots import Plots
from traces.base.errors import InputError


@pytest.fixture(scope="module")
def result() -> bridge.Result:
    return bridge.simulate("sample", als="gss", variation=0.25, select="first:20")


def test_every_figure_of_a_run_is_a_method() -> None:
    methods = {name: signature(getattr(Plots, name)).parameters for name in dir(Plots) if not name.startswith("_")}
    assert set(methods) == set(RUN_FIGURES)
    for parameters in methods.values():
        assert list(parameters)[-1] == "title"


@pytest.mark.parametrize("name", RUN_FIGURES)
def test_a_figure_shows_itself(result: bridge.Result, name: str, tmp_path: Any) -> None:
    figure = getattr(result.plot, name)(title="what was run")
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "figure.svg")
    assert "what was run" in [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]


def test_jobs_and_cores_are_chosen(result: bridge.Result) -> None:
    number = int(result.jobs.job_id[3])
    one, every = result.plot.gantt(jobs=str(number), cores="0-255"), result.plot.gantt()
    assert one._repr_png_() != every._repr_png_()
    with pytest.raises(InputError, match=r"^jobs='999999': there is no such job"):
        result.plot.gantt(jobs="999999")
    with pytest.raises(InputError, match=r"^jobs=: "):
        result.plot.waits(jobs="x")
    with pytest.raises(InputError):
        bridge.simulate("sample", select="first:5", keep_tasks=False).plot.gantt()


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
