"""Cores that are late, lost or never come, and lengths that are not the log's, in every coupling."""

from __future__ import annotations

from pathlib import Path

import pytest
from one_result import assert_one_result

import bridge
from bls.workloads.workload import Workload
from bridge.scenarios.application_level import ApplicationLevel
from bridge.workers.assignment import Ahead, Order
from bridge.workers.supervisor import Supervisor

pytestmark = pytest.mark.whole


def test_a_core_that_comes_late_is_waited_for_in_a_few_steps() -> None:
    # A day is 43,200 times what the job was told of at first.
    level = ApplicationLevel(speeds=("late:cores=0-255,at=24h", "square:period=2s,cores=0"))
    workload = Workload.from_jobs([(8, 0, 1, 1, 1)])
    jobs = bridge.simulate(workload, level=level, coupling="pool", workers=1)
    assert_one_result(jobs, bridge.simulate(workload, level=level))
    assert jobs.jobs.end_ns[0] > 24 * 3600 * 10**9
    assert jobs.coupling["messages"] < 100


def test_a_file_may_have_less_work_than_the_log(tmp_path: Path) -> None:
    # Nothing may be promised of it: the job lasts as long as its serial part.
    (tmp_path / "lengths.txt").write_text("0.001\n0.002\n", encoding="utf-8")
    lengths = f"file:{tmp_path / 'lengths.txt'},scale=no"
    phases = f'phases = [{{ kind = "serial", share = 0.5 }}, {{ kind = "loop", lengths = "{lengths}", share = 0.5 }}]'
    (tmp_path / "apps.toml").write_text(f"[default]\n{phases}\n", encoding="utf-8")
    level = ApplicationLevel(applications=tmp_path / "apps.toml")
    workload = Workload.from_jobs([(8, 0, 10, 2, 10), (9, 1, 10, 256, 10)])
    inline = bridge.simulate(workload, level=level)
    assert_one_result(bridge.simulate(workload, level=level, coupling="pool", workers=1), inline)
    assert inline.jobs.end_ns[0] < 6 * 10**9


def test_what_is_ahead_can_be_asked_for_again_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Ahead, Ahead]] = []
    real = Supervisor.submit

    def submit(self: Supervisor, order: Order) -> None:
        start = order.start
        asked.append((Ahead(start.changes, start.until_ns), order.next_changes(start.start_ns)))
        real(self, order)

    monkeypatch.setattr(Supervisor, "submit", submit)
    level = ApplicationLevel(speeds=("square:period=2s",))
    bridge.simulate(Workload.from_jobs([(8, 0, 9, 1, 9)]), level=level, coupling="pool", workers=1)
    ((told, again),) = asked
    assert told == again
    assert len(told.changes) == 18


def test_a_job_whose_cores_never_come_fails_at_its_start(tmp_path: Path) -> None:
    path = tmp_path / "never.csv"
    path.write_text("time_s,core,factor\n0,0,0\n0,1,0\n")
    workload = Workload.from_jobs([(8, 0, 2, 2, 2)])
    level = ApplicationLevel(speeds=(f"trace:{path},periodic=10ms",))
    (job,) = bridge.simulate(workload, als="static", level=level, coupling="pool", workers=1).jobs.itertuples()
    assert (job.state, job.start_ns, job.end_ns, job.attempt, job.tasks) == ("failed", 0, 0, 0, 0)
    assert job.cut_because == "all its cores were lost, core 1 last"
