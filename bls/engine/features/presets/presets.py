"""Jobs that run from the start."""

from bls.engine import state as b
from bls.engine.hooks import HOOK, INSTANT, publish
from bls.engine.job_lifecycle import start, suggest_now
from bls.engine.scheduling_pass import prepare
from bls.engine.status import BatchStatus
from traces.compiled import compiled


@compiled(HOOK)
def start_presets(state: b.BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Start the jobs that run from the beginning; jobs without room wait. Returns 0 or a ``BatchStatus``."""
    jobs, settings = state.jobs, state.settings
    if state.presets_left == 0:
        return 0
    if settings.profiled == 1:
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
        publish(state, INSTANT, -1, state.now_ns, state.now_ns, 0)  # drain hosts now
    return 0
