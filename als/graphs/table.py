"""The graphs of a run's programs as arrays that kernels take, and the room that they are drawn into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from als.graphs.contract import MAKE_GRAPH, GraphDraft, GraphModel
from traces.base.errors import PluginError
from traces.compiled import Array, as_value, function_table, own, types
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, StateKind, Words
from traces.kernels.state import State

_NO_NUMBERS, _NO_PLACES, _NO_WORDS = np.empty(0), np.empty(0, np.int64), np.empty(0, np.uint64)

# Columns of GraphTable.rows.
PARAMS_FIRST = 0
PARAMS_STOP = 1
TASKS_FIRST = 2
TASKS_STOP = 3
EDGES_FIRST = 4
EDGES_STOP = 5
SCALE = 6

# Columns of GraphTable.ratios.
CCR = 0
COV = 1


class GraphTable(State):
    """What the kernels know of G graphs."""

    rows: Ints2  # (G, 7): at PARAMS_FIRST … SCALE, where its parameters, tasks and edges are, and how it is scaled
    ratios: Floats2  # (G, 2): communication to computation, NaN of a file; coefficient of variation
    calls: Ints  # (G,): the generators' rules by their addresses
    params: Floats  # the parameters of all generators, one behind the other
    # The tasks and the edges of the graphs of files, one behind the other
    gflop: Floats
    source: Ints
    target: Ints
    bytes: Floats


class DrawingRoom(State):
    """Work space for drawing the tasks of a job, and where the edges of its graphs are drawn to; of size 0 if it has none."""

    keys: Words  # (20,): round keys of the job's streams
    # (3,) and (4,): of the stream of task lengths
    cursor: Ints
    words: Words
    memo: Floats  # what the rule of the lengths keeps
    # (3,) and (4,): of the stream of the factors of graphs' work
    work_cursor: Ints
    work_words: Words
    # The edges of the job's graphs, within each part
    source: Ints
    target: Ints
    bytes: Floats
    first: Ints  # (parts + 1 or more,): where the edges of each part begin
    draft: GraphDraft  # the graph that is drawn, or was drawn last: its size, and the stream of the job's graphs


def new_drawing_room(
    n_edges: int, n_parts: int, *, memo: int = 0, has_graph: bool = True, keys: Array | None = None
) -> DrawingRoom:
    """Room for so many edges of so many parts, and so much memo; ``keys`` that others use, too."""
    return DrawingRoom(
        keys=np.empty(20, np.uint64) if keys is None else keys,
        cursor=np.zeros(3, np.int64),
        words=np.zeros(4, np.uint64),
        memo=np.zeros(memo),
        work_cursor=np.zeros(3, np.int64),
        work_words=np.zeros(4, np.uint64),
        source=np.empty(n_edges, np.int64),
        target=np.empty(n_edges, np.int64),
        bytes=np.empty(n_edges),
        first=np.zeros(n_parts + 1, np.int64),
        draft=_new_draft() if has_graph else _NO_DRAFT,
    )


def _new_draft() -> GraphDraft:
    return GraphDraft(
        n_tasks=0,
        n_cores=0,
        params=_NO_NUMBERS,
        keys=_NO_WORDS,
        cursor=np.zeros(3, np.int64),
        words=np.zeros(4, np.uint64),
        gflop=_NO_NUMBERS,
        source=_NO_PLACES,
        target=_NO_PLACES,
        bytes=_NO_NUMBERS,
        size=np.zeros(2, np.int64),
    )


#: Of all jobs without a graph: nobody reads what is written there.
_NO_DRAFT = _new_draft()


#: ``draw(graphs, edges, place, gflop, first edge, tasks, cores, total GFLOP, bytes a GFLOP)``
DRAW_GRAPH = types.int64(
    StateKind(GraphTable),
    StateKind(DrawingRoom),
    types.int64,
    types.Column(types.float64),
    types.int64,
    types.int64,
    types.int64,
    types.float64,
    types.float64,
)


def _given_arrays(model: GraphModel) -> tuple[Array, Array, Array, Array]:
    # The columns of the model's source, or none.
    graph = model.source
    if graph is None:
        return _NO_NUMBERS, _NO_PLACES, _NO_PLACES, _NO_NUMBERS
    return (
        own(graph.gflop, np.float64),
        own(graph.source, np.int64),
        own(graph.target, np.int64),
        own(graph.bytes, np.float64),
    )


def graph_table(models: Sequence[GraphModel]) -> GraphTable:
    """The table of these models. Raises PluginError if a rule is not compiled."""
    rows: list[list[int]] = []
    params: list[float] = []
    given = [_given_arrays(model) for model in models]
    tasks = edges = 0
    for model, (gflop, source, _, _) in zip(models, given, strict=True):
        first = len(params)
        params.extend(model.params.tolist())
        rows.append([first, len(params), tasks, tasks + len(gflop), edges, edges + len(source), int(model.scale)])
        tasks, edges = tasks + len(gflop), edges + len(source)
    calls = [_value(model) for model in models]
    columns: list[Sequence[Array]] = list(zip(*given, strict=True)) if given else [(), (), (), ()]
    return GraphTable(
        np.array(rows, np.int64).reshape(-1, 7),
        np.array([[math.nan if m.ccr is None else m.ccr, m.cov] for m in models], np.float64).reshape(-1, 2),
        function_table(calls),
        np.array(params, np.float64),
        *(
            column[0]
            if len(column) == 1
            else np.concatenate([np.zeros(0, dtype), *column])  # one file's are as they are
            for dtype, column in zip((np.float64, np.int64, np.int64, np.float64), columns, strict=True)
        ),
    )


def _value(model: GraphModel) -> Any:
    try:
        return as_value(model.make, MAKE_GRAPH)  # it lives as long as the process does
    except TypeError as error:
        raise PluginError(f"graph {model.name}: make is not made by graph_kernel: {error}") from error
