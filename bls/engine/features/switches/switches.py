"""Jobs that wait for few switches, for a limited time."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from traces.algorithms.event_heap import push
from traces.compiled import compiled


@compiled(HOOK)
def wait_for_switches(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Schedule a pass at the instant from which a job that joins the queue accepts more switches."""
    wait = state.settings.switch_wait_ns
    if state.switch_limit[state.jobs.origin[job]] > 0 and 0 < wait < b.NEVER - now:
        push(state.other_events.arriving, now + wait, b.WAKE_UP_KEY + job)
    return 0
