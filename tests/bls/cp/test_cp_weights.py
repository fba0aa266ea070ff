"""A goal of several: slowdowns, waits in hours, and users who count alike; against exhaustive search."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dispatch_cases import CELLS, cases, faults, instance_of, planned
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Case, Waiting, least_z
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Workload
from bls.cp import MODELS, Instance, Parameters, dispatch
from traces.base.errors import InputError, PluginError

LONG = Parameters(which="all", limit_s=5.0, goal="weighted")


def of_users(case: Case, users: list[int]) -> Instance:
    instance = instance_of(case)
    return replace(instance, queue=replace(instance.queue, user=np.array(users, np.int64)))


@settings(max_examples=80)
@given(
    cases(),
    st.sampled_from(MODELS),
    st.sampled_from([(1, 0), (0, 1), (2, 3), (Fraction(1, 4), 50)]),
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]),
    st.sampled_from(["hinted", "guided", "paper"]),
    st.data(),
)
def test_optima_equal_exhaustive_search(
    case: Case, model: str, of: tuple[Fraction, Fraction], fair: Fraction, search: str, data: st.DataObject
) -> None:
    users = [data.draw(st.integers(1, 3)) for _ in case.waiting]
    counts, n = Counter(users), len(users)
    rates = []
    for job, user in zip(case.waiting, users, strict=True):
        share = Fraction(n, len(counts) * counts[user])
        rates.append((Fraction(of[0]) / job.duration + Fraction(of[1]) / 3600) * (1 - fair + fair * share))
    chosen = replace(LONG, slowdown=float(of[0]), wait=float(of[1]), fairness=float(fair), search=search)
    instance = of_users(case, users)
    found = planned(instance, model, chosen)
    assert found.status == "optimal"
    assert found.value == found.bound == least_z(case, CELLS[model], rates=rates)
    assert faults(case, found, instance) == []
    listed = planned(instance, model, replace(chosen, search="lns"))
    assert found.value <= listed.value <= listed.list_value  # type: ignore[operator]


def test_a_user_of_many_jobs_goes_behind_where_users_count_alike() -> None:
    """One core, four jobs of 10 s of user 1 that came first and one of 11 s of user 2."""
    case = Case(((1,),), (), (*(Waiting(5, 10, 1, (1,)) for _ in range(4)), Waiting(0, 11, 1, (1,))))
    for fair, first in ((0.0, [0]), (1.0, [4])):
        for search in ("hinted", "lns", "list"):
            found = dispatch(of_users(case, [1, 1, 1, 1, 2]), "hcp19", replace(LONG, fairness=fair, search=search))
            assert [start.row for start in found.starts] == first, (fair, search)
    # Who is nobody's is one user's.
    found = dispatch(instance_of(case), "hcp19", replace(LONG, fairness=1.0))
    assert [start.row for start in found.starts] == [0]


def test_runs_know_the_users() -> None:
    rows = [{"job_id": k, "submit_s": 0, "run_s": 10, "cores": 1, "estimate_s": 10, "user": 1} for k in range(1, 5)]
    rows.append({"job_id": 5, "submit_s": 0, "run_s": 11, "cores": 1, "estimate_s": 11, "user": 2})
    jobs, one = Workload.from_jobs(rows), Platform((HostGroup(1, 1, 1.0),))
    for fair, first in ((0, 1), (1, 5)):
        bls = f"hcp19:which=all,goal=weighted,fairness={fair}"
        found = bridge.simulate(jobs, one, bls=bls, als="recorded").jobs
        assert found.job_id[found.start_ns.argmin()] == first


@pytest.mark.parametrize(("wrong", "said"), table_rows(__file__, "weights_that_cannot_be"))
def test_weights_that_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        replace(LONG, **wrong)
    assert f"constraint programming: {said}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("model", ["cp-classes", "pcp19", "pcp20"])
def test_a_plan_of_the_pool_that_guides_has_the_weights(model: str) -> None:
    """Its bound is one of hours; that of slowdowns would be above all plans."""
    case = Case(((4,),), (), (Waiting(0, 6, 1, (3,)), Waiting(0, 3, 1, (2,))))
    found = planned(instance_of(case), model, replace(LONG, search="guided", slowdown=0.0, wait=1.0))
    assert (found.solves, found.value, found.bound) == (2, Fraction(3 + 9, 3600), found.value)


def test_users_belong_to_jobs() -> None:
    case = Case(((1,),), (), (Waiting(5, 10, 1, (1,)),))
    with pytest.raises(PluginError, match="queue: user"):
        of_users(case, [1, 2])
