"""Large-neighbourhood search: never worse than where it begins, and the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from dispatch_cases import cases, faults, instance_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Case, Waiting, least_z

from bls.cp import MODELS, Parameters, dispatch, neighbourhoods
from bls.cp.dispatch import plan
from bls.cp.objective import Objective
from bls.cp.problem import problem_of
from bls.cp.serial import POOL, SerialGeneration, best_list

SEARCH = Parameters(which="all", search="lns")


@settings(max_examples=60)
@given(cases(nodes=3, jobs=6), st.sampled_from(MODELS), st.integers(0, 3), st.integers(1, 30))
def test_never_worse_than_the_list_with_places_and_repeatable(case: Case, model: str, seed: int, lists: int) -> None:
    instance = instance_of(case)
    problem = problem_of(instance, np.arange(len(case.waiting)))
    chosen = replace(SEARCH, seed=seed, lists=lists)
    found, again = (plan(problem, model, chosen, row=instance.queue.row) for _ in range(2))
    assert found.list_value >= found.value >= found.bound  # type: ignore[operator]
    assert faults(case, found, instance) == []
    assert (found.is_repeatable, found.source, found.solves) == (True, "planned", 0)
    assert found.schedule is not None
    assert again.schedule is not None
    assert found.schedule.start_s.tolist() == again.schedule.start_s.tolist()
    more = plan(problem, model, replace(chosen, lists=2 * lists), row=instance.queue.row)
    assert more.value <= found.value  # type: ignore[operator]


@settings(max_examples=60)
@given(cases(nodes=2, jobs=4))
def test_of_a_pool_some_order_is_the_best_plan_and_it_is_found(case: Case) -> None:
    instance = instance_of(case)
    problem = problem_of(instance, np.arange(len(case.waiting)))
    found = plan(problem, "hcp19", SEARCH, row=instance.queue.row)
    assert found.value == least_z(case, "pool")


def test_it_finds_what_no_rule_of_the_list_does() -> None:
    """Two of two cores for 4 s go side by side, then three cores for 3 s; every rule begins with the shortest."""
    shapes = ((4, 2), (6, 4), (4, 2), (3, 3))
    case = Case(((4,),), (), tuple(Waiting(0, duration, 1, (cores,)) for duration, cores in shapes))
    found = dispatch(instance_of(case), "hcp19", SEARCH)
    assert found.schedule is not None
    assert sorted(found.schedule.start_s.tolist()) == [0, 0, 4, 7]
    assert found.value < found.list_value  # type: ignore[operator]


@pytest.mark.parametrize("neighbourhood", [0, 1, 2])
def test_every_neighbourhood_keeps_everybody(neighbourhood: int) -> None:
    draw, order = random.Random(3), list(range(12))
    for _ in range(300):
        out = neighbourhoods._taken_out(neighbourhood, order, order[::-1], draw)
        assert 1 <= len(set(out)) == len(out) <= 8
        back = neighbourhoods._back(order, out, draw)
        assert sorted(back) == list(range(12))
        stays = [job for job in order if job not in out]
        assert [job for job in back if job not in out] == stays
        order = back


def test_who_is_taken_out_comes_back_up_to_a_quarter_of_all_places_away() -> None:
    draw, order = random.Random(5), list(range(40))
    for job, places in ((20, range(10, 31)), (0, range(11)), (39, range(29, 40))):
        came = {neighbourhoods._back(order, [job], draw).index(job) for _ in range(1000)}
        assert came == set(places)
    few = {neighbourhoods._back([0, 1, 2, 3], [0], draw).index(0) for _ in range(100)}
    assert few == {0, 1, 2}


def test_seeds_differ_and_a_plan_in_which_all_start_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = tuple(Waiting(k, 2 + 7 * k % 11, 1 + k % 3, (1 + k % 4,)) for k in range(40))
    instance = instance_of(Case(((8,), (8,)), (), waiting))
    plans = [dispatch(instance, "hcp19", replace(SEARCH, seed=seed, lists=60)) for seed in range(4)]
    assert len({one.value for one in plans}) > 1
    assert all(one.value < one.list_value for one in plans)  # type: ignore[operator]
    alone = Case(((8,),), (), (Waiting(0, 3, 1, (1,)),))
    problem = problem_of(instance_of(alone), np.arange(1))
    objective, generation = Objective(problem), SerialGeneration(problem, POOL)
    listed, _ = best_list(problem, objective, generation)
    assert neighbourhoods.bettered(problem, objective, generation, listed, lists=9, seed=0) is listed
