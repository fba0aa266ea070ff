"""The graphs of a run's programs as arrays that kernels take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from als.graphs.contract import MAKE_GRAPH, GraphModel
from als.graphs.draw import draw_graph, given_arrays
from traces.base.errors import PluginError
from traces.compiled import Array, as_value, compiled, function_table
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2
from traces.kernels.state import State

__all__ = ["GraphTable", "draw_of_table", "graph_table"]

# Columns of GraphTable.rows.
_PARAMS_FIRST = 0
_PARAMS_STOP = 1
_TASKS_FIRST = 2
_TASKS_STOP = 3
_EDGES_FIRST = 4
_EDGES_STOP = 5
_SCALE = 6

# Columns of GraphTable.ratios.
_CCR = 0
_COV = 1


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


def graph_table(models: Sequence[GraphModel]) -> GraphTable:
    """The table of these models.

    Raises
    ------
    PluginError
        If a rule is not compiled.
    """
    rows: list[list[int]] = []
    params: list[float] = []
    given = [given_arrays(model) for model in models]
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
            np.concatenate([np.zeros(0, dtype), *column])
            for dtype, column in zip((np.float64, np.int64, np.int64, np.float64), columns, strict=True)
        ),
    )


def _value(model: GraphModel) -> Any:
    try:
        return as_value(model.make, MAKE_GRAPH)  # it lives as long as the process does
    except TypeError as error:
        raise PluginError(f"graph {model.name}: make is not made by graph_kernel: {error}") from error


@compiled(inner=True)
def draw_of_table(
    table: GraphTable,
    place: int,
    gflop: Array,
    edges: Any,
    first_edge: int,
    n_tasks: int,
    n_cores: int,
    total_gflop: float,
    bytes_per_gflop: float,
    keys: Array,
) -> int:
    """Draw the graph at ``place`` for one job, as ``als.graphs.draw.draw_graph``; its edges from ``first_edge`` on."""
    row, ratios = table.rows[place], table.ratios[place]
    return int(
        draw_graph(
            gflop,
            edges.source[first_edge:],
            edges.target[first_edge:],
            edges.bytes[first_edge:],
            edges.size,
            table.calls[place],
            table.params[row[_PARAMS_FIRST] : row[_PARAMS_STOP]],
            table.gflop[row[_TASKS_FIRST] : row[_TASKS_STOP]],
            table.source[row[_EDGES_FIRST] : row[_EDGES_STOP]],
            table.target[row[_EDGES_FIRST] : row[_EDGES_STOP]],
            table.bytes[row[_EDGES_FIRST] : row[_EDGES_STOP]],
            n_tasks,
            n_cores,
            ratios[_CCR],
            ratios[_COV],
            row[_SCALE] != 0,
            total_gflop,
            bytes_per_gflop,
            keys,
            edges.cursor,
            edges.words,
            edges.work_cursor,
            edges.work_words,
        )
    )
