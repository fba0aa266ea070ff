"""Power limits of the machine and of its parts: they decide which jobs may start, and on which cores.

A job starts if the total draw of this job, the running jobs and the idle cores stays below the known limit, with all jobs in
their planned power states (``bls.engine.features.power.draws``). With several reservations or differing cores, the power of the
machine and of each part is an amount in the profile of cores, until the ends of the known limits.

If the allocator's choice exceeds a part's limit, it is offered only cores within all limits, so that any choice fits: hosts by
number, and the lowest cores of a host. Units and exclusive hosts stay whole.
"""

from bls.availability.free_cores import free_count
from bls.engine import state as b
from bls.engine.features.planning.core_profile import hold_amount
from bls.engine.features.planning.placement_search import keep_first
from bls.engine.features.power.draws import MACHINE, core_mw, fits_within, held_mw, next_limit_ns, room_mw
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import drop_plan
from bls.engine.state import NEVER, BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _plan_limit(state: BatchState, domain: int, k: int, now: int, sign: int) -> None:
    """Take (-1) the power above a domain's limits known from instant ``k`` on from the profile, or give it back (1)."""
    power, which = state.power, state.power.amount + domain
    for stair in range(power.first[domain, k], power.first[domain, k + 1]):
        until, step, since = power.stairs[0, stair], power.stairs[1, stair], max(now, power.stairs[2, stair])
        if until > now:
            hold_amount(state, which, step, since, until, sign)


@compiled(HOOK)
def next_change(state: BatchState, _job: int, before: int, _stop: int, _sign: int) -> int:
    """The next instant at which known limits change, or a stopped host has shut down or booted."""
    return int(min(before, state.power_at_ns))


@compiled(HOOK)
def change_limits(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Apply the changes of known limits at the instant ``begin``."""
    settings, power, limits = state.settings, state.power, state.domains.limit_mw
    while next_limit_ns(state) <= now:
        k, lower = state.next_power, False
        state.next_power, state.changed, state.blocked_head = k + 1, 1, -1
        for domain in range(limits.size):
            news = state.power.noticed == 1 and power.first[domain, k] < power.first[domain, k + 1]
            lower = lower or news or power.known[domain, k] < limits[domain]
            limits[domain] = power.known[domain, k]
        if settings.by_cores == 0:
            continue
        if lower:
            drop_plan(state)
        for domain in range(limits.size):
            if k > 0 and state.power.noticed == 0:
                _plan_limit(state, domain, k - 1, now, 1)
            _plan_limit(state, domain, k, now, -1)
        if lower:
            state.lost = 1
        else:
            state.gained, state.hull_ns = 1, b.NEVER
    state.power_at_ns = next_limit_ns(state)
    return 0


@compiled(inner=True)
def room_in_pass(state: BatchState) -> int:
    """The same as ``room_mw``, cached during a pass, in which jobs start but none ends."""
    room = state.power.room
    if room[0] != state.passes + 1:
        room[0], room[1], room[2] = state.passes + 1, state.n_started, room_mw(state, MACHINE)
    while room[1] < state.n_started:
        if room[2] != b.NEVER:
            room[2] -= held_mw(state, state.started[room[1]], MACHINE)
        room[1] += 1
    return int(room[2])


@compiled(inner=True)
def _offer_of_host(state: BatchState, job: int, host: int) -> int:
    """Limit the offered cores of a host to the power left in its domains; returns their number."""
    domains, lo, hi = state.domains, state.host_first[host], state.host_first[host + 1]
    free, room = free_count(state.offered.words, lo, hi), NEVER
    first, stop = domains.of_first[host], domains.of_first[host + 1]
    if free == 0 or first == stop:
        return int(free)
    for k in range(first, stop):
        room = min(room, domains.room[domains.of_host[k]])
    each, unit = core_mw(state, job, lo), state.jobs.unit_cores[job]
    keep = free
    if free * each > room:
        keep = 0 if room < 0 or state.settings.whole_hosts == 1 else room // (unit * each) * unit
    if state.settings.whole_hosts == 1 and free < hi - lo:
        keep = 0
    if keep < free:
        keep_first(state, lo, hi, free, keep)
        if state.offered.hosts.size > 0:
            state.offered.hosts[host] = min(state.offered.hosts[host], keep)
    for k in range(first, stop):
        domains.room[domains.of_host[k]] -= keep * each
    return int(keep)


@compiled(HOOK)
def offer_of_domains(state: BatchState, job: int, _begin: int, count: int, _sign: int) -> int:
    """Check a choice (``stop`` intervals) in all domains: 1 if it fits; else reduce the offer, -1 if not enough is left."""
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    fits, total, rooms = True, 0, state.domains.room
    for domain in range(1, rooms.size):
        rooms[domain] = state.offered.amounts[state.power.amount + domain]
        fits = fits and fits_within(state, job, domain, lo, hi, count, rooms[domain])
    if fits:
        return 1
    for host in range(state.host_first.size - 1):
        total += _offer_of_host(state, job, host)
    return 0 if total >= state.jobs.cores[job] else -1
