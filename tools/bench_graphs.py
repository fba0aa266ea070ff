"""Cases of the benchmark about task graphs: the engine alone, shared links, and a day of jobs that all are graphs."""

from __future__ import annotations

import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from als.application import Application
from als.engine.dag.parts import Edges, GraphPart
from als.graphs import graph_model
from als.graphs.draw import DrawnGraph, drawn_graph
from als.network import network_model, network_state
from als.network.state import NO_NETWORK, NetworkState
from als.planners import PLANNERS
from als.planners.mapped import MAPPED
from als.techniques import technique
from bls.machine.platform import Platform
from bridge.runs.simulation import run
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.scenario import Options, Scenario, load_workload
from tools.bench_batch import CURIES_OWN
from tools.bench_rows import CURIE, Row, log, row, timed
from traces.compiled import Array
from traces.ledger import TransferRecords

__all__ = ["graph_day", "graph_engine", "shared_links"]

_SPEED = 46.875


def _graph(tasks: int) -> DrawnGraph:
    """Layered random, with about three edges a task."""
    return drawn_graph(graph_model(f"layered:tasks={tasks},degree=3,ccr=0.1,cov=0.5"), 1, 1, 0, 64, 1e6, 1.3e8)


def _application(graph: DrawnGraph, part: GraphPart, hosts: Array, network: NetworkState) -> Application:
    edges = Edges(np.array([0, len(graph.source)]), graph.source, graph.target, graph.bytes)
    speed = np.full(len(hosts), _SPEED)
    return Application(graph.gflop, speed, phases=[part], edges=edges, core_host=hosts, network=network)


def _timed_run(graph: DrawnGraph, part: GraphPart, hosts: Array, network: NetworkState) -> tuple[float, Application]:
    # From arrays to the last record: sorting edges, ranking or planning, and running.
    began = time.perf_counter()
    application = _application(graph, part, hosts, network)
    assert application.advance()
    took = time.perf_counter() - began
    state = application.state
    assert application.ran == len(graph.gflop)
    assert (state.end_ns[graph.source] <= state.start_ns[graph.target]).all()
    return took, application


def graph_engine() -> list[Row]:
    """Graphs without a network, by upward rank; and planned."""
    rows = []
    for tasks, cores, must in ((10_000, 64, "≤ 0.02 s"), (100_000, 256, "≤ 0.3 s")):
        graph, hosts = _graph(tasks), np.zeros(cores, np.int64)
        part = GraphPart(technique("ss"), by_rank=True)
        seconds = timed(lambda: _timed_run(graph, part, hosts, NO_NETWORK)[0], 9)  # noqa: B023
        case = f"graph of {tasks:,} tasks, {len(graph.source):,} edges, {cores} cores, upward rank"
        rows.append(row(case, must, seconds))
    graph, hosts = _graph(10_000), np.repeat(np.arange(4), 16)
    network = network_state(network_model("lv08"), "full", hosts=4, bandwidth_gbps=50.0, latency_ns=500)
    for name, planner in PLANNERS.items():
        part = GraphPart(planner)
        seconds = timed(lambda: _timed_run(graph, part, hosts, network)[0], 5)  # noqa: B023
        rows.append(row(f"the graph of 10,000 tasks, 4 × 16 cores, lv08, {name}", "", seconds))
    return rows


def shared_links() -> list[Row]:
    """A fixed mapping whose transfers share links."""
    graph, rows = _graph(10_000), []
    for topology, hosts, must in (
        ("full", 4, "≤ 0.15 s"),
        ("star", 4, ""),
        ("star", 64, ""),
        ("fat-tree:down=8x8,up=1x4", 64, ""),
    ):
        core_host = np.repeat(np.arange(hosts), 64 // hosts)
        network = network_state(network_model("lv08"), topology, hosts=hosts, bandwidth_gbps=50.0, latency_ns=500)
        part = GraphPart(MAPPED, core=np.arange(len(graph.gflop)) % 64)
        transfers = int((core_host[graph.source % 64] != core_host[graph.target % 64]).sum())
        assert transfers > 22_000

        def work() -> float:
            took, application = _timed_run(graph, part, core_host, network)  # noqa: B023
            arrived = application.state.graph.arrived_ns
            assert (arrived <= application.state.start_ns[graph.target])[arrived >= 0].all()
            return took

        case = f"fixed mapping on {hosts} hosts, {transfers:,} transfers, lv08, {topology}"
        rows.append(row(case, must, timed(work, 5)))
    return rows


_DAY = """
[default]
graph = "layered:tasks=64,ccr=0.5"
als = "ss"
order = "rank"
"""


def _check_sent(transfers: TransferRecords | None, network: str) -> None:
    # A day on which nothing is sent costs no more with a network than without one.
    if network == "none":
        assert transfers is None
        return
    assert transfers is not None
    assert (transfers.bytes > 0.0).all()
    between_hosts = transfers.arrived_ns > transfers.sent_ns  # within a host it takes no time
    assert between_hosts.sum() > 30_000


def graph_day() -> list[Row]:
    """The busiest day of CEA-Curie, every job a random graph of 64 tasks with communication."""
    machines = {"the paper's 4 hosts of 64 cores": Platform(), "its own 5,832 hosts of 16 cores": CURIES_OWN}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "graphs.toml"
        path.write_text(_DAY)
        rows = []
        for (machine, platform), network in product(machines.items(), ("none", "lv08")):
            workload = load_workload(log(CURIE), platform, selection="busiest:24h", preset=False)
            level = ApplicationLevel(applications=path, network=network)
            scenario = Scenario.of(workload, platform, Options(variation=0.25, seed=1, level=level))

            def work() -> float:
                result = run(scenario)  # noqa: B023
                assert result.ledger.tasks is not None
                assert len(result.ledger.tasks) == 64 * len(workload)  # noqa: B023
                _check_sent(result.ledger.transfers, network)  # noqa: B023
                return float(result.coupling["simulation_s"])

            case = f"busiest day of CEA-Curie on {machine}, all jobs graphs of 64 tasks, network {network}, inline"
            must = "≤ 60 s" if network == "lv08" else ""
            rows.append(row(case, must, timed(work, 3), note=f"{len(workload)} jobs, records kept"))
    return rows
