"""The problem that is solved: the jobs that were chosen, on what the running ones leave.

Machine and places are as section 3 of the paper lays them out: for every kind of resource one axis on which the nodes lie
side by side, in the order of their numbers, a position for each piece.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bls.cp.instance import Instance, Prices
from traces.base.columns import Columns
from traces.compiled import Array


@dataclass(frozen=True)
class HeldBoxes(Columns):
    """What running jobs hold: boxes of time × position within a node, neighbours that end together being one."""

    # int64 (b,): of which resource, where; sorted by these and by ``low``
    kind: Array
    node: Array
    # int64 (b,): the first position within the node, and how many
    low: Array
    size: Array
    left_s: Array  # int64 (b,): for how long from t

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True)
class Problem(Columns):
    """What a model is made of: k jobs, the highest priority first."""

    resources: tuple[str, ...]
    capacity: Array  # int64 (nodes, resources)
    held: HeldBoxes
    place: Array  # int64 (k,): where the jobs are in the instance's queue
    # int64 (k,)
    waited_s: Array
    duration_s: Array
    units: Array
    per_unit: Array  # int64 (k, resources): as the queue has them
    # float64 (k,): what each job asks for in all, in the instance's pieces, summed over the kinds of resources
    area: Array
    piece: Array  # int64 (resources,): how much of a resource, as the instance has it, is counted as one
    # int64 (k,): whose jobs they are, and what they draw, as the queue has it
    user: Array | None = None
    draw_mw: Array | None = None
    prices: Prices | None = None  # as the instance has them

    def __len__(self) -> int:
        return len(self.place)

    @cached_property
    def total(self) -> Array:
        """What all nodes have: int64 (resources,)."""
        total: Array = self.capacity.sum(axis=0)
        return total

    @cached_property
    def free(self) -> Array:
        """What is free at t: int64 (nodes, resources)."""
        free = self.capacity.copy()
        np.subtract.at(free, (self.held.node, self.held.kind), self.held.size)
        return free

    @cached_property
    def base(self) -> Array:
        """Where on the axes the nodes begin: int64 (nodes, resources)."""
        base = np.zeros_like(self.capacity)
        np.cumsum(self.capacity[:-1], axis=0, out=base[1:])
        return base

    @cached_property
    def first_unit(self) -> Array:
        """Where a job's units begin among all units: int64 (k + 1,)."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.units)))

    @cached_property
    def horizon_s(self) -> int:
        """No optimal plan ends later unless energy counts, eoh - t: the last running job's end and then all durations. The
        paper's (section 2.2) adds the durations of all running jobs, which excludes nothing else and is longer."""
        return int(self.held.left_s.max(initial=0) + self.duration_s.sum())

    @cached_property
    def pooled_ends(self) -> tuple[Array, Array]:
        """When running jobs end, ascending, (e,); and what of each resource becomes free then, (e, resources): int64."""
        ends, which = np.unique(self.held.left_s, return_inverse=True)
        amounts = np.zeros((len(ends), len(self.resources)), np.int64)
        np.add.at(amounts, (which.ravel(), self.held.kind), self.held.size)
        return ends, amounts

    def units_on(self, job: int, available: Array) -> Array:
        """How many units of a job each node can hold of what is available, int64 (nodes, resources): int64 (nodes,)."""
        asked = self.per_unit[job]
        wanted = np.flatnonzero(asked)
        fits: Array = (available[:, wanted] // asked[wanted]).min(axis=1)
        return fits


def problem_of(instance: Instance, place: Array) -> Problem:
    """The problem of the jobs at these places of the queue."""
    queue = instance.queue
    return Problem(
        instance.resources,
        instance.capacity,
        _held(instance),
        place,
        queue.waited_s[place],
        queue.duration_s[place],
        queue.units[place],
        queue.per_unit[place],
        queue.area[place],
        np.ones(len(instance.resources), np.int64),
        None if queue.user is None else queue.user[place],
        None if queue.draw_mw is None else queue.draw_mw[place],
        instance.prices,
    )


def in_large_pieces(problem: Problem) -> Problem:
    """The same problem, each resource counted in the largest pieces of which all nodes, requests and held boxes are made.
    Where all sizes are multiples of a piece, a plan remains one if every box is moved down to the next multiple."""
    held = problem.held
    piece = np.gcd.reduce(np.concatenate((problem.capacity, problem.per_unit)), axis=0)
    np.gcd.at(piece, held.kind, held.size)
    piece = np.maximum(1, piece)
    if (piece == 1).all():
        return problem
    return replace(
        problem,
        capacity=problem.capacity // piece,
        held=replace(held, low=held.low // piece[held.kind], size=held.size // piece[held.kind]),
        per_unit=problem.per_unit // piece,
        piece=piece,
    )


def _held(instance: Instance) -> HeldBoxes:
    """The boxes of running jobs, packed from each node's lowest position in the order of the jobs."""
    running = instance.running
    order = np.argsort(running.place_node, kind="stable")
    node, job, units = running.place_node[order], running.place_job[order], running.place_units[order]
    left = running.left_s[job]
    columns: list[list[Array]] = [[], [], [], [], []]
    for kind in range(len(instance.resources)):
        size = running.per_unit[job, kind] * units
        some = np.flatnonzero(size)
        if not len(some):
            continue
        at, size, ends = node[some], size[some], left[some]
        begins = np.concatenate((np.ones(1, bool), (at[1:] != at[:-1]) | (ends[1:] != ends[:-1])))
        first = np.flatnonzero(begins)
        at, ends, size = at[first], ends[first], np.add.reduceat(size, first)
        above = np.cumsum(size) - size  # what lies before it, on this node and on those before
        new_node = np.concatenate((np.ones(1, bool), at[1:] != at[:-1]))
        low = above - above[new_node][np.cumsum(new_node) - 1]
        for column, values in zip(columns, (np.full(len(at), kind, np.int64), at, low, size, ends), strict=True):
            column.append(values)
    empty = np.zeros(0, np.int64)
    return HeldBoxes(*(np.concatenate(column) if column else empty.copy() for column in columns))
