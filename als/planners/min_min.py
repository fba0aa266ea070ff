"""Min-min: plan the ready task that can be completed first, on the core where it can.

For each ready task, find the core on which it would be completed earliest, after the tasks planned there. The task with the
earliest of these completions is planned, its consumers may become ready, and so on. Equal completions: the task with less work,
then the lowest; for one task, the lowest core.

Completions only grow as cores get tasks, so a known completion is a lower bound. The ready tasks are in a heap by their bounds.
Only the first one's completion is computed again, and only if its core has got a task since. Among tasks whose data arrive
everywhere before any core is free, the one with the least work is first.
"""

import math

from als.graphs.order import by_rank
from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import (
    ARRIVAL_FLOATS,
    ARRIVAL_INTS,
    earliest_completion,
    earliest_free,
    first_free,
    latest_arrival,
    mean_s_per_gflop,
    new_arrivals,
)
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_replace_top


@planner_kernel
def _plan(problem: PlanningProblem) -> int:
    gflop, speed, core, begin = problem.gflop, problem.speed, problem.core, problem.begin
    out_first, in_first, target = problem.out_first, problem.in_first, problem.target
    n, p = len(gflop), len(speed)
    if mean_s_per_gflop(speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    # For each task with a bound: when its core was free when it was found, and when its data arrive everywhere.
    end, known, anywhere = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n]
    bounds, least, free = floats[3 * n : 4 * n], floats[4 * n : 5 * n], floats[5 * n : 5 * n + p]
    # Heaps hold the places of tasks in the order of their work.
    missing, place_of, task_at = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n]
    bounded, settled = ints[3 * n : 4 * n], ints[4 * n : 5 * n]
    arrivals = new_arrivals(problem, end, floats[5 * n + p :], ints[5 * n :])
    for c in range(p):
        free[c] = 0.0
    for task in range(n):
        bounded[task] = task
        bounds[task] = -gflop[task]
        missing[task] = in_first[task + 1] - in_first[task]
    by_rank(bounds, bounded, place_of, task_at, 0)
    n_bounded, n_settled = 0, 0
    for task in range(n):
        if missing[task] == 0:
            n_settled = heap_push(least, settled, n_settled, gflop[task], place_of[task])
    while n_settled > 0 or n_bounded > 0:
        completion, c = math.inf, 0
        if n_settled > 0:
            completion, c = earliest_free(least[0], speed, free)
        soonest = first_free(speed, free)
        while n_bounded > 0 and bounds[0] <= completion:
            task = task_at[bounded[0]]
            if anywhere[task] <= soonest:
                n_bounded = heap_drop_top(bounds, bounded, n_bounded)
                n_settled = heap_push(least, settled, n_settled, gflop[task], place_of[task])
                completion, c = earliest_free(least[0], speed, free)
            elif free[core[task]] == known[task]:
                break
            else:
                bound, _, core[task] = earliest_completion(arrivals, task, gflop[task], speed, free)
                known[task] = free[core[task]]
                heap_replace_top(bounds, bounded, n_bounded, bound, place_of[task])  # type: ignore[arg-type]
        if n_settled > 0 and (
            n_bounded == 0 or completion < bounds[0] or (completion == bounds[0] and settled[0] < bounded[0])
        ):
            task = task_at[settled[0]]
            n_settled = heap_drop_top(least, settled, n_settled)
            start = free[c]
        else:
            task = task_at[bounded[0]]
            n_bounded = heap_drop_top(bounds, bounded, n_bounded)
            completion, start, c = earliest_completion(arrivals, task, gflop[task], speed, free)
        core[task] = c
        begin[task] = start
        end[task] = completion
        free[c] = completion
        for edge in range(out_first[task], out_first[task + 1]):
            consumer = target[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                bound, _, core[consumer] = earliest_completion(arrivals, consumer, gflop[consumer], speed, free)
                known[consumer] = free[core[consumer]]
                anywhere[consumer] = latest_arrival(arrivals)
                n_bounded = heap_push(bounds, bounded, n_bounded, bound, place_of[consumer])  # type: ignore[arg-type]  # of floats
    return 0


MIN_MIN = Planner(
    name="min-min",
    plan=_plan,
    source=(
        "Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581, section 4; for graphs: Blythe et al. 2005, "
        "doi:10.1109/CCGRID.2005.1558639"
    ),
    floats=lambda tasks, edges, cores: 5 * tasks + (1 + ARRIVAL_FLOATS) * cores,
    ints=lambda tasks, edges, cores: 5 * tasks + ARRIVAL_INTS * cores,
)
