"""Critical-path list scheduling, highest level first: docs/reference/planners.md.

Tasks are planned by static level, the highest first; each goes to the core where it can start earliest, after the tasks planned
there. Equal levels: by place in the topological order. Equal starts: where it ends earliest, then the lowest core. A task's
level is at least that of its consumers, so a list of the ready tasks would give the same order.
"""

import math

from als.graphs.order import by_rank, upward_ranks
from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import ARRIVAL_FLOATS, ARRIVAL_INTS, find_arrivals, mean_s_per_gflop, new_arrivals
from als.planners.unlike import UNLIKE_CRITICAL_PATH


@planner_kernel
def _plan(problem: PlanningProblem) -> int:
    gflop, order, speed, core, begin = problem.gflop, problem.order, problem.speed, problem.core, problem.begin
    n, p = len(order), len(speed)
    if mean_s_per_gflop(speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    end, levels, free = floats[:n], floats[n : 2 * n], floats[2 * n : 2 * n + p]
    sequence, position = ints[:n], ints[n : 2 * n]
    arrivals = new_arrivals(problem, end, floats[2 * n + p :], ints[2 * n :])
    for c in range(p):
        free[c] = 0.0
    upward_ranks(gflop, problem.out_first, problem.target, problem.bytes, order, levels, 1.0, 0.0, 0.0)
    by_rank(levels, order, position, sequence, 0)
    for place in range(n):
        task = sequence[place]
        find_arrivals(arrivals, task)
        best, best_end, best_core = math.inf, math.inf, -1
        for c in range(p):
            if not speed[c] > 0.0:
                continue
            start = max(free[c], arrivals.at[c])
            if best_core >= 0 and start > best:
                continue
            ends = start + gflop[task] / speed[c]
            if best_core < 0 or start < best or ends < best_end:
                best, best_end, best_core = start, ends, c
        core[task] = best_core
        begin[task] = best
        end[task] = best_end
        free[best_core] = best_end
    return 0


CRITICAL_PATH = Planner(
    name="critical-path",
    plan=_plan,
    source="Hu 1961, doi:10.1287/opre.9.6.841; Adam, Chandy and Dickson 1974, doi:10.1145/361604.361619 (HLFET)",
    floats=lambda tasks, edges, cores: 2 * tasks + (1 + ARRIVAL_FLOATS) * cores,
    ints=lambda tasks, edges, cores: 2 * tasks + ARRIVAL_INTS * cores,
    unlike=UNLIKE_CRITICAL_PATH,
)
