"""An application on cores whose speeds change by themselves: advance to the next change, make it, go on."""

from __future__ import annotations

from als.core_speeds.state import SpeedState, comes_ns, factor, next_change_ns
from als.engine.injected_changes import lose_for_good, set_speed
from als.engine.loop import advance
from als.engine.scaling import scaled
from als.engine.state import NEVER, ApplicationState
from als.engine.status import SUSPENDED
from traces.compiled import Array, compiled


@compiled(inner=True)
def begin_varying(state: ApplicationState, speeds: SpeedState, next_ns: Array, stop_ns: int) -> int:
    """Look up when the speed of each core changes next, for :func:`advance_varying`; cores that never come are lost for good.
    Each core is at its speed of the start. Returns ``SUSPENDED``, or how the application has ended by that."""
    now = state.now_ns
    for c in range(state.speed.size):
        next_ns[c] = next_change_ns(speeds, state.core_number[c], now)
        if state.speed[c] == 0.0 and now < stop_ns and comes_ns(speeds, state.core_number[c], now) == NEVER:
            status = lose_for_good(state, c)
            if status != SUSPENDED:
                return int(status)
    return SUSPENDED


@compiled(inner=True)
def advance_varying(state: ApplicationState, speeds: SpeedState, base: Array, next_ns: Array, until_ns: int) -> int:
    """As ``als.engine.loop.advance``, with the changes of ``speeds`` before ``until_ns``.

    ``base`` are the speeds at factor 1 (GFLOP/s), and scales of the batch level come on top. A core is lost for good if it
    never comes back, be it before ``until_ns`` or later.
    """
    n = state.speed.size
    while True:
        now = NEVER
        for c in range(n):
            now = min(now, next_ns[c])
        if now >= until_ns or now == NEVER:
            return int(advance(state, until_ns))
        status = advance(state, now)
        if status != SUSPENDED:
            return int(status)
        for c in range(n):
            if next_ns[c] == now:
                gflops = scaled(state, c, base[c] * factor(speeds, state.core_number[c], now))
                if gflops != state.speed[c]:
                    if gflops == 0.0 and comes_ns(speeds, state.core_number[c], now) == NEVER:
                        status = lose_for_good(state, c)
                    else:
                        status = set_speed(state, c, gflops)
                    if status != SUSPENDED:
                        return int(status)
                next_ns[c] = next_change_ns(speeds, state.core_number[c], now)
