"""Cores that other jobs wait for, which an application serves last: by hand, and against the slow reference."""

from __future__ import annotations

import pytest
from applications import Scenario, driven, ran, scenarios, selections
from hypothesis import given, settings
from hypothesis import strategies as st
from test_releases_of_cores import never_used_again, released

from als.application import Application
from als.techniques import TECHNIQUES
from traces.base.errors import InputError

SS, STATIC = TECHNIQUES["ss"], TECHNIQUES["static"]
TEN = 1e-8  # GFLOP: ten nanoseconds at 1 GFLOP/s

#: Instants, and cores for which others wait from then on.
Hints = list[tuple[int, frozenset[int]]]


@st.composite
def hints(draw: st.DrawFn) -> Hints:
    """Up to four, at different instants."""
    instants = sorted(draw(st.sets(st.integers(0, 120), max_size=4)))
    return [(at, draw(st.frozensets(st.integers(0, 5)))) for at in instants]


def of_its_cores(told: Hints, case: Scenario) -> Hints:
    return [(at, frozenset(core for core in cores if core < len(case.speeds))) for at, cores in told]


def test_of_requests_at_one_instant_that_of_a_wanted_core_is_served_last() -> None:
    """Both cores ask at 0 and at 10; the third task is core 1's, for which nobody waits."""
    application = Application([TEN, TEN, TEN], [1.0, 1.0], SS, releases=True)
    application.advance(1)
    application.hint([0])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 1]
    assert released(application) == [10, None]


def test_a_wanted_core_leaves_the_last_tasks_to_those_who_will_still_ask() -> None:
    """Core 0 asks at 10, when one task is left, and core 1 will ask at 20: that is its task, and core 0 goes."""
    application = Application([TEN, 2 * TEN, TEN], [1.0, 1.0], SS, releases=True)
    application.advance(1)
    application.hint([0])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 1]
    assert released(application) == [10, None]
    assert application.end_ns == 30  # later than without, when it is 20


def test_who_is_no_longer_wanted_is_served_as_before() -> None:
    application = Application([TEN, 2 * TEN, TEN], [1.0, 1.0], SS, releases=True)
    application.advance(1)
    application.hint([0])
    application.hint([])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 0]


def test_a_hint_for_a_core_that_it_has_not() -> None:
    application = Application([TEN], [1.0, 1.0], SS, releases=True)
    with pytest.raises(InputError, match="core: 2; allowed: 0 to 1"):
        application.hint([2])
    with pytest.raises(InputError, match="core: -1"):
        application.hint([-1])


@settings(max_examples=300)
@given(
    case=scenarios(names=st.sampled_from(tuple(TECHNIQUES)) | selections()),
    told=hints(),
    pauses=st.lists(st.integers(0, 150), max_size=3),
    releases=st.sampled_from((True, True, False)),
)
def test_as_the_slow_reference(case: Scenario, told: Hints, pauses: list[int], releases: bool) -> None:
    told = of_its_cores(told, case)
    expected = case.expected(releases=releases, hints=told)
    application = case.application(releases=releases)
    ended = driven(application, case.start, case.changes, case.stop, pauses, told)
    if isinstance(expected, str):
        assert ended == expected
        return
    assert ended == ""
    application.validate()
    assert ran(application) == expected
    assert released(application) == expected.released
    if releases:
        never_used_again(application)


@settings(max_examples=150)
@given(case=scenarios(lost=False), told=hints())
def test_work_is_conserved(case: Scenario, told: Hints) -> None:
    """Whoever is told what: every task runs once, unless a rule has sent all cores away, as it would without hints."""
    told = of_its_cores(told, case)
    application = case.application(releases=True)
    if driven(application, case.start, case.changes, case.stop, (), told) != "":
        assert isinstance(case.expected(releases=True, hints=told), str)
        return
    if case.stop is None:
        assert (application.state.end_ns >= application.state.start_ns).all()
        assert (application.state.core >= 0).all()
