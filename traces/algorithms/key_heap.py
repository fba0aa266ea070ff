"""A binary heap of integer keys in one array, for things with unique ranks."""

from traces.compiled import Array, compiled


@compiled(merged=True)
def key_push(keys: Array, first: int, size: int, key: int) -> int:
    """Add ``key`` to the ``size`` keys from index ``first`` on; return the new size."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[first + parent] <= key:
            break
        keys[first + hole] = keys[first + parent]
        hole = parent
    keys[first + hole] = key
    return size + 1


@compiled(merged=True)
def key_pop(keys: Array, first: int, size: int) -> int:
    """Remove the smallest key, ``keys[first]``; return the new size."""
    last = size - 1
    key = keys[first + last]
    # To the bottom along the smaller children, then up: a key from the bottom nearly always belongs there.
    hole, child = 0, 1
    while child < last:
        if child + 1 < last and keys[first + child + 1] < keys[first + child]:
            child += 1
        keys[first + hole] = keys[first + child]
        hole = child
        child = 2 * hole + 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[first + parent] <= key:
            break
        keys[first + hole] = keys[first + parent]
        hole = parent
    keys[first + hole] = key
    return last
