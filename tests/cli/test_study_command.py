"""``twolevel study``, ``repeat`` and ``figures``: what they print, write, draw and refuse."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from command_line import Ran, succeeds, twolevel
from tables import table_rows, table_text

from bridge.studies.drawing import MEASURES, STUDY_FIGURES
from traces.statistics import paired

STUDY = table_text(__file__, "study")


def study(text: str, *words: object) -> Ran:
    Path("study.toml").write_text(text, encoding="utf-8")
    return twolevel("study", "study.toml", "--workers", 1, "--out", "out", *words)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A study of two workloads, with an option that no figure has a place for; and what the command said."""
    folder = tmp_path_factory.mktemp("both")
    before = Path.cwd()
    os.chdir(folder)
    try:
        ran = study(STUDY, "--no-figures")
    finally:
        os.chdir(before)
    assert ran.code == 0, ran.err
    return folder / "out", ran


def test_what_it_prints(both: tuple[Path, Ran]) -> None:
    folder, ran = both
    table = pd.read_parquet(folder / "results.parquet")
    heads = [line for line in ran.out.splitlines() if ": makespan [" in line]
    parts = [f"{name}, allocator {allocator}" for name in "ab" for allocator in ("first-fit", "random")]
    assert [head.partition(": ")[0] for head in heads] == parts
    rows = table[(table["workload"] == "b") & (table["allocator"] == "random") & (table["als"] == "ss")]
    by = {value: group.sort_values("seed")["makespan_ns"].to_numpy() for value, group in rows.groupby("variation")}
    ratio = paired(by[0.0], by[0.3])
    block = ran.out.partition("b, allocator random")[2]
    line = next(line for line in block.splitlines() if line.startswith("fcfs × ss"))
    shown = [float(text.strip("[],×")) for text in line.replace("*", "").split()[3:]]
    assert shown[-3:] == pytest.approx([ratio.ratio, ratio.ratio_low, ratio.ratio_high], rel=0.01)
    assert "80 cells (16 × seeds 0 1 2 3 4)" in ran.err
    assert ran.err.count("jobs selected for 256 cores") == 2
    assert "mean imbalance" in ran.out  # what the file wants compared


def test_what_it_writes_and_draws(both: tuple[Path, Ran], here: Path) -> None:
    folder = here / "out"
    shutil.copytree(both[0], folder)
    ran = study(STUDY)
    assert (ran.code, "80 of them finished before" in ran.err) == (0, True), ran.err
    written = {"results.parquet", "comparisons.parquet", "costs.parquet", "study.json", "journal.jsonl", "figures"}
    assert set(os.listdir(folder)) == written
    drawn = {Path(name).stem for name in os.listdir(folder / "figures")}
    parts = [f"{name}-allocator={allocator}" for name in "ab" for allocator in ("first-fit", "random")]
    expected = {f"{figure}-{part}" for figure in (*MEASURES, "variation", "ratio", "imbalance") for part in parts}
    assert drawn == expected | {"comparison-als-a", "comparison-als-b", "captions"}
    assert {Path(name).suffix for name in os.listdir(folder / "figures")} == {".svg", ".png", ".txt"}
    captions = dict(text.split(": ", 1) for text in (folder / "figures/captions.txt").read_text().split("\n\n"))
    assert captions.keys() == drawn - {"captions"}
    assert "95 % confidence intervals" in captions["ratio-a-allocator=random"]
    assert "n = 5 seeds per combination." in captions["ratio-a-allocator=random"]
    record = json.loads((folder / "study.json").read_text())
    assert (record["name"], record["cells"], record["seeds"]) == ("both", 16, [0, 1, 2, 3, 4])
    assert record["varied"] == ["als", "variation", "select", "allocator"]
    assert len(record["inputs"]["sample"]["sha256"]) == 64
    ran = succeeds("figures", "out", "--only", "ratio", "--only", "comparison", "--format", "svg", "--out", "drawn")
    named = [*(f"ratio-{part}.svg" for part in parts), "comparison-als-a.svg", "comparison-als-b.svg"]
    assert [Path(line).name for line in ran.out.splitlines()] == named
    for name in named:
        assert (here / "drawn" / name).read_bytes() == (folder / "figures" / name).read_bytes()


def test_by_default_everything_that_varies_is_compared(here: Path) -> None:
    ran = study(STUDY.partition("[[compare]]")[0].replace("variation = [0, 0.3]", "variation = [0.3]"), "--no-figures")
    assert ran.code == 0, ran.err
    found = pd.read_parquet("out/comparisons.parquet")
    assert found.groupby("option", sort=False)["base"].first().to_dict() == {"als": "static", "allocator": "first-fit"}
    assert set(found["metric"]) == {"makespan_ns", "mean_wait_ns", "mean_bounded_slowdown"}
    assert not os.path.exists("out/figures")


@pytest.mark.usefixtures("unrendered")
def test_with_few_seeds_nothing_is_compared(here: Path) -> None:
    ran = study(STUDY.replace("seeds = 5", "seeds = 4"))
    assert ran.code == 0, ran.err
    assert not os.path.exists("out/comparisons.parquet")
    assert "4 seeds: too few for an interval (5), so no difference is shown" in ran.err
    assert "×\n" not in ran.out
    drawn = {name.split("-")[0] for name in os.listdir("out/figures")}
    assert drawn == {*(name.split("-")[0] for name in MEASURES), "variation", "imbalance", "captions.txt"}
    # With more seeds, what is finished stays.
    ran = study(STUDY, "--no-figures")
    assert "64 of them finished before" in ran.err
    assert os.path.exists("out/comparisons.parquet")


@pytest.mark.usefixtures("unrendered")
def test_figures_of_what_is_no_longer_there_go_and_others_stay(here: Path) -> None:
    text = STUDY.partition("[[compare]]")[0]
    assert study(text).code == 0
    (here / "out/figures/mine.svg").write_text("mine")
    ran = study(
        text.replace('["first-fit", "random"]', '["random"]').replace("variation = [0, 0.3]", "variation = [0.3]")
    )
    assert ran.code == 0, ran.err
    assert "60 more finished cells are no longer part of this study" in ran.err
    drawn = {Path(name).stem for name in os.listdir("out/figures")}
    of_parts = {f"{figure}-{name}" for figure in (*MEASURES, "imbalance", "comparison-als") for name in "ab"}
    assert drawn == of_parts | {"mine", "captions"}
    captions = Path("out/figures/captions.txt").read_text().split("\n\n")
    assert {text.partition(": ")[0] for text in captions} == of_parts


def test_repeating_says_the_same_or_what_differs(both: tuple[Path, Ran], here: Path) -> None:
    folder, _ = both
    ran = twolevel("repeat", folder, "--workers", 1)
    assert (ran.code, ran.out.split(",")[0]) == (0, "identical: 80 rows")
    for name in ("study.json", "journal.jsonl"):
        Path("changed").mkdir(exist_ok=True)
        (here / "changed" / name).write_bytes((folder / name).read_bytes())
    table = pd.read_parquet(folder / "results.parquet")
    table.loc[3, "chunks"] += 1
    table.to_parquet("changed/results.parquet")
    ran = twolevel("repeat", "changed", "--workers", 1, "--out", "again")
    assert ran.code == 1
    assert "cell 0, seed 3: chunks" in ran.out
    assert (here / "again/results.parquet").read_bytes() == (folder / "results.parquet").read_bytes()


def test_a_failed_cell_leaves_the_others(here: Path) -> None:
    Path("mine.py").write_text(
        "class Mine:\n    name = 'mine'\n    def keys(self, jobs):\n        return [0.0] * (len(jobs.job_id) - 1)\n"
    )
    ran = study(
        STUDY.replace('als = ["static", "ss"]', 'als = ["static", "ss"]\nbls = ["fcfs", "mine.py:Mine"]')
        .replace('"first-fit", ', "")
        .replace("[0, ", "[")
    )
    assert ran.code == 1
    table = pd.read_parquet("out/results.parquet")
    assert (table["error"] != "").equals(table["bls"] == "mine.py:Mine")
    assert "20 failed; results.parquet has the reasons" in ran.err
    assert ran.err.count("batch policy mine") == 5
    assert os.path.exists("out/figures/imbalance-a.svg")
    assert "fcfs × static" in ran.out
    assert "Mine ×" not in ran.out


def test_of_a_study_whose_only_cell_fails_the_failure_is_the_error(here: Path) -> None:
    Path("mine.py").write_text("class Mine:\n    name = 'mine'\n    def keys(self, jobs):\n        return []\n")
    ran = study('[[workload]]\nfile = "sample"\nselect = "first:3"\n[run]\nals = "recorded"\nbls = "mine.py:Mine"\n')
    assert ran.code == 1
    assert "1 failed; results.parquet has the reasons" in ran.err
    assert "batch policy mine" in ran.err
    assert not [line for line in ran.err.splitlines() if line.startswith("twolevel: ")]


@pytest.mark.parametrize(("words", "said"), table_rows(__file__, "figures"))
def test_figures_that_are_none(both: tuple[Path, Ran], here: Path, words: str, said: str) -> None:
    ran = twolevel("figures", both[0], *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_figures_of_a_run(result: Path, here: Path) -> None:
    ran = twolevel("figures", result, "--only", "gantt", "--cores", "0-15", "--out", "drawn", "--format", "png")
    assert (ran.code, ran.out) == (0, "drawn/gantt.png\n"), ran.err
    for folder, said in ((here, "is not a result of twolevel run"), (here / "no", "there is no such folder")):
        ran = twolevel("figures", folder)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert said in ran.err
    measures = {"makespan", "wait", "slowdown", "computing-utilisation", "utilisation"}
    kept = {"slowdown-boxes", "queue-boxes", "decisions", "decision-cost"}
    assert set(STUDY_FIGURES) == measures | kept | {"variation", "ratio", "imbalance", "cost", "comparison"}


@pytest.mark.parametrize(("text", "said"), table_rows(__file__, "studies"))
def test_a_wrong_study_is_refused_before_anything_is_run(here: Path, text: str, said: str) -> None:
    ran = study(text)
    assert ran.code == 2, ran
    assert said in ran.err.splitlines()[-1]
    assert ran.out == ""
    assert not os.path.exists("out")


def test_words_of_the_command_that_are_wrong(here: Path) -> None:
    text = '[[workload]]\nfile = "sample"\nselect = "first:5"\n'
    for words, said in (
        (("--workers", 0), "--workers"),
        (("--cluster", "pbs"), "unknown kind of cluster 'pbs'"),
        (("--cluster", "tcp://h:1", "--workers", 2), "has its own workers"),
        (("--data", "nowhere"), "--data: nowhere is not a folder"),
        (("--out", ""), "--out: empty"),
    ):
        ran = study(text, *words)
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran
        assert said in ran.err
        assert not os.path.exists("out")
    for folder, said in (("nowhere", "there is no such folder"), (".", "it has no study.json")):
        ran = twolevel("repeat", folder)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert said in ran.err


def test_what_runs_cost_is_drawn_where_their_jobs_differ(here: Path) -> None:
    text = '[study]\nseeds = 5\nmetrics = ["makespan_ns"]\n[[workload]]\nfile = "sample"\n'
    text += '[grid]\nselect = ["first:5", "first:30"]\n'
    ran = study(text)
    assert ran.code == 0, ran.err
    costs = pd.read_parquet("out/costs.parquet")
    assert costs["jobs"].tolist() == [5, 30]
    assert os.path.exists("out/figures/cost.svg")
