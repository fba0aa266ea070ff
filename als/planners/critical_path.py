"""Critical-path list scheduling, highest level first: docs/reference/planners.md.

Tasks are planned by static level, the highest first; each goes to the core where it can start earliest, after the tasks planned
there. Equal levels: by place in the topological order. Equal starts: where it ends earliest, then the lowest core. A task's
level is at least that of its consumers, so a list of the ready tasks would give the same order.
"""

from als.graphs.order import by_rank, upward_ranks
from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import ARRIVAL_FLOATS, ARRIVAL_INTS, mean_s_per_gflop, new_arrivals
from als.planners.unlike import UNLIKE_CRITICAL_PATH, append_task


@planner_kernel
def _plan(problem: PlanningProblem) -> int:
    order, n, p = problem.order, len(problem.order), len(problem.speed)
    if mean_s_per_gflop(problem.speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    end, levels, free = floats[:n], floats[n : 2 * n], floats[2 * n : 2 * n + p]
    sequence, position = ints[:n], ints[n : 2 * n]
    arrivals = new_arrivals(problem, end, floats[2 * n + p :], ints[2 * n :])
    free[:] = 0.0
    upward_ranks(problem.gflop, problem.out_first, problem.target, problem.bytes, order, levels, 1.0, 0.0, 0.0)
    by_rank(levels, order, position, sequence, 0)
    for place in range(n):
        append_task(problem, arrivals, free, sequence[place])
    return 0


CRITICAL_PATH = Planner(
    name="critical-path",
    plan=_plan,
    source="Hu 1961, doi:10.1287/opre.9.6.841; Adam, Chandy and Dickson 1974, doi:10.1145/361604.361619 (HLFET)",
    floats=lambda tasks, edges, cores: 2 * tasks + (1 + ARRIVAL_FLOATS) * cores,
    ints=lambda tasks, edges, cores: 2 * tasks + ARRIVAL_INTS * cores,
    unlike=UNLIKE_CRITICAL_PATH,
)
