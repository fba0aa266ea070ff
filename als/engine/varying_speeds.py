"""An application on cores whose speeds change by themselves: advance to the next change, make it, go on."""

from __future__ import annotations

from als.core_speeds.state import SpeedState, comes_ns, factor, next_change_ns
from als.engine import loop as engine
from als.engine.state import NEVER, NOW, ApplicationState
from als.engine.status import SUSPENDED
from traces.compiled import Array, compiled

__all__ = ["run_varying"]

_advance, _run_until_stop = engine.advance, engine.run_until_stop
_lose_for_good, _set_speed = engine.lose_for_good, engine.set_speed


@compiled(inner=True)
def run_varying(state: ApplicationState, speeds: SpeedState, base: Array, next_ns: Array, stop_ns: int) -> int:
    """As ``als.engine.loop.run_until_stop``, with the changes of ``speeds``.

    Parameters
    ----------
    state : ApplicationState
        At its start, each core at its speed of that instant.
    speeds : SpeedState
        By the numbers that ``state.core_number`` gives.
    base : float64 (P,)
        GFLOP/s of each core at factor 1.
    next_ns : int64 (P,)
        Work space.
    stop_ns : int
        A change at this instant or later does not happen.

    Returns
    -------
    int
        As ``run_until_stop``. A core that is lost is lost for good if it never comes back, be it before ``stop_ns`` or later.
    """
    now = state.counters[NOW]
    n = state.speed.size
    for c in range(n):
        next_ns[c] = next_change_ns(speeds, state.core_number[c], now)
    for c in range(n):
        if state.speed[c] == 0.0 and now < stop_ns and comes_ns(speeds, state.core_number[c], now) == NEVER:
            status = _lose_for_good(state, c)
            if status != SUSPENDED:
                return int(status)
    while True:
        now = NEVER
        for c in range(n):
            now = min(now, next_ns[c])
        if now >= stop_ns or now == NEVER:
            return int(_run_until_stop(state, stop_ns))
        status = _advance(state, now)
        if status != SUSPENDED:
            return int(status)
        for c in range(n):
            if next_ns[c] == now:
                gflops = base[c] * factor(speeds, state.core_number[c], now)
                if gflops != state.speed[c]:
                    if gflops == 0.0 and comes_ns(speeds, state.core_number[c], now) == NEVER:
                        status = _lose_for_good(state, c)
                    else:
                        status = _set_speed(state, c, gflops)
                    if status != SUSPENDED:
                        return int(status)
                next_ns[c] = next_change_ns(speeds, state.core_number[c], now)
