"""How the clock of a replay goes."""

from __future__ import annotations

from typing import NamedTuple


class Pace(NamedTuple):
    """How the clock goes."""

    origin_ns: int  # the date of the workload's time 0
    settle_ns: int  # when nothing has happened for so long the date jumps; 0: it never does
    cleanup_ns: int = 0  # how long nodes take to clean up after a job
