"""Who says how long jobs run: predictors by hand, corrections, that nobody sees the future, and what cannot be."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from batch_cases import BatchCase, expected
from batch_drives import engine_of
from command_line import twolevel
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section, table
from reference.machine import Host, Job, Machine, Predictor, Window
from reference.machine import Rules as CaseRules

import bridge
from bls.engine import state as b
from bls.estimates import CORRECTIONS_NS, ESTIMATORS, HistoryEstimator, Within, estimator, groups
from bls.estimates.coverage import predictable, recommended
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, policy
from bls.policies.contract import by_prediction
from bls.scheduler_options import Rules
from bls.view import SeenJob, View
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.base.time import NS_PER_S
from traces.compiled import Array

WIDE = Platform((HostGroup(16, 64, 64.0),))
SMALL = Platform((HostGroup(1, 4, 4.0),))
USUAL = {"cores": 1, "estimate_s": 1000, "user": 1}


def log(*rows: Mapping[str, Any]) -> Workload:
    """Jobs, numbered from 1, of one core and user 1 that ask for 1000 s, but for what is said."""
    return Workload.from_jobs([{"job_id": number, **USUAL, **row} for number, row in enumerate(rows, 1)])


def ran(
    workload: Workload, estimates: Any, platform: Platform = WIDE, bls: Any = "fcfs", **rules: Any
) -> bridge.Result:
    return bridge.simulate(workload, platform, bls=bls, als="recorded", rules=Rules(estimates=estimates, **rules))


def planned_s(workload: Workload, estimates: Any, **options: Any) -> list[float]:
    return (ran(workload, estimates, **options).jobs.planned_ns / NS_PER_S).tolist()


# ---- the user's last two ----


def test_last_two_is_the_mean_of_the_two_that_ended_last() -> None:
    """In the order in which they ended, not in that of submits; at 210 s job 2 ends before job 4 arrives."""
    workload = log(
        {"submit_s": 0, "run_s": 100},  # ends first
        {"submit_s": 10, "run_s": 200},  # ends third, at 210
        {"submit_s": 150, "run_s": 51},  # ends second, at 201; when it arrives, one has ended
        {"submit_s": 209, "run_s": 1},  # (100 + 51) / 2; at 210 it ends after job 2
        {"submit_s": 210, "run_s": 900, "user": 2},  # nobody of that user has ended
        {"submit_s": 210, "run_s": 900},  # (200 + 1) / 2
        {"submit_s": 210, "run_s": 900, "estimate_s": 60},  # never more than the request
        {"submit_s": 210, "run_s": 900, "user": -1},  # nobody knows whose
        {"submit_s": 220, "run_s": 900, "user": -1},
    )
    assert planned_s(workload, "last-two") == [1000, 1000, 1000, 75.5, 1000, 100.5, 60, 1000, 1000]


def test_the_mean_is_cut_to_whole_ns() -> None:
    rows: list[dict[str, Any]] = [
        {"submit_s": 0, "run_s": 1e-9},
        {"submit_s": 1, "run_s": 2e-9},
        {"submit_s": 2, "run_s": 1},
    ]
    by_ns = HistoryEstimator("ns", (("user",),), mean_of=2, least=2, shortest_ns=1)
    assert ran(log(*rows), by_ns).jobs.planned_ns.tolist()[2] == 1


def test_no_prediction_is_shorter_than_a_second_or_than_the_request() -> None:
    rows: list[dict[str, Any]] = [{"submit_s": k, "run_s": 1e-3} for k in range(2)]
    rows += [{"submit_s": 5, "run_s": 1, "estimate_s": 60}, {"submit_s": 6, "run_s": 0.5, "estimate_s": 0.5}]
    assert planned_s(log(*rows), "last-two")[2:] == [1, 0.5]


@pytest.mark.parametrize(("kills", "planned"), [(True, 60.0), (False, 80.0)])
def test_a_job_that_was_killed_teaches_how_long_it_ran(kills: bool, planned: float) -> None:
    rows = [{"submit_s": k, "run_s": 80, "estimate_s": 60} for k in range(2)] + [{"submit_s": 100, "run_s": 5}]
    assert planned_s(log(*rows), "last-two", kill_at_walltime=kills)[2] == planned


def test_a_job_that_was_withdrawn_teaches_nothing() -> None:
    rows = [{"submit_s": 0, "run_s": 30}, {"submit_s": 1, "run_s": 300, "cancel_s": 20}, {"submit_s": 2, "run_s": 40}]
    workload = log(*rows, {"submit_s": 25, "run_s": 1}, {"submit_s": 50, "run_s": 1})
    result = ran(workload, "last-two").jobs
    assert result.state.tolist()[1] == "cancelled"
    assert (result.planned_ns / NS_PER_S).tolist() == [1000, 1000, 1000, 1000, 35]


# ---- levels ----

ALIKE = {"user": 1, "application": 7, "queue": 2, "cores": 4, "estimate_s": 500}


@pytest.mark.parametrize(
    ("other", "planned"),
    [
        ({}, 50),  # the same again: the first level
        ({"estimate_s": 400}, 50),  # another request
        ({"cores": 3}, 50),  # another width, the same queue
        ({"queue": 3}, 50),  # the application alone
        ({"application": 8}, 50),  # user, queue, cores, request
        ({"application": -1}, 50),
        ({"application": 8, "queue": 3}, 50),  # user, cores, request
        ({"application": 8, "queue": 3, "estimate_s": 400}, 50),  # user, cores
        ({"application": 8, "queue": 3, "cores": 3}, 500),  # nothing in common but the user
        ({"user": 2}, 500),
        ({"user": -1}, 500),
    ],
)
def test_profile_goes_from_what_is_closest(other: dict[str, int], planned: int) -> None:
    first = {**ALIKE, "submit_s": 0, "run_s": 50}
    assert planned_s(log(first, {**ALIKE, "submit_s": 100, "run_s": 1, **other}), "profile")[1] == planned


def test_profile_takes_the_closest_level_and_not_the_latest_job() -> None:
    rows = [{**ALIKE, "submit_s": 0, "run_s": 50}, {**ALIKE, "submit_s": 1, "run_s": 90, "cores": 3}]
    rows += [{**ALIKE, "submit_s": 200, "run_s": 10}, {**ALIKE, "submit_s": 201, "run_s": 10, "cores": 2}]
    assert planned_s(log(*rows), "profile") == [500, 500, 50, 90]


def test_an_estimator_of_ones_own() -> None:
    """The last three as wide, once there are two; else the last of all."""
    mine = HistoryEstimator("mine", (("cores",), ()), mean_of=3, least=2)
    rows = [{"submit_s": 100 * k, "run_s": 10 * (k + 1), "cores": 1 + k // 5} for k in range(6)]
    assert planned_s(log(*rows), mine) == [1000, 1000, 15, 20, 30, 40]


@given(columns=st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 1), st.integers(1, 2)), min_size=1, max_size=12))
def test_groups_are_those_who_agree(columns: list[tuple[int, ...]]) -> None:
    rows = [{"submit_s": 0, "run_s": 1, "user": u, "queue": q, "cores": n} for u, q, n in columns]
    levels: tuple[tuple[str, ...], ...] = (("user", "queue", "cores"), ("queue",), ())
    found, count = groups(HistoryEstimator("mine", levels), log(*rows))
    place = {"user": 0, "queue": 1, "cores": 2}
    seen: set[int] = set()
    for level, numbers in zip(levels, found.tolist(), strict=True):
        own = [tuple(row[place[name]] for name in level) for row in columns]
        for one, number in zip(own, numbers, strict=True):
            assert (number < 0) == any(value < 0 for value in one)
            for other, its in zip(own, numbers, strict=True):
                assert number < 0 or its < 0 or (number == its) == (one == other)
        assert not seen & set(numbers) - {-1}, "no group is in two levels"
        seen |= set(numbers)
    assert seen - {-1} == set(range(count))


# ---- corrections ----


@pytest.mark.parametrize(
    ("minutes", "room"),
    [(9, 1), (10, 1), (10.5, 0.5), (11, 5), (12, 4), (16, 15), (30, 1), (31, 19), (49, 1)],
)
@pytest.mark.parametrize("backfill", ["easy", "3", "conservative"])
def test_who_runs_longer_is_expected_to_end_later_and_later(minutes: float, room: float, backfill: str) -> None:
    """Job 3 is predicted to run for 10 minutes and runs for the 50 it has asked for: it is expected to end after 10, 11, 16, 31
    and 50 minutes. Job 4 waits for it. What arrives on the way runs before it if it ends by then, and not if it asks for a
    second more."""
    assert [step // (60 * NS_PER_S) for step in CORRECTIONS_NS] == [1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000]
    at = 1000 + minutes * 60
    for more, starts in ((0, True), (1, False)):
        workload = log(
            {"submit_s": 0, "run_s": 600, "cores": 2},
            {"submit_s": 0, "run_s": 600, "cores": 2},
            {"submit_s": 1000, "run_s": 3000, "cores": 3, "estimate_s": 3000},
            {"submit_s": 1001, "run_s": 60, "cores": 4, "user": 2},
            {"submit_s": at, "run_s": 1, "user": 3, "estimate_s": room * 60 + more},
        )
        table = ran(workload, "last-two", SMALL, backfill=backfill).jobs
        assert table.planned_ns.tolist()[2] == 600 * NS_PER_S
        assert (table.start_ns.tolist()[4] == at * NS_PER_S) is starts


# ---- in the engine ----

LAST = Predictor((("user",),))
KEEP = CaseRules(depth=None, keep=True, predictor=LAST, corrections=(1, 3, 2))


def found_and_expected(case: BatchCase) -> list[tuple[int, int, int]]:
    """(number, start, end) of all attempts, by the engine and by the slow reference."""
    found = engine_of(case).finish()
    assert found == expected(case)
    return [(one.number, one.start, one.end) for one in found]


def test_a_correction_gives_up_the_slots_on_the_same_cores() -> None:
    """Job 2 is predicted to end at 10; job 3 asks for one of its cores, which is kept for it from then on. At 12, when it is
    known that job 2 goes on, job 4 arrives."""
    wanted = [frozenset({1, 2}), frozenset({0, 1, 2}), frozenset({1}), frozenset({3})]
    rows = ((3, 2, 4), (8, 7, 28), (9, 6, 27), (12, 1, 2))
    jobs = tuple(
        Job(number, q, p, len(cores), r, cores, user=1)
        for number, ((q, p, r), cores) in enumerate(zip(rows, wanted, strict=True), 1)
    )
    case = BatchCase(jobs, Machine((Host(2), Host(2))), replace(KEEP, allocator="given"))
    assert found_and_expected(case) == [(1, 3, 5), (2, 8, 15), (3, 15, 21), (4, 12, 13)]


def test_an_attempt_that_joins_again_knows_of_all_that_end_at_that_instant() -> None:
    """Host 0 fails at 5, when job 2 ends on host 1, in a later row: the second attempt of job 1 is planned with its 5."""
    jobs = (
        Job(1, 0, 5 + 3, 2, 9, user=1),
        Job(2, 0, 5, 1, 9, user=1),
        Job(3, 0, 10, 1, 10, user=2),
        Job(4, 1, 1, 4, 1, user=3),
    )
    machine = Machine((Host(2, outages=((5, 6),)), Host(2)))
    case = BatchCase(jobs, machine, CaseRules(depth=1, predictor=LAST))
    found = engine_of(case)
    assert found.finish() == expected(case)
    assert found.state.jobs[b.ESTIMATE, :5].tolist() == [9, 9, 10, 1, 5]


def test_a_job_of_a_reservation_is_planned_with_what_it_asks_for() -> None:
    """Its user's last job ran for 2; it asks for 6 of the reservation's 8, of which 4 are left when it joins: too late."""
    window = Window(10, 18, False, frozenset({0, 1, 2, 3}))
    jobs = (
        Job(1, 0, 2, 1, 9, user=1),
        Job(2, 14, 6, 1, 6, user=1, window=0, cancel=18),
        Job(3, 9, 6, 1, 6, user=1, window=0),
    )
    jobs = (jobs[0], jobs[2], jobs[1])
    case = BatchCase(jobs, Machine((Host(4),), windows=(window,)), CaseRules(depth=1, predictor=LAST))
    assert found_and_expected(case) == [(1, 0, 2), (3, 10, 16), (2, -1, -1)]


# ---- nobody sees the future ----


@dataclass(frozen=True)
class Cheat:
    """Plans with the mean of the user's last two submits, ended or not."""

    name: str = "cheat"

    def planned_ns(self, workload: Workload, seed: int) -> Array:
        found = workload.estimate_ns.copy()
        for row in range(len(found)):
            before = np.flatnonzero(workload.user[:row] == workload.user[row])[-2:]
            if len(before) == 2:
                found[row] = min(found[row], max(1, int(workload.run_ns[before].mean())))
        return found


def sees_no_future(
    estimates: Any, rows: list[dict[str, Any]], t: int, later: list[int], bls: Any, **rules: Any
) -> None:
    """Jobs that end after t get other run times, with which they still end after t: what was predicted up to t is the same."""
    first = ran(log(*rows), estimates, SMALL, bls, **rules).jobs
    changed = []
    for row, start, end, new in zip(rows, first.start_ns // NS_PER_S, first.end_ns // NS_PER_S, later, strict=True):
        changed.append(row | {"run_s": max(t - int(start), 0) + new} if end > t else row)
    second = ran(log(*changed), estimates, SMALL, bls, **rules).jobs
    told = (first.eligible_ns <= t * NS_PER_S).to_numpy()
    assert told.tolist() == (second.eligible_ns <= t * NS_PER_S).tolist()
    assert first.planned_ns[told].tolist() == second.planned_ns[told].tolist()


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "submit_s": st.integers(0, 20),
            "run_s": st.integers(1, 9),
            "cores": st.integers(1, 4),
            "estimate_s": st.integers(1, 30),
            "user": st.integers(-1, 2),
            "application": st.integers(-1, 1),
        }
    ),
    min_size=2,
    max_size=14,
).map(lambda rows: sorted(rows, key=lambda row: row["submit_s"]))


@settings(max_examples=120)
@given(
    rows=ROWS,
    name=st.sampled_from(["last-two", "last-two:least=1", "profile", "data-driven"]),
    bls=st.sampled_from(["fcfs", "sjf", "saf", "wfp3"]),
    backfill=st.sampled_from(["none", "easy", "conservative"]),
    kills=st.booleans(),
    data=st.data(),
)
def test_a_predictor_never_sees_the_future(
    rows: list[dict[str, Any]], name: str, bls: str, backfill: str, kills: bool, data: st.DataObject
) -> None:
    if name == "data-driven":
        rows = [
            {**row, "name": f"a{row['application'] // 2}_{row['application']}", "application": None} for row in rows
        ]
    t = data.draw(st.integers(0, 40))
    later = data.draw(st.lists(st.integers(1, 20), min_size=len(rows), max_size=len(rows)))
    sees_no_future(name, rows, t, later, bls, backfill=backfill, kill_at_walltime=kills)


@pytest.mark.parametrize("cheat", [Cheat(), "exact", "within:10%"])
def test_who_sees_the_future_is_caught(cheat: Any) -> None:
    rows = [{"submit_s": k, "run_s": 5 + k, "cores": 1, "estimate_s": 50} for k in range(4)]
    sees_no_future("last-two", rows, 3, [9] * 4, "fcfs")
    with pytest.raises(AssertionError):
        sees_no_future(cheat, rows, 3, [9] * 4, "fcfs")


# ---- known ones ----


def test_requested_is_the_default_and_needs_no_column() -> None:
    workload = log({"submit_s": 0, "run_s": 10})
    assert "planned_ns" not in ran(workload, "requested").jobs
    assert planned_s(workload, "exact") == [10]


def test_who_runs_beyond_the_request_is_known_to_unless_killed() -> None:
    workload = log({"submit_s": 0, "run_s": 10, "estimate_s": 6})
    assert planned_s(workload, "exact") == [10]
    assert planned_s(workload, "exact", kill_at_walltime=True) == [6]


@settings(max_examples=50)
@given(
    runs=st.lists(st.integers(1, 2**61), min_size=1, max_size=20),
    share=st.floats(0, 0.99),
    seed=st.integers(0, 2**64 - 1),
)
def test_within_stays_within(runs: list[int], share: float, seed: int) -> None:
    workload = log(*({"submit_s": 0, "run_s": run / NS_PER_S, "estimate_s": 1} for run in runs))
    found = Within(share).planned_ns(workload, seed)
    for planned, run in zip(found.tolist(), workload.run_ns.tolist(), strict=True):
        assert abs(planned - run) <= share * run * (1 + 1e-12) or planned == 1
    assert (Within(share).planned_ns(workload, seed) == found).all()


def test_within_is_uniform_and_depends_on_the_seed_alone() -> None:
    workload = log(*({"submit_s": k, "run_s": 1000 + k} for k in range(2000)))
    one, other = (Within(0.1).planned_ns(workload, seed) / workload.run_ns - 1 for seed in (1, 2))
    assert (one != other).mean() > 0.99
    assert one.min() == pytest.approx(-0.1, abs=1e-3)
    assert one.max() == pytest.approx(0.1, abs=1e-3)
    assert abs(one.mean()) < 0.005
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.1
    again = bridge.simulate(workload, WIDE, bls="sjf", als="recorded", seed=1, rules=Rules(estimates="within:10%"))
    assert again.jobs.planned_ns.tolist() == Within(0.1).planned_ns(workload, 1).tolist()
    assert (Within(0.0).planned_ns(workload, 1) == workload.run_ns).all()


@pytest.mark.parametrize(
    ("text", "name"), [("within:10%", "within:10%"), ("within: 7.5 %", "within:7.5%"), ("within:0%", "within:0%")]
)
def test_within_is_named_as_it_is_written(text: str, name: str) -> None:
    assert estimator(text).name == name


# ---- orders ----


@pytest.mark.parametrize("name", ["sjf", "ljf", "saf", "f1", "f2", "f3", "f4", "expr:-t*n"])
def test_an_order_by_estimates_is_the_same_where_it_is_found_in_every_pass(name: str) -> None:
    """With an estimator that never tells, jobs are planned with their requests, and a static policy is scored."""
    silent = HistoryEstimator("silent", (("user",),))
    rng = np.random.default_rng(len(name))
    rows = [
        {
            "submit_s": int(t),
            "run_s": int(r),
            "cores": int(n),
            "estimate_s": int(e) / 10,
            "user": user,
        }  # a user's only job
        for user, t, r, n, e in zip(
            range(60), np.sort(rng.integers(0, 40, 60)), *rng.integers((1, 1, 1), (9, 5, 40), (60, 3)).T, strict=True
        )
    ]
    workload = log(*rows)
    assert by_prediction(policy(name)) is not policy(name)
    one, other = (ran(workload, each, SMALL, name, backfill="easy").jobs for each in (silent, "requested"))
    assert one.start_ns.tolist() == other.start_ns.tolist()


def test_equal_areas_are_equal() -> None:
    """0.1 s × 3 and 0.15 s × 2: the first that came is first, though 0.1 × 3 is more than 0.3 in float64."""
    rows: list[dict[str, Any]] = [
        {"submit_s": 0, "run_s": 1, "cores": 4},
        {"submit_s": 0.5, "run_s": 0.1, "cores": 3, "estimate_s": 0.1, "user": 2},
    ]
    rows += [{"submit_s": 0.6, "run_s": 0.3, "cores": 2, "estimate_s": 0.15, "user": 3}]
    table = ran(log(*rows), "last-two", SMALL, "saf").jobs
    assert table.start_ns.tolist()[1:] == [NS_PER_S, int(1.1 * NS_PER_S)]


@pytest.mark.parametrize("name", ["fcfs", "edf", "wfp3", "unicef", "multifactor", "expr:-s"])
def test_other_orders_are_left_as_they_are(name: str) -> None:
    mine = POLICIES.get(name) or policy(name)
    assert by_prediction(mine) is mine


def test_sjf_goes_by_predictions() -> None:
    """User 1 asks for 1000 s and has run for 10 twice; user 2 asks for 100."""
    rows: list[dict[str, Any]] = [{"submit_s": k, "run_s": 10, "cores": 2} for k in range(2)]
    rows += [{"submit_s": 2, "run_s": 50, "cores": 4, "user": 3}]
    rows += [
        {"submit_s": 20, "run_s": 60, "cores": 4, "estimate_s": 100, "user": 2},
        {"submit_s": 21, "run_s": 9, "cores": 4},
    ]
    assert ran(log(*rows), "last-two", SMALL, "sjf").jobs.start_ns.tolist()[3:] == [70 * NS_PER_S, 61 * NS_PER_S]
    assert ran(log(*rows), "requested", SMALL, "sjf").jobs.start_ns.tolist()[3:] == [61 * NS_PER_S, 121 * NS_PER_S]


def test_an_expression_without_a_value_is_the_users_mistake() -> None:
    rows = [{"submit_s": k, "run_s": 10} for k in range(2)] + [{"submit_s": 20, "run_s": 10}]
    with pytest.raises(InputError, match=r"expr:1/\(t-10\): no finite key for job 3 at 20 s") as caught:
        ran(log(*rows), "last-two", bls="expr:1/(t-10)")
    assert not isinstance(caught.value, PluginError)


# ---- what cannot be ----


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nobody", "--estimates: unknown estimator 'nobody'; known: "),
        ("within:10", "--estimates: within:10; allowed: a share from 0% to below 100%, as within:10%"),
        ("within:100%", "--estimates: within:100%; allowed"),
        ("within:-1%", "--estimates: within:-1%; allowed"),
        ("within:nan%", "--estimates: within:nan%; allowed"),
        ("within:%", "--estimates: within:%; allowed"),
        ("within", "--estimates: unknown estimator 'within'; known: within:X%"),
        ("no.py:MINE", "--estimates: no file 'no.py'"),
    ],
)
def test_unknown_ones(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules(estimates=text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: HistoryEstimator("mine", (("users",),)), "estimator mine: unknown column 'users'; known: user"),
        (lambda: HistoryEstimator("mine", (("user",),), mean_of=0), "estimator mine: mean_of: 0"),
        (lambda: HistoryEstimator("mine", (("user",),), mean_of=2, least=3), "estimator mine: least: 3"),
    ],
)
def test_an_estimator_that_cannot_be(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            "workload.run_ns[1:]",
            "estimator mine: planned_ns() gave int64 of shape (1,); allowed: whole numbers from 1 of shape (2,)",
        ),
        ("workload.run_ns / 2", "estimator mine: planned_ns() gave float64 of shape (2,)"),
        ("workload.run_ns * 0", "estimator mine: planned_ns() gave int64 of shape (2,)"),
        ("1 / 0", "estimator mine: planned_ns() failed: ZeroDivisionError: division by zero"),
    ],
)
def test_an_estimator_that_gives_what_cannot_be(tmp_path: Path, answer: str, says: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        f"class Mine:\n    name = 'mine'\n    def planned_ns(self, workload, seed):\n        return {answer}\n"
    )
    with pytest.raises(PluginError) as caught:
        ran(log({"submit_s": 0, "run_s": 10}, {"submit_s": 0, "run_s": 10}), f"{file}:Mine")
    assert says in str(caught.value)


def test_what_is_no_estimator_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("MINE = 3\n")
    with pytest.raises(
        InputError, match=r"mine\.py:MINE is a int; allowed: a HistoryEstimator, or an object with a name"
    ):
        Rules(estimates=f"{file}:MINE")


# ---- from the command line ----

SWF = "".join(f"{k} {100 * k} 0 {50 + k} 2 -1 -1 2 900 -1 1 1 1 -1 {k % 2} 1 -1 -1\n" for k in range(1, 9))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(SWF)
    Path("mine.py").write_text(
        "from bls.estimates import HistoryEstimator\nMINE = HistoryEstimator('mine', (('queue',),))\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("estimates", "planned"),
    [
        ("last-two", [900, 900, 51.5, 52.5, 53.5, 54.5, 55.5, 56.5]),
        ("profile", [900, 51, 51, 52, 53, 54, 55, 56]),
        ("exact", [51, 52, 53, 54, 55, 56, 57, 58]),
        ("mine.py:MINE", [900, 900, 51, 52, 53, 54, 55, 56]),
    ],
)
def test_run(here: Path, estimates: str, planned: list[float]) -> None:
    """Eight jobs of one user, one after the other, from two queues in turn."""
    end = twolevel("run", "log.swf", "--als", "recorded", "--backfill", "easy", "--estimates", estimates, "--out", "r")
    assert end.code == 0, end.err
    assert (pd.read_parquet("r/jobs.parquet").planned_ns / NS_PER_S).tolist() == planned
    if estimates == "last-two":
        assert json.loads(Path("r/run.json").read_text())["predicted_share"] == 0.75


NOBODY = log(*({"submit_s": 10 * k, "run_s": 5, "user": -1} for k in range(6)))
NO_USER = "can predict no job, as jobs records no user of its jobs; allowed: "


@pytest.mark.parametrize(
    ("estimates", "workload", "words"),
    [
        ("last-two", NOBODY, f"{NO_USER}requested, exact, within:X%"),
        ("last-two:least=1", NOBODY, f"{NO_USER}requested, exact, within:X%"),
        ("profile", NOBODY, f"{NO_USER}requested, exact, within:X%"),
        ("data-driven", NOBODY, f"{NO_USER}requested, exact, within:X%"),
        (
            *("data-driven", log(*({"submit_s": k, "run_s": 5} for k in range(4)))),
            "can predict no job, as jobs records no name of its jobs; allowed: last-two, profile, requested, exact",
        ),
    ],
)
def test_an_estimator_without_its_columns_is_refused(estimates: str, workload: Workload, words: str) -> None:
    with pytest.raises(InputError, match=rf"^estimates='{estimates}': {re.escape(words)}"):
        ran(workload, estimates)


@pytest.mark.parametrize(
    ("estimates", "users", "at_most", "predicted"),
    [
        ("last-two", (1, 1, 1, 2, -1, 1), 2, 2),  # the third and the last of user 1
        ("last-two:least=1", (1, 1, 1, 2, -1, 1), 3, 3),
        ("profile", (1, 1, 1, 2, -1, 1), 3, 3),
        ("last-two", (1, 2, 3, 4, 5, 6), 0, 0),
    ],
)
def test_the_share_of_predicted_jobs_is_reported(
    estimates: str, users: tuple[int, ...], at_most: int, predicted: int
) -> None:
    workload = log(*({"submit_s": 10 * k, "run_s": 5, "user": user} for k, user in enumerate(users)))
    found = estimator(estimates)
    assert isinstance(found, HistoryEstimator)
    assert predictable(found, workload) == at_most
    result = ran(workload, estimates)
    assert result.predicted_share == predicted / 6
    assert dict(result.summary())["predicted run times"].startswith(
        f"{100 * predicted / 6:.3g} % of jobs, by {estimates};"
    )
    assert ran(workload, "exact").predicted_share is None


@pytest.mark.parametrize(
    ("users", "words"),
    [
        ((1, 1, 1, 1), "--estimates profile predicts up to 75 % of them"),
        ((1, 2, 3, 4), "no built-in estimator can predict them, as no job follows others like it"),
        ((-1, -1, -1, -1), "no built-in estimator can predict them, as jobs records no user of its jobs"),
    ],
)
def test_what_is_recommended_works_for_the_log(users: tuple[int, ...], words: str) -> None:
    assert recommended(log(*({"submit_s": 10 * k, "run_s": 5, "user": user} for k, user in enumerate(users)))) == words


def test_run_says_what_it_planned_with(here: Path) -> None:
    for name, column in (("requested", False), ("within:10%", True)):
        assert twolevel("run", "log.swf", "--als", "recorded", "--estimates", name, "--out", name[:3]).code == 0
        assert ("planned_ns" in pd.read_parquet(f"{name[:3]}/jobs.parquet")) is column
        assert name in json.dumps(json.loads(Path(f"{name[:3]}/run.json").read_text()))


def test_grid(here: Path) -> None:
    words = (
        "grid",
        "log.swf",
        "--bls",
        "sjf,fcfs",
        "--als",
        "recorded",
        "--backfill",
        "easy",
        "--workers",
        1,
        "--out",
        "g",
    )
    assert twolevel(*words, "--estimates", "last-two").code == 0
    assert twolevel(*words[:-1], "h", "--estimates", "nobody").code == 2


def test_a_mistake_is_one_line_and_nothing_is_written(here: Path) -> None:
    end = twolevel("run", "log.swf", "--estimates", "within:200%", "--out", "r")
    assert (end.code, end.out, end.err.count("\n")) == (2, "", 1)
    assert "--estimates: within:200%; allowed: a share from 0% to below 100%" in end.err
    assert not Path("r").exists()


def test_every_estimator_has_its_own_name() -> None:
    assert all(each.name == name for name, each in ESTIMATORS.items())


# ---- the page ----


def test_the_schedule_on_the_page_is_what_the_simulator_gives() -> None:
    text = section(ROOT / "docs" / "reference/batch-estimates.md", "Estimates")
    rows = table(text[text.index("| job |") :])
    given = [
        {
            "job_id": int(job),
            "user": ord(user),
            "submit_s": 60 * int(submit),
            "cores": int(cores),
            "estimate_s": 60 * int(request),
            "run_s": 60 * int(run),
        }
        for job, user, submit, cores, request, run, *_ in rows
    ]
    found = ran(log(*given), "last-two", SMALL, backfill="easy").jobs
    assert (found.planned_ns // (60 * NS_PER_S)).tolist() == [int(row[6]) for row in rows]
    assert (found.start_ns // (60 * NS_PER_S)).tolist() == [int(row[7]) for row in rows]
    given[-1]["estimate_s"] += 1
    assert ran(log(*given), "last-two", SMALL, backfill="easy").jobs.start_ns.tolist()[-1] == 71 * 60 * NS_PER_S
    named = {name for row in table(text) for name in (row[0].strip("`"),)}
    assert {*ESTIMATORS, "within:X%", "FILE.py:NAME"} <= named


# ---- promises of running applications ----


def promised_page() -> tuple[list[list[str]], Workload]:
    """The rows of the page's schedule, and its jobs."""
    rows = table(section(ROOT / "docs" / "reference/batch-estimates.md", "Promises of running applications"))
    names = ("job_id", "submit_s", "cores", "estimate_s", "run_s")
    given = [dict(zip(names, (int(job), *(int(cell) for cell in cells)), strict=True)) for job, *cells in
             ([row[0], *row[1:5]] for row in rows)]  # fmt: skip
    for row in given:
        for name in ("submit_s", "estimate_s", "run_s"):
            row[name] *= 60
    return rows, Workload.from_jobs(given)


@pytest.mark.parametrize(("estimates", "column"), [("requested", 5), ("application", 6)])
def test_the_schedule_of_promises_on_the_page(estimates: str, column: int) -> None:
    rows, workload = promised_page()
    found = ran(workload, estimates, SMALL, backfill="easy").jobs
    assert (found.start_ns // (60 * NS_PER_S)).tolist() == [int(row[column]) for row in rows]


def test_without_backfilling_a_promise_changes_nothing_but_what_policies_see() -> None:
    seen: list[tuple[int, list[tuple[int, int]]]] = []

    class Looks:
        name = "looks"

        def decide(self, view: View) -> list[SeenJob]:
            seen.append((view.now_ns // NS_PER_S, [(job.job_id, job.estimate_ns // NS_PER_S) for job in view.running]))
            free, chosen = view.free_cores, []
            for job in view.waiting:
                if job.cores > free:
                    break
                free -= job.cores
                chosen.append(job)
            return chosen

    _, workload = promised_page()
    starts = ran(workload, "requested", SMALL).jobs.start_ns.tolist()
    assert ran(workload, "application", SMALL).jobs.start_ns.tolist() == starts
    assert ran(workload, "application", SMALL, bls=Looks()).jobs.start_ns.tolist() == starts
    # Job 1 asked for 60 minutes, and promises 20; at its start nobody had heard of it.
    assert seen[:2] == [(0, []), (60, [(1, 1200)])]


def test_who_comes_next_is_held_against_what_was_promised_behind_the_last_pass() -> None:
    """Jobs 1 and 2 come together: job 2's slot was found before job 1 had promised its end. Job 3 would be in its way."""
    workload = log(
        {"submit_s": 0, "run_s": 20, "cores": 3, "estimate_s": 60},
        {"submit_s": 0, "run_s": 10, "cores": 4, "estimate_s": 10},
        {"submit_s": 2, "run_s": 30, "cores": 1, "estimate_s": 30},
    )
    for estimates, starts in (("requested", [0, 32, 2]), ("application", [0, 20, 30])):
        found = ran(workload, estimates, SMALL, backfill="easy").jobs.start_ns
        assert (found // NS_PER_S).tolist() == starts, estimates


def test_a_promise_beyond_the_request_is_believed_unless_jobs_are_killed() -> None:
    """On 4 cores: a job of 3 for 60 s that asked for 10; a wide one; and one that fits beside it until 60 s, not until 10."""
    workload = log(
        {"submit_s": 0, "run_s": 60, "cores": 3, "estimate_s": 10},
        {"submit_s": 1, "run_s": 5, "cores": 4, "estimate_s": 5},
        {"submit_s": 2, "run_s": 50, "cores": 1, "estimate_s": 50},
    )
    for estimates, kill, starts in (
        ("application", False, [0, 60, 2]),
        ("requested", False, [0, 60, 65]),
        ("application", True, [0, 10, 15]),
    ):
        found = ran(workload, estimates, SMALL, backfill="easy", kill_at_walltime=kill).jobs.start_ns
        assert (found // NS_PER_S).tolist() == starts, (estimates, kill)


def test_who_will_be_cancelled_has_promised_nothing() -> None:
    """Job 1 is cancelled at 30 s, which nobody knows before: job 3 is backfilled, as without promises."""
    workload = log(
        {"submit_s": 0, "run_s": 90, "cores": 3, "estimate_s": 100, "cancel_s": 30},
        {"submit_s": 1, "run_s": 5, "cores": 4, "estimate_s": 5},
        {"submit_s": 2, "run_s": 80, "cores": 1, "estimate_s": 80},
    )
    starts = [
        ran(workload, name, SMALL, backfill="easy").jobs.start_ns.tolist() for name in ("application", "requested")
    ]
    assert starts[0] == starts[1] == [0, 82 * NS_PER_S, 2 * NS_PER_S]


def test_the_estimators_on_the_page_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(blocks(ROOT / "docs" / "reference/batch-estimates.md", "python")[0])
    rows = [{"submit_s": 100 * k, "run_s": 10 * (k + 1), "cores": 1 + k // 3} for k in range(5)]
    assert planned_s(log(*rows), f"{tmp_path}/mine.py:MINE") == [1000, 10, 15, 1000, 40]
    assert ran(log(*rows), f"{tmp_path}/mine.py:Half").jobs.planned_ns.tolist() == [500 * NS_PER_S + 1] * 5
