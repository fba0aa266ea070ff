"""The problem to solve: the modelled jobs of the queue, on the resources that running jobs leave.

The modelled jobs are those of highest priority, by their slowdown at t: (t - q + d) / d, largest first (section 2.2 of the
paper), which has the same order as (t - q) / d; then smaller d, smaller area (requests of all units, summed over all
resources), smaller row. Fractions are compared exactly. For every kind of resource there is one axis with all nodes in the
order of their numbers, and a position for each piece (section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from bls.cp.instance import Instance, Prices, Queue
from traces.base.columns import Columns
from traces.compiled import Array


@dataclass(frozen=True)
class HeldBoxes(Columns):
    """Resources of running jobs: boxes of time × position within a node; neighbours that end together are merged."""

    # int64 (b,): kind of resource, and node; sorted by these and by ``low``
    kind: Array
    node: Array
    # int64 (b,): first position within the node, and number of positions
    low: Array
    size: Array
    left_s: Array  # int64 (b,): remaining time from t

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, rows: Array) -> HeldBoxes:
        """The boxes of some rows."""
        return HeldBoxes(*(column[rows] for column in (self.kind, self.node, self.low, self.size, self.left_s)))


@dataclass(frozen=True)
class Problem(Columns):
    """Contents of a model: k jobs, highest priority first."""

    resources: tuple[str, ...]
    capacity: Array  # int64 (nodes, resources)
    held: HeldBoxes
    place: Array  # int64 (k,): index of the jobs in the instance's queue
    # int64 (k,)
    waited_s: Array
    duration_s: Array
    units: Array
    per_unit: Array  # int64 (k, resources): as in the queue
    # float64 (k,): total request of each job in the instance's pieces, summed over the kinds of resources
    area: Array
    piece: Array  # int64 (resources,): amount of a resource, in the instance's unit, that counts as one piece
    # int64 (k,): user and power, as in the queue
    user: Array | None = None
    draw_mw: Array | None = None
    prices: Prices | None = None  # as in the instance

    def __len__(self) -> int:
        return len(self.place)

    @cached_property
    def total(self) -> Array:
        """Resources of all nodes: int64 (resources,)."""
        return np.asarray(self.capacity.sum(axis=0))

    @cached_property
    def free(self) -> Array:
        """Free resources at t: int64 (nodes, resources)."""
        free = self.capacity.copy()
        np.subtract.at(free, (self.held.node, self.held.kind), self.held.size)
        return free

    @cached_property
    def base(self) -> Array:
        """Beginning of each node on the axes: int64 (nodes, resources)."""
        base = np.zeros_like(self.capacity)
        np.cumsum(self.capacity[:-1], axis=0, out=base[1:])
        return base

    @cached_property
    def first_unit(self) -> Array:
        """Index of each job's first unit among all units: int64 (k + 1,)."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.units)))

    @cached_property
    def horizon_s(self) -> int:
        """Latest end in an optimal plan, eoh - t, unless energy counts: the end of the last running job plus all durations. The
        paper also adds the durations of all running jobs, which excludes nothing else."""
        return int(self.held.left_s.max(initial=0) + self.duration_s.sum())

    @cached_property
    def pooled_ends(self) -> tuple[Array, Array]:
        """Ends of running jobs, ascending, (e,); and the resources that become free at each, (e, resources): int64."""
        ends, which = np.unique(self.held.left_s, return_inverse=True)
        amounts = np.zeros((len(ends), len(self.resources)), np.int64)
        np.add.at(amounts, (which.ravel(), self.held.kind), self.held.size)
        return ends, amounts

    def units_on(self, job: int, available: Array) -> Array:
        """Number of a job's units that each node can hold in the free resources, int64 (nodes, resources): int64 (nodes,)."""
        asked = self.per_unit[job]
        wanted = np.flatnonzero(asked)
        return np.asarray((available[:, wanted] // asked[wanted]).min(axis=1))


def problem_of(instance: Instance, place: Array) -> Problem:
    """The problem of the jobs at these positions of the queue."""
    queue, held, prices = instance.queue, _held(instance), instance.prices
    times = queue.waited_s[place], queue.duration_s[place]
    asked = queue.units[place], queue.per_unit[place], queue.area[place]
    piece = np.ones(len(instance.resources), np.int64)
    user, draw_mw = (None if column is None else column[place] for column in (queue.user, queue.draw_mw))
    return Problem(instance.resources, instance.capacity, held, place, *times, *asked, piece, user, draw_mw, prices)


def in_large_pieces(problem: Problem) -> Problem:
    """The same problem, with each resource counted in the largest piece that divides all nodes, requests and held boxes. If all
    sizes are multiples of a piece, a plan stays valid when every box is moved down to the next multiple."""
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
    """Boxes of running jobs, packed from each node's lowest position in the order of the jobs."""
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
        above = np.cumsum(size) - size  # sizes of all boxes before it, on this node and on earlier ones
        new_node = np.concatenate((np.ones(1, bool), at[1:] != at[:-1]))
        low = above - above[new_node][np.cumsum(new_node) - 1]
        for column, values in zip(columns, (np.full(len(at), kind, np.int64), at, low, size, ends), strict=True):
            column.append(values)
    empty = np.zeros(0, np.int64)
    return HeldBoxes(*(np.concatenate(column) if column else empty.copy() for column in columns))


#: Distinct fractions a/b whose a·b' is below this value stay distinct, and in the same order, as floats.
_EXACT = float(2**52)

#: Bits of a digit of a fraction, and the number of digits that distinguishes any two: durations in ns fit int64, so d < 2**34
#: s.
_DIGIT, _DIGITS = 29, 3
_BLOCK: Final = 128  #: size of a block in which jobs are tested: few more jobs are tested than are needed
_MORE: Final = 8  #: factor by which the number of ranked jobs grows if they do not suffice


def ranked(queue: Queue, among: Array, most: int) -> Array:
    """The ``most`` (at least 1) jobs of highest priority, highest first, as positions in the queue, of the jobs ``among``."""
    waited, duration = queue.waited_s[among], queue.duration_s[among]
    slow = waited / duration  # rounded correctly, so never in the wrong order, but perhaps equal
    if len(among) > most:
        kept = np.flatnonzero(slow >= np.partition(slow, len(slow) - most)[len(slow) - most])
        among, waited, duration, slow = among[kept], waited[kept], duration[kept], slow[kept]
    keys = [queue.row[among], queue.area[among], duration]
    if len(among) and float(waited.max()) * float(duration.max()) < _EXACT:
        keys.append(-slow)
    else:
        keys += reversed(_digits(waited, duration))
    return np.asarray(among[np.lexsort(keys)[:most]])


def _digits(waited: Array, duration: Array) -> list[Array]:
    """-waited/duration as an integer part and digits of 29 bits, most significant first: int64, without rounding."""
    whole, rest = np.divmod(waited, duration)
    found = [-whole]
    for _ in range(_DIGITS):
        digit, rest = np.divmod(rest << _DIGIT, duration)
        found.append(-digit)
    return found


def holders(available: Array, queue: Queue, place: Array | None = None) -> Array:
    """Whether each job alone fits the resources of nodes, int64 (nodes, resources), with each unit on one node: bool (m,).
    ``place``, int64 (m,): positions of the jobs in the queue; default all."""
    if place is None:
        place = np.arange(len(queue))
    found = np.zeros(len(place), bool)
    some = np.flatnonzero(_perhaps(available, queue)[place])
    nodes = np.unique(available, axis=0, return_counts=True)  # distinct nodes, and the number of each
    for at in range(0, len(some), _BLOCK):
        block = some[at : at + _BLOCK]
        found[block] = _fit(nodes, queue, place[block])
    return found


def _perhaps(available: Array, queue: Queue) -> Array:
    """Jobs that may fit: a unit requests no more of a kind than some node has, and all units no more than all nodes have."""
    if not len(available):
        return np.zeros(len(queue), bool)
    roof, total = available.max(axis=0), available.sum(axis=0, dtype=np.float64) * (1.0 + 1e-9)
    found = np.ones(len(queue), bool)
    for asked, most, in_all in zip(queue.per_unit.T, roof.tolist(), total.tolist(), strict=True):
        found &= (asked <= most) & (asked * queue.units.astype(np.float64) <= in_all)
    return found


def _fit(nodes: tuple[Array, Array], queue: Queue, place: Array) -> Array:
    """:func:`holders` for a few jobs, by a table of requests × distinct nodes."""
    patterns, times = nodes
    asked, units = queue.per_unit[place], queue.units[place]
    some = (patterns >= asked.min(axis=0)).all(axis=1)  # the others hold no job
    patterns, times = patterns[some], times[some]
    most = int(units.max())
    room = np.full((len(place), len(patterns)), most)
    for kind, has in enumerate(patterns.T):
        wanting = np.flatnonzero(asked[:, kind])
        if len(wanting):
            room[wanting] = np.minimum(room[wanting], has // asked[wanting, kind, np.newaxis])
    return np.asarray((room * times).sum(axis=1) >= units)


def _by_priority(queue: Queue, among: Array) -> Iterator[Array]:
    """Candidates in blocks, highest priority first; jobs are ranked only when they are needed."""
    done, size = 0, _BLOCK
    while done < len(among):
        order = ranked(queue, among, size)
        for at in range(done, len(order), _BLOCK):
            yield order[at : at + _BLOCK]
        done, size = len(order), _MORE * size


def select(instance: Instance, most: int, which: str) -> Array:
    """Positions in the queue of the jobs to model, highest priority first; all fit the empty machine at t."""
    queue, available = instance.queue, instance.free if which == "fits" else instance.capacity
    nodes = np.unique(available, axis=0, return_counts=True)
    chosen = [np.zeros(0, np.int64)]
    found = 0
    for block in _by_priority(queue, np.flatnonzero(_perhaps(available, queue))):
        chosen.append(block[_fit(nodes, queue, block)])
        found += len(chosen[-1])
        if found >= most:
            break
    return np.concatenate(chosen)[:most]
