"""The dispatchers against exhaustive search: values drawn by hand, and instances that hypothesis draws."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dispatch_cases import CASES, CELLS, cases, faults, instance_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, least_z
from tables import table_rows

from bls.cp import MODELS, Instance, Parameters, Plan, boxes, dispatch, solver
from bls.cp.ahead import GOALS_AHEAD
from bls.cp.dispatch import plan
from bls.cp.objective import Objective
from bls.cp.parameters import SEARCHES
from bls.cp.problem import problem_of
from bls.cp.ranking import select
from bls.cp.solver import Solved, solve
from bls.policies.planning.planner import PCP20
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

#: Those with a solver.
SOLVED = tuple(one for one in SEARCHES if one not in ("list", "lns"))

LONG = Parameters(which="all", limit_s=5.0)

#: The module, which the package hides behind the function of its name.
of_dispatch = import_module("bls.cp.dispatch")


def planned(instance: Instance, model: str, parameters: Parameters = LONG) -> Plan:
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


@settings(max_examples=40)
@given(cases(nodes=4, jobs=4))
def test_memory_in_small_pieces_is_planned_as_in_large_ones(case: Case) -> None:
    small = instance_of(case)
    pieces = np.ones(len(small.resources), np.int64)
    pieces[-1] = 10**7  # too many for a loop, or a table
    fine = replace(
        small,
        capacity=small.capacity * pieces,
        running=replace(small.running, per_unit=small.running.per_unit * pieces),
        queue=replace(small.queue, per_unit=small.queue.per_unit * pieces),
    )
    for model in MODELS:
        few, many = planned(small, model), planned(fine, model)
        assert (few.value, few.status, few.variables) == (many.value, many.status, many.variables)
        assert many.schedule is not None
        assert few.schedule is not None
        assert many.schedule.unit_node.tolist() == few.schedule.unit_node.tolist()
        if len(many.schedule.unit_low):
            assert many.schedule.unit_low.tolist() == (few.schedule.unit_low * pieces).tolist()


@pytest.mark.parametrize("model", MODELS[::3])
def test_pieces_without_a_common_divisor_that_are_too_many_are_left_to_the_list(model: str) -> None:
    has = 2**40
    case = Case(
        ((has,),) * 10,
        (Busy(10**8, {0: 1}, (has // 2 + 1,)),),
        tuple(Waiting(k, 10**8 - k, 2, (has // 3 + k,)) for k in range(30)),
    )
    # With a divisor they are few.
    even = replace(
        case,
        busy=(Busy(10**8, {0: 1}, (has // 2,)),),
        waiting=tuple(replace(job, per_unit=(has // 4,)) for job in case.waiting),
    )
    search = ("hinted", "guided", "paper")[MODELS.index(model) % 3]
    found = dispatch(instance_of(case), model, Parameters(which="all", search=search))
    assert (found.status, found.source, found.is_repeatable) == ("too-large", "fallback", True)
    assert found.starts
    assert dispatch(instance_of(even), model, Parameters(which="all", search=search)).status != "too-large"


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


@settings(max_examples=60)
@given(cases(nodes=4, jobs=6), st.sampled_from(MODELS), st.sampled_from(SOLVED))
def test_nobody_is_left_on_an_empty_machine(case: Case, model: str, search: str) -> None:
    empty = replace(case, busy=())
    for parameters in (
        Parameters(which="all", limit_s=1e-6, search=search),
        Parameters(which="all", wall_s=1e-9, search=search),
    ):
        found = dispatch(instance_of(empty), model, parameters)
        assert found.starts
        assert faults(empty, found, instance_of(empty)) == []


#: Six jobs for one core, of which one can start.
CROWD = Case(
    ((2,), (2,)), (Busy(4, {0: 2}, (1,)), Busy(7, {1: 1}, (1,))), tuple(Waiting(k, 2 + k, 1, (1,)) for k in range(6))
)

#: The same with units of two pieces, so that places matter; a node has an odd one, or two would be counted as one.
PAIRS = Case(
    ((5,), (4,)), (Busy(4, {0: 2}, (2,)), Busy(7, {1: 1}, (2,))), tuple(Waiting(k, 2 + k, 1, (2,)) for k in range(6))
)


@pytest.mark.parametrize("model", MODELS[::3])
def test_what_the_clock_ends_is_said_not_to_be_repeatable(model: str) -> None:
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
def test_a_plan_that_starts_nobody_on_an_empty_machine_is_not_used(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*a: Any, **b: Any) -> Solved:
        found = solve(*a, **b)
        return replace(found, status="feasible", values=[value + (k < 6) for k, value in enumerate(found.values)])

    monkeypatch.setattr(of_dispatch, "solve", late)
    case = Case(((5,),), (), PAIRS.waiting)
    for search, source in (("paper", "fallback"), ("hinted", "planned")):
        found = dispatch(instance_of(case), model, replace(LONG, search=search))
        assert (found.source, len(found.starts), found.is_solved) == (source, 2, True)
        assert faults(case, found, instance_of(case)) == []


def test_what_the_solver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[SimpleNamespace] = []

    class Solver:
        response_proto = SimpleNamespace(
            solution=[7, 8, 9], inner_objective_lower_bound=5, wall_time=0.5, deterministic_time=0.25
        )

        def __init__(self) -> None:
            self.parameters = SimpleNamespace()
            told.append(self.parameters)

        def solve(self, model: object) -> str:
            return "FEASIBLE"

        def status_name(self, status: str) -> str:
            return status

    monkeypatch.setattr(solver, "cp_model", lambda: SimpleNamespace(CpSolver=Solver, FIXED_SEARCH="fixed"))
    variables = [SimpleNamespace(index=2), SimpleNamespace(index=0)]
    for fixed, wall_s in ((False, 0.75), (True, 0.5)):
        found = solve(None, variables, limit_s=0.25, wall_s=wall_s, seed=11, presolve=fixed, fixed=fixed)
        assert found == Solved("feasible", 5, [9, 7], was_stopped=fixed)
    first, second = (vars(one) for one in told)
    same = {"num_workers": 1, "random_seed": 11, "max_deterministic_time": 0.25, "linearization_level": 0}
    assert first == {**same, "max_time_in_seconds": 0.75, "cp_model_presolve": False}
    assert second == {**same, "max_time_in_seconds": 0.5, "cp_model_presolve": True, "search_branching": "fixed"}
    # Neither limit is reached, so the clock is about to be.
    early = solve(None, variables, limit_s=0.26, wall_s=0.51, seed=11, presolve=False, fixed=False)
    assert early.was_stopped


def test_a_plan_of_the_pool_guides_a_search_that_would_not_find_anything_better() -> None:
    waiting = tuple(Waiting(k, 2 + 7 * k % 11, 1 + k % 2, (1 + k % 2,)) for k in range(20))
    case = Case(((4,), (3,)), (Busy(3, {0: 1}, (2,)),), waiting)
    instance = instance_of(case)
    found = {
        search: planned(instance, "pcp20", Parameters(limit_s=0.0002, search=search)) for search in ("hinted", "guided")
    }
    assert (found["hinted"].solves, found["guided"].solves) == (1, 2)
    assert found["guided"].value < found["hinted"].value == found["hinted"].list_value  # type: ignore[operator]
    assert found["guided"].bound >= found["hinted"].bound  # type: ignore[operator]
    assert faults(case, found["guided"], instance) == []


def test_the_papers_search_goes_job_by_job_to_the_earliest_start_and_then_to_the_highest_positions() -> None:
    problem = problem_of(instance_of(CASES["units"][0]), np.arange(3))
    made = boxes.BoxesModel(problem, Objective(problem))
    made.scheduling.search_as_paper()
    first, first_units, *others = made.scheduling.model.proto.search_strategy
    library = solver.cp_model()
    strategies = (first, first_units)
    assert [(one.variable_selection_strategy, one.domain_reduction_strategy) for one in strategies] == [
        (library.CHOOSE_FIRST, library.SELECT_MIN_VALUE), (library.CHOOSE_MIN_DOMAIN_SIZE, library.SELECT_MAX_VALUE),
    ]  # fmt: skip
    variables = [[list(term.vars) for term in strategy.exprs] for strategy in (first, first_units, *others)]
    assert variables == [[[0]], [[3], [4], [5]], [[1]], [[6], [7]], [[2]], [[8], [9]]]


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


@pytest.mark.parametrize("stopped", [False, True])
def test_a_later_solve_that_finds_nothing_changes_nothing(stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def once(*a: Any, **b: Any) -> Solved:
        calls.append(1)
        found = replace(solve(*a, **b), status="feasible")
        return found if len(calls) == 1 else replace(found, status="unknown", values=[], was_stopped=stopped)

    monkeypatch.setattr(of_dispatch, "solve", once)
    found = dispatch(instance_of(PAIRS), "pcp20", Parameters(which="all", limit_s=0.1, longest_s=1.0))
    assert (found.status, found.solves, found.is_repeatable) == ("feasible", 2, not stopped)
    assert found.source == ("fallback" if stopped else "planned")


@pytest.mark.parametrize("stopped", [False, True])
def test_the_list_decides_where_a_guided_search_finds_nothing(stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def first(*a: Any, **b: Any) -> Solved:
        calls.append(1)
        found = solve(*a, **b)
        return found if len(calls) == 1 else replace(found, status="unknown", values=[], was_stopped=stopped)

    monkeypatch.setattr(of_dispatch, "solve", first)
    waiting = tuple(Waiting(k, 2 + 7 * k % 11, 1 + k % 2, (1 + k % 2,)) for k in range(20))
    case = Case(((4,), (3,)), (Busy(3, {0: 1}, (2,)),), waiting)
    found = planned(instance_of(case), "pcp20", Parameters(limit_s=0.0002, search="guided"))
    assert (found.solves, found.source, found.is_repeatable) == (2, "fallback", not stopped)
    assert found.value == found.list_value


def test_a_model_that_is_too_large_is_not_made() -> None:
    found = dispatch(instance_of(PAIRS), "pcp19", Parameters(which="all", most_variables=17))
    assert (found.status, found.source, found.solves, found.variables) == ("too-large", "fallback", 0, 0)
    # 6 starts, and of each job a unit on either node.
    assert dispatch(instance_of(PAIRS), "pcp19", Parameters(which="all", most_variables=18)).variables == 18


@pytest.mark.parametrize("name", [name for name in CASES if name != "order"])
def test_variables_are_counted_before_a_model_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = instance_of(CASES[name][0])
    problem = problem_of(instance, np.arange(len(instance.queue)))
    for gaps in (0, 128):
        monkeypatch.setattr(boxes, "_MOST_GAPS", gaps)
        made = boxes.BoxesModel(problem, Objective(problem)).scheduling.n_variables
        assert made == boxes.count_variables(problem)


def test_boxes_that_are_too_many_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    few = boxes.count_variables(problem_of(instance_of(PAIRS), np.arange(6)))
    for parameters in (Parameters(which="all", most_box_variables=few), Parameters(which="all", most_variables=few)):
        assert dispatch(instance_of(PAIRS), "pcp20", parameters).variables == few
    monkeypatch.setattr(boxes, "scheduling", None)
    for parameters in (
        Parameters(which="all", most_box_variables=few - 1),
        Parameters(which="all", most_variables=few - 1),
    ):
        found = dispatch(instance_of(PAIRS), "pcp20", parameters)
        assert (found.status, found.source, found.variables) == ("too-large", "fallback", 0)
        assert found.is_solved
        assert found.starts


def test_which_of_the_queue_is_planned_and_nothing_where_nobody_fits_or_waits() -> None:
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


def test_times_are_of_the_callers_clock() -> None:
    ticks = iter(range(0, 1000, 10))
    found = dispatch(instance_of(CROWD), "pcp20", Parameters(which="all"), clock_ns=lambda: next(ticks))
    assert (found.list_ns, found.build_ns, found.solve_ns) == (10, 10, 10)


def test_durations_without_a_common_multiple_that_fits() -> None:
    primes = (86_399, 86_389, 86_381, 86_371, 86_369, 86_357, 86_353, 86_351)
    case = Case(
        ((2,), (1,)), (Busy(50, {1: 1}, (1,)),), tuple(Waiting(k, d, 1, (1 + k % 2,)) for k, d in enumerate(primes))
    )
    instance = instance_of(case)
    objective = Objective(problem_of(instance, np.arange(8)))
    assert not objective.is_exact
    assert min(objective.weights) > 0
    assert sum(objective.weights) * sum(primes) < 2**62
    for job in range(8):
        starts = np.where(np.arange(8) == job, 1000, 0)
        assert objective.bound(1000 * objective.weights[job]) <= objective.value(starts)
    for model in MODELS[::3]:
        found = planned(instance, model, Parameters(limit_s=0.1))
        assert not found.is_exact
        assert faults(case, found, instance) == []
        assert found.list_value >= found.value >= found.bound  # type: ignore[operator]


def test_weights_of_the_longest_durations_are_neither_nothing_nor_too_large() -> None:
    longest = 2**33 - 1
    case = Case(((1,),), (), tuple(Waiting(0, longest - k, 1, (1,)) for k in range(100)))
    objective = Objective(problem_of(instance_of(case), np.arange(100)))
    assert not objective.is_exact
    assert min(objective.weights) >= 1
    assert sum(w * 100 * longest for w in objective.weights) < 2**63


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


def test_the_default_is_to_model_who_fits_whoever_asks() -> None:
    assert Parameters().which == PCP20.which == PCP20.parameters.which == "fits"


def test_the_authors_limits() -> None:
    assert Parameters.of_authors("pcp20") == Parameters(which="fits", search="paper", limit_s=1.0, more_s=0.5, tries=4)
    for model in ("hcp19", "pcp19"):
        assert Parameters.of_authors(model) == Parameters(which="fits", limit_s=1.0, longest_s=16.0)
    with pytest.raises(InputError, match="unknown model 'pcp21'; known: pcp20"):
        Parameters.of_authors("pcp21")
    with pytest.raises(InputError, match="unknown model 'easy'"):
        dispatch(instance_of(CROWD), "easy", Parameters())
