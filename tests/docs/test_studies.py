"""The studies run from end to end on the shipped sample, and compute what they say."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from bls import Platform, Workload, read_workload, sample_path
from bls.estimates import estimator
from bls.workloads.calendar import header_facts
from tools import accasim_dispatchers, accasim_study, estimates_study
from tools.accasim_dispatchers import DISPATCHERS
from tools.accasim_workloads import CONFIGURATIONS, Configuration
from tools.estimates_outcomes import ESTIMATES, counted, outcome, shaken, width_bounds
from tools.estimates_study import interval

S = 10**9


def test_the_papers_dispatchers_and_workloads() -> None:
    assert ["-".join(one.name) for one in DISPATCHERS] == [
        *("FIFO-FF", "FIFO-BF", "LJF-FF", "LJF-BF", "SJF-FF", "SJF-BF", "EASY-FF", "EASY-BF")
    ]
    assert {(one.policy, one.backfill) for one in DISPATCHERS if one.scheduler == "EASY"} == {("fcfs", "easy")}
    assert [one.n_jobs for one in CONFIGURATIONS] == [50_000, 100_000, 200_000, 500_000]


def test_accasims_study_on_the_sample(tmp_path: Path) -> None:
    small = (Configuration("cards", "cards", 400, speed=1.5, gpu_share=0.5),)
    tables = accasim_study.study(sample_path(), tmp_path, repeats=2, dispatchers=DISPATCHERS[5:6], configurations=small)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("seth.json", "tables.md", "dispatchers.csv", "slowdown-boxes.png", "queue-boxes.png"),
        *("decision-cost.png", "decisions.png"),
        *("like-1-accasim.png", "like-1-calendar.png"),
    }
    assert [len(table) for table in tables.values()] == [3, 3, 5]
    with (tmp_path / "dispatchers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["scheduler"], row["allocator"], row["repetition"]) for row in rows] == [
        ("SJF", "BF", "1"),
        ("SJF", "BF", "2"),
    ]
    assert all(0 < float(row["deciding_s"]) < float(row["total_s"]) for row in rows)
    assert tables["results"][2].startswith("| SJF-BF | ")
    assert tables["workloads"][3].startswith("| 400 | cards | `accasim` | ")
    # A day has no weeks that could be halved.
    assert tables["workloads"][2] == "| the log | its even weeks against its odd ones |  |  |  |  |  |"
    text = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert all(line in text for table in tables.values() for line in table)


def test_what_a_dispatcher_is_measured_by(tmp_path: Path) -> None:
    log = tmp_path / "three.swf"
    # 200 of 240 processors for 100 s; 100 for 50 s, asking for less than the next one; 40 for 20 s.
    jobs = [(1, 0, 100, 200, 100), (2, 10, 50, 100, 60), (3, 20, 20, 40, 70)]
    unknown = " ".join(["-1"] * 9)
    log.write_text("".join(f"{j} {q} -1 {p} {n} -1 -1 {n} {r} {unknown}\n" for j, q, p, n, r in jobs))
    seth = tmp_path / "seth.json"
    seth.write_text(json.dumps(accasim_study.SETH))
    found = {
        one.scheduler: accasim_dispatchers.measure(log, seth, one, 1, "none") for one in DISPATCHERS if one.fit == "BF"
    }
    # Only EASY lets the third go before the second, which waits for the first.
    assert found["FIFO"].slowdown.tolist() == [1, 140 / 50, 100 / 20]
    assert found["SJF"].slowdown.tolist() == [1, 140 / 50, 100 / 20]
    assert found["LJF"].slowdown.tolist() == [1, 140 / 50, 1]
    assert found["EASY"].slowdown.tolist() == [1, 140 / 50, 1]
    assert found["EASY"].queue.tolist()[:3] == [1, 1, 2]
    assert found["FIFO"].wait_s == pytest.approx((90 + 80) / 3)
    one = found["FIFO"]
    assert len(one.decide_ns) == len(one.queue)
    assert sum(one.step_ns) * len(one.queue) == pytest.approx(one.total_s[0] * S)


def test_a_log_that_cannot_be_used_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, out = str(tmp_path / "none.swf"), str(tmp_path / "out")
    assert accasim_study.main([missing, "--out", out]) == 2
    assert accasim_study.main([str(sample_path()), "--out", out, "--repeats", "0"]) == 2
    assert estimates_study.main([missing, "--out", out]) == 2
    assert estimates_study.main([str(sample_path()), "--out", out, "--samples", "1"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    assert said[1] == "--repeats: 0; allowed: 1 to 1000"
    nameless = tmp_path / "nameless.swf"
    nameless.write_text(f"1 0 -1 60 1 -1 -1 1 60 {' '.join(['-1'] * 9)}\n")
    assert estimates_study.main([str(nameless), "--out", out]) == 2
    assert "MaxProcs" in capsys.readouterr().err


def test_the_study_of_estimates_on_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(sample_path()), "--samples", "2", "--load", "1.5"]
    assert estimates_study.main([*words, "--out", str(tmp_path / "a")]) == 0
    first = capsys.readouterr().out
    assert estimates_study.main([*words, "--out", str(tmp_path / "b")]) == 0
    assert capsys.readouterr().out == first
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == ["slowdown.png", "tables.md"]
    for name in ("slowdown.png", "tables.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    lines = first.splitlines()
    assert lines[0] == "sample: 320 jobs on 256 cores, load × 1.5, 320 completed; 2 samples"
    names = [estimates.name for estimates in ESTIMATES]
    assert names == ["requested", "within:10%", "exact", "exact × 2", "last-two", "profile", "application"]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")]
    assert [row for row in rows if row != "estimates"] == 3 * names


def test_a_sample_is_the_log_with_every_job_up_to_a_minute_later() -> None:
    log = Workload.from_jobs((job, 7 * job, 60, 1, 60) for job in range(1, 201))
    assert shaken(log, 0) is log
    one, again, other = shaken(log, 1), shaken(log, 1), shaken(log, 2)
    assert np.array_equal(one.submit_ns, again.submit_ns)
    assert not np.array_equal(one.submit_ns, other.submit_ns)
    assert np.all(np.diff(one.submit_ns) >= 0)
    assert sorted(one.job_id.tolist()) == log.job_id.tolist() != one.job_id.tolist()
    later = one.submit_ns - 7 * S * one.job_id
    assert later.min() >= 0
    assert 50 * S < later.max() < 60 * S


def test_jobs_are_counted_by_hand() -> None:
    # Four cores. The second waits for the first, which asks for 1000 s and runs for 100. The third asks for less than
    # that, so that it may go first; the fourth would fit until then by its run time alone.
    jobs = Workload.from_jobs([(1, 0, 100, 3, 1000), (2, 1, 10, 4, 10), (3, 2, 50, 1, 60), (4, 3, 8, 1, 2000)])
    requested = outcome(jobs, 4, estimator("requested"), 0)
    assert sorted(requested.high.tolist()) == [109 / 10, (110 - 3 + 8) / 8]
    exact = outcome(jobs, 4, estimator("exact"), 0)
    assert exact.high.tolist() == [109 / 10, 57 / 8]  # it starts at 52, after the third
    assert requested.jobs == exact.jobs == 4
    assert exact.wait_s == (99 + 0 + 49) / 4
    assert exact.bounded == (1 + 109 / 10 + 1 + 57 / 10) / 4
    assert (requested.backfilled, exact.backfilled) == (0.25, 0.5)
    assert exact.utilisation == (300 + 40 + 50 + 8) / (4 * 110)
    assert exact.high_by_run.tolist() == [2, 0, 0, 0, 0]
    assert width_bounds(jobs) == (1, 4)
    assert exact.wait_by_width_s.tolist() == [49 / 2, 99 / 2, 0]


def test_only_jobs_that_completed_count_where_the_log_says_so() -> None:
    jobs = [
        {"job_id": k, "submit_s": 0, "run_s": 60, "cores": 1, "estimate_s": 60, "status": status}
        for k, status in enumerate((1, 0, 5, 1), 1)
    ]
    assert counted(Workload.from_jobs(jobs)).tolist() == [True, False, False, True]
    assert counted(Workload.from_jobs([{**job, "status": -1} for job in jobs])).all()


def test_the_confidence_interval() -> None:
    mean, half = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert mean == 3
    assert half == pytest.approx(2.776 * math.sqrt(2.5 / 5))
    assert interval([4.0]) == (4.0, math.inf)
    assert interval([1.0] * 60) == (1.0, 0.0)


def test_what_is_generated_has_the_changed_machine() -> None:
    source = read_workload(sample_path())
    changed = Configuration("all", "all", 300, speed=1.5, nodes=2.0, gpu_share=0.5)
    facts = header_facts(changed.made(source, Platform(), "accasim", 1).header)
    expected = {"MaxNodes": "8", "MaxProcs": "512", "GpuNodes": "4", "GpusPerNode": "2", "GpuGflops": "933.0"}
    assert {name: facts[name] for name in expected} == expected
    assert float(facts["CoreGflops"]) == 1.5 * float(facts["SourceCoreGflops"])
    assert all(len(f"{one.n_jobs:,} jobs, {one.short}") < 45 for one in CONFIGURATIONS)  # so long is a title at most
