"""Jobs that are loaded as their time comes; and the batch simulator: what it refuses and reports."""

import gc
import tracemalloc
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase, cases, finishes
from batch_drives import as_users_say, finish, gpus_of, said_cases, simulator_of, workload_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inside import column
from tables import table_rows

from bls import ConstraintOptions, allocator
from bls.allocators import ALLOCATORS
from bls.constraints.job_constraints import JobConstraints, constrain
from bls.constraints.outages import Outages
from bls.engine.state import UNBOUNDED
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, KnownJobs, policy
from bls.scheduler_options import BACKFILL, Rules
from bls.simulator import BatchSimulator
from bls.stream import ArrivingJobs, Stretch, check_streamed, stretches
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.ledger import STATES, WHY

#: Features of streams besides plain jobs on plain hosts.
FEATURES = ("orders", "allocators", "kill", "partitions", "limits", "cost", "outages", "gpus")


def blocks(workload: Workload, size: int) -> Iterator[Workload]:
    for at in range(0, len(workload), size):
        yield replace(workload.take(np.arange(at, min(at + size, len(workload)))), rejects={}, n_lines=0)


def ended(stretch: Stretch) -> list[tuple[Any, ...]]:
    run, found = stretch.simulator, []
    for row in stretch.ended.tolist():
        held = tuple(core for lo, hi in run.allocation(row) for core in range(lo, hi))
        names = ("number", "attempt", "eligible_ns", "start_ns", "end_ns", "why", "state")
        number, attempt, eligible, start, end, why, became = (
            int(column(run.state, f"jobs.{name}")[row]) for name in names
        )
        values = (number, attempt, eligible, start, end, held, WHY[why], STATES[became], gpus_of(run.state, row))
        found.append((int(stretch.number[row]), *values))
    return found


def streamed(case: BatchCase, block: int, jobs: int) -> list[tuple[Any, ...]]:
    workload = workload_of(case.jobs)
    whole = simulator_of(case)
    partition = whole.constraints.partition
    of_job = {} if partition is None else dict(zip(workload.job_id.tolist(), partition.tolist(), strict=True))

    row_of = {number: row for row, number in enumerate(workload.job_id.tolist())}

    def simulator(some: Workload, constraints: JobConstraints) -> BatchSimulator:
        part = None if partition is None else np.array([of_job[number] for number in some.job_id.tolist()])
        options = {"rules": whole.rules, "slack": float(case.rules.slack), "recorded": True, "seed": case.rules.seed}
        asked = whole.constraints.requests
        if asked is not None:
            asked = asked.take(np.array([row_of[number] for number in some.job_id.tolist()]))
        options["constraints"] = JobConstraints(
            part, asked, outages=constraints.outages, cores_differ=asked is not None
        )
        return BatchSimulator(some, whole.platform, whole.policy, whole.allocator, **options)

    plain = Platform(tuple(HostGroup(1, host.cores, 1.0) for host in case.machine.hosts))
    found: list[tuple[Any, ...]] = []
    arrivals = ArrivingJobs(blocks(workload, block), plain)
    for stretch in stretches(arrivals, simulator, jobs=jobs, outages=whole.constraints.outages, pace=lambda: 3):
        stretch.simulator.validate()
        found += ended(stretch)
    return [one[1:] for one in sorted(found)]


def whole(case: BatchCase) -> list[tuple[Any, ...]]:
    # In the order of the engine's rows: later attempts come after all jobs.
    simulator = simulator_of(case)
    values = [tuple(vars(one).values()) for one in finish(simulator)]
    found = {one[:2]: one for one in values}
    number, attempt = (column(simulator.state, f"jobs.{name}")[: simulator.rows] for name in ("number", "attempt"))
    rows = zip(number.tolist(), attempt.tolist(), strict=True)
    return [found[row] for row in rows]


def streamable(case: BatchCase) -> BatchCase:
    """The case without an allocator that weighs the requests of all jobs, which is refused."""
    weighs = case.rules.allocator.startswith("fgd")
    return replace(case, rules=replace(case.rules, allocator="tightest")) if weighs else case


@given(case=cases((*FEATURES, "begins"), max_jobs=16).map(streamable), block=st.integers(1, 5), jobs=st.integers(1, 7))
@settings(max_examples=300)
def test_in_stretches_of_any_length_all_is_as_in_one(case: BatchCase, block: int, jobs: int) -> None:
    said = as_users_say(case)
    assume(said is not None and finishes(said))
    assert said is not None
    assert streamed(said, block, jobs) == whole(said)


@pytest.mark.parametrize("always", FEATURES)
def test_with_each_feature_all_is_as_in_one(always: str) -> None:
    for k, case in enumerate(map(streamable, said_cases(5, 12, (*FEATURES, "begins"), always=[always], max_jobs=16))):
        assert streamed(case, 1 + k % 3, 1 + k % 5) == whole(case)


def log(n: int, *, every: int = 10, cores: int = 1) -> Workload:
    """Jobs of 60 s, one after the other."""
    return Workload.from_jobs([(k + 1, every * k, 60, cores, 60) for k in range(n)])


def run(workload: Workload, order: Any = "fcfs", rules: Rules | None = None, jobs: int = 8) -> list[Stretch]:
    platform = Platform((HostGroup(4, 4, 1.0),))
    chosen = policy(order) if isinstance(order, str) else order

    def simulator(some: Workload, constraints: JobConstraints) -> BatchSimulator:
        return BatchSimulator(
            some, platform, chosen, ALLOCATORS["first-fit"], rules=rules, constraints=constraints, recorded=True
        )

    return list(stretches(ArrivingJobs(blocks(workload, 5), platform), simulator, jobs=jobs))


def test_no_more_jobs_are_held_than_wait_run_or_come() -> None:
    made = run(log(400), rules=Rules("easy"))
    assert sum(len(one.ended) for one in made) == 400
    # Six run at once; 8 to 12 come; one is the next.
    assert max(one.simulator.rows for one in made) <= 6 + 12 + 1
    assert [one.begin_ns for one in made[1:]] == [one.end_ns for one in made[:-1]]


def test_jobs_that_are_submitted_together_come_together() -> None:
    made = run(log(40, every=0, cores=16), jobs=3)
    assert [len(one.ended) for one in made] == [40]


def test_a_policy_that_compares_jobs_is_found_out() -> None:
    class ByPlace:
        name = "by-place"

        def keys(self, jobs: KnownJobs) -> Any:
            return -np.abs(np.arange(len(jobs.job_id)) - 3)

    with pytest.raises(PluginError, match="batch policy by-place: its values for a job depend on the other jobs"):
        run(log(200, cores=16), ByPlace())


class Decides:
    name = "decides"

    def decide(self, view: Any) -> list[Any]:
        return []


FOLLOWS = type("Follows", (Decides,), {"finish": lambda self, view: None})()
CANCELS = type("Cancels", (Decides,), {"directs": "ends"})()


def failing(**columns: Any) -> JobConstraints:
    none = np.zeros(0, np.int64)
    return JobConstraints(outages=Outages(np.zeros(5, np.int64), none, none, **columns))


@pytest.mark.parametrize(
    ("order", "rules", "constraints", "words"),
    [
        (FOLLOWS, Rules(), None, "bls='decides': finish"),
        (CANCELS, Rules(), None, "bls='decides': directs"),
        (Decides(), Rules(), failing(), "failures with bls='decides': it decides in Python"),
        (POLICIES["fcfs"], Rules(), failing(drained=failing().outages), "failures: hosts cannot be drained"),
        (POLICIES["multifactor"], Rules(), None, "bls='multifactor': it keeps accounts"),
        (POLICIES["fcfs"], Rules(estimates="last-two"), None, "estimates"),
        (POLICIES["fcfs"], Rules(keep_decisions=True), None, "keep_decisions"),
    ],
)
def test_features_that_need_all_jobs_are_refused(
    order: Any, rules: Rules, constraints: JobConstraints | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        check_streamed(order, rules, constraints, allocator("first-fit"))


class AsksOfTheEnded(Decides):
    def __init__(self) -> None:
        self.first: Any = None

    def decide(self, view: Any) -> list[Any]:
        waiting = list(view.waiting)
        self.first = self.first or waiting[0]
        assert self.first.deadline_ns >= 0
        return waiting


def test_forgotten_facts_of_ended_jobs_are_refused() -> None:
    with pytest.raises(PluginError, match="keeps nothing of a job that has ended but the fields of SeenJob"):
        run(log(200), AsksOfTheEnded())


class ReadsRows(Decides):
    def decide(self, view: Any) -> list[Any]:
        for columns, jobs in ((view.waiting_columns, view.waiting), (view.running_columns, view.running)):
            places = [job.job_id - 1 for job in jobs]  # in the whole log
            assert columns.rows.tolist() == [job.row for job in jobs] == places
        return list(view.waiting)


def test_columns_name_jobs_by_their_places_in_the_whole_log() -> None:
    assert len(run(log(100), ReadsRows())) > 5


@pytest.mark.parametrize("order", ["fcfs", "sjf", "f1", "wfp3", "expr:w/t", "reject"])
def test_other_policies_are_not(order: str) -> None:
    rules = Rules("none" if order == "reject" else "conservative", estimates="exact")
    check_streamed(policy(order), rules, None, allocator("pack-gpus"))


S = 10**9
MACHINE = Platform((HostGroup(2, 4, 1.0),))
JOBS = Workload.from_jobs([(11, 0, 10, 4, 20), (12, 1, 10, 8, 20), (13, 2, 10, 2, 5)])


def simulator(
    jobs: Workload = JOBS, machine: Platform = MACHINE, constraints: ConstraintOptions | None = None, **options: Any
) -> BatchSimulator:
    jobs, constraints = constrain(jobs, machine, constraints or ConstraintOptions())
    given: dict[str, Any] = {"recorded": True, "constraints": constraints} | options
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
    assert [Rules(kind).keeps for kind in BACKFILL[2:]] == [True, False]
    assert not Rules("9").keeps


def test_columns_are_not_the_callers(tmp_path: Path) -> None:
    # A policy cannot write to the columns that it gets.
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
    rules = Rules(decision_cost_ns=S)
    run = BatchSimulator(workload, platform, policy("fcfs"), allocator("first-fit"), rules=rules)
    clock, ends = [0], [10 * S, 10 * S, 20 * S]
    while (status := run.advance(100)) != BatchStatus.DONE:
        clock.append(run.now_ns)
        for row in run.started():
            assert run.promise(row, ends[row])  # exactly: an end and another's promise at one instant
        if status == BatchStatus.DUE:
            assert run.outcome(run.due, ends[run.due])
    assert clock == sorted(clock)
    assert (column(run.state, "jobs.start_ns")[: run.rows] // S).tolist() == [1, 1, 11]


def test_memory_does_not_grow_with_the_jobs_that_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_an_unused_run_is_freed_at_once() -> None:
    """Without the collector of cycles: many runs of a long log in one process would else pile up."""
    gc.disable()
    try:
        one = done(simulator())
        still_there = weakref.ref(one)
        del one
        assert still_there() is None
    finally:
        gc.enable()
