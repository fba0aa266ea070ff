"""Fair start times: the slow way, which simulates for every job those that arrived before it, and what always holds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from batch_cases import FEATURES, BatchCase, expected
from batch_drives import attempts, said_cases, simulator_of
from inside import column
from reference.cluster import Cluster, NeverFinishes
from reference.machine import Attempt, Host, Job, Machine, Rules
from reference.room import only_counts

from bls.constraints.options import Surroundings
from bls.engine.status import BatchStatus
from bls.fair_start import check_fair_start, fair_starts
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.scheduler_options import Rules as BatchRules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from bridge import simulate
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.tables import write_jobs

pytestmark = pytest.mark.whole

FCFS, EASY, REBUILD = Rules(), Rules(depth=1), Rules(depth=None)


@dataclass(frozen=True)
class Arrivals:
    """Who joined the queue when, first attempts only: (instant, -1 from the start, row), and the instants of withdrawals."""

    joined: dict[int, tuple[int, int, int]]
    withdrawn: dict[int, int]


def arrivals(case: BatchCase, run: list[tuple[int, Attempt]]) -> Arrivals:
    eligible = {row: one.eligible for row, one in run if one.attempt == 0}
    joined = {row: (instant, -int(case.jobs[row].preset), row) for row, instant in eligible.items() if instant >= 0}
    withdrawn = {row: case.jobs[row].cancel or 0 for row in eligible if row not in joined}
    return Arrivals(joined, withdrawn)


def by_rows(case: BatchCase, run: list[Attempt]) -> list[tuple[int, Attempt]]:
    row_of = {job.number: row for row, job in enumerate(case.jobs)}
    return [(row_of[one.number], one) for one in run]


def start_without_later(case: BatchCase, came: Arrivals, row: int, one: Attempt) -> int:
    """The start of an attempt in a world in which only those are ever there that arrived before it did."""
    here = came.joined[row] if one.attempt == 0 else (one.eligible, -2, -1)
    rows = [other for other in sorted(came.joined) if came.joined[other] <= here]
    gone = [other for other in sorted(came.withdrawn) if came.withdrawn[other] <= one.eligible]
    place = {other: k for k, other in enumerate(rows + gone)}
    jobs = []
    for other in rows:
        job = case.jobs[other]
        jobs.append(job if job.after is None else replace(job, after=place[job.after]))
    # Those that were withdrawn before they could join: nothing but that happens to them.
    jobs += [replace(case.jobs[other], after=None, submit=2**61, preset=False) for other in gone]
    rules = replace(case.rules, counts=only_counts(case.jobs, case.machine, case.rules))
    cluster = Cluster(jobs, case.machine, rules)
    with suppress(NeverFinishes):
        cluster.run()
    starts: dict[tuple[int, int], int] = {(at, each.attempt): each.start for at, each in cluster.attempts}
    return starts.get((place[row], one.attempt), -1)


def slow(case: BatchCase) -> dict[tuple[int, int], int]:
    run = by_rows(case, expected(case))
    came = arrivals(case, run)
    return {
        (row, one.attempt): -1 if one.eligible < 0 else start_without_later(case, came, row, one) for row, one in run
    }


def fair(case: BatchCase) -> tuple[list[int], list[int], dict[tuple[int, int], int]]:
    """Fair starts and starts by rows, and fair starts by row of the job and attempt; the run must not be changed by it."""
    run: BatchSimulator = simulator_of(case)
    while run.advance(1000) != BatchStatus.DONE:
        pass
    before = attempts(run.state)
    found = fair_starts(run, simulator_of(case)).tolist()
    assert attempts(run.state) == before
    origin, attempt, start = (
        column(run.state, f"jobs.{name}")[: run.rows].tolist() for name in ("ORIGIN", "ATTEMPT", "START")
    )
    return found, start, dict(zip(zip(origin, attempt, strict=True), found, strict=True))


_KINDS = [(), ("orders",), ("kill", "allocators"), ("given", "switches"), ("units", "resources", "licences")]
_KINDS += [("cancel", "unknown"), ("dependencies",), ("partitions", "limits"), ("reservations", "maintenance")]
_KINDS += [("presets", "cost"), ("estimates", "outages", "orders"), ("estimates", "cancel", "kill"), FEATURES]


@pytest.mark.parametrize("features", _KINDS, ids=lambda each: "+".join(each) if len(each) < 3 else "all")
def test_as_the_slow_way(features: tuple[str, ...]) -> None:
    for case in said_cases(1, 8, features, max_jobs=10):
        assert fair(case)[2] == slow(case), case


def test_with_applications_run_times_are_those_of_the_run(tmp_path: Path) -> None:
    """Task lengths vary, so that the run times are no longer those of the log; the slow way is told them."""
    rows = [(number, 5 * number, 50 + 13 * number % 70, 1 + 29 * number % 64, 130) for number in range(1, 40)]
    options: dict[str, Any] = {"bls": "sjf", "als": "gss", "variation": 0.3, "seed": 2, "backfill": "easy"}
    workload, platform = Workload.from_jobs(rows), Platform((HostGroup(2, 32, 32.0),))
    plain = simulate(workload, platform, tasks_per_core=4, **options)
    assert ("fair_start_ns" in plain.jobs, plain.metrics["unfair_share"]) == (False, None)
    result = simulate(workload, platform, tasks_per_core=4, fair_start=True, **options)
    table = result.jobs
    lasted = (table.end_ns - table.start_ns).tolist()
    assert lasted != (Workload.from_jobs(rows).run_ns).tolist()
    jobs = tuple(
        Job(number, q * NS_PER_S, p, n, r * NS_PER_S) for (number, q, _, n, r), p in zip(rows, lasted, strict=True)
    )
    case = BatchCase(jobs, Machine((Host(32), Host(32))), replace(EASY, order="sjf"))
    assert table.start_ns.tolist() == [one.start for one in expected(case)]
    assert table.fair_start_ns.tolist() == list(slow(case).values())
    late = np.maximum(0, table.start_ns - table.fair_start_ns)
    assert result.metrics["max_unfairness_ns"] == late.max() > 0
    assert result.metrics["mean_unfairness_ns"] == late.mean()
    assert result.metrics["unfair_share"] == (late > 0).mean()
    write_jobs(result.ledger, tmp_path / "jobs.parquet", result.notes.further_columns(len(result.ledger.jobs)))
    assert pd.read_parquet(tmp_path / "jobs.parquet").fair_start_ns.tolist() == table.fair_start_ns.tolist()


def test_a_job_that_never_ran_would_run_for_its_request() -> None:
    """By sjf and predictions: job 4 is planned with 1 s, since its user's jobs last so long, and asks for 30; job 6 is planned
    with half a second and goes before it at 10 s, for longer, so that job 4 is withdrawn at 18. Without job 6, job 4 would run
    until it is withdrawn, and job 5 start then."""
    rows: list[dict[str, float]] = [
        {"job_id": 1, "submit_s": 0, "run_s": 1, "cores": 1, "estimate_s": 100, "user": 1},
        {"job_id": 2, "submit_s": 0, "run_s": 1, "cores": 1, "estimate_s": 100, "user": 1},
        {"job_id": 3, "submit_s": 2, "run_s": 8, "cores": 4, "estimate_s": 8, "user": 2},
        {"job_id": 4, "submit_s": 3, "run_s": 30, "cores": 4, "estimate_s": 30, "user": 1, "cancel_s": 18},
        {"job_id": 5, "submit_s": 4, "run_s": 5, "cores": 4, "estimate_s": 50, "user": 3},
        {"job_id": 6, "submit_s": 5, "run_s": 9, "cores": 4, "estimate_s": 0.5, "user": 3},
    ]
    result = simulate(
        Workload.from_jobs(rows), Platform((HostGroup(1, 4, 4.0),)), bls="sjf", fair_start=True,
        rules=BatchRules(estimates="last-two"),
    )  # fmt: skip
    table = result.jobs
    assert (table.planned_ns / NS_PER_S).tolist() == [100, 100, 8, 1, 50, 0.5]
    assert (table.start_ns / NS_PER_S).tolist()[3:] == [-1 / NS_PER_S, 19, 10]
    assert table.fair_start_ns.tolist()[4] == 18 * NS_PER_S


def test_a_run_that_fails_often_under_any_policy_can_be_made_again() -> None:
    """Outages of a model, of which more are drawn while it runs, fair-share, which keeps accounts, and many attempts."""
    rows = [(number, 7 * number, 40 + 13 * number % 70, 1 + 29 * number % 8, 130) for number in range(1, 60)]
    platform = Platform((HostGroup(4, 2, 8.0),))
    given_ = {"surroundings": Surroundings(failures="mtbf:6m,mttr:30s"), "backfill": "easy", "als": "static"}
    for name in ("fcfs", "sjf", "multifactor:age=1000,size=500"):
        result = simulate(Workload.from_jobs(rows), platform, bls=name, fair_start=True, **given_)  # type: ignore[arg-type]
        table = result.jobs
        assert (table.attempt > 0).any()
        assert (table.fair_start_ns >= table.eligible_ns).all()
        last = int(table.eligible_ns.argmax())  # nobody joined later
        assert table.fair_start_ns[last] == table.start_ns[last]


def test_what_has_no_meaning_is_refused() -> None:
    class Decides:
        name = "mine"

        def decide(self, view: object) -> list[object]:
            return []

    with pytest.raises(InputError, match="--fair-start: batch policy mine decides in Python"):
        check_fair_start(Decides(), BatchRules())
    with pytest.raises(InputError, match="--fair-start: with --charge-decisions as measured"):
        check_fair_start(POLICIES["fcfs"], BatchRules(charge_decisions=True))
    check_fair_start(POLICIES["fcfs"], BatchRules(charge_decisions=True, decision_cost_ns=5))
