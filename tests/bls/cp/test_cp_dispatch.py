"""The dispatchers against exhaustive search: values drawn by hand, and instances that hypothesis draws."""

from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, least_z
from tables import table_rows
from test_cp_plans import CASES, CELLS, cases, faults, instance_of

from bls.cp import MODELS, DispatchPlan, Instance, Parameters, boxes, dispatch
from bls.cp.ahead import GOALS_AHEAD
from bls.cp.dispatch import plan
from bls.cp.parameters import SEARCHES
from bls.cp.problem import problem_of, select
from bls.cp.scheduling import Solved, solve
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

#: Those with a solver.
SOLVED = tuple(one for one in SEARCHES if one not in ("list", "lns"))

LONG = Parameters(which="all", limit_s=5.0)

#: The module, which the function of its name in the package hides.
of_dispatch = import_module("bls.cp.dispatch")


def planned(instance: Instance, model: str, parameters: Parameters = LONG) -> DispatchPlan:
    problem = problem_of(instance, select(instance, parameters.queue, "all"))
    return plan(problem, model, parameters, row=instance.queue.row)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", CASES)
def test_cases_by_hand(name: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With gaps between boxes as on a small machine, and for the model that has boxes as on a large one, too."""
    case, values = CASES[name]
    wanted = Fraction(values[MODELS.index(model)])
    assert least_z(case, CELLS[model]) == wanted
    instance = instance_of(case)
    for search, gaps in product(SOLVED, (0, 128) if model == "pcp20" else (128,)):
        monkeypatch.setattr(boxes, "_MOST_GAPS", gaps)
        found = planned(instance, model, replace(LONG, search=search))
        assert (found.value, found.bound, found.status) == (wanted, wanted, "optimal")
        assert (found.is_exact, found.is_repeatable, found.source) == (True, True, "planned")
        assert faults(case, found, instance) == []


@settings(max_examples=120)
@given(cases(), st.sampled_from(GOALS_AHEAD), st.sampled_from(SOLVED), st.booleans(), st.sampled_from([0, 128]))
def test_optima_equal_exhaustive_search_and_form_a_chain(
    drawn: Case, goal: str, search: str, presolve: bool, gaps: int
) -> None:
    # A second of the drawn case is four, so that durations are on both sides of the 10 s of a bounded slowdown.
    case = replace(
        drawn,
        busy=tuple(replace(job, left=4 * job.left) for job in drawn.busy),
        waiting=tuple(replace(job, waited=4 * job.waited, duration=4 * job.duration) for job in drawn.waiting),
    )
    instance = instance_of(case)
    chain = []
    for model in MODELS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(boxes, "_MOST_GAPS", gaps)
            found = planned(instance, model, replace(LONG, search=search, presolve=presolve, goal=goal))
        assert found.status == "optimal"
        assert found.value == found.bound == least_z(case, CELLS[model], goal)
        assert faults(case, found, instance) == []
        chain.append(found.value)
    assert chain == sorted(chain)


@settings(max_examples=60)
@given(cases(nodes=4, jobs=9), st.sampled_from(MODELS), st.sampled_from(["hinted", "guided"]), st.integers(0, 3))
def test_a_plan_that_is_cut_short_is_within_its_bounds(case: Case, model: str, search: str, seed: int) -> None:
    instance = instance_of(case)
    hasty = Parameters(which="all", limit_s=1e-6, search=search, seed=seed)
    found = planned(instance, model, hasty)
    assert faults(case, found, instance) == []
    assert found.list_value is not None
    assert found.value is not None
    assert found.bound is not None
    assert found.list_value >= found.value >= found.bound
    again = planned(instance, model, hasty)
    assert again.schedule is not None
    assert found.schedule is not None
    assert (again.value, again.bound, again.status) == (found.value, found.bound, found.status)
    assert again.schedule.start_s.tolist() == found.schedule.start_s.tolist()
    assert again.schedule.unit_node.tolist() == found.schedule.unit_node.tolist()
    assert again.schedule.unit_low.tolist() == found.schedule.unit_low.tolist()


#: Six jobs for one core, so that only one can start.
CROWD = Case(
    ((2,), (2,)), (Busy(4, {0: 2}, (1,)), Busy(7, {1: 1}, (1,))), tuple(Waiting(k, 2 + k, 1, (1,)) for k in range(6))
)

#: The same with units of two pieces, so that places matter; a node has an odd one, or two would be counted as one.
PAIRS = Case(
    ((5,), (4,)), (Busy(4, {0: 2}, (2,)), Busy(7, {1: 1}, (2,))), tuple(Waiting(k, 2 + k, 1, (2,)) for k in range(6))
)


@pytest.mark.parametrize("model", MODELS[::3])
def test_solves_stopped_by_the_clock_are_not_repeatable(model: str) -> None:
    # No machine counts 1000 deterministic seconds, or proves what is best of sixty jobs, in so little time.
    waiting = tuple(Waiting(7 * k % 50, 97 + 89 * k % 61, 1 + k % 3, (1 + k % 4,)) for k in range(60))
    case = Case(((8,),) * 4, (Busy(40, {0: 1, 1: 1}, (5,)), Busy(90, {2: 2}, (3,))), waiting)
    found = dispatch(instance_of(case), model, Parameters(which="all", limit_s=1000.0, wall_s=0.05))
    assert (found.source, found.is_repeatable, found.solves) == ("fallback", False, 1)
    assert found.value == found.list_value
    assert found.starts
    assert faults(case, found, instance_of(case)) == []


@pytest.mark.parametrize("model", MODELS)
def test_a_solve_that_the_clock_stopped_is_not_used(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: dict[str, Any] = {"was_stopped": True, "status": "feasible"}
    monkeypatch.setattr(of_dispatch, "solve", lambda *a, **b: replace(solve(*a, **b), **stopped))
    found = dispatch(instance_of(CROWD), model, Parameters(which="all"))
    assert (found.source, found.is_repeatable, found.solves) == ("fallback", False, 1)


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_that_leaves_an_empty_machine_idle_is_not_used(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*a: Any, **b: Any) -> Solved:
        found = solve(*a, **b)
        return replace(found, status="feasible", values=[value + (k < 6) for k, value in enumerate(found.values)])

    monkeypatch.setattr(of_dispatch, "solve", late)
    case = Case(((5,),), (), PAIRS.waiting)
    for search, source in (("paper", "fallback"), ("hinted", "planned")):
        found = dispatch(instance_of(case), model, replace(LONG, search=search))
        assert (found.source, len(found.starts), found.is_solved) == (source, 2, True)
        assert faults(case, found, instance_of(case)) == []


def test_half_the_queue_until_a_dispatch_is_solved() -> None:
    parameters = Parameters(queue=40)
    assert parameters.next_queue(40, solved=False) == 20
    assert parameters.next_queue(5, solved=False) == 2
    assert parameters.next_queue(1, solved=False) == 1
    assert parameters.next_queue(2, solved=True) == 40
    assert dispatch(instance_of(CROWD), "pcp20", Parameters(which="all"), queue=3).modelled == 3


def test_limits_grow_while_nothing_is_found_and_double_until_two_results_are_equal() -> None:
    hasty = Parameters(which="all", search="paper", limit_s=1e-9, more_s=1e-9, tries=4)
    found = dispatch(instance_of(CROWD), "pcp20", hasty)
    assert (found.status, found.solves, found.source) == ("unknown", 5, "fallback")
    assert found.is_repeatable
    many = Case(
        ((4,),), (Busy(1, {0: 1}, (1,)),), tuple(Waiting(7 * k % 5, 3 + 5 * k % 7, 1, (1 + k % 3,)) for k in range(12))
    )
    doubled = dispatch(instance_of(many), "hcp19", Parameters(which="all", limit_s=1e-6, longest_s=1e-3))
    assert (doubled.status, doubled.solves) == ("feasible", 2)
    assert dispatch(instance_of(many), "hcp19", Parameters(which="all", limit_s=1e-6)).solves == 1


def test_a_model_that_is_too_large_is_not_made() -> None:
    found = dispatch(instance_of(PAIRS), "pcp19", Parameters(which="all", most_variables=17))
    assert (found.status, found.source, found.solves, found.variables) == ("too-large", "fallback", 0, 0)
    # 6 starts, and of each job a unit on either node.
    assert dispatch(instance_of(PAIRS), "pcp19", Parameters(which="all", most_variables=18)).variables == 18


def test_modelled_jobs_and_none_without_fitting_or_waiting_jobs() -> None:
    case = Case(((2,),), (Busy(4, {0: 2}, (1,)),), (Waiting(3, 4, 1, (1,)), Waiting(3, 4, 1, (5,))))
    for which in ("all", "fits"):
        found = dispatch(instance_of(case), "pcp20", Parameters(which=which))
        assert (found.status, found.starts, found.modelled, found.value) == ("nothing", (), 0, None)
        assert found.is_solved
    assert dispatch(instance_of(replace(case, waiting=())), "hcp19", Parameters()).status == "nothing"
    busy = (Busy(5, {0: 2}, (1,)), Busy(9, {1: 2}, (1,)))
    case = Case(((4,), (4,)), busy, (Waiting(6, 4, 1, (3,)), Waiting(1, 2, 1, (2,))))
    for which, modelled in (("all", 2), ("fits", 1)):
        found = dispatch(instance_of(case), "pcp20", Parameters(which=which))
        assert (found.modelled, [start.row for start in found.starts]) == (modelled, [1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *table_rows(__file__, "parameters_that_cannot_be"),
        ({"limit_s": float("nan")}, "limit_s: nan; allowed: above 0, up to 1e+09"),
    ],
)
def test_parameters_that_cannot_be(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as error:
        Parameters(**wrong)  # type: ignore[arg-type]
    assert f"constraint programming: {message}" in str(error.value)


def test_an_unknown_model() -> None:
    with pytest.raises(InputError, match="unknown model 'easy'"):
        dispatch(instance_of(CROWD), "easy", Parameters())
