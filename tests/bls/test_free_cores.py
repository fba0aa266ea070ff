"""The tree of free cores against a plain set of cores."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bls.availability.free_cores import (
    add_number,
    free_all,
    free_count,
    free_give,
    free_lowest,
    free_next,
    free_run,
    free_stop,
    free_take,
    new_free,
    new_tree,
    next_number,
    remove_number,
)

#: One, two, three and four levels, and their edges.
SIZES = (1, 31, 32, 33, 64, 100, 1023, 1024, 1025, 2100, 32_769, 40_000)


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, list[tuple[bool, int, int]]]:
    """A number of cores, and intervals to take (True) or to give back: near the edges of words more often than not."""
    n_cores = draw(st.sampled_from(SIZES))
    edges = (0, 1, 31, 32, 33, 63, 64, 1023, 1024, 1025, 32_768, n_cores - 1, n_cores)
    bound = st.sampled_from([edge for edge in edges if edge <= n_cores]) | st.integers(0, n_cores)
    many = st.lists(st.tuples(st.booleans(), bound, bound), min_size=1, max_size=12)
    return n_cores, [(take, min(a, b), max(a, b)) for take, a, b in draw(many)]


@settings(max_examples=400, deadline=None)
@given(case=changes(), data=st.data())
def test_questions(case: tuple[int, list[tuple[bool, int, int]]], data: st.DataObject) -> None:
    n_cores, steps = case
    words, starts = new_free(n_cores)
    free = np.arange(n_cores + 1) < n_cores
    for take, lo, hi in steps:
        (free_take if take else free_give)(words, starts, lo, hi)
        free[lo:hi] = not take
    ends = [edge for _, a, b in steps for edge in (a - 1, a, a + 1, b - 1, b) if 0 <= edge <= n_cores]
    bound = st.sampled_from(ends or [0]) | st.integers(0, n_cores)
    for _ in range(6):
        lo, hi = sorted((data.draw(bound), data.draw(bound)))
        inside = np.flatnonzero(free[lo:hi]) + lo
        busy = np.flatnonzero(~free[lo:hi]) + lo
        assert free_count(words, lo, hi) == inside.size
        assert free_all(words, lo, hi) == (busy.size == 0)
        assert free_stop(words, lo, hi) == (busy[0] if busy.size else hi)
        after = np.flatnonzero(free[lo:]) + lo
        assert free_next(words, starts, lo) == (after[0] if after.size else -1)
        wanted = data.draw(st.integers(1, max(1, hi - lo)) | st.sampled_from((1, 31, 32, 33, 64, 65)))
        sums = np.concatenate(([0], np.cumsum(free[:n_cores])))
        begins = np.flatnonzero(sums[wanted:] - sums[:-wanted] == wanted) if wanted <= n_cores else np.empty(0)
        begins = begins[begins >= lo]
        assert free_run(words, starts, lo, wanted) == (begins[0] if begins.size else -1)
        out = np.full((2, wanted + 1), -5, np.int64)
        n_out, missing = free_lowest(words, starts, lo, hi, wanted, 0, *out)
        assert missing == max(0, wanted - inside.size)
        cores = [core for k in range(n_out) for core in range(out[0, k], out[1, k])]
        assert cores == inside[:wanted].tolist()
        assert all(out[1, k] < out[0, k + 1] for k in range(n_out - 1)), "neighbours are joined"


#: One, two, three and four levels, and their edges.
SIZES_QUEUE = (1, 2, 31, 32, 33, 1023, 1024, 1025, 32_768, 32_769, 40_000)


def after(ranks: set[int], rank: int) -> int:
    return min((known for known in ranks if known >= rank), default=-1)


@settings(max_examples=400)
@given(data=st.data(), size=st.sampled_from(SIZES_QUEUE))
def test_as_a_set(data: st.DataObject, size: int) -> None:
    words, starts = new_tree(size)
    inside: set[int] = set()
    edges = [rank for rank in (0, 1, 31, 32, 1023, 1024, 32_767, 32_768, size - 1) if rank < size]
    ranks = st.sampled_from(edges) | st.integers(0, size - 1)
    for rank in data.draw(st.lists(ranks, max_size=40)):
        if rank in inside:
            remove_number(words, starts, rank)
            inside.remove(rank)
        else:
            add_number(words, starts, rank)
            inside.add(rank)
        assert next_number(words, starts, 0) == after(inside, 0)
        for other in {rank, min(rank + 1, size - 1), *edges}:
            assert next_number(words, starts, other) == after(inside, other)
    for rank in sorted(inside):
        assert next_number(words, starts, 0) == rank
        remove_number(words, starts, rank)
    assert next_number(words, starts, 0) == -1
    assert not words.any()
