"""Small inputs that users met with their own files, each explained in a README; and published workflows."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from command_line import Ran, succeeds
from layers import two_stay
from nesting import check_nesting
from tables import table_rows

from als.graphs.readers import CORE_GFLOPS, read_graph
from als.graphs.task_graph import TaskGraph
from bls.workloads import read_workload
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_run import simulate_graph
from traces.base.errors import InputError
from traces.checks.ledger import check_ledger
from traces.exporters.otf2 import write_otf2


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


def performed(*words: object) -> Ran:
    """A command that must succeed."""
    return succeeds(*words)


def run(folder: Path, file: str, out: Path, *words: object) -> pd.DataFrame:
    """The table of jobs of a run of recorded jobs."""
    performed("run", folder / file, "--als", "recorded", "--trace", "none", "--out", out, *words)
    return pd.read_parquet(out / "jobs.parquet")


def test_memory(cases: Path) -> None:
    found = read_workload(cases / "sacct-reqmem-flag/jobs.sacct")
    assert found.memory_kb.tolist() == [4096000, 2867200, 2097152, 131072000]


def test_gpus(cases: Path) -> None:
    assert read_workload(cases / "sacct-typed-gpus/jobs.sacct").extras["gpus"].tolist() == [2, 2, 1, 3]


def test_names_of_jobs(cases: Path) -> None:
    found = read_workload(cases / "sacct-jobname-delimiter/jobs.sacct")
    assert found.job_id.tolist() == [101, 102, 103, 104]
    assert [found.job_name(row) for row in range(4)] == ["plain", "two\nlines", "crazy|name", "last"]
    assert not any(found.rejects.values())


@pytest.mark.parametrize(("name", "words"), [("fixed-width.sacct", "--parsable2"), ("noheader.sacct", "--noheader")])
def test_dumps_that_are_refused(cases: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_workload(cases / "sacct-header-words" / name)


def test_json(cases: Path) -> None:
    found = read_workload(cases / "sacct-header-words/sacct.json")
    assert (found.job_id.tolist(), found.cores.tolist(), (found.wait_ns // 10**9).tolist()) == ([12], [4], [5])


def test_held_jobs_start_when_they_may(cases: Path, tmp_path: Path) -> None:
    folder = cases / "sacct-eligible"
    jobs = run(folder, "jobs.sacct", tmp_path / "r", "--platform", folder / "machine.toml")
    assert (jobs.start_ns // 10**9).tolist() == [0, 7210]
    assert json.loads((tmp_path / "r/run.json").read_text())["metrics"]["max_wait_ns"] == 0
    assert "max 90 s" in performed("workload", "info", folder / "jobs.sacct").out


def test_memory_fits_the_hosts(cases: Path, tmp_path: Path) -> None:
    folder = cases / "sacct-reqmem-flag"
    jobs = run(folder, "jobs.sacct", tmp_path / "r", "--platform", folder / "machine.toml", "--memory", "swf")
    assert jobs.state.tolist() == ["completed"] * 4
    assert jobs.allocation[3].count(" ") == 3  # 125 GB per core: one core on each of four hosts of 128 GB


def test_partitions_and_users_are_merged_by_name(cases: Path, tmp_path: Path) -> None:
    files = [cases / "merge-partitions" / name for name in ("jan.sacct", "feb.sacct")]
    performed("workload", "merge", *files, "-o", tmp_path / "m.swf")
    merged = read_workload(tmp_path / "m.swf")
    assert merged.partition.tolist() == [1, 2, 2, 1]
    assert merged.user.tolist() == [1, 2, 2, 1]
    assert {"; Partition: 1 gpu", "; Partition: 2 cpu"} <= set(merged.header)


@pytest.mark.parametrize(("schedule", "makespan_s"), [("static,4", 180), ("static:chunk=4", 180), ("static,1", 144)])
def test_chunks_of_static_are_dealt_in_turn(cases: Path, tmp_path: Path, schedule: str, makespan_s: int) -> None:
    lengths = cases / "openmp-static-chunk/lengths.txt"
    words = ("--cores", 4, "--core-speed", 1, "--als", schedule, "--out", tmp_path / "l")
    assert f"({makespan_s}000000000 ns)" in performed("loop", lengths, *words).out


@pytest.mark.parametrize(
    ("name", "words", "cores"), [("slurm-conf-procs", (), 48), ("topology-gaps", ("--switches", 1), 24)]
)
def test_slurms_files_are_taken(cases: Path, tmp_path: Path, name: str, words: tuple[object, ...], cores: int) -> None:
    folder = cases / name
    performed("replay", folder / "jobs.swf", "--slurm-conf", folder / "slurm.conf", *words, "--out", tmp_path / "r")
    assert json.loads((tmp_path / "r/run.json").read_text())["machine"]["first_core"][-1] == cores


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
