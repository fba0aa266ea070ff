"""Chain: each task waits for the one before it, so that nothing can be done at the same time.

With n tasks it has N = n tasks and E = n - 1 edges. All tasks weigh the same, and so do all edges.

Source: its definition; the simplest of the structures on which list scheduling is compared, as in Kwok and Ahmad,
"Benchmarking and comparison of the task graph scheduling algorithms", JPDC 59(3), 1999, doi:10.1006/jpdc.1999.1578.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, graph_kernel
from als.graphs.generators.wanted import Weights, equal_weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import whole


@graph_kernel
def _make(draft: GraphDraft) -> int:
    n = wanted(int(draft.params[0]), draft)
    if not fits(draft, n, n - 1):
        return NO_ROOM
    equal_weights(draft, n, n - 1)
    source, target = draft.source, draft.target
    for k in range(n - 1):
        source[k], target[k] = k, k + 1
    return 0


@dataclass(frozen=True)
class Chain(Weights):
    """Parameters of a chain."""

    name: ClassVar[str] = "chain"
    tasks: int = 0  # how many tasks; 0: as many as the job is to have

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "tasks", whole("graph chain: tasks", self.tasks, 0, MAX_TASKS_PER_JOB))

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        n = wanted_tasks(self.tasks, tasks, cores)
        return n, n - 1

    def graph(self, variation: float) -> GraphModel:
        return self.model(_make, (self.tasks,), self.size, variation)
