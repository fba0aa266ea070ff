"""Heaps of events in the state of the batch engine (``traces.algorithms.event_heap``)."""

import numpy as np

from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_remove_keys, heap_replace_top, heap_settle
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
