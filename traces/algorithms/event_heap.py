"""Binary heaps: of (time, key) pairs in two arrays, the total order of events, (time, sequence), for both engines; and of
integer keys in one array, for things with unique ranks.

These kernels only keep the smallest entry first. Pairs are unique, so the order in which they leave depends only on the pairs,
not on the order of insertion. The arrays belong to an engine's state; those of the batch engine form a :class:`Heap` there.
"""

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Heap(State, dim="entries"):
    """Pairs of an instant and a key, the smallest first."""

    n: int = 0  # entries in use
    ns: Ints = column(used=("n",))  # instant
    key: Ints = column(used=("n",))  # row, host …

    def entries(self) -> tuple[Array, Array]:
        """The instants and keys of the entries in use, unordered."""
        return self.ns[: self.n], self.key[: self.n]

    def refill(self, ns: Array, key: Array) -> None:
        """Replace all entries; they are sorted, and sorted entries are a heap."""
        order = np.lexsort((key, ns))
        self.ns[: len(ns)], self.key[: len(ns)] = ns[order], key[order]
        self.n = len(ns)


@compiled(inner=True)
def _rise(time: Array, key: Array, top: int, hole: int, t: int, k: int) -> None:
    """Move the hole up, past larger parents and no higher than ``top``, and fill it."""
    while hole > top:
        parent = (hole - 1) >> 1
        if time[parent] < t or (time[parent] == t and key[parent] < k):
            break
        time[hole] = time[parent]
        key[hole] = key[parent]
        hole = parent
    time[hole] = t
    key[hole] = k


@compiled(inner=True)
def _sift_down(time: Array, key: Array, size: int, hole: int, t: int, k: int) -> None:
    """Move the hole to the bottom along the smaller children, then let the pair rise. A pair inserted at the top nearly always
    belongs near the bottom, so this takes half the comparisons of the textbook loop."""
    top = hole
    child = 2 * hole + 1
    while child + 1 < size:
        # Which child is smaller is unpredictable: a sum is faster than a branch that is mispredicted half of the time.
        right = child + 1
        later, earlier = time[child], time[right]
        child += int((earlier < later) | ((earlier == later) & (key[right] < key[child])))
        time[hole] = time[child]
        key[hole] = key[child]
        hole = child
        child = 2 * hole + 1
    if child < size:
        time[hole] = time[child]
        key[hole] = key[child]
        hole = child
    _rise(time, key, top, hole, t, k)


@compiled(inner=True)
def heap_push(time: Array, key: Array, size: int, t: int, k: int) -> int:
    """Add the pair ``(t, k)`` to the first ``size`` entries; return the new size."""
    _rise(time, key, 0, size, t, k)
    return size + 1


@compiled(inner=True)
def heap_drop_top(time: Array, key: Array, size: int) -> int:
    """Remove the smallest pair, ``(time[0], key[0])``; return the new size."""
    last = size - 1
    if last > 0:
        _sift_down(time, key, last, 0, time[last], key[last])
    return last


@compiled(inner=True)
def heap_replace_top(time: Array, key: Array, size: int, t: int, k: int) -> None:
    """Remove the smallest pair and add ``(t, k)``, in one pass."""
    _sift_down(time, key, size, 0, t, k)


@compiled(inner=True)
def heap_settle(time: Array, key: Array, size: int, at: int, t: int) -> None:
    """Give the entry at position ``at`` the new time ``t`` and restore the order."""
    k = key[at]
    _rise(time, key, 0, at, t, k)
    if key[at] == k:  # it did not rise
        _sift_down(time, key, size, at, t, k)


@compiled(inner=True)
def heap_order(time: Array, key: Array, size: int) -> None:
    """Restore the order after the times of any entries have changed."""
    for at in range(size // 2):
        top = size // 2 - 1 - at
        _sift_down(time, key, size, top, time[top], key[top])


@compiled(inner=True)
def heap_remove_keys(time: Array, key: Array, size: int, lo: int, hi: int) -> int:
    """Remove all pairs with keys in [lo, hi); return the new size."""
    at = size - 1
    while at >= 0:
        if lo <= key[at] < hi:
            size -= 1
            if at < size:
                key[at] = key[size]
                heap_settle(time, key, size, at, time[size])
                continue  # the pair moved here may come from above, so it has not been checked yet
        at -= 1
    return size


@compiled(merged=True)
def push(heap: Heap, instant: int, key: int) -> None:
    """Add an entry."""
    heap.n = heap_push(heap.ns, heap.key, heap.n, instant, key)


@compiled(merged=True)
def drop_top(heap: Heap) -> None:
    """Remove the first entry."""
    heap.n = heap_drop_top(heap.ns, heap.key, heap.n)


@compiled(merged=True)
def replace_top(heap: Heap, instant: int, key: int) -> None:
    """Remove the first entry, and add another."""
    heap_replace_top(heap.ns, heap.key, heap.n, instant, key)


@compiled(merged=True)
def remove_keys(heap: Heap, begin: int, stop: int) -> None:
    """Remove all entries with keys in [begin, stop)."""
    heap.n = heap_remove_keys(heap.ns, heap.key, heap.n, begin, stop)


@compiled(inner=True)
def move(heap: Heap, key: int, instant: int) -> None:
    """Give the first entry with a key another instant, if there is one."""
    at = 0
    while at < heap.n and heap.key[at] != key:
        at += 1
    if at < heap.n:
        heap_settle(heap.ns, heap.key, heap.n, at, instant)


@compiled(merged=True)
def _key_rise(keys: Array, first: int, hole: int, key: int) -> None:
    """Move the hole up, past larger parents, and fill it with the key."""
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[first + parent] <= key:
            break
        keys[first + hole] = keys[first + parent]
        hole = parent
    keys[first + hole] = key


@compiled(merged=True)
def key_push(keys: Array, first: int, size: int, key: int) -> int:
    """Add ``key`` to the ``size`` keys from index ``first`` on; return the new size."""
    _key_rise(keys, first, size, key)
    return size + 1


@compiled(merged=True)
def key_pop(keys: Array, first: int, size: int) -> int:
    """Remove the smallest key, ``keys[first]``; return the new size."""
    last = size - 1
    # To the bottom along the smaller children, then up: a key from the bottom nearly always belongs there.
    hole, child = 0, 1
    while child < last:
        if child + 1 < last and keys[first + child + 1] < keys[first + child]:
            child += 1
        keys[first + hole] = keys[first + child]
        hole = child
        child = 2 * hole + 1
    _key_rise(keys, first, hole, keys[first + last])
    return last
