"""``twolevel report``: which page of which folder, what it refuses, and a study that is followed to its end."""

import contextlib
import fcntl
import json
import shlex
from pathlib import Path

import pytest
from command_line import everything_in, succeeds, twolevel
from tables import table_rows

from bridge.runs import page
from bridge.runs.again import command_again
from bridge.studies.journal import JOURNAL, Journal, at_work
from bridge.studies.results import follow
from traces.tables import table_rows as rows_of_table

KINDS = {"run": "Run", "study": "Study", "cmp": "Comparison", "replay": "Replay"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of each kind."""
    folder = tmp_path_factory.mktemp("results")
    grid = ("grid", "sample", "--select", "first:8", "--bls", "fcfs,sjf", "--workers", 1)
    run = ("run", "sample", "--select", "first:12", "--trace", "none", "--variation", "0.25")
    for words in (
        (*run, "--out", folder / "run"),
        (*run, "--als", "gss", "--out", folder / "other"),
        ("compare", folder / "run", folder / "other", "--out", folder / "cmp"),
        (*grid, "--als", "static", "--variation", "0", "--seeds", "1", "--out", folder / "study"),
    ):
        succeeds(*words)
    # As twolevel replay writes it, as far as it is needed.
    (folder / "replay").mkdir()
    (folder / "replay" / "jobs.parquet").write_bytes((folder / "run" / "jobs.parquet").read_bytes())
    record = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    (folder / "replay" / "run.json").write_text(json.dumps(record | {"replay": {"release": "22.05.8"}}))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_a_folder_is_of_what_is_in_it(here: Path, results: Path, kind: str) -> None:
    ran = twolevel("report", results / kind, "-o", "page.html")
    assert (ran.code, ran.out, ran.err.splitlines()[-1]) == (0, "", "page: page.html")
    assert f"twolevel · {KINDS[kind]}</p>" in Path("page.html").read_text(encoding="utf-8")


def test_two_runs_are_compared_and_the_page_may_be_replaced(here: Path, results: Path) -> None:
    ran = twolevel("report", results / "run", results / "other", "-o", "both.html")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "page: both.html")
    before = Path("both.html").read_bytes()
    assert "<h1>technique " in before.decode()
    again = ("report", results / "run", results / "other", "-o", "both.html")
    ran = twolevel(*again)
    assert (ran.code, ran.err) == (
        2,
        "twolevel: -o: both.html exists; choose another name, or replace it with --force\n",
    )
    succeeds(*again, "--force")
    assert Path("both.html").read_bytes() == before


@pytest.mark.parametrize(("words", "shown"), [(("tasks",), 1), (("tasks", "tasks"), 2)])
def test_a_page_of_many_tasks_says_that_it_lacks_them(
    here: Path, results: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], shown: int
) -> None:
    succeeds(
        *(
            "run",
            "sample",
            "--select",
            "first:12",
            "--trace",
            "none",
            "--als",
            "gss",
            "--tasks",
            "--out",
            here / "tasks",
        )
    )
    n_tasks = rows_of_table(here / "tasks" / "tasks.parquet")
    folders = [here / word if word == "tasks" else results / word for word in words]
    monkeypatch.setattr(page, "MOST_TASKS", n_tasks)
    ran = twolevel("report", *folders, "-o", "whole.html")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "page: whole.html")
    assert "without their tasks" not in ran.err + Path("whole.html").read_text(encoding="utf-8")
    monkeypatch.setattr(page, "MOST_TASKS", n_tasks - 1)
    ran = twolevel("report", *folders, "-o", "part.html")
    said = f"The timeline shows jobs without their tasks: the run has {n_tasks:,} tasks, a page shows up to {n_tasks - 1:,}."
    assert [line for line in ran.err.splitlines() if line.startswith(said)] == ran.err.splitlines()[-2:-1]
    text = Path("part.html").read_text(encoding="utf-8")
    assert text.count(said) == shown
    if len(words) == 1:  # the figures of tasks are still there
        assert "Chunk sizes of one job" in text
        assert "Distribution of task lengths" in text


@pytest.mark.parametrize(("words", "said"), table_rows(__file__, "refused"))
def test_what_cannot_be_shown_is_said_in_one_line(here: Path, results: Path, words: str, said: str) -> None:
    for name in ("run", "other"):
        Path(name).symlink_to(results / name)
    Path("file").write_text("")
    Path("empty").mkdir()
    Path("cut").mkdir()
    Path("cut/run.json").write_bytes((results / "run" / "run.json").read_bytes())
    Path("cut/jobs.parquet").write_bytes((results / "run" / "jobs.parquet").read_bytes()[:400])
    before = everything_in(here)
    ran = twolevel("report", *words.split(" "))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("twolevel: ")
    assert ran.err.count("\n") == 1
    assert said in ran.err
    assert everything_in(here) == before


def test_the_command_on_a_page_makes_the_same_run(here: Path, results: Path) -> None:
    record = json.loads((results / "other" / "run.json").read_text(encoding="utf-8"))
    command = command_again(record["arguments"])
    options = "--select first:12 --no-preset --als gss --variation 0.25 --trace none"
    assert command == f"twolevel run sample {options} --out again"
    replayed = {"workload": "sample", "trace": ["perfetto", "csv"]}
    assert command_again(replayed, "replay", {}) == "twolevel replay sample --trace perfetto,csv --out again"
    older = {"workload": "sample", "trace": True}
    assert command_again(older, "replay", {}) == "twolevel replay sample --trace otf2 --out again"
    unread = {"workload": "sample", "bls": "sjf", "power": "held", "signals": "prices.csv"}
    assert command_again(unread) == "twolevel run sample --bls sjf --power held --out again"
    assert command_again({"workload": "sample", "reaction_ns": 5}) == ""
    succeeds(*command.split()[1:], "--same-as", results / "other")


def test_the_command_on_a_page_is_quoted() -> None:
    for name in ("a b'c.swf", "$(rm x).swf", "x;y"):
        assert shlex.split(command_again({"workload": name}))[2] == name
    assert shlex.split(command_again({"workload": "-weird.swf"}))[2] == "./-weird.swf"


@pytest.fixture
def under_way(here: Path, results: Path) -> Path:
    """The folder of a study as it is while it runs."""
    study = here / "study"
    study.mkdir()
    for name in ("study.json", "journal.jsonl"):
        (study / name).write_bytes((results / "study" / name).read_bytes())
    return study


def test_a_study_is_followed_to_its_end(under_way: Path, results: Path) -> None:
    # Its journal has the first of its two runs.
    study = under_way
    lines = (results / "study" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 4
    (study / "journal.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])  # the last line is being written
    succeeds("report", "study", "-o", "half.html")
    assert "2 combinations × 1 seed: 2 runs; 1 finished so far." in Path("half.html").read_text()
    pages: list[str] = []

    def write() -> bool:
        succeeds("report", "study", "-o", "page.html", "--force")
        pages.append(Path("page.html").read_text())
        return (study / "results.parquet").is_file()

    looks = iter((lambda: None, lambda: _go_on(study, b"".join(lines)), lambda: _finish(study, results)))
    follow(study, write, lambda seconds: next(looks)())
    said = ["1 finished so far", "2 finished so far", "all finished"]
    assert [words in page for words, page in zip(said, pages, strict=True)] == [True] * 3


def _go_on(study: Path, journal: bytes) -> None:
    (study / "journal.jsonl").write_bytes(journal)


def _finish(study: Path, results: Path) -> None:
    for name in ("results.parquet", "costs.parquet"):
        (study / name).write_bytes((results / "study" / name).read_bytes())


def test_live_ends_with_a_study_that_is_done(here: Path, results: Path) -> None:
    ran = succeeds("report", results / "study", "-o", "page.html", "--live")
    assert ran.err.splitlines()[-1] == "the study is done"
    assert "data-live=" not in Path("page.html").read_text(encoding="utf-8").split("<script>")[0]


def test_an_interrupt_leaves_the_page_as_it_is(under_way: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(follow, "__defaults__", (interrupted,))
    ran = twolevel("report", "study", "-o", "page.html", "--live")
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == "twolevel: interrupted; page.html shows the study in progress"
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'class="live" data-live="5"' in page
    assert [path.name for path in Path().iterdir() if path.name.startswith(".page")] == []


def test_live_ends_with_a_study_that_has_died(under_way: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = contextlib.ExitStack()
    stack.enter_context(Journal(under_way))
    looks: list[float] = []

    def look(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 10:  # until then somebody is at work
            stack.close()

    monkeypatch.setattr(follow, "__defaults__", (look,))
    ran = twolevel("report", "study", "-o", "page.html", "--live")
    assert ran.code == 1
    assert ran.err.splitlines()[1:] == ["twolevel: the study in study has stopped; page.html shows its finished cells"]
    assert len(looks) == 13
    assert 'class="live"' not in Path("page.html").read_text(encoding="utf-8").split("<script>")[0]


def test_asking_who_is_at_work_disturbs_no_process(here: Path) -> None:
    assert not at_work(here)
    with Journal(here):
        assert at_work(here)
    assert not at_work(here)
    # Whoever asks has the lock for a moment: a study that begins just then waits for that.
    with open(here / JOURNAL, "rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("time.sleep", lambda seconds: fcntl.flock(asking, fcntl.LOCK_UN))
            with Journal(here):
                assert at_work(here)
