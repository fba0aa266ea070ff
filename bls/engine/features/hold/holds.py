"""Jobs that a policy holds: they neither start nor get reservations until it releases them."""

from typing import TYPE_CHECKING

import numpy as np

from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.base.time import format_ns
from traces.compiled import Array, compiled

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


class Holds:
    """The holds of a run, for its policy."""

    def __init__(self, state: BatchState) -> None:
        self._state = state
        #: Whether the policy has ever held a job.
        self.used = bool((state.holds.since_ns >= 0).any())

    @property
    def on(self) -> Array:
        """A mask of the held rows."""
        return np.asarray((self._state.holds.since_ns >= 0) & (self._state.holds.until_ns < 0))

    def has(self, row: int) -> bool:
        """Whether a row's job is held."""
        return bool(self._state.holds.since_ns[row] >= 0 and self._state.holds.until_ns[row] < 0)

    def set(self, row: int, on: bool) -> bool:
        """Hold a waiting job from now on, or release it; False if nothing changes."""
        holds, now = self._state.holds, self._state.now_ns
        if self.has(row) == on:
            return False
        if on:
            holds.since_ns[row] = now
        holds.until_ns[row] = -1 if on else now
        self.used = True
        return True

    def text(self, row: int) -> str:
        """The text of the latest hold of a job; empty if it was never held, or released at once."""
        since, until = int(self._state.holds.since_ns[row]), int(self._state.holds.until_ns[row])
        return f"held by the policy from {format_ns(since)} to {format_ns(until)}" if until > since else ""


def why_stuck(state: BatchState) -> str:
    """The text of the hold of the queue's head (``state.due_job``), if it is held."""
    on_hold = Holds(state).on
    if state.due_job < 0 or not on_hold[state.due_job : state.due_job + 1].any():
        return ""
    return f"the batch policy has held it since {format_ns(int(state.holds.since_ns[state.due_job]))}"


def check_holds(checks: "BatchChecks") -> None:
    """Check that only waiting or cancelled jobs are held, and that holds end after they begin."""
    holds, jobs = checks.state.holds.front(min(len(checks.state.holds.since_ns), checks.state.n_rows)), checks.jobs
    if len(holds.since_ns):
        since, until = holds.since_ns, holds.until_ns
        early = (since >= 0) & ((jobs.eligible_ns < 0) | (since < jobs.eligible_ns))
        checks.no_job(
            ((since >= 0) & (until < 0) & (jobs.start_ns >= 0), "is held, and has started"),
            (early, "was held before it joined the queue"),
            ((until >= 0) & (until < since), "was released before it was held"),
            (np.maximum(since, until) > checks.state.now_ns, "is held, or released, in the future"),
        )


@compiled(HOOK)
def is_held(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a waiting job is held."""
    return 1 if state.holds.since_ns[job] >= 0 and state.holds.until_ns[job] < 0 else 0
