"""The batch simulator as whoever drives it meets it: what it refuses, what it tells, and what it says when it is stuck."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inside import column
from tables import table_rows

from bls import BatchSimulator, Platform, Rules, Surroundings, allocator, policy
from bls.constraints.options import surround
from bls.engine.state import UNBOUNDED
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError

S = 10**9
MACHINE = Platform((HostGroup(2, 4, 1.0),))
JOBS = Workload.from_jobs([(11, 0, 10, 4, 20), (12, 1, 10, 8, 20), (13, 2, 10, 2, 5)])


def simulator(
    jobs: Workload = JOBS, machine: Platform = MACHINE, around: Surroundings | None = None, **options: Any
) -> BatchSimulator:
    jobs, circumstances = surround(jobs, machine, around or Surroundings())
    given: dict[str, Any] = {"recorded": True, "circumstances": circumstances} | options
    order, placed = given.pop("bls", policy("fcfs")), given.pop("allocator", allocator("first-fit"))
    return BatchSimulator(jobs, machine, order, placed, **given)


def done(one: BatchSimulator) -> BatchSimulator:
    while one.advance(10**6):
        pass
    return one


@pytest.mark.parametrize(("options", "message"), table_rows(__file__, "rules_that_cannot_be"))
def test_rules_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules(**options)
    assert str(caught.value).startswith(message)


def test_depths() -> None:
    assert [Rules(name).depth for name in ("none", "easy", "0", "7", "conservative")] == [0, 1, 0, 7, UNBOUNDED]
    assert Rules(3).depth == 3  # type: ignore[arg-type]
    assert [Rules("conservative", kind).keeps for kind in ("keep", "rebuild")] == [True, False]
    assert not Rules("9").keeps


def test_columns_are_not_the_callers(tmp_path: Path) -> None:
    # What a policy is given to look at cannot be written to.
    class Writes:
        name = "writes"

        def keys(self, jobs: Any) -> Any:
            jobs.estimate_ns[0] = 1
            return np.zeros(3)

    with pytest.raises(PluginError, match=r"batch policy writes: keys\(\) failed: ValueError: .*read-only"):
        simulator(bls=Writes())


def test_promises_that_come_due_with_an_end_while_decisions_are_charged() -> None:
    platform = Platform(hosts=(HostGroup(count=1, cores=2, speed_gflops=1.0),))
    workload = Workload.from_jobs([(1, 0, 9, 1, 9), (2, 0, 9, 1, 9), (3, 2, 5, 1, 5)])
    rules = Rules(charge_decisions=True, decision_cost_ns=S)
    run = BatchSimulator(workload, platform, policy("fcfs"), allocator("first-fit"), rules=rules)
    clock, ends = [0], [10 * S, 10 * S, 20 * S]
    while (status := run.advance(100)) != BatchStatus.DONE:
        clock.append(run.now_ns)
        for row in run.started():
            assert run.promise(row, ends[row])  # exactly: an end and another's promise at one instant
        if status == BatchStatus.DUE:
            assert run.outcome(run.due, ends[run.due])
    assert clock == sorted(clock)
    assert (column(run.state, "jobs.START")[: run.rows] // S).tolist() == [1, 1, 11]


def test_memory_does_not_grow_with_the_jobs_that_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run needs is there before the first event: columns as long as the workload, and nothing per job that ended."""
    monkeypatch.setattr(BatchSimulator, "checks", 0)  # which take memory

    def grown(n: int) -> int:
        jobs = Workload.from_jobs([(k, 3 * k, 7 + k % 5, 1 + k % 8, 9) for k in range(n)])
        one = simulator(jobs, rules=Rules("easy"))
        before = [array.nbytes for array in one.state if hasattr(array, "nbytes")]
        one.advance(1)
        tracemalloc.start()
        done(one)
        grown = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [array.nbytes for array in one.state if hasattr(array, "nbytes")] == before
        return grown

    assert grown(4_000) < grown(400) + 20_000  # bytes


def test_a_run_that_nobody_looked_at_is_freed_at_once() -> None:
    """Without the collector of cycles: many runs of a long log in one process would else pile up."""
    gc.disable()
    try:
        one = done(simulator())
        still_there = weakref.ref(one)
        del one
        assert still_there() is None
    finally:
        gc.enable()
