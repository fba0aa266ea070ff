"""Task graphs and the orders of their tasks: small cases by hand, and networkx as the judge of random ones."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import table_rows

from als.graphs.order import by_rank, index_edges, topological_order, upward_ranks
from als.graphs.task_graph import TaskGraph
from traces.base.errors import InputError

DIAMOND = ([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 2], [1, 2, 3, 3], [10.0, 20.0, 30.0, 40.0])


def graph_of(gflop: Any, source: Any, target: Any, data: Any, **others: Any) -> TaskGraph:
    return TaskGraph(
        np.array(gflop, float), np.array(source, np.int64), np.array(target, np.int64), np.array(data, float), **others
    )


def refused(*columns: Any, **others: Any) -> str:
    with pytest.raises(InputError) as caught:
        graph_of(*columns, **others)
    return str(caught.value)


class Ordered:
    """A graph with all that the kernels make of it."""

    def __init__(self, graph: TaskGraph, s_per_gflop: float = 1.0, latency_s: float = 0.0, s_per_byte: float = 0.0):
        n, e = graph.n_tasks, graph.n_edges
        self.out_first, self.in_first = np.full(n + 1, -7), np.full(n + 1, -7)
        self.in_edge, self.order, self.missing = np.full(e, -7), np.full(n, -7), np.full(n, -7)
        self.ranks, self.position, self.at = np.full(n, np.nan), np.full(n, -7), np.full(n + 3, -7)
        index_edges(graph.source, graph.target, n, self.out_first, self.in_first, self.in_edge)
        self.n_ordered = topological_order(self.out_first, graph.target, self.in_first, n, self.order, self.missing)
        upward_ranks(
            graph.gflop, self.out_first, graph.target, graph.bytes, self.order, self.ranks, s_per_gflop, latency_s,
            s_per_byte,
        )  # fmt: skip
        by_rank(self.ranks, self.order, self.position, self.at, 3)


@st.composite
def random_graphs(draw: st.DrawFn) -> TaskGraph:
    n = draw(st.integers(1, 40))
    ends = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=3 * n))
    place = draw(st.permutations(range(n)))  # so that edges do not only go from lower to higher numbers
    edges = sorted({(a, b) if place[a] < place[b] else (b, a) for a, b in pairs if a != b}, key=lambda edge: edge[1])
    amounts = st.integers(0, 9)  # few, so that ranks are often equal
    return graph_of(
        [draw(amounts) for _ in range(n)], [a for a, _ in edges], [b for _, b in edges], [draw(amounts) for _ in edges]
    )


def test_edges_are_sorted_with_their_bytes() -> None:
    graph = graph_of([1, 1, 1], [1, 0, 0], [2, 2, 1], [12, 2, 1])
    assert graph.source.tolist() == [0, 0, 1]
    assert graph.target.tolist() == [1, 2, 2]
    assert graph.bytes.tolist() == [1, 2, 12]
    assert (graph.n_tasks, graph.n_edges) == (3, 3)
    assert [graph.label(task) for task in range(3)] == ["0", "1", "2"]
    assert graph_of([1, 1], [], [], [], names=("a", "b")).label(1) == "b"


@pytest.mark.parametrize(
    ("columns", "others", "says"),
    [
        *table_rows(__file__, "impossible_graphs_are_refused"),
        (([1, 1], [], [], []), {"names": ("a", "\ud800")}, "control characters"),
    ],
)
def test_impossible_graphs_are_refused(columns: Any, others: dict[str, Any], says: str) -> None:
    arrays = {name: np.array(others.pop(name)) for name in ("host", "core") if name in others}
    message = refused(*columns, **others, **arrays)
    assert says in message
    assert message.startswith("graph: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("source", "target", "cycle"),
    [
        # 0 -> 1 -> 2 -> 3 -> 1, and 3 -> 4: only 1, 2 and 3 are on the cycle.
        ([0, 1, 2, 3, 3], [1, 2, 3, 1, 4], "a -> 'b b' -> c -> a"),
        # The first task that is left waits for the cycle and is not on it.
        ([3, 1, 2, 3], [0, 2, 3, 1], "a -> 'b b' -> c -> a"),
    ],
)
def test_a_cycle_is_named_by_its_tasks(source: list[int], target: list[int], cycle: str) -> None:
    message = refused([1] * 5, source, target, [0] * len(source), names=("start", "a", "b b", "c", "end"))
    assert message == f"graph: the tasks {cycle} wait for each other"


@pytest.mark.parametrize(("column", "limit"), [("tasks", "MAX_TASKS_PER_JOB"), ("edges", "MAX_EDGES")])
def test_too_large_a_graph_is_refused(column: str, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = graph_of(*DIAMOND).to_networkx()
    monkeypatch.setattr(f"als.graphs.task_graph.{limit}", 3)
    assert f"4 {column}; allowed: up to 3" in refused(*DIAMOND)
    with pytest.raises(InputError, match=f"4 {column}; allowed: up to 3"):
        TaskGraph.from_networkx(theirs)


def test_from_networkx() -> None:
    theirs = nx.DiGraph(name="mine")
    theirs.add_node("a", flops=2e9, host=3)
    theirs.add_node(("b", 1), gflop=5, host=np.int64(0))
    theirs.add_edge("a", ("b", 1))
    graph = TaskGraph.from_networkx(theirs)
    assert (graph.gflop.tolist(), graph.bytes.tolist(), graph.names) == ([2.0, 5.0], [0.0], ("a", "('b', 1)"))
    assert graph.host is not None
    assert (graph.host.tolist(), graph.name) == ([3, 0], "mine")
    again = graph.to_networkx()
    assert (again.nodes["a"], again.graph) == ({"gflop": 2.0, "host": 3}, {"name": "mine"})
    for node, core in zip(theirs, (0, 5), strict=True):
        theirs.nodes[node]["core"] = core
    pinned = TaskGraph.from_networkx(theirs)
    assert pinned.core is not None
    assert pinned.core.tolist() == [0, 5]
    assert pinned.to_networkx().nodes["a"] == {"gflop": 2.0, "host": 3, "core": 0}


def test_tasks_are_ordered_first_come_first_served() -> None:
    # 3 frees 0 before 2 frees 1, as 2 and 3 wait for no task and 2 comes first: 2 frees 1, then 3 frees 0.
    ordered = Ordered(graph_of([1] * 4, [2, 3], [1, 0], [0, 0]))
    assert ordered.order.tolist() == [2, 3, 1, 0]


@given(random_graphs())
def test_orders_agree_with_networkx(graph: TaskGraph) -> None:
    theirs, ordered = graph.to_networkx(), Ordered(graph, 0.5, 0.25, 0.125)
    assert ordered.n_ordered == graph.n_tasks
    assert not ordered.missing.any()
    place = {str(task): at for at, task in enumerate(ordered.order.tolist())}
    assert sorted(place.values()) == list(range(graph.n_tasks))
    assert all(place[a] < place[b] for a, b in theirs.edges)
    for task in range(graph.n_tasks):
        edges = ordered.in_edge[ordered.in_first[task] : ordered.in_first[task + 1]]
        assert graph.target[edges].tolist() == [task] * theirs.in_degree(str(task))
        assert sorted(edges) == edges.tolist()
        out = slice(ordered.out_first[task], ordered.out_first[task + 1])
        assert {str(target) for target in graph.target[out].tolist()} == set(theirs.successors(str(task)))
    expected: dict[str, float] = {}
    for task in reversed(list(nx.topological_sort(theirs))):
        ranks_after = [
            (0.25 + 0.125 * data["bytes"] if data["bytes"] else 0.0) + expected[to]  # of no bytes: order only
            for _, to, data in theirs.out_edges(task, data=True)
        ]
        expected[task] = theirs.nodes[task]["gflop"] * 0.5 + max(ranks_after, default=0.0)
    assert ordered.ranks.tolist() == [expected[str(task)] for task in range(graph.n_tasks)]
    by_hand = sorted(range(graph.n_tasks), key=lambda task: (-expected[str(task)], place[str(task)]))
    assert ordered.at.tolist() == [-7, -7, -7, *by_hand]
    assert ordered.position[by_hand].tolist() == list(range(3, graph.n_tasks + 3))


def networkx_graph(*nodes: tuple[object, dict[str, Any]], edges: Any = ()) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


A, B = ("a", {"flops": 1}), ("b", {"flops": 1})


@pytest.mark.parametrize(
    ("theirs", "says"),
    [
        (nx.Graph(), "a Graph; allowed: a networkx.DiGraph"),
        (nx.MultiDiGraph(), "a MultiDiGraph; allowed"),
        ("a -> b", "a str; allowed"),
        (nx.DiGraph(), "a graph without tasks"),
        (networkx_graph(A, ("b", {})), "task 'b': has no flops"),
        (networkx_graph(A, edges=[("a", "c")]), "task 'c': has no flops"),
        (networkx_graph(("a", {"flops": 1, "gflop": 1})), "task 'a': has flops and gflop"),
        (networkx_graph(("a", {"flops": -1})), "task 'a': flops: -1 is out of range"),
        (networkx_graph(("a", {"flops": float("nan")})), "task 'a': flops: nan is out of range"),
        (networkx_graph(("a", {"flops": "1"})), "task 'a': flops: '1' is not a number"),
        (networkx_graph(("a", {"flops": 10**400})), "task 'a': flops: "),
        (networkx_graph(A, B, edges=[("a", "b", {"bytes": -1})]), "edge 'a' -> 'b': bytes: -1 is out of range"),
        (networkx_graph(A, B, edges=[("a", "b", {"bytes": None})]), "edge 'a' -> 'b': bytes: None is not"),
        (networkx_graph((1, {"flops": 1}), ("1", {"flops": 1})), "two tasks are called '1'"),
        (networkx_graph(A, B, edges=[("a", "b"), ("b", "a")]), "the tasks a -> b -> a wait for each other"),
        (networkx_graph(A, edges=[("a", "a")]), "the task a waits for itself"),
        (networkx_graph(("a", {"flops": 1, "host": 1}), B), "task 'b': has no host, as others do"),
        (networkx_graph(("a", {"flops": 1, "host": -1})), "task 'a': host: -1 is out of range"),
        (networkx_graph(("a", {"flops": 1, "host": "x"})), "task 'a': host: 'x' is not a whole number"),
    ],
)
def test_unsupported_networkx_graphs_are_refused(theirs: Any, says: str) -> None:
    with pytest.raises(InputError, match=r"^here: ") as caught:
        TaskGraph.from_networkx(theirs, where="here")
    assert says in str(caught.value)
