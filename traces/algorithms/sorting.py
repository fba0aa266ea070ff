"""Sorting within kernels, without temporary arrays."""

from traces.compiled import Array, compiled

_RUN = 16  #: runs of this length are sorted by insertion


@compiled(inner=True)
def _sink(values: Array, root: int, n: int) -> None:
    """Let the value at ``root`` sink to its place in the heap of the first ``n``, largest at the top."""
    value = values[root]
    while True:
        child = 2 * root + 1
        if child >= n:
            break
        if child + 1 < n and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[root] = values[child]
        root = child
    values[root] = value


@compiled(inner=True)
def sort_first(values: Array, n: int) -> None:
    """Sort the first ``n`` numbers of a column, ascending (a heap sort)."""
    for root in range(n // 2 - 1, -1, -1):
        _sink(values, root, n)
    for last in range(n - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        _sink(values, 0, last)


@compiled(inner=True)
def sort_places(keys: Array, places: Array, space: Array, n: int) -> None:
    """Write the indices 0 … n - 1 of ``keys`` to ``places``, by ascending key, equal keys in order (a merge sort).
    ``space`` is work space of the same size."""
    for low in range(0, n, _RUN):
        for k in range(low, min(low + _RUN, n)):
            key = keys[k]
            at = k
            while at > low and keys[places[at - 1]] > key:
                places[at] = places[at - 1]
                at -= 1
            places[at] = k
    width = _RUN
    while width < n:
        for low in range(0, n - width, 2 * width):
            middle, stop = low + width, min(low + 2 * width, n)
            if keys[places[middle - 1]] <= keys[places[middle]]:
                continue  # already in order
            for k in range(low, middle):
                space[k] = places[k]
            left, right, at = low, middle, low
            while left < middle:
                if right < stop and keys[places[right]] < keys[space[left]]:
                    places[at] = places[right]
                    right += 1
                else:
                    places[at] = space[left]
                    left += 1
                at += 1
        width *= 2
