"""Hosts that are taken out of service while the power of the machine is limited.

Enough hosts are stopped that all cores of the others may work at full speed under the known limit: idle hosts first, highest
numbers first, and others when they become idle. They return, lowest numbers first, as soon as the limit allows. Stopped hosts
stay idle or are shut down; a host that shuts down must be off before it boots. An outage ends the stop of a host.
"""

from typing import TYPE_CHECKING

from bls.availability.free_cores import free_all
from bls.engine import state as b
from bls.engine.features.draws.draws import next_limit_ns
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import drop_plan, log_host, set_host_free
from bls.engine.profile import hold_host
from traces.compiled import compiled

if TYPE_CHECKING:
    from bls.engine.validation import BatchChecks


@compiled(inner=True)
def _become(state: b.BatchState, host: int, what: int, due: int, now: int) -> None:
    state.stops.host.state[host], state.stops.host.due_ns[host] = what, due
    log_host(state, now, host, what)


@compiled(inner=True)
def _leave(state: b.BatchState, host: int, now: int) -> None:
    takes = state.stops.passages[0, host]
    set_host_free(state, host, -1)
    state.stops.n_stopped += 1
    if state.stops.shuts_down == 1 and takes > 0:
        _become(state, host, b.SHUTTING, now + takes, now)
    else:
        _become(state, host, b.OUT if state.stops.shuts_down == 0 else b.OFF, b.NEVER, now)


@compiled(inner=True)
def _come_back(state: b.BatchState, host: int, now: int) -> None:
    set_host_free(state, host, 1)
    _become(state, host, b.UP, b.NEVER, now)


@compiled(inner=True)
def _goes_down(state: b.BatchState, host: int, now: int) -> None:
    stops, what = state.stops, state.stops.host.state[host]
    if what != b.UP:
        if stops.host.until_ns[host] > now:
            hold_host(state, host, now, stops.host.until_ns[host], 1)
            state.gained, state.hull_ns = 1, b.NEVER
        stops.host.until_ns[host] = 0
        if what != b.BOOTING:
            state.stops.n_stopped -= 1
            state.stops.max_mw += stops.saves_mw[host]
        _come_back(state, host, now)
    state.stops.max_mw -= stops.down_saves_mw[host]


@compiled(inner=True)
def _passages(state: b.BatchState, now: int) -> bool:
    """Finish shutdowns and boots; returns whether there were any."""
    host, found = state.stops.host, False
    for h in range(host.state.size):
        if host.due_ns[h] <= now:
            found = True
            if host.state[h] == b.SHUTTING:
                _become(state, h, b.OFF, b.NEVER, now)
            else:
                _come_back(state, h, now)
    return found


@compiled(inner=True)
def _stop_or_return(state: b.BatchState, limit: int, now: int) -> bool:
    """Stop as many idle hosts as needed, or return those that the limit allows; returns whether there were any."""
    stops, host, found = state.stops, state.stops.host, False
    n = host.state.size
    for back in range(n):
        if state.stops.max_mw <= limit:
            break
        h = n - 1 - back
        if host.state[h] == b.UP and free_all(state.free_words, state.host_first[h], state.host_first[h + 1]):
            _leave(state, h, now)
            state.stops.max_mw -= stops.saves_mw[h]
            found = True
    for h in range(n):
        what = host.state[h]
        if what == b.OUT or what == b.OFF:
            if state.stops.max_mw + stops.saves_mw[h] > limit:
                break
            found = True
            state.stops.n_stopped -= 1
            state.stops.max_mw += stops.saves_mw[h]
            if what == b.OUT or stops.passages[1, h] == 0:
                _come_back(state, h, now)
            else:
                _become(state, h, b.BOOTING, now + stops.passages[1, h], now)
    return found


@compiled(inner=True)
def _back_at(state: b.BatchState, host: int, drawn: int) -> int:
    """The expected return of a stopped host: when the limits allow ``drawn``, the greatest draw with it."""
    stops, k = state.stops, state.power.next - 1
    what, boot = stops.host.state[host], stops.passages[1, host]
    if what == b.BOOTING:
        return int(stops.host.due_ns[host])
    until = b.NEVER
    for stair in range(stops.first[k], stops.first[k + 1]):
        if stops.stairs[1, stair] < drawn:
            until = stops.stairs[0, stair]
    if until == b.NEVER:
        return until
    if what == b.OUT:
        return int(until)
    if what == b.SHUTTING:
        until = max(until, stops.host.due_ns[host])
    return int(until + boot)


@compiled(inner=True)
def _plan_again(state: b.BatchState, now: int) -> None:
    settings, host, dropped = state.settings, state.stops.host, False
    n, drawn = host.state.size, state.stops.max_mw  # with the hosts of lower numbers, which return before
    for h in range(n):
        if host.state[h] != b.UP and host.state[h] != b.BOOTING:
            drawn += state.stops.saves_mw[h]
    for back in range(n):
        h = n - 1 - back
        before, after = host.until_ns[h], 0
        if host.state[h] != b.UP:
            after = _back_at(state, h, drawn) if settings.plans == 1 else b.NEVER
            if host.state[h] != b.BOOTING:
                drawn -= state.stops.saves_mw[h]
        if before == after:
            continue
        if after > before and not dropped:
            drop_plan(state)
            dropped = True
        hold_host(state, h, now, before, 1)
        hold_host(state, h, now, after, -1)
        host.until_ns[h] = after
        if after > before:
            state.lost = 1
        else:
            state.gained, state.hull_ns = 1, b.NEVER


@compiled(HOOK)
def stop_hosts(state: b.BatchState, host: int, now: int, _stop: int, sign: int) -> int:
    """Stop hosts and let them return at the instant ``begin``; ``host`` goes down (``sign`` -1) or has come back (1)."""
    power = state.power
    if host >= 0:
        state.stops.again = 1
        if sign < 0:
            _goes_down(state, host, now)
        else:
            state.stops.max_mw += state.stops.down_saves_mw[host]
        return 0
    changed, state.stops.again = state.stops.again == 1, 0
    while next_limit_ns(state) <= now:
        state.power.next, changed = state.power.next + 1, True
    if state.stops.next_passage_ns <= now:
        changed = _passages(state, now) or changed
    limit = power.known[0, state.power.next - 1] if state.power.next > 0 else b.NEVER
    if changed or state.stops.max_mw > limit:
        changed = _stop_or_return(state, limit, now) or changed
    if changed:
        state.stops.next_passage_ns = b.NEVER
        for h in range(state.stops.host.due_ns.size):
            state.stops.next_passage_ns = min(state.stops.next_passage_ns, state.stops.host.due_ns[h])
    state.power.next_ns = min(next_limit_ns(state), state.stops.next_passage_ns)
    if not changed:
        return 0
    state.changed, state.blocked_head = 1, -1
    if state.settings.profiled == 1:
        _plan_again(state, now)
    return 0


def check_stops(checks: "BatchChecks") -> None:
    """Set the hosts that are out of service, and check their number."""
    state, host = checks.state, checks.state.stops.host
    checks.stopped, checks.stopped_until = host.state != b.UP, host.until_ns
    out_of_service = checks.stopped & (host.state != b.BOOTING)
    checks.count("hosts that are stopped", state.stops.n_stopped, int(out_of_service.sum()))
