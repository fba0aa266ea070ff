"""PEFT, predict earliest finish time: docs/reference/planners.md.

The optimistic cost table OCT(i, p) is the time from the end of task i on core p to the end of all tasks that depend on it, if
each of these has its best core. Cores of the same speed have the same costs, so the table has one column per speed. The ready
task with the highest rank_oct is planned next, where its end + OCT is earliest. Equal ranks: by place in the topological order.
Equal ends: the lowest core.
"""

import math

from als.planners.contract import NO_CORE, Planner, PlanningProblem, planner_kernel
from als.planners.estimates import edge_cost, mean_edge_costs, mean_s_per_gflop
from als.planners.insertion import FLOATS_PER_CORE, FLOATS_PER_TASK, INTS_PER_CORE, begin_insertion, insert_task
from als.planners.unlike import UNLIKE_PEFT
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.compiled import Array, compiled


@compiled(inner=True)
def _number_speeds(speed: Array, speeds: Array, column: Array) -> int:
    """Write to column[core] which of the different speeds it has (-1 if it is absent); return their number."""
    count = 0
    for core in range(len(speed)):
        column[core] = -1
        if not speed[core] > 0.0:
            continue
        at = 0
        while at < count and speeds[at] != speed[core]:
            at += 1
        if at == count:
            speeds[at] = speed[core]
            count += 1
        column[core] = at
    return count


@compiled(inner=True)
def _fill_table(problem: PlanningProblem, speeds: Array, table: Array, least: Array) -> None:
    """Compute table[K·task + k] = OCT(task, a core of speed k), and least[task], the minimum over all cores of OCT + w."""
    gflop, order, n_speeds = problem.gflop, problem.order, len(speeds)
    out_first, target, bytes_ = problem.out_first, problem.target, problem.bytes
    latency_s, s_per_byte = mean_edge_costs(problem.speed, problem.core_host, problem.costs)
    for place in range(len(order) - 1, -1, -1):
        task = order[place]
        row = n_speeds * task
        for k in range(n_speeds):
            table[row + k] = 0.0
        for edge in range(out_first[task], out_first[task + 1]):
            consumer = target[edge]
            of_consumer = n_speeds * consumer
            # Minimum over all cores with the edge. If the core itself is the best one, its value without the edge is smaller.
            elsewhere = least[consumer] + edge_cost(bytes_[edge], latency_s, s_per_byte)
            for k in range(n_speeds):
                here = table[of_consumer + k] + gflop[consumer] / speeds[k]
                table[row + k] = max(table[row + k], min(here, elsewhere))
        least[task] = math.inf
        for k in range(n_speeds):
            least[task] = min(least[task], table[row + k] + gflop[task] / speeds[k])


@planner_kernel
def _plan(problem: PlanningProblem) -> int:
    gflop, order, speed, begin = problem.gflop, problem.order, problem.speed, problem.begin
    out_first, in_first, target = problem.out_first, problem.in_first, problem.target
    n, p = len(order), len(speed)
    if mean_s_per_gflop(speed) == 0.0:
        return NO_CORE
    floats, ints = problem.floats, problem.ints
    end, ranks, keys, floats = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n], floats[3 * n :]
    missing, place_of, ready = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n]
    column, ints = ints[3 * n : 3 * n + p], ints[3 * n + p :]
    arrivals, slots, floats = begin_insertion(problem, end, floats, ints)
    later, speeds, table = floats[:p], floats[p : 2 * p], floats[2 * p :]
    n_speeds = _number_speeds(speed, speeds, column)
    _fill_table(problem, speeds[:n_speeds], table, ranks)
    waiting = 0
    for place in range(n):
        task = order[place]
        place_of[task] = place
        missing[task] = in_first[task + 1] - in_first[task]
        # The sum over the cores, not over the speeds, so that rounding is as in the definition of the mean.
        total, present = 0.0, 0
        for c in range(p):
            if column[c] >= 0:
                total += table[n_speeds * task + column[c]]
                present += 1
        ranks[task] = total / present
        if missing[task] == 0:
            waiting = heap_push(keys, ready, waiting, -ranks[task], place)
    while waiting > 0:
        task = order[ready[0]]
        waiting = heap_drop_top(keys, ready, waiting)
        for c in range(p):
            later[c] = table[n_speeds * task + column[c]] if column[c] >= 0 else 0.0
        begin[task] = insert_task(arrivals, slots, task, gflop[task], speed, later)
        for edge in range(out_first[task], out_first[task + 1]):
            consumer = target[edge]
            missing[consumer] -= 1
            if missing[consumer] == 0:
                waiting = heap_push(keys, ready, waiting, -ranks[consumer], place_of[consumer])
    return 0


PEFT = Planner(
    name="peft",
    plan=_plan,
    source="Arabnejad and Barbosa 2014, doi:10.1109/TPDS.2013.57, section 4",
    floats=lambda tasks, edges, cores: (3 + FLOATS_PER_TASK + cores) * tasks + (2 + FLOATS_PER_CORE) * cores,
    ints=lambda tasks, edges, cores: 3 * tasks + 1 + (1 + INTS_PER_CORE) * cores,
    unlike=UNLIKE_PEFT,
)
