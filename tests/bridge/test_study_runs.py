"""A study run whole, in pieces with kills between, by one process or several: the same results, and nothing is lost."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from batch_features import BATCH_FEATURES
from command_line import succeeds, twolevel
from studies import killing_policy, quits, run_command, write_study
from tables import table_rows

from bls import sample_path
from bridge.studies.executors.executor import Executor, WorkSummary
from bridge.studies.executors.local import Here, Workers
from bridge.studies.input.study_file import load_study
from bridge.studies.journal import JOURNAL, Entry, Journal
from bridge.studies.preparing import find_inputs
from bridge.studies.results import COSTS, RESULTS, results_so_far
from bridge.studies.run_study import Report, repeat_study, run_study
from bridge.studies.unit import NoRoomError, remove_remains
from traces.base.errors import InputError, PeerError

pytestmark = pytest.mark.whole

TOTAL = 24


def here(needs: WorkSummary) -> Executor:
    return Here()


def two(needs: WorkSummary) -> Executor:
    return Workers(2)


def ran(path: Path, out: Path, executor: object = here) -> Report:
    return run_study(load_study(path), out, executor)  # type: ignore[arg-type]


def finished(folder: Path) -> int:
    with Journal(folder) as journal:
        return len(journal.finished)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the study, run in one go by one process; the policy of the user's does nothing."""
    folder = tmp_path_factory.mktemp("whole")
    path = write_study(folder, killing_policy(folder, "pass"))
    assert ran(path, folder / "out") == Report(TOTAL, 0, 0, ())
    return folder / "out"


def finished_in(folder: Path) -> Path:
    """A finished study of a log of its own."""
    shutil.copy(sample_path(), folder / "log.swf")
    path = write_study(folder)
    path.write_text(path.read_text().replace('"sample"', '"log.swf"'))
    ran(path, folder / "out")
    return folder


@pytest.fixture(scope="module")
def finished_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_in(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def done(finished_study: Path, tmp_path: Path) -> Path:
    """A copy of a finished study's file and results, of a log of its own."""
    return Path(shutil.copytree(finished_study, tmp_path / "done"))


def test_seeds_differ_policies_share_their_tasks_and_costs_are_there(whole: Path) -> None:
    table = pd.read_parquet(whole / RESULTS)
    assert table["cell"].tolist() == [row // 2 for row in range(TOTAL)]
    assert table["seed"].tolist() == [0, 1] * (TOTAL // 2)
    assert set(table["error"]) == {""}
    gss = table[(table["als"] == "gss") & (table["workload"] == "a")]
    assert gss.groupby("bls")["mean_length_cov"].nunique().tolist() == [2, 2]
    assert gss.groupby("seed")["mean_length_cov"].nunique().tolist() == [1, 1]
    costs = pd.read_parquet(whole / COSTS)
    assert len(costs) == TOTAL
    assert (costs["wall_s"] >= costs["simulation_s"]).all()
    assert (costs["simulation_s"] > 0).all()
    assert costs.loc[costs["workload"] == "a", "jobs"].unique().tolist() == [20]


@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.release)])
def test_after_a_kill_the_same_command_gives_the_same(whole: Path, tmp_path: Path, workers: int) -> None:
    # The command is killed, as by kill -9, from within a cell of the second workload.
    kill = "import multiprocessing; command = multiprocessing.parent_process()"
    kill += "; os.kill(command.pid if command else os.getpid(), signal.SIGKILL)"
    path = write_study(tmp_path, killing_policy(tmp_path, kill, "len(jobs.job_id) != 20"))
    words = ("study", path.name, "--workers", workers, "--no-figures", "--out", "out")
    assert run_command(*words, folder=tmp_path).returncode == -9
    assert not (tmp_path / "out" / RESULTS).exists()
    kept = finished(tmp_path / "out")
    assert 0 < kept < TOTAL
    end = succeeds("study", path, *words[2:-1], tmp_path / "out")
    assert f"{kept} of them finished before" in end.err
    assert (tmp_path / "out" / RESULTS).read_bytes() == (whole / RESULTS).read_bytes()
    assert not [name for name in os.listdir(tmp_path / "out") if name.endswith(".partial")]


def test_a_process_that_dies_takes_nothing_with_it(whole: Path, tmp_path: Path) -> None:
    path = write_study(tmp_path, killing_policy(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)"))
    # In this process, too, the policy is asked for its name; its keys are asked for in the workers only.
    assert ran(path, tmp_path / "out", two) == Report(TOTAL, 0, 0, ())
    assert (tmp_path / "done").exists()
    assert (tmp_path / "out" / RESULTS).read_bytes() == (whole / RESULTS).read_bytes()


def test_a_failed_cell_is_reported_and_tried_again(whole: Path, tmp_path: Path) -> None:
    path = write_study(tmp_path, killing_policy(tmp_path, "raise ValueError('so it is')", "len(jobs.job_id) != 20"))
    first = twolevel("study", path, "--workers", 1, "--no-figures", "--out", tmp_path / "out")
    assert first.code == 1
    for words in ("1 failed; results.parquet has the reasons", "seed 0: ", "so it is"):
        assert words in first.err
    table = pd.read_parquet(tmp_path / "out" / RESULTS)
    assert (table["error"] != "").sum() == 1
    report = ran(path, tmp_path / "out")
    assert report == Report(TOTAL, TOTAL - 1, 0, ())
    assert (tmp_path / "out" / RESULTS).read_bytes() == (whole / RESULTS).read_bytes()


def test_a_study_that_grows_keeps_what_is_finished(done: Path) -> None:
    path, out = done / "study.toml", done / "out"
    before = pd.read_parquet(out / RESULTS)
    path.write_text(path.read_text().replace("seeds = 2", "seeds = 3"))
    assert ran(path, out) == Report(36, 24, 0, ())
    after = pd.read_parquet(out / RESULTS)
    pd.testing.assert_frame_equal(after[after["seed"] < 2].reset_index(drop=True), before)
    # One that shrinks again has its old rows.
    path.write_text(path.read_text().replace("seeds = 3", "seeds = 2"))
    assert ran(path, out).kept == 24
    pd.testing.assert_frame_equal(pd.read_parquet(out / RESULTS), before)


def test_what_is_kept_is_of_the_seed_and_of_the_inputs(tmp_path: Path) -> None:
    shutil.copy(sample_path(), tmp_path / "log.swf")
    path = write_study(tmp_path, "edf", "keep = ['jobs']")
    path.write_text(path.read_text().replace('"sample"', '"log.swf"'))
    text, log = path.read_text(), (tmp_path / "log.swf").read_text()
    ran(path, tmp_path / "out")
    folder = tmp_path / "out/cells/a-fcfs-gss-0.2"
    first = (folder / "seed-1" / "jobs.parquet").read_bytes()
    # Other seeds have other folders; those of before stay.
    path.write_text(text.replace("seeds = 2", "seeds = [7, 1]"))
    assert ran(path, tmp_path / "out") == Report(TOTAL, TOTAL // 2, 0, (), TOTAL // 2)
    assert {name.name for name in folder.iterdir()} == {"seed-0", "seed-1", "seed-7"}
    # Another log overwrites what was kept of the first; so of that it is made again.
    path.write_text(text.replace('file = "log.swf"', 'file = "log.swf"\noversize = "clamp"', 1))
    changed = log.replace("\n", "\n;\n", 1)
    (tmp_path / "log.swf").write_text(changed)
    with pytest.raises(InputError, match=r"log\.swf has changed"):
        ran(path, tmp_path / "out")
    (tmp_path / "log.swf").write_text(log)
    (folder / "seed-1" / "cell.json").write_text('{"key": "another", "seed": 1}')
    path.write_text(text)
    assert ran(path, tmp_path / "out").kept == TOTAL - 1
    assert (folder / "seed-1" / "jobs.parquet").read_bytes() == first


def test_a_study_that_an_older_version_began_goes_on(tmp_path: Path) -> None:
    """Cells with power had other keys, of ``power`` and ``power-of``, in the journal and in the folders that are kept."""
    path, out = tmp_path / "study.toml", tmp_path / "out"
    path.write_text(
        '[study]\nseeds = 2\nkeep = ["jobs", "tasks"]\n[application]\nvariation = 0.1\n'
        '[workload]\nsource = "sample"\nselect = "first:5"\n'
        '[machine]\nplatform = "demand-response"\n[power]\nof = ["held", "working"]\n'
    )
    assert ran(path, out).total == 4
    inputs = find_inputs(load_study(path))
    for file in (out / JOURNAL, *out.rglob("cell.json")):
        text = file.read_text()
        for key, older in zip(inputs.keys, inputs.older, strict=True):
            text = text.replace(key, older[0])
        file.write_text(text)
    lines = (out / JOURNAL).read_text().splitlines(keepends=True)
    (out / JOURNAL).write_text("".join(lines[:-1]))
    before = pd.read_parquet(out / RESULTS)
    assert len(results_so_far(load_study(path), out)) == 3
    assert ran(path, out) == Report(4, 3, 0, ())
    pd.testing.assert_frame_equal(pd.read_parquet(out / RESULTS), before)


def test_tables_stay_until_those_of_a_study_that_grew_are_whole(done: Path) -> None:
    path, out = done / "study.toml", done / "out"
    tables = {name: (out / name).read_bytes() for name in (RESULTS, COSTS, "study.json")}
    policy = killing_policy(done, "raise KeyboardInterrupt", "len(jobs.job_id) == 18")
    path.write_text(path.read_text().replace('"edf"', f'"edf", "{policy}"'))
    with pytest.raises(KeyboardInterrupt):
        ran(path, out)
    assert {name: (out / name).read_bytes() for name in tables} == tables
    assert repeat_study(out, None, lambda study: here).equal
    assert ran(path, out).failed == 0
    assert len(pd.read_parquet(out / RESULTS)) == 32


COMPARED = ("jobs", "makespan_ns", "mean_wait_ns", "mean_unfairness_ns", "chunks", "mean_imbalance", "utilisation")
COMPARED += ("p95_bounded_slowdown", "max_queue_length")


def test_every_cell_is_as_the_command_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "narrow.toml").write_text("name = 'narrow'\n[[hosts]]\ncount = 2\ncores = 16\nspeed_gflops = 750.0\n")
    (tmp_path / "windows.toml").write_text("[[maintenance]]\nname = 'care'\nbegin = 3600\nend = 7200\nhosts = '0-1'\n")
    shutil.copy(Path(__file__).with_name("tables") / "study_of_many_options.toml", tmp_path / "study.toml")
    study = load_study(tmp_path / "study.toml")
    report = run_study(study, tmp_path / "out", here)
    assert report.failed == 0, report.errors
    table = pd.read_parquet(tmp_path / "out" / RESULTS)
    for place, cell in enumerate(study.cells):
        words: list[object] = []
        for name, value in cell.given.items():
            words += [f"--{name}"] if value is True else [f"--{name}", value]
        succeeds("run", "sample", *words, "--seed", 1, "--trace", "none", "--force", "--out", "r")
        metrics = json.loads(succeeds("metrics", "r", "--fair-start", "--json").out)
        row = table[table["cell"] == place].iloc[0]
        for name in COMPARED:
            expected = metrics[name]
            assert row[name] == expected or (pd.isna(row[name]) and expected is None), (place, name)
        mean = metrics["distribution"]["efficiency"]["mean"]
        assert row["mean_efficiency"] == mean or (pd.isna(row["mean_efficiency"]) and mean is None)
    assert table["makespan_ns"].nunique() > 6


def test_a_script_without_a_guard_runs_its_study_once(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    path.write_text(path.read_text().replace("seeds = 2", "seeds = 1"))
    script = "from bridge import load_study, run_study\nprint(run_study(load_study('study.toml'), 'out').failed)\n"
    (tmp_path / "script.py").write_text(script)
    end = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (end.returncode, end.stdout, end.stderr) == (0, "0\n", "")


def test_processes_that_cannot_begin_end_the_study_and_fail_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_study(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("bridge.studies.executors.local._work", quits)
        with pytest.raises(PeerError, match="exited with status 3 before it could; finished cells are kept"):
            ran(path, tmp_path / "out", two)
    with Journal(tmp_path / "out") as journal:
        assert not journal.failed
    assert ran(path, tmp_path / "out").failed == 0


def test_metrics_that_are_chosen_are_those_of_all(whole: Path, tmp_path: Path) -> None:
    everything = pd.read_parquet(whole / RESULTS)
    place = [*everything.columns[: everything.columns.get_loc("error") + 1]]
    names = ["p99_wait_ns", "makespan_ns", "p10_efficiency"]
    ran(write_study(tmp_path, killing_policy(tmp_path, "pass"), f"metrics = {json.dumps(names)}"), tmp_path / "out")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / RESULTS), everything[place + names])


@pytest.mark.parametrize("name", ["widths, failures, kills", "withdrawn", "all"])
def test_those_that_cost_less_are_the_same(name: str, tmp_path: Path) -> None:
    """Where rows held other cores than they asked for, or do not all count as others do."""
    result = BATCH_FEATURES[name].simulated(tmp_path)
    assert {key: result.metrics[key] for key in result.main_metrics} == dict(result.main_metrics)


def test_metrics_and_tables_that_are_wanted_later_are_made_later(tmp_path: Path) -> None:
    wanted = "metrics = ['makespan_ns', 'chunks']"
    path, out = write_study(tmp_path, "edf", wanted), tmp_path / "out"
    text = path.read_text()
    for study, kept, metric in (
        (wanted, 0, "makespan_ns"),
        ("metrics = ['chunks']", TOTAL, "chunks"),
        ("metrics = ['mean_wait_ns', 'chunks']", 0, "mean_wait_ns"),
        ("", 0, "p99_wait_ns"),
        ("keep = ['jobs', 'tasks', 'decisions']", 0, "p99_wait_ns"),
        ("keep = ['jobs', 'tasks', 'decisions']", TOTAL, "p99_wait_ns"),
    ):
        path.write_text(text.replace(wanted, study))
        assert ran(path, out).kept == kept
        assert pd.read_parquet(out / RESULTS)[metric].notna().all()
    assert {"tasks.parquet", "decisions.parquet"} <= set(os.listdir(out / "cells/b-fcfs-static-0.2/seed-0"))


def test_kept_cells_are_runs(tmp_path: Path) -> None:
    path = write_study(tmp_path, "edf", 'keep = ["jobs", "tasks", "trace"]')
    path.write_text(path.read_text().replace("seeds = 2", "seeds = [1]").replace('["fcfs", "edf"]', '"fcfs"'))
    assert ran(path, tmp_path / "out").total == 8
    folder = tmp_path / "out/cells/a-sjf+easy-fac-0.2/seed-1"
    words = ("--select", "first:20", "--bls", "sjf", "--backfill", "easy", "--als", "fac", "--variation", 0.2)
    words += ("--seed", 1, "--tasks-per-core", 3, "--tasks", "--out", tmp_path / "r")
    succeeds("run", "sample", *words)
    events = [f"trace/traces/{name}" for name in os.listdir(folder / "trace/traces")]
    for name in ("jobs.parquet", "tasks.parquet", *events):
        assert (folder / name).read_bytes() == (tmp_path / "r" / name).read_bytes(), name
    record, expected = (json.loads((one / "run.json").read_text()) for one in (folder, tmp_path / "r"))
    for one in (record, expected):
        del one["coupling"], one["decisions"]
    assert record == expected
    # One that was thrown away is made again.
    shutil.rmtree(folder)
    assert ran(path, tmp_path / "out").kept == 7
    assert (folder / "jobs.parquet").exists()


@pytest.mark.parametrize("limit", [pytest.param(3000, marks=pytest.mark.release), 40_000])
def test_a_full_disk_loses_nothing(whole: Path, tmp_path: Path, limit: int) -> None:
    # A file that may not grow any more is to a program what a full disk is.
    path, out = write_study(tmp_path, killing_policy(tmp_path, "pass")), tmp_path / "out"
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "from bridge.cli import main; main()"
    )
    command = [sys.executable, "-B", "-c", script, "study", path.name, "--workers", "1", "--no-figures", "--out", "out"]
    end = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (end.returncode, end.stderr.count("Traceback")) == (2, 0), end.stderr
    assert "File too large; finished cells are kept" in end.stderr
    kept = finished(out)
    assert (kept > 0) == (limit > 3000)
    assert ran(path, out) == Report(TOTAL, kept, 0, ())
    assert (out / RESULTS).read_bytes() == (whole / RESULTS).read_bytes()


def test_too_little_room_is_reported_before_anything_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.studies.run_study.shutil.disk_usage", lambda folder: SimpleNamespace(free=50_000))
    with pytest.raises(NoRoomError, match="needs about"):
        ran(write_study(tmp_path), tmp_path / "out")
    assert finished(tmp_path / "out") == 0


def test_a_line_that_was_cut_off_as_it_was_written_is_removed(tmp_path: Path) -> None:
    for seed in range(3):
        with Journal(tmp_path) as journal:
            journal.add(Entry("cell", seed, {"chunks": 5}, False, "", 1, 0.0, 0.0, "here"))
        with (tmp_path / JOURNAL).open("ab") as file:
            file.write(b'{"k":"cell","s":')
    with Journal(tmp_path) as journal:
        assert list(journal.finished) == [("cell", 0), ("cell", 1), ("cell", 2)]


def test_a_finished_study_runs_nothing(done: Path) -> None:
    def nobody(needs: WorkSummary) -> Executor:
        raise AssertionError("nothing is left to do")

    assert ran(done / "study.toml", done / "out", nobody).kept == TOTAL


def test_two_at_once_are_refused(done: Path) -> None:
    before = (done / "out" / JOURNAL).read_bytes()
    for force in (False, True):
        with Journal(done / "out"), pytest.raises(InputError, match="another twolevel is running"):
            run_study(load_study(done / "study.toml"), done / "out", here, force=force)
    assert (done / "out" / JOURNAL).read_bytes() == before


@pytest.mark.parametrize(
    ("file", "old", "new", "said"), table_rows(__file__, "results_of_another_study_log_or_version_are_left_alone")
)
def test_results_of_another_study_log_or_version_are_left_alone(
    done: Path, file: str, old: str, new: str, said: str
) -> None:
    (done / file).write_text((done / file).read_text().replace(old, new, 1))
    before = {path.name: path.read_bytes() for path in (done / "out").iterdir() if path.is_file()}
    with pytest.raises(InputError, match=said):
        ran(done / "study.toml", done / "out")
    assert {path.name: path.read_bytes() for path in (done / "out").iterdir() if path.is_file()} == before


def test_a_study_that_was_killed_at_its_very_begin_can_begin_again(done: Path) -> None:
    path, out = done / "study.toml", done / "out"
    (out / JOURNAL).unlink()
    (out / RESULTS).unlink()
    (out / "notes.txt").write_text("mine")
    assert ran(path, out).kept == 0
    assert run_study(load_study(path), out, here, force=True).kept == 0
    assert (out / "notes.txt").read_text() == "mine"


def test_a_repetition_wants_the_same_files(tmp_path: Path) -> None:
    out, moved = finished_in(tmp_path) / "out", tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "log.swf").rename(moved / "log.swf")
    with pytest.raises(InputError, match=r"log\.swf: no such file"):
        repeat_study(out, None, lambda study: here)
    assert repeat_study(out, None, lambda study: here, data=(moved,)).equal
    (moved / "log.swf").write_text(Path(sample_path()).read_text().replace("; Version", ";Version") + "\n")
    with pytest.raises(InputError, match="differs from the file that the study was run with"):
        repeat_study(out, None, lambda study: here, data=(moved,))


def test_what_is_no_study_is_not_written_into(tmp_path: Path) -> None:
    path, out = write_study(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("dear to me")
    for force in (False, True):
        with pytest.raises(InputError, match="exists and is not a result of twolevel study"):
            run_study(load_study(path), out, here, force=force)
    assert os.listdir(out) == ["mine.txt"]


def test_what_killed_processes_leave_is_recognised_by_its_whole_name(tmp_path: Path) -> None:
    left = ["cells/a/.seed-1.partial-0a_b1c2d", ".slurm-0a_b1c2d"]
    mine = [
        "cells/a/.seed-1.partial-of-mine",
        "cells/a/.my.partial-0a_b1c2d",
        "cells/.seed-1.partial-0a_b1c2d",
        ".slurm-notes",
    ]
    for name in (*left, *mine):
        (tmp_path / name / "within").mkdir(parents=True)
    remove_remains(tmp_path)
    assert sorted(name for name in (*left, *mine) if (tmp_path / name / "within").exists()) == sorted(mine)
