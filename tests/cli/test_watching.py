"""Progress bars, and ``twolevel watch``: runs that are under way, have ended, have died, or were never there."""

import io
import json
import os
import pty
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pytest
from command_line import everything_in, succeeds, twolevel
from tables import table_text

from bridge.live.file import FILE, Live, LiveFile, Process, read_live
from bridge.live.progress import Progress, StudyProgress
from bridge.live.watch import DIED, ENDED, UNDER_WAY, find_run, watch_run
from bridge.runs.directory import fresh_directory
from traces.base.errors import InputError


class Clock:
    """Shows what the test says."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@contextmanager
def terminal() -> Iterator[tuple[TextIO, int]]:
    """A text stream to a terminal, and the file descriptor that reads what is shown there."""
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as stream:
            yield stream, master
    finally:
        os.close(master)


def shown(stream: TextIO, master: int) -> str:
    stream.flush()
    os.set_blocking(master, False)
    seen = b""
    try:
        while part := os.read(master, 65536):
            seen += part
    except BlockingIOError:
        pass
    return seen.decode()


@pytest.fixture(autouse=True)
def a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def test_nothing_for_a_second_then_jobs_simulated_time_and_rate() -> None:
    clock = Clock()
    with terminal() as (stream, master):
        with Progress(2000, stream=stream, clock=clock) as watch:
            clock.now_s += 0.99
            watch(500, 3600 * 10**9)
            assert shown(stream, master) == ""
            clock.now_s += 1.01
            watch(1000, 7200 * 10**9 + 5 * 60 * 10**9)
            assert "1,000 of 2,000 jobs  simulated 2 h 05 min  500 jobs/s" in shown(stream, master)
            clock.now_s += 0.05  # too soon to draw again
            watch(1100, 0)
            assert "1,100" not in shown(stream, master)
            clock.now_s += 0.95
            watch(1200, 8000 * 10**9)
            assert "1,200 of 2,000 jobs" in shown(stream, master)
        assert shown(stream, master).endswith("\x1b[2K")  # the line is cleared at the end


def test_nothing_in_a_pipe() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress(10, stream=stream, clock=clock) as watch:
        clock.now_s += 100
        watch(5, 10**9)
    assert stream.getvalue() == ""


def test_a_study_shows_cells_done_and_the_time_left_on_a_terminal() -> None:
    clock = Clock()
    with terminal() as (stream, master), StudyProgress(stream=stream, clock=clock) as watch:
        watch.begin(1200, 200)
        clock.now_s += 0.9
        watch(90, 0)
        assert shown(stream, master) == ""
        clock.now_s += 9.1
        watch(250, 3)
        seen = shown(stream, master)
        assert "450 of 1,200 cells, 3 failed, 43 s left" in seen
        clock.now_s += 0.05
        watch(251, 3)
        assert "451" not in shown(stream, master)


def test_elsewhere_a_study_writes_a_line_every_half_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    with StudyProgress(stream=stream, clock=clock) as watch:
        watch.begin(100, 0)
        for done in range(1, 100):
            clock.now_s += 2
            watch(done, 0)
    lines = stream.getvalue().splitlines()
    assert lines == [
        "15 of 100 cells, 2 min 50 s left",
        "30 of 100 cells, 2 min 20 s left",
        "45 of 100 cells, 110 s left",
        "60 of 100 cells, 80 s left",
        "75 of 100 cells, 50 s left",
        "90 of 100 cells, 20 s left",
    ]


def test_what_a_worker_waits_for_kernels_later_is_not_counted() -> None:
    clock, stream = Clock(), io.StringIO()
    with StudyProgress(stream=stream, clock=clock) as watch:
        watch.begin(100, 0)
        for done in range(1, 41):
            clock.now_s += 1 + 20 * (done == 30)
            watch(done, 0, 20.0 if done >= 30 else 0.0)
    assert stream.getvalue() == "30 of 100 cells, 70 s left\n"


def test_how_long_a_run_will_take_is_said_once_it_is_known() -> None:
    clock = Clock()
    with terminal() as (stream, master), Progress(2000, stream=stream, clock=clock) as watch:
        for ended in (100, 600, 1100):
            clock.now_s += 2
            watch(ended, 10**9)
        lines = [part for part in re.split(r"[\r\x1b]", shown(stream, master)) if "jobs/s" in part]
    assert [line.partition("jobs/s")[2].rstrip() for line in lines[:3]] == ["", ", 6 s left", ", 4 s left"]


RUN = ("run", "sample", "--als", "recorded", "--select", "first:60", "--trace", "none")
GONE = Process(1, os.uname().nodename, "a process of another time")

#: Looks once at the run from within it, by way of a policy that decides.
WATCHED = table_text(__file__, "watched")


class Stage:
    """Plays what happens while somebody waits for the next look."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        self._acts = list(acts)
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._acts.pop(0)()


def nothing() -> None:
    pass


@pytest.fixture
def published(here: Path) -> Path:
    """The hidden folder of a run that says that it prepares."""
    folder = here / ".r.partial-x"
    folder.mkdir()
    LiveFile(folder).write(Live(Process.this(), "starting", 1000.0))
    return folder


def end(folder: Path) -> None:
    LiveFile(folder).remove()
    metrics = {"jobs": 3, "makespan_ns": 7200 * 10**9, "utilisation": 0.5}
    (folder / "run.json").write_text(json.dumps({"metrics": metrics}))
    if (folder.parent / "r").exists():
        shutil.rmtree(folder.parent / "r")
    folder.rename(folder.parent / "r")


END = "the run has ended: 3 jobs, makespan 2 h 00 min, utilisation 0.5000, results: r\n"


def watched(stage: Stage | None = None, **options: Any) -> tuple[int, str]:
    """The exit code, and what was said."""
    stream = io.StringIO()
    code = watch_run(Path("r"), stream=stream, sleep=stage or Stage(), wall_clock=lambda: 1001.0, **options)
    return code, stream.getvalue()


def test_a_run_is_followed_to_its_end(published: Path) -> None:
    stage = Stage(nothing, lambda: end(published))
    assert watched(stage) == (0, "the run is preparing\n" * 3 + END)
    assert stage.slept == [1.0, 1.0]


def test_a_run_that_is_stopped_leaves_no_results(published: Path) -> None:
    # Of two runs with --force, the one that is watched is interrupted, the other ends.
    other = published.with_name(".r.partial-old")
    other.mkdir()
    end(other)
    os.utime("r/run.json", ns=(1, 1))
    code, said = watched(Stage(lambda: shutil.rmtree(published)))
    assert (code, said.splitlines()[-1]) == (1, "the run has stopped without results: it failed, or was interrupted")


def test_a_run_that_is_silent(published: Path) -> None:
    def elsewhere() -> None:
        LiveFile(published).write(Live(Process(5, "n17", "7"), "starting", 900.0))

    LiveFile(published).write(Live(Process.this(), "starting", 995.0))
    said = watched(Stage(elsewhere, lambda: end(published)))[1].splitlines()
    assert said[0] == "the run is preparing; no sign of life for 6 s"
    assert said[1] == "the run is preparing; no sign of life for 101 s; it ran on n17, and may be gone"


def test_a_run_that_dies(published: Path) -> None:
    stage = Stage(lambda: LiveFile(published).write(Live(GONE, "starting", 1000.0)))
    last = f"the run has died: process 1 is gone; it left {published}\n"
    assert watched(stage) == (1, "the run is preparing\n" * 2 + last)
    assert watched() == (1, "the run is preparing\n" + last)  # what it showed last, and what has become of it


def test_once_and_as_json(published: Path) -> None:
    assert watched(once=True) == (0, "the run is preparing\n")
    code, said = watched(once=True, as_json=True)
    plain = json.loads(said)
    assert (code, plain["state"], plain["folder"], plain["phase"]) == (0, "under way", str(published), "starting")
    stage = Stage(nothing, lambda: end(published))
    lines = [json.loads(line) for line in watched(stage, as_json=True)[1].splitlines()]
    assert [line["state"] for line in lines] == ["under way", "under way", "ended"]
    assert lines[-1]["metrics"]["jobs"] == 3
    assert json.loads(watched(once=True, as_json=True)[1])["state"] == "ended"


def test_an_interrupt_is_the_way_to_leave(published: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert watched(Stage(interrupt)) == (0, "the run is preparing\n")
    assert read_live(published) is not None


def test_on_a_terminal_the_screen_is_left_as_it_was(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with terminal() as (stream, master):
        stage = Stage(nothing, lambda: end(published))
        assert watch_run(Path("r"), stream=stream, sleep=stage, wall_clock=lambda: 1001.0) == 0
        said = shown(stream, master)
    assert stage.slept == [0.25, 0.25]
    assert said.count("\x1b[?1049h") == said.count("\x1b[?1049l") == 1
    assert said.partition("\x1b[?1049l")[2].replace("\r", "").endswith("the run is preparing\n" + END)


def found() -> tuple[str, str]:
    """The state and the folder of the run that ``r`` selects."""
    run = find_run(Path("r/"))
    assert run is not None
    return run.state, run.folder.name


def test_which_run_is_meant(published: Path) -> None:
    assert found() == (UNDER_WAY, published.name)
    # A later one that has died does not hide it; nor do those of other names, or a grid, which shows nothing.
    for name, process in ((".r.partial-y", GONE), (".rr.partial-x", GONE), (".r.partial-", None)):
        Path(name).mkdir()
        if process:
            LiveFile(Path(name)).write(Live(process, "starting", 1000.0))
    assert found() == (UNDER_WAY, published.name)
    shutil.rmtree(published)
    assert found() == (DIED, ".r.partial-y")
    later = published.with_name("later")
    later.mkdir()
    end(later)
    os.utime(Path(".r.partial-y") / FILE, ns=(1, 1))
    assert found()[0] == ENDED
    # Nor do earlier results hide a run that was to replace them and has died.
    os.utime(Path("r") / "run.json", ns=(0, 0))
    assert found()[0] == DIED


def test_where_there_is_no_run(here: Path) -> None:
    def fault(name: str) -> str:
        with pytest.raises(InputError) as raised:
            watch_run(here / name)
        return str(raised.value).removeprefix(f"{here / name}: ")

    none = "there are no results, and no run is making them; allowed: the folder of a run that has begun"
    assert fault("r") == fault("no/where/r") == none
    (here / "r").mkdir()
    assert fault("r") == "is not a result of twolevel run, and no run is making one there"
    (here / "r" / "study.json").write_text("{}")
    assert fault("r") == "is the result of a study; only runs can be watched"
    with fresh_directory(here / "g", False):
        assert fault("g").startswith("the run that is, or was, making it cannot be watched")
    (here / ".h.partial-1").mkdir()
    (here / ".h.partial-1" / FILE).write_text("{")
    assert "live.json: not valid JSON: " in fault("h")


def test_the_command_shows_a_run_from_within(here: Path) -> None:
    (here / "clerk.py").write_text(WATCHED.format(what="watch_run(Path('r'), once=True, as_json=True)"))
    ran = succeeds(*RUN, "--bls", "clerk.py:Clerk", "--out", "r")
    looked = json.loads(ran.out.splitlines()[0])
    assert looked["state"] == "under way"
    assert looked["process"]["pid"] == os.getpid()
    assert sorted(path.name for path in (here / "r").iterdir()) == ["jobs.parquet", "run.json"]
    before = everything_in(here)
    ran = twolevel("watch", "r")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("the run has ended: 60 jobs, makespan ")
    assert json.loads(twolevel("watch", "r", "--once", "--json").out)["metrics"]["jobs"] == 60
    assert everything_in(here) == before


def test_live_changes_no_result(here: Path) -> None:
    plain, live = (twolevel(*RUN, "--out", name, *more) for name, more in (("a", ()), ("b", ("--live",))))
    assert plain.code == live.code == 0
    assert (here / "a" / "jobs.parquet").read_bytes() == (here / "b" / "jobs.parquet").read_bytes()
    assert plain.out == live.out
