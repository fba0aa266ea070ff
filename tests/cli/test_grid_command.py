"""``twolevel grid``: the cells, whoever runs them, and what is written of them."""

import json
import os
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from command_line import everything_in, succeeds, twolevel
from tables import table_rows, table_text

import bridge
from als.metrics import GRAPH_METRICS
from bls import Platform, Workload

#: Some metrics, of both levels.
METRICS = ("makespan_ns", "mean_wait_ns", "max_bounded_slowdown", "utilisation", "tasks", "chunks", "mean_imbalance")

GRID = ("grid", "sample", "--select", "first:40", "--tasks-per-core", 4)


def test_two_workers_write_what_one_writes(here: Path) -> None:
    words = (*GRID, "--bls", "fcfs,sjf", "--als", "static,fac", "--variation", "0,0.25")
    shown = [twolevel(*words, "--workers", n, "--out", f"g{n}") for n in (1, 2)]
    assert [ran.code for ran in shown] == [0, 0], shown
    assert shown[0].out == shown[1].out
    timed = ("costs.parquet", "journal.jsonl", "run.json", "study.json", "cost.png", "cost.svg")
    for name in everything_in(here / "g1"):
        if (here / "g1" / name).is_file() and Path(name).name not in timed:
            assert (here / "g1" / name).read_bytes() == (here / "g2" / name).read_bytes(), name
    cells = {f"{b}-{a}-{v}" for b, a, v in product(("fcfs", "sjf"), ("static", "fac"), ("0", "0.25"))}
    written = {"cells", "costs.parquet", "figures", "journal.jsonl", "results.parquet", "study.json"}
    assert set(os.listdir(here / "g1")) == written
    assert set(os.listdir(here / "g1" / "cells")) == cells
    drawn = (
        *("makespan", "wait", "slowdown", "slowdown-boxes", "computing-utilisation", "utilisation"),
        *("variation", "imbalance"),
    )
    figures = {f"{name}.{form}" for name in drawn for form in ("png", "svg")}
    assert set(os.listdir(here / "g1" / "figures")) == figures | {"captions.txt"}
    assert "1 seed: too few for an interval" in shown[0].err
    assert "×  " not in shown[0].out.partition("\n")[2].replace(" × ", "")  # no ratio without its interval


def test_which_policy_is_best(here: Path) -> None:
    words = ("grid", "sample", "--bls", "fcfs,sjf", "--als", "recorded", "--workers", 1, "--out", "g")
    ran = succeeds(*words)
    head, fcfs, sjf, *more = ran.out.splitlines()
    assert re.split(r"  +", head) == [
        *("batch × application", "makespan [h]", "mean wait [h]", "p95 wait [h]", "max wait [h]"),
        *("mean bounded slowdown", "utilisation [fraction]"),
    ]
    assert more == ["", "* best value in the column"]
    assert (fcfs.count(" *"), sjf.count(" *")) == (2, 4)  # the longest waits are shortest with fcfs
    table = pd.read_parquet(here / "g/results.parquet").set_index("bls")
    assert len(table) == 2
    assert f"{table.mean_wait_ns['sjf'] / 3600e9:.3f} *" in sjf
    assert f"{table.utilisation['fcfs']:.4f}" in fcfs
    # Neither a variation nor a seed changes anything.
    assert "Υ" not in ran.out
    assert "seed" not in ran.out + ran.err
    names = ("makespan", "wait", "slowdown", "slowdown-boxes", "utilisation")
    drawn = {f"{name}.{form}" for name in names for form in ("png", "svg")}
    assert set(os.listdir(here / "g/figures")) == drawn | {"captions.txt"}


def test_a_seed_matters_where_hosts_fail(here: Path) -> None:
    ran = twolevel(
        *GRID[:4], "--als", "recorded", "--bls", "fcfs", "--failures", "mtbf:1d,mttr:1h", "--workers", 1, "--out", "g"
    )
    assert ran.out.startswith("1 seed: too few for an interval")
    assert "1 cell (1 × seed 0)" in ran.err


def test_the_best_is_marked_at_every_variation(here: Path) -> None:
    words = (*GRID, "--bls", "fcfs,sjf", "--als", "static,fac", "--variation", "0,0.25", "--workers", 1, "--out", "g")
    parts = twolevel(*words).out.split("\n\n")
    assert [part.partition(",")[0] for part in parts[:-1]] == [
        *("makespan [h]", "mean wait [min]", "mean bounded slowdown", "computing utilisation [fraction]"),
        "utilisation [fraction]",
    ]
    assert parts[-1].startswith("* best value in the column (absolute, not the ratio)")
    # Cores that wait for the last task of their job are held: of techniques, the worst has the highest utilisation.
    assert "*" not in parts[-2]
    table = pd.read_parquet(here / "g/results.parquet").set_index(["variation", "bls", "als"])
    assert (table["computing_utilisation"] <= table["utilisation"]).all()
    named = ("makespan_ns", "mean_wait_ns", "mean_bounded_slowdown", "computing_utilisation")
    for part, name in zip(parts, named, strict=False):
        for at, variation in enumerate((0, 0.25)):
            column = table[name][variation]
            best = column[column == (column.max() if name == "computing_utilisation" else column.min())]
            marked = [
                line.split("  ")[0]
                for line in part.splitlines()[2:]
                if re.findall(r"[\d.]+( \*)?(?= |$)", line[15:])[at]
            ]
            assert marked == [f"{b} × {a}" for b, a in best.index] or len(best) == len(column), part


def test_a_log_without_time_limits_is_said_where_somebody_goes_by_them(here: Path) -> None:
    (here / "w.swf").write_text("; MaxProcs: 256\n1 0 0 60 4 -1 -1 4 -1 -1 1 1 1 -1 1 1 -1 -1\n")
    run = ("run", "w.swf", "--als", "recorded", "--trace", "none", "--force", "--out", "o")
    said = "the log has no time limits: {} the true run times, which no scheduler knows; no built-in estimator can"
    for words, who in (
        (("--bls", "sjf"), "sjf plans with"),
        (("--backfill", "easy"), "backfilling easy plans with"),
        (("--bls", "expr:w/t", "--backfill", "2"), "expr:w/t and backfilling 2 plan with"),
        (("--bls", "wfp3"), "wfp3 plans with"),
        (("--bls", "edf"), "edf plans with"),
    ):
        assert said.format(who) in twolevel(*run, *words).err, words
    for words in (("--bls", "fcfs"), ("--bls", "expr:w"), ("--bls", "sjf", "--estimates", "last-two")):
        assert "time limits" not in twolevel(*run, *words).err
    assert "time limits" not in twolevel("run", "sample", *run[2:], "--backfill", "easy").err
    grid = "grid w.swf --bls fcfs,sjf --backfill none,easy --als recorded --workers 1 --out g"
    assert said.format("backfilling easy and sjf plan with") in twolevel(*grid.split()).err


def test_one_policy_that_reads_deadlines_is_enough_for_a_slack(here: Path) -> None:
    words = ("--als", "recorded", "--slack", "1.5")
    succeeds(*GRID[:4], "--bls", "fcfs,edf", *words, "--workers", 1, "--out", "g")
    assert len(pd.read_parquet(here / "g/results.parquet")) == 2


#: Wide jobs are graphs, by the technique or the planner of the cell; others are loops, and no planner plans them.
GRAPHS = table_text(__file__, "graphs")

GRAPH_GRID = (*GRID, "--bls", "fcfs", "--variation", "0.2", "--applications", "graphs.toml", "--network", "lv08")


def test_cells_with_graphs_are_runs(here: Path) -> None:
    (here / "graphs.toml").write_text(GRAPHS)
    als = ("heft", "ss")
    succeeds(*GRAPH_GRID, "--als", ",".join((*als, "recorded")), "--workers", 1, "--out", "g")
    table = pd.read_parquet(here / "g/results.parquet").set_index("als")
    recorded = table.loc["recorded"]
    assert recorded[[*(f"mean_{name}" for name, _ in GRAPH_METRICS), "mean_imbalance"]].isna().all()
    table = table.loc[list(als)]
    for name in als:
        words = [*GRAPH_GRID[1:], "--als", name]
        succeeds("run", *words, "--trace", "none", "--out", name)
        of_cell = here / "g/cells" / f"fcfs-{name}-0.2" / "seed-0" / "jobs.parquet"
        assert of_cell.read_bytes() == (here / name / "jobs.parquet").read_bytes()
        jobs, metrics = pd.read_parquet(of_cell), json.loads((here / name / "run.json").read_text())["metrics"]
        row = table.loc[name]
        assert [row[metric] for metric in METRICS] == [metrics[metric] for metric in METRICS]
        is_graph = jobs.critical_path_ns.notna()
        assert is_graph.tolist() == (jobs.cores > 1).tolist()
        assert 0 < is_graph.sum() < len(jobs)
        for metric, _ in GRAPH_METRICS:
            assert row[f"mean_{metric}"] == metrics["graphs"][metric]["mean"]
            assert row[f"mean_{metric}"] == pytest.approx(jobs[metric][is_graph].mean(), rel=1e-12)
    # The same graphs in every cell, on other cores.
    assert table.mean_critical_path_ns.nunique() == table.mean_parallelism.nunique() == 1
    assert table.mean_slr.nunique() == table.mean_transfer_bytes.nunique() == 2
    assert (table.mean_transfers > 0).all()


PLUG_INS = table_text(__file__, "plug_ins")


def test_a_grid_whose_worker_is_killed_loses_nothing_else(here: Path) -> None:
    (here / "mine.py").write_text(PLUG_INS.format(what="os.kill(os.getpid(), signal.SIGKILL)"))
    ran = twolevel(*GRID, "--bls", "mine.py:Then,sjf", "--als", "ss", "--variation", "0", "--workers", 2, "--out", "g")
    assert (ran.code, "was killed by SIGKILL, twice" in ran.err) == (1, True), ran
    assert (pd.read_parquet(here / "g/results.parquet")["error"] == "").sum() == 1


def test_a_grid_whose_worker_interrupts_it(here: Path) -> None:
    what = "os.kill(os.getppid(), signal.SIGINT); signal.alarm(60); signal.pause()"
    (here / "mine.py").write_text(PLUG_INS.format(what=what))
    ran = twolevel(*GRID, "--bls", "mine.py:Then,sjf", "--als", "ss", "--variation", "0", "--workers", 2, "--out", "g")
    assert ran.code == 130, ran
    assert "interrupted; finished cells are kept in g" in ran.err
    assert "nothing was written" not in ran.err
    assert not list(here.rglob("*.partial-*"))


def test_two_plug_ins_of_one_name_are_refused(here: Path) -> None:
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "mine.py").write_text(PLUG_INS.format(what="pass"))
    ran = twolevel(*GRID, "--bls", "a/mine.py:Twin,b/mine.py:Twin", "--als", "ss", "--variation", "0", "--out", "g")
    assert (ran.code, "same name" in ran.err) == (2, True)


def test_a_grid_from_python_writes_nothing(here: Path) -> None:
    workload = Workload.from_jobs([(1, 0, 60, 2, 60), (2, 1, 30, 1, 60), (3, 2, 5, 2, 9)])
    grid = bridge.Grid(("fcfs", "sjf"), ("ss",), (0.0, 0.1), bridge.Scenario(), seeds=(9, 4))
    seen: list[tuple[int, int]] = []
    rows = bridge.run_grid(
        workload, Platform(), grid, workers=2, watch=lambda done, now_ns: seen.append((done, now_ns))
    )
    assert [(row["bls"], row["variation"], row["seed"]) for row in rows] == list(
        product(grid.bls, grid.variation, grid.seeds)
    )
    assert seen == [(n, -1) for n in range(1, 9)]
    for row in rows:
        options = {name: row[name] for name in ("bls", "als", "variation", "seed")}
        assert row["makespan_ns"] == bridge.simulate(workload, **options).metrics["makespan_ns"]
    assert os.listdir(here) == []


def test_a_grid_from_python_of_objects() -> None:
    from als import PythonTechnique
    from bls.policies import POLICIES

    class Single:
        def chunk(self, ask: object) -> int:
            return 1

    workload = Workload.from_jobs([(1, 0, 60, 2, 60), (2, 1, 30, 1, 60)])
    grid = bridge.Grid((POLICIES["sjf"],), ("ss", PythonTechnique(Single)), (0.1,), bridge.Scenario())  # type: ignore[arg-type]
    rows = bridge.run_grid(workload, Platform(), grid, workers=2)
    named, objects = rows
    assert named["makespan_ns"] == objects["makespan_ns"]
    assert rows.frame["bls"].tolist() == ["sjf", "sjf"]
    assert rows.frame["als"].tolist() == ["ss", objects["als"].name]


def test_python_warns_of_the_default_machine_where_the_log_names_another_one() -> None:
    jobs = replace(
        Workload.from_jobs([(1, 0, 60, 2, 60)]), header=("; MaxProcs: 100", "; MaxNodes: 10"), source="log.swf"
    )
    grid = bridge.Grid(("fcfs",), ("ss",), (0.0,), bridge.Scenario())
    said = '256 cores, the two-level paper\'s machine; log.swf names 100: platform="log" takes them'
    with pytest.warns(UserWarning, match=re.escape(said)):
        on_256 = bridge.run_grid(jobs, Platform(), grid, workers=1)
    with pytest.warns(UserWarning, match=re.escape(said)):
        bridge.simulate(jobs)
    assert bridge.run_grid(jobs, "paper", grid, workers=1) == on_256
    (row,) = bridge.run_grid(jobs, "log", grid, workers=1)
    assert row["utilisation"] == pytest.approx(2.56 * on_256[0]["utilisation"])


def _weeks(path: Path, n: int = 100, source: str = "") -> None:
    # A job every 2 s, with a wait, so that a window starts with jobs.
    rows = [f"{k} {2 * k} {k % 3} {1 + 14 * k % 11} 1 -1 -1 1 20 -1 1 1 1 -1 1 1 -1 -1" for k in range(1, n)]
    path.write_text("; MaxProcs: 4\n" + source + "\n".join(rows) + "\n")


REPLICATED = ("grid", "w.swf", "--als=recorded", "--bls=fcfs,sjf", "--workers=1", "--replicate=40s", "--warmup=10s")


def test_windows_of_a_log_are_replications(here: Path) -> None:
    _weeks(here / "w.swf", 140)
    ran = succeeds(*REPLICATED, "--out", "g")
    said = "replications: 6 windows of 40 s, each after a warm-up of 10 s; 6 start with the jobs that the log records"
    assert f"workload w.swf: {said}; metrics count the 120 jobs submitted within a window\n" in ran.err
    assert set(re.findall(r"^workload ([^:]*):", ran.err, re.MULTILINE)) == {"w.swf"}
    assert "12 cells (2 × windows 0 1 2 3 4 5)" in ran.err
    assert ran.out.startswith("means of 6 windows; 95 % intervals\n")
    table = pd.read_parquet(here / "g/results.parquet")
    assert table["window_begin_ns"].tolist() == [(12 + 40 * k) * 10**9 for k in range(6)] * 2
    assert table["jobs"].tolist() == [20] * 12
    assert list(table.columns).index("window_begin_ns") == list(table.columns).index("seed") + 1
    compared = pd.read_parquet(here / "g/comparisons.parquet")
    assert set(compared["seeds"]) == {6}
    assert "window_begin_ns" not in compared.columns
    assert json.loads((here / "g/study.json").read_text())["windows"] == {
        "w": [(12 + 40 * k) * 10**9 for k in range(6)]
    }
    assert twolevel("repeat", "g", "--workers", 1).out.startswith("identical: 12 rows")
    assert "12 of them finished before" in twolevel(*REPLICATED, "--out", "g").err
    # One window alone is a run of the jobs that its table has.
    assert len(pd.read_parquet(here / "g/cells/fcfs-recorded-0/seed-2/jobs.parquet")) > 20
    few = twolevel(*REPLICATED, "--seeds", "1 3", "--no-preset", "--out", "few")
    assert "2 windows: too few for an interval" in few.err
    assert "2 with an empty machine: no-preset" in few.err


@pytest.mark.parametrize(("words", "said"), table_rows(__file__, "replications"))
def test_replications_that_cannot_be(here: Path, words: str, said: str) -> None:
    _weeks(here / "w.swf")
    ran = twolevel("grid", "w.swf", "--als", "recorded", "--bls", "fcfs", *words.split(), "--out", "g")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"twolevel: {said}" in ran.err
    assert not (here / "g").exists()


def test_logs_of_different_lengths_need_a_number_of_windows(here: Path) -> None:
    _weeks(here / "a.swf", 100)
    _weeks(here / "b.swf", 140)
    text = '[study]\nreplicate = "40s"\n{}[[workload]]\nfile = "a.swf"\n[[workload]]\nfile = "b.swf"\n[run]\nals = "recorded"\n'
    (here / "s.toml").write_text(text.format(""))
    ran = twolevel("study", "s.toml", "--out", "s")
    assert ran.code == 2
    assert "[study] replicate: a has 4 windows and b has 6 windows; choose their number with seeds" in ran.err
    (here / "s.toml").write_text(text.format("seeds = 5\n"))
    assert "[study] seeds: there is no window 4: a has 4 windows and" in twolevel("study", "s.toml", "--out", "s").err
    (here / "s.toml").write_text(text.format("") + 'select = "first:9"\n')
    assert "[study] replicate: not with select, as every" in twolevel("study", "s.toml", "--out", "s").err
    (here / "s.toml").write_text(text.format("seeds = 3\n"))
    succeeds("study", "s.toml", "--workers", 1, "--out", "s")
    assert pd.read_parquet(here / "s/results.parquet")["seed"].tolist() == [0, 1, 2] * 2


def test_shaken_submits_differ_by_seed(here: Path) -> None:
    _weeks(here / "w.swf")
    words = ("grid", "w.swf", "--als", "recorded", "--bls", "fcfs,sjf", "--workers", 1, "--seeds", 3)
    assert (ran := twolevel(*words, "--shake", "30s", "--out", "g")).code == 0, ran.err
    table = pd.read_parquet(here / "g/results.parquet")
    assert table.groupby("bls")["mean_wait_ns"].nunique().tolist() == [3, 3]
    succeeds(*words, "--out", "h")
    other = pd.read_parquet(here / "h/results.parquet")
    assert table["mean_wait_ns"].iloc[[0, 3]].tolist() == other["mean_wait_ns"].tolist()


def test_seeds_that_change_nothing_are_run_once(here: Path) -> None:
    words = ("--als", "static,4,fac", "--variation", "0", "--seeds", 10, "--workers", 1, "--out", "g")
    ran = succeeds(*GRID[:4], "--bls", "fcfs", *words)
    once = "nothing is random, so each cell runs once, with seed 0\n"
    assert ran.err.count(once) == 1
    assert set(pd.read_parquet(here / "g/results.parquet")["seed"]) == {0}
    assert "too few" not in ran.err + ran.out
    compared = pd.read_parquet(here / "g/comparisons.parquet")
    assert (compared["difference"] == compared["mean_value"] - compared["mean_base"]).all()
    assert compared["difference_low"].isna().all()
    succeeds("report", "g", "-o", "g.html")
    page = (here / "g.html").read_text()
    assert "differences are exact" in page
    assert "Paired over seeds" not in page
    assert not re.search(r"\d \[", ran.out), "no interval"
    assert twolevel("repeat", "g", "--workers", 1).out.startswith("identical")


def test_a_grid_of_which_every_run_fails_says_why_and_has_a_page(here: Path) -> None:
    (here / "no.py").write_text(
        "class No:\n    name = 'no'\n\n    def decide(self, view):\n        raise ValueError('never')\n"
    )
    ran = twolevel(*GRID[:4], "--bls", "no.py:No", "--seeds", 1, "--out", "g")
    assert (ran.code != 0, "ValueError: never" in ran.err) == (True, True)
    succeeds("report", "g", "-o", "g.html")
    assert "All runs failed." in (here / "g.html").read_text()
