"""A job's graph: the factors of its tasks' work, the scale of work and bytes, room, and the order of its streams."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import drawing

from als.graphs import GraphDraft, GraphModel, graph_kernel, graph_model
from als.graphs.draw import IMPOSSIBLE, NO_ROOM, draw_graph, drawn_graph
from als.graphs.table import graph_table, new_drawing_room
from als.streams import GRAPH_WORK, GRAPHS, fill_round_keys, start_stream
from traces.base.errors import InputError, PluginError
from traces.compiled import Array


@graph_kernel
def never(draft: GraphDraft) -> int:
    return -2


def of_file(gflop: list[float], edges: list[tuple[int, int, float]], **given_ones: Any) -> GraphModel:
    graph: Any = SimpleNamespace(
        gflop=np.array(gflop),
        source=np.array([edge[0] for edge in edges], np.int64),
        target=np.array([edge[1] for edge in edges], np.int64),
        bytes=np.array([edge[2] for edge in edges], np.float64),
    )
    for column in vars(graph).values():
        column.flags.writeable = False
    return GraphModel(
        "file", never, np.empty(0), lambda n, p: (len(gflop), len(edges)), ccr=None, source=graph, **given_ones
    )


def factors(stream: Any, n: int, cov: float) -> list[float]:
    found: list[float] = []
    while len(found) < n:
        factor = 1 + cov * drawing.normal(next(stream))
        if factor > 0:
            found.append(factor)
    return found


class Streams:
    """A job's two streams, from their beginning, and arrays for its graphs."""

    def __init__(self, tasks: int, edges: int, seed: int = 1, job: int = 2) -> None:
        self.gflop = np.full(tasks, -1.0)
        self.edges = new_drawing_room(edges, 1)
        self.size = self.edges.draft.size
        self.keys = self.edges.keys
        fill_round_keys(self.keys, np.uint64(seed), np.uint64(job))
        start_stream(self.edges.draft.cursor, GRAPHS)
        start_stream(self.edges.work_cursor, GRAPH_WORK)

    def draw(
        self,
        model: GraphModel,
        n: int = 0,
        total: float = 1.0,
        rate: float = 1.0,
        first: int = 0,
        last: int | None = None,
    ) -> int:
        of, edges = graph_table([model]), self.edges
        if last is not None:
            shorter = {name: getattr(edges, name)[:last] for name in ("source", "target", "bytes")}
            edges = edges._replace(**shorter)
        return draw_graph(of, edges, 0, self.gflop[first:last], first, n, 4, total, rate)

    def graph(self, first: int = 0) -> tuple[list[float], list[int], list[int], list[float]]:
        n, n_edges = self.size.tolist()
        columns: list[Array] = [self.gflop[first : first + n]]
        columns += [
            column[first : first + n_edges] for column in (self.edges.source, self.edges.target, self.edges.bytes)
        ]
        return tuple(column.tolist() for column in columns)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**64 - 1),
    job=st.integers(0, 2**62),
    n=st.integers(1, 40),
    cov=st.sampled_from((0.01, 0.25, 1.0, 10.0)),
    total=st.floats(1e-3, 1e9),
)
def test_work_is_weight_times_the_factor_of_the_reference(
    seed: int, job: int, n: int, cov: float, total: float
) -> None:
    graph = drawn_graph(graph_model(f"chain:cov={cov},ccr=2"), seed, job, n, 4, total, 10.0)
    drawn = factors(drawing.words(seed, job, GRAPH_WORK), n, cov)
    assert graph.gflop.tolist() == pytest.approx([total * factor / math.fsum(drawn) for factor in drawn], rel=1e-12)
    # All edges weigh the same: twice what a task of the mean work takes.
    assert graph.bytes.tolist() == pytest.approx([2 * total / n * 10.0] * (n - 1))


def test_weights_keep_their_proportion() -> None:
    graph = drawn_graph(graph_model("cholesky:tiles=2,ccr=0.5"), 1, 2, 0, 4, 16.0, 1000.0)
    assert graph.gflop.tolist() == pytest.approx([2, 6, 6, 2])
    assert graph.bytes.tolist() == pytest.approx([0.5 * 4.0 * 1000.0] * 3)
    assert drawn_graph(graph_model("cholesky:tiles=2,ccr=0"), 1, 2, 0, 4, 16.0, 1000.0).bytes.tolist() == [0.0] * 3
    assert drawn_graph(graph_model("cholesky:tiles=1"), 1, 2, 0, 4, 16.0, 1000.0).bytes.tolist() == []


EDGES = [(0, 1, 100.0), (0, 2, 0.0), (1, 2, 7.0)]


def test_a_file_is_scaled_with_its_bytes_or_left_as_it_is_and_its_tasks_vary() -> None:
    graph = drawn_graph(of_file([1.0, 0.0, 3.0], EDGES), 1, 2, 99, 4, 8.0, 1e9)
    assert graph.gflop.tolist() == [2.0, 0.0, 6.0]
    assert graph.bytes.tolist() == [200.0, 0.0, 14.0]
    assert (graph.source.tolist(), graph.target.tolist()) == ([0, 0, 1], [1, 2, 2])
    graph = drawn_graph(of_file([1.0, 0.0, 3.0], EDGES, scale=False), 1, 2, 99, 4, 8.0, 1e9)
    assert graph.gflop.tolist() == [1.0, 0.0, 3.0]
    assert graph.bytes.tolist() == [100.0, 0.0, 7.0]
    drawn = factors(drawing.words(1, 2, GRAPH_WORK), 3, 0.5)
    unscaled = drawn_graph(of_file([1.0, 0.0, 3.0], EDGES, scale=False, cov=0.5), 1, 2, 0, 4, 8.0, 1e9)
    assert unscaled.gflop.tolist() == pytest.approx([drawn[0], 0.0, 3 * drawn[2]])
    assert unscaled.bytes.tolist() == [100.0, 0.0, 7.0]
    scaled = drawn_graph(of_file([1.0, 0.0, 3.0], EDGES, cov=0.5), 1, 2, 0, 4, 8.0, 1e9)
    factor = 8.0 / (drawn[0] + 3 * drawn[2])
    assert scaled.gflop.tolist() == pytest.approx([factor * drawn[0], 0.0, factor * 3 * drawn[2]])
    assert scaled.bytes.tolist() == pytest.approx([factor * 100.0, 0.0, factor * 7.0])


@pytest.mark.parametrize(
    "model", [of_file([0.0, 0.0], []), of_file([1e-300, 0.0], [(0, 1, 1e300)]), of_file([1e308, 1e308], [(0, 1, 1.0)])]
)
def test_a_file_that_cannot_be_scaled(model: GraphModel) -> None:
    with (
        np.errstate(over="ignore"),
        pytest.raises(InputError, match="graph file: its work cannot be scaled to the job's"),
    ):
        drawn_graph(model, 1, 2, 0, 4, 8e30, 1.0)


def test_the_graphs_of_a_job_follow_each_other_in_its_streams() -> None:
    one = Streams(200, 400)
    first, second = graph_model("layered:tasks=30,cov=0.3"), graph_model("layered:tasks=50,cov=0.4")
    assert one.draw(first) == 0
    whole = one.graph()
    assert one.draw(second, first=150) == 0
    assert one.graph(150)[1] != drawn_graph(second, 1, 2, 0, 4, 1.0, 1.0).source.tolist()
    alone = drawn_graph(first, 1, 2, 0, 4, 1.0, 1.0)
    assert whole == tuple(column.tolist() for column in alone)
    stream = drawing.words(1, 2, GRAPH_WORK)
    factors(stream, 30, 0.3)
    drawn = factors(stream, 50, 0.4)
    assert one.graph(150)[0] == pytest.approx([factor / math.fsum(drawn) for factor in drawn])


def test_where_there_is_no_room_the_streams_stay_where_they_were() -> None:
    model, other = graph_model("layered:tasks=41,cov=0.3"), graph_model("layered:tasks=13,cov=0.4")
    patient, hasty = Streams(100, 400), Streams(100, 400)
    for streams in (patient, hasty):
        assert streams.draw(other) == 0
    n, n_edges = 41, 0
    for last in (0, 40, 41, 60):
        assert hasty.draw(model, last=last) == NO_ROOM
        n, n_edges = hasty.size.tolist()
    assert n == 41
    assert n_edges > 60
    for streams in (patient, hasty):
        assert streams.draw(model, last=n_edges) == 0
    assert hasty.size.tolist() == [n, n_edges]
    assert patient.graph() == hasty.graph()
    assert hasty.draw(of_file([1.0, 1.0], [(0, 1, 1.0)]), last=1) == NO_ROOM
    assert hasty.size.tolist() == [2, 1]


@graph_kernel
def wrong_one(draft: GraphDraft) -> int:
    """A graph of two edges that the parameters say: gflop of a task, the edges, bytes of one, and the sizes."""
    gflop, source, target, bytes_, size = draft.gflop, draft.source, draft.target, draft.bytes, draft.size
    params = draft.params
    gflop[0], gflop[1], gflop[2] = 1.0, 1.0, params[0]
    source[0], target[0], source[1], target[1] = int(params[1]), int(params[2]), int(params[3]), int(params[4])
    bytes_[0], bytes_[1] = 1.0, params[5]
    size[0], size[1] = int(params[6]), int(params[7])
    return 0


#: Of each parameter of the rule, the values that break its contract.
BREAKS = (
    (0.0, -1.0, math.nan, math.inf), (-1, 1), (0,), (0, 2), (1, 3), (0.0, math.inf, math.nan), (0, 4), (-1, 3)
)  # fmt: skip


@pytest.mark.parametrize(("place", "value"), [(place, one) for place, values in enumerate(BREAKS) for one in values])
def test_a_rule_that_breaks_its_contract_is_named(place: int, value: float) -> None:
    params = [1.0, 0, 1, 1, 2, 1.0, 3, 2]

    def size(tasks: int, cores: int) -> tuple[int, int]:
        return 3, 2

    sound = drawn_graph(GraphModel("sound", wrong_one, np.array(params), size), 1, 2, 0, 4, 3.0, 1.0)
    assert sound.gflop.tolist() == [1.0] * 3
    params[place] = value
    if (place, value) == (3, 0):
        params[4] = 1  # the same edge twice
    with pytest.raises(PluginError, match="graph w: its rule makes no graph; allowed: weights above 0"):
        drawn_graph(GraphModel("w", wrong_one, np.array(params), size), 1, 2, 0, 4, 3.0, 1.0)


def test_what_is_beyond_every_float_is_impossible() -> None:
    streams = Streams(10, 10)
    assert streams.draw(graph_model("chain:tasks=3"), rate=math.inf) == IMPOSSIBLE
    for total in (0.0, -1.0, math.nan, math.inf):
        assert streams.draw(graph_model("chain:tasks=3"), total=total) == IMPOSSIBLE
    assert streams.draw(graph_model("chain:tasks=3,cov=10")) == 0
    with pytest.raises(PluginError, match="graph w: make is not made by graph_kernel"):
        drawn_graph(GraphModel("w", lambda *a: 0, np.empty(0), lambda n, p: (1, 0)), 1, 2, 0, 4, 3.0, 1.0)
