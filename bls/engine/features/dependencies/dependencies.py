"""Jobs that arrive after the end of other jobs."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from traces.algorithms.event_heap import push
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(HOOK)
def let_children_come(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Let the jobs that depend on an ended job arrive."""
    jobs, origin = state.jobs, state.jobs.origin[job]
    for k in range(state.dependencies.first[origin], state.dependencies.first[origin + 1]):
        child = state.dependencies.row[k]
        if jobs.why[child] == b.NEVER_STARTED and jobs.state[child] == b.CANCELLED:
            continue  # cancelled before it could arrive
        if state.dependencies.unmet.size > 0:
            state.dependencies.unmet[child] -= 1
            if state.dependencies.unmet[child] > 0:
                continue  # it depends on further jobs
            jobs.depends_on[child] = origin  # the last to end
        think = min(state.dependencies.think_ns[jobs.origin[child]], MAX_NS - now)
        push(state.other_events.arriving, max(jobs.begin_ns[child], now + think), child)
    return 0
