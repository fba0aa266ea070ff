"""What the cores of a job draw beyond idle ones, where power is limited."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.state import BatchState
from traces.compiled import Array, compiled

__all__ = ["cores_mw", "planned_state"]


@compiled(inner=True)
def planned_state(state: BatchState, job: int) -> int:
    """The state that a job is planned with: 0, full speed, where it may not be slowed."""
    planned = state.power.planned
    return int(planned[state.jobs[b.ORIGIN, job]]) if planned.size > 0 else 0


@compiled(inner=True)
def cores_mw(state: BatchState, job: int, lo: Array, hi: Array, count: int) -> int:
    """What ``count`` intervals of cores draw beyond idle ones, in the state that the job is planned with."""
    power, at, total = state.power, planned_state(state, job), 0
    for i in range(count):
        for group in range(power.first_core.size - 1):
            cores = min(hi[i], power.first_core[group + 1]) - max(lo[i], power.first_core[group])
            if cores > 0:
                total += cores * power.more_mw[at, group]
    return int(total)
