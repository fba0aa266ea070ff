"""Limits to the power of parts of the machine: what comes to be known of them, and which cores of them may be had.

What is left of each domain is an amount in the profile of cores, behind that of the machine. Where the cores that the allocator
chooses do not fit, it is offered no more than what is left of all domains is enough for, in the state that the job is planned
with: host by host in the order of their numbers, and of a host those with the lowest ones, so that whichever of these it
chooses do. Units are offered whole, and so are hosts that are not shared.
"""

from __future__ import annotations

from bls.availability.free_cores import free_count, free_take
from bls.engine import state as b
from bls.engine.core_profile import hold_amount
from bls.engine.hooks import HOOK
from bls.engine.power_of_cores import more_mw, planned_state
from bls.engine.power_of_domains import cores_mw_within, domain_room_mw, fits_within
from bls.engine.state import BatchState
from traces.compiled import compiled

__all__ = ["change_domain_limits", "fits_domains", "offer_of_domains"]


@compiled(inner=True)
def _plan_limit(state: BatchState, domain: int, k: int, now: int, sign: int) -> None:
    """Take what the limits of a domain that are known from instant number ``k`` on leave out from the profile, or give it
    back."""
    domains, amount = state.domains, state.settings.power_amount + 1 + domain
    for stair in range(domains.stair_first[domain, k], domains.stair_first[domain, k + 1]):
        until, step, since = domains.stairs[0, stair], domains.stairs[1, stair], max(now, domains.stairs[2, stair])
        if until > now:
            hold_amount(state, state.cores_profile, amount, step, since, until, sign)


@compiled(HOOK)
def change_domain_limits(state: BatchState, _job: int, now: int, k: int, _sign: int) -> int:
    """What is known from instant number ``stop`` on; returns 1 if any limit is lower than before."""
    domains, lower = state.domains, 0
    for domain in range(domains.limit_mw.size):
        if domains.known[domain, k] < domains.limit_mw[domain]:
            lower = 1
        if state.settings.noticed == 1:
            lower |= domains.stair_first[domain, k] < domains.stair_first[domain, k + 1]
        domains.limit_mw[domain] = domains.known[domain, k]
        if k > 0 and state.settings.noticed == 0:
            _plan_limit(state, domain, k - 1, now, 1)
        _plan_limit(state, domain, k, now, -1)
    return int(lower)


@compiled(inner=True)
def _keep(state: BatchState, lo: int, hi: int, keep: int) -> None:
    """Of the cores [lo, hi) that are offered leave the first ``keep``."""
    offered = state.offered_words
    if keep == 0:
        free_take(offered, state.free_starts, lo, hi)
        return
    for core in range(lo, hi):
        if (offered[core >> 5] >> (core & 31)) & 1 == 1:
            if keep == 0:
                free_take(offered, state.free_starts, core, core + 1)
            else:
                keep -= 1


@compiled(inner=True)
def _offer_of_host(state: BatchState, job: int, host: int) -> int:
    """Offer no more cores of a host than its domains have room for; returns how many these are."""
    domains, power = state.domains, state.power
    lo, hi = state.host_first[host], state.host_first[host + 1]
    free, group, room = free_count(state.offered_words, lo, hi), 0, b.NEVER
    first, stop = domains.of_first[host], domains.of_first[host + 1]
    if free == 0 or first == stop:
        return int(free)
    for k in range(first, stop):
        room = min(room, domains.room[domains.of_host[k]])
    while power.first_core.size > 2 and lo >= power.first_core[group + 1]:
        group += 1
    each, unit = more_mw(state, job, planned_state(state, job), group), state.jobs.unit_cores[job]
    keep = free
    if free * each > room:
        keep = 0 if room < 0 or state.settings.whole_hosts == 1 else room // (unit * each) * unit
    if state.settings.whole_hosts == 1 and free < hi - lo:
        keep = 0
    if keep < free:
        _keep(state, lo, hi, keep)
        if state.offered_hosts.size > 0:
            state.offered_hosts[host] = min(state.offered_hosts[host], keep)
    for k in range(first, stop):
        domains.room[domains.of_host[k]] -= keep * each
    return int(keep)


@compiled(HOOK)
def offer_of_domains(state: BatchState, job: int, _begin: int, count: int, _sign: int) -> int:
    """Whether the ``stop`` intervals of cores at the end of the pool, which the allocator has chosen, fit what is left of all
    domains, 1; if not, it is offered no more than does, and that may be enough, 0, or is not, -1."""
    domains, used, first_amount = state.domains, state.pool_used, state.settings.power_amount + 1
    fits = True
    for domain in range(domains.limit_mw.size):
        domains.room[domain] = state.offered_amounts[first_amount + domain]
        room = domains.room[domain]
        fits = fits and fits_within(state, job, domain, state.pool.lo[used:], state.pool.hi[used:], count, room)
    if fits:
        return 1
    total = 0
    for host in range(state.host_first.size - 1):
        total += _offer_of_host(state, job, host)
    return 0 if total >= state.jobs.cores[job] else -1


@compiled(HOOK)
def fits_domains(state: BatchState, job: int, _begin: int, count: int, _sign: int) -> int:
    """Whether (1 or 0) the ``stop`` intervals of cores at the end of the pool fit all limits of domains; if not it is noted."""
    used = state.pool_used
    for domain in range(state.domains.limit_mw.size):
        lo, hi, room = state.pool.lo[used:], state.pool.hi[used:], domain_room_mw(state, domain)
        if not fits_within(state, job, domain, lo, hi, count, room):
            more = cores_mw_within(state, job, domain, lo, hi, count)
            state.refused, state.refused_at, state.refused_of = b.NO_POWER_THERE, more, room
            state.refused_where = domain
            return 0
    return 1
