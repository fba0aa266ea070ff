"""Limits to the power of parts of the machine: which cores of them may be had.

What is left of each domain is an amount in the profile of cores, behind that of the machine. Where the cores that the allocator
chooses do not fit, it is offered no more than what is left of all domains is enough for, in the state that the job is planned
with: host by host in the order of their numbers, and of a host those with the lowest ones, so that whichever of these it
chooses do. Units are offered whole, and so are hosts that are not shared.
"""

from __future__ import annotations

from bls.availability.free_cores import free_count
from bls.engine.hooks import HOOK
from bls.engine.placement_search import keep_first
from bls.engine.power_of_jobs import core_mw, fits_within
from bls.engine.state import NEVER, BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _offer_of_host(state: BatchState, job: int, host: int) -> int:
    """Offer no more cores of a host than its domains have room for; returns how many these are."""
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
    """Whether the ``stop`` intervals of cores at the end of the pool, which the allocator has chosen, fit what is left of all
    domains, 1; if not, it is offered no more than does, and that may be enough, 0, or is not, -1."""
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    fits, total, rooms = True, 0, state.domains.room
    for domain in range(1, rooms.size):
        rooms[domain] = state.offered.amounts[state.settings.power_amount + domain]
        fits = fits and fits_within(state, job, domain, lo, hi, count, rooms[domain])
    if fits:
        return 1
    for host in range(state.host_first.size - 1):
        total += _offer_of_host(state, job, host)
    return 0 if total >= state.jobs.cores[job] else -1
