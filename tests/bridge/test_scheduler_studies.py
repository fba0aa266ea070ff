"""Schedulers of the user's own as cells of studies, beside policies."""

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import succeeds
from tables import table_text

from bridge.studies.executors.executor import Executor, WorkSummary
from bridge.studies.executors.local import Here, Workers
from bridge.studies.input.study_file import load_study
from bridge.studies.results import RESULTS
from bridge.studies.run_study import run_study
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent

#: The toy is named beside the study, as its author would name it.
STUDY = table_text(__file__, "study")


def written(folder: Path, name: str = "toy_scheduler.py", text: str = STUDY) -> Path:
    shutil.copy(HERE / name, folder)
    path = folder / "study.toml"
    path.write_text(text.format(python=sys.executable, name=name))
    return path


def here(needs: WorkSummary) -> Executor:
    return Here()


def two(needs: WorkSummary) -> Executor:
    return Workers(2)


def test_a_cell_may_be_a_scheduler(tmp_path: Path) -> None:
    path = written(tmp_path)
    report = run_study(load_study(path), tmp_path / "out", two)
    assert (report.total, report.kept, report.failed, report.errors) == (6, 0, 0, ())
    table = pd.read_parquet(tmp_path / "out" / RESULTS)
    command = f"{sys.executable} toy_scheduler.py"
    assert table.bls.tolist() == ["sjf", "sjf", "fcfs", "fcfs", command, command]
    assert "bls_command" not in table
    by_policy, by_toy = table[table.bls == "fcfs"], table[table.bls == command]
    for metric in ("makespan_ns", "mean_wait_ns", "mean_bounded_slowdown"):
        assert by_policy[metric].tolist() == by_toy[metric].tolist()
    assert table[table.bls == "sjf"].mean_wait_ns.tolist() != by_toy.mean_wait_ns.tolist()
    kept = sorted((tmp_path / "out" / "cells").glob("*/*/jobs.parquet"))
    assert len(kept) == 6
    # It is part of the cell what the program is, and not where.
    moved = tmp_path / "moved"
    moved.mkdir()
    again = written(moved)
    assert run_study(load_study(again), tmp_path / "out", here).kept == 6
    with (moved / "toy_scheduler.py").open("a") as program:
        program.write("# another one\n")
    assert run_study(load_study(again), tmp_path / "out", here).kept == 4


def test_a_cell_has_one_of_both(tmp_path: Path) -> None:
    path = written(tmp_path, text=STUDY.replace("timeout", 'bls = ["fcfs"]\ntimeout'))
    with pytest.raises(InputError, match=r"grid\]\] 2: bls-command: not with bls: the command is the policy"):
        run_study(load_study(path), tmp_path / "out", here)


def test_a_scheduler_that_fails_is_a_cell_that_fails(tmp_path: Path) -> None:
    shutil.copy(HERE / "toy_scheduler.py", tmp_path)
    path = written(tmp_path, "rogue_scheduler.py", STUDY.replace("{name}", "{name} exits"))
    report = run_study(load_study(path), tmp_path / "out", here)
    assert (report.total, report.failed) == (6, 2)
    assert ["it exited with status 3" in str(error) for error in report.errors] == [True, True]


def test_a_file_of_options_names_it_relative_to_itself(tmp_path: Path) -> None:
    written(tmp_path)
    lines = (f'bls-command = "{sys.executable} toy_scheduler.py"', 'select = "first:20"', "trace = false")
    (tmp_path / "options.toml").write_text("\n".join(lines))
    succeeds("run", "sample", "--config", tmp_path / "options.toml", "--out", tmp_path / "r")
