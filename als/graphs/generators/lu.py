"""Tiled LU factorisation without pivoting of a matrix of T × T tiles, right-looking: A = L·U.

In step k = 0 … T - 1 tile (k, k) is factored (GETRF), the tiles right of it and below it are solved for (TRSM), and every tile
(i, j) with i, j > k is updated (GEMM)::

    for k:  GETRF(k)             reads  (k, k)                   writes (k, k)
            TRSM_U(k, j)  j > k         (k, k), (k, j)                  (k, j)
            TRSM_L(i, k)  i > k         (k, k), (i, k)                  (i, k)
            GEMM(i, j, k)  i, j > k     (i, k), (k, j), (i, j)          (i, j)

An edge leads from the task that wrote a version of a tile to each that reads it, and carries this one tile (weight 1). Tiles
that nobody has written yet are there from the beginning. A task weighs the floating-point operations that it takes for tiles of
b × b, in b³: GETRF 2/3, TRSM 1, GEMM 2.

N = T·(T + 1)·(2T + 1)/6 tasks; E = Σ 2q + 3q² over q = 0 … T - 1 = T·(T - 1)·(2T + 1)/2 edges. Tasks are numbered by step, in
a step as above, the updates by rows.

Sources: Buttari, Langou, Kurzak and Dongarra, "A class of parallel tiled linear algebra algorithms for multicore
architectures", Parallel Computing 35(1), 2009, doi:10.1016/j.parco.2008.10.002 (there with pivoting between neighbouring tiles,
which adds dependences); LAPACK Working Note 41, appendix C (operations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, graph_kernel
from als.graphs.generators.tiles import Tiled, tiles_with_room

_TRIANGLES = 2  # of the matrix that are kept
_GETRF, _TRSM, _GEMM = 2.0 / 3.0, 1.0, 2.0


@graph_kernel
def _make(draft: GraphDraft) -> int:
    tiles = tiles_with_room(draft, _TRIANGLES)
    if tiles == NO_ROOM:
        return NO_ROOM
    gflop, source, target = draft.gflop, draft.source, draft.target
    getrf, e = 0, 0
    # Rows and columns of a step are counted from tile (k + 1, k + 1), of which there are `left` either way.
    for left in range(tiles - 1, -1, -1):
        upper, lower = getrf + 1, getrf + 1 + left
        update = lower + left
        following = update + left * left
        gflop[getrf] = _GETRF
        gflop[upper:update] = _TRSM
        gflop[update:following] = _GEMM
        for k in range(upper, update):
            source[e], target[e] = getrf, k
            e += 1
        for column in range(left):
            for row in range(left):
                source[e], target[e] = upper + column, update + row * left + column
                e += 1
        for row in range(left):
            for column in range(left):
                source[e], target[e] = lower + row, update + row * left + column
                e += 1
        # A tile is next read by the following step, of one row and column less: to be factored, solved for or updated.
        for row in range(left):
            for column in range(left):
                if row == 0:
                    reader = following + column
                elif column == 0:
                    reader = following + left - 1 + row
                else:
                    reader = following + 1 + 2 * (left - 1) + (row - 1) * (left - 1) + column - 1
                source[e], target[e] = update + row * left + column, reader
                e += 1
        getrf = following
    return 0


@dataclass(frozen=True)
class LU(Tiled):
    """Parameters of tiled LU."""

    name: ClassVar[str] = "lu"
    triangles: ClassVar[int] = _TRIANGLES

    def graph(self, variation: float) -> GraphModel:
        return self.model(_make, (self.tiles,), self.size, variation)
