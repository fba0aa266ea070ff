"""Applications that request a number of cores as a part begins whose phase says so.

The request is made at the barrier, and the batch level decides at that instant; the part begins one nanosecond later, with
the cores that are there then. A request for as many as before is none, and the part begins at the barrier."""

import math

from als.engine import state as s
from als.engine.hooks import HOOK
from als.engine.state import ApplicationState
from traces.compiled import compiled


@compiled()
def wished_cores(share: float, asked: int, least: int, most: int) -> int:
    """How many cores a phase wishes for: ``share`` of those that its job asked for, half up, from ``least`` to ``most``. 0
    where ``share`` is 0: it has no wish."""
    if share == 0.0:
        return 0
    return int(max(1, least, min(most, math.floor(share * asked + 0.5))))


@compiled(HOOK)
def wish(state: ApplicationState, t: int, _speed: float) -> int:
    """The part that is due is to begin at ``t``: wish then, if its phase does; returns when it begins."""
    if state.part == 0:
        state.wish = state.speed.size
        state.wished_ns[:] = s.NEVER
    wanted = state.wishes[state.part % state.phases.kind.size]
    if wanted == 0 or wanted == state.wish:
        return t
    state.wish = wanted
    state.wished_ns[state.part] = t
    return t + 1
