"""Factors that are constant from one given instant to the next: recorded traces, cores that come late or are lost."""

from __future__ import annotations

from traces.base.time import MAX_NS
from traces.compiled import Array, compiled


@compiled(inner=True)
def _pieces_begun(piece_ns: Array, first: int, stop: int, t_ns: int) -> int:
    """The place after the last piece that has begun at ``t_ns``."""
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if piece_ns[middle] <= t_ns:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(inner=True)
def piece_factor(piece_ns: Array, factors: Array, first: int, stop: int, period_ns: int, t_ns: int) -> float:
    """The factor at an instant, of the pieces ``first`` up to ``stop``, repeated every ``period_ns`` unless that is 0."""
    begun = _pieces_begun(piece_ns, first, stop, t_ns % period_ns if period_ns else t_ns)
    return factors[begun - 1] if begun > first else 1.0


@compiled(inner=True)
def piece_next_ns(piece_ns: Array, first: int, stop: int, period_ns: int, t_ns: int) -> int:
    """The first instant after ``t_ns`` at which a piece, or the next repetition, begins; beyond ``MAX_NS`` if none does."""
    within = t_ns % period_ns if period_ns else t_ns
    begun = _pieces_begun(piece_ns, first, stop, within)
    if begun < stop:
        return t_ns + int(piece_ns[begun]) - within
    return t_ns + period_ns - within if period_ns else MAX_NS + 1
