"""The graphs of a run's programs as arrays that kernels take, and the room that they are drawn into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from als.graphs.contract import MAKE_GRAPH, GraphModel
from traces.base.errors import PluginError
from traces.compiled import Array, as_value, function_table, own, types
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, StateKind, Words
from traces.kernels.state import State

__all__ = [
    "CCR",
    "COV",
    "DRAW_GRAPH",
    "EDGES_FIRST",
    "EDGES_STOP",
    "PARAMS_FIRST",
    "PARAMS_STOP",
    "SCALE",
    "TASKS_FIRST",
    "TASKS_STOP",
    "EdgeRoom",
    "GraphTable",
    "graph_table",
    "new_edge_room",
]

_NO_NUMBERS, _NO_PLACES = np.empty(0), np.empty(0, np.int64)

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
    """What the kernels know of G graphs.

    Attributes
    ----------
    rows : int64 (G, 7)
    ratios : float64 (G, 2)
        Communication to computation, NaN of a file; coefficient of variation.
    calls : int64 (G,)
        The generators' rules by their addresses.
    params : float64
    gflop : float64; source, target : int64; bytes : float64
        Of the graphs of files, one behind the other.
    """

    rows: Ints2
    ratios: Floats2
    calls: Ints
    params: Floats
    gflop: Floats
    source: Ints
    target: Ints
    bytes: Floats


class EdgeRoom(State):
    """Where the edges of a job's graphs are drawn to; of size 0 where there is none.

    Attributes
    ----------
    source, target : int64 (room,)
    bytes : float64 (room,)
    first : int64 (parts + 1 or more,)
        Where the edges of each part begin.
    size : int64 (2,)
        Work space, as the others.
    cursor, work_cursor : int64 (3,)
    words, work_words : uint64 (4,)
    """

    source: Ints
    target: Ints
    bytes: Floats
    first: Ints
    size: Ints
    cursor: Ints
    work_cursor: Ints
    words: Words
    work_words: Words


def new_edge_room(n_edges: int, n_parts: int) -> EdgeRoom:
    """Room for so many edges of so many parts."""
    return EdgeRoom(
        source=np.empty(n_edges, np.int64),
        target=np.empty(n_edges, np.int64),
        bytes=np.empty(n_edges),
        first=np.zeros(n_parts + 1, np.int64),
        size=np.zeros(2, np.int64),
        cursor=np.zeros(3, np.int64),
        work_cursor=np.zeros(3, np.int64),
        words=np.zeros(4, np.uint64),
        work_words=np.zeros(4, np.uint64),
    )


#: ``draw(graphs, edges, place, gflop, first edge, tasks, cores, total GFLOP, bytes a GFLOP, keys)``
DRAW_GRAPH = types.int64(
    StateKind(GraphTable),
    StateKind(EdgeRoom),
    types.int64,
    types.Column(types.float64),
    types.int64,
    types.int64,
    types.int64,
    types.float64,
    types.float64,
    types.Column(types.uint64),
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
    """The table of these models.

    Raises
    ------
    PluginError
        If a rule is not compiled.
    """
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
