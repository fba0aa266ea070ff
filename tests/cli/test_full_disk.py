"""A disk without room: every command that writes names the file, ends with 2, and leaves no half file and all that was there.

A file that may not grow any more is to a program what a full disk is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import Ran, everything_in, twolevel

from traces.base.written_file import whole_file


@contextmanager
def files_up_to(limit: int) -> Iterator[None]:
    """No file may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported meanwhile would be kept, cut, as everybody's bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


#: What is written, with the words of the command ({r}: a run), and the largest file (bytes).
WRITES = {
    "report.html": ("report {r} -o", 2000),
    "gantt.svg": ("gantt {r} -o", 2000),
    "otf2": ("trace convert {r} --out", 300),
    "csv": ("trace convert {r} --format csv --out", 300),
    "log.swf.gz": ("workload cut sample --select first:200 -o", 300),
    "export.csv": ("workload export {r} --format batsim -o", 300),
    "compared": ("compare {r} {r} --out", 300),
    "run": ("run sample --select first:20 --no-trace --out", 300),
}


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("name", WRITES)
def test_it_names_the_file_and_leaves_none(name: str, here: Path, result: Path) -> None:
    words, limit = WRITES[name]
    before = everything_in(here)
    with files_up_to(limit):
        ran = twolevel(*(word.format(r=result) for word in words.split()), name)
    assert ran.code == 2, ran
    assert ran.err.splitlines()[-1].startswith("twolevel: "), ran
    last = ran.err.splitlines()[-1]
    assert ("too large" in last, name in last, ".partial" in last) == (True, True, False), ran
    assert everything_in(here) == before


@pytest.mark.usefixtures("rendered")
def test_figures_that_are_there_are_whole(here: Path, result: Path) -> None:
    with files_up_to(300):
        ran = twolevel("figures", result, "--out", "figures")
    assert (ran.code, "too large" in ran.err) == (2, True), ran
    assert [path for path in here.rglob("*") if path.is_file()] == []


def test_a_study_keeps_what_was_finished(here: Path) -> None:
    words = ("grid", "sample", "--select", "first:20", "--bls", "fcfs,sjf", "--als", "ss", "--workers", 1, "--out", "g")
    assert twolevel(*words).code == 0
    before = {path: path.read_bytes() for path in Path("g").rglob("*") if path.is_file()}
    with files_up_to(300):
        ran: Ran = twolevel(*words)
    assert (ran.code, "too large" in ran.err.lower()) == (2, True), ran
    assert {path: path.read_bytes() for path in Path("g").rglob("*") if path.is_file()} == before


def test_standard_output(here: Path) -> None:
    buffered = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "bridge.cli", "cite"]
        ended = subprocess.run(command, stdout=full, stderr=-1, env=buffered, check=False)
    assert (ended.returncode, ended.stderr) == (2, b"twolevel: standard output: No space left on device\n")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_was_there_stays(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("mine")

    def write() -> None:
        with whole_file(path) as partial:
            partial.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert (path.read_text(), list(tmp_path.iterdir())) == ("mine", [path])
    assert getattr(error, "filename", str(path)) == str(path)
