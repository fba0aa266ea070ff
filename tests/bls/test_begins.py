"""Jobs that may join the queue only some time after their submit: in the engine, in metrics and in what is told of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from batch_cases import FEATURES, expected, seeded_cases
from batch_drives import as_users_say, engine_of, finish, simulator_of

from bls.allocators import ALLOCATORS
from bls.constraints.dependencies import dependencies
from bls.constraints.job_constraints import JobConstraints
from bls.machine.platform import HostGroup, Platform
from bls.metrics.batch import schedule_metrics
from bls.metrics.schedule import Schedule
from bls.policies import POLICIES
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError

S = 10**9
EIGHT = Platform((HostGroup(1, 8, 100.0),))
KINDS = (
    (),
    ("dependencies", "cancel", "unknown"),
    ("orders", "units", "resources", "switches", "licences"),
    ("partitions", "limits", "reservations", "maintenance", "outages", "presets"),
    ("estimates", "cost", "kill"),
    FEATURES,
)


@pytest.mark.parametrize("by_cores", [False, True])
@pytest.mark.parametrize("features", KINDS, ids=["plain", "lives", "requests", "windows", "estimates", "all"])
def test_agrees_with_the_slow_reference(features: tuple[str, ...], by_cores: bool) -> None:
    held = 0
    for case in seeded_cases(2601, 60, ("begins", *features)):
        known = replace(case, rules=replace(case.rules, counts=False)) if by_cores else case
        found = engine_of(case, by_cores=by_cores or None).finish()
        assert found == expected(known), case
        held += any(job.begin > job.submit for job in case.jobs)
    assert held > 10


def test_a_workload_says_it_to_the_engine() -> None:
    held = 0
    for case in seeded_cases(2602, 80, ("begins", "dependencies", "cancel", "presets", "outages")):
        said = as_users_say(case)
        if said is None:
            continue
        assert finish(simulator_of(said)) == expected(said), said
        held += any(job.begin > job.submit for job in said.jobs)
    assert held > 10


def jobs(**more: Any) -> Workload:
    """Two jobs as wide as the machine; the second may start from 7210 s on."""
    first = {"job_id": 1, "submit_s": 0, "run_s": 3600, "cores": 8, "estimate_s": 7200}
    second = {"job_id": 2, "submit_s": 10, "run_s": 3600, "cores": 8, "estimate_s": 7200, "begin_s": 7210}
    return Workload.from_jobs([first, second | more])


def ran(workload: Workload, policy: Any = POLICIES["fcfs"], **options: Any) -> BatchSimulator:
    simulator = BatchSimulator(workload, EIGHT, policy, ALLOCATORS["first-fit"], recorded=True, **options)
    finish(simulator)
    return simulator


@pytest.mark.parametrize(
    ("more", "eligible_s", "start_s"),
    [
        ({}, 7210, 7210),
        ({"begin_s": 10}, 10, 3600),
        ({"begin_s": 5}, 10, 3600),
        ({"begin_s": None}, 10, 3600),
        ({"begin_s": -1}, 10, 3600),
        ({"begin_s": 3599.5}, 3599.5, 3600),
        ({"cancel_s": 7000}, None, None),  # withdrawn before it could join the queue
        ({"cancel_s": 7210}, None, None),
        ({"cancel_s": 7211}, 7210, 7210),
    ],
)
def test_a_job_joins_the_queue_at_its_begin(
    more: dict[str, Any], eligible_s: float | None, start_s: float | None
) -> None:
    columns = ran(jobs(**more)).columns()
    found = [None if ns < 0 else ns / S for ns in (int(columns.eligible_ns[1]), int(columns.start_ns[1]))]
    assert found == [eligible_s, start_s]


def test_a_begin_before_the_end_of_another_job_adds_nothing_to_the_wait() -> None:
    first = {"job_id": 1, "submit_s": 0, "run_s": 100, "cores": 8}
    for begin_s, eligible_s in ((50, 130), (120, 130), (200, 200)):
        second = {"job_id": 2, "submit_s": 0, "run_s": 1, "cores": 8, "preceding": 1, "think_s": 30, "begin_s": begin_s}
        workload = Workload.from_jobs([first, second])
        around = JobConstraints(dependencies=dependencies(workload))
        columns = ran(workload, circumstances=around).columns()
        assert columns.eligible_ns.tolist() == [0, eligible_s * S]


def test_waits_count_from_the_begin_and_the_makespan_from_the_submit() -> None:
    schedule = Schedule.of(
        submit_ns=[0, 10 * S],
        start_ns=[5 * S, 120 * S],
        end_ns=[15 * S, 130 * S],
        cores=[1, 1],
        n_cores=8,
        begin_ns=[0, 100 * S],
        eligible_ns=[0, 100 * S],
    )
    found = schedule_metrics(schedule)
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


def test_a_job_that_runs_already_has_no_begin() -> None:
    with pytest.raises(InputError, match="preset job 1 begins after time 0"):
        Workload.from_jobs([{"job_id": 1, "submit_s": 0, "run_s": 1, "cores": 1, "preset": 1, "begin_s": 1}])


def test_a_begin_that_is_none_is_refused() -> None:
    for value in (-2, "soon", float("nan"), True):
        with pytest.raises(InputError, match=r"jobs\[1\]: begin_s: "):
            jobs(begin_s=value)
