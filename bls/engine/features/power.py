"""Limits to the power of the machine: who may start under them, and at which speeds those that may be slowed run.

A limit is known from some instant on. Then a job starts if what it draws, what the running ones do and what the idle cores do
fit, all of those that may be slowed in the state that they are planned with: full speed (*hold*); the one that was set for the
job by its submit (*fixed*); or the slowest one (*levels*). Where several reservations are planned, or where cores differ, the
same is an amount in the profile of cores, beside licences: of limits those that are known now count, up to their ends. A job is
planned to run for as long as it takes in the state that was set for it, or at the level of now. Where limits are known before
they begin, the profile has them from when they are known on, and a job fits if it does for as long as it is planned to run.

With *levels* there is one level for all running jobs that may be slowed. After each pass it is the fastest at which what is
drawn fits, or the slowest if none does; jobs are told of a change as of any that a policy makes
(``bls.engine.features.directed``). Or each has a state of its own (``bls.engine.features.power_by_job``).

Where what jobs draw is predicted, they start, and are planned, by that; the level is by what is drawn.

A host that is down is counted as if it were idle.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.core_profile import hold_amount
from bls.engine.features.directed import carry_out, expect
from bls.engine.hooks import HEAR, HOOK, call_hook
from bls.engine.job_lifecycle import under_way
from bls.engine.kept_reservations import drop_plan
from bls.engine.power_of_jobs import (
    MACHINE,
    drawn_mw,
    held_mw,
    held_within,
    least_mw,
    next_limit_ns,
    planned_state,
    room_mw,
    speed_in,
)
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _plan_limit(state: BatchState, domain: int, k: int, now: int, sign: int) -> None:
    """Take what the limits of a domain that are known from instant number ``k`` on leave out from the profile (-1), or give it
    back (1)."""
    power, which = state.power, state.settings.power_amount + 1 + domain
    for stair in range(power.first[domain + 1, k], power.first[domain + 1, k + 1]):
        until, step, since = power.stairs[0, stair], power.stairs[1, stair], max(now, power.stairs[2, stair])
        if until > now:
            hold_amount(state, which, step, since, until, sign)


@compiled(inner=True)
def _set_limit(state: BatchState, domain: int, k: int) -> bool:
    """Have the limit of a domain that is known from instant number ``k`` on in force; whether it is lower than before."""
    power, before, limit = state.power, state.limit_mw, state.power.known[domain + 1, k]
    if domain == MACHINE:
        state.limit_mw = limit
    else:
        before = state.domains.limit_mw[domain]
        state.domains.limit_mw[domain] = limit
    news = state.settings.noticed == 1 and power.first[domain + 1, k] < power.first[domain + 1, k + 1]
    return bool(limit < before or news)


@compiled(HOOK)
def change_limits(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Limits that are known from the present instant on, ``begin``, or are over."""
    settings, domains = state.settings, range(MACHINE, state.domains.limit_mw.size)
    while next_limit_ns(state) <= now:
        k, lower = state.next_power, False
        state.next_power, state.changed, state.blocked_head = k + 1, 1, -1
        for domain in domains:
            lower = _set_limit(state, domain, k) or lower
        if settings.by_cores == 0:
            continue
        if lower:
            drop_plan(state)
        for domain in domains:
            if k > 0 and settings.noticed == 0:
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
    """As ``room_mw``, during a pass, in which jobs start, and none ends."""
    room = state.power.room
    if room[0] != state.passes + 1:
        room[0], room[1], room[2] = state.passes + 1, state.n_started, room_mw(state, MACHINE)
    while room[1] < state.n_started:
        if room[2] != b.NEVER:
            room[2] -= held_mw(state, state.started[room[1]], MACHINE)
        room[1] += 1
    return int(room[2])


@compiled(HOOK)
def fits_power(state: BatchState, job: int, _begin: int, _stop: int, _sign: int) -> int:
    """Whether (1 or 0) a job may start now, beside those that run and those that the pass has started; all cores are alike."""
    return 1 if least_mw(state, job) <= room_in_pass(state) else 0


@compiled(inner=True)
def _count(state: BatchState, job: int) -> None:
    """Add what the cores that a job holds draw beyond idle ones, at each level."""
    power, slowed = state.power, planned_state(state, job) > 0
    for group in range(power.first_core.size - 1):
        cores = held_within(state, job, MACHINE, group)
        for level in range(power.states):
            power.drawn[level] += cores * drawn_mw(state, job, level if slowed else 0, group)


@compiled(inner=True)
def _level(state: BatchState) -> int:
    """The fastest level at which what is drawn fits, or the slowest."""
    power, limit = state.power, state.limit_mw
    if limit == b.NEVER:
        return 0
    power.drawn[:] = 0
    for k in range(state.running.n + state.n_started):
        _count(state, under_way(state, k))
    slowest = power.states - 1
    for level in range(slowest):
        if state.settings.idle_mw + power.drawn[level] <= limit:
            return level
    return int(slowest)


@compiled(inner=True)
def _direct_core(state: BatchState, job: int, core: int, scale: int) -> None:
    """Have the speed of a core of a job scaled, or of all of them (-1)."""
    k, given = state.n_directed, state.directed
    given.job[k], given.what[k], given.core[k], given.value[k] = job, b.SCALED, core, scale
    state.n_directed = k + 1


@compiled(inner=True)
def put_into(state: BatchState, job: int, level: int) -> None:
    """Have a job run in the state that it is to be in, if it does not."""
    power, jobs, settings = state.power, state.jobs, state.settings
    if jobs.stop_ns[job] <= jobs.start_ns[job]:
        return  # it is cut as it starts
    wanted = planned_state(state, job)
    if settings.powered == b.LEVELS:
        wanted = min(wanted, level)
    changed = state.scaling.power_state[job] != wanted
    # Cores that have come since are in that state by themselves only where it has one speed.
    if not changed and (wanted == 0 or settings.power_alike == 1 or settings.resizing == b.NO_RESIZE):
        return
    state.scaling.power_state[job] = wanted
    if settings.power_alike == 1:
        _direct_core(state, job, -1, speed_in(state, job, wanted, 0))
        return
    for k in range(jobs.held_first[job], jobs.held_first[job] + jobs.held_count[job]):
        group = 0
        for core in range(state.pool.lo[k], state.pool.hi[k]):
            while core >= power.first_core[group + 1]:
                group += 1
            if state.settings.releases != b.NO_RELEASES and state.holder[core] != job:
                continue
            scale, has = speed_in(state, job, wanted, group), state.core_scale.row[core] == job + 1
            if changed or not (has and state.core_scale.scale[core] == scale):
                _direct_core(state, job, core, scale)


@compiled(inner=True)
def _expect_at_full_speed(state: BatchState, now: int) -> None:
    """Jobs that start now are no more expected to end as they were planned: they are at full speed until they are slowed."""
    jobs = state.jobs
    for k in range(state.running.n):  # those that are only replayed are among them already
        job = state.running.key[k]
        if jobs.start_ns[job] >= now and state.scaling.power_state[job] == 0:  # else a pass before has told it
            expect(state, job, jobs.start_ns[job] + jobs.estimate_ns[job])
            if state.settings.promises == 1:
                call_hook(state.hooks[HEAR], (state, job, 0, 0, 0))
    for k in range(state.n_started):
        job = state.started[k]
        expect(state, job, jobs.start_ns[job] + jobs.estimate_ns[job])


@compiled(HOOK)
def set_level(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """After a pass: running jobs are in the states that they are to be in; returns 0, or a status."""
    settings = state.settings
    planned = settings.powered == b.FIXED or state.level > 0
    if planned and settings.plans == 1 and settings.by_cores == 0:
        _expect_at_full_speed(state, now)
    level = 0
    if settings.powered == b.LEVELS:
        level = _level(state)
        if level == 0 and state.level == 0:
            return 0
        if level != state.level:
            drop_plan(state)  # jobs are planned to run for longer, or shorter
        state.level = level
    for k in range(state.running.n + state.n_started):
        put_into(state, under_way(state, k), level)
    return int(carry_out(state, now))
