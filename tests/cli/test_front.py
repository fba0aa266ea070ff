"""``import twolevel as tl``, and ``twolevel table``."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel

import twolevel as tl
from als import TaskGraph
from bls.policies import POLICIES
from bridge.runs.directory import under_present_names
from traces.statistics.metric_table import metric_table

JOBS = tl.Workload.from_jobs([(1, 0, 60, 200, 60), (2, 5, 30, 100, 60), (3, 9, 5, 40, 9)])


def test_a_sweep_has_what_single_runs_have() -> None:
    rows = tl.sweep(
        JOBS, bls=["fcfs", "sjf"], als="gss", variation=[0, 0.2], tasks_per_core=[1, 4], seeds=2, progress=False
    )
    assert " ".join(rows.frame.columns[:8]) == "workload bls backfill als tasks_per_core variation seed error"
    assert len(rows) == 16
    for row in rows:
        options = {name: row[name] for name in rows.names}
        assert row["makespan_ns"] == tl.simulate(JOBS, **options).metrics["makespan_ns"]
    with pytest.raises(tl.TwolevelError, match="tasks_per_core=4"):
        rows.plot.makespan()


def test_a_sweep_takes_objects_and_names_of_workloads() -> None:
    rows = tl.sweep("sample", select="first:9", bls=[POLICIES["sjf"], "sjf"], als="recorded", workers=1, progress=False)
    assert rows[0]["makespan_ns"] == rows[1]["makespan_ns"]
    assert rows[0]["jobs"] == 9
    assert tl.sweep(JOBS, select="first:1", bls=["sjf"], als="recorded", progress=False)[0]["jobs"] == 1
    with pytest.raises(tl.TwolevelError, match="unknown option 'blz'"):
        tl.sweep(JOBS, blz=["fcfs"])
    with pytest.raises(tl.TwolevelError, match=r"^power: 'held,held' has a value twice$"):
        tl.sweep("sample", "demand-response", power=[True, "held"])
    with pytest.raises(tl.TwolevelError, match="select: several values"):
        tl.sweep("sample", select=["first:9", "first:8"])


def test_jobs_have_wait_run_time_user_and_name() -> None:
    jobs = tl.simulate("sample", select="first:9", als="recorded").jobs
    assert (jobs["wait_ns"] == jobs["start_ns"] - jobs["submit_ns"]).all()
    assert (jobs["run_ns"] == jobs["end_ns"] - jobs["start_ns"]).all()
    assert jobs["user"].str.isdecimal().all()
    assert (jobs["name"] == "").all()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid of five seeds, and two runs."""
    folder = tmp_path_factory.mktemp("front")
    few = ("sample", "--select", "first:12", "--als", "gss", "--variation", "0.25")
    succeeds("grid", *few, "--bls", "fcfs,sjf", "--seeds", 5, "--workers", 1, "--out", folder / "grid")
    for policy in ("fcfs", "sjf"):
        succeeds("run", *few, "--bls", policy, "--trace", "none", "--out", folder / policy)
    return folder


def test_results_are_read(results: Path) -> None:
    run = tl.read(results / "sjf")
    fresh = tl.simulate("sample", select="first:12", bls="sjf", als="gss", variation=0.25)
    pd.testing.assert_frame_equal(run.jobs, fresh.jobs)
    assert run.metrics["makespan_ns"] == fresh.metrics["makespan_ns"]
    assert run.story(1) == fresh.story(1)
    study = tl.read(results / "grid")
    assert (study.total, study.failed, len(study.results)) == (10, 0, 10)
    assert len(tl.read("sample")) == 320
    for read, words in (
        (lambda: tl.read(results / "sjf" / "run.json"), "is the record of a result; allowed: its folder"),
        (lambda: tl.read(3), "given a int; allowed: the folder of a result"),
        (lambda: tl.report(3), "given a int; allowed: a result of simulate, sweep, study or read"),
        (lambda: tl.report(fresh, results / "sjf"), "given with a result in memory"),
        (lambda: run.facility("1.2"), "has no power.parquet"),
    ):
        with pytest.raises(tl.TwolevelError, match=words):
            read()
    for one in (run, study, fresh, results / "grid"):
        tl.report(one).save(results / "page.html")
        assert (results / "page.html").read_text().startswith("<!doctype html>")


def test_a_table_of_a_study(results: Path) -> None:
    words = ("table", results / "grid", "--metrics", "makespan,mean_wait_ns")
    lines = twolevel(*words).out.splitlines()
    assert lines[0].startswith("| bls | makespan [")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| fcfs", "| sjf"]
    assert lines[-1] == "Means of 5 seeds, with 95 % confidence intervals."
    head, first, _ = twolevel(*words, "--format", "csv").out.splitlines()
    assert head.split(",")[:3] == ["bls", "seeds", lines[0].split(" | ")[1]]
    assert first.startswith("fcfs,5,")
    target = results / "table.tex"
    assert twolevel(*words, "--format", "latex", "-o", target).out.strip() == str(target)
    assert target.read_text() == tl.table(tl.read(results / "grid"), "makespan,mean_wait", format="latex") + "\n"
    assert twolevel(*words, "--format", "latex", "-o", target).code == 2


def test_a_table_of_runs(results: Path) -> None:
    lines = twolevel("table", results / "fcfs", results / "sjf", "--metrics", "jobs").out.splitlines()
    assert lines == ["| bls | jobs |", "| --- | ---: |", "| fcfs | 12 |", "| sjf | 12 |", "", "One run per row."]
    copy = shutil.copytree(results / "sjf", results / "copy")
    assert [
        line.split(" | ")[0] for line in twolevel("table", copy, results / "sjf", "--metrics", "jobs").out.splitlines()
    ][2:4] == [f"| {copy}", f"| {results / 'sjf'}"]
    assert "is given twice" in twolevel("table", copy, copy).err
    # Options that differ are columns, but for those that cannot change a number, and those that only one record has.
    record = json.loads((copy / "run.json").read_text())
    record["arguments"] |= {"bls": "fcfs", "trace": ["otf2"], "workers": 2, "keep_decisions": True, "observe": ["a"]}
    del record["arguments"]["slack"]
    (copy / "run.json").write_text(json.dumps(record))
    assert tl.table([copy, results / "sjf"], "jobs").splitlines()[0] == "| bls | jobs |"
    assert all(form in twolevel("table", results / "sjf", "--format", "xlsx").err for form in ("csv", "md", "latex"))
    assert "makespn" in twolevel("table", results / "sjf", "--metrics", "makespn").err


def test_the_digits_of_a_table() -> None:
    frame = pd.DataFrame(
        {
            "workload": "w",
            "als": ["a_b"] * 5 + ["c"] * 5,
            "seed": [0, 1, 2, 3, 4] * 2,
            "error": "",
            "makespan_ns": [h * 3600 * 10**9 for h in (10, 11, 12, 13, 14)] + [20 * 3600 * 10**9] * 5,
            "jobs": 12345,
        }
    )
    text = metric_table(frame, ["makespan", "jobs"], format="latex")
    assert r"als & makespan [h] & jobs \\" in text
    assert r"a\_b & 12.0 [" in text
    assert r"c & 20 & 12345 \\" in text


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    graph = TaskGraph(np.ones(2), np.array([0]), np.array([1]), np.zeros(1))
    with pytest.raises(tl.TwolevelError, match=r"twolevel\[networkx\]"):
        graph.to_networkx()


def test_inert_options_of_older_records_are_left_out() -> None:
    older = {"bls": "sjf", "pue": None, "fair_start": True, "notice_ns": 0, "reaction_ns": 5, "conservative": "keep"}
    assert under_present_names(older) == {"bls": "sjf", "reaction_ns": 5}
    assert under_present_names({"power_of": "working"}) == {"power": "working"}
    assert under_present_names({"power": True, "fallback": "none"}, typed=True) == {"power": "held", "fallback": "none"}
