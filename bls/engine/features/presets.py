"""Jobs that run from the start."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import EARLIEST, HOOK, call_hook
from bls.engine.job_starts import start, suggest
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled

__all__ = ["start_presets"]


@compiled(HOOK)
def start_presets(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Put the jobs that run from the start on the machine, before any other is thought of; those without room wait.

    Returns a ``BatchStatus``.
    """
    settings, clock, sizes, jobs = state.settings, state.clock, state.sizes, state.jobs
    for k in range(state.arrivals.size):
        job = state.arrivals[k]
        if jobs[b.SUBMIT, job] > clock[b.NOW]:
            break
        if jobs[b.PRESET, job] == 0 or jobs[b.STATE, job] >= 0:
            continue
        count = 0
        if jobs[b.CORES, job] <= sizes[b.FREE_CORES]:
            if settings[b.BY_CORES] == 1:
                call_hook(state.hooks[EARLIEST], (state, job, clock[b.NOW], clock[b.NOW] + 1, 0))
                count = sizes[b.PLACED]
            else:
                count = suggest(state, job)
        if count != 0 and not start(state, job, count, b.BY_PRESET):
            return BatchStatus.ALLOCATOR_FAULT
    sizes[b.PRESETS_LEFT] = 0
    return BatchStatus.RUNNING
