"""Power limits: they decide which jobs may start.

A job starts if the total draw of this job, the running jobs and the idle cores stays below the known limit, with all jobs in
their planned power states (``bls.engine.features.draws.draws``). With several reservations or differing cores, the power of
each domain is an amount in the profile of cores, until the ends of the known limits.
"""

from bls.engine import state as b
from bls.engine.features.core_plan.core_profile import hold_amount
from bls.engine.features.draws.draws import MACHINE, held_mw, next_limit_ns, room_mw
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import drop_plan
from bls.engine.state import BatchState
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
    return int(min(before, state.power.next_ns))


@compiled(HOOK)
def change_limits(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Apply the changes of known limits at the instant ``begin``."""
    settings, power, limits = state.settings, state.power, state.domains.limit_mw
    while next_limit_ns(state) <= now:
        k, lower = state.power.next, False
        state.power.next, state.changed, state.blocked_head = k + 1, 1, -1
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
    state.power.next_ns = next_limit_ns(state)
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
