"""Who of the queue is modelled: the jobs of highest priority, by their slowdown at t.

The priority is (t - q + d) / d, largest first (section 2.2 of the paper), that is (t - q) / d; then smaller d, smaller area
(what all units ask for, over all resources), smaller row. Fractions are compared exactly.
"""

from __future__ import annotations

import numpy as np

from bls.cp.instance import Instance, Queue
from traces.compiled import Array

__all__ = ["holders", "ranked", "select"]

#: Distinct fractions a/b whose a·b' is below this are distinct, and in the same order, as floats.
_EXACT = float(2**52)

#: Bits of a digit of a fraction, and how many digits tell any two apart: durations in ns fit int64, so d < 2**34 s.
_DIGIT, _DIGITS = 29, 3


def ranked(queue: Queue, among: Array, most: int) -> Array:
    """The ``most`` jobs of highest priority.

    Parameters
    ----------
    queue : Queue
    among : int64 (m,)
        Places in the queue of those who are considered.
    most : int
        At least 1.

    Returns
    -------
    int64 (min(m, most),)
        Places in the queue, the highest priority first.
    """
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


def holders(available: Array, queue: Queue) -> Array:
    """Which jobs alone fit what nodes have, each unit on one node: bool (n,).

    Parameters
    ----------
    available : int64 (nodes, resources)
    queue : Queue
    """
    n_kinds = available.shape[1]
    found = np.zeros(len(queue), bool)
    if not len(queue) or not len(available):
        return found
    # Equal nodes, and equal requests, are looked at once. What nobody can have is not told from a little more.
    patterns, times = np.unique(available, axis=0, return_counts=True)
    roof = patterns.max(axis=0) + 1
    code = np.zeros(len(queue), np.int64)
    if float(np.prod(roof + 1.0)) < _EXACT:
        for kind in range(n_kinds):
            code = code * (roof[kind] + 1) + np.minimum(queue.per_unit[:, kind], roof[kind])
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        requests = queue.per_unit[first]
    else:
        requests, which = np.unique(queue.per_unit, axis=0, return_inverse=True)
    room = np.full((len(requests), len(patterns)), np.iinfo(np.int64).max)
    for kind in range(n_kinds):
        asked = requests[:, kind, np.newaxis]
        room = np.where(asked > 0, np.minimum(room, patterns[:, kind] // np.maximum(asked, 1)), room)
    found[:] = (room * times).sum(axis=1)[which.ravel()] >= queue.units
    return found


def select(instance: Instance, most: int, which: str) -> Array:
    """The places in the queue of the jobs that are modelled, the highest priority first; see ``Parameters.which``.

    Who would not even fit the empty machine, as it is at t, is never among them.
    """
    queue = instance.queue
    fitting = holders(instance.free if which == "fits" else instance.capacity, queue)
    return ranked(queue, np.flatnonzero(fitting), most)
