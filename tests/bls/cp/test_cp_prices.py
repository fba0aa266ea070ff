"""A goal in which energy counts by its price: against exhaustive search, second by second; and in runs, held back and woken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dispatch_cases import CELLS, cases, faults, instance_of, planned
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Waiting, least_z
from reference.cp_prices import cost, least_priced_z
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Workload
from bls.cp import MODELS, Instance, Parameters, dispatch
from bls.cp.priced import PricedObjective, objective_of
from bls.cp.prices import Prices
from bls.cp.problem import problem_of
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from traces.base.errors import InputError, PluginError

LONG = Parameters(which="all", limit_s=5.0, goal="weighted", energy=1.0)
S, H = 10**9, 3600 * 10**9

#: From, price, g: (s, millionths).
Steps = list[tuple[int, int, int]]


def priced(case: Case, watts: list[int], steps: Steps) -> Instance:
    instance = instance_of(case)
    columns = (np.array(column, np.int64) for column in zip(*steps, strict=True))
    queue = replace(instance.queue, draw_mw=np.array(watts, np.int64) * 1000)
    return replace(instance, queue=queue, prices=Prices(*columns))


@st.composite
def prices(draw: st.DrawFn) -> Steps:
    """Up to four prices that change within 20 s, some below 0."""
    gaps = draw(st.lists(st.integers(1, 7), max_size=3))
    return [
        (at, draw(st.integers(-500_000, 3_000_000)), draw(st.integers(0, 900_000_000))) for at in accumulate([0, *gaps])
    ]


@settings(max_examples=40)
@given(
    cases(nodes=2, jobs=2),
    st.sampled_from(MODELS),
    prices(),
    st.sampled_from([(1, 0), (0, 3600), (2, 5)]),
    st.sampled_from([(1, 0), (0, 1), (Fraction(1, 4), 3)]),
    st.sampled_from(["hinted", "guided", "paper"]),
    st.data(),
)
def test_optima_equal_exhaustive_search(
    case: Case,
    model: str,
    steps: Steps,
    of: tuple[int, int],
    energy: tuple[Fraction, int],
    search: str,
    data: st.DataObject,
) -> None:
    watts = [data.draw(st.sampled_from([0, 400_000, 3_600_000, 9_000_001])) for _ in case.waiting]
    rates = [Fraction(of[0]) / job.duration + Fraction(of[1], 3600) for job in case.waiting]
    per_kwh = [(at, Fraction(price, 10**6) * energy[0] + Fraction(g, 10**9) * energy[1]) for at, price, g in steps]
    weights = {"slowdown": float(of[0]), "wait": float(of[1]), "energy": float(energy[0]), "carbon": float(energy[1])}
    chosen = replace(LONG, search=search, **weights)
    instance = priced(case, watts, steps)
    found = planned(instance, model, chosen)
    assert found.status == "optimal"
    # Starts are tried beyond what the package says that is the latest.
    latest = max(objective_of(problem_of(instance, np.arange(len(case.waiting))), chosen).latest_s)
    least = least_priced_z(case, CELLS[model], rates, [Fraction(w) for w in watts], per_kwh, latest + 15)
    assert found.value == found.bound == least
    assert faults(case, found, instance) == []
    listed = planned(instance, model, replace(chosen, search="lns"))
    assert faults(case, listed, instance) == []
    assert found.value <= listed.value <= listed.list_value  # type: ignore[operator]


@settings(max_examples=30)
@given(cases(nodes=3, jobs=6), st.sampled_from(MODELS), prices(), st.integers(1, 10**6), st.data())
def test_what_is_said_of_a_plan_is_so(case: Case, model: str, steps: Steps, part: int, data: st.DataObject) -> None:
    """Z of lists and plans, second by second, with weights that the solver has to round; and no bound is above a plan."""
    watts = [data.draw(st.integers(0, 5_000_000)) for _ in case.waiting]
    chosen = replace(LONG, limit_s=0.01, energy=part / 10**6, slowdown=0.123457)
    instance = priced(case, watts, steps)
    objective = objective_of(problem_of(instance, np.arange(len(case.waiting))), chosen)
    assert isinstance(objective, PricedObjective)
    assert min(objective.weights) > 0
    for search in ("hinted", "list"):
        found = planned(instance, model, replace(chosen, search=search))
        assert found.schedule is not None
        assert found.place is not None
        per_kwh = [(at, Fraction(price * part, 10**12)) for at, price, _ in steps]
        z = Fraction(0)
        for job, start in zip(found.place.tolist(), found.schedule.start_s.tolist(), strict=True):
            one = case.waiting[job]
            z += Fraction(123457, 10**6) * (start + one.waited + one.duration) / one.duration
            z += cost(per_kwh, Fraction(watts[job]), start, one.duration)
        assert found.value == z
        assert found.bound <= z  # type: ignore[operator]
        assert faults(case, found, instance) == []


@settings(max_examples=30)
@given(cases(nodes=3, jobs=4), st.sampled_from(MODELS), st.sampled_from(["hinted", "lns", "list"]), prices())
def test_energy_that_weighs_nothing_changes_nothing(case: Case, model: str, search: str, steps: Steps) -> None:
    """Without a weight prices are not looked at; and jobs that draw nothing have the least Z that they had."""
    chosen = replace(LONG, search=search, energy=0.0)
    plain, known = instance_of(case), priced(case, [9_000_000] * len(case.waiting), steps)
    before, after = planned(plain, model, chosen), planned(known, model, chosen)
    assert (before.value, before.bound, before.list_value) == (after.value, after.bound, after.list_value)
    assert before.schedule is not None
    assert after.schedule is not None
    for one in ("start_s", "unit_node", "unit_low"):
        assert np.array_equal(getattr(before.schedule, one), getattr(after.schedule, one))
    idle = planned(priced(case, [0] * len(case.waiting), steps), model, replace(chosen, energy=1.0))
    assert idle.list_value == before.list_value


def test_costs_that_are_too_large_for_the_solver_are_rounded() -> None:
    """Weeks, MW and prices at their limits: whole numbers stay below 2**63, no bound is above a plan, and plans are made."""
    draw = np.random.default_rng(0)
    jobs = tuple(Waiting(k, 10**6 + 7919 * k, 1, (1,)) for k in range(10))
    case = Case(((3,),), (Busy(10**5, {0: 1}, (1,)),), jobs)
    steps = [(36_007 * k, int(draw.integers(-(10**12), 10**12)), int(draw.integers(0, 10**12))) for k in range(12)]
    instance = priced(case, draw.integers(0, 10**9, 10).tolist(), steps)
    for slowdown, energy in ((1e-6, 1e6), (1e6, 1e-6), (0.3, 7.0)):
        chosen = replace(LONG, limit_s=0.01, slowdown=slowdown, energy=energy, carbon=energy)
        objective = objective_of(problem_of(instance, np.arange(10)), chosen)
        assert isinstance(objective, PricedObjective)
        assert not objective.is_exact
        assert min(objective.weights) > 0
        reached = [
            max(map(abs, one.extremes(latest))) for one, latest in zip(objective.costs, objective.latest_s, strict=True)
        ]
        assert sum(reached) < 2**62
        for _ in range(20):
            starts = draw.integers(0, np.array(objective.latest_s) + 1)
            costs = sum(one(start) for one, start in zip(objective.costs, starts.tolist(), strict=True))
            assert objective.floor <= objective.bound(costs) <= objective.value(starts)
        for model in ("hcp19", "pcp20"):
            found = planned(instance, model, chosen)
            assert found.bound <= found.value <= found.list_value  # type: ignore[operator]


def test_a_job_is_held_back_to_cheaper_energy() -> None:
    """A job of 10 s that draws 3.6 MW: 1 kWh a second, at 2 now and at 1 from 30 s on. To wait for 30 s costs 3 of its
    slowdown, and saves 10."""
    case = Case(((1,),), (), (Waiting(0, 10, 1, (1,)),))
    steps = [(0, 2_000_000, 0), (30, 1_000_000, 0)]
    for search in ("hinted", "lns", "list"):
        found = dispatch(priced(case, [3_600_000], steps), "hcp19", replace(LONG, search=search))
        assert found.schedule is not None
        assert found.schedule.start_s.tolist() == [30], search
        assert found.value == 1 + 3 + 10
        assert found.starts == ()
        # Were it to save 2.9 it would start.
        found = dispatch(
            priced(case, [3_600_000], [(0, 1_290_000, 0), steps[1]]), "hcp19", replace(LONG, search=search)
        )
        assert [start.row for start in found.starts] == [0]


def test_what_comes_too_late_is_not_known() -> None:
    instants = np.array([0, 3, 5, 9]) * S
    columns = np.array([4, 3, 2, 1]), np.array([0, 0, 0, 0])
    known = Prices.at(4 * S, instants, *columns, ahead_s=3)
    assert (known.from_s.tolist(), known.price.tolist()) == ([0, 1], [3, 2])
    # Whole seconds are rounded up, and of those that come to one the last one holds.
    known = Prices.at(S // 2, np.array([0, 2 * S, 2 * S + S // 2, 4 * S]), *columns, ahead_s=9)
    assert (known.from_s.tolist(), known.price.tolist()) == ([0, 2, 4], [4, 2, 1])


def test_prices_and_draws_belong_together() -> None:
    case = Case(((1,),), (), (Waiting(0, 10, 1, (1,)),))
    with pytest.raises(InputError, match="energy, carbon: the instance says neither; allowed: with prices and draw_mw"):
        planned(instance_of(case), "hcp19", LONG)
    with pytest.raises(PluginError, match="queue: draw_mw"):
        priced(case, [1, 2], [(0, 1, 1)])


#: A core draws 1 kW more if it works: 0.5 kWh for half an hour.
WATTS = HostPower(idle_w=100.0, states=[[1.0, 1100.0]])


def simulate(signals: Path, bls: str, rows: list[dict[str, Any]], **more: Any) -> bridge.Result:
    jobs, two = Workload.from_jobs(rows), Platform((HostGroup(2, 1, 1.0, power=WATTS),))
    power = PowerOptions(signals=signals)
    return bridge.simulate(jobs, two, bls=bls, als="recorded", power=power, **more)


ROWS = [{"job_id": k, "submit_s": 60 * k, "run_s": 1800, "cores": 1, "estimate_s": 1800} for k in (1, 2, 3)]


@pytest.fixture
def signals(tmp_path: Path) -> Path:
    """Dear until 2:00:00.25, and from 3:00:00.25 on."""
    path = tmp_path / "signals.csv"
    path.write_text("from,price_per_kwh\n0,0.5\n7200.25s,0.1\n10800.25s,0.5\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("model", MODELS[::3])
def test_jobs_are_held_back_to_the_cheap_hour_and_start_exactly_then(signals: Path, model: str) -> None:
    """A job saves 0.2 of a currency; at 100 a unit that is worth 20, and a wait of two hours costs 2. The third has its core
    half an hour later, and ends as it becomes dear."""
    search = "hinted" if model == MODELS[0] else "lns"
    chosen = f"{model}:which=all,search={search},goal=weighted,slowdown=0,wait=1,energy=100"
    found = simulate(signals, chosen, ROWS).jobs
    cheap = 2 * H + S // 4
    assert sorted(found.start_ns.tolist()) == [cheap, cheap, cheap + 1800 * S]
    # Where energy counts less, nobody waits for it.
    at_once = simulate(signals, chosen.replace("energy=100", "energy=1"), ROWS).jobs
    assert at_once.start_ns.tolist() == [60 * S, 120 * S, 1860 * S]


def test_carbon_holds_jobs_back_as_prices_do_and_each_by_its_own_weight(tmp_path: Path) -> None:
    """Energy is clean from two hours on, and cheap from three."""
    signals = tmp_path / "both.csv"
    signals.write_text("from,price_per_kwh,g_co2e_per_kwh\n0,0.5,500\n2h,0.5,100\n3h,0.1,500\n", encoding="utf-8")
    for weights, hours in (("carbon=100", 2), ("energy=100", 3), ("energy=0.1,carbon=100", 2), ("energy=1", 0)):
        chosen = f"hcp19:which=all,search=lns,goal=weighted,slowdown=0,wait=1,{weights}"
        assert simulate(signals, chosen, ROWS[:1]).jobs.start_ns.tolist() == [max(hours * H, 60 * S)], weights


def test_every_cheap_hour_is_waited_for(tmp_path: Path) -> None:
    """The second job comes when the first has long run, and nothing else happens at the second cheap hour."""
    signals = tmp_path / "twice.csv"
    signals.write_text("from,price_per_kwh\n0,0.5\n2h,0.1\n3h,0.5\n6h,0.1\n", encoding="utf-8")
    rows = [ROWS[0], {**ROWS[1], "submit_s": 4 * 3600}]
    chosen = "hcp19:which=all,search=lns,goal=weighted,slowdown=0,wait=1,energy=100"
    assert simulate(signals, chosen, rows).jobs.start_ns.tolist() == [2 * H, 6 * H]


def test_prices_that_are_not_known_yet_hold_nobody_back(signals: Path) -> None:
    chosen = "hcp19:which=all,goal=weighted,slowdown=0,wait=1,energy=100,ahead_h="
    assert simulate(signals, f"{chosen}1", ROWS).jobs.start_ns.tolist() == [60 * S, 120 * S, 1860 * S]
    assert min(simulate(signals, f"{chosen}2", ROWS).jobs.start_ns.tolist()) == 2 * H + S // 4


def test_what_a_weight_of_energy_needs(signals: Path) -> None:
    """One line before the run begins: signals, and the column that is weighed."""
    jobs, one = Workload.from_jobs(ROWS), Platform((HostGroup(2, 1, 1.0, power=WATTS),))
    with pytest.raises(
        InputError, match=r"^[^\n]*goes by price_per_kwh, and there are no signals=; allowed: signals= with"
    ):
        bridge.simulate(jobs, one, bls="hcp19:goal=weighted,energy=1", als="recorded")
    with pytest.raises(InputError, match=r"it goes by g_co2e_per_kwh, and .*signals\.csv has no such column; allowed"):
        simulate(signals, "pcp20:goal=weighted,carbon=1", ROWS)


LONG_WEIGHTS = Parameters(which="all", limit_s=5.0, goal="weighted")


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
def test_optima_of_several_goals_equal_exhaustive_search(
    case: Case, model: str, of: tuple[Fraction, Fraction], fair: Fraction, search: str, data: st.DataObject
) -> None:
    users = [data.draw(st.integers(1, 3)) for _ in case.waiting]
    counts, n = Counter(users), len(users)
    rates = []
    for job, user in zip(case.waiting, users, strict=True):
        share = Fraction(n, len(counts) * counts[user])
        rates.append((Fraction(of[0]) / job.duration + Fraction(of[1]) / 3600) * (1 - fair + fair * share))
    chosen = replace(LONG_WEIGHTS, slowdown=float(of[0]), wait=float(of[1]), fairness=float(fair), search=search)
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
            found = dispatch(
                of_users(case, [1, 1, 1, 1, 2]), "hcp19", replace(LONG_WEIGHTS, fairness=fair, search=search)
            )
            assert [start.row for start in found.starts] == first, (fair, search)
    # Who is nobody's is one user's.
    found = dispatch(instance_of(case), "hcp19", replace(LONG_WEIGHTS, fairness=1.0))
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
        replace(LONG_WEIGHTS, **wrong)
    assert f"constraint programming: {said}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("model", ["cp-classes", "pcp19", "pcp20"])
def test_a_plan_of_the_pool_that_guides_has_the_weights(model: str) -> None:
    """Its bound is one of hours; that of slowdowns would be above all plans."""
    case = Case(((4,),), (), (Waiting(0, 6, 1, (3,)), Waiting(0, 3, 1, (2,))))
    found = planned(instance_of(case), model, replace(LONG_WEIGHTS, search="guided", slowdown=0.0, wait=1.0))
    assert (found.solves, found.value, found.bound) == (2, Fraction(3 + 9, 3600), found.value)


def test_users_belong_to_jobs() -> None:
    case = Case(((1,),), (), (Waiting(5, 10, 1, (1,)),))
    with pytest.raises(PluginError, match="queue: user"):
        of_users(case, [1, 2])
