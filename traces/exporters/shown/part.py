"""Which part of a run a trace shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["WHOLE", "Intervals", "Part"]

#: Half-open intervals of numbers.
Intervals: TypeAlias = Sequence[tuple[int, int]]


class Part(NamedTuple):
    """Half-open intervals of time (ns), of global core numbers and of job numbers; None is all of it."""

    window_ns: tuple[int, int] | None = None
    cores: Intervals | None = None
    jobs: Intervals | None = None


#: All of a run.
WHOLE = Part()
