"""Task graphs of a job, drawn."""

from __future__ import annotations

from als.graphs import table as g
from als.graphs.draw import draw_graph
from als.programs.drawing import HOOK, EdgeRoom, ProgramTable
from traces.compiled import Array, compiled

__all__ = ["draw"]


@compiled(HOOK)
def draw(
    table: ProgramTable,
    edges: EdgeRoom,
    graph: int,
    lengths: Array,
    first_edge: int,
    n_tasks: int,
    n_cores: int,
    total_gflop: float,
    bytes_per_gflop: float,
    keys: Array,
) -> int:
    """Draw the graph at place ``graph`` for one job, as ``als.graphs.draw.draw_graph``; its edges from ``first_edge`` on."""
    graphs = table.graphs
    row, ratios = graphs.rows[graph], graphs.ratios[graph]
    return int(
        draw_graph(
            lengths,
            edges.source[first_edge:],
            edges.target[first_edge:],
            edges.bytes[first_edge:],
            edges.size,
            graphs.calls[graph],
            graphs.params[row[g.PARAMS_FIRST] : row[g.PARAMS_STOP]],
            graphs.gflop[row[g.TASKS_FIRST] : row[g.TASKS_STOP]],
            graphs.source[row[g.EDGES_FIRST] : row[g.EDGES_STOP]],
            graphs.target[row[g.EDGES_FIRST] : row[g.EDGES_STOP]],
            graphs.bytes[row[g.EDGES_FIRST] : row[g.EDGES_STOP]],
            n_tasks,
            n_cores,
            ratios[g.CCR],
            ratios[g.COV],
            row[g.SCALE] != 0,
            total_gflop,
            bytes_per_gflop,
            keys,
            edges.cursor,
            edges.words,
            edges.work_cursor,
            edges.work_words,
        )
    )
