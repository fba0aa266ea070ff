"""Task graphs of a job, drawn."""

from __future__ import annotations

from als.graphs.table import draw_of_table
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
    return int(
        draw_of_table(
            table.graphs, graph, lengths, edges, first_edge, n_tasks, n_cores, total_gflop, bytes_per_gflop, keys
        )
    )
