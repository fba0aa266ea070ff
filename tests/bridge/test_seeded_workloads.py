"""Workloads that a function of the seed makes: in runs, in studies, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import twolevel

import bridge
from bls.workloads.seeded import given_workload, is_seeded
from bridge.studies.drawing import STUDY_FIGURES, parts_of
from bridge.studies.executors.local import Here
from bridge.studies.input.named_files import is_path
from bridge.studies.input.study_file import load_study
from bridge.studies.preparing import find_inputs
from bridge.studies.repeat import repeat_study
from bridge.studies.run_study import Report, run_study
from bridge.studies.summary import study_text
from traces.base.errors import InputError, PluginError

MAKER = """
import numpy as np
from bls import Workload

def few(seed):
    chance = np.random.default_rng(seed)
    run = chance.integers(10, 100, 20).tolist()
    return Workload.from_jobs([(k + 1, 5 * k, run[k], 64, run[k]) for k in range(20)])

def many(seed):
    return Workload.from_jobs([(k + 1, k, 10 + seed, 64, 50) for k in range(40)])

def wide(seed):
    return Workload.from_jobs([(1, 0, 10, 64 if seed < 2 else 100_000, 50)])

def nothing(seed):
    return None

def fails(seed):
    raise ValueError("no such day")
"""

STUDY = """
[study]
seeds = 3
metrics = ["makespan_ns", "mean_wait_ns"]
[[workload]]
file = "maker.py:few"
[run]
als = "recorded"
platform = "paper"
[grid]
bls = ["fcfs", "sjf"]
"""


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "maker.py"
    path.write_text(MAKER)
    monkeypatch.chdir(tmp_path)
    return path


def ran(text: str, folder: Path, out: str) -> Report:
    path = folder / "study.toml"
    path.write_text(text)
    return run_study(load_study(path), folder / out, lambda needs: Here())


def test_a_run_has_the_jobs_of_its_seed(maker: Path) -> None:
    ran_ = twolevel(
        "run", "maker.py:few", "--als", "recorded", "--platform", "paper", "--seed", 7, "--no-trace", "--out", "r"
    )
    assert ran_.code == 0, ran_.err
    jobs = pd.read_parquet("r/jobs.parquet")
    expected = np.random.default_rng(7).integers(10, 100, 20)
    assert (jobs.end_ns - jobs.start_ns).tolist() == (expected * 10**9).tolist()
    found = bridge.simulate("maker.py:few", platform="paper", als="recorded", seed=7)
    assert found.jobs.end_ns.tolist() == jobs.end_ns.tolist()
    assert found.scenario.workload.source == "maker.py:few"


def test_what_is_such_a_workload() -> None:
    assert is_seeded("a/b c.py:jobs")
    assert not any(map(is_seeded, ("a.py", "sample", "a.swf", "a.py:", "a.py:x-y", "a.txt:jobs", Path("log.swf.gz"))))


def test_what_is_wrong_is_said(maker: Path) -> None:
    for name, kind, message in (
        ("maker.py:fw", InputError, r"maker\.py has no 'fw' \(did you mean few\?\); it has: "),
        ("makr.py:few", InputError, r"workload: no file 'makr\.py' \(did you mean maker\.py\?\)"),
        ("maker.py:nothing", PluginError, r"maker\.py:nothing\(3\) gave a NoneType; allowed: a bls.Workload"),
        ("maker.py:fails", PluginError, r"maker\.py:fails\(3\) failed: ValueError: no such day"),
    ):
        with pytest.raises(kind, match=message) as caught:
            given_workload(name, 3)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"--cancelled: 'maker\.py:few' makes its jobs; allowed: with a file"):
        given_workload("maker.py:few", 3, cancelled=True)
    said = twolevel("run", "maker.py:few", "--als", "recorded", "--no-trace", "--stream", "--out", "r")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "--stream: maker.py:few: a function makes all jobs at once; allowed: a log\n" in said.err


def test_the_cells_of_a_seed_have_the_same_jobs_and_seeds_have_others(maker: Path) -> None:
    report = ran(STUDY, maker.parent, "out")
    assert (report.total, report.failed) == (6, 0)
    for row in report.results.itertuples():
        run = bridge.simulate("maker.py:few", platform="paper", als="recorded", bls=row.bls, seed=row.seed)
        assert (row.makespan_ns, row.mean_wait_ns) == (run.metrics["makespan_ns"], run.metrics["mean_wait_ns"])
    assert report.results.groupby("bls").makespan_ns.nunique().tolist() == [3, 3]
    assert repeat_study(maker.parent / "out", None, lambda study: lambda needs: Here()).equal
    # A seed more is a seed more: what is finished stays.
    more = ran(STUDY.replace("seeds = 3", "seeds = 4"), maker.parent, "out")
    assert (more.total, more.kept) == (8, 6)
    words = twolevel("study", "study.toml", "--out", "out", "--no-figures", "--workers", 1)
    assert "8 cells (2 × seeds 0 1 2 3), 8 of them finished before" in words.err


def inputs_of(text: str, folder: Path) -> Any:
    """The inputs of the cells of a study."""
    path = folder / "study.toml"
    path.write_text(text)
    return find_inputs(load_study(path))


def test_a_cell_is_known_by_the_file_and_by_the_function(maker: Path) -> None:
    texts = (STUDY, STUDY.replace("maker.py:few", "maker.py:many"))
    few, many = (set(inputs_of(text, maker.parent).keys) for text in texts)
    maker.write_text(MAKER.replace("100, 20", "101, 20"))
    assert not few & many
    assert not few & set(inputs_of(STUDY, maker.parent).keys)


def test_the_jobs_of_every_seed_are_looked_at_before_anything_runs(maker: Path) -> None:
    text = STUDY.replace(":few", ":wide").replace("seeds = 3", "seeds = [0, 5]") + 'oversize = ["reject"]\n'
    with pytest.raises(InputError, match=r"workload maker: .*wide"):
        ran(text, maker.parent, "wide")
    assert not (maker.parent / "wide").exists()
    with pytest.raises(
        InputError, match=r"\[\[workload\]\] 1: file: no file 'none\.py'; say in which folder it is with"
    ):
        ran(STUDY.replace("maker.py", "none.py"), maker.parent, "none")


@pytest.mark.parametrize("option", ["limits", "job-power", "requests"])
def test_files_of_jobs_and_of_power_are_those_of_the_studys_folder(option: str, maker: Path) -> None:
    assert is_path(option, "some.csv")
    file, found = maker.parent / "some.csv", []
    for text in ("from,to,limit_w\n0,5,1\n", "from,to,limit_w\n0,6,1\n"):
        file.write_text(text)
        inputs = inputs_of(f'{STUDY}\n[[cell]]\n{option} = "some.csv"\n', maker.parent)
        assert inputs.files["some.csv"][0] == file
        found.append(inputs.keys)
    assert found[0][:2] == found[1][:2]
    assert found[0][2] != found[1][2]


def test_a_comparison_may_be_drawn_as_difference_and_seeds_are_spoken_of(maker: Path) -> None:
    text = (
        STUDY.replace("seeds = 3", "seeds = 5")
        + '[[compare]]\noption = "bls"\nbase = "fcfs"\nmetrics = ["mean_wait_ns"]\n'
    )
    ratios = ran(text, maker.parent, "out")
    differences = ran(text + 'drawn = "difference"\n', maker.parent, "out")
    labels = []
    for report in (ratios, differences):
        assert report.study is not None
        (part,) = parts_of(report.study, maker.parent / "out", "comparison")
        figure = STUDY_FIGURES["comparison"](part.frame, part.words)
        labels.append(figure.axes[0].get_xlabel())
    assert labels == ["mean wait: ratio to fcfs\n(axis does not start at zero)", "mean wait: difference\nfrom fcfs [s]"]
    # Nothing but the jobs is drawn at random.
    study = differences.study
    assert study is not None
    assert "means of 5 seeds; 95 % intervals" in study_text(study, differences.results, [])
    same = differences.results.assign(mean_wait_ns=1.0, makespan_ns=1)
    assert "seeds" not in study_text(study, same, [])
