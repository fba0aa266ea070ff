"""Tree: a reduction, in which each task waits for a others, or a broadcast, in which a others wait for each task.

With d levels of tasks and arity a it has N = (a^d - 1)/(a - 1) tasks (d, if a is 1) and E = N - 1 edges. All tasks weigh the
same, and so do all edges. In a broadcast (``direction=out``) the root is task 0 and the children of task k are a·k + 1 to
a·k + a; a reduction (``in``) is the same with all edges turned round and tasks numbered from the last: its root is task N - 1.

Source: its definition (in-tree and out-tree); Kwok and Ahmad, "Benchmarking and comparison of the task graph scheduling
algorithms", JPDC 59(3), 1999, doi:10.1006/jpdc.1999.1578.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, check_size, graph_kernel
from als.graphs.generators.wanted import Weights, equal_weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import one_of, whole

#: Which way data go: to the root, or from it.
DIRECTIONS = ("in", "out")


@graph_kernel
def _make(draft: GraphDraft) -> int:
    params, source, target = draft.params, draft.source, draft.target
    depth, arity, outward = int(params[0]), int(params[1]), params[2] != 0.0
    least = 0 if depth > 0 else wanted(0, draft)
    n, level, levels = 1, 1, 1
    while levels < depth or n < least:
        level *= arity
        n += level
        levels += 1
    if not fits(draft, n, n - 1):
        return NO_ROOM
    equal_weights(draft, n, n - 1)
    for k in range(1, n):
        parent = (k - 1) // arity
        if outward:
            source[k - 1], target[k - 1] = parent, k
        else:
            source[n - 1 - k], target[n - 1 - k] = n - 1 - k, n - 1 - parent
    return 0


@dataclass(frozen=True)
class TreeParameters(Weights):
    """Parameters of a tree."""

    name: ClassVar[str] = "tree"
    depth: int = 0  # levels of tasks, the root's among them; 0: as few as hold the tasks that the job is to have
    arity: int = 2  # how many children a task has that has any, at least 1
    direction: str = "in"  # ``in``: a reduction; ``out``: a broadcast

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "depth", whole("graph tree: depth", self.depth, 0, MAX_TASKS_PER_JOB))
        object.__setattr__(self, "arity", whole("graph tree: arity", self.arity, 1, MAX_TASKS_PER_JOB))
        if self.direction not in DIRECTIONS:
            raise one_of("direction", self.direction, DIRECTIONS, "graph tree")
        check_size("graph tree", *self.size(0, 1))

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        """Numbers of tasks and of edges; of a graph that is too large, numbers that are too large."""
        least = 0 if self.depth else wanted_tasks(0, tasks, cores)
        if self.arity == 1:
            n = self.depth or least
            return n, n - 1
        n, level, levels = 1, 1, 1
        while (levels < self.depth or n < least) and n <= MAX_TASKS_PER_JOB:
            level *= self.arity
            n += level
            levels += 1
        return n, n - 1

    def graph(self, variation: float) -> GraphModel:
        return self.model(_make, (self.depth, self.arity, float(self.direction == "out")), self.size, variation)
