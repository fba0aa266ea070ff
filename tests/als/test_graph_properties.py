"""What holds for every graph on every network, whoever hands out its tasks; without edges it is a plain loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from applications import NAMES, Scenario, scenarios
from graph_scenarios import HOSTS, MODELS, TOPOLOGIES, GraphScenario, Platform, graph_scenarios, platforms
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.graph_records import graph_ran
from reference.graph_run import GraphRun
from reference.planning import RULES, related, upward_ranks
from test_planners import order_of

from als.application import Application
from als.engine.dag import state as g
from als.engine.dag.metrics import GRAPH_METRICS, graph_metrics, measure_graph
from als.engine.dag.parts import GraphPart
from als.network import flows as f
from als.planners import PLANNERS
from als.techniques import TECHNIQUES, technique

anything = graph_scenarios(lost=False, max_tasks=16)
undisturbed = graph_scenarios(lost=False, changing=False, max_tasks=16)


def rows_of(run: GraphRun | str) -> GraphRun:
    assert not isinstance(run, str)
    return run


# Order and bounds.


@settings(max_examples=120)
@given(scenario=anything)
def test_producers_and_their_data_come_first(scenario: GraphScenario) -> None:
    run = rows_of(scenario.found())
    of_core: dict[int, list[tuple[int, int]]] = {}
    for task in run.tasks:
        if task is not None:
            of_core.setdefault(task.core, []).append((task.start, task.end))
    for spans in of_core.values():
        spans.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert scenario.stop is not None or None not in run.tasks
    moves = scenario.platform.model != "none"
    for e, (a, b, n_bytes) in enumerate(sorted(scenario.edges)):
        one, other = run.tasks[a], run.tasks[b]
        if other is None:
            continue
        assert one is not None
        assert one.end <= other.start
        crosses = scenario.core_host[one.core] != scenario.core_host[other.core]
        if moves and n_bytes > 0 and one.core != other.core:
            assert one.end <= run.sent[e] <= run.arrived[e] <= other.start
            if crosses:
                shortest = n_bytes / scenario.platform.bandwidth + scenario.platform.latency
                assert run.arrived[e] - run.sent[e] >= shortest * (1 - 1e-9) - 0.5
        else:
            assert run.sent[e] == run.arrived[e] == -1


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


# The network.

SHARING = [name for name in MODELS if name.startswith(("cm02", "lv08"))]


def check_links(state: f.FlowState, bandwidth_factor: float) -> int:
    """No link carries more than it can, and each transfer is as fast as it may be or has a link that is full; by the rates
    at which bytes move, of which each takes 1/factor of its links. Returns how many share links.
    """
    numbers = state.numbers
    load = [0.0] * int(numbers[f.LINKS])
    uses: dict[int, tuple[float, list[int]]] = {}
    for slot in range(int(numbers[f.USED])):
        if state.flow[f.PHASE, slot] != f.SHARING:
            continue
        first = slot * int(numbers[f.STRIDE])
        x = float(state.amount[f.RATE, slot]) * 1e9 / bandwidth_factor
        entries = range(first, first + int(state.flow[f.ENTRIES, slot]))
        uses[slot] = x, [int(state.entry_link[entry]) for entry in entries]
        for entry in entries:
            load[state.entry_link[entry]] += float(state.entry_weight[entry]) * x
    for link, amount in enumerate(load):
        assert amount <= state.room[f.CAPACITY, link] * (1 + 1e-9)
    for slot, (x, links) in uses.items():
        bound = float(state.amount[f.BOUND, slot])
        assert x <= bound * (1 + 1e-9)
        full = any(load[link] >= state.room[f.CAPACITY, link] * (1 - 1e-9) for link in links)
        assert full or x >= bound * (1 - 1e-9)
    return len(uses)


@settings(max_examples=60)
@given(scenario=graph_scenarios(max_tasks=16), instants=st.lists(st.integers(0, 300), min_size=1, max_size=12))
def test_no_link_carries_more_than_it_can(scenario: GraphScenario, instants: list[int]) -> None:
    application = scenario.application()
    for instant in sorted(instants):
        application.advance(scenario.start + instant)
        if application.finished:
            return
        if application.state.graph.numbers[g.DATA]:
            check_links(application.state.graph.flows, scenario.platform.reference().bandwidth_factor)
        for at, core, speed in scenario.changes:
            if at == instant:
                application.set_speed(speed, core)


@st.composite
def busy_networks(draw: st.DrawFn) -> GraphScenario:
    """Two layers of tasks on four hosts, with much to send from one to the other at nearly one time."""
    above, below = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    pairs = st.sets(
        st.tuples(st.integers(0, above - 1), st.integers(above, above + below - 1)), min_size=4, max_size=16
    )
    edges = [(a, b, draw(st.sampled_from((80.0, 200.0, 900.0)))) for a, b in sorted(draw(pairs))]
    return GraphScenario(
        [1e-8 * draw(st.integers(1, 4)) for _ in range(above + below)],
        edges,
        [1.0] * 8,
        [core % HOSTS for core in range(8)],
        "cores",
        mapped=tuple(draw(st.integers(0, 7)) for _ in range(above + below)),
        platform=Platform(
            draw(st.sampled_from(SHARING)), draw(st.sampled_from(TOPOLOGIES)), latency=draw(st.sampled_from((0.0, 2.0)))
        ),
    )


@settings(max_examples=60)
@given(scenario=busy_networks())
def test_rates_are_what_busy_links_allow(scenario: GraphScenario) -> None:
    application = scenario.application()
    for instant in range(15, 1000, 35):
        if application.advance(instant):
            break
        check_links(application.state.graph.flows, scenario.platform.reference().bandwidth_factor)


@pytest.mark.parametrize(("model", "rate"), [("cm02", 0.5), ("lv08", 0.485), ("lv08:bandwidth_factor=0.5", 0.25)])
def test_two_on_one_link_have_half_of_it_each(model: str, rate: float) -> None:
    """Task 0 sends to two cores of another host, over a link of a byte per ns."""
    edges = [(0, 1, 1000.0), (0, 2, 1000.0)]
    platform = Platform(model)
    scenario = GraphScenario([1e-8] * 3, edges, [1.0] * 3, [0, 1, 1], "cores", mapped=(0, 1, 2), platform=platform)
    application = scenario.application()
    application.advance(50)
    flows = application.state.graph.flows
    assert check_links(flows, platform.reference().bandwidth_factor) == 2
    assert flows.amount[f.RATE, :2].tolist() == pytest.approx([rate, rate])


@settings(max_examples=60)
@given(platform=platforms(), n_bytes=st.floats(0.1, 1e3), factor=st.floats(1, 20))
def test_more_bandwidth_is_never_slower_for_one_transfer(platform: Platform, n_bytes: float, factor: float) -> None:
    one = GraphScenario([1e-8, 2e-8], [(0, 1, n_bytes)], [1.0, 1.0], [0, 3], "cores", mapped=(0, 1), platform=platform)
    faster = replace(one, platform=replace(platform, bandwidth=factor))
    assert rows_of(faster.found()).end <= rows_of(one.found()).end


@settings(max_examples=80)
@given(scenario=graph_scenarios(max_tasks=16))
def test_one_host_is_no_network(scenario: GraphScenario) -> None:
    one = replace(
        scenario,
        core_host=[2] * len(scenario.core_host),
        mapped=(2,) * len(scenario.lengths) if scenario.scheduler == "hosts" else scenario.mapped,
        platform=replace(scenario.platform, memory=None),
    )
    found, plain = one.found(), replace(one, platform=Platform()).found()
    if isinstance(found, str) or isinstance(plain, str):
        assert found == plain
        return
    assert found.sent == found.arrived
    assert replace(found, sent=[], arrived=[]) == replace(plain, sent=[], arrived=[])


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


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("select")])
@settings(max_examples=12)
@given(data=st.data(), instants=st.lists(st.integers(0, 200), max_size=3))
def test_without_edges_it_is_the_plain_loop(name: str, data: st.DataObject, instants: list[int]) -> None:
    check_loops(nobody_lost(data.draw(scenarios(names=st.just(name)))), instants)


@settings(max_examples=60)
@given(scenario=scenarios(names=st.just("ss")), every=st.integers(1, 2))
def test_without_edges_single_tasks_may_be_lost(scenario: Scenario, every: int) -> None:
    check_loops(scenario, [], every)


@settings(max_examples=100)
@given(scenario=scenarios().map(nobody_lost), every=st.integers(1, 2))
def test_without_edges_all_parts_are_loops(scenario: Scenario, every: int) -> None:
    check_loops(scenario, [], every)


def test_a_part_lasts_until_the_last_request_is_lost() -> None:
    """Core 1 would ask at 100 ns; it is lost at 50 ns, and only then the serial part begins."""
    scenario = Scenario([1e-9, 1e-9], [1.0, 1.0], ["ss", None], [1, 1], latency=[0, 100], changes=((50, 1, 0.0),))
    check_loops(scenario, [])
    found = scenario.found()
    assert not isinstance(found, str)
    assert [task.start for task in found.tasks if task is not None] == [0, 50]


def test_a_part_lasts_until_the_last_core_has_heard_that_there_is_nothing_for_it() -> None:
    """Core 2 asks at 100 ns, while a task is left for core 1, which is late, and hears at 200 ns that it is for that."""
    scenario = Scenario(
        [1.6e-7, 1e-9, 1e-9],
        [1.0, 0.0, 1.0],
        ["static", None],
        [2, 1],
        latency=[0, 0, 100],
        changes=((150, 1, 1.0),),
    )
    check_loops(scenario, [])
    found = scenario.found()
    assert not isinstance(found, str)
    assert [task.start for task in found.tasks if task is not None] == [0, 150, 200]


def test_what_a_loop_had_is_forgotten_when_a_graph_has_come_between() -> None:
    """At 610 ns core 1 has nothing to do in a serial part; its chunk of the loop ended at 500 ns, its graph task at 600 ns."""
    scenario = Scenario(
        [1e-7] * 18, [1.0, 1.0], ["ss", None, "ss", "static"], [2, 1, 2, 4] * 2, changes=((610, 1, 2.0),)
    )
    check_loops(scenario, [], 2)


def test_every_technique_is_among_them() -> None:
    assert set(TECHNIQUES) <= set(NAMES)


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


def test_hosts_of_the_machine_are_enough() -> None:
    assert HOSTS == 4
