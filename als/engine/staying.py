"""The cores that stay where widths change: those of a job that are not to leave, and their places for techniques."""

from __future__ import annotations

from als.engine import state as s
from als.engine.releases import released
from als.engine.state import ApplicationState
from traces.compiled import compiled

__all__ = ["count_ranks", "is_last", "stays"]


@compiled(inner=True)
def stays(state: ApplicationState, c: int) -> bool:
    """Whether core ``c`` is the job's, there or not, and is not to leave."""
    return not released(state, c) and state.cores.wanted[c] != s.TO_LEAVE


@compiled(inner=True)
def is_last(state: ApplicationState) -> bool:
    """Whether all cores but one are released, or lost for good."""
    return bool(state.n_gone + state.n_released >= state.speed.size - 1)


@compiled(inner=True)
def count_ranks(state: ApplicationState) -> None:
    """Count the cores that stay, by their slots, for the techniques."""
    width = 0
    for c in range(state.speed.size):
        if stays(state, c):
            state.cores.rank[c] = width
            state.amounts.ranked[width] = state.speed[c]
            width += 1
    state.width = width
