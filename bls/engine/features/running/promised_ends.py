"""What running applications promise: a job is planned with its request while it waits, and with that end once it runs."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.running.directed import expect
from bls.engine.hooks import HOOK
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(HOOK)
def hear(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Plan with the end of a running job, which has just been told; it counts from the next pass on.

    Nobody hears of the end of a job that its user or a host will cut: its application, which is not simulated any further,
    would have promised a later one.
    """
    jobs, end = state.jobs, max(state.jobs.end_ns[job], state.now_ns + 1)
    if jobs.cut[job] == 1 and jobs.stop_state[job] != b.KILLED:
        if state.settings.directs == 0:
            return 0
        # It may have promised another end, at another speed, which nobody is to plan with.
        end = jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job]
    expect(state, job, end)
    return 0
