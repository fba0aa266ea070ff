"""The batch engine: cases by hand, the protocol of promises and outcomes, what goes wrong, and checks of its state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase, cases, expected, finishes
from batch_drives import as_users_say, attempts, finish, rules_of, said_cases, simulator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import column, number
from reference.machine import Host, Job, Machine, Rules

from bls import read_workload, sample_path
from bls.allocators import ALLOCATORS
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import OutageModel, Outages, modelled_outages
from bls.engine.status import BatchStatus
from bls.engine.validation import validate
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.scheduler_options import Rules as BatchRules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.base.errors import InputError
from traces.base.time import MAX_NS, NS_PER_S
from traces.checks.jobs import InvariantError

pytestmark = pytest.mark.whole

FCFS, EASY, REBUILD = Rules(), Rules(depth=1), Rules(depth=None)
KEEP = replace(REBUILD, keep=True)


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
    theirs first, and that job only a later promise; the schedule is the same however it is told."""
    simulator, run_ns = simulator_of(case, recorded=False), [job.run for job in case.jobs]
    promised: dict[int, int] = {}  # running jobs that have no outcome yet

    def end_of(row: int) -> int:
        return int(column(simulator.state, "jobs.START")[row]) + run_ns[row]

    def end(row: int) -> None:
        promised.pop(row, None)
        assert simulator.outcome(row, end_of(row))

    def tell(row: int) -> None:
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
                tell(row)
        elif status == BatchStatus.DUE:
            assert promised[simulator.due] == clock
            for row in data.draw(st.lists(st.sampled_from(sorted(promised)), max_size=3, unique=True)):
                tell(row)
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
def test_a_job_that_is_told_to_stop_and_does_so_is_cut_as_if_its_run_time_were_known(
    case: BatchCase, data: st.DataObject
) -> None:
    said = as_users_say(case)
    if said is None or not finishes(said):
        return
    simulator = simulator_of(said, recorded=False)
    while (status := simulator.advance(5)) != BatchStatus.DONE:
        rows = {BatchStatus.STARTED: simulator.started(), BatchStatus.DUE: [simulator.due]}.get(status, [])
        for row in rows:
            run = said.jobs[int(column(simulator.state, "jobs.ORIGIN")[row])].run
            natural, stop = int(column(simulator.state, "jobs.START")[row]) + run, simulator.stop_ns(row)
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


def test_what_cannot_be_true_is_refused_and_changes_nothing() -> None:
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
        n = number(state, "cores_profile.used.SLICES") + 4
        small: dict[str, Any] = {
            "pool_lo": state.pool_lo[:1].copy(),
            "pool_hi": state.pool_hi[:1].copy(),
            "decisions": np.zeros((4, 1), np.int64),
        }
        if len(state.kept_lo):
            small |= {"kept_lo": state.kept_lo[:1].copy(), "kept_hi": state.kept_hi[:1].copy()}
        if len(profile.ns):
            columns = ("ns", "free", "first", "lo", "hi", "amount", "after")
            small["cores_profile"] = profile._replace(**{name: getattr(profile, name)[:n].copy() for name in columns})
        tight.state = state._replace(**small)
        sizes = {name: np.shape(getattr(tight.state, name)) for name in ("decisions", "kept_lo", "jobs", "pool_lo")}
        assert finish(tight) == answer, case
        grown |= {name for name, size in sizes.items() if np.shape(getattr(tight.state, name)) != size}
        if len(profile.ns) and len(tight.state.cores_profile.ns) > n:
            grown.add("slices")
        k = number(tight.state, "sizes.N_DECISIONS")
        assert k == number(tight.state, "clock.PASSES")
        assert (np.diff(tight.state.decisions[0, :k]) >= 0).all()
        ran_from_the_start = sum(one.why == "preset" for one in answer)
        assert tight.state.decisions[2, :k].sum() + ran_from_the_start == sum(one.start >= 0 for one in answer)
    assert grown == {"decisions", "jobs", "kept_lo", "pool_lo", "slices"}


KINDS = [("none", "keep"), ("easy", "keep"), ("2", "keep"), ("conservative", "keep"), ("conservative", "rebuild")]


def test_a_job_wider_than_the_machine_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="job 2 asks for 5 cores; the platform has 4"):
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
@pytest.mark.parametrize(("backfill", "kind"), KINDS)
def test_estimates_up_to_the_end_of_time_are_planned_with(backfill: str, kind: str, allocator: str) -> None:
    """Nothing overflows; a job after such a job has no slot that could be, and starts when it has ended."""
    rows = [(1, 0, 5, 3, MAX_NS), (2, 1, 5, 4, MAX_NS), (3, 2, 5, 4, MAX_NS), (4, 3, 5, 1, MAX_NS), (5, 4, 5, 4, 1)]
    columns = [*np.array(rows, np.int64).T.copy(), np.arange(1, 6)]
    columns[1] += MAX_NS // 2
    workload = Workload.from_lines(columns, header=(), rejects={}, source="w", n_lines=5)
    found = finish(ready(workload, recorded=True, rules=BatchRules(backfill, kind), allocator=allocator))
    assert sorted(one.number for one in found) == [1, 2, 3, 4, 5]
    assert [one.end - one.start for one in found] == [5] * 5
    assert found[0].start == MAX_NS // 2


def outages_of(*hosts: list[tuple[int, int]]) -> JobConstraints:
    first = np.cumsum([0] + [len(host) for host in hosts])
    pairs = np.array([pair for host in hosts for pair in host], np.int64).reshape(-1, 2).T.copy()
    return JobConstraints(outages=Outages(first, pairs[0], pairs[1]))


@pytest.mark.parametrize(("backfill", "kind"), KINDS)
def test_a_job_wider_than_what_is_ever_up_is_named(backfill: str, kind: str) -> None:
    workload = jobs((1, 0, 5, 2, 5), (7, 3, 1, 4, 1), (8, 4, 1, 1, 1))
    rules, around = BatchRules(backfill, kind, on_failure="lose"), outages_of([(2 * NS_PER_S, MAX_NS)], [])
    with pytest.raises(InputError, match="stuck at job 7") as error:
        finish(ready(workload, machine(4, 2), recorded=True, rules=rules, circumstances=around))
    assert "1 host is down for ever" in str(error.value)


def answer_at_once(simulator: BatchSimulator) -> None:
    while simulator.advance(10**6) != BatchStatus.DONE:
        for row in simulator.started():
            assert simulator.outcome(row, simulator.now_ns)


@pytest.mark.parametrize(("backfill", "kind"), [KINDS[0], KINDS[3]])
def test_a_job_that_the_failures_never_leave_room_for_is_noticed(backfill: str, kind: str) -> None:
    """All hosts are up at once for a nanosecond now and then, or never; outages of a model have no end."""
    around = JobConstraints(outages=modelled_outages(OutageModel(2, 10**6, 3), 8))
    workload, rules = jobs((1, 0, 1, 1, 1e-9), (7, 3, 1, 8, 1)), BatchRules(backfill, kind)
    with pytest.raises(InputError, match=r"job [17]"):
        answer_at_once(ready(workload, machine(8, 8), rules=rules, circumstances=around))


def test_a_job_that_is_cut_again_and_again_is_named() -> None:
    around = outages_of([(k * NS_PER_S, k * NS_PER_S + 1) for k in range(1, 40)])

    def cut(**rules: Any) -> list[tuple[int, str]]:
        made = ready(jobs((7, 0, 2, 1, 2)), recorded=True, rules=BatchRules(**rules), circumstances=around)
        return [(one.end, one.state) for one in finish(made)]

    with pytest.raises(InputError, match="job 7 was cut by the failure of a host 30 times"):
        cut(max_attempts=30)
    found = cut(max_attempts=40)
    assert [state for _, state in found] == ["requeued"] * 39 + ["completed"]
    assert found[-1][0] == 41 * NS_PER_S + 1
    assert cut(on_failure="lose") == [(NS_PER_S, "failed")]


@pytest.mark.parametrize(("backfill", "kind"), [KINDS[1], KINDS[3]])
def test_outages_drawn_as_they_are_needed_are_those_drawn_at_once(backfill: str, kind: str) -> None:
    rows = np.random.default_rng(1).integers(1, [400, 30, 7, 40], (60, 4)).tolist()
    workload, model = jobs(*((k, *row) for k, row in enumerate(rows))), OutageModel(40 * NS_PER_S, 5 * NS_PER_S, 1)
    answers = []
    for count in (1, 2000):
        around = JobConstraints(outages=modelled_outages(model, 3, count))
        rules = BatchRules(backfill, kind)
        answers.append(finish(ready(workload, machine(6, 3), recorded=True, rules=rules, circumstances=around)))
    assert answers[0] == answers[1]
    assert max(one.attempt for one in answers[0]) > 0


@pytest.mark.parametrize(
    ("backfill", "values", "words"),
    [
        ("easy", lambda state: column(state, "sizes.N_WAITING"), "waiting jobs: "),
        ("easy", lambda state: column(state, "sizes.FREE_CORES"), "free cores: "),
        ("easy", lambda state: column(state, "sizes.N_DOWN"), "hosts that are down: 1 by its count, 0 there are"),
        ("conservative", lambda state: state.cores_profile.free[:1], "cores are free at "),
    ],
)
def test_a_state_with_a_fault_is_refused(backfill: str, values: Any, words: str) -> None:
    workload, rules = jobs(*((k, k, 20 + 7 * k % 30, 1 + k % 3, 60) for k in range(40))), BatchRules(backfill=backfill)
    simulator = ready(workload, machine(8, 2), allocator="contiguous", rules=rules, recorded=True)
    while simulator.ended < 5:
        assert simulator.advance(1) == BatchStatus.PAUSED
    state = copy.deepcopy(simulator.state)
    validate(state)
    values(state)[...] += 1
    with pytest.raises(InvariantError) as caught:
        validate(state)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"batch engine at {simulator.now_ns} ns: ")


def test_an_engine_is_checked_at_its_end_and_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = BatchSimulator(
        read_workload(sample_path()), Platform(), POLICIES["fcfs"], ALLOCATORS["first-fit"], recorded=True
    )
    simulator.checks, simulator.most_ends = 2, 20
    checked: list[int] = []
    monkeypatch.setattr("bls.engine.validation.validate", lambda state: checked.append(number(state, "sizes.ENDED")))
    while simulator.advance(10**6) != BatchStatus.DONE:
        pass
    assert len(checked) == 320 // 40 + (simulator._entered % 2)
    assert checked[-1] == 320
