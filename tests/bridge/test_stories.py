"""The story of a job by hand-drawn tables; and users and dates, read again from the log of a run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from tables import table_text

import bridge
from bls.engine.features.directions.records import ScaleRecords
from bls.workloads import read_workload
from bridge.runs.again import LogFacts, facts_of_record
from bridge.runs.page import parts_of_folder, parts_of_result, timeline_of
from bridge.runs.record import write_run
from bridge.runs.story import job_story
from traces.tables import read_jobs

S = 10**9


def _table(*rows: tuple[Any, ...]) -> dict[str, Any]:
    names = ("job_id", "attempt", "submit_ns", "eligible_ns", "start_ns", "end_ns", "cores", "held_cores", "allocation")
    names = (*names, "why", "state")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def test_each_thing_that_may_happen() -> None:
    jobs = _table(
        (1, 0, 0, 0, 0, 100 * S, 3, 3, "0-2", "preset", "completed"),
        (2, 0, 5 * S, 5 * S, 100 * S, 130 * S, 4, 4, "0-3", "reserved", "requeued"),
        (3, 0, 6 * S, 6 * S, 6 * S, 60 * S, 1, 1, "3", "backfill", "killed"),
        (4, 0, 7 * S, 160 * S, 160 * S, 165 * S, 1, 4, "0-3", "head", "cancelled"),
        (5, 0, 8 * S, 8 * S, -1, -1, 1, 0, "", "never", "cancelled"),
        (6, 0, 9 * S, -1, -1, -1, 1, 0, "", "never", "cancelled"),
        (7, 0, 9 * S, 9 * S, -1, -1, 1, 0, "", "never", "rejected"),
        (2, 1, 5 * S, 130 * S, 130 * S, 150 * S + 5, 4, 4, "0-3", "head", "failed"),
    )
    assert job_story(jobs, 1, 4).splitlines()[3] == (
        "  0:00:00  started at once: it runs when the selected window begins; on cores 0-2"
    )
    assert job_story(jobs, 2, 4).splitlines() == [
        "job 2",
        "            0:00:05  submitted: requests 4 cores",
        "            0:00:05  eligible: 1 of 4 cores are free, 0 jobs before it wait",
        "                     waited 95 s: 4 cores requested, 1 free when it became eligible; 1 job submitted later started "
        "before it: job 3",
        "            0:01:40  started at its reservation (it had been at the head of the queue); "
        "job 1 releases 3 cores then; on cores 0-3",
        "            0:02:10  cut: one of its hosts failed; requeued, after 30 s",
        "            0:02:10  in the queue again, attempt 1: 4 of 4 cores are free, 0 jobs before it wait",
        "            0:02:10  started as the head of the queue; on cores 0-3",
        "  0:02:30.000000005  cut: one of its hosts failed, after 20 s",
    ]
    killed = job_story(jobs, 3, 4)
    assert "eligible: 1 of 4 cores are free, 1 job before it waits" in killed
    assert "started by backfilling, ahead of waiting jobs; on core 3" in killed
    assert killed.endswith("killed at its walltime, after 54 s")
    cancelled = job_story(jobs, 4, 4)
    assert "eligible, 2 min 33 s after its submit: it follows another job: 4 of 4 cores are free" in cancelled
    assert "on cores 0-3, 4 in all: whole hosts" in cancelled
    assert cancelled.endswith("cancelled by its user, after 5 s")
    assert job_story(jobs, 5, 4).endswith("never started: withdrawn by its user")
    assert job_story(jobs, 6, 4).endswith("withdrawn before it was eligible")
    assert job_story(jobs, 7, 4).endswith("rejected: the policy rejects jobs that cannot start at once")


def test_a_job_that_waits_though_there_are_cores_enough() -> None:
    jobs = _table(
        (1, 0, 0, 0, 0, 10 * S, 1, 1, "0", "head", "completed"),
        (2, 0, 1 * S, 1 * S, 10 * S, 20 * S, 1, 1, "0", "head", "completed"),
    )
    assert "waited 9 s: enough cores were free when it became eligible, but earlier jobs" in job_story(jobs, 2, 2)


def test_the_wait_for_hosts_to_boot() -> None:
    """Job 2 has its cores as job 1 ends, 3 min before its start; job 3 at once; job 4 comes while job 2's hosts boot, and is
    not said to have kept it back."""
    jobs = _table(
        (1, 0, 0, 0, 0, 60 * S, 4, 4, "0-3", "head", "completed"),
        (2, 0, 10 * S, 10 * S, 240 * S, 300 * S, 4, 4, "0-3", "head", "completed"),
        (3, 0, 400 * S, 400 * S, 580 * S, 600 * S, 1, 1, "0", "head", "completed"),
        (4, 0, 70 * S, 70 * S, 80 * S, 90 * S, 4, 4, "4-7", "head", "completed"),
    ) | {"boot_wait_ns": [0, 180 * S, 180 * S, 0]}
    assert job_story(jobs, 2, 8).splitlines()[3:6] == [
        "           waited 3 min 50 s (3 min 00 s for its hosts to boot): enough cores were free when it became eligible, but "
        "earlier jobs, a reservation, a limit, a hold or the location of the cores delayed it",
        "  0:01:00  had its cores; job 1 releases 4 cores then; waited 3 min 00 s for their hosts to boot",
        "  0:04:00  started as the head of the queue; on cores 0-3",
    ]
    assert job_story(jobs, 3, 8).splitlines()[3:5] == [
        "           waited 3 min 00 s for its hosts to boot",
        "  0:06:40  had its cores; waited 3 min 00 s for their hosts to boot",
    ]
    assert "eligible: 4 of 8 cores are free, 0 jobs before it wait" in job_story(jobs, 4, 8)


def test_a_speed_is_said_with_all_its_digits() -> None:
    jobs = _table((1, 0, 0, 0, 0, 10 * S, 1, 1, "0", "head", "completed"))
    scales = ScaleRecords(*(np.array([value]) for value in (0, S, -1, 999_999_999)))
    assert "all of its cores run at 0.999999999 times their own speed" in job_story(jobs, 1, 1, events=[scales])


LOG = table_text(__file__, "log")

USERS = {7: "31", 3: "", 9: "4", 5: "31"}


def _run(folder: Path, **options: Any) -> Path:
    (folder / "some.swf").write_text(LOG)
    result = bridge.simulate(folder / "some.swf", **options)
    (folder / "run").mkdir()
    arguments = {"workload": "some.swf", "select": options.get("select", "all"), "oversize": "reject"}
    write_run(result, folder / "run", arguments, tasks=False, trace=False)
    return folder / "run"


def _facts(run: Path) -> LogFacts:
    record = json.loads((run / "run.json").read_text())
    return facts_of_record(record, read_jobs(run / "jobs.parquet"), 256)


def test_users_are_those_of_the_log(tmp_path: Path) -> None:
    run = _run(tmp_path)
    jobs = read_jobs(run / "jobs.parquet")
    assert _facts(run) == LogFacts([USERS[number] for number in jobs["job_id"]], 1704067200.0)
    timeline = timeline_of(parts_of_folder(run))
    assert (timeline.users, timeline.start_s) == _facts(run)


def test_a_window_has_the_date_of_its_start(tmp_path: Path) -> None:
    facts = _facts(_run(tmp_path, select="window:40s+20s"))
    assert (sorted(facts.users or []), facts.start_s) == (["", "4"], 1704067240.0)


def test_another_log_or_none_says_nothing_and_a_program_is_not_run_again(tmp_path: Path) -> None:
    run, log = _run(tmp_path), tmp_path / "some.swf"
    for old, new in (("5 90 ", "6 90 "), ("5 90 ", "5 91 "), (LOG[-60:], "nonsense\n"), (LOG, "")):
        assert old in LOG
        log.write_text(LOG.replace(old, new))
        assert _facts(run) == LogFacts()
    log.unlink()
    assert _facts(run) == LogFacts()
    log.mkdir()
    assert _facts(run) == LogFacts()
    record = json.loads((run / "run.json").read_text())
    (tmp_path / "jobs.py").write_text("raise SystemExit('was run')")
    record["workload"]["source"] = f"{tmp_path / 'jobs.py'}:made"
    assert facts_of_record(record, read_jobs(run / "jobs.parquet"), 256) == LogFacts()


def test_a_result_knows_its_workload() -> None:
    result = bridge.simulate("sample", select="first:30")
    log = read_workload("sample")
    of = dict(zip(log.job_id.tolist(), log.user.tolist(), strict=True))
    facts = parts_of_result(result).log
    assert facts == LogFacts([str(of[number]) for number in result.jobs["job_id"]], 1704067200.0)
    assert len(np.unique(facts.users)) > 5
