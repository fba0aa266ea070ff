"""Jobs that may join the queue only some time after their submit: in metrics, policies, files and results.

Schedules are in schedules/begins.toml, and test_differential compares them with the slow reference.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batch_drives import finish
from tables import table_rows

import bridge
from bls.allocators import ALLOCATORS
from bls.constraints.options import Surroundings, surround
from bls.machine.platform import HostGroup, Platform
from bls.metrics.batch import schedule_metrics
from bls.metrics.schedule import Schedule
from bls.policies import POLICIES
from bls.simulator import BatchSimulator
from bls.workloads.merge import merge
from bls.workloads.reshape import scale
from bls.workloads.selection import select
from bls.workloads.workload import Workload
from bls.workloads.writers.swf import result_as_workload
from traces.base.errors import InputError, PluginError

S = 10**9
EIGHT = Platform((HostGroup(1, 8, 100.0),))


def jobs(**more: Any) -> Workload:
    """Two jobs as wide as the machine; the second may start from 7210 s on."""
    first = {"job_id": 1, "submit_s": 0, "run_s": 3600, "cores": 8, "estimate_s": 7200}
    second = {"job_id": 2, "submit_s": 10, "run_s": 3600, "cores": 8, "estimate_s": 7200, "begin_s": 7210}
    return Workload.from_jobs([first, second | more])


def ran(workload: Workload, policy: Any = POLICIES["fcfs"], **options: Any) -> BatchSimulator:
    simulator = BatchSimulator(workload, EIGHT, policy, ALLOCATORS["first-fit"], recorded=True, **options)
    finish(simulator)
    return simulator


def test_waits_count_from_the_begin_and_the_makespan_from_the_submit() -> None:
    times = {
        "submit_ns": [0, 10],
        "start_ns": [5, 120],
        "end_ns": [15, 130],
        "begin_ns": [0, 100],
        "eligible_ns": [0, 100],
    }
    columns = {name: [value * S for value in values] for name, values in times.items()}
    found = schedule_metrics(Schedule.of(cores=[1, 1], n_cores=8, **columns))
    assert (found["mean_wait_ns"], found["max_wait_ns"], found["makespan_ns"]) == (12.5 * S, 20 * S, 130 * S)
    assert found["mean_response_ns"] == 22.5 * S
    assert (found["mean_queue_length"], found["max_queue_length"]) == (25 / 130, 1)


def test_a_job_is_held_until_its_begin_and_a_policy_is_told_so() -> None:
    class Watches:
        name = "watches"

        def decide(self, view: Any) -> list[Any]:
            seen.append((view.now_ns // S, [(job.job_id, job.begin_ns // S) for job in view.held]))
            return view.waiting

    seen: list[Any] = []
    ran(jobs(), Watches())
    assert seen[:3] == [(0, []), (3600, [(2, 7210)]), (7210, [])]

    class Hasty:
        name = "hasty"

        def decide(self, view: Any) -> list[Any]:
            return [*view.waiting, *view.held]

    with pytest.raises(PluginError, match=r"gave job 2, which may not start before 7210000000000 ns$"):
        ran(jobs(), Hasty())


def test_a_begin_that_is_none_is_refused(tmp_path: Path) -> None:
    for value in (-2, "soon", float("nan"), True):
        with pytest.raises(InputError, match=r"jobs\[1\]: begin_s: "):
            jobs(begin_s=value)
    (tmp_path / "r.csv").write_text("job_id,begin_s\n2,soon\n")
    with pytest.raises(InputError, match=r"r.csv: line 2: begin_s: 'soon'"):
        surround(jobs(), EIGHT, Surroundings(requests=tmp_path / "r.csv"))
    with pytest.raises(InputError, match="preset job 1 begins after time 0"):
        Workload.from_jobs([{"job_id": 1, "submit_s": 0, "run_s": 1, "cores": 1, "preset": 1, "begin_s": 1}])


@pytest.mark.parametrize(("text", "begins"), table_rows(__file__, "a_file_of_requests_says_it_above_the_log"))
def test_a_file_of_requests_says_it_above_the_log(tmp_path: Path, text: str, begins: list[float]) -> None:
    (tmp_path / "r.csv").write_text(text)
    made, _ = surround(jobs(), EIGHT, Surroundings(requests=tmp_path / "r.csv"))
    assert made.begin_ns.tolist() == [int(begin * S) if begin >= 0 else -1 for begin in begins]


def test_a_window_takes_the_begin_along() -> None:
    def job(number: int, submit_s: float, **more: Any) -> dict[str, Any]:
        return {"job_id": number, "submit_s": submit_s, "run_s": 100, "cores": 1, **more}

    log = Workload.from_jobs(
        [
            job(1, 0, wait_s=50, begin_s=40),  # runs at 100
            job(2, 10, wait_s=200, begin_s=60),  # waits at 100
            job(3, 20, wait_s=200, begin_s=150),  # may not start yet
            job(4, 110, wait_s=0, begin_s=110),
            job(5, 120, wait_s=90, begin_s=190),
        ]
    )
    found = select(log, "window:100+1h", preset=True)
    assert found.preset.tolist() == [1, 0, 0, 0, 0]
    assert (found.begin_ns / S).round(9).tolist() == [-1e-9, -1e-9, 50, 10, 90]
    assert found.held.tolist() == [False, False, True, False, True]
    assert (select(log, "window:100+1h", preset=False).earliest_ns // S).tolist() == [10, 90]


def test_merging_and_scaling_keep_for_how_long_jobs_are_held() -> None:
    log = jobs()
    calendar = [replace(log, header=(f"; UnixStartTime: {start}",)) for start in (1000, 4000)]
    assert (merge(calendar).earliest_ns // S).tolist() == [0, 7210, 3000, 10210]
    dense = scale(log, load=2)
    assert (dense.submit_ns // S).tolist() == [0, 5]
    assert (dense.begin_ns // S).tolist() == [-1, 7205]


def test_a_result_says_since_when_jobs_have_waited(tmp_path: Path) -> None:
    found = bridge.simulate(jobs(), platform=EIGHT, als="recorded")
    assert (found.jobs["begin_ns"] // S).tolist() == [0, 7210]
    assert found.metrics["max_wait_ns"] == 0
    assert "eligible, 2 h 00 min after its submit: it could not start before" in found.story(2)
    again = result_as_workload({name: found.jobs[name].to_numpy() for name in found.jobs}, jobs())
    assert (again.begin_ns // S).tolist() == [-1, 7210]
    assert "begin_ns" not in bridge.simulate("sample", als="recorded", select="first:3").jobs
