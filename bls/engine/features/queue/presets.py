"""Jobs that run from the start."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK, INSTANT, publish
from bls.engine.job_starts import start, suggest_now
from bls.engine.scheduling_pass import prepare
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def start_presets(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Put the jobs that run from the start on the machine, before any other is thought of; those without room wait.

    They run already: that is nothing to decide. Returns 0, or a ``BatchStatus``.
    """
    jobs, settings = state.jobs, state.settings
    if state.presets_left == 0:
        return 0
    if settings.plans == 1 or settings.by_cores == 1:
        prepare(state)
    for k in range(state.arrivals.size):
        job = state.arrivals[k]
        if jobs.begin_ns[job] > state.now_ns:
            break
        if jobs.preset[job] == 0 or jobs.state[job] >= 0:
            continue
        count = suggest_now(state, job) if jobs.cores[job] <= state.free_cores else 0
        if count != 0 and not start(state, job, count, b.BY_PRESET):
            return BatchStatus.ALLOCATOR_FAULT
    state.presets_left = 0
    state.changed = 1
    if settings.releases == b.BY_DRAIN:
        publish(state, INSTANT, -1, state.now_ns, state.now_ns, 0)  # hosts that are drained now
    return 0
