"""Levels of a task graph, ordered so that few edges cross."""

from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints

_SWEEPS = 24  #: number of sweeps, forth and back, that improve the order within levels
_MOST_PASSING = 6_000  #: most places of edges in passed levels; with more, edges have none


@compiled()
def longest_paths(first: Ints, target: Ints, missing: Ints, queue: Ints, level: Ints) -> int:
    """Write the ``level`` of each task, the length of its longest path from a task without producers; return the number of
    tasks with a level, which is smaller than the number of tasks if the graph has a cycle.

    Task k's consumers are ``target[first[k]:first[k + 1]]``; ``missing`` counts each task's producers, and is used up.
    """
    n_tasks = len(missing)
    found = 0
    for task in range(n_tasks):
        level[task] = 0
        if missing[task] == 0:
            queue[found] = task
            found += 1
    done = 0
    while done < found:
        task = queue[done]
        done += 1
        for k in range(first[task], first[task + 1]):
            after = target[k]
            level[after] = max(level[after], level[task] + 1)
            missing[after] -= 1
            if missing[after] == 0:
                queue[found] = after
                found += 1
    return done


def task_levels(n_tasks: int, source: Array, target: Array) -> Array:
    """The level of each task, int64 (n,): the length of the longest path to it. Raises InputError if the graph has a cycle."""
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(np.asarray(source)[order], np.arange(n_tasks + 1)).astype(np.int64)
    after = np.asarray(target, np.int64)[order]
    level, queue = np.empty(n_tasks, np.int64), np.empty(n_tasks, np.int64)
    missing = np.bincount(np.asarray(target, np.int64), minlength=n_tasks).astype(np.int64)
    if longest_paths(first, after, missing, queue, level) < n_tasks:
        raise InputError("nothing to draw: there are tasks that wait for each other")
    return level


class GraphPlaces(NamedTuple):
    """Positions of the tasks and the edges of a graph."""

    level: Array  # int64 (n,), of each task; x
    height: Array  # float64 (n,), of each task; y, in places, around 0
    # edge, edge_level, edge_height: shape (p,), points through which edges pass: number of the edge, x and y; by edge,
    # then by level. The first point of an edge is its producer's, the last its consumer's
    edge: Array
    edge_level: Array
    edge_height: Array


def graph_places(n_tasks: int, source: Array, target: Array) -> GraphPlaces:
    """Place tasks by levels, ordered by the barycentres of their neighbours (Sugiyama, Tagawa and Toda, 1981,
    doi:10.1109/TSMC.1981.4308636). An edge that passes levels has a place in each of them, like a task."""
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    level = task_levels(n_tasks, source, target)
    passed = level[target] - level[source] - 1
    if passed.sum() > _MOST_PASSING:
        passed = np.zeros(len(source), np.int64)
    # Points of all edges in sequence: producer, a place in each passed level, consumer.
    edge = np.repeat(np.arange(len(source)), passed + 2)
    first = np.concatenate([[0], np.cumsum(passed + 2)])
    step = np.arange(len(edge)) - first[edge]
    point = np.empty(len(edge), np.int64)
    between = (step > 0) & (step <= passed[edge])
    point[between] = n_tasks + np.arange(int(between.sum()))
    point[first[:-1]], point[first[1:] - 1] = source, target
    levels = np.empty(n_tasks + int(between.sum()), np.int64)
    levels[:n_tasks] = level
    levels[point[between]] = (level[source][edge] + step)[between]
    joined = edge[1:] == edge[:-1]
    before, after = point[:-1][joined], point[1:][joined]
    start = np.empty(len(levels))
    start[:n_tasks] = _centred(level, np.argsort(level, kind="stable"))
    part = (step / (passed[edge] + 1))[between]
    here = edge[between]
    start[n_tasks:] = start[source[here]] * (1 - part) + start[target[here]] * part
    height = _straightened(levels, _heights(levels, start, before, after), before, after)
    return GraphPlaces(level, height[:n_tasks], edge, levels[point], height[point])


def _heights(levels: Array, start: Array, before: Array, after: Array) -> Array:
    """The height of each place, levels centred around 0, after sweeps over the parts of edges ``before`` → ``after``.
    ``start`` gives the first order."""
    n = len(levels)
    height = _centred(levels, np.lexsort((start, levels)))
    best, fewest = height, _length(height, before, after)
    for sweep in range(_SWEEPS):
        here, there = (after, before) if sweep % 2 == 0 else (before, after)
        if sweep >= _SWEEPS // 2:  # forth and back at once, from the best so far
            here, there = np.concatenate([before, after]), np.concatenate([after, before])
            height = best if sweep == _SWEEPS // 2 else height
        degree = np.bincount(here, minlength=n)
        total = np.bincount(here, weights=height[there], minlength=n)
        wanted = np.where(degree > 0, total / np.maximum(degree, 1), height)
        order = np.lexsort((height, wanted, levels))
        height = _centred(levels, order)
        if (length := _length(height, before, after)) < fewest:
            best, fewest = height, length
    return best


@compiled()
def space_out(
    order: Ints, levels: Ints, wanted: Floats, weight: Floats, height: Floats, mean: Floats, mass: Floats, size: Ints
) -> None:
    """Write the heights closest to ``wanted`` in weighted squares, at least 1 apart within a level: isotonic regression by
    pooling adjacent violators.

    ``order`` is by level, then by position; ``mean``, ``mass`` and ``size`` of pools are scratch of the same length.
    """
    first = 0
    while first < len(order):
        stop = first
        pool = -1
        while stop < len(order) and levels[order[stop]] == levels[order[first]]:
            pool += 1
            mean[pool] = wanted[order[stop]] - (stop - first)
            mass[pool] = weight[order[stop]]
            size[pool] = 1
            while pool > 0 and mean[pool - 1] > mean[pool]:
                both = mass[pool - 1] + mass[pool]
                mean[pool - 1] = (mean[pool - 1] * mass[pool - 1] + mean[pool] * mass[pool]) / both
                mass[pool - 1] = both
                size[pool - 1] += size[pool]
                pool -= 1
            stop += 1
        at = first
        for k in range(pool + 1):
            for _ in range(size[k]):
                height[order[at]] = mean[k] + (at - first)
                at += 1
        first = stop


def _straightened(levels: Array, height: Array, before: Array, after: Array) -> Array:
    """Heights in the same order within each level, but closer to their neighbours, around 0."""
    n = len(levels)
    order = np.lexsort((height, levels))
    degree = np.bincount(before, minlength=n) + np.bincount(after, minlength=n)
    mean, mass, size = np.empty(n), np.empty(n), np.empty(n, np.int64)
    for _ in range(_SWEEPS):
        total = np.bincount(before, weights=height[after], minlength=n)
        total += np.bincount(after, weights=height[before], minlength=n)
        wanted = np.where(degree > 0, 0.5 * height + 0.5 * total / np.maximum(degree, 1), height)
        height = np.empty(n)
        space_out(order, levels, wanted, np.maximum(degree, 0.5), height, mean, mass, size)
    centred: Array = height - (height.max() + height.min()) / 2
    return centred


def _centred(levels: Array, order: Array) -> Array:
    """Heights one apart, in this order (by level), with the middle of each level at 0."""
    counts = np.bincount(levels[order])
    first = np.concatenate([[0], np.cumsum(counts)])
    mine = levels[order]
    height = np.empty(len(levels))
    height[order] = np.arange(len(levels)) - first[mine] - (counts[mine] - 1) / 2
    return height


def _length(height: Array, before: Array, after: Array) -> float:
    return float(((height[before] - height[after]) ** 2).sum())
