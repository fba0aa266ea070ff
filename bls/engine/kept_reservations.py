"""The reservations that conservative backfilling keeps from pass to pass, in the profile that they are part of."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.hooks import HOLD_KEPT, call_hook
from bls.engine.job_lifecycle import count_cores
from bls.engine.queue import waiting_from
from bls.engine.state import BatchState
from traces.compiled import compiled


@compiled(inner=True)
def drop_slot(state: BatchState, job: int) -> None:
    """Give back what a kept reservation holds."""
    jobs, slot = state.jobs, state.jobs.slot_ns[job]
    begin, stop = max(slot, state.now_ns), slot + jobs.estimate_ns[job]
    if state.settings.by_cores == 1:
        call_hook(state.roles[HOLD_KEPT], (state, job, begin, stop, 1))
    else:
        count_cores(state.profile, begin, stop, jobs.cores[job])
    jobs.slot_ns[job] = b.NEVER


@compiled(inner=True)
def drop_slots(state: BatchState) -> None:
    """Give up the whole plan: no waiting job has a slot any more."""
    jobs = state.jobs
    job = waiting_from(state, 0)
    while job >= 0:
        if jobs.slot_ns[job] != b.NEVER:
            drop_slot(state, job)
        job = waiting_from(state, jobs.rank[job] + 1)
    state.kept_used = state.hull_ns = 0


@compiled(inner=True)
def drop_plan(state: BatchState) -> None:
    """Give up all reservations that are kept from pass to pass, if there are any: they may be on cores that are taken."""
    if state.settings.keeps_reservations == 1:
        drop_slots(state)
