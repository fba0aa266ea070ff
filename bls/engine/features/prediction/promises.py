"""Ends that applications promise: the scheduler plans with them once they are known."""

from bls.engine import state as b
from bls.engine.features.expected_ends import expect
from bls.engine.hooks import HOOK
from traces.compiled import compiled


@compiled(HOOK)
def use_known_end(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Plan from the next pass on with the end of a running job that is now known, unless its user or a host will cut it."""
    jobs, end = state.jobs, max(state.jobs.end_ns[job], state.now_ns + 1)
    if jobs.cut[job] == 1 and jobs.stop_state[job] != b.KILLED:
        if state.settings.directs == 0:
            return 0
        # It may have promised another end at another speed, which no longer holds.
        end = jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job]
    expect(state, job, end)
    return 0
