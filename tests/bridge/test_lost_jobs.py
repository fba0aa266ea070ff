"""Cores that come late, are lost for good or never come, and lengths that are not those of the log, in every coupling.

Schedules drawn by hand are in ``tests/bls/schedules/lost_cores.toml``.
"""

import sys
from pathlib import Path
from typing import Any

import pytest
from one_result import assert_one_result

import bridge
import traces
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Application
from traces.base.time import NS_PER_S as S

pytestmark = pytest.mark.whole

FOUR = Platform((HostGroup(1, 4, 1.0),))


def run(workload: Workload, *speeds: str, coupling: str = "inline", platform: Platform = FOUR, **options: Any) -> Any:
    level = options.pop("level", {})
    result = bridge.simulate(
        workload,
        platform,
        als=options.pop("als", "ss"),
        speeds=speeds,
        **level,
        coupling=coupling,
        workers=1 if coupling == "pool" else None,
        **options,
    )
    traces.check_ledger(result.ledger)
    return result


def rows(result: Any) -> list[tuple[int, int, float, float, str]]:
    """Each attempt: job, attempt, start and end in s, state."""
    jobs = result.jobs
    return [
        (job.job_id, job.attempt, job.start_ns / S, job.end_ns / S, job.state)
        for job in jobs.sort_values(["job_id", "attempt"]).itertuples()
    ]


#: Job 1 has cores 2 and 3, which are lost at 3 s and 5 s; job 2 the others, up to 4 s.
TWO = Workload.from_jobs([(2, 0, 4, 2, 4), (1, 0, 8, 2, 8)])
GONE = ("lost:cores=2,at=3s", "lost:cores=3,at=5s")


@pytest.mark.parametrize(("coupling", "on_failure"), [("process", "requeue"), ("pool", "lose")])
def test_every_coupling_says_which_core_was_the_last(coupling: str, on_failure: str) -> None:
    rules = Rules(on_failure=on_failure)
    result = run(TWO, *GONE, coupling=coupling, rules=rules)
    assert "all its cores were lost, core 3 last" in result.jobs.cut_because.tolist()
    assert rows(result)[0] == (1, 0, 0.0, 5.0, "requeued" if on_failure == "requeue" else "failed")
    assert_one_result(result, run(TWO, *GONE, rules=rules))


def test_its_story_says_which_core_was_the_last() -> None:
    story = run(TWO, *GONE).story(1)
    assert "cut: all its cores were lost, core 3 last; requeued, after 5 s" in story
    story = run(TWO, *GONE, rules=Rules(on_failure="lose")).story(1)
    assert "cut: all its cores were lost, core 3 last; not requeued, after 5 s" in story


def test_released_cores_are_not_waited_for() -> None:
    jobs = Workload.from_jobs([(1, 0, 9, 2, 9)])
    speeds = ("square:period=1000s,low=0.25,duty=0.001,cores=0", "lost:cores=0,at=15s")
    rules = Rules(coordination="release", on_failure="lose")
    result = run(jobs, *speeds, coupling="pool", rules=rules)
    assert result.jobs.cut_because.tolist() == ["all its cores were lost, core 0 last"]
    assert_one_result(result, run(jobs, *speeds, rules=rules))
    assert result.releases.core.tolist() == [1]


def test_an_application_simulator_may_lose_cores_by_itself() -> None:
    """It loses all of them 3 s after time 0, and nobody told it."""
    command = f"{sys.executable} {Path(__file__).with_name('lengths_peer.py')} loses"
    result = run(TWO, coupling="pool", als_command=command)
    assert rows(result) == [
        (1, 0, 0.0, 3.0, "requeued"),
        (1, 1, 3.0, 11.0, "completed"),
        (2, 0, 0.0, 3.0, "requeued"),
        (2, 1, 3.0, 7.0, "completed"),
    ]
    assert result.jobs.cut_because.tolist() == [
        "all its cores were lost, core 1 last",
        "all its cores were lost, core 3 last",
        "",
        "",
    ]


def test_a_core_that_comes_late_is_waited_for_in_a_few_steps() -> None:
    # A day is 43,200 times what the job was told of at first.
    level = Application(speeds=("late:cores=0-255,at=24h", "square:period=2s,cores=0"))
    workload = Workload.from_jobs([(8, 0, 1, 1, 1)])
    jobs = bridge.simulate(workload, application=level, coupling="pool", workers=1)
    assert_one_result(jobs, bridge.simulate(workload, application=level))
    assert jobs.jobs.end_ns[0] > 24 * 3600 * 10**9
    assert jobs.coupling["messages"] < 100


def test_a_file_may_have_less_work_than_the_log(tmp_path: Path) -> None:
    # Nothing may be promised of it: the job lasts as long as its serial part.
    (tmp_path / "lengths.txt").write_text("0.001\n0.002\n", encoding="utf-8")
    lengths = f"file:{tmp_path / 'lengths.txt'},scale=no"
    phases = f'phases = [{{ kind = "serial", share = 0.5 }}, {{ kind = "loop", lengths = "{lengths}", share = 0.5 }}]'
    (tmp_path / "apps.toml").write_text(f"[default]\n{phases}\n", encoding="utf-8")
    level = Application(applications=tmp_path / "apps.toml")
    workload = Workload.from_jobs([(8, 0, 10, 2, 10), (9, 1, 10, 256, 10)])
    inline = bridge.simulate(workload, application=level)
    assert_one_result(bridge.simulate(workload, application=level, coupling="pool", workers=1), inline)
    assert inline.jobs.end_ns[0] < 6 * 10**9


def test_a_job_whose_cores_never_come_fails_at_its_start(tmp_path: Path) -> None:
    path = tmp_path / "never.csv"
    path.write_text("time_s,core,factor\n0,0,0\n0,1,0\n")
    workload = Workload.from_jobs([(8, 0, 2, 2, 2)])
    level = Application(speeds=(f"trace:{path},periodic=10ms",))
    (job,) = bridge.simulate(workload, als="static", application=level, coupling="pool", workers=1).jobs.itertuples()
    assert (job.state, job.start_ns, job.end_ns, job.attempt, job.tasks) == ("failed", 0, 0, 0, 0)
    assert job.cut_because == "all its cores were lost, core 1 last"
