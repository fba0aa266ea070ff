"""Rejecting whatever cannot start: nothing ever does."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import send_away
from bls.engine.queue import waiting_from
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def turn_away(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Send all waiting jobs away: they never run."""
    while state.n_waiting > 0:
        send_away(state, waiting_from(state, 0), b.TURNED_AWAY)
    return BatchStatus.RUNNING
