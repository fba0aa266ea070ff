"""The batch engine: cases by hand, promises and outcomes, faults, checks of its state; and fair start times."""

import copy
import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from batch_cases import FEATURES, BatchCase, cases, expected, finishes
from batch_drives import as_users_say, attempts, finish, rules_of, said_cases, simulator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import column, held, number, put_state
from reference.cluster import Cluster, NeverFinishes
from reference.machine import Attempt, Host, Job, Machine, Rules
from reference.room import only_counts
from tables import table_rows

from bls import read_workload, sample_path
from bls.allocators import ALLOCATORS
from bls.constraints.advance_reservations import Window, windows
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import OutageModel, Outages, modelled_outages
from bls.engine.state import BY_ROW, BatchState
from bls.engine.status import BatchStatus
from bls.engine.validation import validate
from bls.fair_start import FinishedRows, fair_starts
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.running_jobs import counter
from bls.scheduler_options import ConstraintOptions
from bls.scheduler_options import Rules as BatchRules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from bridge import simulate
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S
from traces.checks.faults import InvariantError
from traces.kernels.snapshots import Snapshot

pytestmark = pytest.mark.whole

EASY, KEEP = Rules(depth=1), Rules(depth=None, keep=True)


@pytest.mark.parametrize(("rules", "by_cores"), [(EASY, False), (KEEP, True)])
def test_a_thousand_things_may_happen_while_the_scheduler_is_busy(rules: Rules, by_cores: bool) -> None:
    outages = tuple((t, t + 1) for t in range(10, 2000, 2))
    rows = ((1, 0, 9, 1, 9), (2, 5, 9, 2, 9), (3, 6, 9, 2, 9))
    case = BatchCase(
        tuple(Job(*row) for row in rows), Machine((Host(1), Host(1, outages=outages))), replace(rules, cost=3000)
    )
    known = replace(case, rules=replace(case.rules, counts=not by_cores))
    found = finish(simulator_of(known, by_cores=by_cores))
    assert found == expected(known)
    assert (found[0].start, found[0].why) == (3000, "head")


Schedule = list[tuple[int, int, tuple[int, ...]]]


def schedule(simulator: BatchSimulator) -> Schedule:
    return [(one.start, one.end, one.cores) for one in attempts(simulator.state)]


#: Features for which no run time must be known.
SUSPENDED = ("orders", "allocators", "units", "resources", "limits", "dependencies")

suspended_cases = cases(SUSPENDED, max_jobs=12).map(as_users_say).filter(lambda case: case is not None)


@settings(max_examples=250)
@given(case=suspended_cases, data=st.data())
def test_promises_and_late_outcomes_in_any_order_change_nothing(case: BatchCase, data: st.DataObject) -> None:
    """Each job that starts gets its outcome, or a promise, at once, in any order. While a job is due, others may get
    theirs first, and that job only a later promise; the schedule does not depend on the way."""
    simulator, run_ns = simulator_of(case, recorded=False), [job.run for job in case.jobs]
    promised: dict[int, int] = {}  # running jobs that have no outcome yet

    def end_of(row: int) -> int:
        return int(column(simulator.state, "jobs.start_ns")[row]) + run_ns[row]

    def end(row: int) -> None:
        promised.pop(row, None)
        assert simulator.outcome(row, end_of(row))

    def notify(row: int) -> None:
        if data.draw(st.booleans()):
            end(row)
        else:
            # Now and then a promise that says nothing new.
            least, most = max(promised.get(row, 0), simulator.now_ns), end_of(row)
            promised[row] = data.draw(st.sampled_from((least, most)) | st.integers(least, most))
            assert simulator.promise(row, promised[row])

    clock = -1
    while (status := simulator.advance(data.draw(st.integers(1, 5)))) != BatchStatus.DONE:
        assert simulator.now_ns >= clock
        clock = simulator.now_ns
        if status == BatchStatus.STARTED:
            for row in data.draw(st.permutations(simulator.started())):
                notify(row)
        elif status == BatchStatus.DUE:
            assert promised[simulator.due] == clock
            for row in data.draw(st.lists(st.sampled_from(sorted(promised)), max_size=3, unique=True)):
                notify(row)
            if promised.get(simulator.due) == clock:
                end(simulator.due)
        # An outcome may come at any other time too.
        for row in sorted(promised):
            if data.draw(st.integers(0, 4)) == 0:
                end(row)
    assert not promised
    assert attempts(simulator.state) == expected(case)


@settings(max_examples=200)
@given(
    case=cases(("orders", "kill", "cancel", "maintenance", "outages", "reservations", "cost"), max_jobs=12),
    data=st.data(),
)
def test_a_job_that_stops_on_command_is_cut_like_one_with_a_known_run_time(
    case: BatchCase, data: st.DataObject
) -> None:
    said = as_users_say(case)
    if said is None or not finishes(said):
        return
    simulator = simulator_of(said, recorded=False)
    while (status := simulator.advance(5)) != BatchStatus.DONE:
        rows = {BatchStatus.STARTED: simulator.started(), BatchStatus.DUE: [simulator.due]}.get(status, [])
        for row in rows:
            run = said.jobs[int(column(simulator.state, "jobs.origin")[row])].run
            natural, stop = int(column(simulator.state, "jobs.start_ns")[row]) + run, simulator.stop_ns(row)
            stopped = stop is not None and stop < natural
            last = natural if not stopped or stop is None else stop
            if status == BatchStatus.STARTED and data.draw(st.booleans()):
                assert simulator.promise(row, data.draw(st.integers(simulator.now_ns, last)))
                continue
            if stop is not None:
                assert not simulator.outcome(row, stop + 1), "beyond its stop"
            if stopped and last > simulator.now_ns:
                assert not simulator.outcome(row, last - 1, True), "cut at another instant than was said"
            assert simulator.outcome(row, last, stopped)
    assert attempts(simulator.state) == expected(said)


def jobs(*rows: tuple[int, float, float, int, float]) -> Workload:
    """(number, submit s, run s, cores, estimate s)"""
    return Workload.from_jobs(rows)


def machine(n_cores: int = 4, n_hosts: int = 1) -> Platform:
    return Platform((HostGroup(n_hosts, n_cores // n_hosts, 4.0),))


def ready(workload: Workload, platform: Platform | None = None, policy: Any = None, **options: Any) -> BatchSimulator:
    allocator = ALLOCATORS[options.pop("allocator", "first-fit")]
    return BatchSimulator(workload, platform or machine(), policy or POLICIES["fcfs"], allocator, **options)


def test_impossible_input_is_refused_and_changes_nothing() -> None:
    simulator = ready(jobs((1, 5, 9, 4, 9), (2, 6, 9, 4, 9)))
    assert simulator.advance(100) == BatchStatus.STARTED
    with pytest.raises(RuntimeError, match="await an outcome or a promise"):
        simulator.advance(1)
    now = 5 * NS_PER_S
    for row, at, why in ((0, now - 1, "past"), (0, MAX_NS + 1, "beyond the end of time"), (1, now + 5, "not started")):
        assert not simulator.promise(row, at), why
        assert not simulator.outcome(row, at), why
    assert not simulator.outcome(0, now + 5, True), "nothing cuts it"
    assert simulator.started() == [0]
    assert simulator.promise(0, now + 3)
    assert not simulator.promise(0, now + 2), "takes a promise back"
    assert not simulator.outcome(0, now + 2), "before its promise"
    assert simulator.outcome(0, now + 3)
    assert not simulator.outcome(0, now + 3), "twice"
    assert not simulator.promise(0, now + 4), "after the outcome"
    assert simulator.advance(100) == BatchStatus.STARTED
    assert simulator.now_ns == now + NS_PER_S
    assert simulator.outcome(1, simulator.now_ns), "a job may end at the instant at which it starts"
    assert simulator.advance(100) == BatchStatus.DONE
    assert [end for _, end, _ in schedule(simulator)] == [now + 3, now + NS_PER_S]


@pytest.mark.parametrize("keep", [False, True])
def test_room_that_is_just_enough_or_grows_changes_nothing(keep: bool) -> None:
    """Rows, slices, decisions and reservations begin with room for next to nothing."""
    grown: set[str] = set()
    for any_rules in said_cases(8, 16, ("outages", "units", "maintenance", "dependencies"), max_jobs=14):
        case = replace(any_rules, rules=replace(any_rules.rules, depth=None, keep=keep, requeue=True))
        if not finishes(case):
            continue
        answer = expected(case)
        tight = simulator_of(case, rules=replace(rules_of(case.rules), keep_decisions=True))
        state, profile = tight.state, tight.state.cores_profile
        n = number(state, "cores_profile.n_slices") + 4
        small: dict[str, Any] = {
            "pool": state.pool.front(1),
            "decisions": state.decisions._replace(passes=state.decisions.passes.front(1)),
        }
        if len(state.kept.lo):
            small["kept"] = state.kept.front(1)
        if len(profile.ns):
            of_slices = ("ns", "free", "first", "lo", "hi", "amount", "after")
            small["cores_profile"] = profile._replace(**{name: getattr(profile, name)[:n].copy() for name in of_slices})
        put_state(tight, state._replace(**small))
        columns = ("decisions.passes.at_ns", "kept.lo", "jobs.number", "pool.lo")
        sizes = {name: len(column(tight.state, name)) for name in columns}
        assert finish(tight) == answer, case
        grown |= {name for name, size in sizes.items() if len(column(tight.state, name)) != size}
        if len(profile.ns) and len(tight.state.cores_profile.ns) > n:
            grown.add("slices")
        k = number(tight.state, "decisions.n_passes")
        assert k == number(tight.state, "passes")
        decisions = tight.state.decisions.passes.front(k)
        assert (np.diff(decisions.at_ns) >= 0).all()
        ran_from_the_start = sum(one.why == "preset" for one in answer)
        assert decisions.started.sum() + ran_from_the_start == sum(one.start >= 0 for one in answer)
    assert grown == {*columns, "slices"}


KINDS = ["none", "easy", "2", "conservative", "conservative:rebuild"]


def test_a_job_wider_than_the_machine_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="job 2 requests 5 cores; the platform has 4"):
        ready(jobs((1, 0, 1, 1, 1), (2, 0, 1, 5, 1)))


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_the_end_of_time_is_an_error(backfill: str) -> None:
    rules = BatchRules(backfill=backfill)

    def one_job(submit: int, run: int) -> BatchSimulator:
        column = [np.array([value], np.int64) for value in (7, submit, run, 1, 1, 1)]
        made = Workload.from_lines(column, header=(), rejects={}, source="w", n_lines=1)
        return ready(made, recorded=True, rules=rules)

    for submit, run in ((MAX_NS, 1), (MAX_NS, MAX_NS), (1, MAX_NS)):
        with pytest.raises(InputError, match=f"job 7 would end beyond the last simulated instant, {MAX_NS} ns"):
            finish(one_job(submit, run))
    last = one_job(MAX_NS - 5, 5)
    finish(last)
    assert last.now_ns == MAX_NS


@pytest.mark.parametrize("allocator", ["first-fit", "contiguous"])
@pytest.mark.parametrize("backfill", KINDS)
def test_estimates_up_to_the_end_of_time_are_planned_with(backfill: str, allocator: str) -> None:
    """Nothing overflows; a job after such a job has no slot that could be, and starts when it has ended."""
    rows = [(1, 0, 5, 3, MAX_NS), (2, 1, 5, 4, MAX_NS), (3, 2, 5, 4, MAX_NS), (4, 3, 5, 1, MAX_NS), (5, 4, 5, 4, 1)]
    columns = [*np.array(rows, np.int64).T.copy(), np.arange(1, 6)]
    columns[1] += MAX_NS // 2
    workload = Workload.from_lines(columns, header=(), rejects={}, source="w", n_lines=5)
    found = finish(ready(workload, recorded=True, rules=BatchRules(backfill), allocator=allocator))
    assert sorted(one.number for one in found) == [1, 2, 3, 4, 5]
    assert [one.end - one.start for one in found] == [5] * 5
    assert found[0].start == MAX_NS // 2


def outages_of(*hosts: list[tuple[int, int]]) -> JobConstraints:
    first = np.cumsum([0] + [len(host) for host in hosts])
    pairs = np.array([pair for host in hosts for pair in host], np.int64).reshape(-1, 2).T.copy()
    return JobConstraints(outages=Outages(first, pairs[0], pairs[1]))


@pytest.mark.parametrize("backfill", KINDS)
def test_an_error_names_a_job_wider_than_the_hosts_that_are_ever_up(backfill: str) -> None:
    workload = jobs((1, 0, 5, 2, 5), (7, 3, 1, 4, 1), (8, 4, 1, 1, 1))
    rules, constraints = BatchRules(backfill, on_failure="lose"), outages_of([(2 * NS_PER_S, MAX_NS)], [])
    with pytest.raises(InputError, match="stuck at job 7") as error:
        finish(ready(workload, machine(4, 2), recorded=True, rules=rules, constraints=constraints))
    assert "1 host is down forever" in str(error.value)


def answer_at_once(simulator: BatchSimulator) -> None:
    while simulator.advance(10**6) != BatchStatus.DONE:
        for row in simulator.started():
            assert simulator.outcome(row, simulator.now_ns)


@pytest.mark.parametrize("backfill", [KINDS[0], KINDS[3]])
def test_a_job_that_the_failures_never_leave_room_for_is_noticed(backfill: str) -> None:
    """All hosts are up at once for a nanosecond now and then, or never; outages of a model have no end."""
    constraints = JobConstraints(outages=modelled_outages(OutageModel(2, 10**6, 3), 8))
    workload, rules = jobs((1, 0, 1, 1, 1e-9), (7, 3, 1, 8, 1)), BatchRules(backfill)
    with pytest.raises(InputError, match=r"job [17]"):
        answer_at_once(ready(workload, machine(8, 8), rules=rules, constraints=constraints))


def test_a_job_that_is_cut_again_and_again_is_named() -> None:
    constraints = outages_of([(k * NS_PER_S, k * NS_PER_S + 1) for k in range(1, 40)])

    def cut(**rules: Any) -> list[tuple[int, str]]:
        made = ready(jobs((7, 0, 2, 1, 2)), recorded=True, rules=BatchRules(**rules), constraints=constraints)
        return [(one.end, one.state) for one in finish(made)]

    with pytest.raises(InputError, match="job 7 was cut by failures of hosts 30 times"):
        cut(max_attempts=30)
    found = cut(max_attempts=40)
    assert [state for _, state in found] == ["requeued"] * 39 + ["completed"]
    assert found[-1][0] == 41 * NS_PER_S + 1
    assert cut(on_failure="lose") == [(NS_PER_S, "failed")]


@pytest.mark.parametrize("backfill", [KINDS[1], KINDS[3]])
def test_outages_drawn_as_they_are_needed_are_those_drawn_at_once(backfill: str) -> None:
    rows = np.random.default_rng(1).integers(1, [400, 30, 7, 40], (60, 4)).tolist()
    workload, model = jobs(*((k, *row) for k, row in enumerate(rows))), OutageModel(40 * NS_PER_S, 5 * NS_PER_S, 1)
    answers = []
    for count in (1, 2000):
        constraints = JobConstraints(outages=modelled_outages(model, 3, count))
        rules = BatchRules(backfill)
        answers.append(finish(ready(workload, machine(6, 3), recorded=True, rules=rules, constraints=constraints)))
    assert answers[0] == answers[1]
    assert max(one.attempt for one in answers[0]) > 0


def test_the_end_of_a_maintenance_draws_no_further_failures() -> None:
    platform, model = machine(6, 3), OutageModel(10**6 * NS_PER_S, NS_PER_S, 1)
    maintained = windows([Window("maintenance", "m", NS_PER_S, 2 * NS_PER_S, hosts="0")], platform)
    constraints = JobConstraints(outages=modelled_outages(model, 3, 4), windows=maintained)
    simulator = ready(jobs((1, 0, 1, 2, 1), (2, 1, 3, 6, 3)), platform, recorded=True, constraints=constraints)
    finish(simulator)
    assert simulator.outages is not None
    assert simulator.outages.first.tolist() == [0, 4, 8, 12]


@pytest.fixture(scope="module", params=["first-fit", "contiguous"])
def paused(request: pytest.FixtureRequest) -> BatchSimulator:
    """A simulation in which jobs run, wait and have ended, planned with."""
    workload = jobs(*((k, 5 + 3 * k, 20 + 7 * k % 30, 1 + k % 3, 60) for k in range(40)))
    rules = BatchRules(backfill="conservative")
    simulator = ready(workload, machine(8, 2), allocator=request.param, rules=rules, recorded=True)
    while simulator.ended < 5:
        assert simulator.advance(1) == BatchStatus.PAUSED
    return simulator


def _core_held_twice(state: BatchState) -> None:
    one, other = np.flatnonzero((column(state, "jobs.state") < 0) & (column(state, "jobs.start_ns") >= 0))[:2]
    for name in ("held_first", "held_count", "held_cores", "cores"):
        column(state, f"jobs.{name}")[one] = column(state, f"jobs.{name}")[other]


def _not_queued(state: BatchState) -> None:
    state.queue_words[: state.queue_starts[1]] = 0


#: Faults that are more than one number.
PLANTED: list[tuple[Callable[[BatchState], Any], str]] = [
    (_core_held_twice, " is held by job "),
    (_not_queued, "queue"),
    (lambda state: np.copyto(state.running.key[:1], state.running.key[1]), "among the ends that are to come"),
    (lambda state: np.copyto(state.by_rank[:2], state.by_rank[1::-1].copy()), "rank 0 is given to job "),
]


@pytest.mark.parametrize("fault", [*table_rows(__file__, "planted"), *PLANTED])
def test_a_planted_fault_is_found(paused: BatchSimulator, fault: Any) -> None:
    state, words = copy.deepcopy(paused.state), fault[-1]
    validate(state)
    if callable(fault[0]):
        fault[0](state)
    else:
        path, place, how, value, _ = fault
        values, alive = column(state, path), column(state, "jobs.state") < 0
        if isinstance(place, str):
            started = column(state, "jobs.start_ns") >= 0
            there = alive & (column(state, "jobs.eligible_ns") >= 0) & (started == (place == "running"))
            place = int(np.flatnonzero(there)[0])
        entry = values if place == -1 else values[place : place + 1]
        entry[...] = value + (entry if how == "+" else 0)
    with pytest.raises(InvariantError) as caught:
        validate(state)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"batch engine at {paused.now_ns} ns: ")


def test_an_engine_is_checked_at_its_end_and_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = BatchSimulator(
        read_workload(sample_path()), Platform(), POLICIES["fcfs"], ALLOCATORS["first-fit"], recorded=True
    )
    simulator.checks, simulator.most_ends = 2, 20
    checked: list[int] = []
    monkeypatch.setattr("bls.engine.validation.validate", lambda state: checked.append(number(state, "n_ended")))
    while simulator.advance(10**6) != BatchStatus.DONE:
        pass
    assert len(checked) == 320 // 40 + (simulator._entered % 2)
    assert checked[-1] == 320


@dataclass(frozen=True)
class Arrivals:
    """Instants at which jobs joined the queue, first attempts only: (instant, -1 from the start, row), and the instants of
    withdrawals."""

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
    names = ("start_ns", "end_ns", "state", "eligible_ns")
    columns = [column(run.state, f"jobs.{name}")[: run.rows].copy() for name in names]
    job_id = run.workload.job_id[column(run.state, "jobs.origin")[: run.rows]]
    found = fair_starts(FinishedRows(job_id, *columns), simulator_of(case)).tolist()
    assert attempts(run.state) == before
    origin, attempt, start = (
        column(run.state, f"jobs.{name}")[: run.rows].tolist() for name in ("origin", "attempt", "start_ns")
    )
    return found, start, dict(zip(zip(origin, attempt, strict=True), found, strict=True))


_KINDS = [(), ("orders",), ("kill", "allocators"), ("given", "switches"), ("units", "resources", "licences")]
_KINDS += [("cancel", "unknown"), ("dependencies",), ("partitions", "limits"), ("reservations", "maintenance")]
_KINDS += [("presets", "cost"), ("estimates", "outages", "orders"), ("estimates", "cancel", "kill"), FEATURES]


@pytest.mark.parametrize("features", _KINDS, ids=lambda each: "+".join(each) if len(each) < 3 else "all")
def test_as_the_slow_way(features: tuple[str, ...]) -> None:
    for case in said_cases(1, 8, features, max_jobs=10):
        assert fair(case)[2] == slow(case), case


def test_a_restored_state_continues_as_if_it_had_not_advanced() -> None:
    """At each pause the run goes ahead as far as it has room; then all is put back that jobs that have not ended may change."""
    for case in said_cases(6, 60):
        run = simulator_of(case)
        while run.advance(1) != BatchStatus.DONE:
            state, snapshot, before = run.state, Snapshot(run.state), held(run.state)
            n_rows, rows = state.n_rows, np.flatnonzero(state.jobs.front(state.n_rows).state < 0)
            snapshot.keep(dict.fromkeys(BY_ROW, rows) | {"jobs": state.jobs.rank[rows]})
            while run.enter(1) == BatchStatus.PAUSED:
                pass
            snapshot.put_back({"rows": slice(n_rows, state.n_rows)})
            assert held(state) == before
        assert attempts(run.state) == expected(case)


def test_with_applications_run_times_are_those_of_the_run() -> None:
    """Task lengths vary, so that the run times differ from the log; the slow way gets them."""
    rows = [(number, 5 * number, 50 + 13 * number % 70, 1 + 29 * number % 64, 130) for number in range(1, 40)]
    options: dict[str, Any] = {"bls": "sjf", "als": "gss", "variation": 0.3, "seed": 2, "backfill": "easy"}
    workload, platform = Workload.from_jobs(rows), Platform((HostGroup(2, 32, 32.0),))
    result = simulate(workload, platform, tasks_per_core=4, **options)
    table = result.jobs
    lasted = (table.end_ns - table.start_ns).tolist()
    assert lasted != (Workload.from_jobs(rows).run_ns).tolist()
    jobs = tuple(
        Job(number, q * NS_PER_S, p, n, r * NS_PER_S) for (number, q, _, n, r), p in zip(rows, lasted, strict=True)
    )
    case = BatchCase(jobs, Machine((Host(32), Host(32))), replace(EASY, order="sjf"))
    assert table.start_ns.tolist() == [one.start for one in expected(case)]
    assert result.fair_start_ns.tolist() == list(slow(case).values())
    late = np.maximum(0, table.start_ns - result.fair_start_ns)
    assert result.fairness["max_unfairness_ns"] == late.max() > 0
    assert result.fairness["mean_unfairness_ns"] == late.mean()
    assert result.fairness["unfair_share"] == (late > 0).mean()


def test_a_job_that_never_ran_would_run_for_its_request() -> None:
    """By sjf and predictions: job 4 is planned with 1 s, since its user's jobs last 1 s, and requests 30; job 6 is planned
    with half a second and goes before it at 10 s, for longer, so that job 4 is withdrawn at 18. Without job 6, job 4 would run
    until it is withdrawn, and job 5 start then."""
    rows = table_rows(__file__, "a_job_that_never_ran")
    result = simulate(
        Workload.from_jobs(rows), Platform((HostGroup(1, 4, 4.0),)), bls="sjf",
        rules=BatchRules(estimates="last-two"),
    )  # fmt: skip
    table = result.jobs
    assert (table.planned_ns / NS_PER_S).tolist() == [100, 100, 8, 1, 50, 0.5]
    assert (table.start_ns / NS_PER_S).tolist()[3:] == [-1 / NS_PER_S, 19, 10]
    assert result.fair_start_ns.tolist()[4] == 18 * NS_PER_S


def test_a_run_that_fails_often_under_any_policy_can_be_made_again() -> None:
    """Outages of a model, which draws more of them during the run, fair-share with accounts, and many attempts."""
    rows = [(number, 7 * number, 40 + 13 * number % 70, 1 + 29 * number % 8, 130) for number in range(1, 60)]
    platform = Platform((HostGroup(4, 2, 8.0),))
    given_ = {"constraints": ConstraintOptions(failures="mtbf:6m,mttr:30s"), "backfill": "easy", "als": "static"}
    for name in ("fcfs", "sjf", "multifactor:age=1000,size=500"):
        result = simulate(Workload.from_jobs(rows), platform, bls=name, **given_)  # type: ignore[arg-type]
        table = result.jobs
        assert (table.attempt > 0).any()
        assert (result.fair_start_ns >= table.eligible_ns).all()
        last = int(table.eligible_ns.argmax())  # no job joined later
        assert result.fair_start_ns[last] == table.start_ns[last]


def test_the_numbers_of_a_run_do_not_keep_its_columns() -> None:
    """A display of the run keeps its numbers; the columns of a large run take more memory than everything else that is kept."""
    simulator = simulator_of(said_cases(1, 5)[0])
    ended = len({attempt.number for attempt in finish(simulator)})
    counts, state = counter(simulator.state), weakref.ref(simulator.state)
    del simulator
    gc.collect()
    assert state() is None
    assert counts().ended == ended


def test_the_numbers_of_a_run_go_on_when_more_outages_are_drawn() -> None:
    workload = Workload.from_jobs([(number, 7 * number, 40, 1, 40) for number in range(1, 60)])
    constraints = JobConstraints(outages=modelled_outages(OutageModel(60 * NS_PER_S, NS_PER_S, 1), 4, 1))
    platform = Platform((HostGroup(4, 2, 8.0),))
    args = workload, platform, POLICIES["fcfs"], ALLOCATORS["first-fit"]
    simulator = BatchSimulator(*args, constraints=constraints, recorded=True)
    counts, drawn = counter(simulator.state), simulator.outages
    while simulator.advance(1) is not BatchStatus.DONE:
        assert (counts().now_ns, counts().ended) == (simulator.now_ns, simulator.ended)
    assert simulator.outages is not drawn
    assert counts().ended == len(workload)
