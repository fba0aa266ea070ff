"""Running jobs that say how many cores they want: their wishes are told when a job has started, and happen at their instants.

They happen behind the releases of their instant, and lead to a scheduling pass. What is done about them is found out after it
(``bls.engine.features.running.widths``), and after each later one.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.features.running.reached import drop_wishes
from bls.engine.features.running.releases import FULL, REFUSED, TOLD
from bls.engine.heaps import drop_top, push
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import is_open
from bls.engine.state import BatchState
from traces.compiled import compiled
from traces.kernels.signatures import Ints


@compiled(HOOK)
def hear_wish(state: BatchState, job: int, _now: int, _stop: int, _sign: int) -> int:
    """A job wishes now, and so is first in the heap."""
    wishing = state.wishing
    drop_top(state.releasing)
    k = wishing.first[job]
    wishing.wish[job], wishing.wished[job] = state.wishes.cores[k], state.wishes.place[k] + 1
    wishing.first[job] += 1
    wishing.count[job] -= 1
    if wishing.count[job] > 0:
        push(state.releasing, state.wishes.at_ns[k + 1], b.WISH_KEY + job)
    state.changed = 1
    return 0


@compiled()
def tell_wishes(state: BatchState, job: int, wished_ns: Ints, cores: Ints, until_ns: int) -> int:
    """Tell for how many cores ``job``, which runs and whose outcome or promise is told next, wishes before ``until_ns``.

    What was told of it before and has not happened yet is void: it may be told again. ``wished_ns`` are the instants of all
    its wishes, from its start on, ascending; ``2**63 - 1`` where there is none. Number i of F is for ``cores[i % F]`` cores.

    Returns ``TOLD``; ``REFUSED`` if a wish is in the past, or one that was heard is no more, or one is for fewer or more cores
    than the job may have; or ``FULL``, if the table must grow first (``bls.engine.growing.grow_wishes``). With the last
    two nothing is told.
    """
    jobs, origin = state.jobs, state.jobs.origin[job]
    if not is_open(state, job):
        return REFUSED
    drop_wishes(state, job)
    first, least, most = state.n_wishes, jobs.min_cores[origin], jobs.max_cores[origin]
    last, heard, n = state.now_ns, state.wishing.wished[job], 0
    if heard > 0 and (wished_ns.size < heard or wished_ns[heard - 1] > last):
        return REFUSED
    for k in range(heard, wished_ns.size):
        at, wanted = wished_ns[k], cores[k % cores.size]
        if at >= until_ns:
            continue
        if at < last or wanted < least or wanted > most or least == most:
            return REFUSED
        if first + n == state.wishes.job.size:
            return FULL
        state.wishes.job[first + n], state.wishes.at_ns[first + n] = job, at
        state.wishes.cores[first + n], state.wishes.place[first + n] = wanted, k
        last = at
        n += 1
    if n > 0:
        state.n_wishes = first + n
        state.wishing.first[job], state.wishing.count[job] = first, n
        push(state.releasing, state.wishes.at_ns[first], b.WISH_KEY + job)
    return TOLD
