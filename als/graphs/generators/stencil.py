"""Stencil: the cells of a line, each computed again in every step from its neighbours of the step before.

With width w, s steps and p points, thus a reach of r = (p - 1)/2 cells, it has N = w·s tasks and, for w > r,
E = (s - 1)·(p·w - r·(r + 1)) edges: a cell waits for itself and r neighbours on either side, as far as the line goes. All tasks
weigh the same, and so do all edges. Cell c of step t is task t·w + c.

Source: its definition; the pattern ``stencil_1d`` of Slaughter et al., "Task Bench", SC 2020, doi:10.1109/SC41405.2020.00066.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.graphs.contract import NO_ROOM, GraphDraft, GraphModel, check_size, graph_kernel
from als.graphs.generators.wanted import Weights, equal_weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import InputError, shown, whole


@graph_kernel
def _make(draft: GraphDraft) -> int:
    params = draft.params
    width, steps, reach = int(params[0]), int(params[1]), int(params[2])
    if width == 0:
        width = draft.n_cores
    if steps == 0:
        steps = (wanted(0, draft) + width - 1) // width
    neighbours = width
    for away in range(1, min(reach, width - 1) + 1):
        neighbours += 2 * (width - away)
    n, n_edges = width * steps, neighbours * (steps - 1)
    if not fits(draft, n, n_edges):
        return NO_ROOM
    equal_weights(draft, n, n_edges)
    source, target, e = draft.source, draft.target, 0
    for step in range(steps - 1):
        for cell in range(width):
            for other in range(max(0, cell - reach), min(width, cell + reach + 1)):
                source[e], target[e] = step * width + cell, (step + 1) * width + other
                e += 1
    return 0


@dataclass(frozen=True)
class Stencil(Weights):
    """Parameters of a stencil."""

    name: ClassVar[str] = "stencil"
    width: int = 0  # cells; 0: one for each core of the job
    steps: int = 0  # how often each is computed; 0: as often as it takes to the number of tasks that the job is to have
    points: int = 3  # from how many cells a cell is computed: 3 or 5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", whole("graph stencil: width", self.width, 0, MAX_TASKS_PER_JOB))
        object.__setattr__(self, "steps", whole("graph stencil: steps", self.steps, 0, MAX_TASKS_PER_JOB))
        if isinstance(self.points, bool) or self.points not in (3, 5):
            raise InputError(f"graph stencil: points: {shown(self.points)}; allowed: 3, 5")
        check_size("graph stencil", *self.size(0, 1))

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        width = self.width or cores
        steps = self.steps or -(-wanted_tasks(0, tasks, cores) // width)
        reach = min(self.points // 2, width - 1)
        return width * steps, (steps - 1) * (width + 2 * reach * width - reach * (reach + 1))

    def graph(self, variation: float) -> GraphModel:
        return self.model(_make, (self.width, self.steps, self.points // 2), self.size, variation)
