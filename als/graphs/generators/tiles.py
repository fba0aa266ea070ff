"""What factorisations of a matrix of T × T tiles are given, and how large their graphs are.

One that keeps t triangles of the matrix (Cholesky 1, LU 2) has N = T·(T + 1)·(t·T + 3 - t)/6 tasks and
E = T·(T - 1)·(t·T + 1)/2 edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, check_size
from als.graphs.generators.wanted import Weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import whole
from traces.compiled import compiled


def _tiled(tiles: int, least: int, triangles: int) -> tuple[int, int, int]:
    """T, N and E; with ``tiles`` = 0 the smallest T that has ``least`` tasks or more."""
    side = max(1, tiles)
    n = side * (side + 1) * (triangles * side + 3 - triangles) // 6
    while tiles == 0 and n < least:
        side += 1
        n = side * (side + 1) * (triangles * side + 3 - triangles) // 6
    return side, n, side * (side - 1) * (triangles * side + 1) // 2


_tiled_kernel = compiled(inner=True)(_tiled)


@compiled(inner=True)
def tiles_with_room(draft: GraphDraft, triangles: int) -> int:
    """T, or ``NO_ROOM``; says the size of the graph, and that each edge carries one tile."""
    side, n, n_edges = _tiled_kernel(int(draft.params[0]), wanted(0, draft), triangles)
    if not fits(draft, n, n_edges):
        return NO_ROOM
    draft.bytes[:n_edges] = 1.0
    return int(side)


@dataclass(frozen=True)
class Tiled(Weights):
    """Parameters of a tiled factorisation."""

    triangles: ClassVar[int]
    tiles: int = 0  # T, the tiles along a side of the matrix; 0: as few as make the tasks that the job is to have

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "tiles", whole(f"graph {self.name}: tiles", self.tiles, 0, MAX_TASKS_PER_JOB))
        check_size(f"graph {self.name}", *self.size(0, 1))

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        _, n_tasks, n_edges = _tiled(self.tiles, wanted_tasks(0, tasks, cores), self.triangles)
        return n_tasks, n_edges
