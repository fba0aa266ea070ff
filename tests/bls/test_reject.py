"""The policy that starts no job: what becomes of each, and what is left to see of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from batch_cases import BatchCase, seeded_cases
from batch_drives import as_users_say, circumstances_of, platform_of, workload_of
from command_line import twolevel

import bridge
from bls.engine import state as b
from bls.engine.status import BatchStatus
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


@pytest.mark.parametrize("features", [("cancel", "dependencies"), ("partitions", "limits"), ("outages", "cost")])
def test_no_job_ever_runs_whatever_else_happens(features: tuple[str, ...]) -> None:
    seen = 0
    for case in seeded_cases(4, 15, (*features, "units", "resources")):
        usual = as_users_say(case)
        if usual is None:
            continue
        seen += 1
        platform, workload = platform_of(usual.machine), workload_of(usual.jobs)
        rules = Rules(charge_decisions=usual.rules.cost > 0, decision_cost_ns=usual.rules.cost or None)
        simulator = engine_run(usual, platform, workload, rules)
        column = simulator.column
        assert (column(b.START) == -1).all()
        became = {STATES[state] for state in column(b.STATE).tolist()}
        assert became <= {"rejected", "cancelled"}
        assert simulator.rows == simulator.ended == len(usual.jobs)
        waited = column(b.CANCEL) - column(b.ELIGIBLE)
        turned = column(b.STATE) == STATES.index("rejected")
        assert (column(b.ELIGIBLE)[turned] >= workload.submit_ns[turned]).all()
        assert (waited[turned] == 0).all() or usual.rules.cost > 0
    assert seen >= 7


def engine_run(case: BatchCase, platform: Platform, workload: Workload, rules: Rules) -> Any:
    from bls.allocators import ALLOCATORS
    from bls.simulator import BatchSimulator

    simulator = BatchSimulator(
        workload, platform, POLICIES["reject"], ALLOCATORS["first-fit"], rules=rules, recorded=True,
        circumstances=circumstances_of(case, platform, workload),
    )  # fmt: skip
    clock = -1
    while simulator.advance(1) != BatchStatus.DONE:
        assert simulator.now_ns >= clock
        clock = simulator.now_ns
    return simulator


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


def test_an_instant_with_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(
        "".join(f"{k} {k // 50} 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 1 -1 -1\n" for k in range(1, 501))
    )
    end = twolevel("run", "log.swf", "--bls", "reject", "--als", "recorded", "--out", "r")
    assert end.code == 0, end.err
    table = pd.read_parquet("r/jobs.parquet")
    assert set(table.state) == {"rejected"}
    assert len(table) == 500
    assert np.array_equal(table.eligible_ns, table.submit_ns)
    assert list(Path("r").rglob("*.otf2")), "a trace without a job"
    end = twolevel("run", "log.swf", "--bls", "reject", "--backfill", "easy", "--out", "s")
    assert (end.code, end.err.count("\n")) == (2, 1)
