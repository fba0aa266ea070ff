"""The planners for tasks that have a time on each kind of workers (unrelated machines): the definitions are those of the other
files, with the time of a task on a core instead of its work over the core's speed, and its mean over the present cores that can
run it. A core that cannot run a task has an infinite time.
"""

import math
from typing import Any

from als.graphs.order import by_rank, upward_ranks
from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import (
    ARRIVAL_FLOATS,
    ARRIVAL_INTS,
    Arrivals,
    edge_cost,
    find_arrivals,
    mean_edge_costs,
    mean_s_per_gflop,
    new_arrivals,
)
from als.planners.insertion import (
    FLOATS_PER_CORE,
    FLOATS_PER_TASK,
    INTS_PER_CORE,
    Slots,
    begin_insertion,
    earliest_slot,
    take_slot,
)
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.compiled import Array, compiled


@compiled(inner=True)
def time_on(problem: PlanningProblem, task: int, core: int) -> float:
    """Return the time of a task on a present core, s; infinite if it cannot run there."""
    if len(problem.kind) == 0:
        return float(problem.gflop[task] / problem.speed[core])
    return float(problem.kind_gflop[problem.kind[core] * problem.stride + task] / problem.speed[core])


@compiled(inner=True)
def _find_means(problem: PlanningProblem, mean: Array) -> None:
    """Compute the mean time of each task over the present cores that can run it, s."""
    for task in range(len(mean)):
        total, able = 0.0, 0
        for core in range(len(problem.speed)):
            if problem.speed[core] > 0.0:
                time = time_on(problem, task, core)
                if time < math.inf:
                    total += time
                    able += 1
        mean[task] = total / able if able > 0 else 0.0


@compiled(inner=True)
def _insert(arrivals: Arrivals, slots: Slots, task: int, later: Array) -> float:
    """``als.planners.insertion.insert_task`` for unlike cores."""
    problem = arrivals.problem
    find_arrivals(arrivals, task)
    best, best_begin, best_end, best_core, best_slot = math.inf, 0.0, 0.0, -1, 0
    for core in range(len(problem.speed)):
        if not problem.speed[core] > 0.0:
            continue
        length, after = time_on(problem, task, core), later[core]
        if not arrivals.at[core] + length + after < best:
            continue
        begin, slot = earliest_slot(slots, core, arrivals.at[core], length, after, best)
        if begin + length + after < best:
            best, best_begin, best_end = begin + length + after, begin, begin + length
            best_core, best_slot = core, slot
    if best_core >= 0:
        problem.core[task], arrivals.end[task] = best_core, best_end
        take_slot(slots, best_core, best_slot, best_begin, best_end)
    return best_begin


@planner_kernel
def _heft(problem: PlanningProblem) -> int:
    n, p, floats, ints = len(problem.order), len(problem.speed), problem.floats, problem.ints
    if mean_s_per_gflop(problem.speed) == 0.0:
        return NO_CORE
    end, ranks, mean, floats = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n :]
    sequence, position, ints = ints[:n], ints[n : 2 * n], ints[2 * n :]
    arrivals, slots, floats = begin_insertion(problem, end, floats, ints)
    nothing = floats[:p]
    nothing[:] = 0.0
    _find_means(problem, mean)
    latency_s, s_per_byte = mean_edge_costs(problem.speed, problem.core_host, problem.costs)
    of = mean, problem.out_first, problem.target, problem.bytes, problem.order
    upward_ranks(*of, ranks, 1.0, latency_s, s_per_byte)
    by_rank(ranks, problem.order, position, sequence, 0)
    for place in range(n):
        task = sequence[place]
        problem.begin[task] = _insert(arrivals, slots, task, nothing)
    return 0


@compiled(inner=True)
def _fill_table(problem: PlanningProblem, table: Array, least: Array) -> None:
    """Compute table[P·task + core] = OCT(task, core), and least[task], the minimum over all cores of OCT + w."""
    p, speed = len(problem.speed), problem.speed
    latency_s, s_per_byte = mean_edge_costs(problem.speed, problem.core_host, problem.costs)
    for place in range(len(problem.order) - 1, -1, -1):
        task = problem.order[place]
        row = p * task
        table[row : row + p] = 0.0
        for edge in range(problem.out_first[task], problem.out_first[task + 1]):
            consumer = problem.target[edge]
            # If the core itself is the best one, its value without the edge is smaller.
            elsewhere = least[consumer] + edge_cost(problem.bytes[edge], latency_s, s_per_byte)
            for core in range(p):
                if speed[core] > 0.0:
                    here = table[p * consumer + core] + time_on(problem, consumer, core)
                    table[row + core] = max(table[row + core], min(here, elsewhere))
        least[task] = math.inf
        for core in range(p):
            if speed[core] > 0.0:
                least[task] = min(least[task], table[row + core] + time_on(problem, task, core))


@planner_kernel
def _peft(problem: PlanningProblem) -> int:
    n, p, floats, ints = len(problem.order), len(problem.speed), problem.floats, problem.ints
    if mean_s_per_gflop(problem.speed) == 0.0:
        return NO_CORE
    end, ranks, keys, floats = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n :]
    table, floats = floats[: n * p], floats[n * p :]
    missing, place_of, ready, ints = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n], ints[3 * n :]
    arrivals, slots, floats = begin_insertion(problem, end, floats, ints)
    later = floats[:p]
    _fill_table(problem, table, ranks)
    waiting = 0
    for place in range(n):
        task = problem.order[place]
        place_of[task] = place
        missing[task] = problem.in_first[task + 1] - problem.in_first[task]
        total, present = 0.0, 0
        for c in range(p):
            if problem.speed[c] > 0.0:
                total += table[p * task + c]
                present += 1
        ranks[task] = total / present
        if missing[task] == 0:
            waiting = heap_push(keys, ready, waiting, -ranks[task], place)
    while waiting > 0:
        task = problem.order[ready[0]]
        waiting = heap_drop_top(keys, ready, waiting)
        for c in range(p):
            later[c] = table[p * task + c]
        problem.begin[task] = _insert(arrivals, slots, task, later)
        for edge in range(problem.out_first[task], problem.out_first[task + 1]):
            consumer = problem.target[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                waiting = heap_push(keys, ready, waiting, -ranks[consumer], place_of[consumer])
    return 0


@compiled(inner=True)
def first_completion(problem: PlanningProblem, arrivals: Arrivals, free: Array, task: int) -> tuple[float, float, int]:
    """Return the end, the begin and the core of a task where it is completed first after the planned tasks of a core."""
    find_arrivals(arrivals, task)
    best, best_start, best_core = math.inf, 0.0, -1
    for core in range(len(problem.speed)):
        if problem.speed[core] > 0.0:
            start = max(arrivals.at[core], free[core])
            ends = start + time_on(problem, task, core)
            if ends < best:
                best, best_start, best_core = ends, start, core
    return best, best_start, best_core


@compiled(inner=True)
def _by_completion(problem: PlanningProblem, sign: float) -> int:
    """Plan by earliest completions: the smallest one next (``sign`` 1), or the largest (-1)."""
    n, p, floats, ints = len(problem.gflop), len(problem.speed), problem.floats, problem.ints
    if mean_s_per_gflop(problem.speed) == 0.0:
        return NO_CORE
    core, begin = problem.core, problem.begin
    end, done, mean, free = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n : 3 * n + p]
    missing, ready, n_ready = ints[:n], ints[n : 2 * n], 0
    arrivals = new_arrivals(problem, end, floats[3 * n + p :], ints[2 * n :])
    free[:] = 0.0
    _find_means(problem, mean)
    for task in range(n):
        missing[task] = problem.in_first[task + 1] - problem.in_first[task]
        if missing[task] == 0:
            ready[n_ready] = task
            n_ready += 1
            done[task], begin[task], core[task] = first_completion(problem, arrivals, free, task)
    for _ in range(n):
        at = 0
        for place in range(1, n_ready):
            one, other = ready[place], ready[at]
            less = sign * (done[one] - done[other])
            if less == 0.0:
                less = sign * (mean[one] - mean[other])
            if less < 0.0 or (less == 0.0 and one < other):
                at = place
        task = ready[at]
        n_ready -= 1
        ready[at] = ready[n_ready]
        taken, end[task] = core[task], done[task]
        free[taken] = end[task]
        # Completions only grow, so a task's best core stays the best one unless it has got this task.
        for place in range(n_ready):
            one = ready[place]
            if core[one] == taken:
                done[one], begin[one], core[one] = first_completion(problem, arrivals, free, one)
        for edge in range(problem.out_first[task], problem.out_first[task + 1]):
            consumer = problem.target[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                ready[n_ready] = consumer
                n_ready += 1
                done[consumer], begin[consumer], core[consumer] = first_completion(problem, arrivals, free, consumer)
    return 0


@planner_kernel
def _min_min(problem: PlanningProblem) -> int:
    return _by_completion(problem, 1.0)


@planner_kernel
def _max_min(problem: PlanningProblem) -> int:
    return _by_completion(problem, -1.0)


@compiled(inner=True)
def append_task(problem: PlanningProblem, arrivals: Arrivals, free: Array, task: int) -> None:
    """Plan a task on the core where it begins first after the planned tasks; of several, where it ends first."""
    find_arrivals(arrivals, task)
    best, best_end, best_core = math.inf, math.inf, -1
    for core in range(len(problem.speed)):
        if not problem.speed[core] > 0.0:
            continue
        start = max(free[core], arrivals.at[core])
        if start > best:
            continue
        ends = start + time_on(problem, task, core)
        if ends < math.inf and (start < best or ends < best_end):
            best, best_end, best_core = start, ends, core
    problem.core[task], problem.begin[task], arrivals.end[task] = best_core, best, best_end
    if best_core >= 0:
        free[best_core] = best_end


@planner_kernel
def _critical_path(problem: PlanningProblem) -> int:
    n, p, floats, ints = len(problem.order), len(problem.speed), problem.floats, problem.ints
    if mean_s_per_gflop(problem.speed) == 0.0:
        return NO_CORE
    end, levels, mean, free = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n : 3 * n + p]
    sequence, position = ints[:n], ints[n : 2 * n]
    arrivals = new_arrivals(problem, end, floats[3 * n + p :], ints[2 * n :])
    free[:] = 0.0
    _find_means(problem, mean)
    of = mean, problem.out_first, problem.target, problem.bytes, problem.order
    upward_ranks(*of, levels, 1.0, 0.0, 0.0)
    by_rank(levels, problem.order, position, sequence, 0)
    for place in range(n):
        task = sequence[place]
        append_task(problem, arrivals, free, task)
    return 0


def _planner(name: str, plan: Any, source: str, *, inserts: bool = False, table: bool = False) -> Planner:
    def floats(tasks: int, edges: int, cores: int) -> int:
        if not inserts:
            return 3 * tasks + (1 + ARRIVAL_FLOATS) * cores
        return (3 + FLOATS_PER_TASK + table * cores) * tasks + (1 + FLOATS_PER_CORE) * cores

    def ints(tasks: int, edges: int, cores: int) -> int:
        return 3 * tasks + 1 + (INTS_PER_CORE if inserts else ARRIVAL_INTS) * cores

    return Planner(name, plan, source, floats, ints)


UNLIKE_HEFT = _planner("heft", _heft, "Topcuoglu, Hariri and Wu 2002, doi:10.1109/71.993206, section 5.1", inserts=True)
UNLIKE_PEFT = _planner(
    "peft", _peft, "Arabnejad and Barbosa 2014, doi:10.1109/TPDS.2013.57, section 4", inserts=True, table=True
)
UNLIKE_MIN_MIN = _planner("min-min", _min_min, "Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581, section 4")
UNLIKE_MAX_MIN = _planner("max-min", _max_min, "Maheswaran et al. 1999, doi:10.1006/jpdc.1999.1581, section 4")
UNLIKE_CRITICAL_PATH = _planner("critical-path", _critical_path, "Adam, Chandy and Dickson 1974 (HLFET)")
