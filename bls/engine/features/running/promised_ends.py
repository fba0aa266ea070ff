"""What running applications promise: a job is planned with its request while it waits, and with that end once it runs."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.running.directed import expect
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import hold_pool
from bls.engine.kept_reservations import drop_plan
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(HOOK)
def hear(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Plan with the end of a running job, which has just been told; it counts from the next pass on.

    Nobody hears of the end of a job that its user or a host will cut: its application, which is not simulated any further,
    would have promised a later one.
    """
    jobs, settings = state.jobs, state.settings
    if jobs.cut[job] == 1 and jobs.stop_state[job] != b.KILLED:
        if settings.directs != 0:  # it may have promised another end, at another speed, which nobody is to plan with
            expect(state, job, jobs.start_ns[job] + jobs.walltime_ns[job] + jobs.stretch_ns[job])
        return 0
    before, end = jobs.expected_end_ns[job], max(jobs.end_ns[job], state.now_ns + 1)
    if settings.directs != 0:  # as its speeds change it promises again, or, if it comes to be cut, no more
        expect(state, job, end)
        return 0
    jobs.expected_end_ns[job] = end
    if settings.plans == 0 or end == before:
        return 0
    if end < before:
        hold_pool(state, job, end, before, 1)
        state.gained, state.hull_ns = 1, max(state.hull_ns, before)
    else:
        drop_plan(state)
        if settings.by_cores == 1 and settings.releases != b.NO_RELEASES:
            # It may come to hold fewer cores before: all of it is to be given back as it was taken.
            hold_pool(state, job, state.now_ns, before, 1)
            hold_pool(state, job, state.now_ns, end, -1)
        else:
            hold_pool(state, job, before, end, -1)
        state.lost = 1
    state.blocked_head = -1  # the slot of the head is another now
    return 0
