"""The engine on graphs, and its network, against SimGrid's answers.

As of the references (test_graph_reference_oracles): closely in femtoseconds, where rounding is nothing, and in nanoseconds
with one for each task and each transfer on the way to an instant.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from reference.graph_records import edges_of, graph_ran
from reference.graph_run import GraphRun
from test_graph_reference_oracles import (
    FINE,
    LOOPBACK,
    MODELS,
    PAIRS,
    ROUNDED,
    Case,
    apart,
    case,
    depths,
    list_case,
    usable,
)

from als.application import Application
from als.engine.dag.parts import GraphPart
from als.graphs.readers import read_graph
from als.network import NetworkState, SharingModel, network_state
from als.network.simulate import transfer_times
from als.planners.mapped import MAPPED
from als.techniques import technique
from bridge import GraphOptions, simulate_graph

TOPOLOGIES = {"duplex": "full", "shared": "shared", "star": "star"}


def network(
    kind: str,
    constants: tuple[float, float, float, bool],
    hosts: int,
    bandwidth: float,
    latency: float,
    memory: float | None = None,
) -> NetworkState:
    """The platform by its name; bytes/s and ns."""
    latency_factor, bandwidth_factor, weight_s, crosstraffic = constants
    model = SharingModel(
        kind,
        crosstraffic=crosstraffic,
        latency_factor=latency_factor,
        bandwidth_factor=bandwidth_factor,
        weight_s=weight_s,
    )
    return network_state(
        model,
        TOPOLOGIES[kind],
        hosts=hosts,
        bandwidth_gbps=bandwidth * 8e-9,
        latency_ns=latency,
        memory_gbps=None if memory is None else memory * 8e-9,
    )


@pytest.mark.parametrize("model", MODELS)
def test_flows_are_simgrids(shared: Path, model: str) -> None:
    cases = json.loads((shared / "oracles" / "simgrid" / "net" / "flows.json").read_text(encoding="utf-8"))
    compared = 0
    for flows in cases:
        simdag_pays_no_latency = model == "L07" and flows["case"] == "zero"
        if not usable(flows["kind"], model) or simdag_pays_no_latency:
            continue
        source, target, n_bytes, start = (list(column) for column in zip(*flows["flows"], strict=True))
        net = network(flows["kind"], MODELS[model], 4, flows["bw"], flows["lat"] * 1e9, LOOPBACK)
        start_ns = [round(s * 1e9) for s in start]
        found = transfer_times(net, np.array(source), np.array(target), n_bytes, start_ns)
        assert np.abs(found - np.array(flows["end"][model]) * 1e9).max() < 1e-3, flows
        compared += 1
    assert compared >= 34


@cache  # some models are one
def run(graph: Case, kind: str, constants: tuple[float, float, float, bool], fine: int = 1) -> GraphRun:
    """Each core's tasks one after another by number, in units of 1/``fine`` ns."""
    p = graph.hosts * graph.cores
    application = Application(
        [task["gflop"] for task in graph.tasks],
        [graph.speed / fine] * p,
        phases=[GraphPart(MAPPED, core=np.array(graph.core))],
        edges=edges_of(graph.edges),
        core_host=[c // graph.cores for c in range(p)],
        network=network(kind, constants, graph.hosts, graph.bandwidth / fine, graph.latency * 1e9 * fine),
    )
    assert application.advance()
    ours = graph_ran(application)
    # The edges as they are numbered there.
    order = sorted(range(len(graph.edges)), key=lambda e: graph.edges[e][:2])
    sent, arrived = [-1] * len(order), [-1] * len(order)
    for place, e in enumerate(order):
        sent[e], arrived[e] = ours.sent[place], ours.arrived[place]
    ours.sent, ours.arrived = sent, arrived
    return ours


@pytest.mark.parametrize(("kind", "model"), PAIRS)
@pytest.mark.parametrize("name", ["d0", "d1", "d2", "d4", "d6"])
def test_graphs_are_simgrids_but_for_rounding(shared: Path, name: str, kind: str, model: str) -> None:
    graph = case(shared, name)
    theirs = graph.results[f"{kind}/{model}"]
    ours = run(graph, kind, MODELS[model], FINE)
    by_task, by_edge = apart(graph, ours, theirs, FINE)
    assert max([*by_task, *by_edge.values()]) < 0.1
    assert abs(ours.end / FINE - theirs["makespan"] * 1e9) < 0.1


@pytest.mark.parametrize(("name", "kind", "model"), ROUNDED)
def test_rounding_costs_a_nanosecond_a_task_and_a_transfer(shared: Path, name: str, kind: str, model: str) -> None:
    graph = case(shared, name)
    theirs = graph.results[f"{kind}/{model}"]
    by_task, by_edge = apart(graph, run(graph, kind, MODELS[model]), theirs)
    task_depth, edge_depth = depths(graph, theirs, kind)
    for k, off in enumerate(by_task):
        assert off <= task_depth[k]
    for e, off in by_edge.items():
        assert off <= edge_depth[e]


@pytest.mark.parametrize("name", ["d0", "d1", "d2", "d4", "d6"])
@pytest.mark.parametrize(
    ("kind", "network", "theirs"), [("full", "lv08", "duplex/LV08"), ("star", "lv08", "star/LV08full")]
)
def test_a_file_that_says_where_is_run_as_simgrid_runs_it(
    shared: Path, tmp_path: Path, name: str, kind: str, network: str, theirs: str
) -> None:
    graph = case(shared, name)
    lines = [f'{k} [gflop="{t["gflop"]!r}", host={t["host"]}, core={t["core"]}];' for k, t in enumerate(graph.tasks)]
    lines += [f'{a} -> {b} [bytes="{n_bytes!r}"];' for a, b, n_bytes in graph.edges]
    (tmp_path / "mapped.dot").write_text("digraph {\n" + "\n".join(lines) + "\n}", encoding="utf-8")
    options = GraphOptions(
        "mapped",
        (graph.speed,) * (graph.hosts * graph.cores),
        graph.hosts,
        network=network,
        topology=kind,
        bandwidth_gbps=graph.bandwidth * 8e-9,
        link_latency_ns=graph.latency * 1e9,
    )
    found, expected = simulate_graph(read_graph(tmp_path / "mapped.dot"), options), graph.results[theirs]
    depth, _ = depths(graph, expected, "star" if kind == "star" else "duplex")
    for k, end in enumerate(expected["task_end"]):
        assert abs(int(found.tasks["end_ns"][k]) - end * 1e9) <= depth[k]


@pytest.mark.parametrize("how", ["ss", "hosts"])
def test_a_list_of_ten_thousand_tasks_is_simgrids(shared: Path, how: str) -> None:
    found = list_case(shared)
    hosts = np.zeros(len(found.gflop), np.int64)
    part = GraphPart(technique("ss")) if how == "ss" else GraphPart(MAPPED, host=hosts)
    application = Application(found.gflop, found.speeds, phases=[part], edges=edges_of(found.edges))
    assert application.advance()
    found.check(graph_ran(application))
