"""Jobs that are slowed one by one under a limit to power: against the slow reference, by hand, and what must hold."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.power import run
from test_power import ORDERS, S, one_by_one, simulated

import bridge
from bls import HostGroup, Platform, Workload
from bls.engine.features.power_by_job import _compare
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from traces.base.errors import InputError


@pytest.mark.parametrize("order", ORDERS[:2])
def test_what_is_said_of_jobs_that_are_slowed(order: str, tmp_path: Path) -> None:
    """How many are slowed, and how much the slowest is, as the commands to jobs have it; nobody else is."""
    tried = 0
    for seed in range(6):
        case = one_by_one(seed, order)
        found = simulated(case, tmp_path) if run(case) is not None else None
        if found is None or found.ledger.scales is None:  # nobody may be slowed
            continue
        jobs, scales = found.jobs, found.scales
        states = [float(speed) for speed, _ in case.machine.states]
        for row in found.power_over_time.itertuples():
            now = row.instant_ns
            running = jobs[(jobs.start_ns <= now) & (jobs.end_ns > now)]
            last = scales[scales.job_id.isin(running.job_id) & (scales.told_ns <= now)].groupby("job_id").factor.last()
            state = last.map(states.index)
            assert set(state[state > 0].index) <= set(running[running.allowed == 1].job_id)
            assert (row.jobs_slowed, row.level) == ((state > 0).sum(), max(state, default=0))
            tried += row.jobs_slowed > 0
    assert tried > 2


def test_who_loses_the_least_for_a_watt_by_hand() -> None:
    """Cores of host 0 save 40 W for half their speed, those of host 1 30 W for a quarter of it: per part lost these save more,
    though job 2, of as many cores, saves less. With 20 W to be saved one of them is slowed, until the other ends at 100 s."""
    machine = Platform((
        HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 100), (0.5, 60)])),
        HostGroup(1, 2, 2.0, power=HostPower(10, [(1, 100), (0.75, 70)])),
    ))  # fmt: skip
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 100, 2, 100)])
    ends = {}
    for order in ("fewest", "least-sensitive"):
        power = PowerOptions(limits=[(0, None, 380)], fallback=f"dvfs:slow={order}")
        found = bridge.simulate(jobs, machine, als="recorded", power=power)
        ends[order] = (found.jobs.end_ns / S).round(2).tolist()
    assert ends == {"fewest": [150, 100], "least-sensitive": [100, 125]}


@settings(max_examples=400)
@given(*(st.integers(0, 2**60) | st.integers(0, 12) for _ in range(4)))
def test_fractions_are_compared_exactly(a: int, c: int, other_a: int, other_c: int) -> None:
    def order(a: int, c: int, other_a: int, other_c: int) -> int:
        if c == 0 or other_c == 0:
            return (c == 0) - (other_c == 0)
        one, other = Fraction(a, c), Fraction(other_a, other_c)
        return (one > other) - (one < other)

    assert _compare(a, c, other_a, other_c) == order(a, c, other_a, other_c)
    assert _compare(a, c, a, c) == 0


def test_orders_that_cannot_be() -> None:
    for said in ("dvfs:slow=", "dvfs:slow=all", "dvfs:slow=fewest "):
        with pytest.raises(
            InputError, match=r"allowed: dvfs:slow=together, dvfs:slow=fewest, .*dvfs:slow=least-sensitive$"
        ):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
    for said in ("dvfs:order=fewest", "dvfs:"):
        with pytest.raises(InputError, match="unknown fallback 'dvfs:"):
            PowerOptions(limits=[(0, 1, 5)], fallback=said)
