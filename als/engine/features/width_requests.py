"""Applications that request a number of cores at the begin of certain phases.

The request is made at the barrier, and the batch level decides at that instant; the part begins one nanosecond later with the
cores present then. If the number is unchanged there is no request, and the part begins at the barrier."""

import math

from als.engine import state as s
from als.engine.hooks import HOOK
from als.engine.state import ApplicationState
from traces.compiled import compiled


@compiled()
def requested_width(share: float, asked: int, least: int, most: int) -> int:
    """The number of cores that a phase requests: ``share`` of its job's request, rounded half up, from ``least`` to ``most``;
    0 (no request) if ``share`` is 0."""
    if share == 0.0:
        return 0
    return int(max(1, least, min(most, math.floor(share * asked + 0.5))))


@compiled(HOOK)
def request_width(state: ApplicationState, t: int, _speed: float) -> int:
    """Make the request of the next part, due at ``t``, if its phase has one; returns the begin of the part."""
    if state.part == 0:
        state.request_width = state.speed.size
        state.width_request_ns[:] = s.NEVER
    wanted = state.width_requests[state.part % state.phases.kind.size]
    if wanted == 0 or wanted == state.request_width:
        return t
    state.request_width = wanted
    state.width_request_ns[state.part] = t
    return t + 1
