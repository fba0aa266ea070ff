"""Core speeds that change while an application runs: scaled by the batch level, or varying by themselves.

A core runs at its own (perhaps varying) speed times its scale, initially 1. A new core has the latest scale for all cores.
Scales are integers in parts per billion, so that both sides of a bridge use the same number. A scale takes effect after the
requests that arrive at its instant: the caller advances the application until one ns later, and :func:`rescale` turns its clock
back by that ns, in which nothing happens.

A power limit may set the speeds of all running jobs repeatedly, and so change every core of the machine each time. But a scale
has a visible effect only at a request or at the end of the job. The rest of a core's chunk is known in ns at its own speed;
this gives the first instant at which anything can be visible, at any future scales. Until then a scale of all cores is deferred
(:func:`defer`), with its instant. Deferred scales are applied in one step (:func:`apply_deferred`), with the same roundings as
one by one. While tasks are left, one step covers only the scales between two requests. Other commands take effect at once.
"""

from als.core_speeds import SpeedState, comes_ns, factor, next_change_ns
from als.engine import state as s
from als.engine.chunk_dispatch import arrival_ns
from als.engine.codes import OVERFLOW, SUSPENDED
from als.engine.hooks import CHANGE_GRAPH, call_hook
from als.engine.injected_changes import IDLES, OVERFLOWS, do_held, go_on, is_sure, lose_for_good, set_speed, settle
from als.engine.loop import advance
from als.engine.releases import rank_speed, released
from als.engine.rule_table import LEARNS
from als.engine.state import NEVER, ApplicationState, part_kind
from traces.algorithms.event_heap import heap_order
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats, Ints

#: Bounds of rounding errors: ns (at scale 1) per task, since each task is rounded to a ns at the present and at future scales
#: (at most 2); and the relative error of the sums here.
_NS_A_TASK, _PART = 3, 1e-12


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


@compiled(inner=True)
def _surely(state: ApplicationState, ns: int, scale: int) -> float:
    """The least time, ns at scale 1, of work that takes ``ns`` at ``scale``, with any future scales."""
    tasks = 1
    for at in range(state.n_asking):
        c = state.cores.ask_core[at]
        tasks = max(tasks, 1 + state.cores.held_stop[c] - state.cores.held_first[c])
    return float(ns * (scale / WHOLE) * (1.0 - _PART) - _NS_A_TASK * tasks)


@compiled(inner=True)
def look_ahead(state: ApplicationState, at_ns: int, releases: bool) -> None:
    """Find how long scales of all cores may be deferred from ``at_ns`` on, now or one ns before. Without ``releases``, requests
    are not visible, only the end is. Speeds must not vary, and messages must take no time."""
    deferred = state.deferred
    deferred.scale = 0
    if state.master != 0 or state.graph.exists == 1:
        return
    scale, farthest = state.scale if state.scale > 0 else WHOLE, 0
    for at in range(state.n_asking):
        farthest = max(farthest, state.cores.ask_ns[at])
    for c in range(state.speed.size):
        if state.scale > 0 and state.cores.scaled[c] != scale:
            return
    first, last = first_and_last_work(state, at_ns)
    shows = first if releases else last
    if shows > 0:
        deferred.scale, deferred.since_ns, deferred.left_ns = scale, at_ns, _surely(state, shows, scale)
        deferred.farthest_ns = max(0, farthest - at_ns) * (scale / WHOLE)


@compiled(inner=True)
def defer(state: ApplicationState, scale: int, at_ns: int, stop_ns: int) -> int:
    """Defer a scale of all cores if it has no visible effect yet. Returns the instant, before the job's stop, until which there
    is none; 0 if the scale is not deferred."""
    deferred = state.deferred
    n = deferred.n
    if deferred.scale == 0 or n == deferred.at_ns.size:
        return 0
    left = deferred.left_ns - (at_ns - deferred.since_ns) * (deferred.scale / WHOLE)
    if deferred.farthest_ns / (scale / WHOLE) > MAX_NS // 4 - at_ns:
        return 0
    until = min(at_ns + int(left / (scale / WHOLE)), stop_ns) - 1
    if until <= at_ns:
        return 0
    deferred.at_ns[n], deferred.scales[n], deferred.factors[n] = at_ns, scale, scale / WHOLE
    deferred.n, deferred.scale, deferred.since_ns, deferred.left_ns = n + 1, scale, at_ns, left
    return int(until)


@compiled(inner=True)
def _before_requests(state: ApplicationState, k: int, scale: int) -> int:
    """The number of deferred scales from ``k`` on that come before the next request; all cores that ask have a chunk."""
    at_ns, factors = state.deferred.at_ns, state.deferred.factors
    first = state.cores.ask_ns[0] - at_ns[k] - state.overhead_ns if state.n_asking > 0 else 0
    left = _surely(state, first, scale)
    j = k + 1
    while j < state.deferred.n:
        left -= (at_ns[j] - at_ns[j - 1]) * factors[j - 1]
        if left <= 0.0:
            break
        j += 1
    return j - k


@compiled(inner=True)
def apply_deferred(state: ApplicationState, own: Floats, left: Floats) -> int:
    """Apply the deferred scales; returns the status. ``own``: the cores' own speeds, GFLOP/s; ``left``: work space."""
    deferred, status = state.deferred, int(SUSPENDED)
    n, k, at_ns, factors = deferred.n, 0, deferred.at_ns, deferred.factors
    if n == 0:
        return status
    scale = state.scale if state.scale > 0 else WHOLE
    all_busy = True
    for at in range(state.n_asking):
        c = state.cores.ask_core[at]
        all_busy = all_busy and state.cores.held_first[c] < state.cores.held_stop[c]
    while k < n and status == SUSPENDED:
        status = int(advance(state, at_ns[k] + 1))
        if status == SUSPENDED:
            m = n - k
            if hands_out(state, at_ns[n - 1]):
                m = _before_requests(state, k, scale) if all_busy else 1
            status = int(rescale_all(state, own, at_ns[k:], factors[k:], m, left))
            k += m
            scale = deferred.scales[k - 1]
        if status == SUSPENDED:
            status = int(advance(state, at_ns[k - 1] + 1))
        if status == SUSPENDED:
            set_scale(state, -1, scale)
            status = int(rescale(state, own, at_ns[k - 1]))
    deferred.n = 0
    return status


@compiled()
def first_and_last_work(state: ApplicationState, at_ns: int) -> tuple[int, int]:
    """The times (ns) after ``at_ns`` without requests, and until the last chunk ends, at these speeds; 0 in a graph."""
    cores = state.cores
    if state.status != SUSPENDED or state.n_asking == 0 or part_kind(state) == s.GRAPH:
        return 0, 0
    first, last = s.NEVER, 0
    for at in range(state.n_asking):
        c = state.cores.ask_core[at]
        takes = 0
        if cores.held_first[c] < cores.held_stop[c]:
            takes = state.cores.ask_ns[at] - max(at_ns, cores.held_from_ns[c]) - state.latency_ns[c]
        first, last = min(first, takes), max(last, takes)
    return max(0, first), last


@compiled()
def hands_out(state: ApplicationState, until_ns: int) -> bool:
    """Whether a request up to ``until_ns`` can affect other cores: it may get a task, or the technique learns from it."""
    rules = state.table.flags[state.rule] | state.table.flags[state.phases.rule[state.part % state.phases.kind.size]]
    return bool(
        state.n_left > 0 or rules & LEARNS != 0 or state.choose_ns <= until_ns or state.n_hinted + state.n_leaving > 0
    )


@compiled(inner=True)
def _left_through(state: ApplicationState, own: Floats, at_ns: Ints, factor: Floats, n: int, left: Floats) -> float:
    """Compute the work left of each core's task at the last change, unless the task ends before; returns the highest factor.

    The roundings are those of ``settle``, but each change is applied to all cores before the next, which vectorizes. Returns 0
    if two successive factors are equal: then no rounding takes place.
    """
    cores, highest = state.cores, factor[0]
    for j in range(1, n):
        highest = max(highest, factor[j])
        if factor[j] == factor[j - 1]:
            return 0.0
    for c in range(state.speed.size):
        left[c] = abs(cores.held_work[c]) - (at_ns[0] - cores.held_from_ns[c]) * 1e-9 * state.speed[c]
    for j in range(1, n):
        seconds, scale = (at_ns[j] - at_ns[j - 1]) * 1e-9, factor[j - 1]
        for c in range(state.speed.size):
            left[c] -= seconds * (own[c] * scale)
    return float(highest)


@compiled(inner=True)
def _go_on_through(
    state: ApplicationState, c: int, ends_ns: int, own: float, at_ns: Ints, factor: Floats, n: int
) -> int:
    """``go_on`` at several successive changes of core ``c``'s speed, until its chunk ends (unchanged: at ``ends_ns``); returns
    the end of the chunk, or ``OVERFLOWS``."""
    cores, held, last = state.cores, state.cores.held_work, -1
    k, t, work, begun, speed = cores.held_first[c], cores.held_from_ns[c], abs(held[c]), held[c] < 0.0, state.speed[c]
    stop_at = cores.held_stop[c]
    if k == stop_at:
        return ends_ns
    for j in range(n):
        if own * factor[j] == speed:
            continue
        k, t, work, begun = settle(state, c, k, t, work, begun, speed, at_ns[j])
        if k == stop_at:
            break
        speed, last = own * factor[j], j
    cores.held_first[c], cores.held_from_ns[c], held[c] = k, t, -work if begun else work
    state.speed[c] = speed
    if k == stop_at:
        cores.squares[c] = cores.done_squares[c]
        return arrival_ns(state, t, c)
    if last < 0:
        return ends_ns
    state.now_ns = at_ns[last]
    t = do_held(state, c)
    return OVERFLOWS if t == OVERFLOWS else arrival_ns(state, t, c)


@compiled()
def rescale_all(state: ApplicationState, own: Floats, at_ns: Ints, factor: Floats, n: int, left: Floats) -> int:
    """Apply ``n`` successive scales of all cores to the cores that ask.

    The application must be at the first of the ascending instants ``at_ns``. Afterwards advance beyond the last one, and call
    :func:`rescale` for the last scale. No request in between may affect another core (:func:`hands_out`). ``factor``: the
    scales as factors of a core's own speed; ``left``: work space.
    """
    cores, speed, last_ns = state.cores, state.speed, at_ns[n - 1]
    highest = _left_through(state, own, at_ns, factor, n, left)
    for at in range(state.n_asking):
        c = state.cores.ask_core[at]
        work, from_ns = cores.held_work[c], cores.held_from_ns[c]
        runs = from_ns < at_ns[0] and own[c] * factor[0] != speed[c] and cores.held_first[c] < cores.held_stop[c]
        if highest > 0.0 and runs and is_sure(left[c], abs(work), max(speed[c], own[c] * highest)):
            if work >= 0.0:  # its first task is not marked as begun
                cores.began_ns[c] = from_ns
            cores.held_work[c], cores.held_from_ns[c] = -left[c], last_ns
            speed[c], state.now_ns = own[c] * factor[n - 1], last_ns
            t = do_held(state, c)
            state.cores.ask_ns[at] = arrival_ns(state, t, c)
        else:
            t = state.cores.ask_ns[at] = _go_on_through(state, c, state.cores.ask_ns[at], own[c], at_ns, factor, n)
        if t == OVERFLOWS:
            return OVERFLOW
        rank_speed(state, c, speed[c])
    heap_order(state.cores.ask_ns, state.cores.ask_core, state.n_asking)
    state.now_ns = at_ns[0]
    return SUSPENDED
