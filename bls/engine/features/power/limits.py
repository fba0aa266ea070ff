"""Limits to the power of the machine, and who may start under them.

A limit is known from some instant on. Then a job starts if what it draws, what the running ones do and what the idle cores do
fit, all that may be slowed in the state that they are planned with (``bls.engine.power_of_jobs``). Where several reservations
are planned, or where cores differ, that is an amount in the profile of cores, beside licences, up to the ends of the limits
that are known now; where limits are known before they begin, the profile has them from then on.

After each pass running jobs are put into their states (``bls.engine.features.power.slowing``). A host that is down is counted
as if it were idle.
"""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.core_profile import hold_amount
from bls.engine.hooks import HOOK
from bls.engine.kept_reservations import drop_plan
from bls.engine.power_of_jobs import MACHINE, held_mw, next_limit_ns, room_mw
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def _plan_limit(state: BatchState, domain: int, k: int, now: int, sign: int) -> None:
    """Take (-1) what a domain's limits that are known from instant ``k`` on leave out from the profile, or give it back (1)."""
    power, which = state.power, state.settings.power_amount + domain
    for stair in range(power.first[domain, k], power.first[domain, k + 1]):
        until, step, since = power.stairs[0, stair], power.stairs[1, stair], max(now, power.stairs[2, stair])
        if until > now:
            hold_amount(state, which, step, since, until, sign)


@compiled(HOOK)
def next_change(state: BatchState, _job: int, before: int, _stop: int, _sign: int) -> int:
    """When limits are known next, are over, or a host that is stopped has shut down or booted."""
    return int(min(before, state.power_at_ns))


@compiled(HOOK)
def change_limits(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Limits that are known from the present instant on, ``begin``, or are over."""
    settings, power, limits = state.settings, state.power, state.domains.limit_mw
    while next_limit_ns(state) <= now:
        k, lower = state.next_power, False
        state.next_power, state.changed, state.blocked_head = k + 1, 1, -1
        for domain in range(limits.size):
            news = settings.noticed == 1 and power.first[domain, k] < power.first[domain, k + 1]
            lower = lower or news or power.known[domain, k] < limits[domain]
            limits[domain] = power.known[domain, k]
        if settings.by_cores == 0:
            continue
        if lower:
            drop_plan(state)
        for domain in range(limits.size):
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
