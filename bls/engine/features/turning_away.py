"""Rejecting whatever cannot start: nothing ever does."""

from __future__ import annotations

from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import send_away
from bls.engine.queue import queue_next
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(HOOK)
def turn_away(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Send all waiting jobs away: they never run."""
    position = queue_next(state.queue_words, state.queue_starts, 0)
    while position >= 0:
        send_away(state, state.by_rank[position])
        position = queue_next(state.queue_words, state.queue_starts, position + 1)
    return 0
