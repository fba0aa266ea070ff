"""Parts that the model of boxes can omit: kinds of resources that follow from another one, and nodes that no plan needs.

Memory *follows* cores if every node n has q(n) of it per core, rounded down, and no waiting or running unit requests more per
core than that. Then a unit whose cores begin at position y of node n has the memory from q(n) · y on: units that run at the
same time have different cores, and so different memory. Running jobs lie from the lowest position on, the longest ones lowest,
so the memory held until some end lies at or below q(n) times the end of the cores held as long. Plans with and without memory
correspond to each other, and Z is the same.

A plan uses at most as many nodes as there are units. A node is as good as another if it has each position of the other one,
free no later. If as many nodes as there are units are kept, each as good as a certain node, then in any plan that uses that
node one of the kept ones is idle and can take its jobs, so Z is the same without it. But the kept nodes are the emptiest ones,
and some should stay empty for a job that needs a whole node. So the same number of other nodes is kept in addition: among the
nodes on which some unit fits now, those that become free last. Nodes of one size are neighbours, and among these the nodes that
become free last come first.
"""

from dataclasses import replace
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np

from bls.cp.problem import HeldBoxes, Problem
from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints, Ints2


class Follower(NamedTuple):
    """A kind of resource that follows another one."""

    kind: int
    leader: int
    ratio: Array  # int64 (nodes,): positions of the kind per position of the leader


def without_followers(problem: Problem) -> tuple[Problem, list[Follower]]:
    """The problem without kinds of resources that follow another one; and these kinds. The kinds themselves remain, with no
    capacity or request, and ``area`` too, so that lists have the same orders."""
    found: list[Follower] = []
    asked = np.asarray(problem.per_unit.any(axis=0))
    for leader, kind in permutations(range(len(problem.resources)), 2):
        gone = {one.kind for one in found}
        if leader in gone or kind in gone or kind in {one.leader for one in found} or not asked[kind]:
            continue
        ratio = problem.capacity[:, kind] // np.maximum(1, problem.capacity[:, leader])
        if _asks(problem, leader, kind, ratio) and _holds(problem.held, leader, kind, ratio):
            found.append(Follower(kind, leader, ratio))
    if not found:
        return problem, found
    kinds = [one.kind for one in found]
    capacity, per_unit = problem.capacity.copy(), problem.per_unit.copy()
    capacity[:, kinds] = 0
    per_unit[:, kinds] = 0
    held = problem.held.take(~np.isin(problem.held.kind, kinds))
    return replace(problem, capacity=capacity, per_unit=per_unit, held=held), found


def placed(unit_low: Array, unit_node: Array, per_unit: Array, followers: list[Follower]) -> Array:
    """Positions of units, int64 (u, resources), including those of followers; ``per_unit``: request of each unit."""
    low = unit_low.copy()
    for kind, leader, ratio in followers:
        low[:, kind] = np.where(per_unit[:, kind] > 0, ratio[unit_node] * unit_low[:, leader], 0)
    return low


def _asks(problem: Problem, leader: int, kind: int, ratio: Array) -> bool:
    """Whether no unit requests more than its share, on any node with enough of the leader for it."""
    asked, of_leader = problem.per_unit[:, kind], problem.per_unit[:, leader]
    some = asked > 0
    has = problem.capacity[:, leader]
    order = np.argsort(-has, kind="stable")
    least = np.minimum.accumulate(ratio[order])  # of nodes with at least this capacity
    as_many = np.searchsorted(-has[order], -of_leader[some], side="right")
    return bool((of_leader[some] > 0).all() and (asked[some] <= least[as_many - 1] * of_leader[some]).all())


def _holds(held: HeldBoxes, leader: int, kind: int, ratio: Array) -> bool:
    """Whether held boxes lie from the lowest position on, longest lowest, with no more of the kind than its share."""
    led, follows = held.kind == leader, held.kind == kind
    if not follows.any():
        return True
    node, low, size, left = held.node[led], held.low[led], held.size[led], held.left_s[led]
    if not len(node):
        return False
    is_first = np.concatenate((np.ones(1, bool), node[1:] != node[:-1]))
    begins = np.where(is_first, 0, np.concatenate((np.zeros(1, np.int64), (low + size)[:-1])))
    descends = is_first[1:] | (left[1:] <= left[:-1])
    if (low != begins).any() or not descends.all():
        return False
    # By node, then by remaining time, longest first: the last box with the same time.
    rank = np.unique(held.left_s, return_inverse=True)[1].ravel()
    span = int(rank.max()) + 1
    key = node * span - rank[led]
    at = np.searchsorted(key, held.node[follows] * span - rank[follows], side="right") - 1
    on = held.node[follows]
    top = np.where((at >= 0) & (node[at] == on), (low + size)[at], 0)
    return bool((held.low[follows] + held.size[follows] <= ratio[on] * top).all())


#: Limit of the positions of a profile. On nodes with more positions (memory in small pieces), positions that nothing separates
#: are merged; if there are still more, nodes are not compared.
_MOST_POSITIONS: Final = 4096


@compiled()
def _keep(profile: Ints2, times: Ints, most: int, kept: Ints) -> int:
    """Compute how many nodes of each profile are kept, and their sum. A row that is as good as another comes before it."""
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
    """Instants from which each position of each node stays free, s after t, kind by kind: int64 (nodes, positions of the
    widest). Positions that a node does not have come last."""
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
    """The problem with the kept nodes only; and, as int64, the number of each of its nodes in the given problem."""
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
    order = np.argsort(profiles.sum(axis=1), kind="stable")  # a node as good as another has a smaller sum
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
    """The last free of the other nodes on which some unit fits now, as many as there are units: bool (nodes,)."""
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
    """Merge positions between neighbouring ends of any node's boxes, which nothing distinguishes."""
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
    return replace(held, node=node).take(some)
