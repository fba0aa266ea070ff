"""Cores offered to the allocator within the power limits of parts of the machine.

If the allocator's choice exceeds a part's limit, it is offered only cores within all limits, so that any choice fits: hosts by
number, and the lowest cores of a host. Units and exclusive hosts stay whole.
"""

from bls.availability.free_cores import free_count
from bls.engine.features.core_plan.placement_search import keep_first
from bls.engine.features.draws.draws import core_mw, fits_within, gpu_mw, group_of
from bls.engine.hooks import HOOK
from bls.engine.state import NEVER, BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _offer_of_host(state: BatchState, job: int, host: int) -> int:
    """Limit the offered cores of a host to the power left in its parts; returns their number."""
    parts, lo, hi = state.parts, state.host_first[host], state.host_first[host + 1]
    free, room = free_count(state.offered.words, lo, hi), NEVER
    first, stop = parts.of_first[host], parts.of_first[host + 1]
    if free == 0 or first == stop:
        return int(free)
    for k in range(first, stop):
        room = min(room, parts.room[parts.of_host[k]])
    each, unit, units, of_unit, of_host = core_mw(state, job, lo), state.jobs.unit_cores[job], 0, 0, 0
    if state.power.gpu_mw.size > 0:
        origin, group, units = state.jobs.origin[job], group_of(state, lo), state.offered.hosts[host] // unit
        of_unit = gpu_mw(state, job, group, state.gpus.per_unit[origin])
        of_host = gpu_mw(state, job, group, state.gpus.per_host[origin])
    keep = free
    if free * each + units * of_unit + of_host > room:
        few = room < of_host or state.settings.whole_hosts == 1
        keep = 0 if few else (room - of_host) // (unit * each + of_unit) * unit
    if state.settings.whole_hosts == 1 and free < hi - lo:
        keep = 0
    if keep < free:
        keep_first(state, lo, hi, free, keep)
        if state.offered.hosts.size > 0:
            state.offered.hosts[host] = min(state.offered.hosts[host], keep)
    for k in range(first, stop):
        parts.room[parts.of_host[k]] -= keep * each + min(units, keep // unit) * of_unit + min(keep, 1) * of_host
    return int(keep)


@compiled(HOOK)
def offer_of_parts(state: BatchState, job: int, _begin: int, count: int, _sign: int) -> int:
    """Check a choice (``stop`` intervals) in all parts: 1 if it fits; else reduce the offer, -1 if not enough is left."""
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    fits, total, rooms = True, 0, state.parts.room
    for domain in range(1, rooms.size):
        rooms[domain] = state.offered.amounts[state.power.amount + domain]
        fits = fits and fits_within(state, job, domain, lo, hi, count, rooms[domain])
    if fits:
        return 1
    for host in range(state.host_first.size - 1):
        total += _offer_of_host(state, job, host)
    return 0 if total >= state.jobs.cores[job] else -1
