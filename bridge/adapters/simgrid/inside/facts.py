"""What a technique is told of a loop's tasks, and of the chunk that a core has ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class LastChunk(NamedTuple):
    """A core's last chunk; of size 0 if it has had none, or the technique has heard of it."""

    size: int = 0
    work_ns: int = 0  # of its tasks
    total_ns: int = 0  # from the request to the end
    squares: float = 0.0  # sum over its tasks of (time - their mean time)², ns²

    @classmethod
    def of(cls, took_ns: Sequence[int], total_ns: int) -> LastChunk:
        """The chunk whose tasks took so long, one after the other."""
        work, shift, size = sum(took_ns), took_ns[0], len(took_ns)
        squares = math.fsum(float(took - shift) ** 2 for took in took_ns)
        beyond = float(work) - float(size) * float(shift)
        return cls(size, work, total_ns, max(0.0, squares - beyond * beyond / size))


def moments(gflop: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (the population's) of lengths; equal ones have exactly 0."""
    beyond = 0.0
    for length in gflop:
        beyond += length - gflop[0]
    mean = gflop[0] + beyond / len(gflop)
    squares = 0.0
    for length in gflop:
        squares += (length - mean) * (length - mean)
    return mean, math.sqrt(squares / len(gflop))
