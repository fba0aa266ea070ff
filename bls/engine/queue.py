"""The batch queue: a set of job ranks, kept as ``bls.availability.bitset`` keeps it and walked in rank order.

Every job has a rank of its own, its place in the policy's total order, so the queue needs no comparison: it is the set
of ranks that wait. Adding, removing and finding the next rank cost one step a level, and there is a level per factor of
32 (four for a million jobs). A heap would give the head as quickly, but not the jobs behind it in order.
"""

from __future__ import annotations

from bls.availability.bitset import new_tree, next_number
from traces.compiled import Array, compiled

#: An empty queue for ranks 0 … n-1, ``new_queue(n)``: its words, and where each level starts in them (leaves first).
new_queue = new_tree

#: The smallest rank >= ``rank`` in the queue, or -1: ``queue_next(words, starts, rank)``.
queue_next = next_number


@compiled(inner=True)
def queue_add(words: Array, starts: Array, rank: int) -> None:
    """Add a rank."""
    for level in range(starts.size - 1):
        at = starts[level] + (rank >> 5)
        before = words[at]
        words[at] = before | (1 << (rank & 31))
        if before != 0:
            return
        rank >>= 5


@compiled(inner=True)
def queue_remove(words: Array, starts: Array, rank: int) -> None:
    """Remove a rank that is there."""
    for level in range(starts.size - 1):
        at = starts[level] + (rank >> 5)
        words[at] &= ~(1 << (rank & 31))
        if words[at] != 0:
            return
        rank >>= 5
