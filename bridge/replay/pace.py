"""How the clock of a replay goes."""

from __future__ import annotations

from typing import NamedTuple


class Pace(NamedTuple):
    """How the clock goes.

    Attributes
    ----------
    origin_ns : int
        The date of the workload's time 0.
    settle_ns : int
        When nothing has happened for so long the date jumps; 0: it never does.
    cleanup_ns : int
        How long nodes take to clean up after a job.
    """

    origin_ns: int
    settle_ns: int
    cleanup_ns: int = 0
