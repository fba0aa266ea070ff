"""Hosts that go down and come back: by failure, which nobody knows in advance, and by maintenance, which is planned.

Or they are drained (``bls.engine.features.drains``), which nobody knows in advance either. A host may be down for several of
these reasons at once; it is up when none holds. In the profile of free cores a host that has failed or is drained is gone for
good until it is back, and one in maintenance until the end of it.
"""

from __future__ import annotations

from bls.availability.free_cores import free_give, free_take
from bls.engine import state as b
from bls.engine.hooks import DRAIN, HOLD_HOST, HOOK, HOSTS_SLEEP, STOP_HOSTS, call_hook
from bls.engine.job_lifecycle import arrive, count_cores
from bls.engine.kept_reservations import drop_slots
from bls.engine.state import BatchState
from traces.algorithms.event_heap import heap_drop_top, heap_push
from traces.compiled import compiled

__all__ = ["again", "gone", "handle_host_events", "outages_short"]


@compiled(HOOK)
def outages_short(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a host that is repaired at ``begin`` has no further outage in its list."""
    n = state.outage_first.size - 1
    for k in range(state.sizes[b.N_HOST_EVENTS]):
        if state.host_ns[k] <= now and state.host_key[k] < n:
            v = state.host_key[k]
            if state.host_status[b.NEXT_OUTAGE, v] + 1 >= state.outage_first[v + 1]:
                return 1
    return 0


@compiled(inner=True)
def gone(state: BatchState, host: int, begin: int, stop: int, sign: int) -> None:
    """Take a host's cores from the profile for [begin, stop), or give them back."""
    if state.settings[b.BY_CORES] == 1:
        call_hook(state.hooks[HOLD_HOST], (state, host, begin, stop, sign))
    else:
        count_cores(state, begin, stop, sign * (state.host_first[host + 1] - state.host_first[host]))


@compiled(inner=True)
def _push(state: BatchState, instant: int, key: int) -> None:
    """Have an event of a host happen at an instant."""
    sizes = state.sizes
    sizes[b.N_HOST_EVENTS] = heap_push(state.host_ns, state.host_key, sizes[b.N_HOST_EVENTS], instant, key)


@compiled(inner=True)
def _until(state: BatchState, host: int) -> int:
    """Until when a host is known to be gone: 0 if it is up."""
    n_hosts, status = state.host_first.size - 1, state.host_status
    until = max(status[b.DOWN_UNTIL, host], status[b.DOWN_UNTIL, n_hosts + host])
    if state.settings[b.RELEASES] == b.BY_DRAIN:
        until = max(until, status[b.DOWN_UNTIL, 2 * n_hosts + host])
    return int(until)


@compiled(HOOK)
def handle_host_events(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Repairs, then outages, of the present instant, ``begin``. No job runs on a host that goes down: it has ended."""
    settings, clock, sizes, status = state.settings, state.clock, state.sizes, state.host_status
    n_hosts = state.host_first.size - 1
    n = state.outage_first.size - 1
    drains = settings[b.RELEASES] == b.BY_DRAIN
    while sizes[b.N_HOST_EVENTS] > 0 and state.host_ns[0] <= now:
        key = state.host_key[0]
        if key >= n + 2 * n_hosts and sizes[b.PRESETS_LEFT] > 0:
            break  # jobs that run already have their cores before hosts are drained, which of one instant comes last
        sizes[b.N_HOST_EVENTS] = heap_drop_top(state.host_ns, state.host_key, sizes[b.N_HOST_EVENTS])
        v = key % n
        host = v % n_hosts
        unplanned = v < n_hosts or v >= 2 * n_hosts
        before = _until(state, host)
        at = status[b.NEXT_OUTAGE, v]
        if key >= n:
            # A failure's end is not known to anyone before it is there; that of a maintenance is.
            status[b.DOWN_UNTIL, v] = b.NEVER if unplanned else state.outage_up[at]
            status[b.NEXT_DOWN, v] = b.NEVER
            if state.outage_up[at] != b.NEVER:
                _push(state, state.outage_up[at], v)
        else:
            status[b.DOWN_UNTIL, v] = 0
            status[b.NEXT_OUTAGE, v] = at + 1
            if at + 1 < state.outage_first[v + 1]:
                status[b.NEXT_DOWN, v] = state.outage_down[at + 1]
                _push(state, state.outage_down[at + 1], n + v)
        if unplanned and key >= n:
            # Nobody had planned for it: the whole plan is given up, while all that it holds can be given back.
            clock[b.LOSS] = 1
            if settings[b.KEEP] == 1:
                drop_slots(state)
        elif unplanned:
            clock[b.GAIN] = 1
            clock[b.HULL] = b.NEVER
        after = _until(state, host)
        lo, hi = state.host_first[host], state.host_first[host + 1]
        stops = state.stops.host.size > 0
        if stops and before == 0 and after > 0:
            call_hook(state.hooks[STOP_HOSTS], (state, host, now, now, -1))  # it is stopped no more, but down
        if settings[b.SLEEPS] == 1 and before == 0 and after > 0:
            call_hook(state.hooks[HOSTS_SLEEP], (state, host, now, now, -1))
        if drains and before == 0 and after > 0:
            call_hook(state.hooks[DRAIN], (state, host, now, now, -1))
        if (settings[b.PLANS] == 1 or settings[b.BY_CORES] == 1) and after != before:
            if before > now:
                gone(state, host, now, before, 1)
            if after > now:
                gone(state, host, now, after, -1)
        if before == 0 and after > 0:
            free_take(state.free_words, state.free_starts, lo, hi)
            sizes[b.FREE_CORES] -= hi - lo
            sizes[b.N_DOWN] += 1
        if before > 0 and after == 0:
            free_give(state.free_words, state.free_starts, lo, hi)
            sizes[b.FREE_CORES] += hi - lo
            sizes[b.N_DOWN] -= 1
            if stops:
                call_hook(state.hooks[STOP_HOSTS], (state, host, now, now, 1))
            if settings[b.SLEEPS] == 1:
                call_hook(state.hooks[HOSTS_SLEEP], (state, host, now, now, 1))
        if settings[b.BY_HOSTS] == 1:
            state.host_free[host] = 0 if after > 0 else hi - lo
        if drains and before > 0 and after == 0:
            call_hook(state.hooks[DRAIN], (state, host, now, now, 1))
    return 0


@compiled(HOOK)
def again(state: BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Another attempt of a job that was cut: a row of its own, with the same place in the order."""
    jobs, sizes = state.jobs, state.sizes
    row = sizes[b.N_ROWS]
    sizes[b.N_ROWS] = row + 1
    for column in range(b.ELIGIBLE):
        jobs[column, row] = jobs[column, job]
    if jobs[b.WAS_CORES, job] > 0:
        jobs[b.CORES, row], jobs[b.ESTIMATE, row] = jobs[b.WAS_CORES, job], jobs[b.WAS_ESTIMATE, job]
        jobs[b.WALLTIME, row] = jobs[b.WAS_WALLTIME, job]
    jobs[b.ATTEMPT, row] += 1
    jobs[b.PRESET, row] = 0
    for k in range(state.needs.shape[0]):
        state.needs[k, row] = state.needs[k, job]
    for k in range(state.numbers.shape[0]):
        state.numbers[k, row] = state.numbers[k, job]
    state.by_rank[jobs[b.RANK, row]] = row
    arrive(state, row, now)
    return 0
