"""Fork–join: a task forks into w tasks beside each other, and another joins them; the join of a stage is the fork of the next.

With width w and s stages it has N = s·(w + 1) + 1 tasks and E = 2·s·w edges. All tasks weigh the same, and so do all edges.
Task 0 is the first fork; the tasks of stage i = 0, 1, … are i·(w + 1) + 1 to i·(w + 1) + w, and the next one joins them.

Source: its definition; Kwok and Ahmad, "Benchmarking and comparison of the task graph scheduling algorithms", JPDC 59(3),
1999, doi:10.1006/jpdc.1999.1578.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, check_size, graph_kernel
from als.graphs.generators.wanted import Weights, equal_weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import whole


@graph_kernel
def _make(draft: GraphDraft) -> int:
    width, stages = wanted(int(draft.params[0]), draft), int(draft.params[1])
    n, n_edges = stages * (width + 1) + 1, 2 * stages * width
    if not fits(draft, n, n_edges):
        return NO_ROOM
    equal_weights(draft, n, n_edges)
    source, target, e = draft.source, draft.target, 0
    for stage in range(stages):
        fork = stage * (width + 1)
        join = fork + width + 1
        for k in range(fork + 1, join):
            source[e], target[e] = fork, k
            source[e + width], target[e + width] = k, join
            e += 1
        e += width
    return 0


@dataclass(frozen=True)
class ForkJoin(Weights):
    """Parameters of fork–join."""

    name: ClassVar[str] = "fork-join"
    width: int = 0  # how many tasks between a fork and its join; 0: as many as the job is to have
    stages: int = 1  # how often it forks, at least once

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", whole("graph fork-join: width", self.width, 0, MAX_TASKS_PER_JOB))
        object.__setattr__(self, "stages", whole("graph fork-join: stages", self.stages, 1, MAX_TASKS_PER_JOB))
        check_size("graph fork-join", *self.size(0, 1))

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        width = wanted_tasks(self.width, tasks, cores)
        return self.stages * (width + 1) + 1, 2 * self.stages * width

    def graph(self, variation: float) -> GraphModel:
        return self.model(_make, (self.width, self.stages), self.size, variation)
