"""The batch queue: a set of job ranks kept as a tree of 32-bit words, walked in rank order.

Every job has a rank of its own, its place in the policy's total order, so the queue needs no comparison: it is the set
of ranks that wait. Adding, removing and finding the next rank cost one step a level, and there is a level per factor of
32 (four for a million jobs). A heap would give the head as quickly, but not the jobs behind it in order.
"""

from __future__ import annotations

import math

import numpy as np

from traces.compiled import Array, compiled

__all__ = ["new_queue", "queue_add", "queue_next", "queue_remove"]

# Words are int64 with 32 bits used: signed arithmetic then never meets the sign bit.


def new_queue(n: int) -> tuple[Array, Array]:
    """An empty queue for ranks 0 … n-1: its words, and where each level starts in them (leaves first)."""
    starts, size = [0], max(1, n)
    while size > 1 or len(starts) == 1:
        size = (size + 31) // 32
        starts.append(starts[-1] + size)
    return np.zeros(starts[-1], np.int64), np.array(starts, np.int64)


@compiled()
def _lowest_bit(word: int) -> int:
    # Position of the lowest set bit: the exponent of a power of two is exact in a float.
    return int(math.frexp(float(word & -word))[1]) - 1


@compiled()
def queue_add(words: Array, starts: Array, rank: int) -> None:
    """Add a rank."""
    for level in range(starts.size - 1):
        at = starts[level] + (rank >> 5)
        before = words[at]
        words[at] = before | (1 << (rank & 31))
        if before != 0:
            return
        rank >>= 5


@compiled()
def queue_remove(words: Array, starts: Array, rank: int) -> None:
    """Remove a rank that is there."""
    for level in range(starts.size - 1):
        at = starts[level] + (rank >> 5)
        words[at] &= ~(1 << (rank & 31))
        if words[at] != 0:
            return
        rank >>= 5


@compiled()
def queue_next(words: Array, starts: Array, rank: int) -> int:
    """The smallest rank >= ``rank`` in the queue, or -1."""
    n_levels = starts.size - 1
    level = 0
    while level < n_levels:
        at = starts[level] + (rank >> 5)
        if at >= starts[level + 1]:
            return -1
        rest = words[at] & ~((1 << (rank & 31)) - 1)
        if rest != 0:
            rank = ((rank >> 5) << 5) + _lowest_bit(rest)
            while level > 0:
                level -= 1
                rank = (rank << 5) + _lowest_bit(words[starts[level] + rank])
            return rank
        # Nothing more in this word: go on behind it, one level up.
        rank = (rank >> 5) + 1
        level += 1
    return -1
