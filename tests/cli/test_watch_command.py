"""``twolevel watch``: runs that are under way, have ended, have died, or were never there."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import everything_in, twolevel
from test_progress import shown, terminal

from bridge.live.file import FILE, Live, LiveFile, Process, read_live
from bridge.live.watch import DIED, ENDED, UNDER_WAY, find_run, watch_run
from bridge.runs.directory import fresh_directory
from traces.base.errors import InputError

RUN = ("run", "sample", "--als", "recorded", "--select", "first:60", "--no-trace")
GONE = Process(1, os.uname().nodename, "a process of another time")

#: Looks once at the run from within it, by way of a policy that decides.
WATCHED = """
import os
from bridge.live.watch import watch_run
from pathlib import Path
class Clerk:
    name = "clerk"
    looked = False
    def decide(self, view):
        if view.n_running and not Clerk.looked:
            Clerk.looked = True
            {what}
        free, answer = view.free_cores, []
        for job in view.waiting:
            if job.cores > free:
                break
            free -= job.cores
            answer.append(job)
        return answer
"""


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
    """What a run does at its end."""
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
    assert watched(stage) == (0, "the run prepares\n" * 3 + END)
    assert stage.slept == [1.0, 1.0]


def test_a_run_that_dies(published: Path) -> None:
    stage = Stage(lambda: LiveFile(published).write(Live(GONE, "starting", 1000.0)))
    last = f"the run has died: process 1 is gone; it has left {published}\n"
    assert watched(stage) == (1, "the run prepares\n" * 2 + last)
    assert watched() == (1, "the run prepares\n" + last)  # what it showed last, and what has become of it


def test_once_and_as_json(published: Path) -> None:
    assert watched(once=True) == (0, "the run prepares\n")
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

    assert watched(Stage(interrupt)) == (0, "the run prepares\n")
    assert read_live(published) is not None


def test_on_a_terminal_the_screen_is_left_as_it_was(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with terminal() as (stream, master):
        stage = Stage(nothing, lambda: end(published))
        assert watch_run(Path("r"), stream=stream, sleep=stage, wall_clock=lambda: 1001.0) == 0
        said = shown(stream, master)
    assert stage.slept == [0.25, 0.25]
    assert said.count("\x1b[?1049h") == said.count("\x1b[?1049l") == 1
    assert said.partition("\x1b[?1049l")[2].replace("\r", "").endswith("the run prepares\n" + END)


def test_which_run_is_meant(published: Path) -> None:
    found = find_run(Path("r/"))
    assert found is not None
    assert (found.state, found.folder) == (UNDER_WAY, published)
    # A later one that has died does not hide it; nor do those of other names, or a grid, which shows nothing.
    for name, process in ((".r.partial-y", GONE), (".rr.partial-x", GONE), (".r.partial-", None)):
        Path(name).mkdir()
        if process:
            LiveFile(Path(name)).write(Live(process, "starting", 1000.0))
    found = find_run(Path("r"))
    assert found is not None
    assert (found.state, found.folder) == (UNDER_WAY, published)
    shutil.rmtree(published)
    found = find_run(Path("r"))
    assert found is not None
    assert (found.state, found.folder.name) == (DIED, ".r.partial-y")
    later = published.with_name("later")
    later.mkdir()
    end(later)
    os.utime(Path(".r.partial-y") / FILE, ns=(1, 1))
    found = find_run(Path("r"))
    assert found is not None
    assert found.state == ENDED
    # Nor do earlier results hide a run that was to replace them and has died.
    os.utime(Path("r") / "run.json", ns=(0, 0))
    found = find_run(Path("r"))
    assert found is not None
    assert found.state == DIED


def test_where_there_is_no_run(here: Path) -> None:
    def fault(name: str) -> str:
        with pytest.raises(InputError) as raised:
            watch_run(here / name)
        return str(raised.value).removeprefix(f"{here / name}: ")

    none = "there are no results, and no run that makes them is under way; allowed: the --out of a run that has begun"
    assert fault("r") == fault("no/where/r") == none
    (here / "r").mkdir()
    assert fault("r") == "is not a result of twolevel run, and no run that makes one there is under way"
    (here / "r" / "study.json").write_text("{}")
    assert fault("r") == "is the result of a study; only runs can be watched"
    with fresh_directory(here / "g", False):
        assert fault("g").startswith("what is being made there, or was left there, shows nothing of itself")
    (here / ".h.partial-1").mkdir()
    (here / ".h.partial-1" / FILE).write_text("{")
    assert "live.json: not valid JSON: " in fault("h")


# ---- the command ----


def test_the_command_shows_a_run_from_within(here: Path) -> None:
    (here / "clerk.py").write_text(WATCHED.format(what="watch_run(Path('r'), once=True, as_json=True)"))
    ran = twolevel(*RUN, "--bls", "clerk.py:Clerk", "--out", "r")
    assert ran.code == 0, ran.err
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
