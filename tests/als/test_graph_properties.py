"""What holds for every graph on every network, whoever hands out its tasks; without edges it is a plain loop."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from graph_scenarios import GraphScenario, graph_scenarios
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.graph_records import graph_ran
from reference.planning import RULES, related, upward_ranks
from test_planners import order_of

from als.engine.dag import state as g
from als.engine.dag.metrics import GRAPH_METRICS, graph_metrics, measure_graph
from als.planners import PLANNERS

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
