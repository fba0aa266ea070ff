"""A policy that rejects all jobs."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import send_away, waiting_from
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def turn_away(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Reject all waiting jobs."""
    while state.n_waiting > 0:
        send_away(state, waiting_from(state, 0), b.TURNED_AWAY)
    return BatchStatus.RUNNING
