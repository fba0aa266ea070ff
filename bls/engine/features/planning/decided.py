"""What a policy in Python has decided."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOOK
from bls.engine.job_lifecycle import send_away
from bls.engine.job_starts import held_back, start, suggest_now
from bls.engine.named_cores import put_named, refuse
from bls.engine.power_of_jobs import MACHINE, cores_mw, fits_within, least_mw, room_mw
from bls.engine.queue import waiting_from
from bls.engine.signatures import DECIDE
from bls.engine.state import BatchState
from bls.engine.status import BatchStatus
from traces.compiled import compiled, value_from

_decide = value_from(DECIDE)


@compiled(HOOK)
def decide_in_python(state: BatchState, _job: int, now: int, _stop: int, _sign: int) -> int:
    """Before a pass: have the policy decide, once; returns 0, or a ``BatchStatus``."""
    if state.n_chosen >= 0:
        return 0
    decide = _decide(state.functions[b.DECIDE_AT])
    return 0 if decide(now) == 0 else BatchStatus.DECIDE_FAILED


@compiled(inner=True)
def _powered(state: BatchState, job: int, count: int) -> int:
    """The number of intervals at the end of the pool, 0 where it has none yet; -1, noted, if they would draw too much."""
    lo, hi = state.pool.lo[state.pool_used :], state.pool.hi[state.pool_used :]
    for domain in range(state.domains.limit_mw.size if count >= 0 else 0):
        room, more = room_mw(state, domain), least_mw(state, job)  # whatever its cores would be
        fits = domain != MACHINE or more <= room
        if count > 0:
            more, fits = (
                cores_mw(state, job, domain, lo, hi, count),
                fits_within(state, job, domain, lo, hi, count, room),
            )
        if not fits:
            state.refused_where = domain
            refuse(state, b.NO_POWER, more, room)
            return -1
    return count


@compiled(inner=True)
def _put(state: BatchState, k: int, job: int, named: bool) -> int:
    """The cores of the k-th job chosen, at the end of the pool: those that are named, or the allocator's; the intervals."""
    if named:
        return _powered(state, job, put_named(state, job, state.chosen_first[k], state.chosen_first[k + 1]))
    if state.jobs.cores[job] > state.free_cores or held_back(state, job):
        return -1
    count = suggest_now(state, job)
    if count == 0 and state.settings.by_cores == 1:
        _powered(state, job, 0)
        count = -1
    return _powered(state, job, count)


@compiled(HOOK)
def start_chosen(state: BatchState, _job: int, _begin: int, _stop: int, _sign: int) -> int:
    """What a Python policy has decided: the jobs that it rejects, then those that it starts, in its order.

    With ``Settings.may_not_fit`` a job for which it has named no cores, and which cannot start now, waits.
    """
    waits, before = state.settings.may_not_fit == 1, state.did_not_fit
    for k in range(state.n_chosen):
        job = state.chosen[k]
        if job < 0:
            send_away(state, -1 - job, b.TURNED_AWAY)
            continue
        state.due_job = job
        named = state.n_named > 0 and state.chosen_first[k] < state.chosen_first[k + 1]
        count = _put(state, k, job, named)
        if count < 0:
            if named or not waits:
                return BatchStatus.CHOICE_FAULT
            state.refused = 0
            state.did_not_fit += 1
            continue
        why = b.BY_HEAD if waiting_from(state, 0) == job else b.BY_BACKFILL
        if not start(state, job, count, why):
            return BatchStatus.ALLOCATOR_FAULT
    state.n_chosen = state.n_named = 0
    if waits and state.decisions.at_ns.size > 0:
        state.decisions.unplaced[state.n_decisions] = state.did_not_fit - before
    return BatchStatus.RUNNING
