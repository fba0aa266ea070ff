"""One graph alone: small graphs by hand, what is kept of them, and that without edges it is the plain loop."""

import math
from typing import Any

import numpy as np
import pytest

import traces
from als.graphs.task_graph import TaskGraph
from als.metrics import GRAPH_METRICS
from als.metrics.loops import LOOP_METRICS
from als.planners.contract import MAPPED
from bridge.single import graph_run
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_run import GraphResult, check_memory, critical_path, simulate_graph
from bridge.single.graph_source import GraphSource
from bridge.single.records import graph_summary
from traces.base.errors import InputError
from traces.ledger_tables import TASKS, TRANSFERS

SECOND = 10**9

#: 1 GB/s, and 500 ns a link.
GIGABYTE: dict[str, Any] = {"bandwidth_gbps": 8.0}


def graph(
    gflop: list[float], edges: list[tuple[int, int, float]], host: list[int] | None = None, names: tuple[str, ...] = ()
) -> TaskGraph:
    source, target, n_bytes = (np.array([edge[k] for edge in edges]) for k in range(3))
    hosts = None if host is None else np.array(host)
    return TaskGraph(
        np.array(gflop), source.astype(np.int64), target.astype(np.int64), n_bytes.astype(float), names, hosts
    )


#: a sends 1 GB to b and to c, b 0.5 GB to d; d only waits for c. Two hosts.
RING = graph([2, 1, 1, 1], [(0, 1, 1e9), (0, 2, 1e9), (1, 3, 5e8), (2, 3, 0)], [0, 1, 1, 0], ("a", "b", "c", "d"))


def options(als: Any, cores: int = 2, **further: Any) -> GraphOptions:
    return GraphOptions(als, (1.0,) * cores, **further)


def rows(result: GraphResult) -> list[tuple[int, int, int]]:
    columns = (result.tasks[name] for name in ("core", "start_ns", "end_ns"))
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def test_a_planned_pair_of_branches() -> None:
    pair = graph([1, 2, 2], [(0, 1, 1e9), (0, 2, 1e9)])
    result = simulate_graph(pair, options("heft", hosts=2, network="hockney", **GIGABYTE))
    # One branch stays; the other one's data take 1 s and 500 ns.
    moved = 2 * SECOND + 500
    assert rows(result) == [(0, 0, SECOND), (0, SECOND, 3 * SECOND), (1, moved, moved + 2 * SECOND)]
    assert result.makespan_ns == moved + 2 * SECOND
    assert result.transfers is not None
    assert {name: column.tolist() for name, column in result.transfers.items()} == {
        "job_id": [0],
        "source": [0],
        "target": [2],
        "source_core": [0],
        "target_core": [1],
        "bytes": [1e9],
        "sent_ns": [SECOND],
        "arrived_ns": [moved],
    }
    found = result.metrics
    assert list(found) == [name for name, _ in (*LOOP_METRICS, *GRAPH_METRICS)]
    assert found["critical_path_ns"] == 3 * SECOND
    assert found["slr"] == pytest.approx((moved / SECOND + 2) / 3)
    assert found["speedup"] == pytest.approx(5 / (moved / SECOND + 2))
    assert found["parallelism"] == pytest.approx(5 / 3)
    assert (found["transfers"], found["transfer_bytes"], found["transfer_wait_ns"]) == (1, 1e9, SECOND + 500)
    assert found["efficiency"] == pytest.approx(found["speedup"] / 2)
    assert tuple(result.tasks) == (*TASKS.columns, "name")
    assert tuple(result.transfers) == TRANSFERS.columns


@pytest.mark.parametrize(
    ("network", "begins_ns"),
    # Each flow alone has the link's 1 GB/s; two that share it have half.
    [("none", 2 * SECOND), ("hockney", 3 * SECOND + 500), ("cm02", 4 * SECOND + 500)],
)
def test_mapped_to_hosts(network: str, begins_ns: int) -> None:
    result = simulate_graph(RING, options("mapped", 4, hosts=2, network=network, **GIGABYTE))
    back = 0 if network == "none" else SECOND // 2 + 500
    last = begins_ns + SECOND + back
    assert rows(result) == [
        (0, 0, 2 * SECOND),
        (2, begins_ns, begins_ns + SECOND),
        (3, begins_ns, begins_ns + SECOND),
        (0, last, last + SECOND),
    ]
    if network == "none":
        assert result.transfers is None
        assert result.metrics["transfers"] == 0
    else:
        assert result.transfers is not None
        # The edge without bytes is none.
        assert result.transfers["target"].tolist() == [1, 2, 3]
        assert result.transfers["arrived_ns"].tolist() == [begins_ns, begins_ns, last]


def test_the_critical_path() -> None:
    assert critical_path(RING).tolist() == [0, 1, 3]  # through c it is as long
    assert critical_path(graph([1, 3, 1, 2.5], [(0, 2, 1e12), (0, 3, 0)])).tolist() == [0, 3]
    assert critical_path(graph([1, 9, 1], [(0, 2, 0)])).tolist() == [1]


def test_the_ledger_is_a_job_of_its_own() -> None:
    result = simulate_graph(RING, options(MAPPED, 3, hosts=2, network="cm02"))
    ledger = result.ledger
    traces.check_ledger(ledger)
    assert ledger.machine.host_names == ("host 0", "host 1")
    assert ledger.machine.first_core.tolist() == [0, 2, 3]
    assert (ledger.jobs.tasks.tolist(), ledger.jobs.chunks.tolist()) == ([4], [4])
    assert ledger.transfers is not None
    assert ledger.transfers.source.tolist() == [0, 0, 1]
    assert simulate_graph(RING, options("ss")).ledger.transfers is None
    assert np.asarray(result.tasks["core"]).flags.writeable  # the ledger's columns are copies


def test_mapped_to_cores_each_computes_its_own_in_order() -> None:
    pinned = TaskGraph([1, 2, 1, 1], [], [], [], (), [1, 1, 1, 0], "", [1, 1, 1, 0])
    found = simulate_graph(pinned, options("mapped", 4, hosts=2))
    assert rows(found) == [(3, 0, SECOND), (3, SECOND, 3 * SECOND), (3, 3 * SECOND, 4 * SECOND), (0, 0, SECOND)]
    by_rank = simulate_graph(pinned, options("mapped", 4, hosts=2, order="rank"))
    assert rows(by_rank)[1] == (3, 0, 2 * SECOND)
    with pytest.raises(InputError, match=r"mapped': task '0' is mapped to core 1 of host 1; allowed there: 0 to 0"):
        simulate_graph(pinned, options("mapped", 3, hosts=2))
    assert len({core for core, _, _ in rows(simulate_graph(pinned, options("ss", 4, hosts=2)))}) == 4


def test_a_graph_larger_than_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_run, "free_memory_bytes", lambda: 1000)
    with pytest.raises(InputError, match=r"^graph: about 4 tasks and 4 edges need 0.0 GiB with ss, and 0.0 are free$"):
        simulate_graph(RING, options("ss"))
    monkeypatch.setattr(graph_run, "free_memory_bytes", lambda: 10**9)
    check_memory("g", 10**6, 10**6, options("ss"))
    with pytest.raises(InputError, match="with peft"):  # which has a table of tasks and speeds
        check_memory("g", 10**6, 10**6, GraphOptions("peft", tuple(range(1, 200))))
    with pytest.raises(InputError, match=r"layered: about 90000000 tasks"):
        GraphSource("layered:tasks=90000000").read(options("ss"))
    check_memory("g", 10**6, 10**6, options("ss", 4, hosts=4, network="cm02"))
    tree = "fat-tree:down=2x2x2x2x2x2x2x2,up=1x1x1x1x1x1x1x1,cables=1x1x1x1x1x1x1x1"
    deep = options("ss", 4, hosts=4, network="cm02", topology=tree)
    with pytest.raises(InputError, match="with ss"):  # ways of up to sixteen links
        check_memory("g", 10**6, 10**6, deep)
    monkeypatch.setattr(graph_run, "free_memory_bytes", lambda: None)
    check_memory("g", 10**9, 10**9, options("ss"))


def test_a_generators_work_has_the_mean_that_was_asked_for() -> None:
    setting = options("ss", 4, bandwidth_gbps=8.0)
    drawn = GraphSource("cholesky", tasks=30, mean_gflop=2.0).read(setting)
    assert drawn.n_tasks == 35  # of five tiles
    assert drawn.gflop.mean() == pytest.approx(2.0, rel=1e-12)
    assert drawn.bytes.mean() == pytest.approx(2.0 * 1e9)  # ccr 1: as long as a task on a core of 1 GFLOP/s
    even = GraphSource("chain:tasks=7").read(setting)
    assert even.gflop.tolist() == [1.0] * 7
    varied = GraphSource("chain", tasks=500, variation=0.5).read(setting)
    assert varied.gflop.std() == pytest.approx(0.5, abs=0.05)
    assert GraphSource("chain").read(setting).n_tasks == 4  # one a core


def test_no_speed_up_is_beyond_what_the_cores_can_do() -> None:
    """Three tasks could employ three cores; of two cores one is half as fast, and both do 1.5 times the work of the faster."""
    assert "of at most 1.5000" in graph_summary(simulate_graph(graph([1, 1, 1], []), GraphOptions("ss", (1.0, 0.5))))
    assert "of at most 1.0000" in graph_summary(simulate_graph(graph([1, 1], [(0, 1, 0)]), options("ss", 2)))


def test_small_and_large_cases() -> None:
    nothing = simulate_graph(graph([0, 0], [(0, 1, 0)]), options("ss"))
    assert rows(nothing) == [(0, 0, 1), (0, 1, 2)]  # tasks without work take 1 ns
    assert math.isnan(nothing.metrics["slr"])
    assert math.isnan(nothing.metrics["length_cov"])
    two = graph([4, 2, 2], [(0, 2, 0), (1, 2, 0)])
    assert rows(simulate_graph(two, options("ss", speeds=("late:cores=1,at=1s",))))[1] == (1, SECOND, 3 * SECOND)
    with pytest.raises(InputError, match="all cores are lost, with 3 tasks left"):
        simulate_graph(two, options("ss", speeds=("lost:cores=0-1,at=1s",)))
    slow = simulate_graph(
        graph([1, 2, 2], [(0, 1, 1e9), (0, 2, 1e9)]), options("ss", network="hockney", memory_gbps=16.0)
    )
    assert slow.transfers is not None
    assert slow.transfers["arrived_ns"].tolist() == [SECOND + SECOND // 2]
    assert slow.metrics["transfers"] == 0  # between hosts
