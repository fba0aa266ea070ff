"""Jobs that a policy in Python rejects: they never run, their reason is in the tables, and those behind them go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bridge
from bls import Surroundings, View
from bls.fair_start import check_fair_start
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, AnyPolicy
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.checks.ledger import check_ledger
from traces.ledger import STATES

S = 10**9
MACHINE = Platform((HostGroup(1, 4, 1.0),))


class NoWideOnes:
    """Starts what fits in the order of arrival; rejects what asks for more than half of the machine."""

    name = "no-wide-ones"

    def decide(self, view: View) -> Iterator[Any]:
        free = view.free_cores
        for job in view.waiting:
            if 2 * job.cores > view.n_cores:
                view.reject(job, f"asks for {job.cores} of {view.n_cores} cores")
            elif job.cores <= free:
                free -= job.cores
                yield job


JOBS = [(1, 0, 10, 2, 10), (2, 0, 10, 3, 10), (3, 1, 10, 2, 10), (4, 2, 10, 4, 10), (5, 2, 5, 1, 5)]


def simulated(order: AnyPolicy, jobs: list[Any] = JOBS, **options: Any) -> bridge.Result:
    result = bridge.simulate(Workload.from_jobs(jobs), MACHINE, **({"bls": order, "als": "recorded"} | options))
    check_ledger(result.ledger)
    return result


def test_known_answers() -> None:
    result = simulated(NoWideOnes(), als="static", variation=0.0)
    table = result.jobs
    assert table.state.tolist() == ["completed", "rejected", "completed", "rejected", "completed"]
    assert table.why.tolist() == ["head", "never", "head", "never", "head"]
    assert table.start_ns.tolist() == [0, -1, S, -1, 10 * S]
    assert table.rejected_because.tolist() == ["", "asks for 3 of 4 cores", "", "asks for 4 of 4 cores", ""]
    assert result.ledger.jobs.left_ns.tolist() == [-1, 0, -1, 2 * S, -1]
    assert (result.metrics["state_rejected"], result.metrics["jobs"]) == (2, 3)
    assert "rejected by the policy: asks for 4 of 4 cores" in result.story(4)


def test_without_rejections_there_is_no_such_column() -> None:
    assert "rejected_because" not in simulated(NoWideOnes(), JOBS[:1]).jobs


def test_who_depends_on_it_becomes_eligible() -> None:
    jobs = [
        {"job_id": 1, "submit_s": 3, "run_s": 10, "cores": 4},
        {"job_id": 2, "submit_s": 4, "run_s": 10, "cores": 1, "preceding": 1, "think_s": 20},
        {"job_id": 3, "submit_s": 0, "run_s": 10, "cores": 1, "preceding": 1},
    ]
    result = simulated(NoWideOnes(), jobs, surroundings=Surroundings(dependencies=True))
    by_number = dict(zip(result.jobs.job_id.tolist(), (result.jobs.start_ns // S).tolist(), strict=True))
    assert by_number == {1: -1, 2: 23, 3: 3}


def test_an_attempt_may_be_rejected(tmp_path: Path) -> None:
    class OneTry:
        name = "one-try"

        def decide(self, view: View) -> Iterator[Any]:
            for job in view.waiting:
                if job.attempt:
                    view.reject(job, "was cut before")
                elif view.free_cores >= job.cores:
                    yield job

    failures = tmp_path / "f.csv"
    failures.write_text("host,down_s,up_s\n0,5,8\n")
    result = simulated(OneTry(), [(1, 0, 10, 2, 10)], surroundings=Surroundings(failures=str(failures)))
    assert result.jobs.state.tolist() == ["requeued", "rejected"]
    assert result.jobs.rejected_because.tolist() == ["", "was cut before"]
    assert result.ledger.jobs.left_ns.tolist() == [-1, 5 * S]


def test_the_reason_is_one_line() -> None:
    class Wordy(NoWideOnes):
        def decide(self, view: View) -> Iterator[Any]:
            for job in view.waiting:
                view.reject(job, " too\nwide\x1b ")
            return iter(())

    assert simulated(Wordy(), JOBS[:1]).jobs.rejected_because.tolist() == ["too wide\\x1b"]


def always(answer: Callable[[View], Any]) -> AnyPolicy:
    class Mine:
        name = "mine"

        def decide(self, view: View) -> Any:
            return answer(view) or []

    return Mine()


MACHINE_REJECT = Platform((HostGroup(2, 4, 4.0),))


def log(*rows: dict[str, Any]) -> Workload:
    """Jobs, numbered from 1, of one core that run for 10 s, but for what is said."""
    return Workload.from_jobs([{"job_id": n, "run_s": 10, "cores": 1, **row} for n, row in enumerate(rows, 1)])


def rejected(workload: Workload, **options: Any) -> bridge.Result:
    result = bridge.simulate(workload, MACHINE_REJECT, **({"bls": "reject", "als": "recorded"} | options))
    check_ledger(result.ledger)
    return result


THREE = log({"submit_s": 3}, {"submit_s": 5, "cores": 8}, {"submit_s": 5})


def test_what_is_left_of_a_run_of_rejected_jobs() -> None:
    result = rejected(THREE, rules=Rules(keep_decisions=True))
    assert result.jobs.allocation.tolist() == [""] * 3
    assert result.ledger.jobs.left_ns.tolist() == [3 * NS_PER_S, 5 * NS_PER_S, 5 * NS_PER_S]
    assert (result.decisions.waiting.tolist(), result.decisions.started.tolist()) == ([1, 2], [0, 0])
    metrics = result.metrics
    assert sum(metrics[f"state_{name}"] for name in STATES) == 3
    assert metrics["mean_wait_ns"] is metrics["mean_slowdown"] is None
    assert "rejected_core_hours" not in metrics  # it would always be 0


def test_an_application_level_has_nothing_to_do() -> None:
    result = rejected(THREE, als="gss")
    assert result.jobs.state.tolist() == ["rejected"] * 3
    assert result.jobs.tasks.tolist() == [0] * 3


def test_it_plans_nothing() -> None:
    for backfill in ("easy", "conservative", "3"):
        with pytest.raises(
            InputError, match=f"--backfill {backfill}: batch policy reject starts no job; allowed: none"
        ):
            Rules(backfill).check(POLICIES["reject"])
    with pytest.raises(InputError, match="--fair-start: batch policy reject starts no job"):
        check_fair_start(POLICIES["reject"], Rules())
