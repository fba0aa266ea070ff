"""The policy that starts no job: what becomes of each, and what is left to see of the run."""

from __future__ import annotations

from typing import Any

import pytest

import bridge
from bls.fair_start import check_fair_start
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.checks.ledger import check_ledger
from traces.ledger import STATES

MACHINE = Platform((HostGroup(2, 4, 4.0),))


def log(*rows: dict[str, Any]) -> Workload:
    """Jobs, numbered from 1, of one core that run for 10 s, but for what is said."""
    return Workload.from_jobs([{"job_id": n, "run_s": 10, "cores": 1, **row} for n, row in enumerate(rows, 1)])


def rejected(workload: Workload, **options: Any) -> bridge.Result:
    result = bridge.simulate(workload, MACHINE, **({"bls": "reject", "als": "recorded"} | options))
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
