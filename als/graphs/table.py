"""The graphs of a run's programs as arrays that kernels take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from als.graphs.contract import MAKE_GRAPH, GraphModel
from als.graphs.draw import given_arrays
from traces.base.errors import PluginError
from traces.compiled import Array, as_value, function_table
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2
from traces.kernels.state import State

__all__ = ["GraphTable", "graph_table"]

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
