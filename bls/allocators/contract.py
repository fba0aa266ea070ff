"""What an allocator is: one function that says which free cores a job gets.

An allocator is a compiled function of this signature (see :data:`PLACE`)::

    place(free_lo, free_hi, n_free, n_cores, wanted_lo, wanted_hi, out_lo, out_hi) -> int

``free_lo, free_hi``
    The free cores, ``n_free`` ascending half-open intervals ``[lo, hi)``; only to look at.
``n_cores``
    How many cores the job needs; at least so many are free.
``wanted_lo, wanted_hi``
    The cores that the job asks for by number, ascending intervals; empty for nearly every workload.
``out_lo, out_hi``
    Where the answer goes: ascending, disjoint intervals of free cores, ``n_cores`` cores together. There is room for
    ``n_free`` intervals and as many more as are wanted.

It returns the number of intervals, or 0 if the job cannot be placed now. The engine checks the answer, applies it, and
names the allocator if it is impossible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from traces.compiled import compiled, types

__all__ = ["PLACE", "Allocator", "allocator_kernel"]

_ROW = types.Array(types.int64, 1, "C")

#: The numba signature of an allocator.
PLACE = types.int64(_ROW, _ROW, types.int64, types.int64, _ROW, _ROW, _ROW, _ROW)


@dataclass(frozen=True)
class Allocator:
    """A rule for choosing cores.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case.
    place : callable
        The rule, decorated with :func:`allocator_kernel`.
    """

    name: str
    place: Callable[..., int]


def allocator_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the signature of an allocator."""
    return compiled(PLACE)(function)
