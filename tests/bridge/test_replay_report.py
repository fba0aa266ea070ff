"""The report of a replay: what it measures, by hand; what it draws; and the command that writes it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from slurm_here import needs_slurm
from tables import table_rows, table_text

from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.options.slurm import ReportOptions
from bridge.replay.report.asked import ReportRequest, given_plan, put_report
from bridge.replay.report.sides import (
    Side,
    classes,
    differences,
    engines,
    measures,
    median_side,
    of_result,
    parse_beside,
    recorded,
    submissions,
    submit_interval,
)
from bridge.replay.report.written import Attempt, SlurmReport, write_report
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from bridge.standard_error import on_command_line
from traces.base.errors import InputError
from traces.figures.replay.clocks import replay_rates_figure, replay_sizes_figure
from traces.figures.replay.differences import differences_figure
from traces.figures.replay.makespans import replay_makespans_figure
from traces.figures.replay.submissions import submissions_figure

pytestmark = pytest.mark.whole

S = 10**9
H = 3600 * S


def _side(label: str, *rows: tuple[int, int, int, int, int]) -> Side:
    job, submit, start, end, cores = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Side(label, job, submit * S, start * S, end * S, cores, 0, 0)


#: On 4 cores: the second job waits for 90 s and runs for 10.
BY_HAND = _side("a", (1, 0, 0, 100, 4), (2, 10, 100, 110, 2), (3, 20, 110, 310, 1))


def test_the_measures_of_the_papers_section_4_by_hand() -> None:
    found = measures(BY_HAND, 4, (50 * S, 210 * S))
    assert (found["makespan_ns"], found["throughput"]) == (310 * S, 1)  # the second
    # Within 50 to 210 s: 4 cores for 50 s, 2 for 10 s, 1 for 100 s, of 4 × 160 s.
    assert found["utilisation"] == pytest.approx((200 + 20 + 100) / 640)
    assert (found["mean_wait_ns"], found["median_wait_ns"], found["max_wait_ns"]) == (60 * S, 90 * S, 90 * S)
    assert found["mean_slowdown"] == pytest.approx((1 + 10 + 290 / 200) / 3)
    assert found["median_slowdown"] == pytest.approx(1.45)
    assert (found["high_slowdown"], found["high_slowdown_share"]) == (1, pytest.approx(1 / 3))


def test_jobs_that_ran_already_count_for_what_the_machine_does_and_for_nothing_else() -> None:
    rows = [(1, 0, 50, 100, 4), (2, 10, 100, 110, 2), (3, 20, 110, 310, 1)]
    with_one = replace(_side("a", *rows, (9, 0, 0, 50, 4)), preset=np.array([False, False, False, True]))
    found, known = (measures(one, 4, (0, 100 * S)) for one in (with_one, _side("a", *rows)))
    assert found == known | {"makespan_ns": 310 * S, "utilisation": 1.0}
    assert (known["makespan_ns"], known["utilisation"]) == (260 * S, 0.5)
    assert found["mean_wait_ns"] == (50 + 90 + 90) * S / 3
    assert differences(with_one, BY_HAND).job_id.tolist() == [1, 2, 3]
    assert median_side([with_one, with_one, with_one], "m").measured.job_id.tolist() == [1, 2, 3]


def test_differences_are_of_the_jobs_that_ran_in_both() -> None:
    other = _side("b", (2, 10, 90, 120, 2), (3, 21, 100, 300, 1), (4, 0, 0, 1, 1))
    found = differences(other, BY_HAND).set_index("job_id")
    names = ["delta_submit_ns", "delta_start_ns", "delta_duration_ns"]
    assert (found.index.tolist(), found["side"].tolist()) == ([2, 3], ["b", "b"])
    assert (found[names] / S).to_numpy().tolist() == [[0, -10, 20], [1, -10, 0]]


def test_the_median_schedule_has_each_jobs_median() -> None:
    sides = [
        _side("r", (1, 0, 5, 15, 1), (2, 0, 7, 9, 1)),
        _side("r", (1, 0, 1, 9, 1), (2, 0, 9, 12, 1), (3, 0, 0, 1, 1)),
        _side("r", (1, 0, 3, 23, 1), (2, 0, 8, 12, 1)),
    ]
    found = median_side(sides, "m")
    assert found.job_id.tolist() == [1, 2]
    assert (found.start_ns / S).tolist() == [3, 8]
    assert (found.run_ns / S).tolist() == [10, 3]
    assert (median_side(sides[:2], "m").start_ns / S).tolist() == [1, 7]  # the lower of two


def test_of_a_job_that_was_cut_the_last_attempt_that_ran_counts() -> None:
    rows = [(7, 0, 0, 50, 0), (3, 5, 60, 90, 0), (9, 6, -1, -1, 0), (7, 0, 100, 130, 1), (3, 5, -1, -1, 1)]
    job, submit, start, end, attempt = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    instants = {"submit_ns": submit, "begin_ns": submit, "start_ns": start, "end_ns": end}
    jobs = SimpleNamespace(job_id=job, attempt=attempt, cores=job, why=0 * job, **instants)
    found = of_result("a", SimpleNamespace(ledger=SimpleNamespace(jobs=jobs), metrics={"state_killed": 1}))  # type: ignore[arg-type]
    assert (found.job_id.tolist(), found.start_ns.tolist(), found.end_ns.tolist()) == ([3, 7], [60, 100], [90, 130])
    assert (found.attempts, found.not_run, found.killed) == (3, 1, 1)
    assert measures(found, 10, (0, 200))["attempts"] == 3


def test_a_report_of_jobs_that_never_ran_has_no_measures(tmp_path: Path) -> None:
    none = np.zeros(0, np.int64)
    slurm, ours = (Side(name, none, none, none, none, none, 0, 2, 0) for name in ("Slurm", "a"))
    attempts = (Attempt(0.0, 0, 2, 1.0, None, side=slurm), Attempt(10.0, 0, 2, 1.0, None))
    files = write_report(SlurmReport("w", (), (slurm, ours), (slurm,), attempts, 4, 0), tmp_path / "r")
    assert [path.name for path in files] == ["measures.csv", "rates.png", "repeats.csv", "report.md"]
    text = (tmp_path / "r/report.md").read_text()
    assert "| jobs that ran | 0 | 0 |\n" in text
    assert "| makespan |  |  |\n" in text
    assert median_side([slurm, slurm], "m").makespan_ns is None


def test_submissions_are_counted_by_the_hour_of_the_day() -> None:
    found = submissions(np.array([0, 1, 3599, 3600, 4 * 3600]) * S, of_day_ns=9 * H + 1800 * S)
    assert found.to_numpy().tolist() == [[9, 2], [10, 2], [11, 0], [12, 0], [13, 1]]
    assert [submit_interval(np.array(submits) * S) for submits in ([5, 2, 9], [5])] == [(2 * S, 9 * S), (5 * S, 6 * S)]


def test_classes_are_those_of_table_1() -> None:
    rows = [(1, 1, 3600), (2, 1, 3601), (3, 2, 10), (4, 3, 4 * 3600), (5, 4, 16 * 3600 + 1), (6, 129, 1)]
    found = classes(_side("a", *((job, 0, 0, run, cores) for job, cores, run in rows)))
    lines = {row[0]: row[1:] for row in found.to_numpy().tolist()}
    hours = ["0 to 1 h", "1 to 2 h", "2 to 4 h", "4 to 8 h", "8 to 16 h", "> 16 h"]
    assert list(found.columns) == ["cores", *hours, "total"]
    assert {cores: line for cores, line in lines.items() if line[-1]} == {
        "1": [1, 1, 0, 0, 0, 0, 2],
        "2": [1, 0, 0, 0, 0, 0, 1],
        "3 to 4": [0, 0, 1, 0, 0, 1, 2],
        "129 to 256": [1, 0, 0, 0, 0, 0, 1],
    }


def test_the_logs_own_schedule_is_of_the_jobs_whose_wait_it_knows() -> None:
    jobs = [(number, number, 10, 1, 10) for number in (1, 2, 3)]
    workload = replace(Workload.from_jobs(jobs), wait_ns=np.array([5 * S, -1, 0]))
    found = recorded(workload)
    assert found is not None
    assert (found.job_id.tolist(), (found.start_ns / S).tolist(), found.not_run) == ([1, 3], [6, 3], 1)
    assert recorded(Workload.from_jobs([(1, 0, 1, 1, 1)])) is None


def _planned(report: bool, beside: str, repeats: int, rates: Any, sizes: Any, *clock: float) -> ReportRequest | None:
    return given_plan(ReportOptions("also" if report else "none", beside, repeats, rates, sizes), *clock)


def test_what_may_be_asked_for() -> None:
    assert _planned(True, "sjf", 1, None, None, 0, 3.0) == ReportRequest((("sjf", "none"),), 1, (), ())
    assert _planned(False, "fcfs+easy,fcfs+conservative", 1, None, None, 0) is None
    found = _planned(True, "sjf, multifactor+easy", 3, "100,10", "50", 0)
    assert found == ReportRequest((("sjf", "none"), ("multifactor", "easy")), 3, (10.0, 100.0), (50,))
    assert parse_beside("expr:w/t+easy", "x") == (("expr:w/t", "easy"),)
    assert parse_beside("slurm:bf_interval=60,tick=0, multifactor:age=1,size=2+easy,sjf", "x") == (
        ("slurm:bf_interval=60,tick=0", "none"),
        ("multifactor:age=1,size=2", "easy"),
        ("sjf", "none"),
    )
    assert parse_beside("", "x") == ()


@pytest.mark.parametrize("way", ["best", "slurm:bf_interval=60,ticks=0", "fcfs+much"])
def test_who_cannot_stand_beside_is_refused_by_the_option_that_names_it(way: str) -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 1, 10)])
    scenario = ReadyScenario.of(jobs, Platform((HostGroup(1, 1, 1.0),)), Scenario.flat(als="recorded"))
    with pytest.raises(InputError) as caught:
        engines(scenario, parse_beside(way, "--beside"), jobs.job_id)
    assert re.match(rf"--beside: {re.escape(way)}: (?!--)", on_command_line(caught.value.text))


@pytest.mark.parametrize(
    ("given", "said"),
    [*table_rows(__file__, "what_may_not_be_asked_for"), ((True, "fcfs", 1, "10", "9" * 5000, 0), "--sizes: '999")],
)
def test_what_may_not_be_asked_for(given: list[Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        _planned(*(None if one == "None" else one for one in given))
    assert on_command_line(caught.value.text).startswith(said)


def _attempts() -> tuple[Attempt, ...]:
    exact = [Attempt(0.0, k, 3, 1.0 + k, 300 * S + k * S, side=BY_HAND) for k in range(2)]
    others = [
        Attempt(10.0, 0, 3, 30.0, 310 * S),
        Attempt(100.0, 0, 3, 9.0, 400 * S, "33% longer than the exact replay"),
        Attempt(100.0, 1, 3, 0.5, None, "has died"),
        Attempt(0.0, 0, 2, 1.0, 9 * S),
    ]
    return (*exact, *others)


def test_a_report_has_every_part_and_its_tables_say_the_same(tmp_path: Path) -> None:
    rows = [(1, 0, 1, 101, 4), (2, 10, 101, 111, 2), (3, 20, 111, 311, 1)]
    log, slurm = (_side(name, *rows) for name in ("log", "Slurm"))
    report = SlurmReport("w.swf", ("3 jobs",), (log, slurm, BY_HAND), (slurm, slurm), _attempts(), 4, 0)
    files = write_report(report, tmp_path / "report")
    assert [path.name for path in files] == [
        *("classes.csv", "differences.csv", "differences.png", "makespans.png", "measures.csv", "rates.png"),
        *("repeats.csv", "report.md", "sizes.png", "submissions.csv", "submissions.png"),
    ]
    text = (tmp_path / "report/report.md").read_text()
    for name in re.findall(r"\]\((\S+)\)", text):
        assert (tmp_path / "report" / name).read_bytes().startswith(b"\x89PNG")
    assert "| makespan | 5 min 10 s | 5 min 10 s | 5 min 10 s | 5 min 10 s … 5 min 10 s |" in text
    assert "| a | start | −1 s | −1 s | −1 s | −1 s | −1 s | 1 s |" in text
    assert "| Slurm | start | 0 s | 0 s | 0 s | 0 s | 0 s | 0 s |" in text
    assert re.search(r"\| 100× \| 2 \|.*\| 2 of 2 \|", text)
    assert re.search(r"\| 10× \| 1 \|.*\| \+3\.\d % \| 30\.0 s \| 0 of 1 \|", text)
    table = pd.read_csv(tmp_path / "report/measures.csv")
    assert table[["side", "repeat"]].to_numpy().tolist() == [["log", 0], ["Slurm", 0], ["a", 0], ["Slurm", 1]]
    assert len(pd.read_csv(tmp_path / "report/repeats.csv")) == 6


def test_figures_show_what_there_is() -> None:
    frame = pd.DataFrame([{"hour": 9, "jobs": 2}, {"hour": 10, "jobs": 0}, {"hour": 11, "jobs": 5}])
    (axes,) = submissions_figure(frame).axes
    assert [bar.get_height() for bar in axes.patches] == [2, 0, 5]
    names = ("rate", "repeat", "jobs", "elapsed_s", "failure", "makespan_ns")
    rows = pd.DataFrame([{name: getattr(one, name) for name in names} for one in _attempts()])
    above, below = replay_rates_figure(rows[rows["jobs"] == 3]).axes
    assert [bar.get_height() for bar in below.patches] == [0, 0, 100]
    assert [text.get_text() for text in below.get_xticklabels()] == ["exact", "10×", "100×"]
    assert len(above.containers) == 1
    (axes,) = replay_makespans_figure(rows[rows["jobs"] == 3], references={"log": 305 * S}).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["exact (2)", "10× (1)", "100× (1)"]
    left, right = replay_sizes_figure(rows).axes
    assert [line.get_xdata().tolist() for line in left.get_lines()] == [[2, 3], [3], [3]]  # type: ignore[union-attr]
    assert len(right.get_lines()) == 2  # an exact one does not fail
    panels = differences_figure(differences(BY_HAND, BY_HAND), reference="the log").axes
    assert [axes.get_xlabel() for axes in panels] == ["Δ submit", "Δ start", "Δ duration"]
    for drawn in (submissions_figure, replay_rates_figure, replay_sizes_figure):
        with pytest.raises(InputError, match="nothing to draw"):
            drawn(frame.head(0))


#: Four jobs on two hosts, with the starts that a log has recorded; the last one is backfilled.
_LOG = table_text(__file__, "log")


def _only_the_report(moved: pd.DataFrame) -> None:
    # Of the replay in r, which has none, without Slurm.
    words = ("replay", "w.swf", "--out", "r", "--report", "only", "--beside", "fcfs,fcfs+easy")
    before, ran = Path("r/jobs.parquet").read_bytes(), twolevel(*words)
    assert (ran.code, ran.out) == (0, ""), ran.err
    assert ran.err.endswith("report: r/report\n")
    # Slurm's schedule is that of the one replay, not the median of several.
    again = pd.read_csv("r/report/differences.csv")
    assert again.query("side != 'Slurm'").equals(moved.query("side != 'Slurm'"))
    assert Path("r/jobs.parquet").read_bytes() == before
    files = json.loads(Path("r/run.json").read_text())["files"]
    assert set(files) >= {"report/report.md", "report/differences.csv", "jobs.parquet", "run.json"}
    another = "--report only: r was made with select 'all', not 'first:2'; allowed: the same"
    for more, said in (
        ((), "--out: r/report exists; replace it with --force"),
        (("--force", "--settle", 0), "--report only: r was made with settle_s "),
        (("--force", "--repeats", 2), "--repeats: not with --report only, which starts no Slurm"),
        (("--force", "--select", "first:2"), another),
    ):
        bad = twolevel(*words, *more)
        assert (bad.code, len(bad.err.splitlines())) == (2, 1)
        assert said in bad.err
    succeeds(*words, "--force")
    assert not [path for path in Path("r").iterdir() if path.name.startswith(".")]
    files = json.loads(Path("r/run.json").read_text())["files"]
    assert sorted(files) == files == sorted(set(files))


@needs_slurm
def test_the_command_writes_a_report_next_to_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.swf").write_text(_LOG)
    words = ("--report", "--repeats", 2, "--rates", 90000, "--beside", "fcfs,fcfs+easy")
    succeeds("replay", "w.swf", "--out", "r", *words)
    text = Path("r/report/report.md").read_text()
    assert "|  | log | Slurm | fcfs | fcfs+easy | Slurm, 2 repeats |" in text
    assert "| makespan | 26 min 00 s |" in text  # of the log: from 10 s to 1570 s
    assert "| submit | 0 s | 0 s | 0 s | 0 s | 0 s | 0 s |" in text
    moved = pd.read_csv("r/report/differences.csv")
    assert set(moved["side"]) == {"Slurm", "fcfs", "fcfs+easy"}
    assert moved.query("side == 'fcfs'")["delta_start_ns"].tolist() == [-10 * S, -60 * S, -70 * S, 840 * S]
    repeats = pd.read_csv("r/report/repeats.csv")
    assert repeats[["rate", "repeat", "jobs"]].to_numpy().tolist() == [
        [0, 0, 4],
        [0, 1, 4],
        [90000, 0, 4],
        [90000, 1, 4],
    ]
    assert sorted(path.name for path in Path("r").iterdir()) == ["jobs.parquet", "report", "run.json", "slurm"]
    succeeds("replay", "w.swf", "--out", "r", "--force")
    assert not Path("r/report").exists()
    _only_the_report(moved)
    bad = twolevel("replay", "w.swf", "--out", "s", "--report", "--rates", 9, "--sizes", 4)
    assert (bad.code, bad.err) == (2, "twolevel: --sizes: there are 4 jobs; allowed: fewer\n")
    assert not Path("s").exists()


@needs_slurm
def test_a_report_that_fails_leaves_the_results_and_attempts_do_not_make_it_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.swf").write_text("; MaxProcs: 2\n1 0 0 600 2 -1 -1 2 900 -1 1 1 1 -1 1 1 -1 -1\n")
    Path("f.csv").write_text("host,down_s,up_s\n0,100,200\n")
    words = ("replay", "w.swf", "--report", "--beside", "fcfs", "--failures", "f.csv")
    words += ("--on-failure", "requeue", "--out")
    succeeds(*words, "r")
    assert "| attempts that ran |  | 2 | 2 |" in Path("r/report/report.md").read_text()

    def fails(*_: object) -> None:
        raise InputError("no report")

    monkeypatch.setattr("bridge.replay.report.asked.write_report", fails)
    ran = twolevel(*words, "s")
    assert ran.code == 2
    assert ran.err.endswith("results: s, without a report\ntwolevel: no report\n")
    assert sorted(path.name for path in Path("s").iterdir()) == ["jobs.parquet", "run.json", "slurm"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_report_removes_only_files_of_the_record(tmp_path: Path, linked: bool) -> None:
    folder, outside = tmp_path / "r", tmp_path / "thesis"
    outside.mkdir()
    outside.joinpath("old.md").write_text("mine")
    folder.mkdir()
    (folder / "report").symlink_to(outside) if linked else (folder / "report").mkdir()
    for name in ("old.md", "report.md"):
        (folder / "report" / name).write_text("mine")
    listed = ["run.json", "report/old.md", "report/../../thesis/old.md", "jobs.parquet"]
    (folder / "run.json").write_text(json.dumps({"versions": {"twolevel": "0"}, "files": listed, "replay": {}}))

    def write(made: Path) -> None:
        made.mkdir()
        (made / "report.md").write_text("new")

    put_report(folder, write)
    assert (folder / "report" / "report.md").read_text() == "new"
    assert outside.joinpath("old.md").read_text() == "mine"
    if linked:
        assert (folder / "report~").is_symlink()
        assert outside.joinpath("report.md").read_text() == "mine"
    else:
        assert sorted(path.name for path in (folder / "report").iterdir()) == ["report.md", "report.md~"]
    assert json.loads((folder / "run.json").read_text())["files"] == ["jobs.parquet", "report/report.md", "run.json"]
