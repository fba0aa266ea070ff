"""Jobs whose cores are all lost, for good: they end there and then, and have failed.

That the cores of a job are lost is known to its application, and then to the scheduler as the job ends: it does not know of
single cores, and gives them to other jobs. Nor does it plan with such an end before it is there.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.job_lifecycle import answer, is_open
from bls.engine.state import BatchState
from traces.compiled import compiled

#: Instead of the core that was the last: none was, they came and went.
CAME_AND_WENT = -1


@compiled()
def tell_loss(state: BatchState, job: int, end_ns: int, core: int) -> bool:
    """Tell, instead of an outcome, when ``job``, which runs, ends because its cores are lost.

    It has failed, and is tried again where that is done with jobs that a host's failure cuts; but not if its cores were all
    lost as it started, since it would be given them again at that very instant, nor if that was the last attempt allowed.
    ``core`` is the last that it lost, a global number, or ``CAME_AND_WENT``.

    Returns False, with nothing changed, if that is in the past, before its promise, or not before it would have been cut; or
    if the simulation has not said that jobs may lose their cores.
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
