"""Further attempts of jobs that were cut, and running jobs that lose all their cores."""

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import answer, arrive, is_open
from bls.engine.jobs import copy_given
from bls.engine.status import BatchStatus
from traces.compiled import compiled

CAME_AND_WENT = -1  #: instead of the core lost last: the job's width has changed


@compiled()
def report_loss(state: b.BatchState, job: int, end_ns: int, core: int) -> bool:
    """Report that the running ``job`` has failed because all its cores are lost; ``core``: the last one, or ``CAME_AND_WENT``.

    It gets another attempt if jobs cut by host failures do, unless it lost all cores at its start or this was its last attempt.
    Returns False, with nothing changed, if losses are not allowed or the end is past, before its promise or not before stop_ns.
    """
    jobs = state.jobs
    before = jobs.promise_ns[job]
    if state.settings.loses == 0 or not is_open(state, job) or not CAME_AND_WENT <= core < state.host_of.size:
        return False
    if end_ns < max(state.now_ns, before) or end_ns >= jobs.stop_ns[job]:
        return False
    jobs.end_ns[job] = end_ns
    jobs.stop_state[job] = b.FAILED
    last = end_ns == jobs.start_ns[job] or jobs.attempt[job] + 1 >= state.settings.max_attempts
    jobs.cut[job] = b.FOR_GOOD if last else b.BY_OTHERS
    state.releases.last_lost[job] = core if core == CAME_AND_WENT else core + 1
    if before < 0:
        answer(state, job, end_ns)
    return True


@compiled(HOOK)
def may_retry(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """``RUNNING`` if a cut job gets another attempt, 0 if not; or the status with which the engine stops."""
    settings, reason = state.settings, state.jobs.stop_state[job]
    if reason != b.REQUEUED and (reason != b.FAILED or settings.requeues == 0):
        return 0
    if state.n_rows == state.jobs.number.size:
        return BatchStatus.ROWS_FULL
    return BatchStatus.ATTEMPTS if state.jobs.attempt[job] + 1 >= settings.max_attempts else BatchStatus.RUNNING


@compiled(HOOK)
def again(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Add a row for another attempt of a cut job, with the same rank."""
    jobs, widths, row = state.jobs, state.widths, state.n_rows
    state.n_rows = row + 1
    copy_given(jobs, job, row)
    if widths.was_cores.size > 0 and widths.was_cores[job] > 0:
        jobs.cores[row], jobs.estimate_ns[row] = widths.was_cores[job], widths.was_estimate_ns[job]
        jobs.walltime_ns[row] = widths.was_walltime_ns[job]
    jobs.attempt[row] += 1
    jobs.preset[row] = 0
    for k in range(state.needs.shape[0]):
        state.needs[k, row] = state.needs[k, job]
    for k in range(state.scores.numbers.shape[0]):
        state.scores.numbers[k, row] = state.scores.numbers[k, job]
    state.by_rank[jobs.rank[row]] = row
    arrive(state, row, now)
    return 0
