"""Estimates shared by planners: mean costs, and the arrival of a task's data on each core."""

import math
from typing import Final, NamedTuple

from als.graphs.order import upward_ranks
from als.planners.contract import ACROSS_S_PER_BYTE, LATENCY_S, WITHIN_S_PER_BYTE, PlanningProblem
from traces.compiled import Array, compiled

ARRIVAL_FLOATS: Final = 4  #: numbers of work space per core for :class:`Arrivals`
ARRIVAL_INTS: Final = 1


class Arrivals(NamedTuple):
    """Input and work space for arrivals of a task's data on each core: the plan so far."""

    problem: PlanningProblem  # ``core`` of the tasks planned so far
    end: Array  # float64 array (N,): their planned ends, s
    at: Array  # float64 array (P,): filled: the instant on each core, s; 0 if the task waits for nothing
    # float64 array (P,): latest end of the producers on the core itself. Zeros between two calls, as are the next two.
    own: Array
    # float64 arrays (P,): for each host, latest arrival within it, and the latest of data from another core than ``near``'s
    near: Array
    near_but: Array
    near_core: Array  # int64 array (P,): for each host, the core of ``near``; -1 between two calls


@compiled(inner=True)
def mean_s_per_gflop(speed: Array) -> float:
    """Return the mean of 1/speed over the present cores, s; 0 if there is none."""
    total, present = 0.0, 0
    for core in range(len(speed)):
        if speed[core] > 0.0:
            total += 1.0 / speed[core]
            present += 1
    return total / present if present > 0 else 0.0


@compiled(inner=True)
def edge_cost(size: float, latency_s: float, s_per_byte: float) -> float:
    """Return the time of an edge of ``size`` bytes, s; an edge without bytes only orders tasks and takes no time."""
    return latency_s + size * s_per_byte if size > 0.0 else 0.0


@compiled(inner=True)
def mean_edge_costs(speed: Array, core_host: Array, costs: Array) -> tuple[float, float]:
    """Return the edge costs that ranks use (:func:`edge_cost`): latency in s, and s per byte. Between hosts, if there are cores
    on several hosts; else within the host, if it has several cores; else 0."""
    present, host = 0, -1
    for core in range(len(speed)):
        if speed[core] > 0.0:
            present += 1
            if host < 0:
                host = core_host[core]
            elif core_host[core] != host:
                return float(costs[LATENCY_S]), float(costs[ACROSS_S_PER_BYTE])
    if present > 1:
        return 0.0, float(costs[WITHIN_S_PER_BYTE])
    return 0.0, 0.0


@compiled(inner=True)
def mean_upward_ranks(problem: PlanningProblem, ranks: Array) -> None:
    """Compute HEFT's upward ranks, s, with means over the present cores of task times and edge costs."""
    latency_s, s_per_byte = mean_edge_costs(problem.speed, problem.core_host, problem.costs)
    s_per_gflop = mean_s_per_gflop(problem.speed)
    gflop, out_first, target, bytes_ = problem.gflop, problem.out_first, problem.target, problem.bytes
    upward_ranks(gflop, out_first, target, bytes_, problem.order, ranks, s_per_gflop, latency_s, s_per_byte)


@compiled(inner=True)
def new_arrivals(problem: PlanningProblem, end: Array, floats: Array, ints: Array) -> Arrivals:
    """Return arrivals before the first task, in the first ``ARRIVAL_FLOATS``·P and ``ARRIVAL_INTS``·P numbers of work space."""
    p = len(problem.core_host)
    for place in range(ARRIVAL_FLOATS * p):
        floats[place] = 0.0
    for place in range(ARRIVAL_INTS * p):
        ints[place] = -1
    at, own, near, near_but = floats[:p], floats[p : 2 * p], floats[2 * p : 3 * p], floats[3 * p : 4 * p]
    return Arrivals(problem, end, at, own, near, near_but, ints[:p])


@compiled(inner=True)
def find_arrivals(arrivals: Arrivals, task: int) -> None:
    """Compute when the data of all in-edges of a task arrive on each core, in O(in-edges + P) steps.

    On each core, the latest arrival from all other hosts and the latest from all other cores of its host count. The two latest
    arrivals from different hosts, and from different cores of each host, determine both.
    """
    problem, end = arrivals.problem, arrivals.end
    first, last = problem.in_first[task], problem.in_first[task + 1]
    at, own, near, near_but = arrivals.at, arrivals.own, arrivals.near, arrivals.near_but
    core_host, near_core, costs = problem.core_host, arrivals.near_core, problem.costs
    source, bytes_, in_edge, planned = problem.source, problem.bytes, problem.in_edge, problem.core
    if first == last:
        for core in range(len(at)):
            at[core] = 0.0
        return
    latency, across, within = costs[LATENCY_S], costs[ACROSS_S_PER_BYTE], costs[WITHIN_S_PER_BYTE]
    far, far_but, far_host = 0.0, 0.0, -1
    for place in range(first, last):
        edge = in_edge[place]
        producer = source[edge]
        ended, maker = end[producer], planned[producer]
        size, host = bytes_[edge], core_host[maker]
        own[maker] = max(own[maker], ended)
        arrival = ended + edge_cost(size, latency, across)
        if host == far_host:
            far = max(far, arrival)
        elif arrival > far:
            far, far_but, far_host = arrival, far, host
        else:
            far_but = max(far_but, arrival)
        arrival = ended + size * within
        if maker == near_core[host]:
            near[host] = max(near[host], arrival)
        elif arrival > near[host]:
            near_but[host] = near[host]
            near[host] = arrival
            near_core[host] = maker
        else:
            near_but[host] = max(near_but[host], arrival)
    for core in range(len(at)):
        host = core_host[core]
        from_hosts = far_but if host == far_host else far
        from_cores = near_but[host] if core == near_core[host] else near[host]
        at[core] = max(from_hosts, from_cores, own[core])
    for place in range(first, last):
        maker = planned[source[in_edge[place]]]
        host = core_host[maker]
        own[maker] = near[host] = near_but[host] = 0.0
        near_core[host] = -1


@compiled(inner=True)
def latest_arrival(arrivals: Arrivals) -> float:
    """Return when the data of the task of the last :func:`find_arrivals` have arrived on all cores."""
    latest = 0.0
    for core in range(len(arrivals.at)):
        latest = max(latest, arrivals.at[core])
    return latest


@compiled(inner=True)
def earliest_completion(
    arrivals: Arrivals, task: int, gflop: float, speed: Array, free: Array
) -> tuple[float, float, int]:
    """Return where a task would be completed first after the planned tasks of a core. ``speed``, ``free``, float64 arrays (P,):
    GFLOP/s of each core; end of its last task, s. Returns ``completion``, ``start``: its end and begin, s; ``core``: the lowest
    core with that end."""
    find_arrivals(arrivals, task)
    best, best_start, best_core = math.inf, 0.0, -1
    length, length_at = 0.0, 0.0
    for core in range(len(speed)):
        if not speed[core] > 0.0:
            continue
        if speed[core] != length_at:
            length, length_at = gflop / speed[core], speed[core]
        start = max(arrivals.at[core], free[core])
        if best_core < 0 or start + length < best:
            best, best_start, best_core = start + length, start, core
    return best, best_start, best_core


@compiled(inner=True)
def earliest_free(gflop: float, speed: Array, free: Array) -> tuple[float, int]:
    """Return :func:`earliest_completion` for a task that waits for no data on any core: completion and core."""
    best, best_core = math.inf, -1
    length, length_at = 0.0, 0.0
    for core in range(len(speed)):
        if not speed[core] > 0.0:
            continue
        if speed[core] != length_at:
            length, length_at = gflop / speed[core], speed[core]
        if best_core < 0 or free[core] + length < best:
            best, best_core = free[core] + length, core
    return best, best_core


@compiled(inner=True)
def first_free(speed: Array, free: Array) -> float:
    """Return when the first of the present cores is free, s."""
    first = math.inf
    for core in range(len(speed)):
        if speed[core] > 0.0:
            first = min(first, free[core])
    return first
