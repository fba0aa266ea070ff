"""What holds for every graph on every network, whoever hands out its tasks; without edges it is a plain loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from applications import Scenario, scenarios
from graph_scenarios import GraphScenario, Platform, graph_scenarios
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.graph_records import graph_ran
from reference.planning import RULES, related, upward_ranks
from test_planners import order_of

from als.application import Application
from als.engine.dag import state as g
from als.engine.dag.metrics import GRAPH_METRICS, graph_metrics, measure_graph
from als.engine.dag.parts import GraphPart
from als.planners import PLANNERS
from als.techniques import technique

undisturbed = graph_scenarios(lost=False, changing=False, max_tasks=16)


@settings(max_examples=120)
@given(scenario=undisturbed)
def test_no_sooner_than_the_critical_path_and_all_cores_allow(scenario: GraphScenario) -> None:
    application = scenario.application()
    assert application.advance()
    run = graph_ran(application)
    took = run.end - scenario.start
    longest = [Fraction(0)] * len(scenario.lengths)
    for k, gflop in enumerate(scenario.lengths):
        longest[k] = Fraction(gflop) + max([longest[a] for a, b, _ in scenario.edges if b == k], default=Fraction(0))
    n, fastest, work = len(scenario.lengths), max(scenario.speeds), sum(map(Fraction, scenario.lengths))
    assert took >= float(max(longest)) / fastest * 1e9 - n
    assert took >= float(work) / sum(scenario.speeds) * 1e9 - n
    assert sum(run.busy) == sum(row.end - row.start for row in run.tasks if row is not None)
    # And what is said of it.
    values = np.empty(len(GRAPH_METRICS))
    measure_graph(values, application.state, scenario.start, run.end, np.array(scenario.speeds), False)
    found = graph_metrics(values)
    assert found["critical_path_ns"] == pytest.approx(float(max(longest)) / fastest * 1e9)
    assert found["parallelism"] == pytest.approx(float(work / max(longest)))
    assert found["slr"] == pytest.approx(took / found["critical_path_ns"])
    assert found["speedup"] == pytest.approx(float(work) / fastest * 1e9 / took)
    host = [scenario.core_host[row.core] for row in run.tasks if row is not None]
    across = [n for a, b, n in scenario.edges if host[a] != host[b] and n > 0 and scenario.platform.model != "none"]
    assert found["transfers"] == len(across)
    assert found["transfer_bytes"] == pytest.approx(sum(across))
    assert found["transfer_wait_ns"] == run.transfer_wait


# No edges.


@dataclass(frozen=True)
class AsGraphs(Scenario):
    """The same, with loops as graphs that have no edges; ``every`` second one, or all."""

    every: int = 1

    def application(self, *, keep_tasks: bool = True) -> Application:
        loops = [None if name is None else technique(name) for name in self.phases]
        return Application(
            self.lengths,
            self.speeds,
            phases=[
                GraphPart(loop) if loop is not None and place % self.every == 0 else loop
                for place, loop in enumerate(loops)
            ],
            part_tasks=self.part_tasks,
            start_ns=self.start,
            overhead_ns=self.overhead,
            latency_ns=self.latency,
            master=self.master,
            keep_tasks=keep_tasks,
            seed=self.seed,
            job=self.job,
            network=Platform("lv08").state(),
        )


def nobody_lost(scenario: Scenario) -> Scenario:
    """Cores may come, but not go: what a lost core had is given back in another order here."""
    return replace(scenario, changes=tuple(change for change in scenario.changes if change[2] > 0))


def check_loops(scenario: Scenario, instants: list[int], every: int = 1) -> None:
    """Chunk for chunk."""
    if not any(scenario.phases[::every]):
        return
    as_graphs = AsGraphs(**vars(scenario), every=every)
    expected = scenario.found()
    assert as_graphs.found() == expected
    assert as_graphs.found(instants) == expected


@settings(max_examples=500)
@given(
    scenario=scenarios(names=st.just("ss")) | scenarios().map(nobody_lost),
    instants=st.lists(st.integers(0, 200), max_size=3),
    every=st.integers(1, 2),
)
def test_without_edges_it_is_the_plain_loop(scenario: Scenario, instants: list[int], every: int) -> None:
    check_loops(scenario, instants, every)


@pytest.mark.parametrize(
    ("tasks_ns", "speeds", "phases", "parts", "happens", "begin"),
    [
        # Core 1 would ask at 100 ns; it is lost at 50 ns, and only then the serial part begins.
        ([1, 1], [1.0, 1.0], ["ss", None], [1, 1], {"latency": [0, 100], "changes": ((50, 1, 0.0),)}, [0, 50]),
        # Core 2 asks at 100 ns, while a task is left for core 1, which is late, and is answered at 200 ns.
        ([160, 1, 1], [1.0, 0.0, 1.0], ["static", None], [2, 1],
         {"latency": [0, 0, 100], "changes": ((150, 1, 1.0),)}, [0, 150, 200]),
    ],
)  # fmt: skip
def test_a_part_lasts_until_the_last_answer(
    tasks_ns: list[int], speeds: list[float], phases: Any, parts: list[int], happens: Any, begin: list[int]
) -> None:
    scenario = Scenario([1e-9 * ns for ns in tasks_ns], speeds, phases, parts, **happens)
    check_loops(scenario, [])
    found = scenario.found()
    assert not isinstance(found, str)
    assert [task.start for task in found.tasks if task is not None] == begin


def test_what_a_loop_had_is_forgotten_when_a_graph_has_come_between() -> None:
    """At 610 ns core 1 has nothing to do in a serial part; its chunk of the loop ended at 500 ns, its graph task at 600 ns."""
    phases = ["ss", None, "ss", "static"]
    check_loops(Scenario([1e-7] * 18, [1.0, 1.0], phases, [2, 1, 2, 4] * 2, changes=((610, 1, 2.0),)), [], 2)


# Order.


@settings(max_examples=80)
@given(scenario=graph_scenarios(schedulers=st.sampled_from(("ss", "ss", *PLANNERS)), changing=False))
def test_order_and_plan_are_those_of_the_ranks(scenario: GraphScenario) -> None:
    graph, n = scenario.application().state.graph, len(scenario.lengths)
    place, planned = graph.tasks[g.POSITION].tolist(), graph.tasks[g.PLAN].tolist()
    latency, across, within = (float(cost) for cost in graph.amounts[:3])
    network, several = scenario.platform.reference(), len(set(scenario.core_host)) > 1
    if network.kind == "none":
        assert (latency, across, within) == (0, 0, 0)
    else:
        seconds, bandwidth = scenario.platform.latency * 1e-9, scenario.platform.bandwidth * 1e9
        if network.kind == "sharing" and seconds > 0:
            bandwidth = min(bandwidth, network.gamma / (2 * seconds))
        assert latency == pytest.approx(network.latency_factor * seconds if several else 0)
        assert across == pytest.approx(1 / (network.bandwidth_factor * bandwidth) if several else 0)
        assert within == pytest.approx(1 / (network.bandwidth_factor * network.memory) if network.memory else 0)
    if not any(scenario.speeds):
        return
    edges = {(a, b): n_bytes for a, b, n_bytes in scenario.edges}
    order = order_of(n, edges)
    at = {task: at for at, task in enumerate(order)}
    problem = related(scenario.lengths, edges, scenario.speeds, scenario.core_host, (latency, across, within), order)
    if scenario.scheduler in PLANNERS:
        RULES[scenario.scheduler](problem)
        assert planned == [problem.core[k] for k in range(n)]
        expected = sorted(range(n), key=lambda k: (problem.begin[k], at[k]))
    elif scenario.by_rank:
        ranks = upward_ranks(problem)
        expected = sorted(range(n), key=lambda k: (-ranks[k], at[k]))
    else:
        expected = list(range(n))
    assert [expected.index(k) for k in range(n)] == place


@pytest.mark.parametrize(
    ("gflop", "n_bytes", "latency", "core_host", "first"),
    [
        (1.5e-8, 1.0, 20.0, [0, 1, 2], 0),
        (1.7e-8, 6.0, 0.0, [0, 1, 2], 2),
        (1.5e-8, 1.0, 20.0, [0, 1, 0], 2),  # nothing crosses hosts
        (1.5e-8, 12.0, 20.0, [0, 1, 0], 0),  # but memory
    ],
)
def test_ranks_count_latencies_and_the_cores_that_are_there(
    gflop: float, n_bytes: float, latency: float, core_host: list[int], first: int
) -> None:
    """Two tasks of 5 ns with data between them, and one alone; of three cores the second is not there."""
    scenario = GraphScenario(
        [5e-9, 5e-9, gflop],
        [(0, 1, n_bytes)],
        [1.0, 0.0, 1.0],
        core_host,
        by_rank=True,
        platform=Platform("hockney", latency=latency, memory=2.0),
    )
    assert scenario.application().state.graph.tasks[g.POSITION].tolist().index(0) == first


# What is said in the middle.


@settings(max_examples=60)
@given(scenario=undisturbed, instants=st.lists(st.integers(0, 300), max_size=6))
def test_it_ends_no_sooner_than_is_said(scenario: GraphScenario, instants: list[int]) -> None:
    application, said = scenario.application(), []
    for instant in sorted(instants):
        if application.advance(scenario.start + instant):
            break
        said.append((application.not_before_ns, application.only_messages))
    application.advance()
    last = int(application.state.end_ns.max())
    for (instant, only), at in zip(said, sorted(instants), strict=False):
        assert instant <= max(last, scenario.start + at)
        assert only == (last < scenario.start + at)
