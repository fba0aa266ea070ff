"""Users and the date of time 0: read again from the log of a run, or left out where that is not the log any more."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from tables import table_text

import bridge
from bls.workloads import read_workload
from bridge.runs.again import LogFacts, facts_of_record
from bridge.runs.page import parts_of_folder, parts_of_result, timeline_of
from bridge.runs.record import write_run
from traces.tables import read_jobs

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
