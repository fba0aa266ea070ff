"""The folder of a result: whole or not there, never written over by mistake, whatever happens in between."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Ran, everything_in, succeeds, twolevel
from tables import table_text

from als.metrics.loops import LOOP_METRICS
from bridge.runs.directory import fresh_directory, ours_in, read_record, write_record
from bridge.runs.library_versions import versions
from traces.base.errors import InputError
from traces.ledger_tables import TASKS
from traces.tables import JOB_COLUMNS

#: What every record of ours has.
OURS = {"versions": versions()}

RUN = ("run", "sample", "--select", "first:5", "--variation", "0.1")
PLAIN = (*RUN, "--trace", "none", "--out", "r")


def run(*words: object) -> Ran:
    """A run into ``r`` that succeeds."""
    return succeeds(*RUN, "--out", "r", *words)


def refused(*words: object, said: str) -> None:
    """A command that changes nothing."""
    before = everything_in(Path())
    ran = twolevel(*words)
    assert (ran.code, said in ran.err) == (2, True), ran
    assert everything_in(Path()) == before


def test_what_a_run_writes(here: Path) -> None:
    run("--als", "ss", "--seed", 7, "--tasks", "--out", "deep/er/r")
    folder = here / "deep" / "er" / "r"
    assert sorted(os.listdir(folder)) == ["jobs.parquet", "run.json", "tasks.parquet", "trace"]
    assert (folder / "trace" / "traces.otf2").is_file()
    loop = (name for name, _ in LOOP_METRICS if name not in ("cov", "imbalance", "rounds"))
    assert tuple(pd.read_parquet(folder / "jobs.parquet").columns) == (*JOB_COLUMNS, *loop)
    assert tuple(pd.read_parquet(folder / "tasks.parquet").columns) == TASKS.columns
    record = json.loads((folder / "run.json").read_text())
    assert record["seed"] == record["arguments"]["seed"] == 7
    assert record["workload"]["jobs"] == record["metrics"]["jobs"] == 5
    assert record["arguments"]["coupling"] == record["coupling"]["name"] == "inline"
    assert os.listdir(folder.parent) == ["r"]
    assert record["files"] == sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
    mask = os.umask(0)
    os.umask(mask)
    assert folder.stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_result_is_replaced_with_force_only_and_links_are_not_followed(here: Path) -> None:
    (here / "r").mkdir()  # an empty folder is nobody's result, but nothing is lost with it
    refused(*PLAIN, said="--force")
    run("--force")
    (here / "r" / "old").write_text("of the first run")
    refused(*PLAIN, said="--force")
    (here / "r" / "jobs.parquet").write_text("of the first run")
    run("--out", "r/", "--force")
    assert pd.read_parquet(here / "r" / "jobs.parquet").shape[0] == 5
    assert (here / "r" / "old").read_text() == "of the first run"
    assert os.listdir(here) == ["r"]
    (here / "link").symlink_to("r")
    refused(*PLAIN, "--out", "link", "--force", said="--out")


def test_a_fault_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    def fail(target: Path, force: bool) -> None:
        with fresh_directory(target, force) as folder:
            (folder / "jobs.parquet").write_text("half")
            raise ZeroDivisionError

    target = tmp_path / "r"
    for there in (target, tmp_path / "a" / "b" / "r"):
        with pytest.raises(ZeroDivisionError):
            fail(there, force=False)
        assert os.listdir(tmp_path) == []  # nor the folders that were made for it
    with fresh_directory(target, False) as folder:
        write_record(folder / "run.json", OURS | {"a": float("nan"), "b": (1, [2.5])})
    with pytest.raises(ZeroDivisionError):
        fail(target, force=True)
    assert os.listdir(tmp_path) == ["r"]
    assert read_record(target) == OURS | {"a": None, "b": [1, [2.5]], "files": ["run.json"]}


def test_a_target_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r"
    with fresh_directory(target, False) as folder:
        write_record(folder / "run.json", OURS)
    rename = Path.rename

    def refuse(self: Path, to: Path) -> Path:
        if ".partial-" in self.name:
            raise PermissionError(13, "no")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(PermissionError), fresh_directory(target, True):
        pass
    # The old result was already moved aside, and was put back.
    assert everything_in(tmp_path).keys() == {"r", "r/run.json"}


def test_no_folder_is_made_where_none_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "file/r", "x" * 300):
        with pytest.raises(InputError, match="folder"), fresh_directory(tmp_path / name, False):
            pytest.fail("there is no folder")
    assert os.listdir(tmp_path) == ["file"]


# A policy is asked within the run, after the folder has been begun: here something happens at that moment.
POLICY = table_text(__file__, "policy")

INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    ("what", "code"),
    [(INTERRUPT, 130), (INTERRUPT.replace("INT", "TERM"), 130), ("return [float('nan')] * len(jobs.job_id)", 1)],
    ids=["interrupted", "terminated", "fault"],
)
def test_an_interrupted_run_leaves_nothing(here: Path, what: str, code: int) -> None:
    (here / "then.py").write_text(POLICY.format(what=what))
    before = everything_in(here)
    ran = twolevel(*RUN, "--bls", "then.py:Then", "--out", "r")
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran.err
    assert ran.err.startswith("twolevel: ")
    assert everything_in(here).keys() == before.keys()


def test_a_second_interrupt_does_not_stop_the_clearing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "then.py").write_text(POLICY.format(what=INTERRUPT))
    remove = shutil.rmtree

    def interrupted(*arguments: Any, **options: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        remove(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    ran = twolevel(*RUN, "--bls", "then.py:Then", "--out", "r")
    assert (ran.code, ran.err) == (130, "twolevel: interrupted; nothing was written\n")
    assert everything_in(here).keys() == {"then.py"}


def test_what_took_the_name_meanwhile_is_kept(tmp_path: Path) -> None:
    def overtaken() -> None:
        with fresh_directory(tmp_path / "r", False) as folder:
            (folder / "run.json").write_text("{}")
            (tmp_path / "r").mkdir()
            (tmp_path / "r" / "precious.txt").write_text("kept")

    with pytest.raises(InputError, match="exists"):
        overtaken()
    assert everything_in(tmp_path).keys() == {"r", "r/precious.txt"}


NOT_OURS = "no record of twolevel"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("run.json", text) for text in ('{"mine": 1}', "[]", "", "no JSON", "[" * 5000, '{"files": ["run.json"]}')),
        ("study.json", '{"versions": {"twolevel": 1}}'),
        # Every record of ours lists itself.
        ("comparison.json", '{"versions": {"twolevel": "0.1.0"}, "files": ["thesis.tex"]}'),
        ("journal.jsonl", "{}"),
    ],
)
def test_a_folder_with_another_s_record_is_not_ours(here: Path, name: str, text: str) -> None:
    (here / "r").mkdir()
    (here / "r" / name).write_text(text)
    (here / "r" / "thesis.tex").write_text("years of work")
    refused(*PLAIN, "--force", said=NOT_OURS)
    refused(*("grid", "sample", "--select", "first:3", "--als", "ss", "--out", "r", "--force"), said="")


def test_a_folder_that_links_to_another_s_record_is_not_ours(here: Path) -> None:
    run("--trace", "none", "--out", "other")
    (here / "r").mkdir()
    (here / "r" / "run.json").symlink_to("../other/run.json")
    (here / "r" / "jobs.parquet").write_text("mine")
    refused(*PLAIN, "--force", said=NOT_OURS)


def test_a_record_says_nothing_of_what_is_outside_its_folder(tmp_path: Path) -> None:
    write_record(tmp_path / "run.json", OURS | {"files": ["run.json", "../x", "/etc/x", "a/../../x", "", ".", "a//b"]})
    assert ours_in(tmp_path) == {"run.json"}


def test_what_a_user_puts_into_a_result_stays(here: Path) -> None:
    run("--trace", "none")
    folder = here / "r"
    (folder / "notes" / "deep").mkdir(parents=True)
    (folder / "notes" / "deep" / "why.txt").write_text("mine")
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("notes")
    for name in ("tasks.parquet", "trace"):
        (folder / name).write_text("mine, too")
    for _ in range(2):
        run("--als", "ss", "--tasks", "--force")
        assert (folder / "notes" / "deep" / "why.txt").read_text() == "mine"
        assert ((folder / "empty").is_dir(), (folder / "link").is_symlink()) == (True, True)
        # The new result has a file of that name, and a folder.
        assert [(folder / name).read_text() for name in ("tasks.parquet~", "trace~")] == ["mine, too"] * 2
        assert len(pd.read_parquet(folder / "tasks.parquet")) > 0
    run("--trace", "none", "--force")
    assert not (folder / "trace").exists()
    assert not (folder / "tasks.parquet").exists()
    # A folder where the new result has a file: what is in it goes beside that, where something may be already.
    (folder / "tasks.parquet").mkdir()
    (folder / "tasks.parquet~").unlink()
    for name in ("tasks.parquet/x", "tasks.parquet-x~", "tasks.parquet-x~~"):
        (folder / name).write_text(name)
    run("--trace", "none", "--tasks", "--force")
    assert len(pd.read_parquet(folder / "tasks.parquet")) > 0
    kept = ("tasks.parquet-x~", "tasks.parquet-x~~")
    found = {path.name: path.read_text() for path in folder.glob("tasks.parquet-*")}
    assert found == {name: name for name in kept} | {"tasks.parquet-x~~~": "tasks.parquet/x"}
    assert os.listdir(here) == ["r"]


def test_a_study_that_begins_again_leaves_what_is_not_its_own(here: Path) -> None:
    (here / "s.toml").write_text(
        '[study]\nseeds = 2\nkeep = ["jobs"]\n[[workload]]\nfile = "sample"\nselect = "first:3"\n'
        '[grid]\nbls = ["fcfs", "sjf"]\nals = "ss"\nvariation = 0.1\n'
    )
    words = ("study", "s.toml", "--out", "g", "--workers", 1)
    succeeds(*words)
    folder = here / "g"
    made = set(everything_in(folder))
    cell = next((folder / "cells").glob("*/seed-1")).relative_to(folder)
    (folder / "figures" / "makespan.svg").unlink()
    (folder / "cells" / "my").mkdir()
    # One is named as a figure is, and yet not drawn by the study.
    mine = {"figures/mine.svg", "figures/makespan-mine.svg", "cells/my/notes", f"{cell}/notes"}
    for name in mine:
        (folder / name).write_text("mine")
    succeeds(*words, "--force")
    assert set(everything_in(folder)) == made | mine | {"cells/my"}
    # A user's own folder in place of that of the figures is not looked into.
    shutil.move(folder / "figures", here / "elsewhere")
    (folder / "figures").symlink_to(here / "elsewhere")
    elsewhere = everything_in(here / "elsewhere")
    succeeds(*words, "--no-figures", "--force")
    assert everything_in(here / "elsewhere") == elsewhere
    assert (folder / "figures").is_symlink()
    (folder / "figures").unlink()
    # Of one that keeps nothing only what is another's is left of the cells.
    (here / "s.toml").write_text((here / "s.toml").read_text().replace('keep = ["jobs"]', "keep = []"))
    succeeds(*words, "--force")
    left = {name for name in everything_in(folder) if name.startswith("cells/") and (folder / name).is_file()}
    assert left == {name for name in mine if name.startswith("cells/")}


def test_a_file_that_is_named_like_a_figure_is_kept_under_another_name(here: Path) -> None:
    (here / "s.toml").write_text('[[workload]]\nfile = "sample"\nselect = "first:3"\n[grid]\nals = ["ss", "static"]\n')
    words = ("study", "s.toml", "--out", "g", "--workers", 1)

    def listed() -> set[str]:
        return set(json.loads((here / "g" / "study.json").read_text())["figures"])

    succeeds(*words, "--no-figures")
    figures = here / "g" / "figures"
    assert listed() == set()
    figures.mkdir()
    (figures / "makespan.svg").write_text("mine")
    (figures / "makespan.svg~").write_text("older")
    succeeds(*words)
    assert ((figures / "makespan.svg~~").read_text(), (figures / "makespan.svg~").read_text()) == ("mine", "older")
    assert listed() == {f"figures/{name}" for name in os.listdir(figures) if not name.endswith("~")}
    assert "figures/makespan.svg" in listed()
    # What the study has drawn is its own, and is replaced; what another command draws there is listed, too.
    succeeds("figures", "g", "--only", "makespan", "--format", "pdf")
    succeeds(*words, "--force")
    assert (figures / "captions.txt").read_text().startswith("computing-utilisation: ")
    succeeds(*words, "--force", "--no-figures")
    assert sorted(os.listdir(figures)) == ["makespan.svg~", "makespan.svg~~"]


def test_a_command_that_was_interrupted_waits_for_no_thread() -> None:
    """A thread of a library may wait for ever, for a cluster that is gone."""
    text = (
        "import sys, threading, bridge.cli as cli\n"
        "def main():\n    threading.Thread(target=threading.Event().wait).start()\n    sys.exit(130)\n"
        "cli.main = main\ncli.command()"
    )
    assert subprocess.run([sys.executable, "-c", text], check=False, timeout=600).returncode == 130
