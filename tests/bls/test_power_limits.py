"""What of limits is in force and known when, as their definition has it; what the engine hears; and those that cannot be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Workload
from bls.engine.state import NEVER
from bls.machine.host_power import HostPower
from bls.power.limits import Limit, Limits, joined
from bls.power.options import PowerOptions, PowerPlan, power_plan
from traces.base.errors import InputError
from traces.base.time import MAX_NS

S = 10**9
NONE = -1


@st.composite
def limits_of(draw: st.DrawFn) -> Limits:
    found = []
    for _ in range(draw(st.integers(0, 12))):
        begin = draw(st.integers(0, 20))
        found.append(Limit(begin, draw(st.sampled_from([*range(begin + 1, 24), MAX_NS])), draw(st.integers(0, 6))))
    return Limits(tuple(found), draw(st.integers(0, 6)))


def in_force(limits: Limits, now: int, *, known: bool) -> list[Limit]:
    late = limits.reaction_ns if known else 0
    return [one for one in limits.limits if one.begin_ns + late <= now < one.end_ns]


@settings(max_examples=300)
@given(limits_of())
def test_as_defined(limits: Limits) -> None:
    every = range(30)
    for known in (False, True):
        expected = [min((one.power_mw for one in in_force(limits, now, known=known)), default=NONE) for now in every]
        assert limits.steps(every, NONE, known=known).tolist() == expected
    stairs = limits.stairs
    for k, now in enumerate(limits.instants.tolist()):
        mine = slice(stairs.first[k], stairs.first[k + 1])
        until, power = stairs.until_ns[mine].tolist(), stairs.power_mw[mine].tolist()
        assert until == sorted(set(until))
        assert power == sorted(set(power))
        # At each later instant, the lowest of those that are known now.
        for later in range(now, 30):
            lowest = min(
                (one.power_mw for one in in_force(limits, now, known=True) if one.end_ns > later), default=NONE
            )
            assert next((mw for end, mw in zip(until, power, strict=True) if end > later), NONE) == lowest
    covered = {now for now in every if in_force(limits, now, known=False)}
    spans = limits.union()
    assert {now for begin, end in spans for now in every if begin <= now < end} == covered
    assert all(one[1] < another[0] for one, another in pairwise(spans))


def test_spans_that_are_empty_are_none() -> None:
    assert joined([(5, 5), (7, 9), (1, 3), (3, 4), (8, 8)]) == [(1, 4), (7, 9)]


def plan(fallback: str, limits: Any, *powers: HostPower, reaction_ns: int = 0) -> PowerPlan:
    platform = Platform(tuple(HostGroup(2, 2, 2.0, power=power) for power in powers))
    options = PowerOptions(limits=limits, fallback=fallback, reaction_ns=reaction_ns)
    return power_plan(
        options, Workload.from_jobs([(1, 0, 5, 1, 5)]), platform, known_jobs=np.zeros(0, np.int64), seed=0
    )


def test_what_the_engine_is_told_of_hosts_that_stop() -> None:
    """Each limit that is known up to some instant, and what each host saves that is stopped; idle, or off."""
    limits = [(0, 30 * S, 250), (10 * S, None, 300)]
    for fallback, saves in (("stop:idle", [100_000, 100_000]), ("stop:off", [190_000, 190_000])):
        state = plan(fallback, limits, HostPower(50, [(1, 100)], off_w=10)).stop_state()
        assert state is not None
        assert state.first.tolist() == [0, 1, 3, 4]
        assert state.stairs.tolist() == [[30 * S, 30 * S, NEVER, NEVER], [250_000, 250_000, 300_000, 300_000]]
        assert state.saves_mw.tolist() == saves
        assert state.down_saves_mw.tolist() == [190_000, 190_000]
    assert plan("hold", limits, HostPower(50, [(1, 100)])).stop_state() is None


def test_what_the_engine_is_told_of_limits() -> None:
    """Each stair is what is left less than on the next one; one at or above full power is none."""
    power = HostPower(50, [(1, 100), (0.5, 70)])
    state = plan("dvfs", [(0, 30 * S, 250), (10 * S, None, 300), (20 * S, 50 * S, 900)], power).state()
    assert state.ns.tolist() == [0, 10 * S, 20 * S, 30 * S, 50 * S]
    assert state.known.tolist() == [250_000, 250_000, 250_000, 300_000, 300_000]
    assert state.first.tolist() == [0, 1, 3, 5, 6, 7]
    assert state.stairs[0].tolist() == [30 * S, 30 * S, NEVER, 30 * S, NEVER, NEVER, NEVER]
    assert state.stairs[1].tolist() == [150_000, 50_000, 100_000, 50_000, 100_000, 100_000, 100_000]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        *table_rows(__file__, "limits_that_cannot_be"),
        ([(None, 5, 1)], r"^limits\[0\]: from: None is not a whole number"),
        ([(0, 5, float("nan"))], r"^limits\[0\]: W: nan is out of range; allowed: 0 to 1e\+12"),
    ],
)
def test_limits_that_cannot_be(limits: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        PowerOptions(limits=limits)
    assert "\n" not in str(error.value)


def test_options_are_as_of_the_command_line_or_plain_values() -> None:
    assert PowerOptions(limits=[(0, 5, 1)], allowed=0.5).names()["allowed"] == "0.5"
    assert PowerOptions(limits=[(0, 5, 1)], allowed=1).names()["allowed"] == "1.0"
    for options, message in (
        ({"allowed": 1.5}, "--allowed: 1.5 is out of range; allowed: 0 to 1"),
        ({"allowed": None}, "--allowed: None is not a number; allowed: 0 to 1"),
        (
            {"fallback": 5},
            "--fallback: 5; allowed: none, hold, submit, submit:state=1, dvfs, dvfs:slow=…, stop:idle, stop:off",
        ),
        ({"signals": True}, "--signals: True; allowed: a CSV file"),
    ):
        with pytest.raises(InputError) as caught:
            PowerOptions(limits=[(0, 5, 1)], **options)  # type: ignore[arg-type]
        assert str(caught.value) == message


def test_what_knows_of_power_is_said_in_short() -> None:
    machine = Platform((HostGroup(1, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100)])
    limits = [(0, None, 150)]
    said = [
        repr(bridge.simulate(jobs, machine, als="recorded", power=power).power)
        for power in (PowerOptions(limits=limits, fallback="dvfs", allowed=share) for share in ("1", 1.0))
    ]
    assert said[0] == said[1]
    assert said[0].startswith(
        "<power: energy 28 kJ, 28 kJ of it by cores that jobs held, power mean 140 W, at most 140 W"
    )
    with pytest.raises(InputError, match=r"^power: True; allowed: a bls.power.options.PowerOptions, or None$"):
        bridge.simulate(jobs, machine, als="recorded", power=True)  # type: ignore[arg-type]


def test_limits_as_an_array() -> None:
    found = plan("hold", np.array([[0, 5, 300], [5, 9, 200]]), HostPower(50, [(1, 100)]))
    assert found.limits.limits == (Limit(0, 5, 300_000), Limit(5, 9, 200_000))
