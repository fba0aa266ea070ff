"""The batch engine: the slow reference, cases by hand, the protocol of promises and outcomes, and what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_cases import FEATURES, BatchCase, cases, expected, finishes, seeded_cases
from batch_drives import as_users_say, attempts, engine_of, finish, rules_of, simulator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import invariants
from reference.cluster import NeverFinishes
from reference.machine import Attempt, Host, Job, Machine, Rules, Window, ranges
from test_reference_vectors import VECTORS, jobs_of

import bridge
from bls.allocators import ALLOCATORS
from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import OutageModel, Outages, modelled_outages
from bls.engine import state as b
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.scheduler_options import Rules as BatchRules
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS, NS_PER_S

FCFS, EASY, REBUILD = Rules(), Rules(depth=1), Rules(depth=None)
KEEP = replace(REBUILD, keep=True)


# ---- the slow reference ----


@settings(max_examples=600)
@given(case=cases())
def test_as_the_slow_reference(case: BatchCase) -> None:
    found = engine_of(case).finish()
    assert found == expected(case)
    invariants.check(case.jobs, case.machine, case.rules, found)


@pytest.mark.parametrize("feature", ["nothing", *FEATURES])
def test_each_feature_as_the_slow_reference(feature: str) -> None:
    for case in seeded_cases(1, 130, () if feature == "nothing" else (feature,)):
        found = engine_of(case).finish()
        assert found == expected(case), case
        invariants.check(case.jobs, case.machine, case.rules, found)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_among_others_as_the_slow_reference(feature: str) -> None:
    place = FEATURES.index(feature)
    others = (feature, FEATURES[place - 3], FEATURES[place - 7], "orders", "allocators")
    for case in seeded_cases(2, 60, others, max_jobs=14):
        found = engine_of(case).finish()
        assert found == expected(case), case
        invariants.check(case.jobs, case.machine, case.rules, found)


@pytest.mark.parametrize(
    "features",
    [
        ("units", "resources", "switches", "gaps", "patience"),
        ("switches", "gaps", "patience", "kill", "cancel", "outages"),
        ("dependencies", "held cancel", "cancel", "unknown", "orders"),
    ],
    ids=["requests", "lives", "held"],
)
def test_switches_with_gaps_and_jobs_withdrawn_before_they_are_eligible(features: tuple[str, ...]) -> None:
    """By the engine's own arrays, and as users say it."""
    for case in seeded_cases(42, 60, features, max_jobs=14):
        found = engine_of(case).finish()
        assert found == expected(case), case
        invariants.check(case.jobs, case.machine, case.rules, found)
        said = as_users_say(case)
        if said is not None and finishes(said):
            assert finish(simulator_of(said)) == expected(said), said


@pytest.mark.parametrize("feature", FEATURES)
def test_the_simulator_tells_the_engine_what_users_say(feature: str) -> None:
    """The same with platform, rules and circumstances as objects, which the simulator makes arrays of."""
    place, seen = FEATURES.index(feature), 0
    for case in seeded_cases(3, 40, (feature, FEATURES[place - 5], "orders", "allocators")):
        said = as_users_say(case)
        if said is not None and finishes(said):
            seen += 1
            assert finish(simulator_of(said)) == expected(said), said
    assert seen >= 30


@pytest.mark.parametrize("vector", range(len(VECTORS)))
def test_vectors(vector: int) -> None:
    n_cores, rows, *answers = VECTORS[vector]
    fcfs, easy, keep, rebuild = answers
    for scale in (1, NS_PER_S):
        jobs = tuple(jobs_of(*((q * scale, n, r * scale, p * scale) for q, n, r, p in rows)))
        for rules, answer in ((FCFS, fcfs), (EASY, easy), (KEEP, keep), (REBUILD, rebuild or keep)):
            for by_cores in (False, True) if answer is not None else ():
                found = engine_of(BatchCase(jobs, Machine((Host(n_cores),)), rules), by_cores=by_cores)
                found.finish()
                assert [start // scale for start in found.starts] == answer


def drawn(found: list[Attempt]) -> list[str]:
    """``number.attempt start-end why state``."""
    return [f"{one.number}.{one.attempt} {one.start}-{one.end} {one.why} {one.state}" for one in found]


# ---- by hand ----


def found_and_expected(case: BatchCase) -> list[str]:
    found = engine_of(case).finish()
    assert found == expected(case)
    return drawn(found)


def test_what_arrives_after_a_slow_pass_is_held_against_what_that_pass_has_started() -> None:
    """Job 1 starts at 2, so that the shadow time of job 2 is 8: job 3, decided about at 2, may run beside job 1 until then."""
    jobs = jobs_of((1, 5, 6, 6), (1, 8, 6, 6), (2, 1, 6, 6))
    case = BatchCase(tuple(jobs), Machine((Host(4), Host(4))), replace(EASY, order="sjf", cost=1))
    assert found_and_expected(case) == [
        "1.0 2-8 head completed",
        "2.0 10-16 reserved completed",
        "3.0 3-9 backfill completed",
    ]


def test_a_slow_pass_gives_up_the_slots_that_it_kept_before_its_jobs_hold_more() -> None:
    """Reservations name cores that a job which starts late still has when they begin."""
    jobs = [Job(1, 6, 5, 5, 5), Job(2, 10, 3, 7, 3), Job(3, 11, 2, 1, 4)]
    wanted = (frozenset(range(1, 6)), frozenset(range(7)), frozenset({4}))
    jobs = [replace(job, wanted=cores) for job, cores in zip(jobs, wanted, strict=True)]
    case = BatchCase(tuple(jobs), Machine((Host(4), Host(4))), replace(KEEP, allocator="given", cost=2))
    assert [one.split()[1] for one in found_and_expected(case)] == ["8-13", "16-19", "21-23"]


def test_while_the_scheduler_is_busy_with_nothing_no_pass_is_owed() -> None:
    """Job 1 is withdrawn at 8, before its submit at 9, at which nothing happens: the pass of 8 is over at 11."""
    jobs = [Job(1, 9, 2, 1, 2, cancel=8), Job(2, 12, 8, 6, 1, cancel=14)]
    case = BatchCase(tuple(jobs), Machine((Host(6),)), replace(EASY, cost=3))
    assert found_and_expected(case) == ["1.0 -1--1 never cancelled", "2.0 14-14 head cancelled"]


def test_what_runs_from_the_start_does_not_run_on_hosts_in_maintenance() -> None:
    """Job 1 needs a core of host 1, which is not up before 3, and waits; a reservation does not keep job 2 off."""
    windows = (Window(0, 3, True, frozenset({2, 3})), Window(2, 9, False, frozenset({0, 1})))
    jobs = [Job(1, 0, 3, 3, 3, preset=True), Job(2, 0, 3, 2, 3, preset=True)]
    case = BatchCase(tuple(jobs), Machine((Host(2), Host(2)), windows=windows), FCFS)
    assert found_and_expected(case) == ["1.0 9-12 head completed", "2.0 0-3 preset completed"]


@pytest.mark.parametrize(("rules", "others_start"), [(FCFS, 35), (EASY, 1), (KEEP, 1)])
def test_a_maintenance_is_foreseen_without_backfilling_too(rules: Rules, others_start: int) -> None:
    """Job 1 would still run as the maintenance of 10 to 20 begins, so it waits for its end under every rule."""
    jobs = jobs_of((0, 4, 15, 15), (1, 4, 5, 5))
    case = BatchCase(tuple(jobs), Machine((Host(4),), windows=(Window(10, 20, True, frozenset(range(4))),)), rules)
    first, second = (line.split()[1] for line in found_and_expected(case))
    assert (first, second) == ("20-35", f"{others_start}-{others_start + 5}")


@pytest.mark.parametrize("by_cores", [False, True])
@pytest.mark.parametrize("rules", [EASY, KEEP, REBUILD])
def test_a_thousand_things_may_happen_while_the_scheduler_is_busy(rules: Rules, by_cores: bool) -> None:
    outages = tuple((t, t + 1) for t in range(10, 2000, 2))
    jobs = jobs_of((0, 1, 9, 9), (5, 2, 9, 9), (6, 2, 9, 9))
    case = BatchCase(
        tuple(jobs), Machine((Host(1), Host(1, outages=outages))), replace(rules, cost=3000, counts=not by_cores)
    )
    found = engine_of(case, by_cores=by_cores).finish()
    assert found == expected(case)
    assert drawn(found)[0] == "1.0 3000-3009 head completed"


@pytest.mark.parametrize("rules", [FCFS, EASY, replace(EASY, depth=2), KEEP, REBUILD])
@pytest.mark.parametrize(("wait_ns", "start"), [(None, 20), (3, 10), (0, 7)])
def test_who_has_waited_long_enough_accepts_more_switches(rules: Rules, wait_ns: int | None, start: int) -> None:
    """From 7 on each of the two hosts has one free core: job 5 asks for two on one switch, which there are from 20 on."""
    jobs = jobs_of((0, 2, 5, 5), (0, 1, 6, 6), (0, 1, 20, 20), (1, 1, 20, 20), (7, 2, 4, 4))
    jobs[4] = replace(jobs[4], limit=1)
    machine = Machine((Host(2), Host(2)), switches=ranges((0, 0, 1), (0, 1, 2)))
    case = BatchCase(tuple(jobs), machine, replace(rules, allocator="topology"))
    said = replace(rules_of(case.rules), switch_wait_ns=wait_ns)
    assert [one.start for one in finish(simulator_of(case, rules=said))] == [0, 0, 0, 5, start]


# ---- relations between kinds of backfilling ----

_PLANNED = """
import sys
import bls.engine.scheduling_pass as scheduling
from bls.engine import initial_state as first_state, state as b
from bls.engine.hooks import PLAN, call_hook
from batch_cases import seeded_cases
from batch_drives import engine_of

by_itself = scheduling._easy, scheduling._only_the_newcomer
general = (
    lambda state, n_order: call_hook(state.hooks[PLAN], (state, -1, n_order, 0, 0)),
    lambda state: -1,
)
new_state = first_state.new_state


def roomy(given):
    # Room for a plan, though there is one reservation only.
    given.settings[b.DEPTH] = 2
    state = new_state(given)
    state.settings[b.DEPTH] = 1
    return state


backfilled = 0
for case in seeded_cases(6, 400, ("orders", "kill", "cancel", "limits", "outages", "presets", "dependencies", "cost")):
    if case.rules.depth != 1:
        continue
    first_state.new_state = roomy
    scheduling._easy, scheduling._only_the_newcomer = by_itself
    one = engine_of(case).finish()
    scheduling._easy, scheduling._only_the_newcomer = general
    other = engine_of(case).finish()
    assert one == other, (case, one, other)
    backfilled += sum(each.why == "backfill" for each in one)
print("backfilled", backfilled)
"""


def test_easy_is_the_general_plan_with_one_reservation() -> None:
    """The pass of EASY knows two numbers, shadow time and extra cores; in its place that of all depths gives the same.

    One pass cannot be put in the place of another in compiled code.
    """
    tests = Path(__file__).resolve().parents[1]
    path = os.pathsep.join([str(tests), str(tests.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run([sys.executable, "-c", _PLANNED], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.split()[1]) > 20


PLAIN = ("orders", "kill", "cancel", "outages", "dependencies", "cost")


def test_without_reservations_counting_cores_and_knowing_them_is_the_same() -> None:
    """What is free now is free on whatever cores; with first-fit, they are the same ones, too."""
    seen = 0
    for case in seeded_cases(7, 400, PLAIN):
        if case.rules.depth == 0:
            seen += 1
            assert engine_of(case, by_cores=True).finish() == engine_of(case, by_cores=False).finish(), case
    assert seen > 40


def test_a_reservation_that_names_its_cores_holds_these() -> None:
    """Job 1 holds cores 2 and 3 until 10, when job 2 needs three cores: that leaves one, whichever it is; or core 3.

    So job 3 may be backfilled by counts, and does not fit on cores 0 and 1, which are named for job 2.
    """
    jobs = jobs_of((0, 2, 3, 3), (0, 2, 10, 10), (3, 3, 5, 5), (4, 1, 20, 20))
    case = BatchCase(tuple(jobs), Machine((Host(4),)), EASY)
    assert drawn(engine_of(case, by_cores=False).finish())[2:] == [
        "3.0 10-15 reserved completed",
        "4.0 4-24 backfill completed",
    ]
    assert drawn(engine_of(case, by_cores=True).finish())[2:] == [
        "3.0 10-15 reserved completed",
        "4.0 10-30 head completed",
    ]


@settings(max_examples=200)
@given(case=cases((), max_jobs=14), keep=st.booleans())
def test_conservative_with_exact_estimates_starts_no_job_later_than_fcfs(case: BatchCase, keep: bool) -> None:
    jobs = tuple(replace(job, run=job.estimate) for job in case.jobs)
    case = replace(case, jobs=jobs, rules=replace(FCFS, allocator=case.rules.allocator))
    by_fcfs, planned = engine_of(case), engine_of(replace(case, rules=replace(case.rules, depth=None, keep=keep)))
    by_fcfs.finish()
    planned.finish()
    assert all(one <= other for one, other in zip(planned.starts, by_fcfs.starts, strict=True))


@settings(max_examples=200)
@given(case=cases((), max_jobs=14))
def test_a_plan_that_is_kept_is_the_plan_made_anew_while_nothing_is_gained_or_lost(case: BatchCase) -> None:
    """Exact estimates in fcfs order: then every earliest slot stays where it is."""
    jobs = tuple(replace(job, run=job.estimate) for job in case.jobs)
    case = replace(case, jobs=jobs)
    kept = engine_of(replace(case, rules=replace(case.rules, order="fcfs", depth=None, keep=True))).finish()
    assert kept == engine_of(replace(case, rules=replace(case.rules, order="fcfs", depth=None, keep=False))).finish()


def test_a_kept_slot_at_the_next_instant_is_kept() -> None:
    """Job 3 waits behind job 2, whose own slot moves earlier when job 1 ends early, so that job 3 has one at 3."""
    jobs = jobs_of((0, 4, 9, 2), (1, 4, 1, 1), (1, 4, 2, 2))
    found = engine_of(BatchCase(tuple(jobs), Machine((Host(4),)), KEEP)).finish()
    assert drawn(found)[1:] == ["2.0 2-3 reserved completed", "3.0 3-5 reserved completed"]


# ---- promises and outcomes ----

Schedule = list[tuple[int, int, tuple[int, ...]]]


def schedule(simulator: BatchSimulator) -> Schedule:
    return [(one.start, one.end, one.cores) for one in attempts(simulator.state)]


#: What a case of these may have: everything that a run time must be known for is left out.
SUSPENDED = ("orders", "allocators", "units", "resources", "limits", "dependencies")


def saying(case: BatchCase) -> BatchCase:
    said = as_users_say(case)
    assert said is not None
    return said


suspended_cases = cases(SUSPENDED, max_jobs=12).filter(lambda case: as_users_say(case) is not None).map(saying)


@settings(max_examples=200)
@given(case=suspended_cases, pause=st.integers(0, 3))
def test_pauses_and_immediate_outcomes_change_nothing(case: BatchCase, pause: int) -> None:
    simulator, run_ns = simulator_of(case, recorded=False), [job.run for job in case.jobs]
    status, ended = BatchStatus.PAUSED, 0
    while status != BatchStatus.DONE:
        status = simulator.advance(pause)
        assert simulator.ended >= ended
        ended = simulator.ended
        for row in simulator.started() if status == BatchStatus.STARTED else []:
            assert simulator.outcome(row, simulator.now_ns + run_ns[row])
    assert attempts(simulator.state) == expected(case)
    assert ended == len(run_ns)


@settings(max_examples=250)
@given(case=suspended_cases, data=st.data())
def test_promises_and_late_outcomes_in_any_order_change_nothing(case: BatchCase, data: st.DataObject) -> None:
    """Each job that starts gets its outcome, or a promise, at once, in any order. Whoever waits for a due job may hear of
    others first, and of that job only a later promise; what is true gives the one schedule, however it is told."""
    simulator, run_ns = simulator_of(case, recorded=False), [job.run for job in case.jobs]
    promised: dict[int, int] = {}  # running jobs that have no outcome yet

    def end_of(row: int) -> int:
        return int(simulator.column(b.START)[row]) + run_ns[row]

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
            run = said.jobs[int(simulator.column(b.ORIGIN)[row])].run
            natural, stop = int(simulator.column(b.START)[row]) + run, simulator.stop_ns(row)
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


def test_the_engine_runs_on_to_the_earliest_promise_only() -> None:
    """Two jobs of 2 cores run on 4; nothing is asked of the first before its promise, though the third waits for it."""
    simulator = ready(jobs((1, 0, 9, 2, 9), (2, 0, 9, 2, 9), (3, 4, 1, 2, 1)))
    assert simulator.advance(100) == BatchStatus.STARTED
    assert simulator.started() == [0, 1]
    assert simulator.promise(0, 7 * NS_PER_S)
    assert simulator.started() == [1]
    assert simulator.outcome(1, 6 * NS_PER_S)
    assert simulator.advance(100) == BatchStatus.STARTED  # the third starts at 6 s, on the second's cores
    assert (simulator.now_ns, simulator.started()) == (6 * NS_PER_S, [2])
    assert simulator.outcome(2, 20 * NS_PER_S)
    assert simulator.advance(100) == BatchStatus.DUE
    assert (simulator.now_ns, simulator.due) == (7 * NS_PER_S, 0)
    assert simulator.advance(100) == BatchStatus.DUE  # it stays so until there is an answer
    assert simulator.promise(0, 8 * NS_PER_S)
    assert simulator.advance(100) == BatchStatus.DUE
    assert simulator.now_ns == 8 * NS_PER_S
    assert simulator.outcome(0, 8 * NS_PER_S)
    assert simulator.advance(100) == BatchStatus.DONE
    assert schedule(simulator) == [
        (0, 8 * NS_PER_S, (0, 1)),
        (0, 6 * NS_PER_S, (2, 3)),
        (6 * NS_PER_S, 20 * NS_PER_S, (2, 3)),
    ]


def test_what_cannot_be_true_is_refused_and_changes_nothing() -> None:
    simulator = ready(jobs((1, 5, 9, 4, 9), (2, 6, 9, 4, 9)))
    assert simulator.advance(100) == BatchStatus.STARTED
    now = 5 * NS_PER_S
    assert not simulator.promise(0, now - 1), "in the past"
    assert not simulator.outcome(0, now - 1), "in the past"
    assert not simulator.promise(0, MAX_NS + 1), "beyond the end of time"
    assert not simulator.outcome(0, MAX_NS + 1), "beyond the end of time"
    assert not simulator.promise(1, now + 5), "not started"
    assert not simulator.outcome(1, now + 5), "not started"
    assert not simulator.outcome(0, now + 5, True), "nothing cuts it"
    assert simulator.started() == [0]
    assert simulator.promise(0, now + 3)
    assert not simulator.promise(0, now + 2), "takes a promise back"
    assert not simulator.outcome(0, now + 2), "before its promise"
    assert simulator.outcome(0, now + 3)
    assert not simulator.outcome(0, now + 3), "twice"
    assert not simulator.promise(0, now + 4), "after the outcome"
    assert simulator.advance(100) == BatchStatus.STARTED
    assert simulator.outcome(1, now + NS_PER_S)
    assert simulator.advance(100) == BatchStatus.DONE
    assert [end for _, end, _ in schedule(simulator)] == [now + 3, now + NS_PER_S]


def test_a_job_may_end_at_the_instant_at_which_it_starts() -> None:
    """An application may say so; the next in the queue then starts at that instant too."""
    simulator = ready(jobs((1, 3, 9, 4, 9), (2, 3, 9, 4, 9)))
    assert simulator.advance(100) == BatchStatus.STARTED
    assert simulator.outcome(0, 3 * NS_PER_S)
    assert simulator.advance(100) == BatchStatus.STARTED
    assert simulator.now_ns == 3 * NS_PER_S
    assert simulator.outcome(1, 4 * NS_PER_S)
    assert simulator.advance(100) == BatchStatus.DONE


def test_ends_come_before_arrivals_and_both_before_one_pass() -> None:
    """At 10 s the machine falls free and a shorter job arrives: under SJF it goes before the one that has waited."""
    workload = jobs((1, 0, 10, 4, 10), (2, 1, 8, 4, 8), (3, 10, 2, 4, 2))
    result = bridge.simulate(workload, machine(), bls="sjf", als="recorded")
    assert (result.jobs.start_ns // NS_PER_S).tolist() == [0, 12, 10]


def test_of_a_job_that_asks_for_certain_cores_amounts_count_for_units_on_these() -> None:
    """The host has two GPUs: it does not matter that the cores asked for are not among its lowest two units."""
    machine = Machine((Host(4, (("gpu", 2),)),))
    jobs = (
        Job(1, 0, 10, 1, 10, frozenset({3}), needs=(("gpu", 1),)),
        Job(2, 1, 10, 2, 10, frozenset({1, 2}), unit_cores=2, needs=(("gpu", 1),)),
        Job(3, 2, 10, 1, 10, frozenset({0}), needs=(("gpu", 1),)),
    )
    case = BatchCase(jobs, machine, Rules(allocator="given"))
    assert engine_of(case).finish() == expected(case)
    assert [one.start for one in expected(case)] == [0, 1, 10]


def test_the_head_blocks() -> None:
    """Job 2 asks for all cores; job 3 asks for one, which is free, and waits behind it."""
    workload = jobs((1, 0, 10, 3, 10), (2, 1, 5, 4, 5), (3, 2, 1, 1, 1))
    result = bridge.simulate(workload, machine(), als="recorded")
    assert (result.jobs.start_ns // NS_PER_S).tolist() == [0, 10, 15]


def test_jobs_take_the_lowest_numbered_free_cores_wherever_they_are() -> None:
    workload = jobs((1, 0, 1, 1, 1), (2, 0, 9, 1, 9), (3, 0, 1, 1, 1), (4, 0, 9, 1, 9), (5, 1, 3, 2, 3))
    result = bridge.simulate(workload, machine(), als="recorded")
    assert result.jobs.allocation.tolist() == ["0", "1", "2", "3", "0 2"]


def test_a_started_job_that_is_told_nothing_is_not_forgotten() -> None:
    simulator = ready(jobs((1, 0, 5, 1, 5)))
    assert simulator.advance(1) == BatchStatus.STARTED
    with pytest.raises(RuntimeError, match="await an outcome or a promise"):
        simulator.advance(1)
    assert simulator.outcome(0, 5 * NS_PER_S)
    assert simulator.advance(10) == BatchStatus.DONE


# ---- room ----


def test_more_allocations_than_there_is_room_for() -> None:
    """Every second core of 64 is held for long, so each of many jobs of 32 cores takes 32 intervals."""
    pins = [(n, 0.0, 10**6 if n % 2 else 1.0, 1, 1.0) for n in range(64)]
    wide = [(100 + n, 1.0, 1.0, 32, 1.0) for n in range(400)]
    simulator = ready(jobs(*pins, *wide), machine(64), recorded=True)
    room = len(simulator.state.pool_lo)
    while simulator.advance(10**6) != BatchStatus.DONE:
        pass
    assert len(simulator.state.pool_lo) > room
    holes = tuple(range(0, 64, 2))
    assert [(start, held) for start, _, held in schedule(simulator)[64:]] == [
        ((1 + n) * NS_PER_S, holes) for n in range(400)
    ]
    first, lo, hi = simulator.allocations()
    assert first[-1] == 64 + 400 * 32
    assert list(zip(lo[-32:].tolist(), hi[-32:].tolist(), strict=True)) == [(core, core + 1) for core in holes]


def test_room_runs_out_within_a_pass_that_waits_for_answers() -> None:
    simulator = ready(jobs(*((n, 0.0, 1.0, 1, 1.0) for n in range(8))), machine(8))
    tight: dict[str, Any] = {"pool_lo": np.empty(3, np.int64), "pool_hi": np.empty(3, np.int64)}
    simulator.state = simulator.state._replace(**tight)
    started = []
    while simulator.advance(100) == BatchStatus.STARTED:
        for row in simulator.started():
            started.append(row)
            assert simulator.outcome(row, NS_PER_S)
    assert started == list(range(8))
    assert schedule(simulator) == [(0, NS_PER_S, (core,)) for core in range(8)]


@pytest.mark.parametrize("width", [98, 100, 102])
def test_there_is_room_for_what_runs_longer_than_expected(width: int) -> None:
    """At 100 job 1 is overdue, in 64 single cores, and four jobs arrive whose reservations fill what room there is."""
    odd = list(range(3, 256, 2))
    asked = [list(range(0, 128, 2)), [1], odd[:90], odd[90:], list(range(128, 256, 2))]
    lasts = [(0, 1000, 100), (0, 100, 200), *[(0, 3000, 5000)] * 3, *[(100, 10, 10)] * 4]
    asked += [list(range(0, 2 * width, 2))] * 4
    simulator = BatchSimulator(
        jobs(*((k + 1, at, run, len(asked[k]), estimate) for k, (at, run, estimate) in enumerate(lasts))),
        machine(256),
        POLICIES["fcfs"],
        ALLOCATORS["given"],
        rules=BatchRules("conservative", conservative="rebuild"),
        recorded=True,
        requested={k + 1: " ".join(map(str, cores)) for k, cores in enumerate(asked)},
    )
    while simulator.advance(1) != BatchStatus.DONE:
        profile = simulator.state.cores_profile
        assert profile.used[b.EVER] <= len(profile.lo)
    starts_s = [0, 0, 0, 0, 0, 3000, 3010, 3020, 3030]
    assert simulator.column(b.START).tolist() == [start * NS_PER_S for start in starts_s]


@pytest.mark.parametrize("keep", [False, True])
def test_room_that_is_just_enough_or_grows_changes_nothing(keep: bool) -> None:
    """Rows, slices, decisions and reservations begin with room for next to nothing."""
    grown: set[str] = set()
    for any_rules in seeded_cases(8, 60, ("outages", "units", "maintenance", "dependencies"), max_jobs=14):
        case = replace(any_rules, rules=replace(any_rules.rules, depth=None, keep=keep, requeue=True))
        try:
            answer = expected(case)
        except NeverFinishes:
            continue
        tight = engine_of(case)
        state = tight.state
        small: dict[str, Any] = {
            "pool_lo": state.pool_lo[:1].copy(),
            "pool_hi": state.pool_hi[:1].copy(),
            "decisions": np.zeros((4, 1), np.int64),
        }
        if len(state.kept_lo):
            small |= {"kept_lo": state.kept_lo[:1].copy(), "kept_hi": state.kept_hi[:1].copy()}
        if len(state.cores_profile.ns):
            profile = state.cores_profile
            n = int(profile.used[b.SLICES]) + 4
            tight_columns = {name: getattr(profile, name)[:n].copy() for name in ("ns", "free", "first")}
            tight_columns |= {name: getattr(profile, name)[:n].copy() for name in ("lo", "hi", "amount", "after")}
            small["cores_profile"] = profile._replace(**tight_columns)
        sizes = {
            name: np.shape(getattr(state._replace(**small), name))
            for name in ("decisions", "kept_lo", "jobs", "pool_lo")
        }
        tight.state = state._replace(**small)
        assert tight.finish() == answer, case
        grown |= {name for name, size in sizes.items() if np.shape(getattr(tight.state, name)) != size}
        if len(state.cores_profile.ns) and len(tight.state.cores_profile.ns) > n:
            grown.add("slices")
        k = int(tight.state.sizes[b.N_DECISIONS])
        assert k == tight.state.clock[b.PASSES]
        assert (np.diff(tight.state.decisions[0, :k]) >= 0).all()
        assert tight.state.decisions[2, :k].sum() + sum(one.why == "preset" for one in answer) == sum(
            one.start >= 0 for one in answer
        )
    assert grown == {"decisions", "jobs", "kept_lo", "pool_lo", "slices"}


# ---- what goes wrong ----


def test_a_job_wider_than_the_machine_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="job 2 asks for 5 cores; the platform has 4"):
        ready(jobs((1, 0, 1, 1, 1), (2, 0, 1, 5, 1)))


@pytest.mark.parametrize("backfill", ["none", "easy", "2", "conservative"])
@pytest.mark.parametrize(("submit", "run"), [(MAX_NS, 1), (MAX_NS, MAX_NS), (1, MAX_NS)])
def test_the_end_of_time_is_an_error(submit: int, run: int, backfill: str) -> None:
    column = [np.array([value], np.int64) for value in (7, submit, run, 1, 1, 1)]
    late = Workload.from_lines(column, header=(), rejects={}, source="w", n_lines=1)
    rules = BatchRules(backfill=backfill)
    with pytest.raises(InputError, match=f"job 7 would end beyond the last simulated instant, {MAX_NS} ns"):
        finish(ready(late, recorded=True, rules=rules))
    last = late.take(np.array([0]), submit_ns=np.array([MAX_NS - 5]), run_ns=np.array([5]))
    simulator = ready(last, recorded=True, rules=rules)
    finish(simulator)
    assert simulator.now_ns == MAX_NS


@pytest.mark.parametrize("allocator", ["first-fit", "contiguous"])
@pytest.mark.parametrize("backfill", ["none", "easy", "2", "conservative"])
def test_estimates_up_to_the_end_of_time_are_planned_with(backfill: str, allocator: str) -> None:
    """Nothing overflows; whoever stands behind such a job has no slot that could be, and starts when it has ended."""
    rows = [(1, 0, 5, 3, MAX_NS), (2, 1, 5, 4, MAX_NS), (3, 2, 5, 4, MAX_NS), (4, 3, 5, 1, MAX_NS), (5, 4, 5, 4, 1)]
    columns = [*np.array(rows, np.int64).T.copy(), np.arange(1, 6)]
    workload = Workload.from_lines(columns, header=(), rejects={}, source="w", n_lines=5)
    workload = replace(workload, submit_ns=workload.submit_ns + MAX_NS // 2)
    for conservative in ("keep", "rebuild"):
        rules = BatchRules(backfill=backfill, conservative=conservative)
        found = finish(ready(workload, recorded=True, rules=rules, allocator=allocator))
        assert sorted(one.number for one in found) == [1, 2, 3, 4, 5]
        assert [one.end - one.start for one in found] == [5] * 5
        assert found[0].start == MAX_NS // 2


def outages_of(*hosts: list[tuple[int, int]]) -> JobConstraints:
    first = np.cumsum([0] + [len(host) for host in hosts])
    pairs = np.array([pair for host in hosts for pair in host], np.int64).reshape(-1, 2).T.copy()
    return JobConstraints(outages=Outages(first, pairs[0], pairs[1]))


KINDS = [("none", "keep"), ("easy", "keep"), ("2", "keep"), ("conservative", "keep"), ("conservative", "rebuild")]


@pytest.mark.parametrize(("backfill", "kind"), KINDS)
def test_a_job_wider_than_what_is_ever_up_is_named(backfill: str, kind: str) -> None:
    around = outages_of([(2 * NS_PER_S, MAX_NS)], [])
    workload = jobs((1, 0, 5, 2, 5), (7, 3, 1, 4, 1), (8, 4, 1, 1, 1))
    simulator = ready(
        workload,
        machine(4, 2),
        recorded=True,
        rules=BatchRules(backfill, kind, on_failure="lose"),
        circumstances=around,
    )
    with pytest.raises(InputError, match="stuck at job 7") as error:
        finish(simulator)
    assert "1 host is down for ever" in str(error.value)


def answer_at_once(simulator: BatchSimulator) -> None:
    """All jobs end as they start."""
    while simulator.advance(10**6) != BatchStatus.DONE:
        for row in simulator.started():
            assert simulator.outcome(row, simulator.now_ns)


@pytest.mark.parametrize(("backfill", "kind"), KINDS)
def test_a_job_that_the_failures_never_leave_room_for_is_noticed(backfill: str, kind: str) -> None:
    """Both hosts are up at once for a nanosecond now and then, or never; outages of a model have no end."""
    model = modelled_outages(OutageModel(2, 10**6, 3), 8)
    around = JobConstraints(outages=model)
    simulator = ready(
        jobs((1, 0, 1, 1, 1e-9), (7, 3, 1, 8, 1)), machine(8, 8), rules=BatchRules(backfill, kind), circumstances=around
    )
    with pytest.raises(InputError, match=r"job [17]"):
        answer_at_once(simulator)


class Idle:
    """Starts nothing, ever."""

    name = "idle"

    def decide(self, view: Any) -> list[Any]:
        return []


class Sleepless(Idle):
    name = "sleepless"

    def decide(self, view: Any) -> list[Any]:
        view.wake_at(view.now_ns + 1)
        return []


@pytest.mark.parametrize("policy", [Idle(), Sleepless()])
@pytest.mark.parametrize("failures", [False, True])
def test_a_policy_that_never_starts_anything_is_noticed(policy: Idle, failures: bool) -> None:
    model = modelled_outages(OutageModel(10**9, 10**9, 3), 4)
    around = JobConstraints(outages=model) if failures else JobConstraints()
    with pytest.raises((InputError, PluginError), match=policy.name):
        finish(ready(jobs((7, 0, 1, 1, 1)), machine(4, 4), policy, recorded=True, circumstances=around))


def test_an_allocator_that_never_places_a_job_is_named() -> None:
    """Units of two cores do not fit hosts of one."""
    case = BatchCase((replace(Job(7, 0, 1, 2, 1), unit_cores=2),), Machine((Host(1), Host(1))))
    for rules in (FCFS, EASY, KEEP, REBUILD):
        with pytest.raises(
            InputError, match=r"stuck at job 7.*allocator first-fit does not place it on the empty machine"
        ):
            finish(simulator_of(replace(case, rules=rules)))


def test_a_job_that_is_cut_again_and_again_is_named() -> None:
    around = outages_of([(k * NS_PER_S, k * NS_PER_S + 1) for k in range(1, 40)])
    rules = BatchRules(max_attempts=30)
    with pytest.raises(InputError, match="job 7 was cut by the failure of a host 30 times"):
        finish(ready(jobs((7, 0, 2, 1, 2)), recorded=True, rules=rules, circumstances=around))
    found = finish(ready(jobs((7, 0, 2, 1, 2)), recorded=True, rules=BatchRules(max_attempts=40), circumstances=around))
    assert [one.state for one in found] == ["requeued"] * 39 + ["completed"]
    assert found[-1].end == 41 * NS_PER_S + 1
    lost = finish(
        ready(jobs((7, 0, 2, 1, 2)), recorded=True, rules=BatchRules(on_failure="lose"), circumstances=around)
    )
    assert [(one.end, one.state) for one in lost] == [(NS_PER_S, "failed")]


@pytest.mark.parametrize(("backfill", "kind"), KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_outages_drawn_as_they_are_needed_are_those_drawn_at_once(seed: int, backfill: str, kind: str) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (k, int(t), int(p), int(n), int(r)) for k, (t, p, n, r) in enumerate(rng.integers(1, [400, 30, 7, 40], (60, 4)))
    ]
    workload, model = jobs(*rows), OutageModel(40 * NS_PER_S, 5 * NS_PER_S, seed)
    answers = []
    for count in (1, 2000):
        around = JobConstraints(outages=modelled_outages(model, 3, count))
        simulator = ready(
            workload, machine(6, 3), recorded=True, rules=BatchRules(backfill, kind), circumstances=around
        )
        answers.append(finish(simulator))
    assert answers[0] == answers[1]
    assert max(one.attempt for one in answers[0]) > 0
    assert answers[0][0].end > 0
