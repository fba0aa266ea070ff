"""Min-min and max-min: plan the ready task that can be completed first, or would be completed last, on its best core.

For each ready task, find the core on which it would be completed earliest, after the tasks planned there. Min-min plans the
task with the earliest of these completions, max-min the task with the latest; then its consumers may become ready, and so on.
Equal completions: the task with less work (min-min) or more work (max-min), then the lowest; for one task, the lowest core.

Completions only grow as cores get tasks. So for min-min a known completion is a lower bound: the ready tasks are in a heap by
their bounds, and only the first one's completion is computed again, if its core has got a task since. For max-min the
completion on any core is an upper bound: each ready task keeps such a core, and its completion is computed again only if the
bound, and the completion on the core that is best for the latest task so far, exceed the latest found in this step. Among tasks
whose data arrive everywhere before any core is free, the one with the least (most) work is first (last).
"""

import math
from typing import Any

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
from als.planners.unlike import UNLIKE_MAX_MIN, UNLIKE_MIN_MIN
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_replace_top
from traces.compiled import compiled


@planner_kernel
def _plan_min_min(problem: PlanningProblem) -> int:
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


@compiled(merged=True)
def _is_later(completion: float, place: int, found: float, found_by: int) -> bool:
    """Return whether a completion is later than the one found so far; among equals, the lower place by work."""
    return completion > found or (completion == found and place < found_by)


@planner_kernel
def _plan_max_min(problem: PlanningProblem) -> int:
    gflop, speed, core, begin = problem.gflop, problem.speed, problem.core, problem.begin
    out_first, in_first, target = problem.out_first, problem.in_first, problem.target
    n, p = len(gflop), len(speed)
    if mean_s_per_gflop(speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    # For each ready task: its time on its core, an upper bound of its data's arrival there, and their arrival everywhere.
    end, length, at, anywhere = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n : 4 * n]
    most, free = floats[4 * n : 5 * n], floats[5 * n : 5 * n + p]
    missing, place_of, task_at = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n]
    ready, settled = ints[3 * n : 4 * n], ints[4 * n : 5 * n]
    arrivals = new_arrivals(problem, end, floats[5 * n + p :], ints[5 * n :])
    for c in range(p):
        free[c] = 0.0
    for task in range(n):
        ready[task] = task
        missing[task] = in_first[task + 1] - in_first[task]
    by_rank(gflop, ready, place_of, task_at, 0)
    n_ready, n_settled = 0, 0
    for task in range(n):
        if missing[task] == 0:
            n_settled = heap_push(most, settled, n_settled, -gflop[task], place_of[task])
    settled_until = 0.0
    # The place in ``ready`` inspected first: the second latest of the previous step, which is likely to be the next.
    hint = 0
    while n_ready > 0 or n_settled > 0:
        soonest = first_free(speed, free)
        if soonest > settled_until:
            settled_until = soonest
            place = 0
            while place < n_ready:
                task = ready[place]
                if anywhere[task] <= soonest:
                    n_settled = heap_push(most, settled, n_settled, -gflop[task], place_of[task])
                    n_ready -= 1
                    ready[place] = ready[n_ready]
                else:
                    place += 1
        # The latest so far: its completion, its place by work, its core, and its place in ``ready``.
        found, found_by, found_core, found_at = -1.0, n, -1, -1
        if n_settled > 0:
            found, found_core = earliest_free(-most[0], speed, free)
            found_by = settled[0]
        hint = hint if hint < n_ready else 0
        second, second_at = -1.0, 0
        for look in range(-1, n_ready):
            if look == hint or n_ready == 0:
                continue
            place = hint if look < 0 else look
            task = ready[place]
            bound = max(at[task], free[core[task]]) + length[task]
            if found_core >= 0 and _is_later(bound, place_of[task], found, found_by):
                time = gflop[task] / speed[found_core]
                tighter = max(anywhere[task], free[found_core]) + time
                if tighter < bound:
                    core[task], at[task], length[task], bound = found_core, anywhere[task], time, tighter
            if _is_later(bound, place_of[task], found, found_by):
                bound, _, core[task] = earliest_completion(arrivals, task, gflop[task], speed, free)
                at[task] = arrivals.at[core[task]]
                length[task] = gflop[task] / speed[core[task]]
                if _is_later(bound, place_of[task], found, found_by):
                    if found_at >= 0 and found > second:
                        second, second_at = found, found_at
                    found, found_by, found_core, found_at = bound, place_of[task], core[task], place
                    continue
            if bound > second:
                second, second_at = bound, place
        task = task_at[found_by]
        if found_at < 0:
            n_settled = heap_drop_top(most, settled, n_settled)
            begin[task] = free[found_core]
            hint = second_at
        else:
            begin[task] = max(at[task], free[found_core])
            n_ready -= 1
            ready[found_at] = ready[n_ready]
            hint = found_at if second_at == n_ready else second_at
        core[task] = found_core
        end[task] = found
        free[found_core] = found
        for edge in range(out_first[task], out_first[task + 1]):
            consumer = target[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                _, _, core[consumer] = earliest_completion(arrivals, consumer, gflop[consumer], speed, free)
                at[consumer] = arrivals.at[core[consumer]]
                length[consumer] = gflop[consumer] / speed[core[consumer]]
                anywhere[consumer] = latest_arrival(arrivals)
                ready[n_ready] = consumer
                n_ready += 1
                settled_until = -1.0
    return 0


_ROOM: dict[str, Any] = {
    "floats": lambda tasks, edges, cores: 5 * tasks + (1 + ARRIVAL_FLOATS) * cores,
    "ints": lambda tasks, edges, cores: 5 * tasks + ARRIVAL_INTS * cores,
}
_SOURCE = (
    "Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581, section 4; for graphs: Blythe et al. 2005, "
    "doi:10.1109/CCGRID.2005.1558639"
)
MIN_MIN = Planner("min-min", _plan_min_min, _SOURCE, **_ROOM, unlike=UNLIKE_MIN_MIN)
MAX_MIN = Planner("max-min", _plan_max_min, _SOURCE, **_ROOM, unlike=UNLIKE_MAX_MIN)
