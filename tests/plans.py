"""Plans of small graphs, by planners that get arrays of the size they request, with numbers in them that mean nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from als.graphs.order import index_edges, topological_order
from als.planners import Planner, PlanningProblem

#: Contents of work space, and size of the area after it, where nothing may be written.
LEFT_OVER, AFTER = -7, 16

Edges = Mapping[tuple[int, int], float]


def graph_arrays(gflop: Sequence[float], edges: Edges) -> dict[str, Any]:
    """A graph as a planner takes it."""
    n, pairs = len(gflop), sorted(edges)
    source, target = (np.array([pair[end] for pair in pairs], np.int64) for end in (0, 1))
    out_first, in_first, in_edge, order, missing = (
        np.zeros(size, np.int64) for size in (n + 1, n + 1, len(pairs), n, n)
    )
    index_edges(source, target, n, out_first, in_first, in_edge)
    assert topological_order(out_first, target, in_first, n, order, missing) == n
    return {
        "gflop": np.array(gflop, np.float64),
        "source": source,
        "target": target,
        "bytes": np.array([edges[pair] for pair in pairs], np.float64),
        "out_first": out_first,
        "in_first": in_first,
        "in_edge": in_edge,
        "order": order,
    }


def planned(
    planner: Planner,
    gflop: Sequence[float],
    edges: Edges,
    speed: Sequence[float],
    host: Sequence[int],
    costs: Sequence[float] = (0.0, 1.0, 0.0),
    times: Sequence[Sequence[float]] | None = None,
) -> tuple[list[int], list[float], int]:
    """Core and start of each task, and the planner's answer; ``times``: of each task on each core, of speed 1."""
    n, e, p = len(gflop), len(edges), len(speed)
    room_f, room_i = planner.floats(n, e, p), planner.ints(n, e, p)
    floats, ints = np.full(room_f + AFTER, float(LEFT_OVER)), np.full(room_i + AFTER, LEFT_OVER)
    core, begin = np.full(n, LEFT_OVER), np.full(n, float(LEFT_OVER))
    given = graph_arrays(gflop, edges) | {
        "speed": np.array(speed, np.float64),
        "core_host": np.array(host, np.int64),
        "costs": np.array(costs, np.float64),
        "params": np.array(planner.params, np.float64),
        "kind": np.arange(p) if times is not None else np.zeros(0, np.int64),
        "kind_gflop": np.array(times, np.float64).T.ravel() if times is not None else np.zeros(0),
    }
    before = [values.copy() for values in given.values()]
    answer = planner.plan(PlanningProblem(**given, stride=n, core=core, begin=begin, floats=floats, ints=ints))
    assert (floats[room_f:] == LEFT_OVER).all()
    assert (ints[room_i:] == LEFT_OVER).all(), "writes outside its work space"
    assert all(np.array_equal(one, other) for one, other in zip(before, given.values(), strict=True))
    return core.tolist(), begin.tolist(), answer
