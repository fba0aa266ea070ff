"""Numbers computed from a finished run: its folder gives the same as the result in memory, and so does a study."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import succeeds, twolevel

import bridge
import twolevel as tl
from bridge.front.results import ReadRun
from bridge.runs.afterwards import Afterwards, StoredRun
from traces.base.errors import InputError

SIGNALS = "from,price_per_kwh,g_co2e_per_kwh\n0,0.25,380\n3h,0.41,450.5\n20h,-0.3,400\n"
MACHINE = """
[[hosts]]
count = 4
cores = 64
speed_gflops = 3000.0
gpus = 2
[hosts.power]
gpu_idle_w = 50
gpu_states = [[1, 400], [0.8, 250]]
idle_w = 1
base_w = 100
waiting_w = 1.5
off_w = 9
shutdown = ["60s", 100]
boot = ["2m", 130]
states = [[1, 4], [0.75, 3], [0.5, 2.2]]
"""
RUNS: dict[str, list[str]] = {
    "slowed": ["--limits", "limits.csv", "--fallback", "dvfs:slow=fewest"],
    "with GPUs": ["--requests", "gpus.csv", "--job-power", "jobs.csv", "--limits", "limits.csv", "--fallback", "dvfs"],
    "by job": ["--job-power", "jobs.csv", "--limits", "limits.csv", "--fallback", "dvfs"],
    "in tasks": ["--power", "working", "--tasks"],
    "asleep": ["--sleep-after", "5min"],
    "released": ["--power", "--coordination", "release"],
    "resized": ["--power", "--malleable", "0.5", "--resize", "expand+shrink"],
}
FAIR: dict[str, list[str]] = {
    "killed": ["--kill-at-walltime", "--backfill", "easy"],
    "failing": ["--failures", "mtbf:6h,mttr:20m", "--bls", "sjf"],
    "recorded": ["--als", "recorded", "--bls", "sjf"],
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(MACHINE)
    Path("signals.csv").write_text(SIGNALS)
    Path("limits.csv").write_text("from,to,limit_w\n2h,12h,60%\n")
    Path("jobs.csv").write_text("job_id,power,memory_bound\n1,0.8,0.6\n2,1.15,\n3,,0.25\n")
    Path("gpus.csv").write_text("job_id,gpus_per_host,gpu_milli\n1,2,\n2,1,300\n3,1,\n17,1,300\n")


def ran(more: list[str]) -> None:
    words = ["run", "sample", "--als", "gss", "--variation", "0.5", "--select", "first:60", "--platform", "small.toml"]
    succeeds(*words, "--trace", "none", *more, "--out", "r")


@pytest.mark.parametrize("name", RUNS)
def test_costs_of_a_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the result in memory; the machine's are also what the run's own metrics make of a constant price."""
    results: list[bridge.Result] = []
    monkeypatch.setattr("bridge.cli.run_commands._say_run", lambda result, same: results.append(result))
    ran(RUNS[name])
    (result,) = results
    stored, afterwards = StoredRun(Path("r")), Afterwards.given({"signals": "signals.csv", "pue": "0%:2 100%:1.3"})
    metrics, columns = afterwards.of(stored)
    assert (metrics, *columns) == (afterwards.of(result)[0], "cost", "co2e_g")
    read, costs = tl.read("r"), result.costs("signals.csv")
    assert isinstance(read, ReadRun)
    assert read.costs("signals.csv").metrics == costs.metrics
    assert read.facility("0%:2 100%:1.3") == result.facility("0%:2 100%:1.3")
    for column, values in costs.jobs.items():
        assert columns[column].tolist() == values.tolist() == read.costs("signals.csv").jobs[column].tolist()
    Path("flat.csv").write_text("from,price_per_kwh\n0,3.6\n")
    flat = Afterwards.given({"signals": "flat.csv"}).of(stored)[0]
    assert flat["cost"] == pytest.approx(result.metrics["energy_j"] / 10**6, rel=1e-14)
    assert flat["cost_jobs"] == pytest.approx(result.metrics["energy_jobs_j"] / 10**6, rel=1e-14)


def test_methods_of_subclasses() -> None:
    """A class derived from a result keeps its own methods, also in classes derived from it."""

    class OwnCosts(bridge.Result):
        def costs(self, signals: object) -> Any:
            return signals

    class Further(OwnCosts):
        pass

    for kind in (OwnCosts, Further):
        assert kind.costs is OwnCosts.costs
        assert kind.facility is bridge.Result.facility


@pytest.mark.parametrize("name", FAIR)
def test_fair_starts_of_a_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[bridge.Result] = []
    monkeypatch.setattr("bridge.cli.run_commands._say_run", lambda result, same: results.append(result))
    als = [] if "--als" in FAIR[name] else ["--als", "gss", "--variation", "0.5"]
    succeeds("run", "sample", "--select", "first:60", *als, "--trace", "none", *FAIR[name], "--out", "r")
    stored = StoredRun(Path("r"))
    assert stored.fair_start_ns.tolist() == results[0].fair_start_ns.tolist()
    assert dict(stored.fairness) == dict(results[0].fairness)
    assert results[0].fairness["unfair_share"] > 0
    said = json.loads(succeeds("metrics", "r", "--fair-start", "--jobs", "fair.csv", "--json").out)
    assert said == {**stored.metrics, **stored.fairness}
    assert pd.read_csv("fair.csv").fair_start_ns.tolist() == stored.fair_start_ns.tolist()
    record = json.loads(Path("r/run.json").read_text())
    record["arguments"]["select"] = "first:59"
    Path("r/run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="r: the run cannot be repeated: the workload has other jobs than the run"):
        _ = StoredRun(Path("r")).fair_start_ns


def test_the_commands() -> None:
    ran(["--power"])
    said = succeeds("power", "r", "--signals", "signals.csv", "--pue", "1.4", "--jobs", "jobs.parquet")
    for name in ("energy_j", "cost", "co2e_jobs_g", "facility_peak_w"):
        assert f"{name} " in said.out
    assert "cost: " in said.err
    assert [*pd.read_parquet("jobs.parquet").columns] == ["job_id", "attempt", "cost", "co2e_g"]
    assert "makespan_ns" in succeeds("metrics", "r").out
    for words, message in (
        (("power", "r", "--pue", "0.5"), "--pue: '0.5'; allowed: 1 to 100"),
        (("power", "r", "--jobs", "x.csv"), "--jobs: without --signals there are no values of single jobs"),
        (("metrics", "elsewhere"), "elsewhere"),
    ):
        wrong = twolevel(*words)
        assert (wrong.code, wrong.err.count("\n")) == (2, 1)
        assert message in wrong.err


STUDY = """
[study]
seeds = 2
metrics = ["makespan_ns", "cost", "facility_energy_j", "max_unfairness_ns"]
[workload]
source = "sample"
select = "first:40"
[run]
platform = "small.toml"
power = true
als = "gss"
variation = 0.5
[grid]
bls = ["fcfs", "sjf"]
[results]
signals = "signals.csv"
pue = "1.4"
fair-start = true
"""


def test_a_study() -> None:
    Path("study.toml").write_text(STUDY)
    succeeds("study", "study.toml", "--out", "s")
    table = pd.read_parquet("s/results.parquet")
    for _, row in table.iterrows():
        given: dict[str, Any] = {"bls": row.bls, "seed": int(row.seed), "als": "gss", "variation": 0.5, "power": True}
        result = bridge.simulate("sample", "small.toml", select="first:40", **given)
        assert row.cost == result.costs("signals.csv").metrics["cost"]
        assert row.facility_energy_j == result.facility("1.4")["facility_energy_j"]
        assert row.max_unfairness_ns == result.fairness["max_unfairness_ns"]
    assert table.max_unfairness_ns.max() > 0
    for old, new, message in (
        ('pue = "1.4"', 'pue = "0.4"', "pue: '0.4'; allowed: 1 to 100"),
        ('"signals.csv"', '"nowhere.csv"', r"\[results\] signals: no file 'nowhere.csv'"),
        ("fair-start = true", "fair-start = 1", r"\[results\] fair-start: 1; allowed: true or false"),
        ("power = true\n", "", "the power of the run is not known; add power = 'held'"),
        ('bls = ["fcfs", "sjf"]', 'bls = ["fcfs", "reject"]', "fair-start = true: batch policy reject"),
    ):
        Path("study.toml").write_text(STUDY.replace(old, new))
        wrong = twolevel("study", "study.toml", "--out", "t")
        assert wrong.code == 2
        assert re.search(message, wrong.err), wrong.err
