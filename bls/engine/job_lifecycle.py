"""What happens to one job at one instant: it arrives, takes its cores, ends, is cut, and what follows from that."""

from __future__ import annotations

from bls.availability.count_profile import profile_add
from bls.availability.free_cores import count_hosts, free_all, free_give, free_take
from bls.engine import state as b
from bls.engine.hooks import AGAIN, GIVE_UP, HOLD_LEFT, HOLD_POOL, HOSTS_SLEEP, LEARN, PREDICT, TAKE_UP, call_hook
from bls.engine.queue import queue_add, queue_remove
from bls.engine.state import BatchState
from bls.policies.contract import ACCOUNT
from traces.algorithms.event_heap import heap_push
from traces.base.time import MAX_NS
from traces.compiled import compiled, value_from

__all__ = [
    "account_for",
    "arrive",
    "count_cores",
    "end_job",
    "for_good",
    "hold_pool",
    "leave_queue",
    "log_job",
    "send_away",
    "set_stop",
    "take_cores",
    "tally",
    "tally_cores",
    "tried_again",
]


_account = value_from(ACCOUNT)


@compiled(merged=True)
def take_cores(state: BatchState, job: int, first: int, count: int) -> int:
    """See that a suggested allocation is what the job needs, all of it free, and take it.

    Parameters
    ----------
    state : BatchState
        The suggestion is in its pool, ``count`` intervals from ``first`` on.
    job : int
        Row.

    Returns
    -------
    int
        The number of cores taken, or -1 with nothing changed.
    """
    lo, hi, settings, sizes = state.pool_lo, state.pool_hi, state.settings, state.sizes
    words, n = state.free_words, state.jobs[b.CORES, job]
    if count < 1 or count > lo.size - first:
        return -1
    together, before = 0, 0
    for k in range(first, first + count):
        if lo[k] < before or hi[k] <= lo[k] or hi[k] > state.host_of.size or not free_all(words, lo[k], hi[k]):
            return -1
        before = hi[k]
        together += hi[k] - lo[k]
    if together != n and not (settings[b.WHOLE_HOSTS] == 1 and together > n):
        return -1
    unit = state.jobs[b.UNIT, job]
    if unit > 1:
        k, core = first, lo[first]
        while k < first + count:
            stop, cores = state.host_first[state.host_of[core] + 1], 0
            while k < first + count and core < stop:
                cores += min(hi[k], stop) - core
                core = min(hi[k], stop)
                if core == hi[k]:
                    k += 1
                    core = lo[k] if k < first + count else stop
            if cores % unit != 0 and settings[b.WHOLE_HOSTS] == 0:
                return -1
    for k in range(first, first + count):
        free_take(words, state.free_starts, lo[k], hi[k])
        if settings[b.BY_HOSTS] == 1:
            count_hosts(state.host_of, state.host_first, state.host_free, lo[k], hi[k], -1)
    sizes[b.FREE_CORES] -= together
    state.jobs[b.HELD_FIRST, job] = first
    state.jobs[b.HELD_COUNT, job] = count
    state.jobs[b.HELD_CORES, job] = together
    if settings[b.RELEASES] != b.NO_RELEASES:
        call_hook(state.hooks[TAKE_UP], (state, job, 0, 0, 0))
    return together


@compiled(merged=True)
def count_cores(state: BatchState, begin: int, stop: int, cores: int) -> None:
    """Have so many more cores free in the profile for [begin, stop); fewer, if ``cores`` is below 0."""
    sizes = state.sizes
    sizes[b.LAST] = profile_add(state.profile_ns, state.profile_free, sizes[b.FIRST], sizes[b.LAST], begin, stop, cores)


@compiled(merged=True)
def hold_pool(state: BatchState, job: int, begin: int, stop: int, sign: int) -> None:
    """Take (-1) a running job's cores from the profile for [begin, stop), or give them back (1)."""
    if state.settings[b.BY_CORES] == 1:
        if state.settings[b.RELEASES] != b.NO_RELEASES:
            call_hook(state.hooks[HOLD_LEFT], (state, job, begin, stop, sign))
        else:
            call_hook(state.hooks[HOLD_POOL], (state, job, begin, stop, sign))
    else:
        count_cores(state, begin, stop, sign * state.jobs[b.HELD_CORES, job])


@compiled(merged=True)
def set_stop(state: BatchState, job: int, walltime_end: int) -> None:
    """Find out when a job that starts is cut at the latest, and what for.

    Of equal instants the first counts: the end of its walltime, its user, the loss of a host.
    """
    jobs = state.jobs
    stop, reason = walltime_end, b.KILLED
    if jobs[b.CANCEL, job] < stop:
        stop, reason = jobs[b.CANCEL, job], b.CANCELLED
    if state.host_ns.size > 0:
        n_hosts = state.host_first.size - 1
        first = jobs[b.HELD_FIRST, job]
        for k in range(first, first + jobs[b.HELD_COUNT, job]):
            host = state.host_of[state.pool_lo[k]]
            while host < n_hosts and state.host_first[host] < state.pool_hi[k]:
                down = min(state.host_status[b.NEXT_DOWN, host], state.host_status[b.NEXT_DOWN, n_hosts + host])
                if down < stop:
                    stop, reason = down, b.FAILED
                host += 1
    jobs[b.STOP, job] = stop
    jobs[b.REASON, job] = reason


@compiled(merged=True)
def account_for(state: BatchState, job: int, instant: int, cores: int, sign: int) -> None:
    """Tell a policy that keeps accounts that a job has so many cores from an instant on (1), or has them no longer (-1)."""
    if state.settings[b.ACCOUNTS] == 1:
        account = _account(state.functions[b.ACCOUNT_AT])
        account(instant, job, cores, sign, state.numbers, state.memory)


@compiled(merged=True)
def log_job(state: BatchState, job: int, what: int) -> None:
    """Note that a job has arrived, started or left, where somebody is told."""
    if state.settings[b.LOGS] == 1:
        state.log[state.sizes[b.N_LOG]] = 4 * job + what
        state.sizes[b.N_LOG] += 1


@compiled(merged=True)
def _push_arrival(state: BatchState, instant: int, key: int) -> None:
    """Let a job arrive at an instant, or a wake-up be then (``rows`` + row)."""
    sizes = state.sizes
    sizes[b.N_ARRIVING] = heap_push(state.arriving_ns, state.arriving_job, sizes[b.N_ARRIVING], instant, key)


@compiled(merged=True)
def arrive(state: BatchState, job: int, now: int) -> None:
    """Let a job join the queue."""
    jobs, settings = state.jobs, state.settings
    jobs[b.ELIGIBLE, job] = now
    if settings[b.PREDICTS] == 1:
        call_hook(state.hooks[PREDICT], (state, job, now, now, 0))
    queue_add(state.queue_words, state.queue_starts, jobs[b.RANK, job])
    state.sizes[b.N_WAITING] += 1
    state.clock[b.ARRIVED] = job
    log_job(state, job, b.LOG_ARRIVED)
    if jobs[b.LIMIT, job] > 0 and 0 < settings[b.SWITCH_WAIT] < b.NEVER - now:
        # What it accepts changes then: a pass is made if it still waits.
        _push_arrival(state, now + settings[b.SWITCH_WAIT], jobs.shape[1] + job)


@compiled(merged=True)
def leave_queue(state: BatchState, job: int) -> None:
    """Take a job out of the queue."""
    queue_remove(state.queue_words, state.queue_starts, state.jobs[b.RANK, job])
    state.sizes[b.N_WAITING] -= 1


@compiled(merged=True)
def for_good(state: BatchState, job: int, now: int) -> None:
    """A job will not run any more: those that wait for it may arrive."""
    jobs = state.jobs
    state.sizes[b.ENDED] += 1
    if state.child_first.size == 0:
        return
    origin = jobs[b.ORIGIN, job]
    for k in range(state.child_first[origin], state.child_first[origin + 1]):
        child = state.child_row[k]
        if jobs[b.WHY, child] == b.NEVER_STARTED and jobs[b.STATE, child] == b.CANCELLED:
            continue  # withdrawn before it could arrive
        if state.unmet.size > 0:
            state.unmet[child] -= 1
            if state.unmet[child] > 0:
                continue  # another job must end before, too
            jobs[b.DEPENDS, child] = origin  # the last of them
        think = min(jobs[b.THINK, child], MAX_NS - now)
        _push_arrival(state, max(jobs[b.BEGIN, child], now + think), child)


@compiled(inner=True)
def send_away(state: BatchState, job: int) -> None:
    """Reject a job that waits: it leaves the queue now, and never runs."""
    jobs, now = state.jobs, state.clock[b.NOW]
    leave_queue(state, job)
    log_job(state, job, b.LOG_LEFT)
    jobs[b.STATE, job], jobs[b.WHY, job] = b.TURNED_AWAY, b.NEVER_STARTED
    jobs[b.CANCEL, job] = now
    for_good(state, job, now)


@compiled(merged=True)
def tried_again(state: BatchState, reason: int) -> bool:
    """Whether a job that is cut for a reason is tried again."""
    return bool(reason == b.REQUEUED or (reason == b.FAILED and state.settings[b.REQUEUE] == 1))


@compiled(merged=True)
def end_job(state: BatchState, job: int, now: int) -> None:
    """A running job ends: it gives back what it holds, and what waits for that is told."""
    jobs, settings, clock, sizes = state.jobs, state.settings, state.clock, state.sizes
    first, count = jobs[b.HELD_FIRST, job], jobs[b.HELD_COUNT, job]
    if settings[b.RELEASES] != b.NO_RELEASES:
        call_hook(state.hooks[GIVE_UP], (state, job, 0, 0, 0))
    else:
        for k in range(first, first + count):
            free_give(state.free_words, state.free_starts, state.pool_lo[k], state.pool_hi[k])
            if settings[b.BY_HOSTS] == 1:
                count_hosts(state.host_of, state.host_first, state.host_free, state.pool_lo[k], state.pool_hi[k], 1)
    sizes[b.FREE_CORES] += jobs[b.HELD_CORES, job]
    if settings[b.SLEEPS] == 1:
        call_hook(state.hooks[HOSTS_SLEEP], (state, job, now, 0, 0))
    clock[b.CHANGED] = 1
    if settings[b.PLANS] == 1:
        thought = jobs[b.EXPECTED, job]
        if thought > now:
            hold_pool(state, job, now, thought, 1)
            clock[b.GAIN] = 1
            clock[b.HULL] = max(clock[b.HULL], thought)
        elif jobs[b.OVERDUE, job] == 1:
            jobs[b.OVERDUE, job] = 0
            sizes[b.OVERDUE_CORES] -= jobs[b.HELD_CORES, job]
            thought = clock[b.LAST_PASS] + 1
        if thought < now:
            clock[b.LOSS] = 1
    elif settings[b.BY_CORES] == 1:
        hold_pool(state, job, now, b.NEVER, 1)
    left = jobs[b.CORES, job] - jobs[b.RELEASED, job]
    if settings[b.LIMITED] == 1:
        tally(state, job, left, -1)
    account_for(state, job, now, left, -1)
    jobs[b.HELD_CORES, job] += jobs[b.RELEASED_HELD, job]
    log_job(state, job, b.LOG_LEFT)
    cut = jobs[b.CUT, job]
    state_now = jobs[b.REASON, job] if cut != b.BY_ITSELF else b.COMPLETED
    if cut == b.BY_OTHERS and tried_again(state, state_now):
        jobs[b.STATE, job] = b.REQUEUED
        call_hook(state.hooks[AGAIN], (state, job, now, now, 0))
    else:
        jobs[b.STATE, job] = state_now
        if settings[b.PREDICTS] == 1 and (state_now == b.COMPLETED or state_now == b.KILLED):
            call_hook(state.hooks[LEARN], (state, job, now, now, 0))
        for_good(state, job, now)


@compiled(inner=True)
def tally(state: BatchState, job: int, cores: int, sign: int) -> None:
    """Count a job and so many cores in (1) or out (-1) of what its partition and its user have running."""
    partition, user = state.jobs[b.PARTITION, job], state.jobs[b.USER, job]
    state.partitions[partition, b.RUNNING_JOBS] += sign
    state.user_tally[partition, user, 0] += sign
    tally_cores(state, job, sign * cores)


@compiled(inner=True)
def tally_cores(state: BatchState, job: int, cores: int) -> None:
    """Count so many more cores among those that the partition and the user of a job have running."""
    partition, user = state.jobs[b.PARTITION, job], state.jobs[b.USER, job]
    state.partitions[partition, b.RUNNING_CORES] += cores
    state.user_tally[partition, user, 1] += cores
