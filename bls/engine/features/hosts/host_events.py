"""Hosts that go down by failures (not known in advance) or maintenance (planned), and drained hosts.

A host may be down for several reasons at once. In the profile of free cores, a failed or drained host is unavailable until it
comes back, and a host in maintenance until the planned end. No job starts on a drained host (not known in advance either), but
running jobs continue. Their cores on it count with the host and are not freed at the end of the job; if the host comes back
before, the job holds them again.
"""

from bls.engine import state as b
from bls.engine.hooks import HOOK, HOST, publish
from bls.engine.job_lifecycle import arrive, drop_plan, set_free, set_host_free, under_way
from bls.engine.jobs import copy_given
from bls.engine.profile import hold_host, hold_pool, planned_until
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push
from traces.compiled import compiled


@compiled(HOOK)
def next_host_event(state: b.BatchState, _job: int, before: int, _stop: int, sign: int) -> int:
    """The next instant at which a host goes down or comes back; ``begin`` if ``sign`` is 0."""
    return int(state.host_events.ns[0]) if sign != 0 and state.host_events.n > 0 else before


@compiled(inner=True)
def _lists_end(state: b.BatchState, now: int) -> bool:
    """Whether a host that is repaired now has no further failure in its list; lists of maintenance and drains are complete."""
    n_hosts = state.host_first.size - 1
    for k in range(state.host_events.n):
        if state.host_events.ns[k] <= now and state.host_events.key[k] < n_hosts:
            v = state.host_events.key[k]
            if state.host_status.next_outage[v] + 1 >= state.outage_first[v + 1]:
                return True
    return False


@compiled(inner=True)
def _until(state: b.BatchState, host: int) -> int:
    """The known end of a host's outage, 0 if it is up."""
    n_hosts, status = state.host_first.size - 1, state.host_status
    until = max(status.down_until_ns[host], status.down_until_ns[n_hosts + host])
    if state.settings.releases == b.BY_DRAIN:
        until = max(until, status.down_until_ns[2 * n_hosts + host])
    return int(until)


@compiled(HOOK)
def handle_host_events(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Handle repairs, then outages, of the instant ``begin``; jobs on hosts that go down have ended before."""
    settings, status = state.settings, state.host_status
    n_hosts, n = state.host_first.size - 1, state.outage_first.size - 1
    if settings.more_outages == 1 and _lists_end(state, now):
        return BatchStatus.OUTAGES_SHORT
    if state.host_events.n > 0 and state.host_events.ns[0] <= now:
        state.changed = 1
    while state.host_events.n > 0 and state.host_events.ns[0] <= now:
        key = state.host_events.key[0]
        if key >= n + 2 * n_hosts and state.presets_left > 0:
            break  # presets take their cores before hosts are drained, which comes last at an instant
        drop_top(state.host_events)
        v = key % n
        host = v % n_hosts
        unplanned = v < n_hosts or v >= 2 * n_hosts
        before = _until(state, host)
        at = status.next_outage[v]
        if key >= n:
            # The end of maintenance is known, the end of a failure is not.
            status.down_until_ns[v] = b.NEVER if unplanned else state.outage_up[at]
            status.next_down_ns[v] = b.NEVER
            if state.outage_up[at] != b.NEVER:
                push(state.host_events, state.outage_up[at], v)
        else:
            status.down_until_ns[v] = 0
            status.next_outage[v] = at + 1
            if at + 1 < state.outage_first[v + 1]:
                status.next_down_ns[v] = state.outage_down[at + 1]
                push(state.host_events, state.outage_down[at + 1], n + v)
        if unplanned and key >= n:
            # Give up the whole plan while its cores can still be given back.
            state.lost = 1
            drop_plan(state)
        elif unplanned:
            state.gained, state.hull_ns = 1, b.NEVER
        after = _until(state, host)
        sign = int(before > 0) - int(after > 0)
        if sign < 0:
            publish(state, HOST, host, now, now, sign)  # ends its stop or sleep
        if settings.profiled == 1 and after != before:
            hold_host(state, host, now, before, 1)
            hold_host(state, host, now, after, -1)
        if sign != 0:
            set_host_free(state, host, sign)
            state.n_down -= sign
        if sign > 0:
            publish(state, HOST, host, now, now, sign)
    return 0


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


@compiled(HOOK)
def move_cores(state: b.BatchState, host: int, now: int, _stop: int, sign: int) -> int:
    """Take the cores of a drained host from its running jobs (``sign`` -1), or give them back when it returns (1)."""
    jobs = state.jobs
    for k in range(state.running.n + state.n_started):  # includes jobs that have just started
        job = under_way(state, k)
        if jobs.start_ns[job] >= 0 and jobs.state[job] < 0:
            _move_of(state, job, host, now, sign)
    return 0


@compiled(inner=True)
def _move_of(state: b.BatchState, job: int, host: int, now: int, sign: int) -> None:
    settings, jobs, holder = state.settings, state.jobs, state.holder
    first, stop = jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]
    lo, hi = state.host_first[host], state.host_first[host + 1]
    before, after = (job, -1) if sign < 0 else (-1, job)
    cores = 0
    for k in range(first, stop):
        for core in range(max(lo, state.pool.lo[k]), min(hi, state.pool.hi[k])):
            cores += holder[core] == before
    if cores == 0:
        return
    until = planned_until(state, job, now)
    hold_pool(state, job, now, until, 1)
    for k in range(first, stop):
        for core in range(max(lo, state.pool.lo[k]), min(hi, state.pool.hi[k])):
            if holder[core] != before:
                continue
            holder[core] = after
            set_free(state, core, core + 1, -sign)
    state.free_cores -= sign * cores
    jobs.held_cores[job] += sign * cores
    jobs.released_held[job] -= sign * cores
    hold_pool(state, job, now, until, -1)
    if settings.plans == 1 and until == now and jobs.overdue[job] == 1:
        state.overdue_cores += sign * cores
