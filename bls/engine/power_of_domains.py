"""What the cores of a job draw that are in a part of the machine whose power is limited by itself."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.job_lifecycle import under_way
from bls.engine.power_of_cores import held_in, held_sum, more_mw, place_of, planned_state
from bls.engine.state import BatchState
from traces.compiled import Array, compiled

__all__ = ["cores_mw_within", "domain_room_mw", "fits_within", "planned_level", "sum_within"]


@compiled(inner=True)
def cores_mw_within(state: BatchState, job: int, domain: int, lo: Array, hi: Array, count: int) -> int:
    """What those of ``count`` intervals of cores that are in a domain draw beyond idle ones, in the state that the job is
    planned with."""
    power, domains, at, total = state.power, state.domains, planned_state(state, job), 0
    for part in range(domains.first[domain], domains.first[domain + 1]):
        for i in range(count):
            low, high = max(lo[i], domains.lo[part]), min(hi[i], domains.hi[part])
            if low >= high:
                continue
            for group in range(power.first_core.size - 1):
                cores = min(high, power.first_core[group + 1]) - max(low, power.first_core[group])
                if cores > 0:
                    total += cores * more_mw(state, job, at, group)
    return int(total)


@compiled(inner=True)
def fits_within(state: BatchState, job: int, domain: int, lo: Array, hi: Array, count: int, room: int) -> bool:
    """Whether ``count`` intervals of cores, as the job is planned on them, fit what is left of a domain; those with no core in
    it always do."""
    domains = state.domains
    for part in range(domains.first[domain], domains.first[domain + 1]):
        for i in range(count):
            if lo[i] < domains.hi[part] and hi[i] > domains.lo[part]:
                return bool(cores_mw_within(state, job, domain, lo, hi, count) <= room)
    return True


@compiled(inner=True)
def _held_within(state: BatchState, job: int, domain: int, group: int) -> int:
    """How many cores of a group a job holds in a domain."""
    power, domains, cores = state.power, state.domains, 0
    for part in range(domains.first[domain], domains.first[domain + 1]):
        lo = max(domains.lo[part], power.first_core[group])
        hi = min(domains.hi[part], power.first_core[group + 1])
        if lo < hi:
            cores += held_in(state, job, lo, hi)
    return cores


@compiled(inner=True)
def _planned_within(state: BatchState, job: int, domain: int) -> int:
    """What the cores that a job holds in a domain draw beyond idle ones, in the state that it is planned with."""
    at, total = planned_state(state, job), 0
    for group in range(state.power.first_core.size - 1):
        total += _held_within(state, job, domain, group) * more_mw(state, job, at, group)
    return int(total)


@compiled(inner=True)
def sum_within(state: BatchState, job: int, domain: int, table: Array, at: int) -> int:
    """As :func:`held_sum`, over the cores that a job holds in a domain; the machine is the last domain."""
    if domain == state.domains.limit_mw.size:
        return int(held_sum(state, job, table, at))
    place, total = place_of(state, job, at), 0
    for group in range(state.power.first_core.size - 1):
        total += _held_within(state, job, domain, group) * table[place, group]
    return int(total)


@compiled(inner=True)
def domain_room_mw(state: BatchState, domain: int) -> int:
    """What more a domain may draw under the limit that is known, beside its idle cores and all jobs as they are planned;
    ``NEVER`` without a limit."""
    limit = state.domains.limit_mw[domain]
    if limit == b.NEVER:
        return int(limit)
    left = limit - state.domains.idle_mw[domain]
    for k in range(state.n_running + state.n_started):
        left -= _planned_within(state, under_way(state, k), domain)
    return int(left)


@compiled(inner=True)
def planned_level(state: BatchState, job: int) -> int:
    """The level that a job that waits is planned at, if it may be slowed: that of the machine, or of a domain that has all
    cores of its partition."""
    domains, partition, level = state.domains, state.jobs.partition[job], state.level
    for domain in range(domains.level.size):
        if domains.covers[partition, domain] == 1:
            level = max(level, domains.level[domain])
    return int(level)
