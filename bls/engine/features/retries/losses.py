"""Running jobs that lose all their cores."""

from bls.engine import state as b
from bls.engine.job_lifecycle import answer, is_open
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
    jobs.last_lost[job] = core if core == CAME_AND_WENT else core + 1
    if before < 0:
        answer(state, job, end_ns)
    return True
