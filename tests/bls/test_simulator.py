"""The batch simulator as whoever drives it meets it: what it refuses, what it tells, and what it says when it is stuck."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

from bls import BatchSimulator, Platform, Rules, Surroundings, allocator, policy
from bls.allocators import Allocator, PlacementRequest, allocator_kernel
from bls.constraints.options import surround
from bls.engine import state as b
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS
from traces.compiled import jit_enabled

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


def columns(one: BatchSimulator, *names: int) -> list[list[int]]:
    return [one.column(name).tolist() for name in names]


def test_a_run() -> None:
    one = done(simulator(rules=Rules("easy", keep_decisions=True)))
    # Job 13, whose estimate is 5 s, may start before job 12, whose shadow is at 20 s; it runs for 10.
    start, end = columns(one, b.START, b.END)
    assert (start, end) == ([0, 12 * S, 2 * S], [10 * S, 22 * S, 12 * S])
    first, lo, hi = one.allocations()
    assert first.tolist() == [0, 1, 2, 3]
    assert (lo.tolist(), hi.tolist()) == ([0, 0, 4], [4, 8, 6])
    assert [list(one.allocation(row)) for row in range(3)] == [[(int(a), int(z))] for a, z in zip(lo, hi, strict=True)]
    assert (one.ended, one.rows, one.now_ns) == (3, 3, max(end))
    told = one.decisions()
    table = one.decision_columns()
    assert told["decisions"] == len(table["now_ns"]) > 3
    assert table["started"].sum() == 3
    assert told["decision_total_ns"] == table["decision_ns"].sum() >= told["decision_max_ns"] > 0
    assert told["decision_mean_ns"] == told["decision_total_ns"] / told["decisions"]


def test_driven_by_hand() -> None:
    one = simulator(recorded=False, rules=Rules(kill_at_walltime=True))
    assert (one.advance(1), one.started(), one.stop_ns(0)) == (1, [0], 20 * S)
    with pytest.raises(RuntimeError, match=r"rows \[0\] have started and await an outcome or a promise"):
        one.advance(1)
    assert not one.outcome(0, 21 * S)  # after its stop
    assert not one.outcome(0, 19 * S, stopped=True)  # stopped, but not at its stop
    assert one.outcome(0, 20 * S, stopped=True)
    assert not one.outcome(0, 20 * S, stopped=True)  # it has been told
    one.advance(1)
    assert one.column(b.STATE)[0] == b.KILLED
    assert one.started() == [1]
    assert one.promise(1, 25 * S)
    assert not one.promise(1, 24 * S)  # takes back
    assert (one.advance(1), one.due) == (2, 1)
    assert one.outcome(1, 40 * S)
    assert one.advance(1) in (1, 3)


def test_a_job_wider_than_the_machine() -> None:
    with pytest.raises(InputError, match=r"^job 12 asks for 8 cores; the platform has 4$"):
        BatchSimulator(JOBS, Platform((HostGroup(1, 4, 1.0),)), policy("fcfs"), allocator("first-fit"))


def test_the_end_of_time() -> None:
    one = simulator(Workload.from_jobs([(1, 0, 2**62 // S, 8, 1), (2, 0, 2**61 // S, 8, 1)]))
    with pytest.raises(InputError, match=rf"^job 2 would end beyond the last simulated instant, {MAX_NS} ns$"):
        done(one)


@pytest.mark.parametrize(("count", "hosts"), [(1, "1 host is"), (2, "2 hosts are")])
def test_hosts_that_are_down_for_ever(tmp_path: Path, count: int, hosts: str) -> None:
    file = tmp_path / "f.csv"
    file.write_text("host,down_s,up_s\n" + "".join(f"{host},5,\n" for host in range(count)))
    with pytest.raises(InputError) as caught:
        done(simulator(around=Surroundings(failures=str(file))))
    assert f"and {hosts} down for ever; " in str(caught.value)
    assert str(caught.value).startswith("the simulation is stuck at job ")


def test_a_model_of_failures_goes_on_as_long_as_it_must() -> None:
    jobs = Workload.from_jobs([(k, 1000 * k, 500, 8, 500) for k in range(200)])
    one = done(simulator(jobs, around=Surroundings(failures="mtbf:1h,mttr:1m")))
    again = (one.column(b.STATE) == b.REQUEUED).sum()
    assert again == one.rows - 200 > 10
    down = one.downtime()
    assert len(down.host) >= again > 0
    assert (down.up_ns <= one.now_ns).all()
    assert (down.down_ns < down.up_ns).all()


@allocator_kernel
def _first_always(request: PlacementRequest) -> int:
    request.out_lo[0] = 0
    request.out_hi[0] = request.n_cores
    return 1


@allocator_kernel
def _never(request: PlacementRequest) -> int:
    return 0


def test_an_allocator_that_errs_is_named() -> None:
    jobs = Workload.from_jobs([(1, 0, 10, 2, 20), (2, 1, 10, 3, 20)])
    first = Allocator("first-always", _first_always, countable=True)
    with pytest.raises(
        PluginError, match=r"^allocator first-always: job 2 needs 3 free cores, each once and in ascending"
    ):
        done(simulator(jobs, allocator=first))
    with pytest.raises(
        InputError, match=r"stuck at job 1, .*, and allocator never does not place it on the empty machine"
    ):
        done(simulator(jobs, allocator=Allocator("never", _never)))


def test_an_allocator_that_is_not_compiled_is_named() -> None:
    def place(request: PlacementRequest) -> int:
        return 0

    plain = Allocator("plain", place)
    if jit_enabled():
        with pytest.raises(PluginError, match=r"^allocator plain: .*; decorate it with allocator_kernel$"):
            simulator(allocator=plain)
    else:
        assert simulator(allocator=plain).place is place


def test_cores_asked_for_by_number() -> None:
    given = allocator("given")
    cores = {11: "4-7", 12: "0-7", 13: "0 2"}
    one = done(simulator(allocator=given, requested=cores))
    assert [list(one.allocation(row)) for row in range(3)] == [[(4, 8)], [(0, 8)], [(0, 1), (2, 3)]]
    for wrong, message in (
        (None, "--allocator given needs the cores that each job asks for"),
        (cores | {13: "0-2"}, "requested[13]: '0-2' is not 2 different cores, as the job asks for"),
        (cores | {13: "7-8"}, "requested[13]: core 8; the platform has the cores 0 to 7"),
        ({11: "4-7"}, "requested[12]: missing; every job needs the cores that it asks for"),
    ):
        with pytest.raises(InputError) as caught:
            simulator(allocator=given, requested=wrong)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("options", "message"), table_rows(__file__, "rules_that_cannot_be"))
def test_rules_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules(**options)
    assert str(caught.value).startswith(message)


def test_depths() -> None:
    assert [Rules(name).depth for name in ("none", "easy", "0", "7", "conservative")] == [0, 1, 0, 7, b.UNBOUNDED]
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


# ---- deciding takes time, and an instant asks for something in its middle: the clock never goes back ----


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
    assert (run.column(b.START) // S).tolist() == [1, 1, 11]


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
