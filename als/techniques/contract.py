"""What a loop-scheduling technique is: one function that says how many tasks a core gets when it asks.

A technique is a compiled function of this signature (see :data:`NEXT_CHUNK`)::

    next_chunk(n_tasks, n_cores, core, request, remaining, memo) -> int

``n_tasks``
    N, the number of tasks of the job.
``n_cores``
    P, the number of its cores.
``core``
    The core that asks, 0 <= core < P, counted within the job.
``request``
    How many chunks were assigned before this one (i = 0, 1, …).
``remaining``
    R >= 1, the number of tasks not yet assigned.
``memo``
    float64 array of :attr:`Technique.memo_size` entries that belongs to this job alone: zeros at the job's start, and
    the only thing a technique may keep from one request to the next.

It returns the size of the chunk, 1 … R, or 0 to say that this core gets nothing more. The engine checks the answer and
names the technique if it is out of range, or if every core was sent away with tasks left. It must not raise: compiled
code has nobody to catch it, and the engine sees only a 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from traces.compiled import compiled, types
from traces.errors import InputError, shown

__all__ = ["NEXT_CHUNK", "Technique", "technique_kernel"]

#: The numba signature of a technique.
NEXT_CHUNK = types.int64(
    types.int64, types.int64, types.int64, types.int64, types.int64, types.Array(types.float64, 1, "C")
)


@dataclass(frozen=True)
class Technique:
    """A loop-scheduling technique.

    Attributes
    ----------
    name : str
        As the literature names it, in lower case.
    next_chunk : callable
        The rule, decorated with :func:`technique_kernel`.
    memo_size : int
        How many numbers it keeps per job, >= 0.
    source : str
        Where its definition comes from.
    """

    name: str
    next_chunk: Callable[..., int]
    memo_size: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if not callable(self.next_chunk):
            raise InputError(f"technique {self.name}: next_chunk must be a function, not {shown(self.next_chunk)}")
        if not 0 <= self.memo_size <= 2**20:
            raise InputError(f"technique {self.name}: memo_size {self.memo_size}; allowed: 0 to {2**20}")


def technique_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the signature of a technique."""
    return compiled(NEXT_CHUNK)(function)
