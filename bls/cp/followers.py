"""Kinds of resources that follow from another one are left out of the boxes, and placed after it.

Memory *follows* cores if every node n has q(n) of it for each of its cores, rounded down, and no unit that waits or runs asks
for more than that for each of its own. Then positions need not be looked for: a unit whose cores begin at position y of node
n has the memory from q(n) · y on. Its units that run at one time have other cores, and so other memory. What runs already lies
from the lowest position on, those that run longest lowest, so that all cores below one that is held are held as long, and what
is held of the memory until then must end at q(n) times where what is held of the cores does. Every plan without the memory is
one with it, and every plan with it is one without: Z is the same. What is left out are as many boxes as it has, and, on
nodes that differ in nothing else, variables.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from bls.cp.problem import HeldBoxes, Problem
from traces.compiled import Array


class Follower(NamedTuple):
    """A kind of resource that follows another one."""

    kind: int
    leader: int
    ratio: Array  # int64 (nodes,): so many positions of the kind belong to one of the leader's


def without_followers(problem: Problem) -> tuple[Problem, list[Follower]]:
    """The problem in which nobody asks for, holds or has what follows something else; and what that is. ``problem``:
    whose kinds of resources remain, and ``area`` as well, so that lists have the same orders."""
    found: list[Follower] = []
    for leader, kind in permutations(range(len(problem.resources)), 2):
        gone = {one.kind for one in found}
        if (
            leader in gone
            or kind in gone
            or kind in {one.leader for one in found}
            or not problem.per_unit[:, kind].any()
        ):
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
    return replace(problem, capacity=capacity, per_unit=per_unit, held=_only(problem.held, kinds)), found


def placed(unit_low: Array, unit_node: Array, per_unit: Array, followers: list[Follower]) -> Array:
    """Positions of units with those of what follows.

    - ``unit_low``: int64 (u, resources)
    - ``unit_node``: int64 (u,)
    - ``per_unit``, int64 (u, resources): what each unit asks for
    """
    low = unit_low.copy()
    for kind, leader, ratio in followers:
        low[:, kind] = np.where(per_unit[:, kind] > 0, ratio[unit_node] * unit_low[:, leader], 0)
    return low


def _asks(problem: Problem, leader: int, kind: int, ratio: Array) -> bool:
    """Whether no unit asks for more than its share, on any node that has enough of the leader for it."""
    asked, of_leader = problem.per_unit[:, kind], problem.per_unit[:, leader]
    some = asked > 0
    has = problem.capacity[:, leader]
    order = np.argsort(-has, kind="stable")
    least = np.minimum.accumulate(ratio[order])  # of the nodes that have as much, or more
    as_many = np.searchsorted(-has[order], -of_leader[some], side="right")
    return bool((of_leader[some] > 0).all() and (asked[some] <= least[as_many - 1] * of_leader[some]).all())


def _holds(held: HeldBoxes, leader: int, kind: int, ratio: Array) -> bool:
    """Whether what is held lies from the lowest position on, the longest lowest, and no more of the kind than its share."""
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
    # By node, and by time left within, longest first: the last box that is held as long.
    rank = np.unique(held.left_s, return_inverse=True)[1].ravel()
    span = int(rank.max()) + 1
    key = node * span - rank[led]
    at = np.searchsorted(key, held.node[follows] * span - rank[follows], side="right") - 1
    on = held.node[follows]
    top = np.where((at >= 0) & (node[at] == on), (low + size)[at], 0)
    return bool((held.low[follows] + held.size[follows] <= ratio[on] * top).all())


def _only(held: HeldBoxes, without: list[int]) -> HeldBoxes:
    some = ~np.isin(held.kind, without)
    return HeldBoxes(held.kind[some], held.node[some], held.low[some], held.size[some], held.left_s[some])
