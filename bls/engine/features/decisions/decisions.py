"""Decisions of the scheduler: the records of its passes, and the simulated time that they take."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import drop_plan, set_stop
from bls.engine.profile import hold_until, move_on
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def room(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Check that there is room for the record of a pass; returns 0 or a ``BatchStatus``."""
    return BatchStatus.DECISIONS_FULL if state.decisions.n_passes >= state.decisions.passes.at_ns.size else 0


@compiled(HOOK)
def record(state: b.BatchState, _job: int, took: int, waiting: int, presets: int) -> int:
    """Record a pass."""
    k, decisions = state.decisions.n_passes, state.decisions.passes
    decisions.at_ns[k], decisions.wall_ns[k] = state.now_ns, took
    decisions.waiting[k], decisions.started[k] = waiting, state.n_started - presets
    state.decisions.n_passes = k + 1
    return 0


@compiled(HOOK)
def charge(state: b.BatchState, _job: int, took: int, _waiting: int, presets: int) -> int:
    """Let the jobs of a pass, all but the presets, start when the scheduler has decided, which takes the charged time."""
    jobs, n, cost_ns = state.jobs, state.n_started, state.decisions.cost_ns
    cost_ns = took if cost_ns < 0 else cost_ns
    state.decisions.busy_until_ns = state.now_ns + cost_ns
    if cost_ns == 0 or n <= presets:
        return 0
    # They hold their cores for longer than planned: drop the reservations that follow them.
    state.blocked_head = -1
    drop_plan(state)
    for k in range(presets, n):
        job = state.started[k]
        # A job that loses its hosts, or its user, before its start takes effect is cut as it starts.
        set_stop(state, job, b.NEVER)
        late = min(cost_ns, jobs.stop_ns[job] - jobs.start_ns[job])
        hold_until(state, job, jobs.expected_end_ns[job] + late)
        jobs.start_ns[job] += late
    return 0


@compiled(HOOK)
def next_decision(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """The instant of the pass that handles the changes during a decision, ``NEVER`` if nothing has changed."""
    # Not before now: the rest of the present instant may still have to be handled.
    return max(state.decisions.busy_until_ns, state.now_ns) if state.changed == 1 else b.NEVER


@compiled(HOOK)
def is_deciding(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Whether the scheduler is still busy with its previous decision, and handles the changes of this instant afterwards."""
    if now >= state.decisions.busy_until_ns:
        return 0
    if state.arrived_job >= 0:
        state.changed = 1
    if state.settings.profiled == 1:
        move_on(state)  # or the profile would fill with past slices
    return 1
