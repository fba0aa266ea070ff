"""Further attempts of jobs that were cut."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import arrive
from bls.engine.jobs import copy_given
from traces.compiled import compiled


@compiled(HOOK)
def again(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Add a row for another attempt of a cut job, with the same rank."""
    jobs, row = state.jobs, state.n_rows
    state.n_rows = row + 1
    copy_given(jobs, job, row)
    if jobs.was_cores[job] > 0:
        jobs.cores[row], jobs.estimate_ns[row] = jobs.was_cores[job], jobs.was_estimate_ns[job]
        jobs.walltime_ns[row] = jobs.was_walltime_ns[job]
    jobs.attempt[row] += 1
    jobs.preset[row] = 0
    for k in range(state.needs.shape[0]):
        state.needs[k, row] = state.needs[k, job]
    for k in range(state.numbers.shape[0]):
        state.numbers[k, row] = state.numbers[k, job]
    state.by_rank[jobs.rank[row]] = row
    arrive(state, row, now)
    return 0
