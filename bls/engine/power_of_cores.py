"""What the cores of a job draw beyond idle ones, where power is limited."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.job_lifecycle import under_way
from bls.engine.state import BatchState
from traces.base.scale import WHOLE
from traces.compiled import Array, compiled

__all__ = [
    "core_mw",
    "cores_mw",
    "drawn_mw",
    "held_in",
    "held_mw",
    "held_sum",
    "least_mw",
    "more_mw",
    "place_of",
    "planned_state",
    "power_left",
    "room_mw",
    "speed_in",
]


@compiled(inner=True)
def planned_state(state: BatchState, job: int) -> int:
    """The state that a job is planned with: 0, full speed, where it may not be slowed."""
    planned = state.power.planned
    return int(planned[state.jobs.origin[job]]) if planned.size > 0 else 0


@compiled(merged=True)
def place_of(state: BatchState, job: int, at: int) -> int:
    """Where in the tables a state of the job's class is."""
    kind = state.power.kind
    return int(at + kind[state.jobs.origin[job]] * state.power.states) if kind.size > 0 else at


@compiled(merged=True)
def drawn_mw(state: BatchState, job: int, at: int, group: int) -> int:
    """What a core of a group draws beyond an idle one as the job works on it in a state."""
    return int(state.power.more_mw[place_of(state, job, at), group])


@compiled(inner=True)
def _factored(mw: int, factor: int) -> int:
    """So many mW times a factor in parts per billion, at most 10, rounded half up."""
    whole, part, high, low = mw // WHOLE, mw % WHOLE, factor // WHOLE, factor % WHOLE
    return int(whole * factor + part * high + (part * low + WHOLE // 2) // WHOLE)


@compiled(merged=True)
def more_mw(state: BatchState, job: int, at: int, group: int) -> int:
    """The same as it is planned with: as it is predicted, where it is."""
    predicted = state.power.predicted
    if predicted.size > 0:
        return _factored(state.power.more_mw[at, group], predicted[job])
    return drawn_mw(state, job, at, group)


@compiled(merged=True)
def speed_in(state: BatchState, job: int, at: int, group: int) -> int:
    """How fast a core of a group is for the job in a state, in parts per billion."""
    return int(state.power.speed[place_of(state, job, at), group])


@compiled(inner=True)
def cores_mw(state: BatchState, job: int, lo: Array, hi: Array, count: int) -> int:
    """What ``count`` intervals of cores draw beyond idle ones, in the state that the job is planned with."""
    power, at, total = state.power, planned_state(state, job), 0
    for i in range(count):
        for group in range(power.first_core.size - 1):
            cores = min(hi[i], power.first_core[group + 1]) - max(lo[i], power.first_core[group])
            if cores > 0:
                total += cores * more_mw(state, job, at, group)
    return int(total)


@compiled(inner=True)
def core_mw(state: BatchState, job: int, core: int) -> int:
    """What a core of a job draws beyond an idle one, in the state that the job is planned with."""
    power, group = state.power, 0
    while power.first_core.size > 2 and core >= power.first_core[group + 1]:
        group += 1
    return more_mw(state, job, planned_state(state, job), group)


@compiled(inner=True)
def least_mw(state: BatchState, job: int) -> int:
    """What a waiting job draws at the least beyond idle cores, whichever cores it has."""
    at = planned_state(state, job)
    least = more_mw(state, job, at, 0)
    for group in range(1, state.power.first_core.size - 1):
        least = min(least, more_mw(state, job, at, group))
    return int(state.jobs.cores[job] * least)


@compiled(inner=True)
def held_mw(state: BatchState, job: int) -> int:
    """What the cores that a job holds draw beyond idle ones, in the state that it is planned with."""
    jobs, total = state.jobs, 0
    if state.power.first_core.size == 2:
        return int(jobs.held_cores[job] * more_mw(state, job, planned_state(state, job), 0))
    first, count = jobs.held_first[job], jobs.held_count[job]
    if state.settings.releases == b.NO_RELEASES:
        return int(cores_mw(state, job, state.pool.lo[first:], state.pool.hi[first:], count))
    for k in range(first, first + count):
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            if state.holder[core] == job:
                total += core_mw(state, job, core)
    return int(total)


@compiled(inner=True)
def held_in(state: BatchState, job: int, begin: int, stop: int) -> int:
    """How many of the cores [begin, stop) a job holds."""
    jobs, total = state.jobs, 0
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        lo, hi = max(state.pool.lo[k], begin), min(state.pool.hi[k], stop)
        if state.settings.releases == b.NO_RELEASES:
            total += max(0, hi - lo)
            continue
        for core in range(lo, hi):
            total += state.holder[core] == job
    return int(total)


@compiled(inner=True)
def held_sum(state: BatchState, job: int, table: Array, at: int) -> int:
    """Sum over the cores that a job holds what a table of states and groups has for them in a state."""
    first, place, total = state.power.first_core, place_of(state, job, at), 0
    if first.size == 2:
        return int(state.jobs.held_cores[job] * table[place, 0])
    for group in range(first.size - 1):
        total += held_in(state, job, first[group], first[group + 1]) * table[place, group]
    return int(total)


@compiled(inner=True)
def room_mw(state: BatchState) -> int:
    """What more may be drawn under the limit that is known, beside the idle cores and all jobs as they are planned; ``NEVER``
    without a limit."""
    limit = state.limit_mw
    if limit == b.NEVER:
        return int(limit)
    left = limit - state.settings.idle_mw
    for k in range(state.n_running + state.n_started):
        left -= held_mw(state, under_way(state, k))
    return int(left)


@compiled()
def power_left(state: BatchState) -> int:
    """As :func:`room_mw`, for whoever looks from outside."""
    return room_mw(state)
