"""Tiled Cholesky factorisation of a matrix of T × T tiles, right-looking: A = L·Lᵀ, of which the lower triangle is kept.

In step k = 0 … T - 1 tile (k, k) is factored (POTRF), the tiles below it are solved for (TRSM), and every tile (i, j) with
k < j <= i is updated with those of rows i and j (SYRK for i = j, else GEMM)::

    for k:  POTRF(k)            reads  (k, k)                   writes (k, k)
            TRSM(i, k)  i > k          (k, k), (i, k)                  (i, k)
            SYRK(i, k)  i > k          (i, k), (i, i)                  (i, i)
            GEMM(i, j, k)  i > j > k   (i, k), (j, k), (i, j)          (i, j)

An edge leads from the task that wrote a version of a tile to each that reads it, and carries this one tile (weight 1). Tiles
that nobody has written yet are there from the beginning. A task weighs the floating-point operations that it takes for tiles of
b × b, in b³: POTRF 1/3, TRSM 1, SYRK 1, GEMM 2.

N = T·(T + 1)·(T + 2)/6 tasks; E = Σ (m - 1)² + (m - 1) + m·(m - 1)/2 over m = 1 … T = (T - 1)·T·(T + 1)/2 edges. Tasks are
numbered by step, in a step as above, the updates by rows.

Sources: Buttari, Langou, Kurzak and Dongarra, "A class of parallel tiled linear algebra algorithms for multicore
architectures", Parallel Computing 35(1), 2009, doi:10.1016/j.parco.2008.10.002 (algorithm and dependences); LAPACK Working Note
41, appendix C (operations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, graph_kernel
from als.graphs.generators.tiles import Tiled, tiles_with_room

_TRIANGLES = 1  # of the matrix that are kept
_POTRF, _TRSM, _SYRK, _GEMM = 1.0 / 3.0, 1.0, 1.0, 2.0


@graph_kernel
def _make(draft: GraphDraft) -> int:
    tiles = tiles_with_room(draft, _TRIANGLES)
    if tiles == NO_ROOM:
        return NO_ROOM
    gflop, source, target = draft.gflop, draft.source, draft.target
    potrf, e = 0, 0
    # Rows and columns of a step are counted from tile (k + 1, k + 1), of which there are `left` either way.
    for left in range(tiles - 1, -1, -1):
        trsm, update = potrf + 1, potrf + 1 + left
        following = update + left * (left + 1) // 2
        gflop[potrf] = _POTRF
        for row in range(left):
            source[e], target[e] = potrf, trsm + row
            e += 1
        for row in range(left):
            gflop[trsm + row] = _TRSM
            # Read by the updates of its row, the last of which is on the diagonal, and by those of the column of its number.
            for column in range(row + 1):
                source[e], target[e] = trsm + row, update + row * (row + 1) // 2 + column
                e += 1
            for below in range(row + 1, left):
                source[e], target[e] = trsm + row, update + below * (below + 1) // 2 + row
                e += 1
        for row in range(left):
            for column in range(row + 1):
                task = update + row * (row + 1) // 2 + column
                gflop[task] = _SYRK if row == column else _GEMM
                # The tile is next read by the following step: to be factored, to be solved for, or to be updated again.
                if column == 0:
                    reader = following + row
                else:
                    reader = following + left + (row - 1) * row // 2 + column - 1
                source[e], target[e] = task, reader
                e += 1
        potrf = following
    return 0


@dataclass(frozen=True)
class Cholesky(Tiled):
    """Parameters of tiled Cholesky."""

    name: ClassVar[str] = "cholesky"
    triangles: ClassVar[int] = _TRIANGLES

    def graph(self, variation: float) -> GraphModel:
        return self.model(_make, (self.tiles,), self.size, variation)
