"""How long jobs are expected to run: predictors, names of jobs, no knowledge of the future, and errors.

Schedules by hand are in schedules/estimates.toml.
"""

import json
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from batch_drives import estimator_of
from command_line import succeeds
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import ROOT, blocks, section, table
from reference.machine import LAST_TWO, PROFILE
from tables import table_rows

import bridge
from bls import ConstraintOptions, View
from bls.estimates import (
    ESTIMATORS,
    HistoryEstimator,
    Within,
    alike_in,
    estimator,
    name_prefix,
    predictable,
    recommended,
)
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.seen.jobs import SeenJob
from bls.workloads.merge import merge
from bls.workloads.workload import Workload
from bridge.standard_error import on_command_line
from traces.base.errors import InputError, PluginError
from traces.base.time import NS_PER_S

WIDE = Platform((HostGroup(16, 64, 64.0),))
SMALL = Platform((HostGroup(1, 4, 4.0),))
USUAL = {"cores": 1, "estimate_s": 1000, "user": 1}


def log(*rows: Mapping[str, Any]) -> Workload:
    """Jobs, numbered from 1, of one core and user 1 that request 1000 s, but for what is said."""
    return Workload.from_jobs([{"job_id": number, **USUAL, **row} for number, row in enumerate(rows, 1)])


def ran(
    workload: Workload, estimates: Any, platform: Platform = WIDE, bls: Any = "fcfs", **rules: Any
) -> bridge.Result:
    return bridge.simulate(workload, platform, bls=bls, als="recorded", estimates=estimates, **rules)


def planned_s(workload: Workload, estimates: Any, **options: Any) -> list[float]:
    return (ran(workload, estimates, **options).jobs.planned_ns / NS_PER_S).tolist()


def test_an_estimator_of_ones_own() -> None:
    """The last three as wide, once there are two; else the last of all."""
    mine = HistoryEstimator("mine", (("cores",), ()), mean_of=3, least=2)
    rows = [{"submit_s": 100 * k, "run_s": 10 * (k + 1), "cores": 1 + k // 5} for k in range(6)]
    assert planned_s(log(*rows), mine) == [1000, 1000, 15, 20, 30, 40]


def sees_no_future(
    estimates: Any, rows: list[dict[str, Any]], t: int, later: list[int], bls: Any, **rules: Any
) -> None:
    """Jobs that end after t get other run times, with which they still end after t: what was predicted up to t is the same."""
    first = ran(log(*rows), estimates, SMALL, bls, **rules).jobs
    changed = []
    for row, start, end, new in zip(rows, first.start_ns // NS_PER_S, first.end_ns // NS_PER_S, later, strict=True):
        changed.append(row | {"run_s": max(t - int(start), 0) + new} if end > t else row)
    second = ran(log(*changed), estimates, SMALL, bls, **rules).jobs
    known = (first.eligible_ns <= t * NS_PER_S).to_numpy()
    assert known.tolist() == (second.eligible_ns <= t * NS_PER_S).tolist()
    assert first.planned_ns[known].tolist() == second.planned_ns[known].tolist()


RANGES = {"submit_s": (0, 20), "run_s": (1, 9), "cores": (1, 4), "estimate_s": (1, 30), "user": (-1, 2)}
RANGES |= {"application": (-1, 1)}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.integers(*ends) for name, ends in RANGES.items()}), min_size=2, max_size=14
).map(lambda rows: sorted([*rows[1:], rows[0] | {"user": 1}], key=lambda row: row["submit_s"]))  # one user is known


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
        numbers = [row["application"] for row in rows]
        rows = [row | {"name": f"a{k // 2}_{k}", "application": None} for row, k in zip(rows, numbers, strict=True)]
    t = data.draw(st.integers(0, 40))
    later = data.draw(st.lists(st.integers(1, 20), min_size=len(rows), max_size=len(rows)))
    sees_no_future(name, rows, t, later, bls, backfill=backfill, kill_at_walltime=kills)


def test_the_estimators_are_those_of_the_slow_reference() -> None:
    """Which the engine is compared with, and what the jobs of a level have in common."""
    for name, predictor in (("last-two", LAST_TWO), ("profile", PROFILE)):
        assert replace(ESTIMATORS[name], shortest_ns=1) == replace(estimator_of(predictor), name=name)
    assert "planned_ns" not in ran(log({"submit_s": 0, "run_s": 10}), "requested").jobs
    texts = ("within:10%", "within: 7.5 %", "within:0%", *ESTIMATORS)
    assert [estimator(text).name for text in texts] == ["within:10%", "within:7.5%", "within:0%", *ESTIMATORS]


def test_within_is_uniform_and_depends_on_the_seed_alone() -> None:
    workload = log(*({"submit_s": k, "run_s": 1000 + k} for k in range(2000)))
    one, other = (Within(0.1).planned_ns(workload, seed) / workload.run_ns - 1 for seed in (1, 2))
    assert (one != other).mean() > 0.99
    assert one.min() == pytest.approx(-0.1, abs=1e-3)
    assert one.max() == pytest.approx(0.1, abs=1e-3)
    assert abs(one.mean()) < 0.005
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.1
    again = bridge.simulate(workload, WIDE, bls="sjf", als="recorded", seed=1, estimates="within:10%")
    assert again.jobs.planned_ns.tolist() == Within(0.1).planned_ns(workload, 1).tolist()
    assert (Within(0.0).planned_ns(workload, 1) == workload.run_ns).all()


@pytest.mark.parametrize(
    ("levels", "options", "says"),
    [
        ((("users",),), {}, "unknown column 'users'; known: user"),
        ((("user",),), {"mean_of": 0}, "mean_of: 0"),
        ((("user",),), {"mean_of": 2, "least": 3}, "least: 3"),
    ],
)
def test_an_estimator_that_cannot_be(levels: Any, options: dict[str, int], says: str) -> None:
    with pytest.raises(InputError, match=f"^estimator mine: {says}"):
        HistoryEstimator("mine", levels, **options)


@pytest.mark.parametrize(("answer", "says"), table_rows(__file__, "impossible_estimates_are_refused"))
def test_impossible_estimates_are_refused(tmp_path: Path, answer: str, says: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        f"class Mine:\n    name = 'mine'\n    def planned_ns(self, workload, seed):\n        return {answer}\nTHREE = 3\n"
    )
    with pytest.raises(PluginError) as caught:
        ran(log({"submit_s": 0, "run_s": 10}, {"submit_s": 0, "run_s": 10}), f"{file}:Mine")
    assert f"estimator mine: planned_ns() {says}" in str(caught.value)
    with pytest.raises(
        InputError, match=r"mine\.py:THREE is of type int; allowed: a HistoryEstimator, or an object with"
    ):
        Rules(estimates=f"{file}:THREE")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight jobs of one user, one after the other, from two queues in turn."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{k} {100 * k} 0 {50 + k} 2 -1 -1 2 900 -1 1 1 1 -1 {k % 2} 1 -1 -1\n" for k in range(1, 9)]
    Path("log.swf").write_text("".join(lines))
    Path("mine.py").write_text(
        "from bls.estimates import HistoryEstimator\nMINE = HistoryEstimator('mine', (('queue',),))\n"
    )
    for estimates, share, planned in (
        ("last-two", 0.75, [900, 900, 51.5, 52.5, 53.5, 54.5, 55.5, 56.5]),
        ("mine.py:MINE", 0.75, [900, 900, 51, 52, 53, 54, 55, 56]),
    ):
        out = Path(estimates.partition(".")[0])
        succeeds("run", "log.swf", "--als", "recorded", "--estimates", estimates, "--out", out)
        assert (pd.read_parquet(out / "jobs.parquet").planned_ns / NS_PER_S).tolist() == planned
        record = (out / "run.json").read_text()
        assert json.loads(record)["predicted_share"] == share
        assert out.name in record


NO_USERS = log(*({"submit_s": 10 * k, "run_s": 5, "user": -1} for k in range(6)))
NAMELESS = log(*({"submit_s": k, "run_s": 5} for k in range(4)))


@pytest.mark.parametrize("estimates", ["last-two", "last-two:least=1", "profile", "data-driven"])
def test_an_estimator_without_its_columns_is_refused(estimates: str) -> None:
    cases = [(NO_USERS, "user of its jobs; allowed: requested, exact, within:X%")]
    if estimates == "data-driven":
        cases.append((NAMELESS, "name of its jobs; allowed: last-two, profile, requested, exact"))
    for workload, words in cases:
        said = re.escape(f"estimates='{estimates}': can predict no job, as jobs records no {words}")
        with pytest.raises(InputError, match=f"^{said}"):
            ran(workload, estimates)


@pytest.mark.parametrize(
    ("estimates", "users", "at_most", "predicted"), table_rows(__file__, "the_share_of_predicted_jobs_is_reported")
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


@pytest.mark.parametrize(("users", "words"), table_rows(__file__, "recommended_estimators_work_for_the_log"))
def test_recommended_estimators_work_for_the_log(users: tuple[int, ...], words: str) -> None:
    found = recommended(log(*({"submit_s": 10 * k, "run_s": 5, "user": user} for k, user in enumerate(users))))
    assert on_command_line(found) == words


def test_the_simulator_gives_the_schedule_on_the_page() -> None:
    text = section(ROOT / "docs" / "reference/batch-estimates.md", "Estimates")
    rows = table(text[text.index("| job |") :])
    given: list[dict[str, int]] = []
    for job, user, *cells in rows:
        submit, cores, request, run = map(int, cells[:4])
        times = {"submit_s": 60 * submit, "estimate_s": 60 * request, "run_s": 60 * run}
        given.append({"job_id": int(job), "user": ord(user), "cores": cores, **times})
    found = ran(log(*given), "last-two", SMALL, backfill="easy").jobs
    assert (found.planned_ns // (60 * NS_PER_S)).tolist() == [int(row[6]) for row in rows]
    assert (found.start_ns // (60 * NS_PER_S)).tolist() == [int(row[7]) for row in rows]
    given[-1]["estimate_s"] += 1
    assert ran(log(*given), "last-two", SMALL, backfill="easy").jobs.start_ns.tolist()[-1] == 71 * 60 * NS_PER_S
    named = {name for row in table(text) for name in (row[0].strip("`"),)}
    assert {*ESTIMATORS, "within:X%", "FILE.py:NAME"} <= named


def test_the_schedule_of_promises_on_the_page() -> None:
    """Without backfilling a promise changes only what policies see."""
    seen: list[tuple[int, list[tuple[int, int]]]] = []

    class Looks:
        name = "looks"

        def decide(self, view: View) -> Iterator[SeenJob]:
            seen.append((view.now_ns // NS_PER_S, [(job.job_id, job.estimate_ns // NS_PER_S) for job in view.running]))
            free = view.free_cores
            for job in view.waiting:
                free -= job.cores
                if free < 0:
                    return
                yield job

    rows = table(section(ROOT / "docs" / "reference/batch-estimates.md", "Promises of running applications"))
    names = ("job_id", "submit_s", "cores", "estimate_s", "run_s")
    numbers = [dict(zip(names, map(int, row), strict=False)) for row in rows]
    minutes = {"submit_s": 60, "estimate_s": 60, "run_s": 60}
    workload = Workload.from_jobs([{name: row[name] * minutes.get(name, 1) for name in names} for row in numbers])
    for estimates, column in (("requested", 5), ("application", 6)):
        found = ran(workload, estimates, SMALL, backfill="easy").jobs
        assert (found.start_ns // (60 * NS_PER_S)).tolist() == [int(row[column]) for row in rows]
    starts = [ran(workload, estimates, SMALL).jobs.start_ns.tolist() for estimates in ("requested", "application")]
    assert starts[0] == starts[1] == ran(workload, "application", SMALL, bls=Looks()).jobs.start_ns.tolist()
    # Job 1 requests 60 minutes and promises 20, after the pass that starts it.
    assert seen == [(0, []), (60, [(1, 1200)]), (120, [(1, 1200)]), (1200, []), (1800, []), (3600, [])]


def test_the_estimators_on_the_page_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(blocks(ROOT / "docs" / "reference/batch-estimates.md", "python")[0])
    rows = [{"submit_s": 100 * k, "run_s": 10 * (k + 1), "cores": 1 + k // 3} for k in range(5)]
    assert planned_s(log(*rows), f"{tmp_path}/mine.py:MINE") == [1000, 10, 15, 1000, 40]
    assert ran(log(*rows), f"{tmp_path}/mine.py:Half").jobs.planned_ns.tolist() == [500 * NS_PER_S + 1] * 5


WIDE_CARDS = Platform((HostGroup(16, 64, 64.0, {"gpu": 4}),))  # type: ignore[arg-type]
ALIKE = {"user": 1, "name": "relax_7", "queue": 2, "partition": 3, "cores": 4, "estimate_s": 500}


def named_jobs(*rows: Mapping[str, Any]) -> Workload:
    return Workload.from_jobs([{"job_id": number, **row} for number, row in enumerate(rows, 1)])


def data_driven_s(workload: Workload, estimates: Any = "data-driven", **options: Any) -> list[float]:
    result = bridge.simulate(workload, WIDE_CARDS, als="recorded", estimates=estimates, **options)
    return (result.jobs.planned_ns / NS_PER_S).tolist()


@pytest.mark.parametrize(("other", "planned"), table_rows(__file__, "the_closest_profile_is_used"))
def test_the_closest_profile_is_used(other: dict[str, Any], planned: int) -> None:
    first = {**ALIKE, "submit_s": 0, "run_s": 50}
    assert data_driven_s(named_jobs(first, {**ALIKE, "submit_s": 100, "run_s": 1, **other}))[1] == planned


@pytest.mark.parametrize(("name", "prefix"), table_rows(__file__, "prefixes"))
def test_prefixes(name: str, prefix: str) -> None:
    assert name_prefix(name) == prefix


def test_resources_are_those_requested(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("job_id,unit_cores,gpu\n1,2,1\n2,2,1\n3,2,2\n4,4,1\n5,2,1\n")
    rows = [{**ALIKE, "submit_s": 0, "run_s": 10}] * 4 + [{**ALIKE, "submit_s": 0, "run_s": 10, "cores": 2}]
    constraints = ConstraintOptions(requests=str(tmp_path / "r.csv"))
    scenario = bridge.ReadyScenario.of(
        named_jobs(*rows), WIDE_CARDS, bridge.Scenario.flat(als="recorded", constraints=constraints)
    )
    for asked, same in ((scenario.constraints.requests, (0, 1)), (None, (0, 1, 2, 3))):
        numbers = alike_in("resources", scenario.workload, asked).tolist()
        assert tuple(k for k, number in enumerate(numbers) if number == numbers[0]) == same


def test_names_go_with_their_jobs() -> None:
    rows = [{**ALIKE, "submit_s": k, "run_s": 5, "name": name} for k, name in enumerate(["b", "a", None, "b"])]
    workload = named_jobs(*rows)
    assert workload.application.tolist() == [1, 2, -1, 1]
    assert workload.names == {1: "b", 2: "a"}
    again = pickle.loads(pickle.dumps(workload.take(np.array([1, 3]))))
    assert [again.job_name(row) for row in range(2)] == ["a", "b"]
    both = merge([workload, named_jobs({"submit_s": 0, "run_s": 5, "cores": 1, "name": "b"})], align="start")
    assert sorted((int(number), both.names[number]) for number in both.application.tolist() if number >= 0) == [
        (1, "b"), (1, "b"), (1, "b"), (2, "a"),
    ]  # fmt: skip
    assert len({both.names[number] for number in both.names}) == 2


@pytest.mark.parametrize(("row", "message"), table_rows(__file__, "wrong_names"))
def test_wrong_names(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        named_jobs({"submit_s": 0, "run_s": 5, "cores": 1, **row})
    assert str(caught.value) == message


def test_a_policy_and_the_table_of_jobs_have_the_name() -> None:
    seen: list[Any] = []

    class Looks:
        name = "looks"

        def decide(self, view: View) -> Any:
            seen.extend(job.name for job in view.waiting)
            return list(view.waiting)

    rows = [{"submit_s": k, "run_s": 5, "cores": 1, "name": name} for k, name in enumerate(["x", None])]
    assert bridge.simulate(named_jobs(*rows), WIDE_CARDS, bls=Looks(), als="recorded").jobs.name.tolist() == ["x", ""]
    assert seen == ["x", None]
    unnamed = bridge.simulate(named_jobs({"submit_s": 0, "run_s": 5, "cores": 1}), WIDE_CARDS, als="recorded")
    assert "name" not in unnamed.stored_jobs
    assert unnamed.jobs.name.tolist() == [""]
