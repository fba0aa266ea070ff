"""A disk without room: every command that writes names the file, ends with 2, and leaves no half file and all that was there.

A file that may not grow any more is to a program what a full disk is.
"""

from __future__ import annotations

import ast
import os
import re
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


#: Who writes a file otherwise than by ``whole_file``, and why it may.
_OTHERWISE = {
    "bridge/archive/fetch.py": "goes on with a part that was loaded before",
    "bridge/live/file.py": "is replaced several times a second, and a run goes on without it",
    "bridge/replay/clock.py": "is shared memory",
    "bridge/replay/controller.py": "is written by slurmctld",
    "bridge/replay/native.py": "is machine code in a cache, which is renamed",
    "bridge/workers/credentials.py": "is renamed, and refuses a file that is there",
    "bridge/cli/workload/files.py": "is in a folder of fresh_file, which renames it",
    "bridge/cli/workload/generation.py": "is in a folder of fresh_file, which renames it",
    "traces/exporters/text.py": "is in a folder of made_beside, which renames it",
    "traces/kernels/shipped.py": "is part of a wheel that is built",
    "traces/kernels/store.py": "is machine code in a cache, which is renamed",
}


def test_there_is_one_way_to_write() -> None:
    root = Path(__file__).resolve().parents[2]
    found: dict[str, list[str]] = {}
    for package in ("als", "bls", "bridge", "traces"):
        for path in (root / package).rglob("*.py"):
            text = path.read_text()
            if not re.search(r"\bopen\(|write_(text|bytes)|savefig|parquet|ParquetWriter", text):
                continue
            for call in (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)):
                name = ast.unparse(call.func).rpartition(".")[2]
                modes = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                opens = name == "open" and any(re.fullmatch(r"[wxa]b?\+?", mode) for mode in modes)
                writes = name in ("write_text", "write_bytes", "savefig", "to_parquet", "ParquetWriter")
                if opens or writes:
                    found.setdefault(str(path.relative_to(root)), []).append(ast.unparse(call))
    elsewhere = ("partial", "savefig(data,")  # whole_file's name; a picture in memory
    others = {
        name: [
            call for call in calls if not call.startswith("write_text(") and not any(one in call for one in elsewhere)
        ]
        for name, calls in found.items()
        if name not in _OTHERWISE
    }
    assert {name: calls for name, calls in others.items() if calls} == {}
