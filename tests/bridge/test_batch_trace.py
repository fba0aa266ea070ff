"""The batch level in the traces of runs in which jobs are cut, tried again, withdrawn, chained or never start."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batch_features import BATCH_FEATURES
from batch_traces import check_batch, expected_spans, read_batch

import bridge
from bls import Rules
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Application
from traces.ledger import STATES


@pytest.mark.parametrize("name", ["all", "preset", "withdrawn"])
def test_the_trace_shows_the_batch_level(name: str, tmp_path: Path) -> None:
    feature = BATCH_FEATURES[name]
    rules = replace(feature.options.get("rules", Rules()), keep_decisions=True)
    if backfill := feature.options.get("backfill"):
        rules = replace(rules, backfill=backfill)
    options = {key: value for key, value in feature.options.items() if key != "backfill"}
    result = replace(feature, options=options).simulated(tmp_path, rules=rules)
    of, jobs = result.ledger, result.jobs
    path = result.write_trace(tmp_path / "trace")
    check_batch(of, path)
    # Against the tables: as many spans as attempts, and every pass.
    shown = [span for lane in read_batch(path)[0]["jobs"].values() for span in lane]
    assert sum(span[0] == "running" for span in shown) == (jobs["start_ns"] >= 0).sum()
    assert sum(span[0] == "queued" for span in shown) == (jobs["eligible_ns"] >= 0).sum()
    assert {span[3]["job"] for span in shown} == set(jobs["job_id"])
    assert of.passes is not None
    for column in ("now_ns", "waiting", "started"):
        assert getattr(of.passes, column).tolist() == result.decisions[column].tolist()
    if name == "all":
        ends = {span[3]["state"] for span in expected_spans(of)}
        assert ends >= {"completed", "killed", "requeued", "cancelled"}
        assert any(span[0] == "held" for span in shown)
    never = jobs[jobs["start_ns"] < 0]
    left = {int(job): span[2] for span in shown for job in [span[3]["job"]] if span[3]["why"] == "never"}
    cancel = dict(
        zip(result.scenario.workload.job_id.tolist(), result.scenario.workload.cancel_ns.tolist(), strict=True)
    )
    assert left == {job: cancel[job] for job in never["job_id"].tolist()}
    assert set(never["state"]) <= {STATES[STATES.index("cancelled")]}


def test_the_trace_says_why_attempts_were_cut_whose_cores_were_lost(tmp_path: Path) -> None:
    two = Workload.from_jobs([(2, 0, 4, 2, 4), (1, 0, 8, 2, 8)])
    speeds = ("lost:cores=2,at=3s", "lost:cores=3,at=5s")
    level = Application(speeds=speeds)
    result = bridge.simulate(two, Platform((HostGroup(1, 4, 1.0),)), als="ss", application=level, rules=Rules("easy"))
    path = result.write_trace(tmp_path / "trace")
    check_batch(result.ledger, path)
    shown = [span for lane in read_batch(path)[0]["jobs"].values() for span in lane]
    said = [(name, of["job"], of["attempt"], of["cut because"]) for name, *_, of in shown if "cut because" in of]
    assert said == [("running", 1, 0, "all its cores were lost, core 3 last")]
    because = result.jobs.set_index(["job_id", "attempt"])["cut_because"]
    assert because[because != ""].to_dict() == {(1, 0): said[0][3]}


def _shown(name: str, folder: Path) -> tuple[bridge.Result, dict[str, list[Any]]]:
    result = BATCH_FEATURES[name].simulated(folder)
    return result, read_batch(result.write_trace(folder / "trace"))[0]["batch scheduler"]


def test_the_trace_shows_which_jobs_receive_hints(tmp_path: Path) -> None:
    result, shown = _shown("hints by host, failures, kills", tmp_path)
    stated = result.hints.sort_values(["command_ns", "row"], kind="stable")
    names = {"running job": "job_id", "waiting job": "waiting_job_id", "lack": "lack", "wanted": "wanted"}
    rows = [{name: row[column] for name, column in names.items()} for row in stated.to_dict("records")]
    assert shown["hints"] == [
        ("hint", at, at, row) for at, row in zip(stated["command_ns"].tolist(), rows, strict=True)
    ]
    assert len(rows) > 10
    assert (stated["wanted"] > 0).any()


def test_the_trace_shows_changes_of_width(tmp_path: Path) -> None:
    result, shown = _shown("evolving, failures, kills", tmp_path)
    stated = result.widths.assign(
        given=lambda rows: rows["change"] > 0,
        asked=lambda rows: rows["change"] < 0,
        wished=lambda rows: rows["core"].where(rows["change"] == 0, 0),
    )
    sums = stated.groupby(["command_ns", "row"], as_index=False)[["given", "asked", "wished"]].sum()
    number = result.jobs["job_id"].to_numpy()
    assert shown["widths"] == [
        ("width", at, at, {"running job": int(number[row]), "given": given, "asked": asked, "wished": wished})
        for at, row, given, asked, wished in sums.itertuples(index=False, name=None)
    ]
    assert sums[["wished", "given", "asked"]].any().all()


@pytest.mark.parametrize("name", ["releases by host, failures, kills", "hints by host, failures, kills"])
def test_the_trace_shows_releases(name: str, tmp_path: Path) -> None:
    """Next to the commands to jobs, their places."""
    result, shown = _shown(name, tmp_path)
    sums = result.releases.groupby(["released_ns", "row"]).size()
    number = result.jobs["job_id"].to_numpy()
    assert shown["releases"] == [
        ("release", at, at, {"releasing job": int(number[row]), "released": count}) for (at, row), count in sums.items()
    ]
    assert len(sums) > 10
    assert shown.keys() & {"hints", "widths", "scales", "releases"} == {"releases", *({"hints"} & {*name.split()})}
