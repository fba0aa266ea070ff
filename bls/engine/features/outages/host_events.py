"""Hosts that go down by failures (not known in advance) or maintenance (planned), and hosts that are drained.

A host may be down for several reasons at once. In the profile of free cores, a failed or drained host is unavailable until it
comes back, and a host in maintenance until the planned end.
"""

from bls.engine import state as b
from bls.engine.hooks import HOOK, HOST, publish
from bls.engine.job_lifecycle import drop_plan, set_host_free
from bls.engine.profile import hold_host
from bls.engine.status import BatchStatus
from traces.algorithms.event_heap import drop_top, push
from traces.compiled import compiled


@compiled(HOOK)
def next_host_event(state: b.BatchState, _job: int, before: int, _stop: int, sign: int) -> int:
    """The next instant at which a host goes down or comes back; ``begin`` if ``sign`` is 0."""
    return int(state.outages.events.ns[0]) if sign != 0 and state.outages.events.n > 0 else before


@compiled(inner=True)
def _lists_end(state: b.BatchState, now: int) -> bool:
    """Whether a host that is repaired now has no further failure in its list; lists of maintenance and drains are complete."""
    n_hosts, outages, events = state.host_first.size - 1, state.outages, state.outages.events
    for k in range(events.n):
        if events.ns[k] <= now and events.key[k] < n_hosts:
            v = events.key[k]
            if outages.next_outage[v] + 1 >= outages.first[v + 1]:
                return True
    return False


@compiled(inner=True)
def _until(state: b.BatchState, host: int) -> int:
    """The known end of a host's outage, 0 if it is up."""
    n_hosts, outages = state.host_first.size - 1, state.outages
    until = max(outages.down_until_ns[host], outages.down_until_ns[n_hosts + host])
    if state.settings.releases == b.BY_DRAIN:
        until = max(until, outages.down_until_ns[2 * n_hosts + host])
    return int(until)


@compiled(HOOK)
def handle_host_events(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Handle repairs, then outages, of the instant ``begin``; jobs on hosts that go down have ended before."""
    settings, outages, events = state.settings, state.outages, state.outages.events
    n_hosts, n = state.host_first.size - 1, outages.first.size - 1
    if outages.goes_on == 1 and _lists_end(state, now):
        return BatchStatus.OUTAGES_SHORT
    if events.n > 0 and events.ns[0] <= now:
        state.changed = 1
    while events.n > 0 and events.ns[0] <= now:
        key = events.key[0]
        if key >= n + 2 * n_hosts and state.presets_left > 0:
            break  # presets take their cores before hosts are drained, which comes last at an instant
        drop_top(events)
        v = key % n
        host = v % n_hosts
        unplanned = v < n_hosts or v >= 2 * n_hosts
        before = _until(state, host)
        at = outages.next_outage[v]
        if key >= n:
            # The end of maintenance is known, the end of a failure is not.
            outages.down_until_ns[v] = b.NEVER if unplanned else outages.up_ns[at]
            outages.next_down_ns[v] = b.NEVER
            if outages.up_ns[at] != b.NEVER:
                push(events, outages.up_ns[at], v)
        else:
            outages.down_until_ns[v] = 0
            outages.next_outage[v] = at + 1
            if at + 1 < outages.first[v + 1]:
                outages.next_down_ns[v] = outages.down_ns[at + 1]
                push(events, outages.down_ns[at + 1], n + v)
        if unplanned and key >= n:
            # Give up the whole plan while its cores can still be given back.
            state.lost = 1
            drop_plan(state)
        elif unplanned:
            state.gained, state.hull_ns = 1, b.NEVER
        after = _until(state, host)
        sign = int(before > 0) - int(after > 0)
        if sign < 0:
            publish(state, HOST, host, now, now, sign)  # ends its stop
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
def stop_at_outage(state: b.BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """End a job at the latest when one of its hosts goes down."""
    jobs, first = state.jobs, state.jobs.held_first[job]
    next_down, n_hosts = state.outages.next_down_ns, state.host_first.size - 1
    for k in range(first, first + jobs.held_count[job]):
        for host in range(state.host_of[state.pool.lo[k]], state.host_of[state.pool.hi[k] - 1] + 1):
            down = min(next_down[host], next_down[n_hosts + host])
            if down < jobs.stop_ns[job]:
                jobs.stop_ns[job], jobs.stop_state[job] = down, b.FAILED
    return 0
