"""Core speeds that change while an application runs: scaled by the batch level, or varying by themselves.

A core runs at its own (perhaps varying) speed times its scale, initially 1. A new core has the latest scale for all cores.
Scales are integers in parts per billion, so that both sides of a bridge use the same number. A scale takes effect after the
requests that arrive at its instant: the caller advances the application until one ns later, and :func:`rescale` turns its clock
back by that ns, in which nothing happens."""

from als.core_speeds import SpeedState, comes_ns, factor, next_change_ns
from als.engine import state as s
from als.engine.chunk_dispatch import arrival_ns
from als.engine.codes import OVERFLOW, SUSPENDED
from als.engine.hooks import CHANGE_GRAPH, call_hook
from als.engine.injected_changes import IDLES, OVERFLOWS, go_on, lose_for_good, set_speed
from als.engine.loop import advance
from als.engine.releases import rank_speed, released
from als.engine.state import NEVER, ApplicationState, part_kind
from traces.algorithms.event_heap import heap_order
from traces.base.scale import WHOLE
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats


@compiled(inner=True)
def scaled(state: ApplicationState, c: int, gflops: float) -> float:
    """The scaled speed of core ``c`` with its own speed ``gflops``."""
    if state.scale == 0:
        return gflops
    return float(gflops * (state.cores.scaled[c] / WHOLE))


@compiled()
def set_scale(state: ApplicationState, c: int, scale: int) -> None:
    """Set the scale (parts per billion) of core ``c``, or (-1) of all present and future cores; :func:`rescale` must follow."""
    row = state.cores.scaled[: state.speed.size]
    if state.scale == 0:
        state.scale = row[:] = WHOLE
    if c >= 0:
        row[c] = scale
    else:
        state.scale = row[:] = scale


@compiled()
def rescale(state: ApplicationState, own: Floats, at_ns: int) -> int:
    """Apply the scales of the present cores from ``at_ns`` on (now, or one ns before).

    ``own`` are their own speeds at that instant (GFLOP/s). Returns the engine's status; ``OVERFLOW`` if a task would end
    beyond the last instant."""
    if state.status != SUSPENDED:
        return int(state.status)
    state.now_ns = at_ns
    graph = part_kind(state) == s.GRAPH
    if not graph:
        for at in range(state.n_asking):
            c = state.cores.ask_core[at]
            gflops = scaled(state, c, own[c])
            if gflops == state.speed[c]:
                continue
            t = go_on(state, c, gflops)
            if t == OVERFLOWS:
                return OVERFLOW
            if t != IDLES:
                state.cores.ask_ns[at] = arrival_ns(state, t, c)
            rank_speed(state, c, gflops)
        heap_order(state.cores.ask_ns, state.cores.ask_core, state.n_asking)
    for c in range(state.speed.size):  # in a loop: cores that wait
        gflops = scaled(state, c, own[c])
        if state.speed[c] == 0.0 or gflops == state.speed[c] or released(state, c):
            continue
        if graph:
            status = call_hook(state.hooks[CHANGE_GRAPH], (state, c, gflops))
            if status != SUSPENDED:
                return int(status)
        else:
            go_on(state, c, gflops)
        rank_speed(state, c, gflops)
    return SUSPENDED


@compiled(inner=True)
def begin_varying(state: ApplicationState, speeds: SpeedState, next_ns: Array, stop_ns: int) -> int:
    """Find the next change of each core's speed, for :func:`advance_varying`; cores that never come are lost for good. Returns
    ``SUSPENDED``, or the status with which the application has ended."""
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
    """``als.engine.loop.advance`` with the changes of ``speeds`` before ``until_ns``; ``base``: GFLOP/s at factor 1."""
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
