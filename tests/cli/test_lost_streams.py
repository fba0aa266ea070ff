"""A stderr that is closed, full or not read: every command ends as it would, with no traceback, and its results are written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from layers import these_stay

from bridge.standard_error import put, put_text, say

#: An application process dies once; in the process of the command itself nothing happens.
_DIES = """
import os, pathlib, signal
class Dies:
    def begin(self, start):
        pass
    def chunk(self, ask):
        died = pathlib.Path(__file__).with_name("died")
        if pathlib.Path("/proc/self/comm").read_text().strip() == "twolevel-als" and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return -(-ask.remaining // 2)
"""

_RUN = "sample --select first:12 --variation 0.25"

#: Commands by what writes to stderr in them; each writes into ``out``.
COMMANDS = {
    "inline": f"run {_RUN} --als gss --no-trace --out out",
    "process": f"run {_RUN} --als mine.py:Dies --no-trace --coupling process --out out",
    "live": f"run {_RUN} --als mine.py:Dies --no-trace --coupling pool --live --out out",
    "workers": "study study.toml --workers 2 --no-figures --out out",
}

_STUDY = """
[[workload]]
file = "sample"
select = "first:12"
[run]
coupling = "pool"
als = "mine.py:Dies"
"""


@contextmanager
def stream(kind: str) -> Iterator[int]:
    """A descriptor to write to, of which nothing comes."""
    if kind == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, descriptor = os.pipe()
        os.close(reader)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def ended(words: str, here: Path, kind: str, out: int | None = None) -> int:
    """How a command ends whose stderr is closed, full or not read, and whose stdout is this one."""
    command = [sys.executable, "-m", "bridge.cli", *words.split()]
    (here / "mine.py").write_text(_DIES)
    (here / "study.toml").write_text(_STUDY)
    with stream("full") as descriptor, stream("unread") as unread:
        if kind == "closed":
            command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
        stderr = {"full": descriptor, "unread": unread, "closed": subprocess.DEVNULL}[kind]
        return subprocess.run(
            command, cwd=here, stdout=unread if out is None else out, stderr=stderr, timeout=300, check=False
        ).returncode


@pytest.mark.parametrize(
    ("name", "kind"),
    these_stay(
        [(name, kind) for name in COMMANDS for kind in ("closed", "full", "unread")],
        {("inline", "full"), ("live", "closed")}.__contains__,
    ),
)
def test_words_that_cannot_be_written_change_nothing(name: str, kind: str, tmp_path: Path) -> None:
    out = tmp_path / "stdout"
    with out.open("wb") as file:
        assert ended(COMMANDS[name], tmp_path, kind, file.fileno()) == 0
    assert any((tmp_path / "out").glob("*.parquet"))
    assert b"workload" not in out.read_bytes().splitlines()[0]  # words stay out of the data
    assert (tmp_path / "died").exists() == ("Dies" in COMMANDS[name] or name == "workers")


def test_a_reader_that_has_gone(tmp_path: Path) -> None:
    # As ``twolevel … 2>&1 | head -1``.
    assert ended(COMMANDS["live"], tmp_path, "unread") == 1
    assert any((tmp_path / "out").glob("*.parquet"))


@pytest.mark.parametrize(
    ("words", "kind"),
    [("run nothing --out out", "closed"), ("run sample --seed x --out out", "full"), ("worker nowhere:1", "unread")],
)
def test_errors_keep_their_code(words: str, kind: str, tmp_path: Path) -> None:
    with (tmp_path / "stdout").open("wb") as file:
        assert ended(words, tmp_path, kind, file.fileno()) == 2
    assert (tmp_path / "stdout").read_bytes() == b""


def test_names_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = "d\x1b[31m\x07\rred"
    say(f"results: {name}")
    put_text(f"workload  {name}\njobs  2")
    put(name)  # a program that reads it needs the name itself
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    put(name)
    said = capsys.readouterr()
    shown = r"d\x1b[31m\x07 red"
    assert said.err == f"results: {shown}\n"
    assert said.out == f"workload  {shown}\njobs  2\n{name}\n{shown}\n"
