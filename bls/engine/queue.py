"""The batch queue: a set of job ranks, a tree as in ``bls.availability.free_cores`` (leaves first), walked in rank order.

A job's rank is its unique place in the policy's total order, so the queue is a set of ranks and needs no comparisons.
Adding, removing and finding the next rank cost one step per level, with a level per factor of 32 (four for a million jobs).
A heap would give the head as quickly, but not the following jobs in order.
"""

from bls.availability.free_cores import next_number
from bls.engine import state as b
from traces.compiled import Array, compiled


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


@compiled(merged=True)
def waiting_from(state: b.BatchState, rank: int) -> int:
    """Return the waiting job of the lowest rank from ``rank`` on, or -1."""
    found = next_number(state.queue_words, state.queue_starts, rank)
    return int(state.by_rank[found]) if found >= 0 else -1


@compiled(merged=True)
def next_in_order(state: b.BatchState, place: int, n_order: int) -> tuple[int, int]:
    """Return the next place in the order of ranks, or of ``state.order``, and its job; -1 after the last."""
    if state.settings.order == b.STATIC:
        rank = next_number(state.queue_words, state.queue_starts, place + 1)
        return rank, int(state.by_rank[rank]) if rank >= 0 else -1
    return place + 1, int(state.order[place + 1]) if place + 1 < n_order else -1
