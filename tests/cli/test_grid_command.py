"""``twolevel grid``: the cells, whoever runs them, and what is written of them."""

from __future__ import annotations

import json
import math
import os
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from command_line import everything_in, twolevel

import bridge
from als.graph_metrics import GRAPH_METRICS
from bls import Platform, Workload
from bridge.grid import GRAPH_MEANS, METRICS
from traces.errors import InputError

GRID = ("grid", "sample", "--select", "first:40", "--tasks-per-core", 4)


def test_two_workers_write_what_one_writes(here: Path) -> None:
    words = (*GRID, "--bls", "fcfs,sjf", "--als", "static,fac", "--variation", "0,0.25")
    shown = [twolevel(*words, "--workers", n, "--out", f"g{n}") for n in (1, 2)]
    assert [ran.code for ran in shown] == [0, 0], shown
    assert shown[0].out == shown[1].out
    for name in everything_in(here / "g1"):
        if (here / "g1" / name).is_file():
            assert (here / "g1" / name).read_bytes() == (here / "g2" / name).read_bytes(), name
    cells = {f"{b}-{a}-{v}" for b, a, v in product(("fcfs", "sjf"), ("static", "fac"), ("0", "0.25"))}
    assert set(os.listdir(here / "g1")) == {"cells", "grid.json", "grid.parquet", "makespan.png", "ratio.png"}
    assert set(os.listdir(here / "g1" / "cells")) == cells


def test_a_cell_is_a_run(here: Path) -> None:
    assert twolevel(*GRID, "--bls", "edf", "--als", "gss", "--variation", "0.2", "--seed", 5, "--out", "g").code == 0
    words = ("--bls", "edf", "--als", "gss", "--variation", "0.2", "--seed", 5, "--no-trace")
    assert twolevel("run", *GRID[1:], *words, "--out", "r").code == 0
    assert (here / "g/cells/edf-gss-0.2/jobs.parquet").read_bytes() == (here / "r/jobs.parquet").read_bytes()
    row = pd.read_parquet(here / "g/grid.parquet").iloc[0]
    metrics = json.loads((here / "r/run.json").read_text())["metrics"]
    assert [row[name] for name in METRICS] == [metrics[name] for name in METRICS]
    assert json.loads((here / "g/grid.json").read_text())["cells"][0]["makespan_ns"] == metrics["makespan_ns"]


#: Wide jobs are graphs, by the technique or the planner of the cell; others are loops, and no planner plans them.
GRAPHS = """
[default]
als = "static"

[[application]]
name = "wide"
match = { cores = "2-512" }
graph = "layered:tasks=24,ccr=0.5"
"""

GRAPH_GRID = (*GRID, "--bls", "fcfs", "--variation", "0.2", "--applications", "graphs.toml", "--network", "lv08")


def test_cells_with_graphs_are_runs(here: Path) -> None:
    (here / "graphs.toml").write_text(GRAPHS)
    als = ("heft", "ss", "min-min")
    shown = [twolevel(*GRAPH_GRID, "--als", ",".join(als), "--workers", n, "--out", f"g{n}") for n in (1, 2)]
    assert [ran.code for ran in shown] == [0, 0], shown
    assert (here / "g1/grid.parquet").read_bytes() == (here / "g2/grid.parquet").read_bytes()
    table = pd.read_parquet(here / "g1/grid.parquet").set_index("als")
    assert tuple(table.columns) == ("bls", "backfill", "variation", *METRICS, *GRAPH_MEANS)
    cells = json.loads((here / "g1/grid.json").read_text())["cells"]
    for name, cell in zip(als, cells, strict=True):
        words = [*GRAPH_GRID[1:], "--als", name]
        assert twolevel("run", *words, "--no-trace", "--out", name).code == 0
        of_cell = here / "g1/cells" / f"fcfs-{name}-0.2" / "jobs.parquet"
        assert of_cell.read_bytes() == (here / name / "jobs.parquet").read_bytes()
        jobs, metrics = pd.read_parquet(of_cell), json.loads((here / name / "run.json").read_text())["metrics"]
        row = table.loc[name]
        assert [row[metric] for metric in METRICS] == [metrics[metric] for metric in METRICS]
        is_graph = jobs.critical_path_ns.notna()
        assert is_graph.tolist() == (jobs.cores > 1).tolist()
        assert 0 < is_graph.sum() < len(jobs)
        for metric, _ in GRAPH_METRICS:
            assert row[f"mean_{metric}"] == cell[f"mean_{metric}"] == metrics["graphs"][metric]["mean"]
            assert row[f"mean_{metric}"] == pytest.approx(jobs[metric][is_graph].mean(), rel=1e-12)
    # The same graphs in every cell, on other cores.
    assert table.mean_critical_path_ns.nunique() == table.mean_parallelism.nunique() == 1
    assert table.mean_slr.nunique() == table.mean_transfer_bytes.nunique() == 3
    assert (table.mean_transfers > 0).all()


def test_beside_graphs_recorded_run_times_have_none(here: Path) -> None:
    (here / "graphs.toml").write_text(GRAPHS)
    assert twolevel(*GRAPH_GRID, "--als", "recorded,heft", "--out", "g").code == 0
    table = pd.read_parquet(here / "g/grid.parquet").set_index("als")
    assert table.loc["recorded", list(GRAPH_MEANS)].isna().all()
    assert table.loc["heft", list(GRAPH_MEANS)].notna().all()
    recorded, _ = json.loads((here / "g/grid.json").read_text())["cells"]
    assert [recorded[name] for name in GRAPH_MEANS] == [None] * len(GRAPH_MEANS)


def test_without_an_application_level_there_is_no_imbalance(here: Path) -> None:
    assert twolevel(*GRID, "--bls", "fcfs", "--als", "recorded,ss", "--variation", "0.1", "--out", "g").code == 0
    table = pd.read_parquet(here / "g/grid.parquet").set_index("als")
    assert math.isnan(table.mean_imbalance["recorded"])
    assert table.mean_imbalance["ss"] > 0
    assert json.loads((here / "g/grid.json").read_text())["cells"][0]["mean_imbalance"] is None


def test_variations_that_are_nearly_equal_have_cells_of_their_own(here: Path) -> None:
    words = (*GRID, "--bls", "fcfs", "--als", "ss", "--variation", "0.1,0.1000000000000002", "--workers", 1)
    assert twolevel(*words, "--out", "g").code == 0
    assert set(os.listdir(here / "g/cells")) == {"fcfs-ss-0.1", "fcfs-ss-0.1000000000000002"}


PLUG_INS = """
import multiprocessing, os, signal
from bls.policies.fcfs import Fcfs
class Then:
    name = "then"
    def keys(self, jobs):
        if multiprocessing.parent_process() is not None:  # not in the first cell, which is run by the command itself
            {what}
        return jobs.submit_ns
class Twin(Fcfs): pass
"""


def test_plug_ins_are_cells_too(here: Path) -> None:
    (here / "mine.py").write_text(PLUG_INS.format(what="pass"))
    words = (*GRID, "--bls", "fcfs,mine.py:Then", "--als", "ss", "--variation", "0")
    assert twolevel(*words, "--workers", 2, "--out", "g").code == 0
    table = pd.read_parquet(here / "g/grid.parquet").set_index("bls")
    assert table.makespan_ns["fcfs"] == table.makespan_ns["mine.py:Then"]
    assert set(os.listdir(here / "g/cells")) == {"fcfs-ss-0", "Then-ss-0"}


@pytest.mark.parametrize(
    ("what", "code", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", 1, "was killed"),
        ("return [float('nan')] * len(jobs.job_id)", 1, "batch policy then: keys() gave NaN"),
        (
            "os.kill(os.getppid(), signal.SIGINT); signal.alarm(60); signal.pause()",
            130,
            "interrupted; nothing was written",
        ),
    ],
    ids=["killed", "fault", "interrupted"],
)
def test_a_worker_that_fails_leaves_nothing(here: Path, what: str, code: int, said: str) -> None:
    (here / "mine.py").write_text(PLUG_INS.format(what=what))
    words = (*GRID, "--bls", "mine.py:Then", "--als", "ss,gss,fac", "--variation", "0")
    ran = twolevel(*words, "--workers", 2, "--out", "g")
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran
    assert said in ran.err
    assert [name for name in os.listdir(here) if name not in ("mine.py", "__pycache__")] == []


def test_two_plug_ins_of_one_name_are_refused(here: Path) -> None:
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "mine.py").write_text(PLUG_INS.format(what="pass"))
    ran = twolevel(*GRID, "--bls", "a/mine.py:Twin,b/mine.py:Twin", "--als", "ss", "--variation", "0", "--out", "g")
    assert (ran.code, "same name" in ran.err) == (2, True)


def test_a_grid_from_python_writes_nothing() -> None:
    workload = Workload.from_jobs([(1, 0, 60, 2, 60), (2, 1, 30, 1, 60), (3, 2, 5, 2, 9)])
    grid = bridge.Grid(("fcfs", "sjf"), ("ss",), (0.0, 0.1), bridge.Options(seed=9))
    seen: list[tuple[int, int]] = []
    rows = bridge.run_grid(
        workload, Platform(), grid, workers=1, watch=lambda done, now_ns: seen.append((done, now_ns))
    )
    assert [(row["bls"], row["variation"]) for row in rows] == list(product(grid.bls, grid.variation))
    assert seen == [(n, -1) for n in (1, 2, 3, 4)]
    with pytest.raises(InputError, match="empty"):
        bridge.Grid((), ("ss",), (0.0,), bridge.Options())


def test_lengths_that_take_no_variation_are_not_varied(here: Path) -> None:
    ran = twolevel("grid", "sample", "--select", "first:5", "--als", "ss", "--lengths", "exponential", "--out", "out")
    assert ran.code == 0, ran.err
    assert set(pd.read_parquet("out/grid.parquet")["variation"]) == {0.0}


def test_recorded_run_times_beside_techniques_heed_no_costs(here: Path) -> None:
    words = ("grid", "sample", "--select", "first:5", "--bls", "fcfs", "--variation", "0")
    costly = ("--overhead", 10**9, "--lengths", "gamma:cov=1", "--speeds", "square:period=10m,low=0.5")
    for out, als, given in (("alone", "recorded", ()), ("both", "recorded,ss", costly)):
        ran = twolevel(*words, "--als", als, *given, "--out", out)
        assert ran.code == 0, ran.err
    alone, both = (pd.read_parquet(f"{out}/grid.parquet").set_index("als") for out in ("alone", "both"))
    assert both.loc["recorded"].equals(alone.loc["recorded"])
    assert both.loc["ss", "makespan_ns"] > both.loc["recorded", "makespan_ns"]
