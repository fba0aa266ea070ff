"""DMDA, after StarPU's scheduler "deque model data aware": docs/reference/planners.md.

Tasks are planned in the order in which they become ready, when their last producer ends; those that become ready together, by
number. Each task goes where it is expected to end earliest, after the tasks planned there and the arrival of its data; among
equals, to the lowest core. StarPU decides the same while tasks run, with what it expects then.
"""

from dataclasses import replace

from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import ARRIVAL_FLOATS, ARRIVAL_INTS, mean_s_per_gflop, new_arrivals
from als.planners.unlike import first_completion
from traces.algorithms.event_heap import heap_drop_top, heap_push


@planner_kernel
def _plan(problem: PlanningProblem) -> int:
    core, begin, n, p = problem.core, problem.begin, len(problem.gflop), len(problem.speed)
    if mean_s_per_gflop(problem.speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    end, ready_at, keys, free = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n : 3 * n + p]
    missing, ready = ints[:n], ints[n : 2 * n]
    arrivals = new_arrivals(problem, end, floats[3 * n + p :], ints[2 * n :])
    free[:] = 0.0
    waiting = 0
    for task in range(n):
        missing[task] = problem.in_first[task + 1] - problem.in_first[task]
        ready_at[task] = 0.0
        if missing[task] == 0:
            waiting = heap_push(keys, ready, waiting, 0.0, task)  # type: ignore[arg-type]  # of floats
    while waiting > 0:
        task = ready[0]
        waiting = heap_drop_top(keys, ready, waiting)
        end[task], begin[task], core[task] = first_completion(problem, arrivals, free, task)
        free[core[task]] = end[task]
        for edge in range(problem.out_first[task], problem.out_first[task + 1]):
            consumer = problem.target[edge]
            missing[consumer] -= 1
            ready_at[consumer] = max(ready_at[consumer], end[task])
            if missing[consumer] == 0:
                waiting = heap_push(keys, ready, waiting, ready_at[consumer], consumer)
    return 0


_DMDA = Planner(
    name="dmda",
    plan=_plan,
    source="Augonnet, Clet-Ortega, Thibault and Namyst 2010, doi:10.1109/ICPADS.2010.129",
    floats=lambda tasks, edges, cores: 3 * tasks + (1 + ARRIVAL_FLOATS) * cores,
    ints=lambda tasks, edges, cores: 2 * tasks + ARRIVAL_INTS * cores,
)
DMDA = replace(_DMDA, unlike=_DMDA)
