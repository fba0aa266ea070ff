"""The engine on graphs against the slow reference: every task's start, end, core and chunk, every transfer, all counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from applications import NAMES
from graph_scenarios import GraphScenario, Platform, graph_scenarios, without_chunk_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.graph_run import GraphRun

from als.planners import PLANNERS
from traces.base.errors import InputError

pauses = st.lists(st.integers(0, 300), max_size=4)


def check(scenario: GraphScenario, instants: list[int]) -> None:
    """The engine, run at once, in pieces and without records, is as the reference."""
    expected, found = scenario.expected(), scenario.found()
    assert scenario.found(instants) == found
    bare = scenario.found(instants, keep_tasks=False)
    if isinstance(expected, str) or isinstance(found, str) or isinstance(bare, str):
        assert found == expected
        assert bare == expected
        return
    if scenario.by_technique:
        assert found == expected
    else:
        assert without_chunk_numbers(found) == without_chunk_numbers(expected)
    assert counts(bare) == counts(expected)


def counts(run: GraphRun) -> GraphRun:
    """Without what is recorded of tasks and transfers."""
    return replace(run, tasks=[], sent=[], arrived=[])


@pytest.mark.parametrize("name", [*NAMES, *PLANNERS, "hosts", "cores"])
@settings(max_examples=10)
@given(data=st.data(), instants=pauses)
def test_each_scheduler(name: str, data: st.DataObject, instants: list[int]) -> None:
    check(data.draw(graph_scenarios(schedulers=st.just(name), lost=False)), instants)


@settings(max_examples=200)
@given(scenario=graph_scenarios(lost=False), instants=pauses)
def test_costs_networks_speeds_and_stops(scenario: GraphScenario, instants: list[int]) -> None:
    check(scenario, instants)


@settings(max_examples=200)
@given(scenario=graph_scenarios(schedulers=st.sampled_from(("heft", "hosts", "cores"))), instants=pauses)
def test_planned_cores_that_are_late_lost_and_return(scenario: GraphScenario, instants: list[int]) -> None:
    check(scenario, instants)


@settings(max_examples=300)
@given(scenario=graph_scenarios(schedulers=st.sampled_from(NAMES)), instants=pauses)
def test_asking_cores_that_are_late_lost_and_return(scenario: GraphScenario, instants: list[int]) -> None:
    check(scenario, instants)


# By hand: what is seldom among random ones.


def test_a_core_that_takes_an_orphan_has_waited_for_its_own_data_until_then() -> None:
    """Core 1 lacks the data of task 1 from 1 to 51 ns; from 10 to 13 it computes what core 2 has left."""
    scenario = GraphScenario(
        [1e-9, 2e-9, 2e-8, 3e-9],
        [(0, 1, 50.0)],
        [1.0, 1.0, 1.0],
        [0, 1, 2],
        "cores",
        mapped=(0, 1, 2, 2),
        platform=Platform("hockney"),
        changes=((10, 2, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start, task.end) for task in run.tasks if task is not None] == [
        (0, 0, 1),
        (1, 51, 53),
        (0, 10, 30),
        (1, 10, 13),
    ]
    assert run.transfer_wait == 9 + 38


def test_a_task_that_comes_back_to_its_host_has_its_data_there() -> None:
    """Core 0 is lost with it at 9 ns; core 1, which had nothing to do, begins it then and lacked nothing before."""
    scenario = GraphScenario(
        [1e-9, 2e-8],
        [(0, 1, 5.0)],
        [1.0, 1.0, 1.0],
        [0, 0, 1],
        "hosts",
        mapped=(1, 0),
        platform=Platform("hockney"),
        changes=((9, 0, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start, task.end) for task in run.tasks if task is not None] == [(2, 0, 1), (1, 9, 29)]
    assert run.transfer_wait == 5


def test_what_would_begin_at_the_stop_is_no_chunk() -> None:
    """Task 0 ends just then, and core 1 would begin task 1."""
    scenario = GraphScenario(
        [5e-9, 1e-9], [(0, 1, 0.0)], [1.0, 1.0], [0, 0], "cores", mapped=(0, 1), changes=(), stop=5
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert run.chunks == 1
    assert run.tasks[1] is None


def test_an_orphan_is_taken_even_if_the_first_idle_core_gets_a_task_of_its_own() -> None:
    """At 1 ns the end of task 0 releases the orphan 1 and what cores 0 and 1 have to do next; core 2 takes the orphan."""
    scenario = GraphScenario(
        [1e-9, 1e-9, 1e-9, 1e-9, 1e-9],
        [(0, 1, 0.0), (0, 2, 0.0), (0, 3, 0.0), (1, 4, 0.0)],
        [1.0, 1.0, 1.0, 0.0],
        [0, 0, 0, 0],
        "cores",
        mapped=(3, 3, 0, 1, 2),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [
        (0, 0),
        (2, 1),
        (0, 1),
        (1, 1),
        (2, 2),
    ]


def test_a_core_is_bound_to_its_orphan_though_its_own_data_come_first() -> None:
    """Core 0 takes task 2 at 1 ns, whose data are there at 51 ns; those of task 1 have been since 20 ns."""
    scenario = GraphScenario(
        [1e-9, 1e-9, 1e-9, 1e-7],
        [(0, 1, 19.0), (0, 2, 50.0)],
        [1.0, 1.0, 0.0],
        [0, 1, 0],
        "cores",
        mapped=(1, 0, 2, 1),
        platform=Platform("hockney"),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [(1, 0), (0, 52), (0, 51), (1, 1)]


def test_rounds_are_open_while_a_core_is_told_of_tasks_or_lacks_their_data() -> None:
    """Static means the only task of a round for core 0, which hears of task 0 from 30 to 60 ns and lacks its data to 1060."""
    scenario = GraphScenario(
        [1e-9, 1e-9, 7e-8, 1e-9],
        [(1, 0, 1000.0), (2, 3, 0.0)],
        [1.0, 1.0],
        [0, 1],
        "static",
        platform=Platform("hockney"),
        latency=[30, 0],
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [(0, 1060), (1, 0), (1, 30), (1, 100)]


def test_what_lost_cores_leave_of_a_round_is_dealt_out_to_those_who_were_refused() -> None:
    """A task each is promised to cores 1 and 2, whose requests never arrive; core 0 gets both at once."""
    scenario = GraphScenario(
        [1e-9, 1e-9, 1e-9],
        [],
        [1.0, 1.0, 1.0],
        [0, 0, 0],
        "static-steal",
        latency=[0, 30, 30],
        changes=((10, 1, 0.0), (10, 2, 0.0)),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.chunk, task.start) for task in run.tasks if task is not None] == [(0, 0), (1, 10), (1, 11)]


def test_if_the_core_that_would_be_served_is_lost_just_then_the_next_one_is() -> None:
    scenario = GraphScenario(
        [1e-8, 1e-9],
        [(0, 1, 0.0)],
        [1.0, 1.0, 1.0],
        [0, 1, 1],
        "hosts",
        mapped=(0, 1),
        changes=((10, 1, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [(0, 0), (2, 10)]


def test_a_round_is_open_from_when_a_core_with_tasks_is_lost() -> None:
    """Core 0 has had its share and was refused; it asks again as core 1 is lost, while core 2 is still to ask."""
    scenario = GraphScenario(
        [1e-9, 2e-8, 1e-9],
        [],
        [1.0, 1.0, 1.0],
        [0, 0, 0],
        "static",
        latency=[0, 0, 50],
        changes=((10, 1, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None][:2] == [(0, 0), (0, 10)]


def test_a_core_that_was_about_to_take_an_orphan_goes_on_waiting() -> None:
    """At 10 ns core 0 is first; core 1 has waited since 1 ns, and does so until 51 ns, which counts once."""
    scenario = GraphScenario(
        [1e-9, 2e-9, 2e-8, 9e-9],
        [(0, 1, 50.0)],
        [1.0, 1.0, 1.0],
        [0, 1, 2],
        "cores",
        mapped=(0, 1, 2, 0),
        platform=Platform("hockney"),
        changes=((10, 2, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [(0, 0), (1, 51), (0, 10), (0, 1)]
    assert run.transfer_wait == 50


@pytest.mark.parametrize("name", ["awf", "awf-b", "awf-d", "af"])
def test_what_is_learnt_in_a_round_is_for_the_next_ones(name: str) -> None:
    """Four layers of twenty tasks; core 1 turns out to be slow in the second, and later rounds weigh more."""
    layers = [range(20 * k, 20 * k + 20) for k in range(4)]
    edges = [(a, b, 0.0) for one, other in pairwise(layers) for a in one for b in other]
    check(GraphScenario([1e-8] * 80, edges, [1.0, 1.0], [0, 0], name, changes=((100, 1, 0.25),)), [])


def test_a_core_that_is_lost_has_waited_until_then() -> None:
    scenario = GraphScenario(
        [1e-9, 2e-9],
        [(0, 1, 50.0)],
        [1.0, 1.0],
        [0, 1],
        "cores",
        mapped=(0, 1),
        platform=Platform("hockney"),
        changes=((10, 1, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [(0, 0), (0, 10)]
    assert run.transfer_wait == 9


def test_what_a_lost_core_gives_back_is_still_to_be_handed_out() -> None:
    """So core 0 waits from 25 to 50 ns for the last task, and is not sent home."""
    scenario = GraphScenario(
        [2e-9, 5e-8, 2e-8, 1e-9],
        [(1, 3, 0.0)],
        [1.0, 1.0, 1.0],
        [0, 0, 0],
        "ss",
        changes=((5, 2, 0.0),),
    )
    check(scenario, [])
    run = scenario.found()
    assert isinstance(run, GraphRun)
    assert [(task.core, task.start) for task in run.tasks if task is not None] == [(0, 0), (1, 0), (0, 5), (0, 50)]


def test_data_that_never_arrive_are_an_error() -> None:
    endless = GraphScenario(
        [1e-9, 1e-9], [(0, 1, 1e300)], [1.0, 1.0], [0, 1], "cores", mapped=(0, 1), platform=Platform("cm02")
    )
    with pytest.raises(InputError, match="before the last simulated instant"):
        endless.found()
