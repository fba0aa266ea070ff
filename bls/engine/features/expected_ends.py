"""Changes of the ends that the scheduler expects of running jobs."""

from bls.engine import state as b
from bls.engine.job_lifecycle import drop_plan
from bls.engine.profile import hold_until
from traces.algorithms.event_heap import move
from traces.compiled import compiled


@compiled(inner=True)
def expect(state: b.BatchState, job: int, end: int) -> None:
    """Change the end that the scheduler expects of a running job."""
    jobs, thought = state.jobs, state.jobs.expected_end_ns[job]
    if state.settings.plans == 0 or end == thought:
        jobs.expected_end_ns[job] = end
        return
    directs = state.settings.directs != 0
    if directs or end > thought:
        drop_plan(state)
    hold_until(state, job, end)
    if directs:
        move(state.expected, job, end)
    if end > thought:
        state.lost = 1
    else:
        state.gained, state.hull_ns = 1, max(state.hull_ns, thought)
    state.blocked_head = -1  # its slot has changed
