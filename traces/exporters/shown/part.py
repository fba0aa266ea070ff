"""Which part of a run a trace shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

#: Half-open intervals of numbers.
Intervals: TypeAlias = Sequence[tuple[int, int]]


class Excerpt(NamedTuple):
    """Half-open intervals of time (ns), of global core numbers and of job numbers; None is all of it.

    ``job_words`` are the words in which the user named the jobs, for errors.
    """

    window_ns: tuple[int, int] | None = None
    cores: Intervals | None = None
    jobs: Intervals | None = None
    job_words: str = ""


#: All of a run.
WHOLE = Excerpt()
