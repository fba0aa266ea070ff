"""The batch level scales the speeds of an application's cores while it runs, as by frequency scaling: of all, or of some.

A core runs at its own speed, which may change by itself, times its scale, 1 unless it was told another. One that comes has the
scale that all were told last. Scales are whole parts per billion, so that they are the same number on either side of a bridge.

A scale that is told at an instant is in force from there on, behind the requests that arrive at it: whoever tells it has the
application advanced until one ns later, and :func:`rescale` turns its clock back by that, since nothing lies between.
"""

from __future__ import annotations

from als.engine import state as s
from als.engine.chunk_dispatch import arrival_ns
from als.engine.hooks import CHANGE_GRAPH, call_hook
from als.engine.injected_changes import IDLES, OVERFLOWS, go_on
from als.engine.releases import released
from als.engine.state import ApplicationState
from als.engine.status import OVERFLOW, SUSPENDED
from traces.algorithms.event_heap import heap_order
from traces.base.scale import WHOLE
from traces.compiled import compiled
from traces.kernels.signatures import Floats

__all__ = ["come_scaled", "rescale", "scaled", "set_scale"]


@compiled(inner=True)
def scaled(state: ApplicationState, c: int, gflops: float) -> float:
    """What core ``c`` runs at whose own speed is ``gflops``."""
    if state.counters[s.SCALE] == 0:
        return gflops
    return float(gflops * (state.cores[s.SCALED, c] / WHOLE))


@compiled()
def come_scaled(state: ApplicationState, c: int, gflops: float) -> float:
    """What a core that comes to slot ``c`` runs at, whose own speed is ``gflops``: it has the scale that all were told last."""
    state.cores[s.SCALED, c] = state.counters[s.SCALE]
    return float(scaled(state, c, gflops))


@compiled()
def set_scale(state: ApplicationState, c: int, scale: int) -> None:
    """Core ``c``, or with -1 each core and all that come, is to run at so many parts per billion; :func:`rescale` follows."""
    counters, row = state.counters, state.cores[s.SCALED]
    if counters[s.SCALE] == 0:
        counters[s.SCALE] = WHOLE
        for each in range(state.speed.size):
            row[each] = WHOLE
    if c >= 0:
        row[c] = scale
        return
    counters[s.SCALE] = scale
    for each in range(state.speed.size):
        row[each] = scale


@compiled(inner=True)
def _ranked(state: ApplicationState, c: int) -> None:
    """Where techniques count the cores that stay, have them know its speed."""
    if state.counters[s.WIDTH] > 0 and state.cores[s.WANTED, c] != s.TO_LEAVE:
        state.amounts[s.RANKED, state.cores[s.RANK, c]] = state.speed[c]


@compiled(inner=True)
def _rescale_graph(state: ApplicationState, own: Floats) -> int:
    """:func:`rescale` in a part that is a graph."""
    for c in range(state.speed.size):
        gflops = scaled(state, c, own[c])
        if state.speed[c] > 0.0 and gflops != state.speed[c] and not released(state, c):
            status = call_hook(state.hooks[CHANGE_GRAPH], (state, c, gflops))
            if status != SUSPENDED:
                return int(status)
            _ranked(state, c)
    return SUSPENDED


@compiled()
def rescale(state: ApplicationState, own: Floats, at_ns: int) -> int:
    """From ``at_ns`` on, now or one ns before, the cores that are there run at what their scales make of their own speeds.

    Parameters
    ----------
    state : ApplicationState
    own : float64 (P,)
        GFLOP/s of each core by itself, at that instant; of one that is not there it does not matter.
    at_ns : int

    Returns
    -------
    int
        The engine's status; ``OVERFLOW`` if a task would end beyond the last instant.
    """
    counters, asking = state.counters, state.counters[s.ASKING]
    if counters[s.STATUS] != SUSPENDED:
        return int(counters[s.STATUS])
    counters[s.NOW] = at_ns
    if state.phases[counters[s.PART] % state.phases.shape[0], s.KIND] == s.GRAPH:
        return _rescale_graph(state, own)
    changed = False
    for at in range(asking):
        c = state.ask_core[at]
        gflops = scaled(state, c, own[c])
        if gflops == state.speed[c]:
            continue
        t = go_on(state, c, gflops)
        if t == OVERFLOWS:
            return OVERFLOW
        if t != IDLES:
            state.ask_ns[at] = arrival_ns(state, t, c)
            changed = True
        _ranked(state, c)
    if changed:
        heap_order(state.ask_ns, state.ask_core, asking)
    for c in range(state.speed.size):  # those that wait for others, or for an answer
        gflops = scaled(state, c, own[c])
        if state.speed[c] > 0.0 and gflops != state.speed[c] and not released(state, c):
            go_on(state, c, gflops)  # what it had has ended at its speed until now
            _ranked(state, c)
    return SUSPENDED
