"""Who of the queue is modelled: the jobs of highest priority, by their slowdown at t.

The priority is (t - q + d) / d, largest first (section 2.2 of the paper), that is (t - q) / d; then smaller d, smaller area
(what all units ask for, over all resources), smaller row. Fractions are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from bls.cp.instance import Instance, Queue
from traces.compiled import Array

#: Distinct fractions a/b whose a·b' is below this are distinct, and in the same order, as floats.
_EXACT = float(2**52)

#: Bits of a digit of a fraction, and how many digits tell any two apart: durations in ns fit int64, so d < 2**34 s.
_DIGIT, _DIGITS = 29, 3

#: So many are looked at together: whether they fit is asked of no more than are wanted, and of a few more.
_BLOCK: Final = 128

#: Where so many as are ranked do not suffice, so many times as many are.
_MORE: Final = 8


def ranked(queue: Queue, among: Array, most: int) -> Array:
    """The ``most`` jobs of highest priority. ``among``, int64 (m,): places in the queue of those who are considered.
    ``most``: at least 1. Returns int64 (min(m, most),): places in the queue, the highest priority first."""
    waited, duration = queue.waited_s[among], queue.duration_s[among]
    slow = waited / duration  # rounded correctly, so never in the wrong order, though perhaps equal
    if len(among) > most:
        kept = np.flatnonzero(slow >= np.partition(slow, len(slow) - most)[len(slow) - most])
        among, waited, duration, slow = among[kept], waited[kept], duration[kept], slow[kept]
    keys = [queue.row[among], queue.area[among], duration]
    if len(among) and float(waited.max()) * float(duration.max()) < _EXACT:
        keys.append(-slow)
    else:
        keys += reversed(_digits(waited, duration))
    order: Array = among[np.lexsort(keys)[:most]]
    return order


def _digits(waited: Array, duration: Array) -> list[Array]:
    """-waited/duration as a whole part and digits of 29 bits, the first one first: int64, without rounding."""
    whole, rest = np.divmod(waited, duration)
    found = [-whole]
    for _ in range(_DIGITS):
        digit, rest = np.divmod(rest << _DIGIT, duration)
        found.append(-digit)
    return found


def holders(available: Array, queue: Queue, place: Array | None = None) -> Array:
    """Which jobs alone fit what nodes have, each unit on one node. ``available``: int64 (nodes, resources). ``place``,
    int64 (m,): of which jobs, by their places in the queue; of all if it is not given. Returns bool (m,)."""
    if place is None:
        place = np.arange(len(queue))
    found = np.zeros(len(place), bool)
    some = np.flatnonzero(_perhaps(available, queue)[place])
    nodes = _alike(available)
    for at in range(0, len(some), _BLOCK):
        block = some[at : at + _BLOCK]
        found[block] = _fit(nodes, queue, place[block])
    return found


def _alike(available: Array) -> tuple[Array, Array]:
    """The distinct rows of what nodes have, and how many nodes have each."""
    patterns, times = np.unique(available, axis=0, return_counts=True)
    return patterns, times


def _perhaps(available: Array, queue: Queue) -> Array:
    """Who may fit: a unit asks for no more than a node has of any kind, and all units for no more than all nodes have."""
    if not len(available):
        return np.zeros(len(queue), bool)
    roof, total = available.max(axis=0), available.sum(axis=0, dtype=np.float64) * (1.0 + 1e-9)
    found = np.ones(len(queue), bool)
    for asked, most, in_all in zip(queue.per_unit.T, roof.tolist(), total.tolist(), strict=True):
        found &= (asked <= most) & (asked * queue.units.astype(np.float64) <= in_all)
    return found


def _fit(nodes: tuple[Array, Array], queue: Queue, place: Array) -> Array:
    """As :func:`holders`, of a few jobs, by a table of what they ask for × nodes that are not alike."""
    patterns, times = nodes
    asked, units = queue.per_unit[place], queue.units[place]
    some = (patterns >= asked.min(axis=0)).all(axis=1)  # the others hold nobody
    patterns, times = patterns[some], times[some]
    most = int(units.max())
    room = np.full((len(place), len(patterns)), most)
    for kind, has in enumerate(patterns.T):
        wanting = np.flatnonzero(asked[:, kind])
        if len(wanting):
            room[wanting] = np.minimum(room[wanting], has // asked[wanting, kind, np.newaxis])
    fits: Array = (room * times).sum(axis=1) >= units
    return fits


def _by_priority(queue: Queue, among: Array) -> Iterator[Array]:
    """Those who are considered in blocks, the highest priority first; nobody is ranked long before he is wanted."""
    done, size = 0, _BLOCK
    while done < len(among):
        order = ranked(queue, among, size)
        for at in range(done, len(order), _BLOCK):
            yield order[at : at + _BLOCK]
        done, size = len(order), _MORE * size


def select(instance: Instance, most: int, which: str) -> Array:
    """The places in the queue of the jobs that are modelled, the highest priority first; see ``Parameters.which``.

    Who would not even fit the empty machine, as it is at t, is never among them.
    """
    queue, available = instance.queue, instance.free if which == "fits" else instance.capacity
    nodes = _alike(available)
    chosen = [np.zeros(0, np.int64)]
    found = 0
    for block in _by_priority(queue, np.flatnonzero(_perhaps(available, queue))):
        chosen.append(block[_fit(nodes, queue, block)])
        found += len(chosen[-1])
        if found >= most:
            break
    return np.concatenate(chosen)[:most]
