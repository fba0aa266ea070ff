"""What running applications promise: a job is planned with its request while it waits, and with that end once it runs."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.directed import expect
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import hold_pool
from bls.engine.kept_reservations import drop_slots
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["hear"]


@compiled(HOOK)
def hear(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Plan with the end of a running job, which has just been told; it counts from the next pass on.

    Nobody hears of the end of a job that its user or a host will cut: its application, which is not simulated any further,
    would have promised a later one.
    """
    jobs, clock, settings = state.jobs, state.clock, state.settings
    if jobs[b.CUT, job] == 1 and jobs[b.REASON, job] != b.KILLED:
        if settings[b.DIRECTS] != 0:  # it may have promised another end, at another speed, which nobody is to plan with
            expect(state, job, clock[b.NOW], jobs[b.START, job] + jobs[b.WALLTIME, job] + jobs[b.STRETCH, job])
        return 0
    before, end = jobs[b.EXPECTED, job], max(jobs[b.END, job], clock[b.NOW] + 1)
    if settings[b.DIRECTS] != 0:  # as its speeds change it promises again, or, if it comes to be cut, no more
        expect(state, job, clock[b.NOW], end)
        return 0
    jobs[b.EXPECTED, job] = end
    if settings[b.PLANS] == 0 or end == before:
        return 0
    if end < before:
        hold_pool(state, job, end, before, 1)
        clock[b.GAIN] = 1
        clock[b.HULL] = max(clock[b.HULL], before)
    else:
        if settings[b.KEEP] == 1:
            drop_slots(state)  # a slot may be on the very cores
        if settings[b.BY_CORES] == 1 and settings[b.RELEASES] != b.NO_RELEASES:
            # It may come to hold fewer cores before: all of it is to be given back as it was taken.
            hold_pool(state, job, clock[b.NOW], before, 1)
            hold_pool(state, job, clock[b.NOW], end, -1)
        else:
            hold_pool(state, job, before, end, -1)
        clock[b.LOSS] = 1
    clock[b.BLOCKED_HEAD] = -1  # the slot of the head is another now
    return 0
