"""Running jobs are told for which of their cores the head of the queue waits, and how they end is open until it happens.

After each pass, and only where that has changed. The head is the first waiting job that no limit keeps back. If it asks for
cores by number, it waits for those that others hold. Otherwise it waits for as many as are not free: of the running jobs, in
the order in which they are expected to end, up to half of the cores that each computes on and still holds, the last ones; a
job all of whose cores are wanted could serve none of them last.

A job that is told something may end, and release cores, at other instants than was told as it started: :func:`take_back`,
and its coupling tells anew. What has happened by then stays.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import set_stop
from bls.engine.queue import queue_next
from bls.engine.queue_order import held_back
from bls.engine.state import BatchState
from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_remove_keys, heap_settle
from traces.compiled import compiled

__all__ = ["hint_running", "take_back"]


@compiled(inner=True)
def _head(state: BatchState) -> int:
    """The first job of the queue that no limit keeps back, -1 if there is none."""
    settings, sizes, jobs = state.settings, state.sizes, state.jobs
    limited, static = settings[b.LIMITED] == 1, settings[b.ORDER] == b.STATIC
    position = -1
    while True:
        if static:
            position = queue_next(state.queue_words, state.queue_starts, position + 1)
            if position < 0:
                return -1
            job = state.by_rank[position]
        else:
            position += 1
            if position >= sizes[b.N_WAITING] + sizes[b.N_STARTED]:
                return -1
            job = state.order[position]
            if jobs[b.START, job] >= 0 or jobs[b.STATE, job] >= 0:
                continue  # it has just started
        if not (limited and held_back(state, job)):
            return int(job)


@compiled(inner=True)
def _usable(state: BatchState, head: int, core: int) -> bool:
    """Whether a core is of the head's partition."""
    p = state.jobs[b.PARTITION, head]
    return bool(state.partitions[p, b.MASKED] == 0 or (state.masks[p, core >> 5] >> (core & 31)) & 1 == 1)


@compiled(inner=True)
def _last_working(state: BatchState, job: int) -> int:
    """Behind the last of the cores that a job computes on."""
    n, k = state.jobs[b.CORES, job], state.jobs[b.HELD_FIRST, job]
    while n > state.pool_hi[k] - state.pool_lo[k]:
        n -= state.pool_hi[k] - state.pool_lo[k]
        k += 1
    return int(state.pool_lo[k] + n)


@compiled(inner=True)
def _want_of(state: BatchState, head: int, job: int, most: int) -> int:
    """Want up to ``most`` cores of a job, and no more than half of those that it computes on; returns how many."""
    jobs, holder = state.jobs, state.holder
    first, count, stop = jobs[b.HELD_FIRST, job], jobs[b.HELD_COUNT, job], _last_working(state, job)
    held = 0
    for k in range(first, first + count):
        for core in range(state.pool_lo[k], min(state.pool_hi[k], stop)):
            held += holder[core] == job
    most = min(most, held // 2)
    found = 0
    for back in range(count):
        k = first + count - 1 - back
        lo, hi = state.pool_lo[k], min(state.pool_hi[k], stop)
        for step in range(max(hi - lo, 0)):
            core = hi - 1 - step
            if found < most and holder[core] == job and _usable(state, head, core):
                state.wanted_of[core] = job + 1
                found += 1
    return int(found)


@compiled(inner=True)
def _want_named(state: BatchState, head: int) -> int:
    """Want the cores that the head asks for by number and others hold; returns how many."""
    origin, found = state.jobs[b.ORIGIN, head], 0
    for k in range(state.wanted_first[origin], state.wanted_first[origin + 1]):
        for core in range(state.wanted_lo[k], state.wanted_hi[k]):
            if state.holder[core] >= 0:
                state.wanted_of[core] = state.holder[core] + 1
                found += 1
    return int(found)


@compiled(inner=True)
def _news_for(state: BatchState, job: int) -> int:
    """Note of each core of a job whether it is wanted; returns how many are, -1 if that is no news."""
    jobs, news, count = state.jobs, False, 0
    for k in range(jobs[b.HELD_FIRST, job], jobs[b.HELD_FIRST, job] + jobs[b.HELD_COUNT, job]):
        for core in range(state.pool_lo[k], state.pool_hi[k]):
            if state.holder[core] != job:
                continue
            was, will = state.hinted[core] == job + 1, state.wanted_of[core] == job + 1
            news = news or was != will
            state.hinted[core] = state.wanted_of[core]
            count += will
            state.wanted_of[core] = 0
    state.sizes[b.N_HINTED] += count
    jobs[b.WANTED, job] = count
    return count if news else -1


@compiled(HOOK)
def hint_running(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """After a pass: who is to be told something is in ``state.reached``, in the order of expected ends."""
    sizes, jobs = state.sizes, state.jobs
    sizes[b.N_REACHED] = 0
    head = _head(state) if sizes[b.N_WAITING] > 0 else -1
    if head < 0 and sizes[b.N_HINTED] == 0:
        return 0
    # The running jobs in order, in what is work space otherwise; those that start now have only begun.
    ns, row, left = state.left_lo, state.left_hi, 0
    for k in range(sizes[b.N_RUNNING]):
        left = heap_push(ns, row, left, jobs[b.EXPECTED, state.running_job[k]], state.running_job[k])
    lack, named = 0, False
    if head >= 0:
        origin = jobs[b.ORIGIN, head]
        named = state.wanted_first[origin + 1] > state.wanted_first[origin]
        lack = _want_named(state, head) if named else max(jobs[b.CORES, head] - sizes[b.FREE_CORES], 0)
    waits_for = lack
    sizes[b.N_HINTED] = 0
    while left > 0:
        job = row[0]
        left = heap_drop_top(ns, row, left)
        gives = 0
        if lack > 0 and not named:
            gives = _want_of(state, head, job, lack)
            lack -= gives
        # Of most jobs nothing is wanted, and nothing was.
        wanted = _news_for(state, job) if named or gives > 0 or jobs[b.WANTED, job] > 0 else -1
        if wanted >= 0:
            state.reached[sizes[b.N_REACHED]] = job
            sizes[b.N_REACHED] += 1
            jobs[b.HINTS, job] += 1
            k = sizes[b.N_HINTS]
            state.hints[0, k], state.hints[1, k] = job, now
            state.hints[2, k], state.hints[3, k], state.hints[4, k] = head, waits_for, wanted
            sizes[b.N_HINTS] = k + 1
    if named:  # those of jobs that have only begun
        origin = jobs[b.ORIGIN, head]
        for k in range(state.wanted_first[origin], state.wanted_first[origin + 1]):
            state.wanted_of[state.wanted_lo[k] : state.wanted_hi[k]] = 0
    return 0


@compiled(inner=True)
def _drop_releases(state: BatchState, job: int) -> None:
    """Forget what a job was to release from now on."""
    sizes, n_cores = state.sizes, state.host_of.size
    left = state.jobs[b.TO_RELEASE, job]
    if left == 0:
        return
    sizes[b.N_RELEASING] = heap_remove_keys(
        state.releasing_ns, state.releasing_key, sizes[b.N_RELEASING], job * n_cores, (job + 1) * n_cores
    )
    told, k = state.releases, sizes[b.N_RELEASED]
    while left > 0:  # they were told not long ago; the table's order says nothing
        k -= 1
        if told[0, k] == job and state.holder[told[1, k]] == job:
            last = sizes[b.N_RELEASED] - 1
            told[0, k], told[1, k], told[2, k] = told[0, last], told[1, last], told[2, last]
            sizes[b.N_RELEASED] = last
            left -= 1
    state.jobs[b.TO_RELEASE, job] = 0


@compiled()
def take_back(state: BatchState, job: int) -> bool:
    """Take back what was told of how ``job``, which runs, will go on: it was reached, and all that is sure is that it runs now.

    It must be told anew, as of a job that has started: ``outcome`` or ``promise``, and what it releases. False if nothing was
    told of it yet.
    """
    jobs, sizes, now = state.jobs, state.sizes, state.clock[b.NOW]
    if jobs[b.START, job] < 0 or jobs[b.STATE, job] >= 0 or (jobs[b.END, job] < 0 and jobs[b.PROMISE, job] < 0):
        return False
    at = 0
    while state.running_job[at] != job:
        at += 1
    heap_settle(state.running_ns, state.running_job, sizes[b.N_RUNNING], at, now)
    jobs[b.END, job], jobs[b.CUT, job], jobs[b.PROMISE, job], jobs[b.LAST_LOST, job] = -1, 0, now, 0
    _drop_releases(state, job)
    # What it was to have released by the failure of a host may have been why it was not to be cut then.
    set_stop(state, job, jobs[b.START, job] + jobs[b.WALLTIME, job] if state.settings[b.KILL] == 1 else b.NEVER)
    return True
