"""Hosts that fall asleep when idle, and boot when a job is placed on them.

A host that has been idle for a given time shuts down after the pass of that instant. A number of idle hosts may be kept awake:
the hosts that have been idle longest fall asleep first, then the highest numbers. A job placed on sleeping hosts holds all its
cores from then on and starts when its last host has booted; a host that is shutting down must first be off.

The states of hosts are updated only when they have an effect, in the order of time. The log contains future transitions; an
outage cuts them short.
"""

from typing import TYPE_CHECKING

import numpy as np

from bls.availability.free_cores import free_all
from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import drop_plan, log_host, set_stop
from bls.engine.profile import hold_until
from traces.algorithms.event_heap import drop_top, move, push, replace_top
from traces.compiled import Array, compiled

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(inner=True)
def _mark(state: b.BatchState, words: Array, host: int, there: bool) -> None:
    """Add the cores of a host to a set of cores, or remove them."""
    lo, hi = state.host_first[host], state.host_first[host + 1]
    for word in range(lo >> 5, ((hi - 1) >> 5) + 1):
        first, stop = max(lo - (word << 5), 0), min(hi - (word << 5), 32)
        mask = ((1 << stop) - 1) & ~((1 << first) - 1)
        words[word] = words[word] | mask if there else words[word] & ~mask


@compiled(inner=True)
def _wakes(state: b.BatchState, host: int) -> None:
    state.sleep.host.state[host] = b.UP
    _mark(state, state.sleep.away, host, False)
    _mark(state, state.sleep.booting, host, False)
    state.sleep.n_away -= 1


@compiled(inner=True)
def _fall_asleep(state: b.BatchState, host: int, at: int) -> None:
    sleep = state.sleep
    off = at + sleep.passages[0, host]
    sleep.host.state[host], sleep.host.due_ns[host] = b.OFF, off
    sleep.host.idle_since_ns[host] = b.NEVER
    sleep.host.slept_at[host] = log_host(state, at, host, b.SHUTTING)
    log_host(state, off, host, b.OFF)
    state.sleep.n_idle -= 1
    state.sleep.n_away += 1
    _mark(state, sleep.away, host, True)


@compiled(inner=True)
def _booted(state: b.BatchState, now: int) -> None:
    sleep = state.sleep
    while sleep.boots.n > 0 and sleep.boots.ns[0] <= now:
        due, host = sleep.boots.ns[0], sleep.boots.key[0]
        drop_top(sleep.boots)
        if sleep.host.state[host] == b.BOOTING and sleep.host.due_ns[host] == due:
            _wakes(state, host)


@compiled(inner=True)
def _settle(state: b.BatchState, now: int) -> None:
    sleep = state.sleep
    _booted(state, now)
    while sleep.sleepy.n > 0:
        key = sleep.sleepy.key[0]
        host = sleep.host.state.size - 1 - key
        since = sleep.host.idle_since_ns[host]
        if since == b.NEVER:
            sleep.host.is_sleepy[host] = 0
            drop_top(sleep.sleepy)
            continue
        due = since + state.sleep.after_ns
        if due > sleep.sleepy.ns[0]:  # it has been busy meanwhile
            replace_top(sleep.sleepy, due, key)
            continue
        at = max(due, state.sleep.idle_changed_ns)
        if at >= now or state.sleep.n_idle <= state.sleep.keep_awake:
            return
        sleep.host.is_sleepy[host] = 0
        drop_top(sleep.sleepy)
        _fall_asleep(state, host, at)


@compiled(inner=True)
def _idles(state: b.BatchState, host: int, now: int) -> None:
    """Mark a host as idle from now on, or from the end of its boot, if no job holds its cores."""
    sleep = state.sleep
    if sleep.host.state[host] == b.OFF or sleep.host.idle_since_ns[host] != b.NEVER:
        return
    if not free_all(state.free_words, state.host_first[host], state.host_first[host + 1]):
        return
    since = now
    if sleep.host.state[host] == b.BOOTING:
        since = max(now, sleep.host.due_ns[host])
    sleep.host.idle_since_ns[host] = since
    state.sleep.n_idle += 1
    state.sleep.idle_changed_ns = now
    if sleep.host.is_sleepy[host] == 0:
        sleep.host.is_sleepy[host] = 1
        due, key = since + state.sleep.after_ns, sleep.host.state.size - 1 - host
        push(sleep.sleepy, due, key)


@compiled(inner=True)
def _idles_no_more(state: b.BatchState, host: int, now: int) -> None:
    if state.sleep.host.idle_since_ns[host] != b.NEVER:
        state.sleep.host.idle_since_ns[host] = b.NEVER
        state.sleep.n_idle -= 1
        state.sleep.idle_changed_ns = now


@compiled(inner=True)
def _cut_short(state: b.BatchState, k: int, now: int) -> None:
    """End the logged sleep or boot at ``k`` and ``k + 1`` now."""
    at_ns = state.host_log.at_ns
    at_ns[k], at_ns[k + 1] = min(at_ns[k], now), min(at_ns[k + 1], now)


@compiled(inner=True)
def _goes_down(state: b.BatchState, host: int, now: int) -> None:
    """Take a host down in any state; it will come back up and awake."""
    sleep = state.sleep
    what = sleep.host.state[host]
    if what != b.UP:
        _cut_short(state, sleep.host.slept_at[host], now)
        if what == b.BOOTING:
            _cut_short(state, sleep.host.booted_at[host], now)
            move(sleep.boots, host, now)
        else:
            log_host(state, now, host, b.UP)
        _wakes(state, host)
        _booted(state, now)
    _idles_no_more(state, host, now)


@compiled(HOOK)
def change_host(state: b.BatchState, host: int, now: int, _stop: int, sign: int) -> int:
    """Update the states of hosts to ``begin``, at which a host goes down (``sign`` -1) or comes back (1)."""
    _settle(state, now)
    if sign < 0:
        _goes_down(state, host, now)
    else:
        _idles(state, host, now)
    return 0


@compiled(HOOK)
def let_sleep(state: b.BatchState, job: int, now: int, _stop: int, _sign: int) -> int:
    """Update the states of hosts to ``begin``; mark the idle hosts of ``job`` (-1: none)."""
    _settle(state, now)
    if job >= 0:
        first = state.jobs.held_first[job]
        for k in range(first, first + state.jobs.held_count[job]):
            for host in range(state.host_of[state.pool.lo[k]], state.host_of[state.pool.hi[k] - 1] + 1):
                _idles(state, host, now)
    return 0


@compiled(HOOK)
def begin_pass(state: b.BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Update the states of hosts to ``begin``, before a pass.

    A job that starts on booting hosts holds its cores for longer than planned: reservations that follow it are dropped.
    """
    _settle(state, now)
    if state.sleep.n_away > 0 and state.sleep.max_boot_wait_ns > 0:
        state.lost = 1
    return 0


@compiled(inner=True)
def late_on(state: b.BatchState, host: int, at: int) -> int:
    """The time until a host has booted, for a job placed on it at an instant."""
    sleep = state.sleep
    what, due = sleep.host.state[host], sleep.host.due_ns[host]
    if what == b.UP:
        return 0
    if what == b.BOOTING:
        return int(max(0, due - at))
    return int(max(0, due - at) + sleep.passages[1, host])


@compiled(inner=True)
def _boot(state: b.BatchState, host: int, at: int) -> None:
    """Boot a sleeping host: now, or as soon as it is off."""
    sleep = state.sleep
    begin = max(at, sleep.host.due_ns[host])
    up = begin + sleep.passages[1, host]
    sleep.host.state[host], sleep.host.due_ns[host] = b.BOOTING, up
    sleep.host.booted_at[host] = log_host(state, begin, host, b.BOOTING)
    log_host(state, up, host, b.UP)
    push(sleep.boots, up, host)
    _mark(state, sleep.booting, host, True)


@compiled(HOOK)
def boot_hosts(state: b.BatchState, job: int, start: int, _stop: int, _sign: int) -> int:
    """Boot the sleeping hosts of a job that would start at ``begin``, and delay its start until they are up or it is cut."""
    settings, jobs, sleep = state.settings, state.jobs, state.sleep
    now, first, late = state.now_ns, jobs.held_first[job], 0
    _settle(state, now)
    set_stop(state, job, b.NEVER)
    for k in range(first, first + jobs.held_count[job]):
        for host in range(state.host_of[state.pool.lo[k]], state.host_of[state.pool.hi[k] - 1] + 1):
            late = max(late, late_on(state, host, start))
            _idles_no_more(state, host, now)
            if sleep.host.state[host] == b.OFF and start < jobs.stop_ns[job]:
                _boot(state, host, start)
    late = max(0, min(late, jobs.stop_ns[job] - start))
    before = jobs.late_ns[job]
    if late != before:
        # It holds its cores for a longer or shorter time than planned.
        if settings.plans == 1:
            drop_plan(state)
            state.lost, state.blocked_head = 1, -1
        hold_until(state, job, jobs.expected_end_ns[job] + late - before)
    jobs.late_ns[job] = late
    jobs.start_ns[job] = start + late
    return 0


def check_sleep(checks: "BatchChecks") -> None:
    """Check the sleeping, booting and idle hosts."""
    state, sleep, n_hosts, host_of = checks.state, checks.state.sleep, checks.n_hosts, checks.state.host_of
    checks.check_heap("hosts that may fall asleep", sleep.sleepy, n_hosts)
    checks.check_heap("hosts that boot", sleep.boots, n_hosts)
    what, sleepy = sleep.host.state, sleep.sleepy.entries()[1]
    away, boots, idles = what != b.UP, what == b.BOOTING, sleep.host.idle_since_ns != b.NEVER
    down = np.asarray((state.outages.down_until_ns > 0).reshape(-1, n_hosts).any(axis=0))
    used = np.isin(np.arange(n_hosts), host_of[checks.holder >= 0])
    queued = np.isin(n_hosts - 1 - np.arange(n_hosts), sleepy)
    checks.count("hosts that are asleep or booting", state.sleep.n_away, int(away.sum()))
    checks.count("hosts that idle", state.sleep.n_idle, int(idles.sum()))
    checks.count("hosts that may fall asleep", len(sleepy), int(queued.sum()))
    of_away, of_booting = (checks.bits(words)[: checks.n_cores] for words in (sleep.away, sleep.booting))
    idle_wrong = (idles != ~(down | used | (what == b.OFF))) & (state.in_pass == 0)
    for wrong, marked, one, where in (
        (of_away != away[host_of], of_away, "core", "marked as on a host that is asleep or booting"),
        (of_booting != boots[host_of], of_booting, "core", "marked as on a booting host"),
        (idle_wrong, idles, "host", "marked as awake and idle"),
        (queued != (sleep.host.is_sleepy == 1), queued, "host", "among those that may fall asleep"),
        (idles & ~queued, queued, "host", "among those that may fall asleep"),
        (away & down, down, "host", "down, and asleep or booting"),
    ):
        for k in np.flatnonzero(wrong)[:1].tolist():
            checks.fault(f"{one} {k} is {'' if marked[k] else 'not '}{where}")
    if not np.array_equal(np.sort(sleep.boots.entries()[1]), np.flatnonzero(boots)):
        checks.fault("the heap of booting hosts has other hosts than those that boot")
