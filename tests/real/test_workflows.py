"""Real and published workflows: their sizes, and that they run and are traced."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from layers import two_stay
from tables import table_rows

from als.graphs.readers import CORE_GFLOPS, read_graph
from als.graphs.task_graph import TaskGraph
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_run import simulate_graph
from traces.checks.ledger import check_ledger
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.checks import check_nesting

#: Name → tasks, edges, seconds of all tasks, bytes of all edges.
WORKFLOWS = {name: tuple(sizes) for name, *sizes in table_rows(__file__, "workflows")}


def read(shared: Path, name: str) -> TaskGraph:
    return read_graph(shared / "workflows" / name)


def test_every_file_among_the_workflows_is_known(shared: Path) -> None:
    assert {path.name for path in (shared / "workflows").iterdir()} == set(WORKFLOWS)


@pytest.mark.parametrize(("name", "expected"), WORKFLOWS.items())
def test_how_large_the_workflows_are(shared: Path, name: str, expected: tuple[int, int, float, int]) -> None:
    graph = read(shared, name)
    assert (graph.n_tasks, graph.n_edges, graph.bytes.sum()) == (expected[0], expected[1], expected[3])
    assert graph.gflop.sum() / CORE_GFLOPS == pytest.approx(expected[2])


#: On four hosts of four cores of the default platform, where a task takes as long as it did.
HOSTS, CORES = 4, 16


def on_hosts(als: str, order: str = "index") -> GraphOptions:
    return GraphOptions(als, (CORE_GFLOPS,) * CORES, hosts=HOSTS, order=order, network="lv08")


def longest_way_s(graph: TaskGraph) -> float:
    """Seconds of the longest path, without data."""
    end = dict.fromkeys(range(graph.n_tasks), 0.0)
    theirs = graph.to_networkx()
    number = {graph.label(task): task for task in range(graph.n_tasks)}
    for name in nx.topological_sort(theirs):
        before = max((end[number[producer]] for producer in theirs.predecessors(name)), default=0.0)
        end[number[name]] = before + float(graph.gflop[number[name]]) / CORE_GFLOPS
    return max(end.values())


@pytest.mark.parametrize(("als", "order"), [("heft", "index"), ("ss", "rank")])
@pytest.mark.parametrize("name", two_stay(WORKFLOWS))
def test_the_workflows_run_and_are_traced(shared: Path, tmp_path: Path, name: str, als: str, order: str) -> None:
    graph = read(shared, name)
    result = simulate_graph(graph, on_hosts(als, order))
    ledger = result.ledger
    check_ledger(ledger)  # and of transfers, that they lie between their producer and their consumer
    begin, end, core = (np.asarray(result.tasks[column]) for column in ("start_ns", "end_ns", "core"))
    assert (begin >= 0).all()
    assert (begin[graph.target] >= end[graph.source]).all()
    # Every task takes as long as it did; a nanosecond at least.
    seconds = graph.gflop / CORE_GFLOPS
    assert (np.abs((end - begin) - np.maximum(seconds * 1e9, 1.0)) <= 1).all()
    assert result.makespan_ns == end.max()
    critical_ns = longest_way_s(graph) * 1e9
    assert result.metrics["critical_path_ns"] == pytest.approx(critical_ns)
    assert result.makespan_ns >= critical_ns - graph.n_tasks
    # What has bytes and is needed on another core is sent there, once.
    sent = result.transfers
    assert sent is not None
    moved = (core[graph.source] != core[graph.target]) & (graph.bytes > 0)
    assert moved.any()
    for column, expected in (("source", graph.source), ("target", graph.target), ("bytes", graph.bytes)):
        assert sent[column].tolist() == expected[moved].tolist()
    # Between hosts no link is faster than 50 Gbit/s, and its latency is 500 ns.
    crosses = sent["source_core"] // (CORES // HOSTS) != sent["target_core"] // (CORES // HOSTS)
    assert result.metrics["transfers"] == crosses.sum()
    took = sent["arrived_ns"] - sent["sent_ns"]
    assert (took[crosses] >= sent["bytes"][crosses] / 6.25 + 500 - 1).all()
    assert (took[~crosses] == 0).all()
    assert check_nesting(write_otf2(ledger, tmp_path)) >= graph.n_tasks  # and each message that is sent is received
