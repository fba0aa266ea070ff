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
from als.engine.injected_changes import IDLES, OVERFLOWS, do_held, go_on, settle
from als.engine.releases import rank_speed, released
from als.engine.state import ApplicationState, part_kind
from als.engine.status import OVERFLOW, SUSPENDED
from traces.algorithms.event_heap import heap_order
from traces.base.scale import WHOLE
from traces.compiled import compiled
from traces.kernels.signatures import Floats, Ints


@compiled(inner=True)
def scaled(state: ApplicationState, c: int, gflops: float) -> float:
    """What core ``c`` runs at whose own speed is ``gflops``."""
    if state.scale == 0:
        return gflops
    return float(gflops * (state.cores.scaled[c] / WHOLE))


@compiled()
def set_scale(state: ApplicationState, c: int, scale: int) -> None:
    """Core ``c``, or with -1 each core and all that come, is to run at so many parts per billion; :func:`rescale` follows."""
    row = state.cores.scaled[: state.speed.size]
    if state.scale == 0:
        state.scale = row[:] = WHOLE
    if c >= 0:
        row[c] = scale
    else:
        state.scale = row[:] = scale


@compiled()
def rescale(state: ApplicationState, own: Floats, at_ns: int) -> int:
    """From ``at_ns`` on, now or one ns before, the cores that are there run at what their scales make of their own speeds.

    ``own`` are these speeds at that instant (GFLOP/s). Returns the engine's status; ``OVERFLOW`` if a task would end beyond the
    last instant.
    """
    if state.status != SUSPENDED:
        return int(state.status)
    state.now_ns = at_ns
    graph = part_kind(state) == s.GRAPH
    if not graph:
        for at in range(state.n_asking):
            c = state.ask_core[at]
            gflops = scaled(state, c, own[c])
            if gflops == state.speed[c]:
                continue
            t = go_on(state, c, gflops)
            if t == OVERFLOWS:
                return OVERFLOW
            if t != IDLES:
                state.ask_ns[at] = arrival_ns(state, t, c)
            rank_speed(state, c, gflops)
        heap_order(state.ask_ns, state.ask_core, state.n_asking)
    for c in range(state.speed.size):  # of a loop, those that wait for others, or for an answer
        gflops = scaled(state, c, own[c])
        if state.speed[c] == 0.0 or gflops == state.speed[c] or released(state, c):
            continue
        if graph:
            status = call_hook(state.hooks[CHANGE_GRAPH], (state, c, gflops))
            if status != SUSPENDED:
                return int(status)
        else:
            go_on(state, c, gflops)  # what it had has ended at its speed until now
        rank_speed(state, c, gflops)
    return SUSPENDED


@compiled()
def first_and_last_work(state: ApplicationState, at_ns: int) -> tuple[int, int]:
    """For how many ns behind ``at_ns`` no request arrives, and for how many at least one core has a chunk, if no speed changes.

    Of it only what scales with the speeds counts: at other scales it takes as much less, or more, and no less than that. Both
    are 0 where that cannot be said: in a graph.
    """
    cores = state.cores
    if state.status != SUSPENDED or state.n_asking == 0 or part_kind(state) == s.GRAPH:
        return 0, 0
    first, last = s.NEVER, 0
    for at in range(state.n_asking):
        c = state.ask_core[at]
        takes = 0
        if cores.held_first[c] < cores.held_stop[c]:
            takes = state.ask_ns[at] - max(at_ns, cores.held_from_ns[c]) - state.latency_ns[c]
        first, last = min(first, takes), max(last, takes)
    return max(0, first), last


@compiled(inner=True)
def _go_on_through(state: ApplicationState, c: int, own: float, at_ns: Ints, factor: Floats, n: int) -> int:
    """As ``go_on`` at each of several changes of core ``c``'s speed in turn, during which its chunk does not end."""
    cores, held, last = state.cores, state.cores.held_work, n
    k, t, work, begun, speed = cores.held_first[c], cores.held_from_ns[c], abs(held[c]), held[c] < 0.0, state.speed[c]
    for j in range(n):
        gflops = own * factor[j]
        if gflops != speed:
            k, t, work, begun = settle(state, c, k, t, work, begun, speed, at_ns[j])
            speed, last = gflops, j
    if last == n:
        return IDLES  # nothing has changed
    cores.held_first[c], cores.held_from_ns[c], held[c] = k, t, -work if begun else work
    state.speed[c] = speed
    state.now_ns = at_ns[last]
    return int(do_held(state, c))


@compiled()
def rescale_all(state: ApplicationState, own: Floats, at_ns: Ints, factor: Floats, n: int, asks_ns: Ints) -> int:
    """As :func:`set_scale` of all cores and :func:`rescale`, ``n`` times in turn, where no request arrives up to the last.

    A core is gone through all of it before the next one, in the order in which they lie in memory. The application was advanced
    up to the first of the instants ``at_ns``, which ascend, or beyond; ``factor`` are the scales, as parts of a core's own
    speed, and ``asks_ns`` is work space.
    """
    asking = state.n_asking
    for c in range(state.speed.size):
        asks_ns[c] = IDLES
        if state.speed[c] > 0.0 and not released(state, c):
            t = _go_on_through(state, c, own[c], at_ns, factor, n)
            if t == OVERFLOWS:
                return OVERFLOW
            if t != IDLES:
                asks_ns[c] = arrival_ns(state, t, c)
    state.now_ns = at_ns[n - 1]
    for at in range(asking):
        if asks_ns[state.ask_core[at]] != IDLES:
            state.ask_ns[at] = asks_ns[state.ask_core[at]]
    heap_order(state.ask_ns, state.ask_core, asking)
    return SUSPENDED
