"""SimGrid through the adapter against what SimGrid said of the same cases when it was asked without: loops, graphs.

Nothing but a nanosecond's rounding may lie between them. SimGrid takes what is within a nanosecond for one instant, so that a
graph whose answer comes from the 4.x series may be off by one for each task on the way.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layers import these_stay, two_stay
from tables import table_text
from test_graph_oracles import LOOPBACK, MODELS, PAIRS, TOPOLOGIES, case, usable
from test_loop_oracles import SIMGRID, cases
from two_engines import Answered, answered, between, ordered, simgrid

from als.programs.program import Graph, Loop, Program
from bridge.adapters.simgrid.peer import SimGridPeer
from bridge.protocol.messages import SimulateJob

START_NS = 7 * 10**9


def of_simgrid(order: SimulateJob) -> Answered:
    peer = SimGridPeer(simgrid())
    try:
        found = answered(peer, order)
    finally:
        peer.close()
    assert isinstance(found, Answered), found
    return found


@pytest.mark.parametrize("theirs", two_stay(SIMGRID))
def test_loops(shared: Path, theirs: str) -> None:
    for name, (given, lengths) in cases(shared).items():
        expected = given["techniques"][theirs]
        path = shared / "oracles" / "simgrid" / "als" / f"{name}.lengths.txt"
        program = Program((Loop(SIMGRID[theirs], lengths=f"file:{path},scale=no"),)).to_json()
        found = of_simgrid(ordered([given["core_gflops"]] * given["P"], program=program))
        assert len(found.start) == len(lengths)
        assert found.outcome.chunks == expected["n_chunks"], name
        first = np.flatnonzero(np.diff(found.chunk, prepend=-1))
        chunks = sorted(expected["chunks"], key=lambda chunk: chunk[1])
        assert first.tolist() == [chunk[1] for chunk in chunks], name
        assigned = np.array([chunk[3] for chunk in chunks]) * 1e9
        assert np.abs(found.start[first] - START_NS - assigned).max() <= 1, name
        finish = np.sort(found.finish - START_NS)
        assert np.abs(finish - np.sort(expected["core_finish"]) * 1e9).max() <= 1, name
        tasks = sorted(np.bincount(found.core, minlength=given["P"]).tolist())
        assert tasks == sorted(expected["core_tasks"]), name


FIXED = table_text(__file__, "fixed")


def fixed(gflop: list[float], edges: list[tuple[int, int, float]], core: list[int], n_cores: int, folder: Path) -> str:
    """A graph, each of its tasks on a core that is given, and each core's by their numbers."""
    lines = [f'{k} [gflop="{work!r}"];' for k, work in enumerate(gflop)]
    lines += [f'{a} -> {b} [bytes="{n_bytes!r}"];' for a, b, n_bytes in edges]
    (folder / "graph.dot").write_text("digraph {\n" + "\n".join(lines) + "\n}", encoding="utf-8")
    written = FIXED.format(cores=tuple(core), n_tasks=len(gflop), n_cores=n_cores)
    (folder / "fixed.py").write_text(written, encoding="utf-8")
    phase = Graph(f"{folder / 'fixed.py'}:FIXED", f"file:{folder / 'graph.dot'},scale=no")
    return Program((phase,)).to_json()


def network_of(
    kind: str, model: str, hosts: list[int], bandwidth: float, latency_s: float, memory: float | None
) -> dict[str, Any]:
    latency_factor, bandwidth_factor, weight_bytes, crosstraffic = MODELS[model]
    return between(
        hosts,
        topology=TOPOLOGIES[kind],
        bandwidth_bytes_per_s=bandwidth,
        latency_ns=latency_s * 1e9,
        memory_bytes_per_s=memory,
        latency_factor=latency_factor,
        bandwidth_factor=bandwidth_factor,
        weight_bytes=weight_bytes,
        crosstraffic=crosstraffic,
    )


@pytest.mark.parametrize(
    ("model", "every"), these_stay([("LV08", 8), *((model, 1) for model in MODELS)], lambda row: row[1] > 1)
)
def test_flows(shared: Path, tmp_path: Path, model: str, every: int) -> None:
    """Each flow from a task that ends as it begins to one that waits for it, on cores of their own."""
    compared = 0
    flows = json.loads((shared / "oracles" / "simgrid" / "net" / "flows.json").read_text(encoding="utf-8"))
    for given in flows[::every]:
        if given["case"] == "zero" or not usable(given["kind"], model):  # without bytes nothing is sent
            continue
        folder = tmp_path / str(compared)
        folder.mkdir()
        gflop = [work for flow in given["flows"] for work in (flow[3], 0.0)]
        edges = [(2 * k, 2 * k + 1, flow[2]) for k, flow in enumerate(given["flows"])]
        hosts = [int(host) for flow in given["flows"] for host in flow[:2]]
        program = fixed(gflop, edges, list(range(len(gflop))), len(gflop), folder)
        network = network_of(given["kind"], model, hosts, given["bw"], given["lat"], LOOPBACK)
        found = of_simgrid(ordered([1.0] * len(gflop), program=program, **network))
        assert np.abs(found.arrived - START_NS - np.array(given["end"][model]) * 1e9).max() <= 1.5, given
        compared += 1
    assert compared >= 30 // every


@pytest.mark.parametrize("pair", two_stay(PAIRS), ids="/".join)
@pytest.mark.parametrize(
    "name", ["d0", *(pytest.param(name, marks=pytest.mark.release) for name in ("d1", "d2", "d4", "d6"))]
)
def test_graphs(shared: Path, tmp_path: Path, name: str, pair: tuple[str, str]) -> None:
    kind, model = pair
    graph = case(shared, name)
    theirs = graph.results[f"{kind}/{model}"]
    n_cores = graph.hosts * graph.cores
    program = fixed([task["gflop"] for task in graph.tasks], graph.edges, graph.core, n_cores, tmp_path)
    hosts = [c // graph.cores for c in range(n_cores)]
    network = network_of(kind, model, hosts, graph.bandwidth, graph.latency, None)
    found = of_simgrid(ordered([graph.speed] * n_cores, program=program, **network))
    assert found.core.tolist() == graph.core
    apart = [
        np.abs(found.start - START_NS - np.array(theirs["task_start"]) * 1e9).max(),
        np.abs(found.end - START_NS - np.array(theirs["task_end"]) * 1e9).max(),
        abs(found.outcome.end_ns - START_NS - theirs["makespan"] * 1e9),
    ]
    sent = {pair[:2]: (s, a) for pair, s, a in zip(found.transfers, found.sent, found.arrived, strict=True)}
    for edge, began, arrived in theirs["comms"]:
        instants = sent[graph.edges[edge][:2]]
        apart += [abs(int(ns) - START_NS - s * 1e9) for ns, s in zip(instants, (began, arrived), strict=True)]
    assert max(apart) <= 1.5
