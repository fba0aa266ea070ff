"""Tiled factorisations of a matrix of T × T tiles, right-looking: Cholesky and LU; see docs/reference/graph-generators.md.

With t triangles of the matrix kept (Cholesky 1, LU 2) the graph has N = T·(T + 1)·(t·T + 3 - t)/6 tasks and E = T·(T - 1)·(t·T
+ 1)/2 edges. An edge leads from the task that wrote a version of a tile to each task that reads it, and carries this tile
(weight 1). A task's weight is its number of floating-point operations for tiles of b × b, in b³. Tasks are numbered by step,
within a step in the order of the class's text, the updates by rows.

Sources: Buttari, Langou, Kurzak and Dongarra, Parallel Computing 35(1), 2009, doi:10.1016/j.parco.2008.10.002; LAPACK Working
Note 41, appendix C (operations).
"""

from typing import Annotated, ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, graph_kernel
from als.graphs.generators import Weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from als.parameters import WholeNumber
from traces.compiled import compiled


def _tiled(tiles: int, least: int, triangles: int) -> tuple[int, int, int]:
    """Return T, N and E; with ``tiles`` = 0 the smallest T with at least ``least`` tasks."""
    side = max(1, tiles)
    n = side * (side + 1) * (triangles * side + 3 - triangles) // 6
    while tiles == 0 and n < least:
        side += 1
        n = side * (side + 1) * (triangles * side + 3 - triangles) // 6
    return side, n, side * (side - 1) * (triangles * side + 1) // 2


_tiled_kernel = compiled(inner=True)(_tiled)


@compiled(inner=True)
def tiles_with_room(draft: GraphDraft, triangles: int) -> int:
    """Return T, or ``NO_ROOM``; write the size of the graph, and one tile for each edge."""
    side, n, n_edges = _tiled_kernel(int(draft.params[0]), wanted(0, draft), triangles)
    if not fits(draft, n, n_edges):
        return NO_ROOM
    draft.bytes[:n_edges] = 1.0
    return int(side)


class Tiled(Weights):
    """Parameters of a tiled factorisation."""

    triangles: ClassVar[int]
    # T, the tiles along a side of the matrix; 0: the fewest that give the tasks that the job should have
    tiles: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        _, n_tasks, n_edges = _tiled(self.tiles, wanted_tasks(0, tasks, cores), self.triangles)
        return n_tasks, n_edges


_CHOLESKY_TRIANGLES = 1  # triangles of the matrix that are kept
_POTRF, _TRSM, _SYRK, _GEMM = 1.0 / 3.0, 1.0, 1.0, 2.0


@graph_kernel
def _make_cholesky(draft: GraphDraft) -> int:
    tiles = tiles_with_room(draft, _CHOLESKY_TRIANGLES)
    if tiles == NO_ROOM:
        return NO_ROOM
    gflop, source, target = draft.gflop, draft.source, draft.target
    potrf, e = 0, 0
    # Rows and columns of a step are counted from tile (k + 1, k + 1); `left` is the number of each.
    for left in range(tiles - 1, -1, -1):
        trsm, update = potrf + 1, potrf + 1 + left
        following = update + left * (left + 1) // 2
        gflop[potrf] = _POTRF
        for row in range(left):
            source[e], target[e] = potrf, trsm + row
            e += 1
        for row in range(left):
            gflop[trsm + row] = _TRSM
            # Read by the updates of its row, the last of them on the diagonal, and by those of the column of its number.
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
                # The next step reads the tile: to factor it, to solve for it, or to update it again.
                if column == 0:
                    reader = following + row
                else:
                    reader = following + left + (row - 1) * row // 2 + column - 1
                source[e], target[e] = task, reader
                e += 1
        potrf = following
    return 0


class Cholesky(Tiled, name="cholesky", make=_make_cholesky, triangles=_CHOLESKY_TRIANGLES):
    """Tiled Cholesky: A = L·Lᵀ; only the lower triangle is kept. In step k = 0 … T - 1::

    POTRF(k)                   reads  (k, k)                   writes (k, k)    weighs 1/3
    TRSM(i, k)  i > k                 (k, k), (i, k)                  (i, k)    1
    SYRK(i, k)  i > k                 (i, k), (i, i)                  (i, i)    1
    GEMM(i, j, k)  i > j > k          (i, k), (j, k), (i, j)          (i, j)    2
    """


_LU_TRIANGLES = 2  # triangles of the matrix that are kept
_GETRF, _TRSM, _GEMM = 2.0 / 3.0, 1.0, 2.0


@graph_kernel
def _make_lu(draft: GraphDraft) -> int:
    tiles = tiles_with_room(draft, _LU_TRIANGLES)
    if tiles == NO_ROOM:
        return NO_ROOM
    gflop, source, target = draft.gflop, draft.source, draft.target
    getrf, e = 0, 0
    # Rows and columns of a step are counted from tile (k + 1, k + 1); `left` is the number of each.
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
        # The next step, with one row and column less, reads the tile: to factor it, to solve for it or to update it.
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


class LU(Tiled, name="lu", make=_make_lu, triangles=_LU_TRIANGLES):
    """Tiled LU without pivoting: A = L·U (in the paper with pivoting, which adds dependences). In step k = 0 … T - 1::

    GETRF(k)                   reads  (k, k)                   writes (k, k)    weighs 2/3
    TRSM_U(k, j)  j > k               (k, k), (k, j)                  (k, j)    1
    TRSM_L(i, k)  i > k               (k, k), (i, k)                  (i, k)    1
    GEMM(i, j, k)  i, j > k           (i, k), (k, j), (i, j)          (i, j)    2
    """
