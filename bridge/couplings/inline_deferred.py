"""Deferred scales in the inline coupling: an application applies them when they first have a visible effect.

A power limit may set the speeds of all running jobs repeatedly, and so change every core of the machine each time. But a scale
has a visible effect only at a request or at the end of the job. The rest of a core's chunk is known in ns at its own speed;
this gives the first instant at which anything can be visible, at any future scales. Until then a scale is deferred, with its
instant. The application applies deferred scales in one step, with the same roundings as one by one. While tasks are left, one
step covers only the scales between two requests. Other commands take effect at once.
"""

from als.engine.codes import SUSPENDED
from als.engine.loop import advance
from als.engine.scaling import first_and_last_work, hands_out, rescale, rescale_all, set_scale
from bls.engine import state as b
from bls.engine.state import BatchState
from bridge.couplings.inline_commands import commanded_at
from bridge.couplings.inline_kept import running_of
from bridge.couplings.inline_state import MOST_DEFERRED, RELEASE, InlineState
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.compiled import compiled

#: Bounds of rounding errors: ns (at scale 1) per task, since each task is rounded to a ns at the present and at future scales
#: (at most 2); and the relative error of the sums here.
_NS_A_TASK, _PART = 3, 1e-12


@compiled(inner=True)
def _surely(inline: InlineState, ns: int, scale: int) -> float:
    """The least time, ns at scale 1, of work that takes ``ns`` at ``scale``, with any future scales."""
    run, tasks = inline.running.app, 1
    for at in range(run.n_asking):
        c = run.cores.ask_core[at]
        tasks = max(tasks, 1 + run.cores.held_stop[c] - run.cores.held_first[c])
    return float(ns * (scale / WHOLE) * (1.0 - _PART) - _NS_A_TASK * tasks)


@compiled(inner=True)
def defer(state: BatchState, inline: InlineState, job: int) -> int:
    """Defer the latest scale of a job if it has no visible effect yet; returns the instant until which there is none, or 0."""
    of, now, k = running_of(inline, job), commanded_at(state, job), state.jobs.command_first[job]
    if of.scale == 0 or of.n_deferred == MOST_DEFERRED or state.jobs.command_count[job] != 1:
        return 0
    if state.commands.what[k] != b.SCALED or state.commands.core[k] >= 0:
        return 0
    scale, n = state.commands.value[k], of.n_deferred
    left = of.left_ns - (now - of.since_ns) * (of.scale / WHOLE)
    if of.farthest_ns / (scale / WHOLE) > MAX_NS // 4 - now:
        return 0
    until = now + int(left / (scale / WHOLE)) - 1
    until = min(until, state.jobs.stop_ns[job] - 1)
    if until <= now:
        return 0
    of.deferred_ns[n], of.deferred[n] = now, scale
    of.n_deferred, of.scale, of.since_ns, of.left_ns = n + 1, scale, now, left
    return int(until)


@compiled(inner=True)
def _before_requests(inline: InlineState, k: int, scale: int) -> int:
    """The number of instants from place ``k`` on that are before the next request; all cores that ask have a chunk."""
    run, at_ns, factor = inline.running.app, inline.running.deferred_ns, inline.saved.factor
    first = run.cores.ask_ns[0] - at_ns[k] - run.overhead_ns if run.n_asking > 0 else 0
    left = _surely(inline, first, scale)
    j = k + 1
    while j < inline.running.n_deferred:
        left -= (at_ns[j] - at_ns[j - 1]) * factor[j - 1]
        if left <= 0.0:
            break
        j += 1
    return j - k


@compiled(inner=True)
def apply_deferred(inline: InlineState) -> int:
    """Apply the deferred scales to the current application, in place; returns its status."""
    of, run, factor = inline.running, inline.running.app, inline.saved.factor
    n, k, status = of.n_deferred, 0, int(SUSPENDED)
    if n == 0:
        return status
    at_ns = of.deferred_ns
    for j in range(n):
        factor[j] = of.deferred[j] / WHOLE
    scale = run.scale if run.scale > 0 else WHOLE
    all_busy = True
    for at in range(run.n_asking):
        c = run.cores.ask_core[at]
        all_busy = all_busy and run.cores.held_first[c] < run.cores.held_stop[c]
    own = of.base_gflops[: run.speed.size]
    while k < n and status == SUSPENDED:
        status = int(advance(run, at_ns[k] + 1))
        if status == SUSPENDED:
            m = n - k
            if hands_out(run, at_ns[n - 1]):
                m = _before_requests(inline, k, scale) if all_busy else 1
            status = int(rescale_all(run, own, at_ns[k:], factor[k:], m, inline.own_gflops))
            k += m
            scale = of.deferred[k - 1]
        if status == SUSPENDED:
            status = int(advance(run, at_ns[k - 1] + 1))
        if status == SUSPENDED:
            set_scale(run, -1, scale)
            status = int(rescale(run, own, at_ns[k - 1]))
    of.n_deferred = 0
    return status


@compiled(inner=True)
def look_ahead(state: BatchState, inline: InlineState, job: int) -> None:
    """Find the instant until which scales of the current application, in place, may be deferred."""
    of, run, costs, now = inline.running, inline.running.app, inline.costs, commanded_at(state, job)
    of.scale = 0
    if costs.latency_ns != 0 or costs.master != 0 or inline.speeds.component.size > 0 or run.graph.exists == 1:
        return
    scale, farthest = run.scale if run.scale > 0 else WHOLE, 0
    for at in range(run.n_asking):
        farthest = max(farthest, run.cores.ask_ns[at])
    for c in range(run.speed.size):
        if run.scale > 0 and run.cores.scaled[c] != scale:
            return
    first, last = first_and_last_work(run, now)
    shows = first if inline.engines[RELEASE] != 0 else last
    if shows > 0:
        of.scale, of.since_ns, of.left_ns = scale, now, _surely(inline, shows, scale)
        of.farthest_ns = max(0, farthest - now) * (scale / WHOLE)
