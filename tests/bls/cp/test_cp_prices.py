"""A goal in which energy counts by its price: against exhaustive search, second by second; and in runs, held back and woken."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cp_dispatch import Busy, Case, Cells, Waiting, available, fits, held, least_z, places
from tables import table_rows
from test_cp_plans import CELLS, cases, faults, instance_of, planned

import bridge
from bls import HostGroup, Platform, Workload
from bls.cp import MODELS, Instance, Parameters, dispatch
from bls.cp.instance import Prices
from bls.cp.objective import PricedObjective, objective_of
from bls.cp.problem import problem_of
from bls.machine.host_power import HostPower
from bls.power.options import Power
from traces.base.errors import InputError, PluginError

LONG = Parameters(which="all", limit_s=5.0, goal="weighted", energy=1.0)
S, H = 10**9, 3600 * 10**9

#: From, price, g: (s, millionths).
Steps = list[tuple[int, int, int]]


def cost(prices: Sequence[tuple[int, Fraction]], watts: Fraction, start: int, duration: int) -> Fraction:
    total = Fraction(0)
    for second in range(start, start + duration):
        (now,) = [
            price for (begin, price), (end, _) in pairwise([*prices, (10**9, Fraction(0))]) if begin <= second < end
        ]
        total += now * watts / 1000 / 3600
    return total


def least_priced_z(
    case: Case,
    kind: str,
    rates: Sequence[Fraction],
    watts: Sequence[Fraction],
    prices: Sequence[tuple[int, Fraction]],
    last: int,
) -> Fraction:
    """The least Σ (rate (s - q + d) + what energy costs), with starts up to ``last``."""
    room, ways = available(case, kind), [places(case, kind, job) for job in case.waiting]
    costs = [
        sorted(
            (rate * (start + job.waited + job.duration) + cost(prices, draws, start, job.duration), start)
            for start in range(last + 1)
        )
        for job, rate, draws in zip(case.waiting, rates, watts, strict=True)
    ]
    best: list[Fraction] = []

    def extend(plan: list[tuple[int, int, Cells]], job: int, so_far: Fraction) -> None:
        if job == len(costs):
            best[:] = [so_far]
            return
        others = sum((one[0][0] for one in costs[job + 1 :]), Fraction(0))
        for z, start in costs[job]:
            if best and so_far + z + others >= best[0]:
                return
            for cells in ways[job]:
                end = start + case.waiting[job].duration
                if fits(plan, cells, start, end, room):
                    extend([*plan, (start, end, cells)], job + 1, so_far + z)

    extend([(0, left, cells) for left, cells in held(case, kind)], 0, Fraction(0))
    return best[0]


def priced(case: Case, watts: list[int], steps: Steps, users: list[int] | None = None) -> Instance:
    instance = instance_of(case)
    columns = (np.array(column, np.int64) for column in zip(*steps, strict=True))
    user = np.array(users or [1] * len(watts), np.int64)
    queue = replace(instance.queue, draw_mw=np.array(watts, np.int64) * 1000, user=user)
    return replace(instance, queue=queue, prices=Prices(*columns))


@st.composite
def prices(draw: st.DrawFn) -> Steps:
    """Up to four prices that change within 20 s, some below 0."""
    gaps = draw(st.lists(st.integers(1, 7), max_size=3))
    return [
        (at, draw(st.integers(-500_000, 3_000_000)), draw(st.integers(0, 900_000_000))) for at in accumulate([0, *gaps])
    ]


@settings(max_examples=60)
@given(
    cases(nodes=2, jobs=2),
    st.sampled_from(MODELS),
    prices(),
    st.sampled_from([(1, 0), (0, 3600), (2, 5)]),
    st.sampled_from([(1, 0), (0, 1), (Fraction(1, 4), 3), (0, 0)]),
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]),
    st.sampled_from(["hinted", "guided", "paper"]),
    st.data(),
)
def test_optima_equal_exhaustive_search(
    case: Case,
    model: str,
    steps: Steps,
    of: tuple[int, int],
    energy: tuple[Fraction, int],
    fair: Fraction,
    search: str,
    data: st.DataObject,
) -> None:
    watts = [data.draw(st.sampled_from([0, 400_000, 3_600_000, 9_000_001])) for _ in case.waiting]
    users = [data.draw(st.integers(1, 2)) for _ in case.waiting]
    counts = Counter(users)
    shares = [1 - fair + fair * Fraction(len(users), len(counts) * counts[user]) for user in users]
    rates = [
        (Fraction(of[0]) / job.duration + Fraction(of[1], 3600)) * share
        for job, share in zip(case.waiting, shares, strict=True)
    ]
    per_kwh = [(at, Fraction(price, 10**6) * energy[0] + Fraction(g, 10**9) * energy[1]) for at, price, g in steps]
    weights = {"slowdown": float(of[0]), "wait": float(of[1]), "energy": float(energy[0]), "carbon": float(energy[1])}
    chosen = replace(LONG, search=search, fairness=float(fair), **weights)
    instance = priced(case, watts, steps, users)
    found = planned(instance, model, chosen)
    assert found.status == "optimal"
    if energy == (0, 0):
        least = least_z(case, CELLS[model], rates=rates)
    else:  # starts are tried beyond what the package says that is the latest
        latest = max(objective_of(problem_of(instance, np.arange(len(case.waiting))), chosen).latest_s)
        least = least_priced_z(case, CELLS[model], rates, [Fraction(w) for w in watts], per_kwh, latest + 15)
    assert found.value == found.bound == least
    assert faults(case, found, instance) == []
    listed = planned(instance, model, replace(chosen, search="lns"))
    assert faults(case, listed, instance) == []
    assert found.value <= listed.value <= listed.list_value  # type: ignore[operator]


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


def test_later_prices_are_unknown() -> None:
    instants = np.array([0, 3, 5, 9]) * S
    columns = np.array([4, 3, 2, 1]), np.array([0, 0, 0, 0])
    known = Prices.at(4 * S, instants, *columns, ahead_s=3)
    assert (known.from_s.tolist(), known.price.tolist()) == ([0, 1], [3, 2])
    # Whole seconds are rounded up, and of those that come to one the last one holds.
    known = Prices.at(S // 2, np.array([0, 2 * S, 2 * S + S // 2, 4 * S]), *columns, ahead_s=9)
    assert (known.from_s.tolist(), known.price.tolist()) == ([0, 2, 4], [4, 2, 1])


def test_prices_and_draws_belong_together() -> None:
    case = Case(((1,),), (), (Waiting(0, 10, 1, (1,)),))
    with pytest.raises(
        InputError, match="energy, carbon: the instance lacks prices or draw_mw; allowed: with both of them"
    ):
        planned(instance_of(case), "hcp19", LONG)
    with pytest.raises(PluginError, match="queue: user: int64 of shape"):
        priced(case, [1, 2], [(0, 1, 1)])


#: A core draws 1 kW more if it works: 0.5 kWh for half an hour.
WATTS = HostPower(idle_w=100.0, states=[[1.0, 1100.0]])


def simulate(signals: Path, bls: str, rows: list[dict[str, Any]], **more: Any) -> bridge.Result:
    jobs, two = Workload.from_jobs(rows), Platform((HostGroup(2, 1, 1.0, power=WATTS),))
    power = Power(signals=signals)
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
    # If energy counts less, no job waits for it.
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


def test_unknown_prices_hold_no_job_back(signals: Path) -> None:
    chosen = "hcp19:which=all,goal=weighted,slowdown=0,wait=1,energy=100,ahead_h="
    assert simulate(signals, f"{chosen}1", ROWS).jobs.start_ns.tolist() == [60 * S, 120 * S, 1860 * S]
    assert min(simulate(signals, f"{chosen}2", ROWS).jobs.start_ns.tolist()) == 2 * H + S // 4


def test_requirements_of_a_weight_of_energy(signals: Path) -> None:
    """One line before the run begins: signals, and the column that is weighed."""
    jobs, one = Workload.from_jobs(ROWS), Platform((HostGroup(2, 1, 1.0, power=WATTS),))
    with pytest.raises(
        InputError, match=r"^[^\n]*goes by price_per_kwh, and there are no signals; allowed: signals with"
    ):
        bridge.simulate(jobs, one, bls="hcp19:goal=weighted,energy=1", als="recorded")
    with pytest.raises(InputError, match=r"it goes by g_co2e_per_kwh, and .*signals\.csv has no such column; allowed"):
        simulate(signals, "pcp20:goal=weighted,carbon=1", ROWS)


LONG_WEIGHTS = Parameters(which="all", limit_s=5.0, goal="weighted")


def test_jobs_of_a_busy_user_come_later_if_users_count_alike() -> None:
    """One core, four jobs of 10 s of user 1 that came first and one of 11 s of user 2."""
    case = Case(((1,),), (), (*(Waiting(5, 10, 1, (1,)) for _ in range(4)), Waiting(0, 11, 1, (1,))))
    for fair, first in ((0.0, [0]), (1.0, [4])):
        for search in ("hinted", "lns", "list"):
            instance = priced(case, [0] * 5, [(0, 0, 0)], [1, 1, 1, 1, 2])
            found = dispatch(instance, "hcp19", replace(LONG_WEIGHTS, fairness=fair, search=search))
            assert [start.row for start in found.starts] == first, (fair, search)
    # All unknown users count as one.
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
