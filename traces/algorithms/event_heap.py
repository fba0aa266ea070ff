"""A binary heap of (time, key) pairs in two arrays: the total order of events, (time, sequence), for both engines.

The arrays belong to an engine's state; these kernels only keep the smallest pair first. Pairs are unique, so the order in which
they leave depends only on the pairs, not on the order of insertion.
"""

from traces.compiled import Array, compiled


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
