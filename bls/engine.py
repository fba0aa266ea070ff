"""The batch engine: who runs where and when, advanced until it needs something from outside.

At one instant it handles ends, then arrivals, then makes one scheduling pass. In a pass the head of the queue starts as
long as it can be placed; a head that cannot blocks the queue. All state is in one :class:`BatchState`; the kernels below
are the only code that changes it.

The engine knows no run times but those it is given. When jobs have started it *suspends* (``STARTED``) and must be told
for each either the outcome or a promise, "nothing visible before t"; it then runs on to the earliest open promise and
suspends only there (``DUE``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bls.free_cores import give_back, take
from bls.rank_queue import new_queue, queue_add, queue_next, queue_remove
from traces.compiled import Array, compiled, own
from traces.event_heap import heap_drop_top, heap_push, heap_replace_top
from traces.time import MAX_NS

__all__ = [
    "ALLOCATOR_FAULT",
    "ANSWERED",
    "DONE",
    "DUE",
    "DUE_JOB",
    "ENDED",
    "N_STARTED",
    "NOW",
    "OVERFLOW",
    "PAUSED",
    "POOL_FULL",
    "STARTED",
    "STUCK",
    "BatchState",
    "advance",
    "new_state",
    "outcome",
    "promise",
]

# Entries of BatchState.counters.
NOW = 0
NEXT_ARRIVAL = 1  # first job not yet submitted
N_RUNNING = 2  # size of the heap of ends and promises
N_FREE = 3  # number of free intervals
FREE_CORES = 4
POOL_USED = 5  # intervals in the allocation pool
N_STARTED = 6  # jobs started in the latest pass that await an answer
ANSWERED = 7  # how many of them have had one
DUE_JOB = 8  # the job whose promise has come due, or whose placing failed
ENDED = 9  # jobs that have ended
IN_PASS = 10  # 1 while a scheduling pass is not complete
COUNTERS = 11

# Why advance() returned.
DONE = 0
STARTED = 1  # jobs have started: each needs an outcome or a promise
DUE = 2  # a promise has come due: its job needs an outcome or a later promise
PAUSED = 3  # as many ends as asked for; call again
POOL_FULL = 4  # the allocation pool must grow; call again
STUCK = 5  # nothing runs or arrives any more, and the head cannot be placed
ALLOCATOR_FAULT = 6  # the allocator suggested cores that are not free, or another number of them
OVERFLOW = 7  # an end beyond traces.time.MAX_NS

_RUNNING = -1
_NEVER = 2**63 - 1


class BatchState(NamedTuple):
    """The whole state of a batch simulation of n jobs, in workload order (ascending submit), on M cores.

    Attributes
    ----------
    counters : int64 (COUNTERS,)
        See the names above.
    submit_ns, cores, rank, by_rank : int64 (n,)
        ``rank`` is a job's place in the policy's order, ``by_rank`` its inverse.
    run_ns : int64 (n,)
        Run times that are known from the start, -1 where the application level decides.
    start_ns, end_ns, promise_ns : int64 (n,)
        -1 where not known yet.
    running_ns, running_job : int64
        Heap of the running jobs by the instant at which they end or their promise comes due.
    queue_words, queue_starts : int64
        ``bls.rank_queue``.
    free_lo, free_hi, spare_lo, spare_hi : int64
        ``bls.free_cores``.
    held_first, held_count : int64 (n,)
        Where a job's intervals are in the pool.
    pool_lo, pool_hi : int64
        Allocations, in the order in which jobs started.
    wanted_first : int64 (n + 1,)
        Where a job's wanted intervals are in the next two.
    wanted_lo, wanted_hi : int64
        Cores asked for by number.
    started : int64
        The jobs of the latest pass that await an answer.
    """

    counters: Array
    submit_ns: Array
    cores: Array
    rank: Array
    by_rank: Array
    run_ns: Array
    start_ns: Array
    end_ns: Array
    promise_ns: Array
    running_ns: Array
    running_job: Array
    queue_words: Array
    queue_starts: Array
    free_lo: Array
    free_hi: Array
    spare_lo: Array
    spare_hi: Array
    held_first: Array
    held_count: Array
    pool_lo: Array
    pool_hi: Array
    wanted_first: Array
    wanted_lo: Array
    wanted_hi: Array
    started: Array


@compiled()
def advance(state: BatchState, place: Callable[..., int], max_ends: int) -> int:
    """Simulate until something is needed from outside; returns what (see the names above).

    Parameters
    ----------
    state : BatchState
        Changed in place.
    place : callable
        The allocator's rule.
    max_ends : int
        Pause after about so many ends, for a caller that shows progress.

    Notes
    -----
    One function, with every array in a local name: compiled code counts references to an array whenever it takes it out
    of a tuple or hands it on, which costs more than a step of the simulation.
    """
    counters = state.counters
    submit_ns, cores, rank, by_rank, run_ns = state.submit_ns, state.cores, state.rank, state.by_rank, state.run_ns
    start_ns, end_ns, promise_ns = state.start_ns, state.end_ns, state.promise_ns
    running_ns, running_job, started = state.running_ns, state.running_job, state.started
    words, starts = state.queue_words, state.queue_starts
    free_lo, free_hi, spare_lo, spare_hi = state.free_lo, state.free_hi, state.spare_lo, state.spare_hi
    held_first, held_count, pool_lo, pool_hi = state.held_first, state.held_count, state.pool_lo, state.pool_hi
    wanted_first, wanted_lo, wanted_hi = state.wanted_first, state.wanted_lo, state.wanted_hi

    n_jobs = submit_ns.size
    next_job, n_running, n_free = counters[NEXT_ARRIVAL], counters[N_RUNNING], counters[N_FREE]
    free_cores, pool_used, ended, now = counters[FREE_CORES], counters[POOL_USED], counters[ENDED], counters[NOW]
    in_pass = counters[IN_PASS] == 1
    n_started = 0
    due = -1
    pause_at = ended + max_ends
    status = _RUNNING
    while status == _RUNNING:
        if not in_pass:
            # The next instant, and at it: ends, then arrivals.
            t = submit_ns[next_job] if next_job < n_jobs else _NEVER
            if n_running > 0:
                t = min(t, running_ns[0])
            if t == _NEVER:
                head = queue_next(words, starts, 0)
                status = DONE
                if head >= 0:
                    due = by_rank[head]
                    status = STUCK
                break
            now = t
            while n_running > 0 and running_ns[0] == t:
                job = running_job[0]
                later = end_ns[job]
                if later < 0:
                    later = promise_ns[job]
                    if later <= t:
                        due = job
                        status = DUE
                        break
                if later > t:
                    heap_replace_top(running_ns, running_job, n_running, later, job)
                    continue
                n_running = heap_drop_top(running_ns, running_job, n_running)
                n_free = give_back(
                    free_lo, free_hi, n_free, pool_lo, pool_hi, held_first[job], held_count[job], spare_lo, spare_hi
                )
                free_cores += cores[job]
                ended += 1
            if status == DUE:
                break
            while next_job < n_jobs and submit_ns[next_job] == t:
                queue_add(words, starts, rank[next_job])
                next_job += 1
            in_pass = True
        # One scheduling pass: start the head of the queue as long as it can be placed.
        while True:
            head = queue_next(words, starts, 0)
            if head < 0:
                break
            job = by_rank[head]
            if cores[job] > free_cores:
                break
            wanted, wanted_stop = wanted_first[job], wanted_first[job + 1]
            room = pool_used + n_free + wanted_stop - wanted
            if room > pool_lo.size:
                status = POOL_FULL
                break
            due = job
            n_intervals = place(
                free_lo,
                free_hi,
                n_free,
                cores[job],
                wanted_lo[wanted:wanted_stop],
                wanted_hi[wanted:wanted_stop],
                pool_lo[pool_used:room],
                pool_hi[pool_used:room],
            )
            if n_intervals == 0:
                break
            # The allocator only suggests: see that it is the right number of cores, all free, and apply it.
            together = 0
            for k in range(pool_used, pool_used + min(n_intervals, room - pool_used)):
                together += pool_hi[k] - pool_lo[k]
            left = -1
            if 0 < n_intervals <= room - pool_used and together == cores[job]:
                left = take(free_lo, free_hi, n_free, pool_lo, pool_hi, pool_used, n_intervals, spare_lo, spare_hi)
            if left < 0:
                status = ALLOCATOR_FAULT
                break
            n_free = left
            free_cores -= cores[job]
            held_first[job] = pool_used
            held_count[job] = n_intervals
            pool_used += n_intervals
            queue_remove(words, starts, head)
            start_ns[job] = now
            if run_ns[job] >= 0:
                if run_ns[job] > MAX_NS - now:
                    status = OVERFLOW
                    break
                end = now + run_ns[job]
                end_ns[job] = end
                n_running = heap_push(running_ns, running_job, n_running, end, job)
            else:
                started[n_started] = job
                n_started += 1
        if n_started > 0 and status in (_RUNNING, POOL_FULL):
            # With the pool full the pass goes on after the answers, and asks for room then.
            in_pass = status == POOL_FULL
            status = STARTED
        elif status == _RUNNING:
            in_pass = False
            if ended >= pause_at:
                status = PAUSED
    counters[NEXT_ARRIVAL], counters[N_RUNNING], counters[N_FREE] = next_job, n_running, n_free
    counters[FREE_CORES], counters[POOL_USED], counters[ENDED], counters[NOW] = free_cores, pool_used, ended, now
    counters[IN_PASS] = 1 if in_pass else 0
    counters[N_STARTED], counters[ANSWERED], counters[DUE_JOB] = n_started, 0, due
    return status


@compiled()
def promise(state: BatchState, job: int, not_before_ns: int) -> bool:
    """Tell that ``job``, which runs, ends at ``not_before_ns`` or later; False if that takes back what is known."""
    if state.start_ns[job] < 0 or state.end_ns[job] >= 0 or not_before_ns < state.counters[NOW]:
        return False
    before = state.promise_ns[job]
    if before > not_before_ns or not_before_ns > MAX_NS:
        return False
    state.promise_ns[job] = not_before_ns
    if before < 0:
        counters = state.counters
        counters[N_RUNNING] = heap_push(state.running_ns, state.running_job, counters[N_RUNNING], not_before_ns, job)
        counters[ANSWERED] += 1
    return True


@compiled()
def outcome(state: BatchState, job: int, end_ns: int) -> bool:
    """Tell that ``job``, which runs, ends at ``end_ns``; False if that is in the past or before its promise."""
    if state.start_ns[job] < 0 or state.end_ns[job] >= 0:
        return False
    before = state.promise_ns[job]
    if end_ns < state.counters[NOW] or end_ns < before or end_ns > MAX_NS:
        return False
    state.end_ns[job] = end_ns
    if before < 0:
        counters = state.counters
        counters[N_RUNNING] = heap_push(state.running_ns, state.running_job, counters[N_RUNNING], end_ns, job)
        counters[ANSWERED] += 1
    return True


def new_state(
    submit_ns: Array,
    cores: Array,
    rank: Array,
    n_cores: int,
    run_ns: Array,
    wanted_first: Array,
    wanted_lo: Array,
    wanted_hi: Array,
) -> BatchState:
    """The state before the first event; columns as in :class:`BatchState`, ``submit_ns`` ascending."""
    n = len(submit_ns)
    by_rank = np.empty(n, np.int64)
    by_rank[rank] = np.arange(n)
    words, starts = new_queue(n)
    counters = np.zeros(COUNTERS, np.int64)
    counters[N_FREE], counters[FREE_CORES] = 1, n_cores
    counters[DUE_JOB] = -1
    # No more jobs run at once than there are cores, and no two free intervals touch.
    most_running = min(n, n_cores) + 1
    most_free = n_cores // 2 + 2
    free_lo, free_hi = np.zeros(most_free, np.int64), np.zeros(most_free, np.int64)
    free_hi[0] = n_cores
    pool = 4 * n + 2 * most_free
    return BatchState(
        counters=counters,
        submit_ns=own(submit_ns, np.int64),
        cores=own(cores, np.int64),
        rank=own(rank, np.int64),
        by_rank=by_rank,
        run_ns=own(run_ns, np.int64),
        start_ns=np.full(n, -1, np.int64),
        end_ns=np.full(n, -1, np.int64),
        promise_ns=np.full(n, -1, np.int64),
        running_ns=np.empty(most_running, np.int64),
        running_job=np.empty(most_running, np.int64),
        queue_words=words,
        queue_starts=starts,
        free_lo=free_lo,
        free_hi=free_hi,
        spare_lo=np.empty(most_free, np.int64),
        spare_hi=np.empty(most_free, np.int64),
        held_first=np.zeros(n, np.int64),
        held_count=np.zeros(n, np.int64),
        pool_lo=np.empty(pool, np.int64),
        pool_hi=np.empty(pool, np.int64),
        wanted_first=own(wanted_first, np.int64),
        wanted_lo=own(wanted_lo, np.int64),
        wanted_hi=own(wanted_hi, np.int64),
        started=np.empty(most_running, np.int64),
    )
