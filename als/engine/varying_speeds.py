"""An application on cores whose speeds change by themselves: advance to the next change, make it, go on."""

from __future__ import annotations

from als.core_speeds.state import SpeedState, factor, next_change_ns
from als.engine import loop as engine
from als.engine.state import NEVER, NOW, PRESENT, ApplicationState
from als.engine.status import ALL_LOST, SUSPENDED
from traces.compiled import Array, compiled

__all__ = ["MOST_ALONE", "run_varying"]

#: After so many instants at which something could have changed, and nobody was there, nobody will come.
MOST_ALONE = 1_000_000

_advance, _run_until_stop, _set_speed = engine.advance, engine.run_until_stop, engine.set_speed


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
    """
    now = state.counters[NOW]
    n = state.speed.size
    for c in range(n):
        next_ns[c] = next_change_ns(speeds, state.core_number[c], now)
    alone = 0
    while True:
        now = NEVER
        for c in range(n):
            now = min(now, next_ns[c])
        if now >= stop_ns or now == NEVER:
            return int(_run_until_stop(state, stop_ns))
        status = _advance(state, now)
        if status != SUSPENDED:
            return int(status)
        alone = alone + 1 if state.counters[PRESENT] == 0 else 0
        if alone == MOST_ALONE:
            return ALL_LOST
        for c in range(n):
            if next_ns[c] == now:
                gflops = base[c] * factor(speeds, state.core_number[c], now)
                if gflops != state.speed[c]:
                    status = _set_speed(state, c, gflops)
                    if status != SUSPENDED:
                        return int(status)
                next_ns[c] = next_change_ns(speeds, state.core_number[c], now)
