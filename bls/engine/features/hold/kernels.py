"""What a hold keeps a job from."""

from __future__ import annotations

from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(HOOK)
def is_held(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a job that waits is held: nothing starts it, and nothing is reserved for it."""
    return 1 if state.holds.since_ns[job] >= 0 and state.holds.until_ns[job] < 0 else 0
