"""Where jobs would be placed now, one beside the other, on a copy of what is free: nothing of the simulation changes.

As ``bls.engine.features.planning.decided`` starts jobs that a policy has chosen, but that nothing is started. The state is one
whose columns of what is free and what runs are copies (``bls.seen.trial``); of the jobs' columns those that are written are put
back.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import MOVE_PROFILE, call_hook
from bls.engine.job_lifecycle import hold_pool, take_cores, tally
from bls.engine.job_starts import held_back, suggest_now
from bls.engine.named_cores import put_named
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled()
def begin_trial(state: BatchState) -> int:
    """Bring the copied profile to the present instant, as a pass does."""
    if state.settings.by_cores == 1:
        now = state.now_ns
        call_hook(state.roles[MOVE_PROFILE], (state, -1, now, now, 0))
    return 0


@compiled(inner=True)
def _take(state: BatchState, job: int, count: int) -> int:
    """Take the ``count`` intervals at the end of the pool for a job, on the copies; the intervals, 0 if they cannot be its."""
    jobs, settings = state.jobs, state.settings
    first, held, cores = jobs.held_first[job], jobs.held_count[job], jobs.held_cores[job]
    if take_cores(state, job, state.pool_used, count) < 0:
        return 0
    if settings.by_cores == 1:
        hold_pool(state, job, state.now_ns, b.NEVER, -1)
    tally(state, job, 1, jobs.cores[job])
    jobs.held_first[job], jobs.held_count[job], jobs.held_cores[job] = first, held, cores
    return count


@compiled()
def try_allocator(state: BatchState, job: int) -> int:
    """Place a job that waits where the allocator does; the number of its intervals at the end of the pool, 0 if nowhere."""
    if state.jobs.cores[job] > state.free_cores:
        return 0
    if held_back(state, job):
        return 0
    return _take(state, job, suggest_now(state, job))


@compiled()
def try_named(state: BatchState, job: int, count: int) -> int:
    """Place a job that waits on the first ``count`` intervals of ``chosen_lo, chosen_hi``; 0 if it may not have them."""
    return _take(state, job, put_named(state, job, 0, count))
