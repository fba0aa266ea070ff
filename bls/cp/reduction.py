"""Nodes that no plan needs are left out: a plan uses at most as many nodes as there are units.

A node is as good as another if each position of the latter is there, too, and free no later. If as many nodes as there
are units, each as good as a node, are kept, one of them is idle in any plan that uses that node, and can have all that is
there at the same times and positions. So Z is the same without it. But these are the emptiest nodes, and if all that start
now went to them, none would stay empty for a job that needs all of one. So as many again are kept, where there are: of the
nodes on which some unit fits now those that are free last. What is kept is sorted: nodes of one size side by side, and of
these those that are free last come first, so that who takes the first node that fits leaves what is free now to those who
need it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from bls.cp.problem import HeldBoxes, Problem
from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints, Ints2

#: Of nodes of more positions, as of memory in small pieces, those are one that nothing tells apart; if there are more even
#: then, nodes are not compared.
_MOST_POSITIONS: Final = 4096


@compiled()
def _keep(profile: Ints2, times: Ints, most: int, kept: Ints) -> int:
    """How many nodes of each profile are kept; returns how many in all. Profiles are distinct rows, and sorted so that one
    that is as good as another comes before it."""
    total = 0
    for k in range(times.size):
        as_good = 0
        for other in range(k):
            if kept[other] > 0:
                position = 0
                while position < profile.shape[1] and profile[other, position] <= profile[k, position]:
                    position += 1
                if position == profile.shape[1]:
                    as_good += kept[other]
                    if as_good >= most:
                        break
        kept[k] = min(times[k], max(0, most - as_good))
        total += kept[k]
    return total


def _profiles(problem: Problem) -> Array:
    """When each position of each node is free for good, s after t, kind by kind: int64 (nodes, positions of the widest).
    Positions that a node does not have are free later than any other."""
    held, widest = problem.held, problem.capacity.max(axis=0)
    starts = np.cumsum(widest) - widest
    free = np.full((len(problem.capacity), int(widest.sum())), held.left_s.max(initial=0) + 1)
    for kind, start in enumerate(starts.tolist()):
        positions = np.arange(widest[kind])
        free[:, start : start + len(positions)][positions < problem.capacity[:, kind, np.newaxis]] = 0
    begin = held.node * free.shape[1] + starts[held.kind] + held.low
    within = np.arange(int(held.size.sum())) - np.repeat(np.cumsum(held.size) - held.size, held.size)
    free.ravel()[np.repeat(begin, held.size) + within] = np.repeat(held.left_s, held.size)
    return free


def reduced(problem: Problem) -> tuple[Problem, Array]:
    """The problem on the nodes that are kept. Returns ndarray of int64: the number that each of its nodes has in the
    given problem."""
    compared = problem
    if int(problem.capacity.max(axis=0).sum()) > _MOST_POSITIONS:
        compared = _between_ends(problem)
        if int(compared.capacity.max(axis=0).sum()) > _MOST_POSITIONS:
            return problem, np.arange(len(problem.capacity))
    profiles = _profiles(compared)
    seen: dict[bytes, int] = {}
    which = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in profiles], np.int64)
    times = np.bincount(which)
    by_profile = np.argsort(which, kind="stable")
    first = np.cumsum(times) - times
    profiles = profiles[by_profile[first]]
    order = np.argsort(profiles.sum(axis=1), kind="stable")  # who is as good has a smaller sum
    kept = np.zeros(len(times), np.int64)
    _keep(profiles[order], times[order], int(problem.units.sum()), kept)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = np.empty_like(which)
    place[by_profile] = np.arange(len(which)) - np.repeat(first, times)
    is_kept = place < kept[rank[which]]
    nodes = np.flatnonzero(is_kept | _tight(problem, is_kept, rank[which]))
    size = [column[nodes] for column in problem.capacity.T]
    nodes = nodes[np.lexsort((nodes, -rank[which[nodes]], *size))]
    return replace(problem, capacity=problem.capacity[nodes], held=_held_on(problem, nodes)), nodes


def _tight(problem: Problem, is_kept: Array, rank: Array) -> Array:
    """Of the other nodes on which some unit fits now those that are free last, as many as there are units: bool (nodes,)."""
    others = np.flatnonzero(~is_kept)
    others = others[np.argsort(-rank[others], kind="stable")]
    tight = np.zeros(len(is_kept), bool)
    if len(others):
        free = problem.free[others]
        fits = np.zeros(len(others), bool)
        for asked in np.unique(problem.per_unit, axis=0):
            fits |= (free >= asked).all(axis=1)
        tight[others[fits][: int(problem.units.sum())]] = True
    return tight


def _between_ends(problem: Problem) -> Problem:
    """Positions between two neighbouring ends of any node's boxes are one, as nothing tells them apart."""
    held, capacity = problem.held, problem.capacity.copy()
    low, size = held.low.copy(), held.size.copy()
    for kind in range(len(problem.resources)):
        some = held.kind == kind
        begins, stops = held.low[some], held.low[some] + held.size[some]
        ends = np.unique(np.concatenate((np.zeros(1, np.int64), capacity[:, kind], begins, stops)))
        low[some] = np.searchsorted(ends, begins)
        size[some] = np.searchsorted(ends, stops) - low[some]
        capacity[:, kind] = np.searchsorted(ends, capacity[:, kind])
    return replace(problem, capacity=capacity, held=replace(held, low=low, size=size))


def _held_on(problem: Problem, nodes: Array) -> HeldBoxes:
    held = problem.held
    number = np.full(len(problem.capacity), -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    node = number[held.node]
    some = np.flatnonzero(node >= 0)
    some = some[np.lexsort((held.low[some], node[some], held.kind[some]))]
    return HeldBoxes(held.kind[some], node[some], held.low[some], held.size[some], held.left_s[some])
