"""Full disks, lost streams, interrupts and plug-ins that exit: every command ends as it should, and leaves what was there."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from command_line import Ran, everything_in, succeeds, twolevel
from layers import these_stay
from tables import table_rows, table_text

from als.graphs import graph_model
from als.graphs.trial import try_out as try_graph
from als.planners import PLANNERS
from als.planners.trial import try_out as try_planner
from als.techniques.python_technique import _Calls
from bls.simulator import BatchSimulator
from bls.workloads import read_workload
from bridge.standard_error import put, put_text, say
from traces.base.errors import PluginError
from traces.base.written_file import whole_file


@contextmanager
def files_up_to(limit: int) -> Iterator[None]:
    """No file may grow beyond this number of bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


#: What is written, with the words of the command ({r}: a run), and the largest file (bytes).
WRITES = {
    "report.html": ("report {r} -o", 2000),
    "gantt.svg": ("gantt {r} -o", 2000),
    "otf2": ("trace convert {r} --out", 300),
    "csv": ("trace convert {r} --trace csv --out", 300),
    "log.swf.gz": ("workload cut sample --select first:200 -o", 300),
    "export.csv": ("workload export {r} --trace batsim -o", 300),
    "compared": ("compare {r} {r} --out", 300),
    "run": ("run sample --select first:20 --trace none --out", 300),
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
    succeeds(*words)
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


#: An application process dies once; in the process of the command itself nothing happens.
_DIES = table_text(__file__, "dies")

_RUN = "sample --select first:12 --variation 0.25"

#: Commands by what writes to stderr in them; each writes into ``out``.
COMMANDS = {
    "inline": f"run {_RUN} --als gss --trace none --out out",
    "process": f"run {_RUN} --als mine.py:Dies --trace none --coupling process --out out",
    "live": f"run {_RUN} --als mine.py:Dies --trace none --coupling pool --live --out out",
    "workers": "study study.toml --workers 2 --no-figures --out out",
}

_STUDY = table_text(__file__, "study")


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


@pytest.mark.parametrize(("words", "kind"), table_rows(__file__, "errors_keep_their_code"))
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


CALLED = table_text(__file__, "called")


@contextmanager
def interrupted(code: Any, event: str) -> Iterator[list[str]]:
    """SIGTERM comes at the first step of the third call of a function, or at its last one: what Python would do by itself."""
    came: list[str] = []
    calls = 0

    def step(frame: FrameType, happened: str, given: object) -> Any:
        nonlocal calls
        if frame.f_code is not code:
            return None
        calls += happened == event
        if calls == 3 and not came:
            came.append(event)
            handler = signal.getsignal(signal.SIGTERM)
            assert callable(handler)
            handler(signal.SIGTERM, frame)
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        yield came
    finally:
        sys.settrace(before)


def codes() -> dict[str, Any]:
    chunk = next(one for one in _Calls._chunk_called.__code__.co_consts if getattr(one, "co_name", "") == "called")
    return {"decide": BatchSimulator._called.__code__, "begin": _Calls._begin_called.__code__, "chunk": chunk}


@pytest.mark.parametrize(("called", "event"), [("decide", "return"), ("begin", "call"), ("chunk", "return")])
def test_as_what_compiled_code_calls_begins_and_ends(
    called: str, event: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.py").write_text(CALLED)
    before = everything_in(here)
    plugin = ("--bls", "mine.py:Waits") if called == "decide" else ("--als", "mine.py:Halves")
    words = ("run", "sample", "--select", "first:12", "--variation", 0.25, *plugin, "--trace", "none", "--out", "r")
    with interrupted(codes()[called], event) as came:
        ran = twolevel(*words)
    assert came == [event]
    assert (ran.code, ran.out, ran.err) == (130, "", "twolevel: interrupted; nothing was written\n")
    assert capfd.readouterr() == ("", "")
    assert everything_in(here) == before


RUN = ("run", "sample", "--select", "first:3", "--trace", "none", "--out", "r")
SAID = "failed: SystemExit: 0"

WRITTEN = table_text(__file__, "written")


def written(here: Path, *, head: str = "", body: str = "    pass") -> str:
    """A file with a class ``Mine``; gives the name to use it by."""
    (here / "mine.py").write_text(WRITTEN.format(head=head, body=body))
    return "mine.py:Mine"


def refused(here: Path, *words: object) -> str:
    before = everything_in(here)
    ran = twolevel(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1), ran.err
    assert everything_in(here) == before
    return ran.err.removeprefix("twolevel: ").removesuffix("\n")


def method(name: str) -> str:
    return f"    def {name}(self, *given, **named):\n        sys.exit(0)"


def test_while_it_is_loaded(here: Path) -> None:
    name = written(here, head="sys.exit(0)")
    assert "mine.py cannot be loaded: SystemExit: 0" in refused(here, *RUN, "--bls", name)
    name = written(here, body=method("__init__"))
    for option in ("--bls", "--als", "--allocator", "--estimates", "--observe", "--lengths"):
        assert "mine.py:Mine() cannot be made: SystemExit: 0" in refused(here, *RUN, option, name)


@pytest.mark.parametrize(
    ("option", "called", "message"),
    [
        ("--bls", "keys", f"batch policy mine: keys() {SAID}"),
        ("--bls", "decide", f"decide() {SAID}"),
        ("--als", "chunk", f"technique mine: chunk() {SAID}"),
        ("--estimates", "planned_ns", f"estimator mine: planned_ns() {SAID}"),
        ("--observe", "look", f"look() {SAID}"),
    ],
)
def test_when_it_is_asked(here: Path, option: str, called: str, message: str) -> None:
    assert message in refused(here, *RUN, option, written(here, body=method(called)))


def test_when_it_reads(here: Path) -> None:
    name = written(here, body=method("__call__"))
    with pytest.raises(PluginError, match=r"x\.log: reader mine\.py:Mine failed: SystemExit: 0"):
        read_workload("x.log", format=name)


def test_in_another_process(here: Path) -> None:
    name = written(here, body=method("chunk"))
    said = refused(here, *RUN, "--als", name, "--coupling", "pool", "--workers", 1)
    assert said.startswith(f"job 3: the application simulator reports: technique mine: chunk() {SAID}")


def test_in_a_cell_of_a_study(here: Path) -> None:
    name = written(here, body=method("keys"))
    ran = twolevel("grid", "sample", "--select", "first:3", "--bls", f"fcfs,{name}", "--als", "recorded", "--out", "g")
    assert ran.code == 1
    assert f"batch policy mine: keys() {SAID}" in ran.err


def test_where_nobody_asks_it_anything(here: Path) -> None:
    body = "    @property\n    def keys(self):\n        sys.exit(0)"
    assert "called sys.exit(0)" in refused(here, *RUN, "--bls", written(here, body=body))


def exits(*given: object) -> int:
    raise SystemExit(0)


def test_when_it_is_tried() -> None:
    with pytest.raises(PluginError, match="n_tasks raises SystemExit 0; allowed: an answer"):
        try_graph(replace(graph_model("cholesky:tiles=3"), n_tasks=exits))
    with pytest.raises(PluginError, match="floats raises SystemExit 0; allowed: a whole number"):
        try_planner(replace(PLANNERS["heft"], floats=exits))
