"""For how long a job that waits is planned to run."""

from __future__ import annotations

from bls.engine import state as b
from bls.engine.power_of_jobs import planned_state, speed_in
from bls.engine.state import BatchState
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import compiled


@compiled(inner=True)
def scaled(rest_ns: int, before: int, after: int, most: int) -> int:
    """What takes ``rest_ns`` with ``before`` cores, or at such a speed, with ``after``: rounded up, at most ``most``."""
    whole, part = rest_ns // after, rest_ns % after
    if whole > most // before:
        return most
    return int(min(most, whole * before + (part * before + after - 1) // after))


@compiled(inner=True)
def planned_ns(state: BatchState, job: int) -> int:
    """The estimate of a job that waits; longer as its slowest cores are slower in the state, or at the level, set for it."""
    return planned_with(state, job, state.jobs.estimate_ns[job]) + int(state.late_ns)


@compiled(inner=True)
def planned_with(state: BatchState, job: int, estimate: int) -> int:
    """The same, if its estimate were another one."""
    powered, domains, level = state.settings.powered, state.domains, 0
    if powered <= b.HOLD:
        return int(estimate)
    planned = planned_state(state, job)
    if powered == b.LEVELS:  # that of the slowest domain that has all cores of its partition
        for domain in range(domains.level.size):
            if domains.covers[state.jobs.partition[job], domain] == 1:
                level = max(level, domains.level[domain])
        planned = min(planned, level)
    if planned == 0:
        return int(estimate)
    speed = WHOLE
    for group in range(state.power.first_core.size - 1):
        speed = min(speed, speed_in(state, job, planned, group))
    return scaled(estimate, WHOLE, speed, max(estimate, MAX_NS))
