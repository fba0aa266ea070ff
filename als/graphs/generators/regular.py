"""Regular task graphs: chain, fork-join, stencil and tree. All tasks have the same weight, and so have all edges."""

from typing import Annotated

from als.graphs.contract import NO_ROOM, GraphDraft, graph_kernel
from als.graphs.generators import Weights, equal_weights, fits, wanted, wanted_tasks
from als.options import MAX_TASKS_PER_JOB
from als.parameters import OneOf, WholeNumber
from traces.base.errors import InputError, shown


@graph_kernel
def _make_chain(draft: GraphDraft) -> int:
    n = wanted(int(draft.params[0]), draft)
    if not fits(draft, n, n - 1):
        return NO_ROOM
    equal_weights(draft, n, n - 1)
    source, target = draft.source, draft.target
    for k in range(n - 1):
        source[k], target[k] = k, k + 1
    return 0


class Chain(Weights, name="chain", make=_make_chain):
    """Chain: each task waits for the one before it; n tasks, n - 1 edges.

    Source: Kwok and Ahmad, JPDC 59(3), 1999, doi:10.1006/jpdc.1999.1578, also for the fork-join and the tree.
    """

    tasks: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0  # number of tasks; 0: as many as the job should have

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        n = wanted_tasks(self.tasks, tasks, cores)
        return n, n - 1


@graph_kernel
def _make_fork_join(draft: GraphDraft) -> int:
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


class ForkJoin(Weights, name="fork-join", make=_make_fork_join):
    """Fork-join: a task forks into w parallel tasks, which another task joins. The join of a stage is the next one's fork."""

    # tasks between a fork and its join; 0: as many as the job should have
    width: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0
    stages: Annotated[int, WholeNumber(1, MAX_TASKS_PER_JOB)] = 1  # number of forks

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        width = wanted_tasks(self.width, tasks, cores)
        return self.stages * (width + 1) + 1, 2 * self.stages * width


@graph_kernel
def _make_stencil(draft: GraphDraft) -> int:
    params = draft.params
    width, steps, reach = int(params[0]), int(params[1]), int(params[2]) // 2
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


class Stencil(Weights, name="stencil", make=_make_stencil):
    """Stencil: the cells of a line, each computed in every step from its neighbours of the step before. Cell c of step t is
    task t·w + c.

    Source: the pattern ``stencil_1d`` of Slaughter et al., "Task Bench", SC 2020, doi:10.1109/SC41405.2020.00066.
    """

    width: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0  # cells; 0: one per core of the job
    # number of steps; 0: as many as give the number of tasks that the job should have
    steps: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0
    points: int = 3  # number of cells from which a cell is computed: 3 or 5

    def __post_init__(self) -> None:
        if isinstance(self.points, bool) or self.points not in (3, 5):
            raise InputError(f"graph stencil: points: {shown(self.points)}; allowed: 3, 5")
        super().__post_init__()

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        width = self.width or cores
        steps = self.steps or -(-wanted_tasks(0, tasks, cores) // width)
        reach = min(self.points // 2, width - 1)
        return width * steps, (steps - 1) * (width + 2 * reach * width - reach * (reach + 1))


@graph_kernel
def _make_tree(draft: GraphDraft) -> int:
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


class TreeParameters(Weights, name="tree", make=_make_tree):
    """Tree: a reduction (each task waits for a others) or a broadcast (a others wait for each task). In a broadcast the
    children of task k are a·k + 1 to a·k + a; a reduction has all edges reversed, and its root is the last task."""

    # levels of tasks including the root's; 0: the fewest that hold the number of tasks that the job should have
    depth: Annotated[int, WholeNumber(0, MAX_TASKS_PER_JOB)] = 0
    arity: Annotated[int, WholeNumber(1, MAX_TASKS_PER_JOB)] = 2  # children of each inner task
    direction: Annotated[str, OneOf("in", "out")] = "in"  # ``in``: a reduction; ``out``: a broadcast

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        """Numbers of tasks and of edges; if the graph is too large, numbers above the limit."""
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
