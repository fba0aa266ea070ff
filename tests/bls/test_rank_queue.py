"""The queue of ranks against a plain set."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bls.engine.queue import new_queue, queue_add, queue_next, queue_remove

#: One, two, three and four levels, and their edges.
SIZES = (1, 2, 31, 32, 33, 1023, 1024, 1025, 32_768, 32_769, 40_000)


def after(ranks: set[int], rank: int) -> int:
    return min((known for known in ranks if known >= rank), default=-1)


@settings(max_examples=400)
@given(data=st.data(), size=st.sampled_from(SIZES))
def test_as_a_set(data: st.DataObject, size: int) -> None:
    words, starts = new_queue(size)
    inside: set[int] = set()
    edges = [rank for rank in (0, 1, 31, 32, 1023, 1024, 32_767, 32_768, size - 1) if rank < size]
    ranks = st.sampled_from(edges) | st.integers(0, size - 1)
    for rank in data.draw(st.lists(ranks, max_size=40)):
        if rank in inside:
            queue_remove(words, starts, rank)
            inside.remove(rank)
        else:
            queue_add(words, starts, rank)
            inside.add(rank)
        assert queue_next(words, starts, 0) == after(inside, 0)
        for other in {rank, min(rank + 1, size - 1), *edges}:
            assert queue_next(words, starts, other) == after(inside, other)
    for rank in sorted(inside):
        assert queue_next(words, starts, 0) == rank
        queue_remove(words, starts, rank)
    assert queue_next(words, starts, 0) == -1
    assert not words.any()
