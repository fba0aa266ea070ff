"""The engine on graphs against the slow reference: every task's start, end, core and chunk, every transfer, all counts."""

import math
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from applications import NAMES, driven, lengths, pauses, ran
from graph_scenarios import GraphScenario, Platform, crowded_graph, graph_scenarios, without_chunk_numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.graph_run import GraphRun
from test_engine_reference import never_used_again

from als.planners import PLANNERS
from traces.base.errors import InputError

pytestmark = pytest.mark.whole


def check(scenario: GraphScenario, instants: list[int]) -> None:
    """The engine, run at once, in pieces and without records, is as the reference."""
    expected = scenario.expected()
    if scenario.resizes and not isinstance(expected, str):
        # What is decided while only messages are under way changes nothing.
        in_time = tuple(one for one in scenario.resizes if scenario.start + one.at < expected.end)
        scenario = replace(scenario, resizes=in_time)
    found = scenario.found()
    assert scenario.found(instants) == found
    bare = scenario.found(instants, keep_tasks=False)
    if isinstance(expected, str) or isinstance(found, str) or isinstance(bare, str):
        assert found == expected
        assert bare == expected
        return
    if scenario.by_technique:
        assert found == expected
    else:
        ordered = not scenario.resizes
        assert without_chunk_numbers(found, ordered=ordered) == without_chunk_numbers(expected, ordered=ordered)
    assert counts(bare) == counts(expected)
    assert not scenario.resizes or found.released == expected.released


def counts(run: GraphRun) -> GraphRun:
    return replace(run, tasks=[], sent=[], arrived=[])


@pytest.mark.parametrize("name", [*NAMES, *PLANNERS, "hosts", "cores"])
@settings(max_examples=10)
@given(data=st.data(), instants=pauses)
def test_each_scheduler(name: str, data: st.DataObject, instants: list[int]) -> None:
    check(data.draw(graph_scenarios(schedulers=st.just(name), lost=False)), instants)


@pytest.mark.parametrize(
    "strategy",
    [
        graph_scenarios(lost=False),
        graph_scenarios(schedulers=st.sampled_from(("heft", "hosts", "cores"))),
        graph_scenarios(schedulers=st.sampled_from(NAMES)),
    ],
    ids=["costs, networks and stops", "lost cores of plans", "lost cores that ask"],
)
@settings(max_examples=500)
@given(data=st.data(), instants=pauses)
def test_all_that_can_happen(
    strategy: st.SearchStrategy[GraphScenario], data: st.DataObject, instants: list[int]
) -> None:
    check(data.draw(strategy), instants)


@settings(max_examples=500)
@given(case=graph_scenarios(lost=False, changing=False), data=st.data(), instants=pauses)
def test_a_work_on_each_worker(case: GraphScenario, data: st.DataObject, instants: list[int]) -> None:
    """Only planners know workers that cannot run a task."""
    able = st.just(math.inf) if case.scheduler in PLANNERS else lengths
    works = []
    for length in case.lengths:
        row = data.draw(st.lists(lengths | able, min_size=len(case.speeds), max_size=len(case.speeds)))
        works.append((length, *row[1:]) if not any(map(math.isfinite, row)) else tuple(row))
    check(replace(case, works=tuple(works), by_rank=False), instants)


def test_other_widths() -> None:
    for seed in range(80):
        check(crowded_graph(seed), [Random(seed).randint(0, 200) for _ in range(seed % 3)])
    for seed in range(30):
        check(crowded_graph(seed, ("static-steal", "static-steal:chunk=2")), [])


@pytest.mark.parametrize("lost", [False, True])
@settings(max_examples=150)
@given(data=st.data())
def test_no_core_is_used_after_its_release(lost: bool, data: st.DataObject) -> None:
    """Where no core is lost, releases change nothing else."""
    case = data.draw(graph_scenarios(lost=lost))
    application = replace(case, releases=True).application()
    ended = driven(application, case)
    if ended == "":
        never_used_again(application)
        assert case.stop is not None or (application.state.end_ns >= 0).all()
    if not lost:
        without = case.application()
        assert driven(without, case) == ended
        assert ended or ran(without) == ran(application)


@pytest.mark.parametrize("name", ["awf", "awf-b", "awf-d", "af"])
def test_measurements_of_a_round_serve_the_next_ones(name: str) -> None:
    """Four layers of twenty tasks; core 1 turns out to be slow in the second, and later rounds weigh more."""
    layers = [range(20 * k, 20 * k + 20) for k in range(4)]
    edges = [(a, b, 0.0) for one, other in pairwise(layers) for a in one for b in other]
    check(GraphScenario([1e-8] * 80, edges, [1.0, 1.0], [0, 0], name, changes=((100, 1, 0.25),)), [])


def test_data_that_never_arrive_are_an_error() -> None:
    endless = GraphScenario(
        [1e-9, 1e-9], [(0, 1, 1e300)], [1.0, 1.0], [0, 1], "cores", mapped=(0, 1), platform=Platform("cm02")
    )
    with pytest.raises(InputError, match="before the last simulated instant"):
        endless.found()
