"""The whole application engine against the slow reference: every task's start, end, core and chunk, and all counts."""

from __future__ import annotations

import pytest
from applications import NAMES, Scenario, scenarios, selections
from hypothesis import given, settings
from hypothesis import strategies as st

from als.techniques import TECHNIQUES

pauses = st.lists(st.integers(0, 200), max_size=4)


def check(scenario: Scenario, instants: list[int]) -> None:
    """The engine, run at once, in pieces and without records, is as the reference."""
    expected = scenario.expected()
    assert scenario.found() == expected
    assert scenario.found(instants) == expected
    bare = scenario.found(instants, keep_tasks=False)
    if isinstance(expected, str) or isinstance(bare, str):
        assert bare == expected
    else:
        expected.tasks.clear()
        assert bare == expected


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(data=st.data(), instants=pauses)
def test_each_technique(name: str, data: st.DataObject, instants: list[int]) -> None:
    check(data.draw(scenarios(names=st.just(name), max_tasks=24)), instants)


@settings(max_examples=200)
@given(scenario=scenarios(lost=False), instants=pauses)
def test_phases_costs_speeds_and_stops(scenario: Scenario, instants: list[int]) -> None:
    check(scenario, instants)


@settings(max_examples=300)
@given(scenario=scenarios(), instants=pauses)
def test_cores_that_are_late_lost_and_return(scenario: Scenario, instants: list[int]) -> None:
    check(scenario, instants)


@settings(max_examples=100)
@given(scenario=scenarios(names=selections(), lost=False, max_tasks=14), instants=pauses)
def test_choosing_ahead(scenario: Scenario, instants: list[int]) -> None:
    check(scenario, instants)


@settings(max_examples=100)
@given(scenario=scenarios(names=selections() | st.sampled_from(NAMES), max_tasks=14), instants=pauses)
def test_all_of_it(scenario: Scenario, instants: list[int]) -> None:
    check(scenario, instants)


def test_every_technique_is_among_them() -> None:
    assert set(TECHNIQUES) <= set(NAMES)
