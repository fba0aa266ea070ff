"""HEFT, heterogeneous earliest finish time: docs/reference/planners.md.

Tasks are planned by upward rank, the highest first. Each task is placed where it ends earliest, in idle time between two tasks
if it fits there (insertion). Equal ranks: by place in the topological order. Equal ends: the lowest core.
"""

from als.graphs.order import by_rank
from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import mean_s_per_gflop, mean_upward_ranks
from als.planners.insertion import FLOATS_PER_CORE, FLOATS_PER_TASK, INTS_PER_CORE, begin_insertion, insert_task
from als.planners.unlike import UNLIKE_HEFT


@planner_kernel
def _plan(problem: PlanningProblem) -> int:
    gflop, order, speed, begin, n = problem.gflop, problem.order, problem.speed, problem.begin, len(problem.order)
    if mean_s_per_gflop(speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    end, ranks, floats = floats[:n], floats[n : 2 * n], floats[2 * n :]
    sequence, position, ints = ints[:n], ints[n : 2 * n], ints[2 * n :]
    arrivals, slots, floats = begin_insertion(problem, end, floats, ints)
    nothing = floats[: len(speed)]
    nothing[:] = 0.0
    mean_upward_ranks(problem, ranks)
    by_rank(ranks, order, position, sequence, 0)
    for place in range(n):
        task = sequence[place]
        begin[task] = insert_task(arrivals, slots, task, gflop[task], speed, nothing)
    return 0


HEFT = Planner(
    name="heft",
    plan=_plan,
    source="Topcuoglu, Hariri and Wu 2002, doi:10.1109/71.993206, section 5.1",
    floats=lambda tasks, edges, cores: (2 + FLOATS_PER_TASK) * tasks + (1 + FLOATS_PER_CORE) * cores,
    ints=lambda tasks, edges, cores: 2 * tasks + 1 + INTS_PER_CORE * cores,
    unlike=UNLIKE_HEFT,
)
